// Audio units: their functions, types and errors. AudioUnitProperties.h has the properties,
// AudioUnitParameters.h the parameters, AudioOutputUnit.h what starts and stops output units.
//
// Any thread that is not real time may call these functions. On the process thread, in a render
// callback, an app may call AudioUnitRender, AudioUnitSetParameter, AudioUnitGetParameter and
// AudioUnitReset, and AudioOutputUnitStop of the unit that calls it.
#ifndef CUEJACK_AUCOMPONENT_H
#define CUEJACK_AUCOMPONENT_H

#include "AudioComponent.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

// MARK: Types

/// An audio unit. The pointer is a number that is never followed.
typedef AudioComponentInstance AudioUnit;

typedef UInt32 AudioUnitPropertyID;
typedef UInt32 AudioUnitScope;
typedef UInt32 AudioUnitElement;
typedef UInt32 AudioUnitParameterID;
typedef Float32 AudioUnitParameterValue;

CF_ENUM(UInt32) {
  kAudioUnitType_Output = 'auou',
  kAudioUnitType_FormatConverter = 'aufc',
  kAudioUnitType_Mixer = 'aumx',
  // The other types are those of LV2 plugins.
  /// Instruments: they hear MIDI and have no input.
  kAudioUnitType_MusicDevice = 'aumu',
  /// Effects that hear MIDI.
  kAudioUnitType_MusicEffect = 'aumf',
  kAudioUnitType_Effect = 'aufx',
  kAudioUnitType_Panner = 'aupn',
  /// Without input and MIDI.
  kAudioUnitType_Generator = 'augn',
  /// Without sound of their own.
  kAudioUnitType_MIDIProcessor = 'aumi'
};

/// LV2 plugins have the manufacturer 'LV2 '; their subtypes are four characters that follow from their
/// URIs: `cuejack plugins info` shows them.
CF_ENUM(UInt32) {
  kAudioUnitManufacturer_Apple = 'appl',
  kAudioUnitManufacturer_LV2 = 'LV2 '
};

// The output units differ in nothing but their names and the direction that is on at first: RemoteIO
// and HALOutput can record, too.
CF_ENUM(UInt32) {
  /// Plays and records on a device: 'rioc' as on a phone, 'ahal' as on a desktop.
  kAudioUnitSubType_RemoteIO = 'rioc',
  kAudioUnitSubType_HALOutput = 'ahal',
  /// Plays on the default device.
  kAudioUnitSubType_DefaultOutput = 'def ',
  kAudioUnitSubType_SystemOutput = 'sys ',
  /// Refused: see AudioComponentInstanceNew.
  kAudioUnitSubType_VoiceProcessingIO = 'vpio',
  /// Belongs to no device: the app calls AudioUnitRender.
  kAudioUnitSubType_GenericOutput = 'genr'
};

CF_ENUM(UInt32) {
  /// Converts sample rate, channels and sample format between its input and its output.
  kAudioUnitSubType_AUConverter = 'conv',
  /// Plays its input faster or slower, with the pitch that follows from it, as on a tape.
  kAudioUnitSubType_Varispeed = 'vari',
  /// Change speed and pitch independently. They need Rubber Band: a build without it refuses them.
  kAudioUnitSubType_TimePitch = 'tmpt',
  kAudioUnitSubType_NewTimePitch = 'nutp'
};

CF_ENUM(UInt32) {
  /// Adds any number of mono and stereo buses, each with volume, pan and a switch.
  kAudioUnitSubType_MultiChannelMixer = 'mcmx',
  /// Adds mono and stereo buses, eight at first, each with volume and pan.
  kAudioUnitSubType_StereoMixer = 'smxr',
  /// Adds all channels of its inputs into each channel of its outputs, with a volume for each crossing.
  kAudioUnitSubType_MatrixMixer = 'mxmx',
  /// Places mono and stereo buses, 64 at first, between left and right by direction and distance.
  kAudioUnitSubType_3DMixer = '3dmx',
  kAudioUnitSubType_AU3DMixerEmbedded = '3dem',
  kAudioUnitSubType_SpatialMixer = '3dem'
};

