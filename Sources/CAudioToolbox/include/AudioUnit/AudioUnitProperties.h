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
  /// CFPropertyListRef, global: a dictionary with all that the unit saves, and the keys kAUPreset… below.
  /// The caller releases it.
  kAudioUnitProperty_ClassInfo = 0,
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
  /// Float32, global, output units: the share of its time that the latest cycle took for the unit. Read
  /// only.
  kAudioUnitProperty_CPULoad = 6,
  /// AudioStreamBasicDescription, input or output: linear PCM of any rate, 1 to 64 channels, in any
  /// sample format of the queues, or signed 8.24 fixed point; interleaved or not. At first floats,
  /// not interleaved.
  kAudioUnitProperty_StreamFormat = 8,
  /// UInt32, input or output: number of buses. Writable for the inputs of mixers, and the outputs of
  /// matrix mixers, that are not initialised.
  kAudioUnitProperty_ElementCount = 11,
  /// Float64, global: seconds from input to output. Read only.
  kAudioUnitProperty_Latency = 12,
  /// Array of AUChannelInfo, global. Read only.
  kAudioUnitProperty_SupportedNumChannels = 13,
  /// UInt32: the most frames of one render, at first 4,096.
  kAudioUnitProperty_MaximumFramesPerSlice = 14,
  /// CFArray of CFString, the element is the parameter: names of the values from the least to the most,
  /// for parameters with kAudioUnitParameterFlag_ValuesHaveStrings. Read only; the caller releases it.
  kAudioUnitProperty_ParameterValueStrings = 16,
  /// AudioChannelLayout, input or output: kept, and given back. Channels keep their order.
  kAudioUnitProperty_AudioChannelLayout = 19,
  /// Float64, global: seconds in which the sound falls by 100 dB after the input has ended: of AUDelay by
  /// its delay and feedback, of AUReverb2 by its delay and decay. 0 for other units. Read only.
  kAudioUnitProperty_TailTime = 20,
  /// UInt32, global, plugins: 1 to pass the input on, without a click.
  kAudioUnitProperty_BypassEffect = 21,
  /// OSStatus, global: the latest error of a render since the last question. Read only.
  kAudioUnitProperty_LastRenderError = 22,
  /// AURenderCallbackStruct, input: what supplies the bus. It takes the place of a connection. No
  /// function removes it.
  kAudioUnitProperty_SetRenderCallback = 23,
  /// CFArray of pointers to AUPreset, global: the presets that the unit brings. Read only. The caller
  /// releases the array; the presets stay as long as the process runs.
  kAudioUnitProperty_FactoryPresets = 24,
  /// UInt32, global, AUConverter, Varispeed, TimePitch and NewTimePitch: how well they convert, 0 to 127, at
  /// first kRenderQuality_High. AUConverter has another grade at each of the values below. TimePitch and
  /// NewTimePitch take less time below kRenderQuality_High, Varispeed has one grade only. A unit that
  /// is initialised begins its input anew.
  kAudioUnitProperty_RenderQuality = 26,
  /// HostCallbackInfo, global. Set for a plugin: it follows the beat and transport that these functions
  /// tell, instead of JACK's. Read from an output unit: functions that tell of JACK's, in renders of that
  /// unit only. A smaller size, without the last functions, will do.
  kAudioUnitProperty_HostCallbacks = 27,
  /// AUPreset, global: as kAudioUnitProperty_PresentPreset, but the unit keeps the name, until another
  /// preset is asked for. kAudioUnitProperty_PresentPreset replaces it, and hands the name over to its caller.
  kAudioUnitProperty_CurrentPreset = 28,
  /// UInt32: whether renders may overwrite the memory of their source. They never do, whatever is set.
  kAudioUnitProperty_InPlaceProcessing = 29,
  /// CFString, input or output: a bus's name. The caller releases it.
  kAudioUnitProperty_ElementName = 30,
  /// Array of AudioChannelLayoutTag, input or output, mixers: the layouts that a bus can have.
  /// kAudioChannelLayoutTag_DiscreteInOrder without a number means any number of channels. Read only.
  kAudioUnitProperty_SupportedChannelLayoutTags = 32,
  /// AudioUnitParameterStringFromValue, global: a parameter's value in words. Read only.
  kAudioUnitProperty_ParameterStringFromValue = 33,
  /// AudioUnitParameterNameInfo, global: the name of a group of parameters. Read only.
  kAudioUnitProperty_ParameterClumpName = 35,
  /// AUPreset, global: the preset that was set last. A number of 0 or more takes over one of the unit's
  /// own presets; a negative one only gives the present settings a name. The caller releases the name.
  kAudioUnitProperty_PresentPreset = 36,
  /// UInt32, global: 1 if renders may take any time, as they do offline. Plugins then do at once what
  /// they leave to a thread of theirs otherwise.
  kAudioUnitProperty_OfflineRender = 37,
  /// AudioUnitParameterValueFromString, global: the value that words stand for. Read only.
  kAudioUnitProperty_ParameterValueFromString = 38,
  /// UInt32: 1, as at first, if the unit has memory of its own for the buffers of callbacks and
  /// renders. It always has, whatever is set.
  kAudioUnitProperty_ShouldAllocateBuffer = 51
};

