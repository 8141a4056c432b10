// The older names of the hardware API. Each function does what its successor in AudioHardware.h
// does; isInput is the scope, and inChannel the element.
#ifndef CUEJACK_AUDIOHARDWAREDEPRECATED_H
#define CUEJACK_AUDIOHARDWAREDEPRECATED_H

#include "AudioHardware.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

typedef AudioObjectPropertySelector AudioHardwarePropertyID;
typedef AudioObjectPropertySelector AudioDevicePropertyID;
typedef AudioObjectPropertySelector AudioStreamPropertyID;

CF_ENUM(AudioObjectID){kAudioDeviceUnknown = kAudioObjectUnknown,
                       kAudioStreamUnknown = kAudioObjectUnknown};

enum {
  kAudioPropertyWildcardPropertyID = kAudioObjectPropertySelectorWildcard,
  kAudioPropertyWildcardSection = 0xFF,
  kAudioPropertyWildcardChannel = kAudioObjectPropertyElementWildcard,
  kAudioDevicePropertyScopeInput = kAudioObjectPropertyScopeInput,
  kAudioDevicePropertyScopeOutput = kAudioObjectPropertyScopeOutput,
  kAudioDevicePropertyScopePlayThrough = kAudioObjectPropertyScopePlayThrough
};

CF_ENUM(AudioObjectPropertySelector){
    /// C string.
    kAudioDevicePropertyDeviceName = 'name', kAudioDevicePropertyDeviceManufacturer = 'makr',
    kAudioDevicePropertyChannelName = 'chnm',
    /// CFString, which the caller releases.
    kAudioDevicePropertyDeviceNameCFString = kAudioObjectPropertyName,
    kAudioDevicePropertyDeviceManufacturerCFString = kAudioObjectPropertyManufacturer,
    kAudioDevicePropertyChannelNameCFString = kAudioObjectPropertyElementName,
    /// UInt32, bytes of all channels in the scope's direction.
    kAudioDevicePropertyBufferSize = 'bsiz',
    /// AudioValueRange, bytes.
    kAudioDevicePropertyBufferSizeRange = 'bsz#',
    /// UInt32: 1.
    kAudioDevicePropertySupportsMixing = 'mix?',
    kAudioDevicePropertyStreamFormat = kAudioStreamPropertyVirtualFormat,
    /// Array of AudioStreamBasicDescription.
    kAudioDevicePropertyStreamFormats = 'sfm#',
    /// AudioStreamBasicDescription, set by the caller: no value, only whether it is supported.
    kAudioDevicePropertyStreamFormatSupported = 'sfm?',
    /// AudioStreamBasicDescription, replaced by the nearest format.
    kAudioDevicePropertyStreamFormatMatch = 'sfmm',
    kAudioStreamPropertyOwningDevice = kAudioObjectPropertyOwner,
    kAudioStreamPropertyPhysicalFormats = 'pft#',
    kAudioStreamPropertyPhysicalFormatSupported = 'pft?',
    kAudioStreamPropertyPhysicalFormatMatch = 'pftm'};

typedef OSStatus (*AudioHardwarePropertyListenerProc)(AudioHardwarePropertyID inPropertyID,
                                                      void *_Nullable inClientData);
typedef OSStatus (*AudioDevicePropertyListenerProc)(AudioDeviceID inDevice, UInt32 inChannel,
                                                    Boolean isInput,
                                                    AudioDevicePropertyID inPropertyID,
                                                    void *_Nullable inClientData);
typedef OSStatus (*AudioStreamPropertyListenerProc)(AudioStreamID inStream, UInt32 inChannel,
                                                    AudioDevicePropertyID inPropertyID,
                                                    void *_Nullable inClientData);

extern OSStatus AudioHardwareGetPropertyInfo(AudioHardwarePropertyID inPropertyID,
                                             UInt32 *_Nullable outSize,
                                             Boolean *_Nullable outWritable);
extern OSStatus AudioHardwareGetProperty(AudioHardwarePropertyID inPropertyID,
                                         UInt32 *ioPropertyDataSize, void *outPropertyData);
extern OSStatus AudioHardwareSetProperty(AudioHardwarePropertyID inPropertyID,
                                         UInt32 inPropertyDataSize,
                                         const void *_Nullable inPropertyData);
