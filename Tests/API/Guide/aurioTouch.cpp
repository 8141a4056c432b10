// The guide's listings of the unit that records and plays. Comments name the section of each;
// guide.md says what is mended.
#include <AudioToolbox/AudioToolbox.h>
#include <cstring>

// Of Objective-C.
typedef bool BOOL;
#define YES true
#define NO  false

namespace {

/// The part that the listings use of the class in CAStreamBasicDescription.h, a header of Apple's
/// sample code.
struct CAStreamBasicDescription : AudioStreamBasicDescription {
  CAStreamBasicDescription() : AudioStreamBasicDescription() {}

  /// Makes it the canonical format of audio units.
  void SetAUCanonical(UInt32 channels, bool interleaved) {
    mFormatID = kAudioFormatLinearPCM;
    mFormatFlags = kAudioFormatFlagsAudioUnitCanonical;
    if (interleaved)
      mFormatFlags &= ~static_cast<AudioFormatFlags>(kAudioFormatFlagIsNonInterleaved);
    mChannelsPerFrame = channels;
    mFramesPerPacket = 1;
    mBitsPerChannel = 8 * sizeof(AudioUnitSampleType);
    mBytesPerPacket = mBytesPerFrame =
        static_cast<UInt32>(sizeof(AudioUnitSampleType)) * (interleaved ? channels : 1);
  }
};

/// The sample program's filter.
struct DCRejectionFilter {
  SInt32 last = 0;
  void InplaceFilter(SInt32 *data, UInt32 frames, UInt32 stride) {
    for (UInt32 i = 0; i < frames * stride; i += stride) {
      SInt32 sample = data[i];
      data[i] = sample - last;
      last = sample;
    }
  }
};

enum DisplayMode {
  aurioTouchDisplayModeOscilloscopeWaveform,
  aurioTouchDisplayModeOscilloscopeFFT,
  aurioTouchDisplayModeSpectrum
};

struct aurioTouchAppDelegate {
  AURenderCallbackStruct inputProc;
  SystemSoundID buttonPressSound;
  AudioUnit rioUnit;
  CAStreamBasicDescription thruFormat;
  DCRejectionFilter dcFilter[2];
  DisplayMode displayMode;
  BOOL mute;

  void applicationDidFinishLaunching();
};

void SilenceData(AudioBufferList *inData) {
  for (UInt32 i = 0; i < inData->mNumberBuffers; i++)
    memset(inData->mBuffers[i].mData, 0, inData->mBuffers[i].mDataByteSize);
}

// The audio unit render callback
OSStatus PerformThru(void *inRefCon, AudioUnitRenderActionFlags *ioActionFlags,
                     const AudioTimeStamp *inTimeStamp, UInt32 inBusNumber, UInt32 inNumberFrames,
                     AudioBufferList *ioData) {
  (void)inBusNumber;
  aurioTouchAppDelegate *THIS = (aurioTouchAppDelegate *)inRefCon;
  OSStatus err =
      AudioUnitRender(THIS->rioUnit, ioActionFlags, inTimeStamp, 1, inNumberFrames, ioData);
  for (UInt32 i = 0; i < ioData->mNumberBuffers; ++i)
    THIS->dcFilter[i].InplaceFilter((SInt32 *)(ioData->mBuffers[i].mData), inNumberFrames, 1);
  if (THIS->displayMode == aurioTouchDisplayModeOscilloscopeWaveform) {
  } else if ((THIS->displayMode == aurioTouchDisplayModeSpectrum) ||
             (THIS->displayMode == aurioTouchDisplayModeOscilloscopeFFT)) {
  }
  if (THIS->mute == YES) {
    SilenceData(ioData);
  }
  return err;
}

// Initializing the Remote I/O unit
void SetupRemoteIO(AudioUnit &inRemoteIOUnit, AURenderCallbackStruct inRenderProc,
                   CAStreamBasicDescription &outFormat) {
  AudioComponentDescription desc;
  desc.componentType = kAudioUnitType_Output;
  desc.componentSubType = kAudioUnitSubType_RemoteIO;
  desc.componentManufacturer = kAudioUnitManufacturer_Apple;
  desc.componentFlags = 0;
  desc.componentFlagsMask = 0;
  AudioComponent comp = AudioComponentFindNext(NULL, &desc);
  AudioComponentInstanceNew(comp, &inRemoteIOUnit);
  UInt32 one = 1;
  AudioUnitSetProperty(inRemoteIOUnit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1,
                       &one, sizeof(one));
  AudioUnitSetProperty(inRemoteIOUnit, kAudioUnitProperty_SetRenderCallback, kAudioUnitScope_Input,
                       0, &inRenderProc, sizeof(inRenderProc));
  outFormat.SetAUCanonical(2, false);
  outFormat.mSampleRate = 44100;
  AudioUnitSetProperty(inRemoteIOUnit, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input, 0,
                       &outFormat, sizeof(outFormat));
  AudioUnitSetProperty(inRemoteIOUnit, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Output, 1,
                       &outFormat, sizeof(outFormat));
  AudioUnitInitialize(inRemoteIOUnit);
}

// Initializing the audio session: the callback, the sound of a button, the unit
void aurioTouchAppDelegate::applicationDidFinishLaunching() {
  inputProc.inputProc = PerformThru;
  inputProc.inputProcRefCon = this;
  CFURLRef url = CFURLCreateWithFileSystemPath(kCFAllocatorDefault, CFSTR("button_press.caf"),
                                               kCFURLPOSIXPathStyle, false);
  AudioServicesCreateSystemSoundID(url, &buttonPressSound);
  CFRelease(url);
  SetupRemoteIO(rioUnit, inputProc, thruFormat);
  AudioOutputUnitStart(rioUnit);
  UInt32 size = sizeof(thruFormat);
  AudioUnitGetProperty(rioUnit, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Output, 1,
                       &thruFormat, &size);
}

} // namespace

extern "C" void useAurioTouch() {
  aurioTouchAppDelegate delegate = aurioTouchAppDelegate();
  delegate.applicationDidFinishLaunching();
}
