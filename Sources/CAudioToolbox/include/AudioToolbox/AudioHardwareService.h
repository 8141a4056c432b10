// Properties of devices by their older service functions, which do the same as those of
// CoreAudio/AudioHardware.h, and two properties that all devices with an output have.
#ifndef CUEJACK_AUDIOHARDWARESERVICE_H
#define CUEJACK_AUDIOHARDWARESERVICE_H

#include "../CoreAudio/AudioHardware.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

CF_ENUM(AudioObjectPropertySelector){
    /// Float32, 0 to 1: the same as kAudioDevicePropertyVolumeScalar.
    kAudioHardwareServiceDeviceProperty_VirtualMainVolume = 'vmvc',
    kAudioHardwareServiceDeviceProperty_VirtualMasterVolume =
        kAudioHardwareServiceDeviceProperty_VirtualMainVolume,
    /// UInt32: for listeners only.
    kAudioHardwareServiceProperty_ServiceRestarted = 'srst'};

extern Boolean AudioHardwareServiceHasProperty(AudioObjectID inObjectID,
                                               const AudioObjectPropertyAddress *inAddress);
extern OSStatus AudioHardwareServiceIsPropertySettable(AudioObjectID inObjectID,
                                                       const AudioObjectPropertyAddress *inAddress,
                                                       Boolean *outIsSettable);
extern OSStatus AudioHardwareServiceGetPropertyDataSize(AudioObjectID inObjectID,
                                                        const AudioObjectPropertyAddress *inAddress,
                                                        UInt32 inQualifierDataSize,
                                                        const void *_Nullable inQualifierData,
                                                        UInt32 *outDataSize);
extern OSStatus AudioHardwareServiceGetPropertyData(AudioObjectID inObjectID,
                                                    const AudioObjectPropertyAddress *inAddress,
                                                    UInt32 inQualifierDataSize,
                                                    const void *_Nullable inQualifierData,
                                                    UInt32 *ioDataSize, void *outData);
extern OSStatus AudioHardwareServiceSetPropertyData(AudioObjectID inObjectID,
                                                    const AudioObjectPropertyAddress *inAddress,
                                                    UInt32 inQualifierDataSize,
                                                    const void *_Nullable inQualifierData,
                                                    UInt32 inDataSize,
                                                    const void *_Nullable inData);
extern OSStatus AudioHardwareServiceAddPropertyListener(AudioObjectID inObjectID,
                                                        const AudioObjectPropertyAddress *inAddress,
                                                        AudioObjectPropertyListenerProc inListener,
                                                        void *_Nullable inClientData);
extern OSStatus AudioHardwareServiceRemovePropertyListener(
    AudioObjectID inObjectID, const AudioObjectPropertyAddress *inAddress,
    AudioObjectPropertyListenerProc inListener, void *_Nullable inClientData);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
