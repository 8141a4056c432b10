// The hardware API: devices, their properties, and functions that a device calls with input and
// output (IOProcs). There is a device for each JACK server that runs, and one for the default
// server if it can be started. PipeWire is one server.
//
// Any thread that is not real time may call these functions; an IOProc may call AudioDeviceStart
// and AudioDeviceStop. The first question opens a JACK client without ports. libjack allows a
// process the clients of one server at a time.
#ifndef CUEJACK_AUDIOHARDWARE_H
#define CUEJACK_AUDIOHARDWARE_H

#include "AudioHardwareBase.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

// MARK: Properties of the system

CF_ENUM(AudioObjectPropertySelector){
    /// Array of AudioDeviceID.
    kAudioHardwarePropertyDevices = 'dev#',
    /// AudioDeviceID: the default server, or kAudioObjectUnknown. Can be set to itself only.
    kAudioHardwarePropertyDefaultInputDevice = 'dIn ',
    kAudioHardwarePropertyDefaultOutputDevice = 'dOut',
    kAudioHardwarePropertyDefaultSystemOutputDevice = 'sOut',
    /// AudioDeviceID, with a CFString as the qualifier; kAudioObjectUnknown if there is none.
    kAudioHardwarePropertyTranslateUIDToDevice = 'uidd',
    /// AudioValueTranslation from CFString to AudioDeviceID.
    kAudioHardwarePropertyDeviceForUID = 'duid',
    /// There are no plug-ins: an empty array, and kAudioObjectUnknown.
    kAudioHardwarePropertyPlugInList = 'plg#',
    kAudioHardwarePropertyTranslateBundleIDToPlugIn = 'bidp',
    kAudioHardwarePropertyPlugInForBundleID = 'pibi',
    /// CFRunLoop on which listeners are called; NULL, as at first, for a thread of the library.
    kAudioHardwarePropertyRunLoop = 'rnlp',
    /// UInt32: for listeners only.
    kAudioHardwarePropertyServiceRestarted = 'srst',
    /// UInt32: 1 if the devices may be hogged.
    kAudioHardwarePropertyHogModeIsAllowed = 'hogr'};

// MARK: Properties of objects

/// Called after properties of an object have changed, on a thread of the library. It may stop and
/// dispose of anything, and remove listeners.
typedef OSStatus (*AudioObjectPropertyListenerProc)(AudioObjectID inObjectID,
                                                    UInt32 inNumberAddresses,
                                                    const AudioObjectPropertyAddress *inAddresses,
                                                    void *_Nullable inClientData);
typedef void (^AudioObjectPropertyListenerBlock)(UInt32 inNumberAddresses,
                                                 const AudioObjectPropertyAddress *inAddresses);

/// Writes an object to standard output, for debugging.
extern void AudioObjectShow(AudioObjectID inObjectID);

/// Returns whether an object has a property.
extern Boolean AudioObjectHasProperty(AudioObjectID inObjectID,
                                      const AudioObjectPropertyAddress *inAddress);

/// Returns whether a property can be set.
extern OSStatus AudioObjectIsPropertySettable(AudioObjectID inObjectID,
                                              const AudioObjectPropertyAddress *inAddress,
                                              Boolean *outIsSettable);

/// Returns the size of a property's value in bytes.
extern OSStatus AudioObjectGetPropertyDataSize(AudioObjectID inObjectID,
                                               const AudioObjectPropertyAddress *inAddress,
                                               UInt32 inQualifierDataSize,
                                               const void *_Nullable inQualifierData,
                                               UInt32 *outDataSize);

/// Copies a property's value. Of an array as many whole items as fit.
///
/// - ioDataSize: the size of outData in bytes; afterwards what was written.
extern OSStatus AudioObjectGetPropertyData(AudioObjectID inObjectID,
                                           const AudioObjectPropertyAddress *inAddress,
                                           UInt32 inQualifierDataSize,
                                           const void *_Nullable inQualifierData,
                                           UInt32 *ioDataSize, void *outData);

/// Sets a property.
extern OSStatus AudioObjectSetPropertyData(AudioObjectID inObjectID,
                                           const AudioObjectPropertyAddress *inAddress,
                                           UInt32 inQualifierDataSize,
                                           const void *_Nullable inQualifierData, UInt32 inDataSize,
                                           const void *_Nullable inData);

/// Adds a function to call after each change of a property. Adding it again has no effect.
extern OSStatus AudioObjectAddPropertyListener(AudioObjectID inObjectID,
                                               const AudioObjectPropertyAddress *inAddress,
                                               AudioObjectPropertyListenerProc inListener,
                                               void *_Nullable inClientData);

/// Removes a function that was added with the same arguments, if there is one. Afterwards it is not
/// called; a call on another thread may take a second to return.
extern OSStatus AudioObjectRemovePropertyListener(AudioObjectID inObjectID,
                                                  const AudioObjectPropertyAddress *inAddress,
                                                  AudioObjectPropertyListenerProc inListener,
                                                  void *_Nullable inClientData);

/// Adds a block to call after each change of a property, on a dispatch queue (NULL: a thread of the
/// library).
extern OSStatus AudioObjectAddPropertyListenerBlock(AudioObjectID inObjectID,
                                                    const AudioObjectPropertyAddress *inAddress,
                                                    dispatch_queue_t _Nullable inDispatchQueue,
                                                    AudioObjectPropertyListenerBlock inListener)
    CF_REFINED_FOR_SWIFT;

