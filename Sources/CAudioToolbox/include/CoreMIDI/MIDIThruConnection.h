// Connections of sources with destinations through this process.
//
// A thru connection is a pair of ports of the process's first client: what the sources send goes out to the
// destinations two cycles later, with the same distances. It ends with the process, whatever its owner is.
#ifndef CUEJACK_MIDITHRUCONNECTION_H
#define CUEJACK_MIDITHRUCONNECTION_H

#include "MIDIServices.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

typedef MIDIObjectRef MIDIThruConnectionRef;

enum { kMIDIThruConnection_MaxEndpoints = 8 };

typedef CF_ENUM(UInt16, MIDITransformType){
    kMIDITransform_None = 0,
    /// Lets no message of the kind pass.
    kMIDITransform_FilterOut = 1,
    kMIDITransform_MapControl = 2,
    /// Adds `param` to the value.
    kMIDITransform_Add = 8,
    /// Multiplies the value with `param`, a number of 4 and 12 bits.
    kMIDITransform_Scale = 9,
    /// Lets no value be less than `param`.
    kMIDITransform_MinValue = 10,
    /// Lets no value be more than `param`.
    kMIDITransform_MaxValue = 11,
    kMIDITransform_MapValue = 12};

typedef CF_ENUM(UInt8, MIDITransformControlType){kMIDIControlType_7Bit = 0,
                                                 kMIDIControlType_14Bit = 1,
                                                 kMIDIControlType_7BitRPN = 2,
                                                 kMIDIControlType_14BitRPN = 3,
                                                 kMIDIControlType_7BitNRPN = 4,
                                                 kMIDIControlType_14BitNRPN = 5};

struct MIDIValueMap {
  UInt8 value[128];
};
typedef struct MIDIValueMap MIDIValueMap;

struct MIDITransform {
  MIDITransformType transform;
  SInt16 param;
};
typedef struct MIDITransform MIDITransform;

struct MIDIControlTransform {
  MIDITransformControlType controlType;
  MIDITransformControlType remappedControlType;
  UInt16 controlNumber;
  MIDITransformType transform;
  SInt16 param;
};
typedef struct MIDIControlTransform MIDIControlTransform;

/// An endpoint, by either of the two.
struct MIDIThruConnectionEndpoint {
  MIDIEndpointRef endpointRef;
  MIDIUniqueID uniqueID;
};
typedef struct MIDIThruConnectionEndpoint MIDIThruConnectionEndpoint;

/// The filters and changes that a thru connection applies to messages.
struct MIDIThruConnectionParams {
  UInt32 version; ///< 0.
  UInt32 numSources;
  MIDIThruConnectionEndpoint sources[kMIDIThruConnection_MaxEndpoints];
  UInt32 numDestinations;
  MIDIThruConnectionEndpoint destinations[kMIDIThruConnection_MaxEndpoints];
  /// The channel, from 0, that each channel becomes; 0xFF lets it not pass.
  UInt8 channelMap[16];
  /// Notes with velocities outside do not pass.
  UInt8 lowVelocity, highVelocity;
  /// Notes outside do not pass. If the low note is higher than the high one, those between do not.
  UInt8 lowNote, highNote;
  MIDITransform noteNumber, velocity;
  MIDITransform keyPressure, channelPressure;
  MIDITransform programChange, pitchBend;
  UInt8 filterOutSysEx, filterOutMTC, filterOutBeatClock, filterOutTuneRequest;
  UInt8 reserved2[3];
  UInt8 filterOutAllControls;
  /// Numbers of control transforms and of value maps behind the structure: they must be 0.
  UInt16 numControlTransforms;
  UInt16 numMaps;
  UInt16 reserved3[4];
};
typedef struct MIDIThruConnectionParams MIDIThruConnectionParams;

/// Initialises a structure: no endpoints, everything passes unchanged.
extern void MIDIThruConnectionParamsInitialize(MIDIThruConnectionParams *inConnectionParams);

/// Creates a connection.
///
/// - inPersistentOwnerID: a name by which MIDIThruConnectionFind finds it in this process; NULL for none.
/// - inConnectionParams: data that begins with a MIDIThruConnectionParams.
/// - Returns: kMIDIServerStartErr without a client; kMIDIUnknownEndpoint; kMIDINotPermitted for control transforms and
///   value maps, which are not there.
extern OSStatus MIDIThruConnectionCreate(CFStringRef _Nullable inPersistentOwnerID,
                                         CFDataRef inConnectionParams,
                                         MIDIThruConnectionRef *outConnection);
extern OSStatus MIDIThruConnectionDispose(MIDIThruConnectionRef connection);

/// Stores the parameters, which the caller releases.
extern OSStatus MIDIThruConnectionGetParams(MIDIThruConnectionRef connection,
                                            CFDataRef _Nullable *_Nonnull outConnectionParams);

/// Replaces the parameters.
///
/// - Returns: as MIDIThruConnectionCreate; then the connection stays as it was.
extern OSStatus MIDIThruConnectionSetParams(MIDIThruConnectionRef connection,
                                            CFDataRef inConnectionParams);

/// Stores an array of the MIDIThruConnectionRef with an owner, as data, which the caller releases.
extern OSStatus MIDIThruConnectionFind(CFStringRef inPersistentOwnerID,
                                       CFDataRef _Nullable *_Nonnull outConnectionList);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
