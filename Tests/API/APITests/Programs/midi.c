// Core MIDI as programs use it: lists, the setup, ports, virtual endpoints, properties,
// notifications, universal packets, system exclusive requests and thru connections.
#include "check.h"

#include <CoreMIDI/CoreMIDI.h>
#include <mach/mach_time.h>

/// Messages that a function has taken.
typedef struct {
  _Atomic(size_t) count;
  Byte bytes[1 << 16];
  MIDITimeStamp times[1024];
  _Atomic(size_t) packets;
  _Atomic(void *) tag;
} Taken;

static void take(const MIDIPacketList *list, void *data, void *tag) {
  Taken *taken = data;
  const MIDIPacket *packet = &list->packet[0];
  taken->tag = tag;
  for (UInt32 i = 0; i < list->numPackets; i++) {
    taken->times[taken->packets % 1024] = packet->timeStamp;
    memcpy(taken->bytes + taken->count, packet->data, packet->length);
    taken->count += packet->length;
    taken->packets++;
    packet = MIDIPacketNext(packet);
  }
}

static CFStringRef text_of(MIDIObjectRef object, CFStringRef name) {
  CFStringRef text = NULL;
  return MIDIObjectGetStringProperty(object, name, &text) == noErr ? text : NULL;
}

static bool is_called(MIDIObjectRef object, const char *name) {
  CFStringRef text = text_of(object, kMIDIPropertyName);
  char bytes[256] = "";
  if (text) {
    CFStringGetCString(text, bytes, sizeof bytes, kCFStringEncodingUTF8);
    CFRelease(text);
  }
  return strcmp(bytes, name) == 0;
}

// MARK: Lists

static void lists(void) {
  static union {
    MIDIPacketList list;
    Byte room[70000];
  } all;
  static Byte data[65535];
  const Byte on[] = {0x90, 60, 100}, exclusive[] = {0xF0, 1, 0xF7};
  MIDIPacket *packet = MIDIPacketListInit(&all.list);
  CHECK(packet == &all.list.packet[0] && all.list.numPackets == 0);
  packet = MIDIPacketListAdd(&all.list, sizeof all, packet, 5, 3, on);
  CHECK(packet == &all.list.packet[0] && all.list.numPackets == 1 && packet->length == 3);
  // The same time joins, another one does not, nor does a system exclusive message.
  packet = MIDIPacketListAdd(&all.list, sizeof all, packet, 5, 3, on);
  CHECK(packet == &all.list.packet[0] && all.list.numPackets == 1 && packet->length == 6);
  packet = MIDIPacketListAdd(&all.list, sizeof all, packet, 5, 3, exclusive);
  CHECK(packet == MIDIPacketNext(&all.list.packet[0]) && all.list.numPackets == 2);
  packet = MIDIPacketListAdd(&all.list, sizeof all, packet, 5, 3, on);
  packet = MIDIPacketListAdd(&all.list, sizeof all, packet, 6, 0, on);
  CHECK(packet && all.list.numPackets == 4 && packet->length == 0 && packet->timeStamp == 6);
  // The longest packet, and what has no room.
  packet = MIDIPacketListAdd(&all.list, sizeof all, packet, 7, sizeof data, data);
  CHECK(packet && packet->length == 65535 && all.list.numPackets == 5);
  CHECK(MIDIPacketListAdd(&all.list, sizeof all, packet, 8, sizeof data, data) == NULL);
  packet = MIDIPacketListInit(&all.list);
  CHECK(MIDIPacketListAdd(&all.list, sizeof all, packet, 8, 65536, data) == NULL);
  // A list as large as its one packet.
  CHECK(MIDIPacketListAdd(&all.list, 4 + 10 + 2, packet, 8, 3, on) == NULL);
  CHECK(MIDIPacketListAdd(&all.list, 4 + 10 + 3, packet, 8, 3, on) == packet);
  CHECK(all.list.numPackets == 1);
  passed("lists");
}

// MARK: Ports