/// Values of kAudioUnitProperty_RenderQuality.
enum {
  kRenderQuality_Max = 0x7F,
  kRenderQuality_High = 0x60,
  kRenderQuality_Medium = 0x40,
  kRenderQuality_Low = 0x20,
  kRenderQuality_Min = 0
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

// Keys of a ClassInfo dictionary.
#define kAUPresetVersionKey      "version"      ///< CFNumber: 0.
#define kAUPresetTypeKey         "type"         ///< CFNumber: the component's type.
#define kAUPresetSubtypeKey      "subtype"      ///< CFNumber: its subtype.
#define kAUPresetManufacturerKey "manufacturer" ///< CFNumber: its manufacturer.
#define kAUPresetNameKey         "name"         ///< CFString: the name of the preset.
#define kAUPresetNumberKey       "preset-number" ///< CFNumber: its number.
/// CFData: for each bus scope, element and number of parameters, then number and value of each; 32
/// bits each, big endian.
#define kAUPresetDataKey "data"
/// CFString: the state of an LV2 plugin, in Turtle. A key of this library.
#define kAUPresetLV2StateKey "lv2-state"

/// A preset: of a unit, if the number is 0 or more; else of the app.
struct AUPreset {
  SInt32 presetNumber;
  CFStringRef _Nullable presetName CF_REFINED_FOR_SWIFT;
};
typedef struct AUPreset AUPreset;

/// A value of a parameter and its words. inValue NULL means the present value. The caller releases
/// outString.
struct AudioUnitParameterStringFromValue {
  AudioUnitParameterID inParamID;
  const AudioUnitParameterValue *_Nullable inValue;
  CFStringRef _Nullable outString CF_REFINED_FOR_SWIFT;
};
typedef struct AudioUnitParameterStringFromValue AudioUnitParameterStringFromValue;

/// Words and the value of a parameter that they stand for.
struct AudioUnitParameterValueFromString {
  AudioUnitParameterID inParamID;
  CFStringRef _Nullable inString CF_REFINED_FOR_SWIFT;
  AudioUnitParameterValue outValue;
};
typedef struct AudioUnitParameterValueFromString AudioUnitParameterValueFromString;

/// A group of parameters (a clump) and its name, cut to inDesiredLength characters unless that is
/// kAudioUnitParameterName_Full. The caller releases outName.
struct AudioUnitParameterNameInfo {
  UInt32 inID;
  SInt32 inDesiredLength;
  CFStringRef _Nullable outName CF_REFINED_FOR_SWIFT;
};
typedef struct AudioUnitParameterNameInfo AudioUnitParameterNameInfo;
enum {
  kAudioUnitParameterName_Full = -1
};

typedef CF_ENUM(UInt32, AudioUnitParameterUnit){
    kAudioUnitParameterUnit_Generic = 0,
    kAudioUnitParameterUnit_Indexed = 1,
    kAudioUnitParameterUnit_Boolean = 2,
    kAudioUnitParameterUnit_Percent = 3,
    kAudioUnitParameterUnit_Seconds = 4,
    kAudioUnitParameterUnit_SampleFrames = 5,
    kAudioUnitParameterUnit_Phase = 6,
    kAudioUnitParameterUnit_Rate = 7,
    kAudioUnitParameterUnit_Hertz = 8,
    kAudioUnitParameterUnit_Cents = 9,
    kAudioUnitParameterUnit_RelativeSemiTones = 10,
    kAudioUnitParameterUnit_MIDINoteNumber = 11,
    kAudioUnitParameterUnit_MIDIController = 12,
    kAudioUnitParameterUnit_Decibels = 13,
    kAudioUnitParameterUnit_LinearGain = 14,
    kAudioUnitParameterUnit_Degrees = 15,
    kAudioUnitParameterUnit_EqualPowerCrossfade = 16,
    kAudioUnitParameterUnit_MixerFaderCurve1 = 17,
    kAudioUnitParameterUnit_Pan = 18,
    kAudioUnitParameterUnit_Meters = 19,
    kAudioUnitParameterUnit_AbsoluteCents = 20,
    kAudioUnitParameterUnit_Octaves = 21,
    kAudioUnitParameterUnit_BPM = 22,
    kAudioUnitParameterUnit_Beats = 23,
    kAudioUnitParameterUnit_Milliseconds = 24,
    kAudioUnitParameterUnit_Ratio = 25,
    kAudioUnitParameterUnit_CustomUnit = 26,
    kAudioUnitParameterUnit_MIDI2Controller = 27};

typedef CF_OPTIONS(UInt32, AudioUnitParameterOptions){
    kAudioUnitParameterFlag_CFNameRelease = (1UL << 4),
    kAudioUnitParameterFlag_OmitFromPresets = (1UL << 13),
    kAudioUnitParameterFlag_PlotHistory = (1UL << 14),
    /// The unit sets the value; programs only read it.
    kAudioUnitParameterFlag_MeterReadOnly = (1UL << 15),
    /// The bits of the curve by which controls show the value.
    kAudioUnitParameterFlag_DisplayMask = (7UL << 16) | (1UL << 22),
    kAudioUnitParameterFlag_DisplaySquareRoot = (1UL << 16),
    kAudioUnitParameterFlag_DisplaySquared = (2UL << 16),
    kAudioUnitParameterFlag_DisplayCubed = (3UL << 16),
    kAudioUnitParameterFlag_DisplayCubeRoot = (4UL << 16),
    kAudioUnitParameterFlag_DisplayExponential = (5UL << 16),
    kAudioUnitParameterFlag_HasClump = (1UL << 20),
    kAudioUnitParameterFlag_ValuesHaveStrings = (1UL << 21),
    kAudioUnitParameterFlag_DisplayLogarithmic = (1UL << 22),
    kAudioUnitParameterFlag_IsHighResolution = (1UL << 23),
    kAudioUnitParameterFlag_NonRealTime = (1UL << 24),
    kAudioUnitParameterFlag_CanRamp = (1UL << 25),
    kAudioUnitParameterFlag_ExpertMode = (1UL << 26),
    kAudioUnitParameterFlag_HasCFNameString = (1UL << 27),
    kAudioUnitParameterFlag_IsGlobalMeta = (1UL << 28),
    kAudioUnitParameterFlag_IsElementMeta = (1UL << 29),
    kAudioUnitParameterFlag_IsReadable = (1UL << 30),
    kAudioUnitParameterFlag_IsWritable = (1UL << 31)};

/// A parameter's name, unit and range. The caller releases cfNameString, and unitName where `unit` is
/// kAudioUnitParameterUnit_CustomUnit.
struct AudioUnitParameterInfo {
  char name[52];
  CFStringRef _Nullable unitName CF_REFINED_FOR_SWIFT;
  /// The group that the parameter belongs to, with kAudioUnitParameterFlag_HasClump.
  UInt32 clumpID;
  CFStringRef _Nullable cfNameString CF_REFINED_FOR_SWIFT;
  AudioUnitParameterUnit unit;
  AudioUnitParameterValue minValue;
  AudioUnitParameterValue maxValue;
  AudioUnitParameterValue defaultValue;
  AudioUnitParameterOptions flags;
};
typedef struct AudioUnitParameterInfo AudioUnitParameterInfo;

/// Stores the beat since the beginning and the tempo in beats per minute.
///
/// These functions are called in renders. Pointers may be NULL. They return an error if they know nothing.
typedef OSStatus (*HostCallback_GetBeatAndTempo)(void *_Nullable inHostUserData,
                                                 Float64 *_Nullable outCurrentBeat,
                                                 Float64 *_Nullable outCurrentTempo);
/// Stores the frames to the next beat, the time signature, and the beat with which the bar began.
typedef OSStatus (*HostCallback_GetMusicalTimeLocation)(
    void *_Nullable inHostUserData, UInt32 *_Nullable outDeltaSampleOffsetToNextBeat,
    Float32 *_Nullable outTimeSig_Numerator, UInt32 *_Nullable outTimeSig_Denominator,
    Float64 *_Nullable outCurrentMeasureDownBeat);
/// Stores whether the transport rolls and has changed, its frame, and the beats of a loop.
typedef OSStatus (*HostCallback_GetTransportState)(
    void *_Nullable inHostUserData, Boolean *_Nullable outIsPlaying,
    Boolean *_Nullable outTransportStateChanged, Float64 *_Nullable outCurrentSampleInTimeLine,
    Boolean *_Nullable outIsCycling, Float64 *_Nullable outCycleStartBeat,
    Float64 *_Nullable outCycleEndBeat);
/// The same, and whether the app records.
typedef OSStatus (*HostCallback_GetTransportState2)(
    void *_Nullable inHostUserData, Boolean *_Nullable outIsPlaying,
    Boolean *_Nullable outIsRecording, Boolean *_Nullable outTransportStateChanged,
    Float64 *_Nullable outCurrentSampleInTimeLine, Boolean *_Nullable outIsCycling,
    Float64 *_Nullable outCycleStartBeat, Float64 *_Nullable outCycleEndBeat);

/// Functions of a host that tell of its beat and transport. Plugins are told of the first three.
struct HostCallbackInfo {
  void *_Nullable hostUserData;
  HostCallback_GetBeatAndTempo _Nullable beatAndTempoProc;
  HostCallback_GetMusicalTimeLocation _Nullable musicalTimeLocationProc;
  HostCallback_GetTransportState _Nullable transportStateProc;
  HostCallback_GetTransportState2 _Nullable transportStateProc2;
};
typedef struct HostCallbackInfo HostCallbackInfo;

// MARK: Mixers

CF_ENUM(AudioUnitPropertyID) {
  /// Array of Float32, global, matrix mixers: a row of volumes for each input channel, with its own
  /// volume at the end, and a row with the volumes of the output channels and of the mixer. Read only.
  kAudioUnitProperty_MatrixLevels = 3006,
  /// UInt32, input or output, the element is the bus, or the channel of a matrix mixer: 1 to measure
  /// levels, which the …Power and …Level parameters show. At first 0.
  kAudioUnitProperty_MeteringMode = 3007,
  /// Two UInt32, global, matrix mixers: channels of all inputs, and of all outputs. Read only.
  kAudioUnitProperty_MatrixDimensions = 3009,
  /// MixerDistanceParams, input, 3D mixers.
  kAudioUnitProperty_3DMixerDistanceParams = 3010
};

/// How the sound of a bus gets softer with its distance: beyond the reference distance by the ratio of
/// both, up to the maximum distance, and by mMaxAttenuation dB at the most. At first 1 m, 10,000 m and
/// 60 dB.
struct MixerDistanceParams {
  Float32 mReferenceDistance;
  Float32 mMaxDistance;
  Float32 mMaxAttenuation;
};
typedef struct MixerDistanceParams MixerDistanceParams;

// MARK: Players

CF_ENUM(AudioUnitPropertyID) {
  /// ScheduledAudioSlice, global: adds samples to play. The structure and its samples stay where they
  /// are until it is complete. Write only. AudioUnitReset removes all of them, and the start.
  kAudioUnitProperty_ScheduleAudioSlice = 3300,
  /// AudioTimeStamp, global: the moment from which the times of slices and regions count. A sample time
  /// of the renders, a host time, or -1 as sample time for the next render. Set again, it ends the time
  /// that runs: the unit is silent until the new moment, from which all that waits is played.
  kAudioUnitProperty_ScheduleStartTimeStamp = 3301,
  /// AudioTimeStamp, global: frames rendered since the start, -1 before it. Read only.
  kAudioUnitProperty_CurrentPlayTime = 3302,
  /// Array of AudioFileID, global: the files that regions use. They stay open while they are used.
  kAudioUnitProperty_ScheduledFileIDs = 3310,
  /// ScheduledAudioFileRegion, global: adds a region, and reads its beginning. Write only.
  kAudioUnitProperty_ScheduledFileRegion = 3311,
  /// UInt32, global: reads ahead as far as there are buffers, whatever the number of frames. Write only.
  kAudioUnitProperty_ScheduledFilePrime = 3312,
  /// UInt32, global: frames of each buffer that is read ahead, at first 16,384.
  kAudioUnitProperty_ScheduledFileBufferSizeFrames = 3313,
  /// UInt32, global: the number of these buffers, at first 4.
  kAudioUnitProperty_ScheduledFileNumberBuffers = 3314
};

typedef CF_OPTIONS(UInt32, AUScheduledAudioSliceFlags){
    /// It has been played, or removed by a reset; the library does not touch it any more.
    kScheduledAudioSliceFlag_Complete = 0x01,
    kScheduledAudioSliceFlag_BeganToRender = 0x02,
    /// Its first frames were too late, and left out.
    kScheduledAudioSliceFlag_BeganToRenderLate = 0x04};

typedef struct ScheduledAudioSlice ScheduledAudioSlice;

/// Called when a slice is complete, on a thread of the library; not after the unit was disposed of.
typedef void (*ScheduledAudioSliceCompletionProc)(void *_Nullable userData,
                                                  ScheduledAudioSlice *bufferList);

/// Samples in the format of the unit's output.
struct ScheduledAudioSlice {
  /// A sample time, counted from the start of the unit; invalid for the end of the slice before. A slice
  /// that would begin before that begins then.
  AudioTimeStamp mTimeStamp;
  ScheduledAudioSliceCompletionProc _Nullable mCompletionProc;
  void *_Nullable mCompletionProcUserData;
  /// The library sets these.
  AUScheduledAudioSliceFlags mFlags;
  UInt32 mReserved;
  void *_Nullable mReserved2;
  UInt32 mNumberFrames;
  AudioBufferList *mBufferList;
};

typedef struct ScheduledAudioFileRegion ScheduledAudioFileRegion;

/// Called once when a region has been played, was removed by a reset (userCanceledErr) or could not be
/// read, on a thread of the library; not after the unit was disposed of. `fileRegion` is the structure that
/// was given, which the program keeps until then if it gives a function.
typedef void (*ScheduledAudioFileRegionCompletionProc)(void *_Nullable userData,
                                                       ScheduledAudioFileRegion *fileRegion,
                                                       OSStatus result);

/// A part of a sound file.
struct ScheduledAudioFileRegion {
  /// A sample time at the unit's rate, counted from its start; invalid for the end of the region before.
  AudioTimeStamp mTimeStamp;
  ScheduledAudioFileRegionCompletionProc _Nullable mCompletionProc;
  void *_Nullable mCompletionProcUserData;
  struct OpaqueAudioFileID *mAudioFile;
  /// How often it is repeated; 0xFFFFFFFF for always.
  UInt32 mLoopCount;
  /// The first frame and the number of frames, at the file's rate; 0xFFFFFFFF for all up to the end.
  SInt64 mStartFrame;
  UInt32 mFramesToPlay;
};

// MARK: Effects

CF_ENUM(AudioUnitPropertyID) {
  /// UInt32, global: the bands of an NBandEQ, 1 to 16, at first 16. Can be set while the unit is not
  /// initialised.
  kAUNBandEQProperty_NumberOfBands = 2200,
  /// UInt32, global: 16. Read only.
  kAUNBandEQProperty_MaxNumberOfBands = 2201
};

// MARK: Instruments
//
// DLSSynth, MIDISynth and Sampler play SoundFonts (SF2, SF3) and DLS files. Without one they have the default, which
// docs/programs.md describes. A new SoundFont takes the place of the old one with the next render, and the
// channels have their first programs again. A file that cannot be used is refused at once with
// kAudioUnitErr_InvalidFile, and the old one stays.

CF_ENUM(AudioUnitPropertyID) {
  /// UInt32: the number of instruments. Read only.
  kMusicDeviceProperty_InstrumentCount = 1000,
  /// Array of char, element an instrument's number: its name, with a zero at the end. Read only.
  kMusicDeviceProperty_InstrumentName = 1001,
  /// UInt32, element 0 and up: the numbers of the instruments: bank MSB << 16, bank LSB << 8 and program. Drums
  /// have the MSB 0x78. Read only.
  kMusicDeviceProperty_InstrumentNumber = 1004,
  /// UInt32: 0 to turn reverberation and chorus off, 1, as at first, to turn them on.
  kMusicDeviceProperty_UsesInternalReverb = 1005,
  /// The bytes of a SoundFont or DLS file. Write only.
  kMusicDeviceProperty_SoundBankData = 1008,
  /// FSRef: a SoundFont or DLS file. Write only.
  kMusicDeviceProperty_SoundBankFSRef = 1012,
  /// CFURLRef: a SoundFont or DLS file; NULL for the default. A caller that reads it releases the URL, which is
  /// that of the default if none is set.
  kMusicDeviceProperty_SoundBankURL = 1100
};

CF_ENUM(AudioUnitPropertyID) {
  /// AUSamplerBankPresetData: an instrument of a bank. Write only.
  kAUSamplerProperty_LoadPresetFromBank = 4100,
  kAUSamplerProperty_BankAndPreset = kAUSamplerProperty_LoadPresetFromBank,
  /// CFArrayRef of CFURLRef: sound files that become an instrument. Write only.
  ///
  /// Chunks 'smpl' and 'inst' tell key, tuning, loop, keys and velocities; without them the name does: "piano C3
  /// v2.wav" is the second layer of key 48. A file that has neither is for key 60. Keys between files sound
  /// with the nearest one.
  kAUSamplerProperty_LoadAudioFiles = 4101,
  /// AUSamplerInstrumentData: an instrument of a bank, or a sound file. Write only.
  kAUSamplerProperty_LoadInstrument = 4102
};

CF_ENUM(AudioUnitPropertyID) {
  /// UInt32: programs change while this is 1, as while this is 0: a SoundFont is in memory as a whole.
  kAUMIDISynthProperty_EnablePreload = 4119
};

/// Kinds of `AUSamplerInstrumentData`. Presets of AUSampler and of EXS24 are refused with
/// kAudioUnitErr_UnknownFileType.
enum {
  kInstrumentType_DLSPreset = 1,
  kInstrumentType_SF2Preset = kInstrumentType_DLSPreset,
  kInstrumentType_AUPreset = 2,
  kInstrumentType_Audiofile = 3,
  kInstrumentType_EXS24 = 4
};

enum {
  kAUSampler_DefaultPercussionBankMSB = 0x78,
  kAUSampler_DefaultMelodicBankMSB = 0x79,
  kAUSampler_DefaultBankLSB = 0x00
};

struct AUSamplerInstrumentData {
  CFURLRef fileURL;
  UInt8 instrumentType;
  /// The bank: MSB 0x79 with the SoundFont's bank as LSB, or 0x78 for drums.
  UInt8 bankMSB;
  UInt8 bankLSB;
  /// 0 to 127.
  UInt8 presetID;
};
typedef struct AUSamplerInstrumentData AUSamplerInstrumentData;

struct AUSamplerBankPresetData {
  CFURLRef bankURL;
  UInt8 bankMSB;
  UInt8 bankLSB;
  UInt8 presetID;
  UInt8 reserved;
};
typedef struct AUSamplerBankPresetData AUSamplerBankPresetData;

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

/// Properties of the units with voice processing of Apple's systems. This library has no voice processing: each of them
/// is refused with kAudioUnitErr_InvalidProperty.
CF_ENUM(AudioUnitPropertyID) {
  kAUVoiceIOProperty_BypassVoiceProcessing = 2100,
  kAUVoiceIOProperty_VoiceProcessingEnableAGC = 2101,
  kAUVoiceIOProperty_DuckNonVoiceAudio = 2102,
  kAUVoiceIOProperty_VoiceProcessingQuality = 2103,
  kAUVoiceIOProperty_MuteOutput = 2104,
  kAUVoiceIOProperty_MutedSpeechActivityEventListener = 2106,
  kAUVoiceIOProperty_OtherAudioDuckingConfiguration = 2108
};

typedef CF_ENUM(UInt32, AUVoiceIOOtherAudioDuckingLevel) {
  kAUVoiceIOOtherAudioDuckingLevelDefault = 0,
  kAUVoiceIOOtherAudioDuckingLevelMin = 10,
  kAUVoiceIOOtherAudioDuckingLevelMid = 20,
  kAUVoiceIOOtherAudioDuckingLevelMax = 30
};

struct AUVoiceIOOtherAudioDuckingConfiguration {
  Boolean mEnableAdvancedDucking;
  AUVoiceIOOtherAudioDuckingLevel mDuckingLevel;
};
typedef struct AUVoiceIOOtherAudioDuckingConfiguration AUVoiceIOOtherAudioDuckingConfiguration;

CUE_HEADER_END

#endif