/// Removes a block that was added with the same arguments, if there is one.
extern OSStatus AudioObjectRemovePropertyListenerBlock(AudioObjectID inObjectID,
                                                       const AudioObjectPropertyAddress *inAddress,
                                                       dispatch_queue_t _Nullable inDispatchQueue,
                                                       AudioObjectPropertyListenerBlock inListener)
    CF_REFINED_FOR_SWIFT;

// MARK: IOProcs

/// Called on JACK's process thread with the samples that came in and memory for those to play: each
/// time kAudioDevicePropertyBufferFrameSize frames, interleaved, in one buffer for each direction.
/// It must not allocate, lock or wait.
///
/// - inNow: the present cycle: its first frame on the device's clock, and its host time.
/// - inInputTime, inOutputTime: mSampleTime counts the device's frames, on the clock of
///   AudioDeviceGetCurrentTime. mHostTime is when the first frame came in at the sound card, and
///   when the first frame leaves it.
/// - outOutputData: silent before the call. The function may lower mDataByteSize; the rest is
/// silence.
typedef OSStatus (*AudioDeviceIOProc)(AudioObjectID inDevice, const AudioTimeStamp *inNow,
                                      const AudioBufferList *inInputData,
                                      const AudioTimeStamp *inInputTime,
                                      AudioBufferList *outOutputData,
                                      const AudioTimeStamp *inOutputTime,
                                      void *_Nullable inClientData);
/// An IOProc of a device. The functions take the procedure's address for it, too.
typedef AudioDeviceIOProc AudioDeviceIOProcID;

/// Adds a function to a device. Each creation is an IOProc of its own.
extern OSStatus AudioDeviceCreateIOProcID(AudioObjectID inDevice, AudioDeviceIOProc inProc,
                                          void *_Nullable inClientData,
                                          AudioDeviceIOProcID _Nullable *_Nonnull outIOProcID);

/// Stops and removes an IOProc.
extern OSStatus AudioDeviceDestroyIOProcID(AudioObjectID inDevice, AudioDeviceIOProcID inIOProcID);

/// Starts an IOProc: the first one registers the client's ports, connects them to the sound card
/// and waits until they are heard. Has no effect if it runs.
extern OSStatus AudioDeviceStart(AudioObjectID inDevice, AudioDeviceIOProcID _Nullable inProcID);

/// Stops an IOProc, however often it was started. Afterwards it is not called, unless it calls this
/// function itself: then no more after this call.
extern OSStatus AudioDeviceStop(AudioObjectID inDevice, AudioDeviceIOProcID _Nullable inProcID);

// MARK: Time

/// Returns the device's time in frames, and the host time.
extern OSStatus AudioDeviceGetCurrentTime(AudioObjectID inDevice, AudioTimeStamp *outTime);

/// Translates between the device's frames and host time.
///
/// - outTime: its flags say what is wanted; what inTime has is enough for both.
extern OSStatus AudioDeviceTranslateTime(AudioObjectID inDevice, const AudioTimeStamp *inTime,
                                         AudioTimeStamp *outTime);

/// Returns the earliest time, not before the requested one, at which a queue on the device can
/// start.
///
/// - inFlags: 0 or kAudioDeviceStartTimeIsInputFlag and its kin, which make no difference.
extern OSStatus AudioDeviceGetNearestStartTime(AudioObjectID inDevice,
                                               AudioTimeStamp *ioRequestedStartTime,
                                               UInt32 inFlags);

CF_ENUM(UInt32) {
  kAudioDeviceStartTimeIsInputFlag = 1 << 0,
  kAudioDeviceStartTimeDontConsultDeviceFlag = 1 << 1,
  kAudioDeviceStartTimeDontConsultHALFlag = 1 << 2
};

// MARK: Aggregate devices

/// Refused with kAudioHardwareUnsupportedOperationError: JACK has no aggregate devices.
extern OSStatus AudioHardwareCreateAggregateDevice(CFDictionaryRef inDescription,
                                                   AudioObjectID *outDeviceID);
extern OSStatus AudioHardwareDestroyAggregateDevice(AudioObjectID inDeviceID);

/// Closes the clients that nothing needs. The API can be used again afterwards.
extern OSStatus AudioHardwareUnload(void);

// Keys of an aggregate device's description, and their properties.
#define kAudioAggregateDeviceUIDKey             "uid"
#define kAudioAggregateDeviceNameKey            "name"
#define kAudioAggregateDeviceSubDeviceListKey   "subdevices"
#define kAudioAggregateDeviceMasterSubDeviceKey "master"
#define kAudioAggregateDeviceMainSubDeviceKey   "master"
#define kAudioAggregateDeviceIsPrivateKey       "private"
#define kAudioAggregateDeviceIsStackedKey       "stacked"
#define kAudioSubDeviceUIDKey                   "uid"
CF_ENUM(AudioObjectPropertySelector){kAudioPlugInCreateAggregateDevice = 'cagg',
                                     kAudioPlugInDestroyAggregateDevice = 'dagg',
                                     kAudioAggregateDevicePropertyFullSubDeviceList = 'grup',
                                     kAudioAggregateDevicePropertyActiveSubDeviceList = 'agrp',
                                     kAudioAggregateDevicePropertyMasterSubDevice = 'amst',
                                     kAudioSubDevicePropertyDriftCompensation = 'drft'};

CF_EXTERN_C_END
CUE_HEADER_END

#include "AudioHardwareDeprecated.h"

#endif
