// The guide's listings of the mixer host, as functions with the names of the class's methods.
// Comments name the section of each; guide.md says what is mended.
#include <AudioToolbox/AudioToolbox.h>
#include <stdlib.h>

// Of Objective-C.
typedef signed char BOOL;
#define YES ((BOOL)1)
#define NO  ((BOOL)0)

#define NUM_FILES 2

// Member variables
typedef struct {
  BOOL isStereo;
  UInt32 frameCount;
  UInt32 sampleNumber;
  AudioUnitSampleType *audioDataLeft;
  AudioUnitSampleType *audioDataRight;
} soundStruct, *soundStructPtr;

static Float64 graphSampleRate;
static CFURLRef sourceURLArray[NUM_FILES];
static soundStruct soundStructArray[NUM_FILES];
static AudioStreamBasicDescription stereoStreamFormat;
static AudioStreamBasicDescription monoStreamFormat;
static AUGraph processingGraph;
static BOOL playing;
static AudioUnit mixerUnit;

// Setting up mono and stereo stream formats
static void setupStereoStreamFormat(void) {
  size_t bytesPerSample = sizeof(AudioUnitSampleType);
  stereoStreamFormat.mFormatID = kAudioFormatLinearPCM;
  stereoStreamFormat.mFormatFlags = kAudioFormatFlagsAudioUnitCanonical;
  stereoStreamFormat.mBytesPerPacket = bytesPerSample;
  stereoStreamFormat.mFramesPerPacket = 1;
  stereoStreamFormat.mBytesPerFrame = bytesPerSample;
  stereoStreamFormat.mChannelsPerFrame = 2;
  stereoStreamFormat.mBitsPerChannel = 8 * bytesPerSample;
  stereoStreamFormat.mSampleRate = graphSampleRate;
}

// "These methods are identical except for what they set as mChannelsPerFrame."
static void setupMonoStreamFormat(void) {
  monoStreamFormat = stereoStreamFormat;
  monoStreamFormat.mChannelsPerFrame = 1;
}

// Reading audio files into memory
static void readAudioFilesIntoMemory(void) {
  for (int audioFile = 0; audioFile < NUM_FILES; ++audioFile) {
    ExtAudioFileRef audioFileObject = 0;
    OSStatus result = ExtAudioFileOpenURL(sourceURLArray[audioFile], &audioFileObject);

    // Getting properties
    UInt64 totalFramesInFile = 0;
    UInt32 frameLengthPropertySize = sizeof(totalFramesInFile);
    result = ExtAudioFileGetProperty(audioFileObject, kExtAudioFileProperty_FileLengthFrames,
                                     &frameLengthPropertySize, &totalFramesInFile);
    soundStructArray[audioFile].frameCount = totalFramesInFile;
    AudioStreamBasicDescription fileAudioFormat = {0};
    UInt32 formatPropertySize = sizeof(fileAudioFormat);
    result = ExtAudioFileGetProperty(audioFileObject, kExtAudioFileProperty_FileDataFormat,
                                     &formatPropertySize, &fileAudioFormat);
    UInt32 channelCount = fileAudioFormat.mChannelsPerFrame;

    // Allocating memory
    soundStructArray[audioFile].audioDataLeft =
        (AudioUnitSampleType *)calloc(totalFramesInFile, sizeof(AudioUnitSampleType));
    AudioStreamBasicDescription importFormat = {0};
    if (2 == channelCount) {
      soundStructArray[audioFile].isStereo = YES;
      soundStructArray[audioFile].audioDataRight =
          (AudioUnitSampleType *)calloc(totalFramesInFile, sizeof(AudioUnitSampleType));
      importFormat = stereoStreamFormat;
    } else if (1 == channelCount) {
      soundStructArray[audioFile].isStereo = NO;
      importFormat = monoStreamFormat;
    }
    result = ExtAudioFileSetProperty(audioFileObject, kExtAudioFileProperty_ClientDataFormat,
                                     sizeof(importFormat), &importFormat);

    // Setting up a buffer list
    AudioBufferList *bufferList;
    bufferList = (AudioBufferList *)malloc(sizeof(AudioBufferList) +
                                           sizeof(AudioBuffer) * (channelCount - 1));
    bufferList->mNumberBuffers = channelCount;
    AudioBuffer emptyBuffer = {0};
    size_t arrayIndex;
    for (arrayIndex = 0; arrayIndex < channelCount; arrayIndex++) {
      bufferList->mBuffers[arrayIndex] = emptyBuffer;
    }
    bufferList->mBuffers[0].mNumberChannels = 1;
    bufferList->mBuffers[0].mDataByteSize = totalFramesInFile * sizeof(AudioUnitSampleType);
    bufferList->mBuffers[0].mData = soundStructArray[audioFile].audioDataLeft;
    if (2 == channelCount) {
      bufferList->mBuffers[1].mNumberChannels = 1;
      bufferList->mBuffers[1].mDataByteSize = totalFramesInFile * sizeof(AudioUnitSampleType);
      bufferList->mBuffers[1].mData = soundStructArray[audioFile].audioDataRight;
    }

    // Reading the data
    UInt32 numberOfPacketsToRead = (UInt32)totalFramesInFile;
    result = ExtAudioFileRead(audioFileObject, &numberOfPacketsToRead, bufferList);
    (void)result;
    free(bufferList);
    soundStructArray[audioFile].sampleNumber = 0;
    ExtAudioFileDispose(audioFileObject);
  }
}

