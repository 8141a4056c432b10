// Music devices: audio units that hear MIDI.
//
// Any thread that is not real time may call these functions.
#ifndef CUEJACK_MUSICDEVICE_H
#define CUEJACK_MUSICDEVICE_H

#include "AUComponent.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

typedef AudioComponentInstance MusicDeviceComponent;

/// Sends a MIDI channel message to a unit.
///
/// - inStatus: the status byte, with the channel; inData1 and inData2 the data bytes, 0 if the
/// message
///   has none.
/// - inOffsetSampleFrame: the frame of the next render at which it happens.
/// - Returns: kAudioUnitErr_Uninitialized; kAudioComponentErr_UnsupportedType if the unit hears no
///   MIDI.
extern OSStatus MusicDeviceMIDIEvent(MusicDeviceComponent inUnit, UInt32 inStatus, UInt32 inData1,
                                     UInt32 inData2, UInt32 inOffsetSampleFrame);

/// Sends a system exclusive message, from 0xF0 to 0xF7, with the next render.
extern OSStatus MusicDeviceSysEx(MusicDeviceComponent inUnit, const UInt8 *inData, UInt32 inLength);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
