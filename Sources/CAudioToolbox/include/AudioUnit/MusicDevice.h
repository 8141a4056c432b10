// Music devices: audio units that hear MIDI.
//
// Any thread that is not real time may call these functions.
#ifndef CUEJACK_MUSICDEVICE_H
#define CUEJACK_MUSICDEVICE_H

#include "../CoreMIDI/MIDIServices.h"
#include "AUComponent.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

typedef AudioComponentInstance MusicDeviceComponent;

/// Sends a MIDI channel message to a unit.
///
/// - inStatus: the status byte, with the channel; inData1 and inData2 the data bytes, 0 if the
///   message has none.
/// - inOffsetSampleFrame: the frame of the next render at which it happens.
/// - Returns: kAudioUnitErr_Uninitialized; kAudioComponentErr_UnsupportedType if the unit hears no
///   MIDI.
extern OSStatus MusicDeviceMIDIEvent(MusicDeviceComponent inUnit, UInt32 inStatus, UInt32 inData1,
                                     UInt32 inData2, UInt32 inOffsetSampleFrame);

/// Sends a system exclusive message, from 0xF0 to 0xF7, with the next render.
extern OSStatus MusicDeviceSysEx(MusicDeviceComponent inUnit, const UInt8 *inData, UInt32 inLength);

/// Sends Universal MIDI Packets to a unit, which hears them as MIDI 1.0: values lose the bits that
/// this has no room for, and messages for single notes are left out. The times in the list are
/// ignored.
///
/// - inOffsetSampleFrame: the frame of the next render at which all of them happen.
extern OSStatus MusicDeviceMIDIEventList(MusicDeviceComponent inUnit, UInt32 inOffsetSampleFrame,
                                         const MIDIEventList *evtList);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