CF_ENUM(UInt32) {
  /// Plays samples of the app at their frames.
  kAudioUnitSubType_ScheduledSoundPlayer = 'sspl',
  /// Plays regions of sound files at their frames, which a thread reads ahead.
  kAudioUnitSubType_AudioFilePlayer = 'afpl'
};

// Effects of this library, which need its LV2 plugins. They have any number of channels, each by itself.
CF_ENUM(UInt32) {
  /// Up to 16 filters of any type, one after another.
  kAudioUnitSubType_NBandEQ = 'nbeq',
  /// One filter each.
  kAudioUnitSubType_ParametricEQ = 'pmeq',
  kAudioUnitSubType_LowPassFilter = 'lpas',
  kAudioUnitSubType_HighPassFilter = 'hpas',
  kAudioUnitSubType_BandPassFilter = 'bpas',
  kAudioUnitSubType_LowShelfFilter = 'lshf',
  kAudioUnitSubType_HighShelfFilter = 'hshf',
  /// 22 presets, which kAudioUnitProperty_FactoryPresets lists.
  kAudioUnitSubType_AUiPodEQ = 'ipeq',
  /// 10 bands of an octave, or 31 of a third of an octave.
  kAudioUnitSubType_GraphicEQ = 'greq',
  /// No sample comes out above full scale. It delays the sound by 5 ms.
  kAudioUnitSubType_PeakLimiter = 'lmtr',
  /// A compressor and an expander.
  kAudioUnitSubType_DynamicsProcessor = 'dcmp',
  kAudioUnitSubType_Delay = 'dely',
  /// Stereo. It is the hall of the Debian package dragonfly-reverb-lv2: AudioComponentInstanceNew says
  /// so where that is not installed.
  kAudioUnitSubType_Reverb2 = 'rvb2',
  kAudioUnitSubType_Distortion = 'dist'
};

CF_ENUM(UInt32) {
  // Subtypes that programs ask for and no component here has: AudioComponentFindNext returns NULL.
  kAudioUnitSubType_DLSSynth = 'dls ',
  kAudioUnitSubType_MIDISynth = 'msyn',
  kAudioUnitSubType_Sampler = 'samp',
  kAudioUnitSubType_MatrixReverb = 'mrev'
};

CF_ENUM(AudioUnitScope) {
  kAudioUnitScope_Global = 0,
  kAudioUnitScope_Input = 1,
  kAudioUnitScope_Output = 2,
  /// The MIDI channels of an instrument, as elements: AudioUnitSetParameter sends kAUGroupParameterID_….
  kAudioUnitScope_Group = 3
};

typedef CF_OPTIONS(UInt32, AudioUnitRenderActionFlags){
    /// In a render notification: before the render, and after it.
    kAudioUnitRenderAction_PreRender = (1U << 2), kAudioUnitRenderAction_PostRender = (1U << 3),
    /// Set by a render callback: its buffers are to be taken for silence, whatever they hold.
    kAudioUnitRenderAction_OutputIsSilence = (1U << 4),
    kAudioOfflineUnitRenderAction_Preflight = (1U << 5),
    kAudioOfflineUnitRenderAction_Render = (1U << 6),
    kAudioOfflineUnitRenderAction_Complete = (1U << 7),
    /// In a notification after a render that failed.
    kAudioUnitRenderAction_PostRenderError = (1U << 8),
    kAudioUnitRenderAction_DoNotCheckRenderArgs = (1U << 9)};

