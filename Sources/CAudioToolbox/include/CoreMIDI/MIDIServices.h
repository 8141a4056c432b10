// Lists of MIDI messages for MusicDeviceMIDIEventList. JACK carries MIDI between programs here.
//
// Any thread may call these functions.
#ifndef CUEJACK_MIDISERVICES_H
#define CUEJACK_MIDISERVICES_H

#include "../CuejackBase.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// Host time in nanoseconds. MusicDeviceMIDIEventList takes a frame instead, and ignores it.
typedef UInt64 MIDITimeStamp;

typedef CF_ENUM(SInt32, MIDIProtocolID){kMIDIProtocol_1_0 = 1, kMIDIProtocol_2_0 = 2};

#pragma pack(push, 4)

/// Universal MIDI Packets of one time. `words` has as many as wordCount says.
struct MIDIEventPacket {
  MIDITimeStamp timeStamp;
  UInt32 wordCount;
  UInt32 words[64];
};
typedef struct MIDIEventPacket MIDIEventPacket;

/// Packets one behind the other, each without the words that it does not use.
struct MIDIEventList {
  MIDIProtocolID protocol;
  UInt32 numPackets;
  MIDIEventPacket packet[1];
};
typedef struct MIDIEventList MIDIEventList;

#pragma pack(pop)

/// Empties a list.
///
/// - Returns: where the first packet goes.
extern MIDIEventPacket *_Nullable MIDIEventListInit(MIDIEventList *evtlist,
                                                    MIDIProtocolID protocol);

/// Adds a packet of 1 to 64 words at curPacket.
///
/// - listSize: bytes of the whole list.
/// - Returns: where the next packet goes; NULL if there is no room.
extern MIDIEventPacket *_Nullable MIDIEventListAdd(MIDIEventList *evtlist, size_t listSize,
                                                   MIDIEventPacket *curPacket, MIDITimeStamp time,
                                                   size_t wordCount, const UInt32 *words);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
