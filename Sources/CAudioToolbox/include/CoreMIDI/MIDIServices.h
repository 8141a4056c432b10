// MIDI between programs and with hardware, through JACK's MIDI ports.
//
// A client is a JACK client. Sources are the MIDI output ports of other JACK clients, destinations their input ports;
// hardware shows through the bridge of jackd or PipeWire, and comes first. A device is a JACK client with such ports,
// and has one entity with all of them. A virtual source is an output port of the program's client, a virtual
// destination an input port. The JACK ports of MIDIPortRef have names that end with "(Core MIDI)"; no program of this
// library lists them.
//
// Any thread that is not real time may call these functions, the program's own functions included. Host times are
// nanoseconds of CLOCK_MONOTONIC, as mach_absolute_time returns them.
#ifndef CUEJACK_MIDISERVICES_H
#define CUEJACK_MIDISERVICES_H

#include "../CuejackBase.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

// MARK: Types

/// A number that no other object of the process has; 0 is none.
typedef UInt32 MIDIObjectRef;
typedef MIDIObjectRef MIDIClientRef;
typedef MIDIObjectRef MIDIPortRef;
typedef MIDIObjectRef MIDIDeviceRef;
typedef MIDIObjectRef MIDIEntityRef;
typedef MIDIObjectRef MIDIEndpointRef;
typedef MIDIObjectRef MIDIDeviceListRef;

/// Host time in nanoseconds; 0 is now. MusicDeviceMIDIEventList takes a frame instead, and ignores it.
typedef UInt64 MIDITimeStamp;

/// Made of the names of the client and the port, so that it is the same in every run. A program may choose another
/// one, which lasts as long as the process.
typedef SInt32 MIDIUniqueID;

enum { kMIDIInvalidUniqueID = 0 };

typedef CF_ENUM(SInt32, MIDIProtocolID){kMIDIProtocol_1_0 = 1, kMIDIProtocol_2_0 = 2};

typedef CF_ENUM(SInt32, MIDIObjectType){
    kMIDIObjectType_Other = -1,
    kMIDIObjectType_Device = 0,
    kMIDIObjectType_Entity = 1,
    kMIDIObjectType_Source = 2,
    kMIDIObjectType_Destination = 3,
    kMIDIObjectType_ExternalDevice = 0x10,
    kMIDIObjectType_ExternalEntity = 0x11,
    kMIDIObjectType_ExternalSource = 0x12,
    kMIDIObjectType_ExternalDestination = 0x13};

CF_ENUM(OSStatus) {
  /// There is no such client.
  kMIDIInvalidClient = -10830,
  /// There is no such port, or it has the other direction.
  kMIDIInvalidPort = -10831,
  /// A source where a destination is wanted, or the reverse.
  kMIDIWrongEndpointType = -10832,
  /// The source is not connected.
  kMIDINoConnection = -10833,
  /// There is no such endpoint, or its port is gone.
  kMIDIUnknownEndpoint = -10834,
  /// The object does not have the property.
  kMIDIUnknownProperty = -10835,
  /// The property has a value of another type.
  kMIDIWrongPropertyType = -10836,
  kMIDINoCurrentSetup = -10837,
  /// JACK refuses a port or a connection; the log has the reason.
  kMIDIMessageSendErr = -10838,
  /// No server runs and none may be started, or the server has gone; the log has the reason.
  kMIDIServerStartErr = -10839,
  kMIDISetupFormatErr = -10840,
  kMIDIWrongThread = -10841,
  /// There is no such object.
  kMIDIObjectNotFound = -10842,
  /// Another object has the unique ID.
  kMIDIIDNotUnique = -10843,
  kMIDINotPermitted = -10844,
  kMIDIUnknownError = -10845
};

#pragma pack(push, 4)

/// Bytes of one time: whole messages, or a part of a system exclusive message. `data` has as many bytes as `length`
/// says, which may be more than 256.
struct MIDIPacket {
  MIDITimeStamp timeStamp;
  UInt16 length;
  Byte data[256];
};
typedef struct MIDIPacket MIDIPacket;