extern OSStatus AudioHardwareAddPropertyListener(AudioHardwarePropertyID inPropertyID,
                                                 AudioHardwarePropertyListenerProc inProc,
                                                 void *_Nullable inClientData);
/// Removes the function, whatever data it was added with.
extern OSStatus AudioHardwareRemovePropertyListener(AudioHardwarePropertyID inPropertyID,
                                                    AudioHardwarePropertyListenerProc inProc);

extern OSStatus AudioDeviceGetPropertyInfo(AudioDeviceID inDevice, UInt32 inChannel,
                                           Boolean isInput, AudioDevicePropertyID inPropertyID,
                                           UInt32 *_Nullable outSize,
                                           Boolean *_Nullable outWritable);
extern OSStatus AudioDeviceGetProperty(AudioDeviceID inDevice, UInt32 inChannel, Boolean isInput,
                                       AudioDevicePropertyID inPropertyID,
                                       UInt32 *ioPropertyDataSize, void *outPropertyData);
/// - inWhen: ignored; the property is set at once.
extern OSStatus AudioDeviceSetProperty(AudioDeviceID inDevice,
                                       const AudioTimeStamp *_Nullable inWhen, UInt32 inChannel,
                                       Boolean isInput, AudioDevicePropertyID inPropertyID,
                                       UInt32 inPropertyDataSize,
                                       const void *_Nullable inPropertyData);
extern OSStatus AudioDeviceAddPropertyListener(AudioDeviceID inDevice, UInt32 inChannel,
                                               Boolean isInput, AudioDevicePropertyID inPropertyID,
                                               AudioDevicePropertyListenerProc inProc,
                                               void *_Nullable inClientData);
extern OSStatus AudioDeviceRemovePropertyListener(AudioDeviceID inDevice, UInt32 inChannel,
                                                  Boolean isInput,
                                                  AudioDevicePropertyID inPropertyID,
                                                  AudioDevicePropertyListenerProc inProc);

/// Adds a function to a device. Its address is its ID. Adding it again replaces its data.
extern OSStatus AudioDeviceAddIOProc(AudioDeviceID inDevice, AudioDeviceIOProc inProc,
                                     void *_Nullable inClientData);
extern OSStatus AudioDeviceRemoveIOProc(AudioDeviceID inDevice, AudioDeviceIOProc inProc);

/// Waits for input of a device that AudioDeviceStart has started without a function, and copies it. Not real time.
///
/// - inStartTime: the first frame, as the device counts: not more than a second ago. Frames before the first call of this
///   function are silent.
/// - outData: one buffer, interleaved; its size says how many frames, a second at most.
/// - Returns: kAudioHardwareIllegalOperationError if the device is not started alone, or the frames are too old or too
///   many; kAudioHardwareNotRunningError if it stops meanwhile; kAudioHardwareUnsupportedOperationError if it has no input.
extern OSStatus AudioDeviceRead(AudioDeviceID inDevice, const AudioTimeStamp *inStartTime,
                                AudioBufferList *outData);

extern OSStatus AudioStreamGetPropertyInfo(AudioStreamID inStream, UInt32 inChannel,
                                           AudioDevicePropertyID inPropertyID,
                                           UInt32 *_Nullable outSize,
                                           Boolean *_Nullable outWritable);
extern OSStatus AudioStreamGetProperty(AudioStreamID inStream, UInt32 inChannel,
                                       AudioDevicePropertyID inPropertyID,
                                       UInt32 *ioPropertyDataSize, void *outPropertyData);
extern OSStatus AudioStreamSetProperty(AudioStreamID inStream,
                                       const AudioTimeStamp *_Nullable inWhen, UInt32 inChannel,
                                       AudioDevicePropertyID inPropertyID,
                                       UInt32 inPropertyDataSize,
                                       const void *_Nullable inPropertyData);
extern OSStatus AudioStreamAddPropertyListener(AudioStreamID inStream, UInt32 inChannel,
                                               AudioDevicePropertyID inPropertyID,
                                               AudioStreamPropertyListenerProc inProc,
                                               void *_Nullable inClientData);
extern OSStatus AudioStreamRemovePropertyListener(AudioStreamID inStream, UInt32 inChannel,
                                                  AudioDevicePropertyID inPropertyID,
                                                  AudioStreamPropertyListenerProc inProc);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