static MIDIClientRef client;
static MIDIPortRef input, output;
static MIDIEndpointRef source, destination;
static Taken heard, sunk;

static void send(MIDIEndpointRef to, MIDITimeStamp time, const Byte *bytes, size_t count) {
  MIDIPacketList list;
  MIDIPacketListAdd(&list, sizeof list, MIDIPacketListInit(&list), time, count, bytes);
  if (to == source)
    WORKS(MIDIReceived(source, &list));
  else
    WORKS(MIDISend(output, to, &list));
}

static void ports(void) {
  WORKS(MIDIClientCreate(CFSTR("notes"), NULL, NULL, &client));
  WORKS(MIDIInputPortCreate(client, CFSTR("in"), take, &heard, &input));
  WORKS(MIDIOutputPortCreate(client, CFSTR("out"), &output));
  WORKS(MIDISourceCreate(client, CFSTR("Keys"), &source));
  WORKS(MIDIDestinationCreate(client, CFSTR("Synth"), take, &sunk, &destination));
  WORKS(MIDIPortConnectSource(input, source, &heard));
  const Byte on[] = {0x90, 60, 100}, off[] = {0x80, 60, 0};
  send(source, 0, on, 3);
  WAIT(heard.count == 3);
  CHECK(memcmp(heard.bytes, on, 3) == 0 && heard.tag == &heard);
  // Not before its time, but for half a frame and the microsecond of JACK's clock.
  MIDITimeStamp time = mach_absolute_time() + 100000000;
  send(destination, time, off, 3);
  WAIT(sunk.count == 3);
  SInt64 distance = (SInt64)(sunk.times[0] - time);
  CHECK(distance >= -12000 && distance < 1000000000);
  CHECK(memcmp(sunk.bytes, off, 3) == 0 && sunk.tag == NULL);
  WORKS(MIDIPortDisconnectSource(input, source));
  GIVES(MIDIPortDisconnectSource(input, source), kMIDINoConnection);
  WORKS(MIDIPortConnectSource(input, source, NULL));
  send(source, 0, off, 3);
  WAIT(heard.count == 6);
  CHECK(heard.tag == NULL);
  passed("ports");
}

/// Lists with lengths that programs get wrong.
static void odd_packets(void) {
  static union {
    MIDIPacketList list;
    Byte room[70000];
  } all;
  static const Byte on[] = {0x90, 60, 100};
  size_t before = sunk.count;
  MIDIPacket *packet = MIDIPacketListInit(&all.list);
  packet = MIDIPacketListAdd(&all.list, sizeof all, packet, 1, 0, on);
  static Byte zeros[65535];
  packet = MIDIPacketListAdd(&all.list, sizeof all, packet, 2, sizeof zeros, zeros);
  packet = MIDIPacketListAdd(&all.list, sizeof all, packet, 3, 2, on);
  packet = MIDIPacketListAdd(&all.list, sizeof all, packet, 4, 1, on + 2);
  CHECK(packet && all.list.numPackets == 4);
  WORKS(MIDISend(output, destination, &all.list));
  WAIT(sunk.count == before + 3);
  CHECK(memcmp(sunk.bytes + before, on, 3) == 0);
  all.list.numPackets = 0;
  WORKS(MIDISend(output, destination, &all.list));
  // Flushed before it is due.
  send(destination, mach_absolute_time() + 500000000, on, 3);
  WORKS(MIDIFlushOutput(destination));
  send(destination, mach_absolute_time() + 600000000, on, 2);
  send(destination, mach_absolute_time() + 600000000, on + 2, 1);
  WAIT(sunk.count == before + 6);
  passed("odd packets");
}