CF_ENUM(OSStatus) {
  /// The unit does not have the property, at least not in that scope.
  kAudioUnitErr_InvalidProperty = -10879,
  kAudioUnitErr_InvalidParameter = -10878,
  kAudioUnitErr_InvalidElement = -10877,
  /// The input has no render callback and no connection.
  kAudioUnitErr_NoConnection = -10876,
  kAudioUnitErr_FailedInitialization = -10875,
  /// More frames than kAudioUnitProperty_MaximumFramesPerSlice.
  kAudioUnitErr_TooManyFramesToProcess = -10874,
  kAudioUnitErr_InvalidFile = -10871,
  /// The sound bank of a synthesiser is of an unknown type. Only units of the app have sound banks.
  kAudioUnitErr_UnknownFileType = -10870,
  kAudioUnitErr_FileNotSpecified = -10869,
  kAudioUnitErr_FormatNotSupported = -10868,
  kAudioUnitErr_Uninitialized = -10867,
  kAudioUnitErr_InvalidScope = -10866,
  kAudioUnitErr_PropertyNotWritable = -10865,
  /// A device's input is rendered when none of its cycles calls the unit.
  kAudioUnitErr_CannotDoInCurrentContext = -10863,
  kAudioUnitErr_InvalidPropertyValue = -10851,
  /// The unit has the property, but without a value: the name of a bus that nobody has named.
  kAudioUnitErr_PropertyNotInUse = -10850,
  kAudioUnitErr_Initialized = -10849,
  /// An offline unit was rendered before its preflight. Only units of the app are of that type.
  kAudioUnitErr_InvalidOfflineRender = -10848,
  /// The user may not read the library of an LV2 plugin.
  kAudioUnitErr_Unauthorized = -10847
};

/// Supplies a unit's input, or hears of its renders. On the process thread, if an output unit plays
/// it: it must not allocate, lock or wait then.
///
/// - ioActionFlags: see AudioUnitRenderActionFlags.
/// - inTimeStamp: mSampleTime counts frames at the rate of the bus. mHostTime, where it is valid, is
///   when the first frame is heard, or came in.
/// - inBusNumber: the element of the input scope; 1 for the input of a device.
/// - ioData: memory to fill, with its size in mDataByteSize. The callback may point mData to memory
///   of its own, which must stay as it is until the next call, and lower mDataByteSize: the rest is
///   silence. NULL for the input of a device.
/// - Returns: Any error: the render fails with it.
typedef OSStatus (*AURenderCallback)(void *inRefCon, AudioUnitRenderActionFlags *ioActionFlags,
                                     const AudioTimeStamp *inTimeStamp, UInt32 inBusNumber,
                                     UInt32 inNumberFrames, AudioBufferList *_Nullable ioData);

/// Called after a property has changed, on a thread of the library. Not called after the unit was
/// disposed of.
typedef void (*AudioUnitPropertyListenerProc)(void *inRefCon, AudioUnit inUnit,
                                              AudioUnitPropertyID inID, AudioUnitScope inScope,
                                              AudioUnitElement inElement);

typedef CF_ENUM(UInt32, AUParameterEventType){
    /// The value changes at a frame.
    kParameterEvent_Immediate = 1,
    /// The value changes in a straight line.
    kParameterEvent_Ramped = 2};

/// A change of a parameter in the next render. Offsets are frames from its first one.
struct AudioUnitParameterEvent {
  AudioUnitScope scope;
  AudioUnitElement element;
  AudioUnitParameterID parameter;
  AUParameterEventType eventType;
  union {
    struct {
      /// Negative for a ramp that began in an earlier render.
      SInt32 startBufferOffset;
      UInt32 durationInFrames;
      AudioUnitParameterValue startValue;
      AudioUnitParameterValue endValue;
    } ramp;
    struct {
      UInt32 bufferOffset;
      AudioUnitParameterValue value;
    } immediate;
  } eventValues;
};
typedef struct AudioUnitParameterEvent AudioUnitParameterEvent;