/// Packets one behind the other, each without the bytes that it does not use: MIDIPacketNext finds the next.
struct MIDIPacketList {
  UInt32 numPackets;
  MIDIPacket packet[1];
};
typedef struct MIDIPacketList MIDIPacketList;

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

struct MIDISysexSendRequest;
typedef struct MIDISysexSendRequest MIDISysexSendRequest;

/// Called when a request is complete, on a thread of the library.
typedef void (*MIDICompletionProc)(MIDISysexSendRequest *request);

/// A system exclusive message to send. It must exist, with its data, until `complete` is set.
struct MIDISysexSendRequest {
  MIDIEndpointRef destination;
  const Byte *data;
  /// Bytes that have not been sent.
  UInt32 bytesToSend;
  /// Set when the message is sent, or never will be.
  Boolean complete;
  Byte reserved[3];
  MIDICompletionProc _Nullable completionProc;
  void *_Nullable completionRefCon;
};

typedef CF_ENUM(SInt32, MIDINotificationMessageID){
    /// Something has changed. Follows the other messages.
    kMIDIMsgSetupChanged = 1,
    kMIDIMsgObjectAdded = 2,
    kMIDIMsgObjectRemoved = 3,
    kMIDIMsgPropertyChanged = 4,
    kMIDIMsgThruConnectionsChanged = 5,
    kMIDIMsgSerialPortOwnerChanged = 6,
    kMIDIMsgIOError = 7};

struct MIDINotification {
  MIDINotificationMessageID messageID;
  /// Bytes of the whole message.
  UInt32 messageSize;
};
typedef struct MIDINotification MIDINotification;

/// kMIDIMsgObjectAdded, kMIDIMsgObjectRemoved.
struct MIDIObjectAddRemoveNotification {
  MIDINotificationMessageID messageID;
  UInt32 messageSize;
  /// 0 for a device and a virtual endpoint.
  MIDIObjectRef parent;
  MIDIObjectType parentType;
  MIDIObjectRef child;
  MIDIObjectType childType;
};
typedef struct MIDIObjectAddRemoveNotification MIDIObjectAddRemoveNotification;

/// kMIDIMsgPropertyChanged.
struct MIDIObjectPropertyChangeNotification {
  MIDINotificationMessageID messageID;
  UInt32 messageSize;
  MIDIObjectRef object;
  MIDIObjectType objectType;
  CFStringRef propertyName CF_REFINED_FOR_SWIFT;
};
typedef struct MIDIObjectPropertyChangeNotification MIDIObjectPropertyChangeNotification;

/// kMIDIMsgIOError, which is not sent.
struct MIDIIOErrorNotification {
  MIDINotificationMessageID messageID;
  UInt32 messageSize;
  MIDIDeviceRef driverDevice;
  OSStatus errorCode;
};
typedef struct MIDIIOErrorNotification MIDIIOErrorNotification;

/// Hears of changes of the setup.
typedef void (*MIDINotifyProc)(const MIDINotification *message, void *_Nullable refCon);
typedef void (^MIDINotifyBlock)(const MIDINotification *message);
/// Takes packets, in order. A thread of the client calls it, which also calls the client's other functions: it may
/// wait for less time than the messages of 256 KB take. Time stamps are the host times of the frames in which the
/// messages came in.
typedef void (*MIDIReadProc)(const MIDIPacketList *pktlist, void *_Nullable readProcRefCon,
                             void *_Nullable srcConnRefCon);
typedef void (^MIDIReadBlock)(const MIDIPacketList *pktlist, void *_Nullable srcConnRefCon);
typedef void (^MIDIReceiveBlock)(const MIDIEventList *evtlist, void *_Nullable srcConnRefCon);

// MARK: Properties