// Audio unit input callback functionality
static OSStatus inputRenderCallback(void *inRefCon, AudioUnitRenderActionFlags *ioActionFlags,
                                    const AudioTimeStamp *inTimeStamp, UInt32 inBusNumber,
                                    UInt32 inNumberFrames, AudioBufferList *ioData) {
  soundStructPtr soundStructPointerArray = (soundStructPtr)inRefCon;
  UInt32 frameTotalForSound = soundStructPointerArray[inBusNumber].frameCount;
  BOOL isStereo = soundStructPointerArray[inBusNumber].isStereo;

  // Filling a buffer
  AudioUnitSampleType *dataInLeft;
  AudioUnitSampleType *dataInRight;
  dataInLeft = soundStructPointerArray[inBusNumber].audioDataLeft;
  dataInRight = soundStructPointerArray[inBusNumber].audioDataRight;
  AudioUnitSampleType *outSamplesChannelLeft;
  AudioUnitSampleType *outSamplesChannelRight;
  outSamplesChannelLeft = (AudioUnitSampleType *)ioData->mBuffers[0].mData;
  outSamplesChannelRight = (AudioUnitSampleType *)ioData->mBuffers[1].mData;
  UInt32 sampleNumber = soundStructPointerArray[inBusNumber].sampleNumber;
  for (UInt32 frameNumber = 0; frameNumber < inNumberFrames; ++frameNumber) {
    outSamplesChannelLeft[frameNumber] = dataInLeft[sampleNumber];
    if (isStereo) outSamplesChannelRight[frameNumber] = dataInRight[sampleNumber];
    sampleNumber++;

    if (sampleNumber >= frameTotalForSound) sampleNumber = 0;
  }
  soundStructPointerArray[inBusNumber].sampleNumber = sampleNumber;
  (void)ioActionFlags, (void)inTimeStamp;
  return noErr;
}