/// Selectors of a unit of the app: see AudioComponentPlugInInterface.
enum {
  kAudioUnitRange = 0x0000,
  kAudioUnitInitializeSelect = 0x0001,
  kAudioUnitUninitializeSelect = 0x0002,
  kAudioUnitGetPropertyInfoSelect = 0x0003,
  kAudioUnitGetPropertySelect = 0x0004,
  kAudioUnitSetPropertySelect = 0x0005,
  kAudioUnitGetParameterSelect = 0x0006,
  kAudioUnitSetParameterSelect = 0x0007,
  kAudioUnitResetSelect = 0x0009,
  kAudioUnitAddPropertyListenerSelect = 0x000A,
  kAudioUnitRemovePropertyListenerSelect = 0x000B,
  kAudioUnitRenderSelect = 0x000E,
  kAudioUnitAddRenderNotifySelect = 0x000F,
  kAudioUnitRemoveRenderNotifySelect = 0x0010,
  kAudioUnitScheduleParametersSelect = 0x0011,
  kAudioUnitRemovePropertyListenerWithUserDataSelect = 0x0012,
  kAudioUnitProcessSelect = 0x0014,
  kAudioUnitProcessMultipleSelect = 0x0015,
  kMusicDeviceRange = 0x0100,
  kMusicDeviceMIDIEventSelect = 0x0101,
  kMusicDeviceSysExSelect = 0x0102,
  kAudioOutputUnitRange = 0x0200,
  kAudioOutputUnitStartSelect = 0x0201,
  kAudioOutputUnitStopSelect = 0x0202
};

// MARK: Functions

/// Prepares a unit to render. Has no effect if it is initialised.
extern OSStatus AudioUnitInitialize(AudioUnit inUnit);

/// Stops a unit and frees what it renders with. It keeps its properties and parameters.
extern OSStatus AudioUnitUninitialize(AudioUnit inUnit);

/// Returns the size of a property's value in bytes.
extern OSStatus AudioUnitGetPropertyInfo(AudioUnit inUnit, AudioUnitPropertyID inID,
                                         AudioUnitScope inScope, AudioUnitElement inElement,
                                         UInt32 *_Nullable outDataSize,
                                         Boolean *_Nullable outWritable);

/// Copies a property's value, or as much of it as ioDataSize has room for.
///
/// - ioDataSize: afterwards the bytes written.
extern OSStatus AudioUnitGetProperty(AudioUnit inUnit, AudioUnitPropertyID inID,
                                     AudioUnitScope inScope, AudioUnitElement inElement,
                                     void *outData, UInt32 *ioDataSize);

/// Sets a property. All but kAudioUnitProperty_ElementCount can be set while the unit is
/// initialised or runs.
///
/// - inData: NULL to remove a callback.
extern OSStatus AudioUnitSetProperty(AudioUnit inUnit, AudioUnitPropertyID inID,
                                     AudioUnitScope inScope, AudioUnitElement inElement,
                                     const void *_Nullable inData, UInt32 inDataSize);

/// Adds a function to call after each change of a property in any scope.
extern OSStatus AudioUnitAddPropertyListener(AudioUnit inUnit, AudioUnitPropertyID inID,
                                             AudioUnitPropertyListenerProc inProc,
                                             void *_Nullable inProcUserData);

/// Removes a function that was added with the same arguments, if there is one.
extern OSStatus AudioUnitRemovePropertyListenerWithUserData(AudioUnit inUnit,
                                                            AudioUnitPropertyID inID,
                                                            AudioUnitPropertyListenerProc inProc,
                                                            void *_Nullable inProcUserData);

/// Removes a function, whatever its data.
extern OSStatus AudioUnitRemovePropertyListener(AudioUnit inUnit, AudioUnitPropertyID inID,
                                                AudioUnitPropertyListenerProc inProc);

/// Adds a function to call before and after each render of an output, at most 16 of them.
extern OSStatus AudioUnitAddRenderNotify(AudioUnit inUnit, AURenderCallback inProc,
                                         void *_Nullable inProcUserData);