#define kMIDIPropertyName                       CFSTR("name")
#define kMIDIPropertyDisplayName                CFSTR("displayName")
#define kMIDIPropertyManufacturer               CFSTR("manufacturer")
#define kMIDIPropertyModel                      CFSTR("model")
#define kMIDIPropertyUniqueID                   CFSTR("uniqueID")
#define kMIDIPropertyDeviceID                   CFSTR("deviceID")
#define kMIDIPropertyReceiveChannels            CFSTR("receive channels")
#define kMIDIPropertyTransmitChannels           CFSTR("transmit channels")
#define kMIDIPropertyMaxSysExSpeed              CFSTR("max SysEx speed")
#define kMIDIPropertyAdvanceScheduleTimeMuSec   CFSTR("scheduleAheadMuSec")
#define kMIDIPropertyIsEmbeddedEntity           CFSTR("embedded")
#define kMIDIPropertyIsBroadcast                CFSTR("broadcast")
#define kMIDIPropertySingleRealtimeEntity       CFSTR("single realtime entity")
#define kMIDIPropertyConnectionUniqueID         CFSTR("connUniqueID")
#define kMIDIPropertyOffline                    CFSTR("offline")
#define kMIDIPropertyPrivate                    CFSTR("private")
#define kMIDIPropertyDriverOwner                CFSTR("driver")
#define kMIDIPropertyDriverVersion              CFSTR("driverVersion")
#define kMIDIPropertyNameConfiguration          CFSTR("nameConfiguration")
#define kMIDIPropertyNameConfigurationDictionary CFSTR("nameConfigurationDictionary")
#define kMIDIPropertyImage                      CFSTR("image")
#define kMIDIPropertySupportsGeneralMIDI        CFSTR("supports General MIDI")
#define kMIDIPropertySupportsMMC                CFSTR("supports MMC")
#define kMIDIPropertyCanRoute                   CFSTR("can route")
#define kMIDIPropertyReceivesClock              CFSTR("receives clock")
#define kMIDIPropertyReceivesMTC                CFSTR("receives MTC")
#define kMIDIPropertyReceivesNotes              CFSTR("receives notes")
#define kMIDIPropertyReceivesProgramChanges     CFSTR("receives program changes")
#define kMIDIPropertyTransmitsClock             CFSTR("transmits clock")
#define kMIDIPropertyTransmitsMTC               CFSTR("transmits MTC")
#define kMIDIPropertyTransmitsNotes             CFSTR("transmits notes")
#define kMIDIPropertyTransmitsProgramChanges    CFSTR("transmits program changes")
#define kMIDIPropertyIsSampler                  CFSTR("is sampler")
#define kMIDIPropertyIsDrumMachine              CFSTR("is drum machine")
#define kMIDIPropertyIsMixer                    CFSTR("is mixer")
#define kMIDIPropertyIsEffectUnit               CFSTR("is effect unit")
#define kMIDIPropertyProtocolID                 CFSTR("protocol")

// MARK: Clients

/// Creates a client: a JACK client of this name, with a number if the name is taken. Starts the server if it may. The
/// process's JACK clients are all on one server: that of its first one.
///
/// - name: that of the program if it is empty.
/// - notifyProc: called on the run loop of the calling thread; on a thread of the library if that loop does not run.
/// - Returns: kMIDIServerStartErr.
extern OSStatus MIDIClientCreate(CFStringRef name, MIDINotifyProc _Nullable notifyProc,
                                 void *_Nullable notifyRefCon, MIDIClientRef *outClient);

/// Creates a client, as MIDIClientCreate does. The block is called on a thread of the client.
extern OSStatus MIDIClientCreateWithBlock(CFStringRef name, MIDIClientRef *outClient,
                                          MIDINotifyBlock _Nullable notifyBlock);

/// Closes a client, its ports and its virtual endpoints. No function of it is called afterwards.
extern OSStatus MIDIClientDispose(MIDIClientRef client);

// MARK: Ports