static void mistakes(void) {
  MIDIPacketList list;
  MIDIPacketListInit(&list);
  MIDIObjectRef made = 7;
  GIVES(MIDIInputPortCreate(0, CFSTR("in"), take, NULL, &made), kMIDIInvalidClient);
  CHECK(made == 0);
  GIVES(MIDIOutputPortCreate(input, CFSTR("out"), &made), kMIDIInvalidClient);
  GIVES(MIDIClientDispose(input), kMIDIInvalidClient);
  GIVES(MIDIPortDispose(client), kMIDIInvalidPort);
  GIVES(MIDISend(input, destination, &list), kMIDIInvalidPort);
  GIVES(MIDISend(output, source, &list), kMIDIWrongEndpointType);
  GIVES(MIDISend(output, client, &list), kMIDIUnknownEndpoint);
  GIVES(MIDIReceived(destination, &list), kMIDIWrongEndpointType);
  GIVES(MIDIPortConnectSource(output, source, NULL), kMIDIInvalidPort);
  GIVES(MIDIPortConnectSource(input, destination, NULL), kMIDIWrongEndpointType);
  GIVES(MIDIInputPortCreateWithProtocol(client, CFSTR("in"), (MIDIProtocolID)3, &made,
                                        ^(const MIDIEventList *events, void *tag) {
                                          (void)events, (void)tag;
                                        }),
        kAudio_ParamError);
  passed("mistakes");
}

// MARK: The setup

static void setup(void) {
  CHECK(MIDIGetNumberOfSources() >= 1 && MIDIGetNumberOfDestinations() >= 1);
  // The program's own endpoints come last.
  CHECK(MIDIGetSource(MIDIGetNumberOfSources() - 1) == source);
  CHECK(MIDIGetDestination(MIDIGetNumberOfDestinations() - 1) == destination);
  CHECK(MIDIGetSource(MIDIGetNumberOfSources()) == 0 && MIDIGetSource(~0ul) == 0);
  CHECK(MIDIGetNumberOfExternalDevices() == 0 && MIDIGetExternalDevice(0) == 0);
  MIDIEntityRef entity = 9;
  GIVES(MIDIEndpointGetEntity(source, &entity), kMIDIObjectNotFound);
  CHECK(entity == 0);
  for (ItemCount i = 0; i < MIDIGetNumberOfDevices(); i++) {
    MIDIDeviceRef device = MIDIGetDevice(i), found;
    CHECK(MIDIDeviceGetNumberOfEntities(device) == 1);
    entity = MIDIDeviceGetEntity(device, 0);
    CHECK(MIDIDeviceGetEntity(device, 1) == 0);
    WORKS(MIDIEntityGetDevice(entity, &found));
    CHECK(found == device);
    CHECK(MIDIEntityGetNumberOfSources(entity) + MIDIEntityGetNumberOfDestinations(entity) > 0);
    for (ItemCount n = 0; n < MIDIEntityGetNumberOfSources(entity); n++) {
      MIDIEntityRef of;
      WORKS(MIDIEndpointGetEntity(MIDIEntityGetSource(entity, n), &of));
      CHECK(of == entity);
    }
  }
  WORKS(MIDIRestart());
  passed("the setup");
}

