// Playback queues through audio units: an extension of this library. A queue's sound passes units
// one after another, then an input of a mixer if it has one, and leaves by the ports of a client
// that the queues of that mixer share.
//
// Any thread that is not real time may call these functions. The units run in the cycles of that
// client, so nothing else may render them, and what supplies their first input otherwise is not
// asked. The library sets their formats, to floats at the server's rate, and initialises them;
// parameters and properties are the program's. Latencies of units are made up for between queues of
// one mixer, and told to JACK.
#ifndef CUEJACK_QUEUEEFFECTS_H
#define CUEJACK_QUEUEEFFECTS_H

#include "../AudioToolbox/AudioQueue.h"
#include "../AudioUnit/AudioUnit.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// Lets a playback queue's sound pass units, in order, in place of those before; none if the count
/// is 0.
///
/// The first call needs a queue that is idle, and returns when the units are in place. Later ones
/// change the units while it plays: the sound fades over within 10 ms, and new units have run for
/// 100 ms before they are heard.
///
/// - inUnits: effects, converters or plugins with as many channels as the queue; each is in the
/// list once,
///   and in that of one queue. A unit that is disposed of passes the sound on.
/// - Returns: kAudioQueueErr_InvalidRunState; the error of a unit that cannot have the format, or
/// is none
///   that sound passes.
extern OSStatus CueQueueSetEffects(AudioQueueRef inAQ, UInt32 inCount,
                                   const AudioUnit _Nullable *_Nullable inUnits);

/// Copies the units that a queue's sound passes.
///
/// - ioCount: the room in outUnits; afterwards how many there are.
extern OSStatus CueQueueGetEffects(AudioQueueRef inAQ, UInt32 *ioCount,
                                   AudioUnit _Nullable *_Nullable outUnits);

/// Makes a playback queue an input of a mixer, or of another unit with several inputs; of none if
/// inMixer is NULL. The queue must be idle. Queues of one mixer share a client.
///
/// - inMixer: a unit whose buses have the channels that it is to mix. A queue of one channel plays
/// into the
///   first two of its bus.
/// - inBus: the input. Several queues may have the same: they are added.
/// - Returns: kAudioQueueErr_InvalidRunState; kAudioUnitErr_InvalidElement.
extern OSStatus CueQueueSetMixer(AudioQueueRef inAQ, AudioUnit _Nullable inMixer, UInt32 inBus);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