/// Creates an input port. What other programs connect to its JACK port comes with a connection's refCon of NULL.
extern OSStatus MIDIInputPortCreate(MIDIClientRef client, CFStringRef portName,
                                    MIDIReadProc readProc, void *_Nullable refCon,
                                    MIDIPortRef *outPort);
extern OSStatus MIDIInputPortCreateWithBlock(MIDIClientRef client, CFStringRef portName,
                                             MIDIPortRef *outPort, MIDIReadBlock readBlock);

/// Creates an input port that gives universal packets of a protocol. Messages of MIDI 1.0 become voice messages of MIDI
/// 2.0 if that is the protocol.
extern OSStatus MIDIInputPortCreateWithProtocol(MIDIClientRef client, CFStringRef portName,
                                                MIDIProtocolID protocol, MIDIPortRef *outPort,
                                                MIDIReceiveBlock receiveBlock);
extern OSStatus MIDIOutputPortCreate(MIDIClientRef client, CFStringRef portName,
                                     MIDIPortRef *outPort);

/// Removes a port, once what is due is sent. Waits for a call of its function on another thread, for one second at most.
extern OSStatus MIDIPortDispose(MIDIPortRef port);

/// Connects a source. The connection is made again whenever the source or the server returns. Takes two cycles. A
/// connection with a refCon gets a JACK port of its own.
///
/// - Returns: kMIDIInvalidPort; kMIDIUnknownEndpoint; kMIDIWrongEndpointType; kMIDIServerStartErr.
extern OSStatus MIDIPortConnectSource(MIDIPortRef port, MIDIEndpointRef source,
                                      void *_Nullable connRefCon);

/// Disconnects a source.
///
/// - Returns: kMIDINoConnection.
extern OSStatus MIDIPortDisconnectSource(MIDIPortRef port, MIDIEndpointRef source);

// MARK: The setup

// Without a client of the process, the functions that count ask the default server, which they do not start.

extern ItemCount MIDIGetNumberOfDevices(void);
/// Returns 0 if there are fewer devices.
extern MIDIDeviceRef MIDIGetDevice(ItemCount deviceIndex0);
extern ItemCount MIDIDeviceGetNumberOfEntities(MIDIDeviceRef device);
extern MIDIEntityRef MIDIDeviceGetEntity(MIDIDeviceRef device, ItemCount entityIndex0);
extern ItemCount MIDIEntityGetNumberOfSources(MIDIEntityRef entity);
extern MIDIEndpointRef MIDIEntityGetSource(MIDIEntityRef entity, ItemCount sourceIndex0);
extern ItemCount MIDIEntityGetNumberOfDestinations(MIDIEntityRef entity);
extern MIDIEndpointRef MIDIEntityGetDestination(MIDIEntityRef entity, ItemCount destIndex0);
extern OSStatus MIDIEntityGetDevice(MIDIEntityRef inEntity, MIDIDeviceRef *_Nullable outDevice);

extern ItemCount MIDIGetNumberOfSources(void);
/// Returns 0 if there are fewer sources. Those of hardware come first, the program's own last.
extern MIDIEndpointRef MIDIGetSource(ItemCount sourceIndex0);
extern ItemCount MIDIGetNumberOfDestinations(void);
extern MIDIEndpointRef MIDIGetDestination(ItemCount destIndex0);

/// Stores the entity of an endpoint.
///
/// - Returns: kMIDIObjectNotFound for the program's own virtual endpoints.
extern OSStatus MIDIEndpointGetEntity(MIDIEndpointRef inEndpoint,
                                      MIDIEntityRef *_Nullable outEntity);

/// There are no external devices: JACK does not know what is behind a cable.
extern ItemCount MIDIGetNumberOfExternalDevices(void);
extern MIDIDeviceRef MIDIGetExternalDevice(ItemCount deviceIndex0);

/// Looks for ports that have come or gone.
extern OSStatus MIDIRestart(void);

// MARK: Virtual endpoints