static void properties(void) {
  CHECK(is_called(source, "Keys") && is_called(destination, "Synth"));
  CFStringRef display = text_of(source, kMIDIPropertyDisplayName);
  CHECK(display && CFStringCompare(display, CFSTR("notes Keys"), 0) == kCFCompareEqualTo);
  CFRelease(display);
  SInt32 id = 0, value = 0, other = 0;
  WORKS(MIDIObjectGetIntegerProperty(source, kMIDIPropertyUniqueID, &id));
  WORKS(MIDIObjectGetIntegerProperty(destination, kMIDIPropertyUniqueID, &other));
  CHECK(id != 0 && other != 0 && id != other);
  MIDIObjectRef found;
  MIDIObjectType type;
  WORKS(MIDIObjectFindByUniqueID(id, &found, &type));
  CHECK(found == source && type == kMIDIObjectType_Source);
  GIVES(MIDIObjectSetIntegerProperty(source, kMIDIPropertyUniqueID, other), kMIDIIDNotUnique);
  WORKS(MIDIObjectSetIntegerProperty(source, kMIDIPropertyUniqueID, 4711));
  WORKS(MIDIObjectFindByUniqueID(4711, &found, NULL));
  CHECK(found == source);
  GIVES(MIDIObjectFindByUniqueID(id, &found, &type), kMIDIObjectNotFound);
  WORKS(MIDIObjectGetIntegerProperty(source, kMIDIPropertyOffline, &value));
  CHECK(value == 0);
  GIVES(MIDIObjectGetIntegerProperty(source, kMIDIPropertyName, &value), kMIDIWrongPropertyType);
  GIVES(MIDIObjectGetIntegerProperty(source, CFSTR("colour"), &value), kMIDIUnknownProperty);
  GIVES(MIDIObjectGetIntegerProperty(client, kMIDIPropertyUniqueID, &value), kMIDIObjectNotFound);
  WORKS(MIDIObjectSetStringProperty(source, kMIDIPropertyModel, CFSTR("M-1")));
  CFStringRef model = text_of(source, kMIDIPropertyModel);
  CHECK(model && CFStringCompare(model, CFSTR("M-1"), 0) == kCFCompareEqualTo);
  CFRelease(model);
  CFDataRef data = CFDataCreate(NULL, (const UInt8 *)"abc", 3), got = NULL;
  WORKS(MIDIObjectSetDataProperty(source, CFSTR("bytes"), data));
  WORKS(MIDIObjectGetDataProperty(source, CFSTR("bytes"), &got));
  CHECK(CFDataGetLength(got) == 3 && memcmp(CFDataGetBytePtr(got), "abc", 3) == 0);
  CFRelease(got);
  CFRelease(data);
  CFStringRef key = CFSTR("a"), word = CFSTR("b");
  CFDictionaryRef dictionary =
      CFDictionaryCreate(NULL, (const void **)&key, (const void **)&word, 1,
                         &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
  CFDictionaryRef again = NULL;
  WORKS(MIDIObjectSetDictionaryProperty(source, CFSTR("list"), dictionary));
  WORKS(MIDIObjectGetDictionaryProperty(source, CFSTR("list"), &again));
  CHECK(CFDictionaryGetCount(again) == 1);
  CFRelease(again);
  CFRelease(dictionary);
  CFPropertyListRef all = NULL;
  WORKS(MIDIObjectGetProperties(source, &all, true));
  CHECK(CFDictionaryContainsKey(all, kMIDIPropertyName) &&
        CFDictionaryContainsKey(all, CFSTR("list")));
  CFRelease(all);
  WORKS(MIDIObjectRemoveProperty(source, CFSTR("list")));
  GIVES(MIDIObjectRemoveProperty(source, CFSTR("list")), kMIDIUnknownProperty);
  passed("properties");
}

// MARK: Notifications

static _Atomic(int) added, removed, changed, all_changes;
static MIDIObjectRef latest;

static void notified(const MIDINotification *message, void *data) {
  CHECK(data == &added);
  if (message->messageID == kMIDIMsgObjectAdded || message->messageID == kMIDIMsgObjectRemoved) {
    const MIDIObjectAddRemoveNotification *change = (const void *)message;
    CHECK(message->messageSize == sizeof *change && change->parent == 0);
    CHECK(change->childType == kMIDIObjectType_Source);
    latest = change->child;
    if (message->messageID == kMIDIMsgObjectAdded)
      added++;
    else
      removed++;
  }
  if (message->messageID == kMIDIMsgPropertyChanged) {
    const MIDIObjectPropertyChangeNotification *change = (const void *)message;
    CHECK(CFStringCompare(change->propertyName, kMIDIPropertyModel, 0) == kCFCompareEqualTo);
    changed++;
  }
  if (message->messageID == kMIDIMsgSetupChanged) all_changes++;
}

static void notifications(void) {
  MIDIClientRef listener, second;
  static _Atomic(int) blocks;
  WORKS(MIDIClientCreate(CFSTR("listener"), notified, &added, &listener));
  WORKS(MIDIClientCreateWithBlock(CFSTR("second"), &second, ^(const MIDINotification *message) {
    if (message->messageID == kMIDIMsgSetupChanged) blocks++;
  }));
  MIDIEndpointRef fresh;
  WORKS(MIDISourceCreate(second, CFSTR("Fresh"), &fresh));
  for (int i = 0; i < 1000 && !all_changes; i++)
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.01, true);
  CHECK(added == 1 && latest == fresh && all_changes == 1);
  WORKS(MIDIObjectSetStringProperty(fresh, kMIDIPropertyModel, CFSTR("F")));
  WORKS(MIDIEndpointDispose(fresh));
  GIVES(MIDIEndpointDispose(fresh), kMIDIUnknownEndpoint);
  for (int i = 0; i < 1000 && all_changes < 2; i++)
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.01, true);
  CHECK(removed == 1 && changed == 1 && latest == fresh);
  WAIT(blocks == 2);
  // Without a run loop that runs, a thread of the library calls the function.
  WORKS(MIDISourceCreate(second, CFSTR("Fresh"), &fresh));
  WAIT(added == 2);
  WORKS(MIDIClientDispose(listener));
  WORKS(MIDIClientDispose(second));
  GIVES(MIDIEndpointDispose(fresh), kMIDIUnknownEndpoint);
  passed("notifications");
}

