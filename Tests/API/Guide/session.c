// The guide's listings of the audio session. Comments name the section of each; guide.md says what
// is mended.
#include <AudioToolbox/AudioToolbox.h>

// Of Objective-C.
typedef signed char BOOL;
#define NO ((BOOL)0)

typedef struct {
  BOOL isPlaying;
} MixerHostAudio;

// Property listeners
static void audioRouteChangeListenerCallback(void *inUserData, AudioSessionPropertyID inPropertyID,
                                             UInt32 inPropertyValueSize,
                                             const void *inPropertyValue) {
  (void)inPropertyValueSize;
  if (inPropertyID != kAudioSessionProperty_AudioRouteChange) return;
  MixerHostAudio *audioObject = (MixerHostAudio *)inUserData;
  if (NO == audioObject->isPlaying) {
    return;
  } else {
    CFDictionaryRef routeChangeDictionary = inPropertyValue;
    CFNumberRef routeChangeReasonRef = CFDictionaryGetValue(
        routeChangeDictionary, CFSTR(kAudioSession_AudioRouteChangeKey_Reason));
    SInt32 routeChangeReason;
    CFNumberGetValue(routeChangeReasonRef, kCFNumberSInt32Type, &routeChangeReason);
    if (routeChangeReason == kAudioSessionRouteChangeReason_OldDeviceUnavailable) {
      audioObject->isPlaying = NO;
    }
  }
}

static void rioInterruptionListener(void *inUserData, UInt32 inInterruptionState) {
  (void)inUserData, (void)inInterruptionState;
}

static void propListener(void *inUserData, AudioSessionPropertyID inPropertyID,
                         UInt32 inPropertyValueSize, const void *inPropertyValue) {
  (void)inUserData, (void)inPropertyID, (void)inPropertyValueSize, (void)inPropertyValue;
}

// Starting an audio session
void useMixerHostSession(MixerHostAudio *self) {
  AudioSessionAddPropertyListener(kAudioSessionProperty_AudioRouteChange,
                                  audioRouteChangeListenerCallback, self);
}

// Initializing the audio session
void useAurioTouchSession(void *self) {
  Float64 hwSampleRate;
  AudioSessionInitialize(NULL, NULL, rioInterruptionListener, self);
  UInt32 audioCategory = kAudioSessionCategory_PlayAndRecord;
  AudioSessionSetProperty(kAudioSessionProperty_AudioCategory, sizeof(audioCategory),
                          &audioCategory);
  AudioSessionAddPropertyListener(kAudioSessionProperty_AudioRouteChange, propListener, self);
  Float32 preferredBufferSize = .005;
  AudioSessionSetProperty(kAudioSessionProperty_PreferredHardwareIOBufferDuration,
                          sizeof(preferredBufferSize), &preferredBufferSize);
  UInt32 size = sizeof(hwSampleRate);
  AudioSessionGetProperty(kAudioSessionProperty_CurrentHardwareSampleRate, &size, &hwSampleRate);
  AudioSessionSetActive(true);
}