/// Creates a virtual destination, which other programs send to.
extern OSStatus MIDIDestinationCreate(MIDIClientRef client, CFStringRef name, MIDIReadProc readProc,
                                      void *_Nullable refCon, MIDIEndpointRef *outDest);
extern OSStatus MIDIDestinationCreateWithBlock(MIDIClientRef client, CFStringRef name,
                                               MIDIEndpointRef *outDest, MIDIReadBlock readBlock);
extern OSStatus MIDIDestinationCreateWithProtocol(MIDIClientRef client, CFStringRef name,
                                                  MIDIProtocolID protocol, MIDIEndpointRef *outDest,
                                                  MIDIReceiveBlock readBlock);

/// Creates a virtual source, which other programs hear. MIDIReceived sends from it.
extern OSStatus MIDISourceCreate(MIDIClientRef client, CFStringRef name, MIDIEndpointRef *outSrc);
extern OSStatus MIDISourceCreateWithProtocol(MIDIClientRef client, CFStringRef name,
                                             MIDIProtocolID protocol, MIDIEndpointRef *outSrc);

/// Removes a virtual endpoint.
///
/// - Returns: kMIDIUnknownEndpoint; kMIDINotPermitted for an endpoint of another program.
extern OSStatus MIDIEndpointDispose(MIDIEndpointRef endpt);

// MARK: Messages

/// Sends packets. Each message goes out on the frame of its time; one whose time is past, or 0, with the next cycle.
/// Order is kept among messages of one time. A system exclusive message goes out when its end has been sent, as one
/// JACK event; if it is longer than 16 KB, in several, in cycles that follow each other.
///
/// The first call for a destination connects it, which takes two cycles. What falls due while the server is away is
/// dropped.
///
/// - pktlist: numPackets packets, which the function trusts. Bytes that belong to no message are left out.
/// - Returns: kMIDIInvalidPort; kMIDIUnknownEndpoint; kMIDIWrongEndpointType; kMIDIServerStartErr if the server is away.
extern OSStatus MIDISend(MIDIPortRef port, MIDIEndpointRef dest, const MIDIPacketList *pktlist);

/// Sends universal packets, as MIDISend does, to a destination of MIDI 1.0: what concerns one note only and lower bits
/// of values are lost, and groups do not count.
extern OSStatus MIDISendEventList(MIDIPortRef port, MIDIEndpointRef dest,
                                  const MIDIEventList *evtlist);

/// Sends a system exclusive message. Returns at once.
extern OSStatus MIDISendSysex(MIDISysexSendRequest *request);

/// Sends packets from a virtual source, as MIDISend does.
extern OSStatus MIDIReceived(MIDIEndpointRef src, const MIDIPacketList *pktlist);
extern OSStatus MIDIReceivedEventList(MIDIEndpointRef src, const MIDIEventList *evtlist);

/// Unschedules what was sent to a destination, or from a virtual source, and is not due yet.
///
/// - dest: 0 for all of the process.
extern OSStatus MIDIFlushOutput(MIDIEndpointRef dest);

// MARK: Lists

// Apple's headers declare results that are never NULL. They are, if there is no room.

/// Empties a list.
///
/// - Returns: where the first packet goes.
extern MIDIPacket *MIDIPacketListInit(MIDIPacketList *pktlist);

/// Adds bytes. They join the packet at curPacket if that has the same time, and neither is system exclusive.
///
/// - listSize: bytes of the whole list.
/// - curPacket: what MIDIPacketListInit or the last MIDIPacketListAdd returned.
/// - Returns: the packet that has the bytes; NULL if there is no room.
extern MIDIPacket *MIDIPacketListAdd(MIDIPacketList *pktlist, ByteCount listSize,
                                     MIDIPacket *curPacket, MIDITimeStamp time, ByteCount nData,
                                     const Byte *data);