// Setting up an audio processing graph
static void configureAndInitializeAudioProcessingGraph(void) {
  OSStatus result = noErr;
  result = NewAUGraph(&processingGraph);
  AudioComponentDescription iOUnitDescription;
  iOUnitDescription.componentType = kAudioUnitType_Output;
  iOUnitDescription.componentSubType = kAudioUnitSubType_RemoteIO;
  iOUnitDescription.componentManufacturer = kAudioUnitManufacturer_Apple;
  iOUnitDescription.componentFlags = 0;
  iOUnitDescription.componentFlagsMask = 0;
  AudioComponentDescription MixerUnitDescription;
  MixerUnitDescription.componentType = kAudioUnitType_Mixer;
  MixerUnitDescription.componentSubType = kAudioUnitSubType_MultiChannelMixer;
  MixerUnitDescription.componentManufacturer = kAudioUnitManufacturer_Apple;
  MixerUnitDescription.componentFlags = 0;
  MixerUnitDescription.componentFlagsMask = 0;
  AUNode iONode;
  AUNode mixerNode;

  result = AUGraphAddNode(processingGraph, &iOUnitDescription, &iONode);
  result = AUGraphAddNode(processingGraph, &MixerUnitDescription, &mixerNode);
  result = AUGraphOpen(processingGraph);
  result = AUGraphNodeInfo(processingGraph, mixerNode, NULL, &mixerUnit);

  // Setting up the mixer unit
  UInt32 busCount = 2;
  UInt32 guitarBus = 0;
  UInt32 beatsBus = 1;
  result = AudioUnitSetProperty(mixerUnit, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input,
                                0, &busCount, sizeof(busCount));
  UInt32 maximumFramesPerSlice = 4096;
  result = AudioUnitSetProperty(mixerUnit, kAudioUnitProperty_MaximumFramesPerSlice,
                                kAudioUnitScope_Global, 0, &maximumFramesPerSlice,
                                sizeof(maximumFramesPerSlice));
  for (UInt16 busNumber = 0; busNumber < busCount; ++busNumber) {

    AURenderCallbackStruct inputCallbackStruct;
    inputCallbackStruct.inputProc = &inputRenderCallback;
    inputCallbackStruct.inputProcRefCon = soundStructArray;
    result =
        AUGraphSetNodeInputCallback(processingGraph, mixerNode, busNumber, &inputCallbackStruct);
  }
  result = AudioUnitSetProperty(mixerUnit, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input,
                                guitarBus, &stereoStreamFormat, sizeof(stereoStreamFormat));
  result = AudioUnitSetProperty(mixerUnit, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input,
                                beatsBus, &monoStreamFormat, sizeof(monoStreamFormat));
  result = AudioUnitSetProperty(mixerUnit, kAudioUnitProperty_SampleRate, kAudioUnitScope_Output, 0,
                                &graphSampleRate, sizeof(graphSampleRate));

  // Connecting the nodes and initializing the graph
  result = AUGraphConnectNodeInput(processingGraph, mixerNode, 0, iONode, 0);
  result = AUGraphInitialize(processingGraph);
  (void)result;
}

// Turning inputs on and off
static void enableMixerInput(UInt32 inputBus, AudioUnitParameterValue isOnValue) {
  OSStatus result = AudioUnitSetParameter(mixerUnit, kMultiChannelMixerParam_Enable,
                                          kAudioUnitScope_Input, inputBus, isOnValue, 0);
  if (0 == inputBus && 1 == isOnValue) {
    soundStructArray[0].sampleNumber = soundStructArray[1].sampleNumber;
  }
  if (1 == inputBus && 1 == isOnValue) {
    soundStructArray[1].sampleNumber = soundStructArray[0].sampleNumber;
  }
  (void)result;
}

// Setting gain
static void setMixerInput(UInt32 inputBus, AudioUnitParameterValue newGain) {
  OSStatus result = AudioUnitSetParameter(mixerUnit, kMultiChannelMixerParam_Volume,
                                          kAudioUnitScope_Input, inputBus, newGain, 0);
  (void)result;
}

static void setMixerOutputGain(AudioUnitParameterValue newGain) {
  OSStatus result = AudioUnitSetParameter(mixerUnit, kMultiChannelMixerParam_Volume,
                                          kAudioUnitScope_Output, 0, newGain, 0);
  (void)result;
}

// Starting and stopping
static void startAUGraph(void) {
  OSStatus result = AUGraphStart(processingGraph);
  playing = YES;
  (void)result;
}

static void stopAUGraph(void) {
  Boolean isRunning = false;
  OSStatus result = AUGraphIsRunning(processingGraph, &isRunning);
  if (isRunning) {
    result = AUGraphStop(processingGraph);
    playing = NO;
  }
  (void)result;
}

void useMixerHost(CFURLRef guitarLoop, CFURLRef beatsLoop) {
  graphSampleRate = 44100.0;
  sourceURLArray[0] = guitarLoop;
  sourceURLArray[1] = beatsLoop;
  setupStereoStreamFormat();
  setupMonoStreamFormat();
  readAudioFilesIntoMemory();
  configureAndInitializeAudioProcessingGraph();
  setMixerOutputGain(1);
  setMixerInput(0, .5);
  enableMixerInput(1, 1);
  startAUGraph();
  if (playing) stopAUGraph();
}