// MARK: Universal packets

static void universal(void) {
  static _Atomic(UInt32) words[64];
  static _Atomic(size_t) count;
  MIDIPortRef port;
  WORKS(MIDIInputPortCreateWithProtocol(client, CFSTR("universal"), kMIDIProtocol_2_0, &port,
                                        ^(const MIDIEventList *list, void *tag) {
                                          (void)tag;
                                          CHECK(list->protocol == kMIDIProtocol_2_0);
                                          const MIDIEventPacket *packet = &list->packet[0];
                                          for (UInt32 i = 0; i < list->numPackets; i++) {
                                            for (UInt32 n = 0; n < packet->wordCount; n++)
                                              words[count++] = packet->words[n];
                                            packet = MIDIEventPacketNext(packet);
                                          }
                                        }));
  WORKS(MIDIPortConnectSource(port, source, NULL));
  MIDIEventList list;
  MIDIEventPacket *packet = MIDIEventListInit(&list, kMIDIProtocol_2_0);
  MIDIMessage_64 on = MIDI2NoteOn(0, 1, 60, 0, 0, 0xC800);
  UInt32 both[] = {on.word0, on.word1, MIDI1UPControlChange(0, 2, 7, 127), 0x30027E7F, 0};
  CHECK(MIDIEventListAdd(&list, sizeof list, packet, 0, 5, both));
  size_t before = heard.count;
  WORKS(MIDIReceivedEventList(source, &list));
  WAIT(count == 6);
  CHECK(words[0] == 0x40913C00 && words[1] >> 25 == 100);
  CHECK(words[2] == 0x40B20700 && words[3] == 0xFFFFFFFF && words[4] == 0x30027E7F);
  // The same as bytes.
  static const Byte bytes[] = {0x91, 60, 100, 0xB2, 7, 127, 0xF0, 0x7E, 0x7F, 0xF7};
  WAIT(heard.count == before + sizeof bytes);
  CHECK(memcmp(heard.bytes + before, bytes, sizeof bytes) == 0);
  before = sunk.count;
  WORKS(MIDISendEventList(output, destination, &list));
  WAIT(sunk.count == before + sizeof bytes);
  WORKS(MIDIPortDispose(port));
  passed("universal packets");
}

// MARK: System exclusive messages

static _Atomic(int) completed;

static void complete(MIDISysexSendRequest *request) {
  CHECK(request->complete && request->bytesToSend == 0 && request->completionRefCon == &completed);
  completed++;
}

