// Words of Universal MIDI Packets.
#ifndef CUEJACK_MIDIMESSAGES_H
#define CUEJACK_MIDIMESSAGES_H

#include "MIDIServices.h"

CUE_HEADER_BEGIN

typedef UInt32 MIDIMessage_32;

typedef struct MIDIMessage_64 {
  UInt32 word0;
  UInt32 word1;
} MIDIMessage_64;

typedef struct MIDIMessage_128 {
  UInt32 word0;
  UInt32 word1;
  UInt32 word2;
  UInt32 word3;
} MIDIMessage_128;

/// The type of a packet: the first four bits of its first word.
typedef CF_ENUM(UInt32, MIDIMessageType){
    kMIDIMessageTypeUtility = 0,
    kMIDIMessageTypeSystem = 1,
    kMIDIMessageTypeChannelVoice1 = 2,
    kMIDIMessageTypeSysEx = 3,
    kMIDIMessageTypeChannelVoice2 = 4,
    kMIDIMessageTypeData128 = 5,
    kMIDIMessageTypeFlexData = 13,
    kMIDIMessageTypeStream = 15};

/// The status of a channel message: the upper four bits of its second byte.
typedef CF_ENUM(UInt32, MIDICVStatus){
    kMIDICVStatusRegisteredPNC = 0,
    kMIDICVStatusAssignablePNC = 1,
    kMIDICVStatusRegisteredControl = 2,
    kMIDICVStatusAssignableControl = 3,
    kMIDICVStatusRelRegisteredControl = 4,
    kMIDICVStatusRelAssignableControl = 5,
    kMIDICVStatusPerNotePitchBend = 6,
    kMIDICVStatusNoteOff = 8,
    kMIDICVStatusNoteOn = 9,
    kMIDICVStatusPolyPressure = 10,
    kMIDICVStatusControlChange = 11,
    kMIDICVStatusProgramChange = 12,
    kMIDICVStatusChannelPressure = 13,
    kMIDICVStatusPitchBend = 14,
    kMIDICVStatusPerNoteMgmt = 15};

/// The status byte of a system message.
typedef CF_ENUM(UInt32, MIDISystemStatus){
    kMIDIStatusStartOfExclusive = 0xF0, kMIDIStatusMTC = 0xF1,
    kMIDIStatusSongPosPointer = 0xF2,   kMIDIStatusSongSelect = 0xF3,
    kMIDIStatusTuneRequest = 0xF6,      kMIDIStatusEndOfExclusive = 0xF7,
    kMIDIStatusTimingClock = 0xF8,      kMIDIStatusStart = 0xFA,
    kMIDIStatusContinue = 0xFB,         kMIDIStatusStop = 0xFC,
    kMIDIStatusActiveSensing = 0xFE,    kMIDIStatusSystemReset = 0xFF};

/// The part of a system exclusive message that a packet has: all of it, or its start, middle or end.
typedef CF_ENUM(UInt32, MIDISysExStatus){
    kMIDISysExStatusComplete = 0, kMIDISysExStatusStart = 1, kMIDISysExStatusContinue = 2,
    kMIDISysExStatusEnd = 3};

CF_INLINE MIDIMessageType MIDIMessageTypeForUPWord(UInt32 word) {
  return (MIDIMessageType)(word >> 28);
}

CF_INLINE MIDIMessage_32 MIDI1UPChannelVoiceMessage(UInt8 group, UInt8 status, UInt8 channel,
                                                    UInt8 data1, UInt8 data2) {
  return 0x20000000u | (UInt32)(group & 15) << 24 | (UInt32)(status & 15) << 20 |
         (UInt32)(channel & 15) << 16 | (UInt32)(data1 & 0x7F) << 8 | (data2 & 0x7Fu);
}

CF_INLINE MIDIMessage_32 MIDI1UPNoteOff(UInt8 group, UInt8 channel, UInt8 noteNumber,
                                        UInt8 velocity) {
  return MIDI1UPChannelVoiceMessage(group, kMIDICVStatusNoteOff, channel, noteNumber, velocity);
}

CF_INLINE MIDIMessage_32 MIDI1UPNoteOn(UInt8 group, UInt8 channel, UInt8 noteNumber,
                                       UInt8 velocity) {
  return MIDI1UPChannelVoiceMessage(group, kMIDICVStatusNoteOn, channel, noteNumber, velocity);
}

CF_INLINE MIDIMessage_32 MIDI1UPControlChange(UInt8 group, UInt8 channel, UInt8 index,
                                              UInt8 data) {
  return MIDI1UPChannelVoiceMessage(group, kMIDICVStatusControlChange, channel, index, data);
}

CF_INLINE MIDIMessage_32 MIDI1UPPitchBend(UInt8 group, UInt8 channel, UInt8 lsb, UInt8 msb) {
  return MIDI1UPChannelVoiceMessage(group, kMIDICVStatusPitchBend, channel, lsb, msb);
}

CF_INLINE MIDIMessage_32 MIDI1UPSystemCommon(UInt8 group, UInt8 status, UInt8 byte1,
                                             UInt8 byte2) {
  return 0x10000000u | (UInt32)(group & 15) << 24 | (UInt32)status << 16 |
         (UInt32)(byte1 & 0x7F) << 8 | (byte2 & 0x7Fu);
}

CF_INLINE MIDIMessage_64 MIDI2ChannelVoiceMessage(UInt8 group, UInt8 status, UInt8 channel,
                                                  UInt16 index, UInt32 value) {
  MIDIMessage_64 message = {0x40000000u | (UInt32)(group & 15) << 24 | (UInt32)(status & 15) << 20 |
                                (UInt32)(channel & 15) << 16 | index,
                            value};
  return message;
}

CF_INLINE MIDIMessage_64 MIDI2NoteOn(UInt8 group, UInt8 channel, UInt8 noteNumber,
                                     UInt8 attributeType, UInt16 attributeData, UInt16 velocity) {
  return MIDI2ChannelVoiceMessage(group, kMIDICVStatusNoteOn, channel,
                                  (UInt16)((noteNumber & 0x7F) << 8 | attributeType),
                                  (UInt32)velocity << 16 | attributeData);
}

CF_INLINE MIDIMessage_64 MIDI2NoteOff(UInt8 group, UInt8 channel, UInt8 noteNumber,
                                      UInt8 attributeType, UInt16 attributeData, UInt16 velocity) {
  return MIDI2ChannelVoiceMessage(group, kMIDICVStatusNoteOff, channel,
                                  (UInt16)((noteNumber & 0x7F) << 8 | attributeType),
                                  (UInt32)velocity << 16 | attributeData);
}

CF_INLINE MIDIMessage_64 MIDI2ControlChange(UInt8 group, UInt8 channel, UInt8 index,
                                            UInt32 value) {
  return MIDI2ChannelVoiceMessage(group, kMIDICVStatusControlChange, channel,
                                  (UInt16)((index & 0x7F) << 8), value);
}

CF_INLINE MIDIMessage_64 MIDI2PitchBend(UInt8 group, UInt8 channel, UInt32 value) {
  return MIDI2ChannelVoiceMessage(group, kMIDICVStatusPitchBend, channel, 0, value);
}

CUE_HEADER_END

#endif