/// Removes such a function. When this returns, it is not called, unless it is the caller.
extern OSStatus AudioUnitRemoveRenderNotify(AudioUnit inUnit, AURenderCallback inProc,
                                            void *_Nullable inProcUserData);

/// Returns a parameter. Real-time safe.
extern OSStatus AudioUnitGetParameter(AudioUnit inUnit, AudioUnitParameterID inID,
                                      AudioUnitScope inScope, AudioUnitElement inElement,
                                      AudioUnitParameterValue *outValue);

/// Sets a parameter, clipped to its range. Real-time safe. A gain reaches its new value at the end
/// of the next render, in a straight line.
///
/// - inBufferOffsetInFrames: the frame of the next render at which the value changes at once; 0 as
///   described.
extern OSStatus AudioUnitSetParameter(AudioUnit inUnit, AudioUnitParameterID inID,
                                      AudioUnitScope inScope, AudioUnitElement inElement,
                                      AudioUnitParameterValue inValue,
                                      UInt32 inBufferOffsetInFrames);

/// Schedules changes of parameters for the next render; in a notification before a render, for that
/// one. Mixers and plugins follow to the frame (ramps of plugins in steps of 32 frames), other units
/// have the new values at the end of the render. Real-time safe.
///
/// - Returns: kAudio_MemFullError if more than 256 changes wait: the rest is left out.
extern OSStatus AudioUnitScheduleParameters(AudioUnit inUnit,
                                            const AudioUnitParameterEvent *inParameterEvent,
                                            UInt32 inNumParamEvents);

/// Renders frames of an output on the calling thread, with all that stands before it. Frames of
/// one mSampleTime are rendered once: a second call with the same time gets the same frames.
/// Real-time safe as far as the app's callbacks are.
///
/// - ioActionFlags: may be NULL.
/// - inOutputBusNumber: 1 for what a device has recorded; then in its callbacks only.
/// - ioData: a buffer for each of the format's. mData NULL: the unit's own memory is put there, which
///   the next render overwrites. mDataByteSize becomes the size rendered.
extern OSStatus AudioUnitRender(AudioUnit inUnit,
                                AudioUnitRenderActionFlags *_Nullable ioActionFlags,
                                const AudioTimeStamp *inTimeStamp, UInt32 inOutputBusNumber,
                                UInt32 inNumberFrames, AudioBufferList *ioData);

/// Renders the first output from the samples in `ioData`, which take the place of the first input, and
/// puts it there. Both need the same sample rate and, in `ioData`, the same number of buffers.
/// Real-time safe.
extern OSStatus AudioUnitProcess(AudioUnit inUnit,
                                 AudioUnitRenderActionFlags *_Nullable ioActionFlags,
                                 const AudioTimeStamp *inTimeStamp, UInt32 inNumberFrames,
                                 AudioBufferList *ioData);

/// Renders outputs from samples that take the place of the inputs, a list of buffers for each bus from
/// the first one on. Real-time safe.
///
/// - ioOutputBufferLists: as ioData of AudioUnitRender.
extern OSStatus AudioUnitProcessMultiple(
    AudioUnit inUnit, AudioUnitRenderActionFlags *_Nullable ioActionFlags,
    const AudioTimeStamp *inTimeStamp, UInt32 inNumberFrames, UInt32 inNumberInputBufferLists,
    const AudioBufferList *_Nonnull *_Nonnull inInputBufferLists,
    UInt32 inNumberOutputBufferLists, AudioBufferList *_Nonnull *_Nonnull ioOutputBufferLists);

/// Forgets the frames of earlier renders, from the next render on; echoes inside a plugin go on.
/// Real-time safe.
extern OSStatus AudioUnitReset(AudioUnit inUnit, AudioUnitScope inScope,
                               AudioUnitElement inElement);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