static void exclusive(void) {
  static Byte bytes[50000];
  memset(bytes, 5, sizeof bytes);
  bytes[0] = 0xF0;
  bytes[sizeof bytes - 1] = 0xF7;
  MIDISysexSendRequest request = {destination, bytes,    sizeof bytes, false,
                                  {0},         complete, &completed};
  size_t before = sunk.count;
  WORKS(MIDISendSysex(&request));
  WAIT(completed == 1);
  WAIT(sunk.count == before + sizeof bytes || sunk.count > sizeof sunk.bytes);
  CHECK(memcmp(sunk.bytes + before, bytes, sizeof bytes) == 0);
  request.bytesToSend = 10;
  GIVES(MIDISendSysex(&request), kAudio_ParamError);
  request.destination = source;
  GIVES(MIDISendSysex(&request), kMIDIWrongEndpointType);
  passed("system exclusive messages");
}

// MARK: Thru connections

static void thru(void) {
  MIDIThruConnectionParams values;
  MIDIThruConnectionParamsInitialize(&values);
  CHECK(values.channelMap[15] == 15 && values.highNote == 127 && values.numSources == 0);
  values.numSources = values.numDestinations = 1;
  values.sources[0].endpointRef = source;
  values.destinations[0].endpointRef = destination;
  values.noteNumber.transform = kMIDITransform_Add;
  values.noteNumber.param = 12;
  CFDataRef data = CFDataCreate(NULL, (const UInt8 *)&values, sizeof values), got = NULL;
  MIDIThruConnectionRef connection;
  WORKS(MIDIThruConnectionCreate(CFSTR("owner"), data, &connection));
  WORKS(MIDIThruConnectionFind(CFSTR("owner"), &got));
  CHECK(CFDataGetLength(got) == 4 && memcmp(CFDataGetBytePtr(got), &connection, 4) == 0);
  CFRelease(got);
  size_t before = sunk.count;
  const Byte on[] = {0x90, 60, 100};
  send(source, 0, on, 3);
  WAIT(sunk.count == before + 3);
  CHECK(sunk.bytes[before + 1] == 72);
  WORKS(MIDIThruConnectionGetParams(connection, &got));
  CHECK(CFDataGetLength(got) == sizeof values);
  CFRelease(got);
  CFRelease(data);
  values.noteNumber.transform = kMIDITransform_MapValue;
  data = CFDataCreate(NULL, (const UInt8 *)&values, sizeof values);
  GIVES(MIDIThruConnectionSetParams(connection, data), kMIDINotPermitted);
  CFRelease(data);
  values.noteNumber.transform = kMIDITransform_FilterOut;
  data = CFDataCreate(NULL, (const UInt8 *)&values, sizeof values);
  WORKS(MIDIThruConnectionSetParams(connection, data));
  CFRelease(data);
  const Byte both[] = {0x90, 60, 100, 0xB0, 7, 1};
  send(source, 0, both, 6);
  WAIT(sunk.count == before + 6);
  CHECK(sunk.bytes[before + 3] == 0xB0);
  data = CFDataCreate(NULL, (const UInt8 *)&values, sizeof values - 1);
  GIVES(MIDIThruConnectionCreate(NULL, data, &connection), kAudio_ParamError);
  CFRelease(data);
  WORKS(MIDIThruConnectionFind(CFSTR("owner"), &got));
  memcpy(&connection, CFDataGetBytePtr(got), 4);
  CFRelease(got);
  WORKS(MIDIThruConnectionDispose(connection));
  GIVES(MIDIThruConnectionDispose(connection), kMIDIObjectNotFound);
  passed("thru connections");
}

int main(void) {
  lists();
  ports();
  odd_packets();
  mistakes();
  setup();
  properties();
  notifications();
  universal();
  thru();
  exclusive();
  WORKS(MIDIPortDispose(input));
  WORKS(MIDIEndpointDispose(source));
  WORKS(MIDIClientDispose(client));
  GIVES(MIDIClientDispose(client), kMIDIInvalidClient);
  return 0;
}
