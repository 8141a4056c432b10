// The properties of audio units.
//
// The scope and element of a property that a unit has only once are ignored, because programs give
// any: callbacks, the device, the channel map and the maximum of frames.
#ifndef CUEJACK_AUDIOUNITPROPERTIES_H
#define CUEJACK_AUDIOUNITPROPERTIES_H

#include "AUComponent.h"

CUE_HEADER_BEGIN

// MARK: All units

CF_ENUM(AudioUnitPropertyID) {
  /// AudioUnitConnection, input: the unit before this one. It takes the place of a render callback.
  /// A source of NULL removes it. The input gets the source's format, if it can; else the source gets
  /// the input's.
  kAudioUnitProperty_MakeConnection = 1,
  /// Float64, input or output: Hz.
  kAudioUnitProperty_SampleRate = 2,
  /// Array of AudioUnitParameterID, any scope. Read only.
  kAudioUnitProperty_ParameterList = 3,
  /// AudioUnitParameterInfo, the element is the parameter. Read only.
  kAudioUnitProperty_ParameterInfo = 4,
  /// AudioStreamBasicDescription, input or output: linear PCM of any rate, 1 to 64 channels, in any
  /// sample format of the queues, or signed 8.24 fixed point; interleaved or not. At first floats,
  /// not interleaved.
  kAudioUnitProperty_StreamFormat = 8,
  /// UInt32, input or output: number of buses. Writable for the inputs of mixers that are not
  /// initialised.
  kAudioUnitProperty_ElementCount = 11,
  /// Float64, global: seconds from input to output. Read only.
  kAudioUnitProperty_Latency = 12,
  /// Array of AUChannelInfo, global. Read only.
  kAudioUnitProperty_SupportedNumChannels = 13,
  /// UInt32: the most frames of one render, at first 4,096.
  kAudioUnitProperty_MaximumFramesPerSlice = 14,
  /// AudioChannelLayout, input or output: kept, and given back. Channels keep their order.
  kAudioUnitProperty_AudioChannelLayout = 19,
  /// Float64, global: seconds for which sound goes on after the input has ended. Read only.
  kAudioUnitProperty_TailTime = 20,
  /// OSStatus, global: the latest error of a render since the last question. Read only.
  kAudioUnitProperty_LastRenderError = 22,
  /// AURenderCallbackStruct, input: what supplies the bus. It takes the place of a connection. No
  /// function removes it.
  kAudioUnitProperty_SetRenderCallback = 23,
  /// UInt32, global: 1 if renders may take any time, as they do offline. Has no effect here.
  kAudioUnitProperty_OfflineRender = 37,
  /// CFString, input or output: a bus's name. The caller releases it.
  kAudioUnitProperty_ElementName = 30,
  /// UInt32: 1, as at first, if the unit has memory of its own for the buffers of callbacks and
  /// renders. It always has, whatever is set.
  kAudioUnitProperty_ShouldAllocateBuffer = 51
};

/// A connection to the input that the property's element or destInputNumber names; the element wins.
struct AudioUnitConnection {
  AudioUnit _Nullable sourceAudioUnit;
  UInt32 sourceOutputNumber;
  UInt32 destInputNumber;
};
typedef struct AudioUnitConnection AudioUnitConnection;

/// A render callback and its data.
struct AURenderCallbackStruct {
  AURenderCallback _Nullable inputProc;
  void *_Nullable inputProcRefCon;
};
typedef struct AURenderCallbackStruct AURenderCallbackStruct;

/// Numbers of channels that a unit can have: -1 for any, if both are -1 for any but equal ones.
struct AUChannelInfo {
  SInt16 inChannels;
  SInt16 outChannels;
};
typedef struct AUChannelInfo AUChannelInfo;

typedef CF_ENUM(UInt32, AudioUnitParameterUnit){
    kAudioUnitParameterUnit_Generic = 0, kAudioUnitParameterUnit_Boolean = 2,
    kAudioUnitParameterUnit_Pan = 18, kAudioUnitParameterUnit_LinearGain = 14};

typedef CF_OPTIONS(UInt32, AudioUnitParameterOptions){
    kAudioUnitParameterFlag_CFNameRelease = (1UL << 4),
    kAudioUnitParameterFlag_HasCFNameString = (1UL << 27),
    kAudioUnitParameterFlag_IsReadable = (1UL << 30),
    kAudioUnitParameterFlag_IsWritable = (1UL << 31)};

/// A parameter's name, unit and range. The caller releases cfNameString.
struct AudioUnitParameterInfo {
  char name[52];
  CFStringRef _Nullable unitName;
  UInt32 clumpID;
  CFStringRef _Nullable cfNameString;
  AudioUnitParameterUnit unit;
  AudioUnitParameterValue minValue;
  AudioUnitParameterValue maxValue;
  AudioUnitParameterValue defaultValue;
  AudioUnitParameterOptions flags;
};
typedef struct AudioUnitParameterInfo AudioUnitParameterInfo;

// MARK: Output units
//
// Element 0 plays: its input is the app's, its output the device's. Element 1 records: its input is
// the device's, its output the app's. The format of a device's side is read only. What is played is
// converted to the device's rate; what is recorded has it.
//
// They answer the properties of their device, too: those of AudioHardwareBase.h.

CF_ENUM(AudioUnitPropertyID) {
  /// AudioObjectID: the device, at first the default one. May be changed while the unit runs.
  kAudioOutputUnitProperty_CurrentDevice = 2000,
  /// UInt32: 1 between start and stop. Read only.
  kAudioOutputUnitProperty_IsRunning = 2001,
  /// Array of SInt32. Element 0: for each channel of the device the app's channel that it plays.
  /// Element 1: for each of the app's channels the device's channel that it records. -1 for silence.
  /// At first in order; a single channel goes to the first two.
  kAudioOutputUnitProperty_ChannelMap = 2002,
  /// UInt32, element 0 of the output or 1 of the input: 1 to play or to record. At first 1 and 0.
  kAudioOutputUnitProperty_EnableIO = 2003,
  /// AURenderCallbackStruct: called in each cycle after which AudioUnitRender has new input, with
  /// bus 1 and ioData NULL.
  kAudioOutputUnitProperty_SetInputCallback = 2005,
  /// UInt32, like EnableIO: whether the device has that direction. Read only.
  kAudioOutputUnitProperty_HasIO = 2006,
  /// UInt32: 1, as at first, if mSampleTime counts from 0 with each start; 0 if it is the device's.
  kAudioOutputUnitProperty_StartTimestampsAtZero = 2007
};

CUE_HEADER_END

#endif