/// Empties a list.
///
/// - Returns: where the first packet goes.
extern MIDIEventPacket *MIDIEventListInit(MIDIEventList *evtlist, MIDIProtocolID protocol);

/// Adds a packet of 1 to 64 words at curPacket.
///
/// - listSize: bytes of the whole list.
/// - Returns: where the next packet goes; NULL if there is no room.
extern MIDIEventPacket *MIDIEventListAdd(MIDIEventList *evtlist, size_t listSize,
                                         MIDIEventPacket *curPacket, MIDITimeStamp time,
                                         size_t wordCount, const UInt32 *words);

/// Returns the address behind a packet.
CF_INLINE MIDIPacket *MIDIPacketNext(const MIDIPacket *pkt) {
#if defined(__arm__) || defined(__aarch64__)
  return (MIDIPacket *)(((uintptr_t)(&pkt->data[pkt->length]) + 3) & ~(uintptr_t)3);
#else
  return (MIDIPacket *)(uintptr_t)&pkt->data[pkt->length];
#endif
}

/// Returns the address behind a packet.
CF_INLINE MIDIEventPacket *MIDIEventPacketNext(const MIDIEventPacket *pkt) {
  return (MIDIEventPacket *)(uintptr_t)&pkt->words[pkt->wordCount];
}

// MARK: Properties of objects

// A device, an entity and an endpoint have a name, a display name, a unique ID, and whether they are offline. A device,
// its entity and their endpoints have a manufacturer, a model and a driver. Programs may set others, which last as long
// as the process. The functions return kMIDIObjectNotFound, kMIDIUnknownProperty and kMIDIWrongPropertyType.

extern OSStatus MIDIObjectGetIntegerProperty(MIDIObjectRef obj, CFStringRef propertyID,
                                             SInt32 *outValue);

/// Sets an integer.
///
/// - Returns: kMIDIIDNotUnique if another object has this unique ID.
extern OSStatus MIDIObjectSetIntegerProperty(MIDIObjectRef obj, CFStringRef propertyID,
                                             SInt32 value);

/// Stores a string, which the caller releases.
extern OSStatus MIDIObjectGetStringProperty(MIDIObjectRef obj, CFStringRef propertyID,
                                            CFStringRef _Nullable *_Nonnull str);
extern OSStatus MIDIObjectSetStringProperty(MIDIObjectRef obj, CFStringRef propertyID,
                                            CFStringRef str);

/// Stores data, which the caller releases.
extern OSStatus MIDIObjectGetDataProperty(MIDIObjectRef obj, CFStringRef propertyID,
                                          CFDataRef _Nullable *_Nonnull outData);
extern OSStatus MIDIObjectSetDataProperty(MIDIObjectRef obj, CFStringRef propertyID,
                                          CFDataRef data);

/// Stores a dictionary, which the caller releases.
extern OSStatus MIDIObjectGetDictionaryProperty(MIDIObjectRef obj, CFStringRef propertyID,
                                                CFDictionaryRef _Nullable *_Nonnull outDict);
extern OSStatus MIDIObjectSetDictionaryProperty(MIDIObjectRef obj, CFStringRef propertyID,
                                                CFDictionaryRef dict);

/// Stores a dictionary of all properties, which the caller releases. With `deep`, a device has its entities under
/// "entities", and an entity its endpoints under "sources" and "destinations".
extern OSStatus MIDIObjectGetProperties(MIDIObjectRef obj,
                                        CFPropertyListRef _Nullable *_Nonnull outProperties,
                                        Boolean deep);

/// Removes a property that a program has set.
extern OSStatus MIDIObjectRemoveProperty(MIDIObjectRef obj, CFStringRef propertyID);

/// Stores the object with a unique ID, and its type.
///
/// - Returns: kMIDIObjectNotFound.
extern OSStatus MIDIObjectFindByUniqueID(MIDIUniqueID inUniqueID, MIDIObjectRef *_Nullable outObject,
                                         MIDIObjectType *_Nullable outObjectType);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
