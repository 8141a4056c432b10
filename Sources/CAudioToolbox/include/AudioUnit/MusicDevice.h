// Music devices: audio units that hear MIDI.
//
// Any thread that is not real time may call these functions; those that say so, real-time threads,
// too.
#ifndef CUEJACK_MUSICDEVICE_H
#define CUEJACK_MUSICDEVICE_H

#include "../CoreMIDI/MIDIServices.h"
#include "AUComponent.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

typedef AudioComponentInstance MusicDeviceComponent;

/// Sends a MIDI channel message to a unit. Any thread, real time included: in a render callback
/// before the unit renders, the message takes effect in that render.
///
/// - inStatus: the status byte, with the channel; inData1 and inData2 the data bytes, 0 if the
///   message has none.
/// - inOffsetSampleFrame: the frame of the next render at which it happens.
/// - Returns: kAudioUnitErr_Uninitialized; kAudioComponentErr_UnsupportedType if the unit hears no
///   MIDI; kAudio_MemFullError if too many messages wait for the next render.
extern OSStatus MusicDeviceMIDIEvent(MusicDeviceComponent inUnit, UInt32 inStatus, UInt32 inData1,
                                     UInt32 inData2, UInt32 inOffsetSampleFrame);

/// Sends a system exclusive message, from 0xF0 to 0xF7, with the next render. Any thread, real time
/// included. Plugins hear messages of up to 8,192 bytes.
extern OSStatus MusicDeviceSysEx(MusicDeviceComponent inUnit, const UInt8 *inData, UInt32 inLength);

/// Sends Universal MIDI Packets to a unit, which hears them as MIDI 1.0: values lose the bits that
/// this has no room for, and messages for single notes are left out. The times in the list are
/// ignored.
///
/// - inOffsetSampleFrame: the frame of the next render at which all of them happen.
extern OSStatus MusicDeviceMIDIEventList(MusicDeviceComponent inUnit, UInt32 inOffsetSampleFrame,
                                         const MIDIEventList *evtList);

typedef UInt32 MusicDeviceInstrumentID;
typedef UInt32 MusicDeviceGroupID;
typedef UInt32 NoteInstanceID;

enum {
  /// The instrument that the group has.
  kMusicNoteEvent_UseGroupInstrument = 0xFFFFFFFF,
  kMusicNoteEvent_Unused = 0xFFFFFFFF
};

/// A value of a control when a note begins. Notes here have none of their own.
struct NoteParamsControlValue {
  AudioUnitParameterID mID;
  AudioUnitParameterValue mValue;
};
typedef struct NoteParamsControlValue NoteParamsControlValue;

/// How a note begins.
struct MusicDeviceNoteParams {
  /// 2 and one for each of `mControls`.
  UInt32 argCount;
  /// The note, 0 to 127; 60 is the middle C. Fractions are rounded.
  Float32 mPitch;
  /// 0 to 127.
  Float32 mVelocity;
  NoteParamsControlValue mControls[1];
};
typedef struct MusicDeviceNoteParams MusicDeviceNoteParams;

/// The same without controls.
struct MusicDeviceStdNoteParams {
  UInt32 argCount;
  Float32 mPitch;
  Float32 mVelocity;
};
typedef struct MusicDeviceStdNoteParams MusicDeviceStdNoteParams;

/// Begins a note: the unit hears a MIDI note-on message.
///
/// - inInstrument: kMusicNoteEvent_UseGroupInstrument; units here have no other instruments.
/// - inGroupID: the MIDI channel, 0 to 15.
/// - outNoteInstanceID: receives the number that stops the note; may be NULL.
/// - inOffsetSampleFrame: the frame of the next render at which it begins.
/// - Returns: what MusicDeviceMIDIEvent returns; kAudioUnitErr_InvalidParameter if a number is out
/// of range.
extern OSStatus
MusicDeviceStartNote(MusicDeviceComponent inUnit, MusicDeviceInstrumentID inInstrument,
                     MusicDeviceGroupID inGroupID, NoteInstanceID *_Nullable outNoteInstanceID,
                     UInt32 inOffsetSampleFrame, const MusicDeviceNoteParams *inParams);

/// Ends a note: the unit hears the note-off message of it.
extern OSStatus MusicDeviceStopNote(MusicDeviceComponent inUnit, MusicDeviceGroupID inGroupID,
                                    NoteInstanceID inNoteInstanceID, UInt32 inOffsetSampleFrame);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
