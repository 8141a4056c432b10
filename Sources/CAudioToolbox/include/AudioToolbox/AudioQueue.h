// Audio queues: playback and recording through JACK, buffer by buffer. Formats are linear PCM and
// the codecs that AudioFormat.h lists.
//
// Any thread that is not real time may call these functions, callbacks included. An AudioQueueRef
// that is NULL or was disposed of gives kAudio_ParamError. The callback thread of a queue runs its
// callback and its property listeners: see AudioQueueNewOutput.
#ifndef CUEJACK_AUDIOQUEUE_H
#define CUEJACK_AUDIOQUEUE_H

#include "../CoreAudioTypes/CoreAudioTypes.h"
#include "AudioFormat.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

CF_ENUM(OSStatus) {
  /// The buffer is waiting in the queue or playing and cannot be enqueued again.
  kAudioQueueErr_BufferEnqueuedTwice = -66666,
  /// The buffer does not belong to this queue.
  kAudioQueueErr_InvalidBuffer = -66687,
  /// The buffer's mAudioDataByteSize is 0.
  kAudioQueueErr_BufferEmpty = -66686,
  /// The queue is playing its last buffers before disposal and accepts no more calls.
  kAudioQueueErr_DisposalPending = -66685,
  /// The property does not exist, or not on this kind of queue.
  kAudioQueueErr_InvalidProperty = -66684,
  /// The size does not match the property.
  kAudioQueueErr_InvalidPropertySize = -66683,
  /// The parameter does not exist.
  kAudioQueueErr_InvalidParameter = -66682,
  /// The queue could not start; the log has the reason.
  kAudioQueueErr_CannotStart = -66681,
  /// The device does not exist or does not answer.
  kAudioQueueErr_InvalidDevice = -66680,
  /// The buffer is waiting in the queue or playing and cannot be freed.
  kAudioQueueErr_BufferInQueue = -66679,
  /// The queue is running but must be stopped, or the other way round.
  kAudioQueueErr_InvalidRunState = -66678,
  /// The queue plays but the call is for recording, or the other way round.
  kAudioQueueErr_InvalidQueueType = -66677,
  /// The property is read-only.
  kAudioQueueErr_Permissions = -66676,
  /// The property does not accept this value.
  kAudioQueueErr_InvalidPropertyValue = -66675,
  /// Priming did not prepare the requested frames: too few are enqueued, or they were not ready in
  /// time.
  kAudioQueueErr_PrimeTimedOut = -66674,
  /// No codec for the format was found.
  kAudioQueueErr_CodecNotFound = -66673,
  /// The codec was found but could not be used.
  kAudioQueueErr_InvalidCodecAccess = -66672,
  /// The sound server went away and ended the queue.
  kAudioQueueErr_QueueInvalidated = -66671,
  /// The queue already has a processing tap.
  kAudioQueueErr_TooManyTaps = -66670,
  /// The call is only allowed inside a tap's callback.
  kAudioQueueErr_InvalidTapContext = -66669,
  /// The call does not apply to this type of tap.
  kAudioQueueErr_InvalidTapType = -66667,
  /// No buffer was enqueued to record into.
  kAudioQueueErr_RecordUnderrun = -66668,
  /// Buffers cannot be enqueued while the queue resets, stops or is disposed of.
  kAudioQueueErr_EnqueueDuringReset = -66632,
  /// The queue renders offline but must not, or the other way round.
  kAudioQueueErr_InvalidOfflineMode = -66626
};

/// An audio queue. Opaque: only the functions below use its contents.
typedef struct OpaqueAudioQueue *AudioQueueRef;
/// A detector of discontinuities in a queue's time: AudioQueueGetCurrentTime reports each one once.
typedef struct OpaqueAudioQueueTimeline *AudioQueueTimelineRef;

typedef UInt32 AudioQueuePropertyID;
typedef UInt32 AudioQueueParameterID;
typedef Float32 AudioQueueParameterValue;

CF_ENUM(AudioQueuePropertyID) {
  /// UInt32, read-only: 1 from the first cycle played until the last frame has been played, else 0.
  /// Listeners are notified of both changes.
  kAudioQueueProperty_IsRunning = 'aqrn',
  /// Float64, read-only: sample rate of the device in Hz.
  kAudioQueueDeviceProperty_SampleRate = 'aqsr',
  /// UInt32, read-only: number of channels of the device.
  kAudioQueueDeviceProperty_NumberChannels = 'aqdc',
  /// CFStringRef: UID of the device. The caller releases the string it reads. Set it before the
  /// start.
  kAudioQueueProperty_CurrentDevice = 'aqcd',
  /// Array of AudioQueueChannelAssignment, one for each channel of the queue: the device output
  /// that it plays through. The caller releases the UIDs it reads. Set it before the start. It is
  /// valid until another device is set.
  kAudioQueueProperty_ChannelAssignments = 'aqca',
  /// Magic cookie of the codec, in bytes.
  ///
  /// A playback queue accepts every form that files and programs use, AAC's bare
  /// AudioSpecificConfig included. Set it before the first buffer is decoded. A cookie that does
  /// not fit the format gives kAudioQueueErr_InvalidPropertyValue.
  ///
  /// A recording queue returns the cookie of its encoder, complete once a run is over. It is
  /// read-only there. Linear PCM needs no cookie: the queue stores the bytes and ignores them.
  kAudioQueueProperty_MagicCookie = 'aqmc',
  /// UInt32, read-only: bytes of the largest packet recorded. For playback, bytes of each packet if
  /// all have one size, else 0.
  kAudioQueueProperty_MaximumOutputPacketSize = 'xops',
  /// AudioStreamBasicDescription, read-only: the queue's format, with every known field set.
  kAudioQueueProperty_StreamDescription = 'aqft',
  /// AudioChannelLayout: labels of the queue's channels, by tag, bitmap or descriptions. It must
  /// have as many channels as the format.
  ///
  /// Ports are in the order of the label numbers, as in a WAVE file (left, right, centre, low
  /// frequencies, …). Each channel uses the port of its label. Channels without a label use the
  /// ports in their own order.
  ///
  /// Set it before priming and the start. A change of the order closes and reopens an open device.
  /// Default: mono, stereo, or discrete channels.
  kAudioQueueProperty_ChannelLayout = 'aqcl',
  /// UInt32: 1 to measure levels. Default 0.
  kAudioQueueProperty_EnableLevelMetering = 'aqme',
  /// Array of AudioQueueLevelMeterState, read-only, one for each channel: level of the latest
  /// cycle, linear, 0 to 1. As many elements are copied as there is room for.
  /// kAudioQueueErr_InvalidPropertyValue while levels are not measured.
  kAudioQueueProperty_CurrentLevelMeter = 'aqmv',
  /// The same in decibels, -120 to 0.
  kAudioQueueProperty_CurrentLevelMeterDB = 'aqmd',
  /// UInt32: 1 to play through a time-pitch processor, which the parameters PlayRate and Pitch
  /// need. Default 0. Set it while the queue is stopped. A library built without Rubber Band
  /// rejects 1 with kAudioQueueErr_InvalidPropertyValue.
  kAudioQueueProperty_EnableTimePitch = 'q_tp',
  /// UInt32: a kAudioQueueTimePitchAlgorithm. Set it while the queue is stopped.
  kAudioQueueProperty_TimePitchAlgorithm = 'qtpa',
  /// UInt32: 1 to bypass the time-pitch processor. Default 0. Can be set at any time.
  kAudioQueueProperty_TimePitchBypass = 'qtpb',
  /// UInt32: frames at the queue's rate that the queue decodes ahead, 256 to 1048576; two of the
  /// server's cycles or 20 ms, if that is longer. Default 2048. AudioQueuePrime may exceed it. Set
  /// it while the queue is stopped.
  ///
  /// Linear PCM at the device's rate needs no decoding. Then the queue stores the value and ignores
  /// it, unless it has a tap or the time-pitch processor. Unless the value is set, linear PCM at
  /// another rate is read as late as possible.
  kAudioQueueProperty_DecodeBufferSizeFrames = 'dcbf',
  /// UInt32, read-only: OSStatus of the latest error between the buffers and the ports; 0 if there
  /// was none. Listeners are notified of each error. The log has details.
  ///
  /// kAudioQueueErr_InvalidCodecAccess: packets could not be decoded, and silence is played
  /// instead; or frames could not be encoded. kAudioQueueErr_RecordUnderrun: no buffer was
  /// enqueued.
  kAudioQueueProperty_ConverterError = 'qcve'
};

/// Algorithms for changes of rate and pitch.
CF_ENUM(UInt32) {
  /// Changes rate and pitch independently, for all kinds of sound.
  kAudioQueueTimePitchAlgorithm_Spectral = 'spec',
  /// Changes rate and pitch independently, at half the cost, for speech.
  kAudioQueueTimePitchAlgorithm_TimeDomain = 'tido',
  /// The pitch follows the rate, as on a tape. The parameter Pitch is ignored.
  kAudioQueueTimePitchAlgorithm_Varispeed = 'vspd'
};

CF_ENUM(AudioQueuePropertyID) {
  /// UInt32: kind of codec that the queue uses; a kAudioQueueHardwareCodecPolicy. Set it before
  /// priming and the start.
  ///
  /// Every codec here is software. With kAudioQueueHardwareCodecPolicy_UseHardwareOnly,
  /// AudioQueuePrime and AudioQueueStart return kAudioQueueErr_InvalidCodecAccess. Linear PCM needs
  /// no codec and starts nevertheless.
  kAudioQueueProperty_HardwareCodecPolicy = 'aqcp'
};

CF_ENUM(UInt32) {
  kAudioQueueHardwareCodecPolicy_Default = 0,
  kAudioQueueHardwareCodecPolicy_UseSoftwareOnly = 1,
  kAudioQueueHardwareCodecPolicy_UseHardwareOnly = 2,
  kAudioQueueHardwareCodecPolicy_PreferSoftware = 3,
  kAudioQueueHardwareCodecPolicy_PreferHardware = 4
};

/// Level of one channel.
typedef struct AudioQueueLevelMeterState {
  /// RMS.
  Float32 mAveragePower;
  Float32 mPeakPower;
} AudioQueueLevelMeterState;

/// Device output that one channel of a queue plays through.
typedef struct AudioQueueChannelAssignment {
  /// UID of the queue's device; NULL means the same.
  CFStringRef _Nullable mDeviceUID CF_REFINED_FOR_SWIFT;
  /// Output of the device, from 1; 0 for none.
  UInt32 mChannelNumber;
} AudioQueueChannelAssignment;

CF_ENUM(AudioQueueParameterID) {
  /// Linear gain, 0 to 1; other values are clamped. Default 1.
  kAudioQueueParam_Volume = 1,
  /// Playback rate as a factor, 0.5 to 2; other values are clamped. Default 1. PlayRate and Pitch
  /// need kAudioQueueProperty_EnableTimePitch. They become audible within one decode buffer.
  kAudioQueueParam_PlayRate = 2,
  /// Pitch shift in cents, -2400 to 2400; other values are clamped. Default 0.
  kAudioQueueParam_Pitch = 3,
  /// Duration in seconds of later gain changes, which are linear from frame to frame. Default 0.
  kAudioQueueParam_VolumeRampTime = 4,
  /// Balance of one or two channels, -1 (left) to 1 (right), with unity gain on both sides at the
  /// centre. Ignored with more channels. Default 0.
  kAudioQueueParam_Pan = 13
};

/// A parameter change that applies from a buffer's first frame on.
typedef struct AudioQueueParameterEvent {
  AudioQueueParameterID mID;
  AudioQueueParameterValue mValue;
} AudioQueueParameterEvent;

/// A buffer of a queue, which owns the memory. The const members never change.
typedef struct AudioQueueBuffer {
  /// Capacity of mAudioData in bytes.
  const UInt32 mAudioDataBytesCapacity;
  /// The audio data.
  void *const mAudioData;
  /// Bytes of audio in mAudioData. The program sets it before it enqueues the buffer.
  UInt32 mAudioDataByteSize;
  /// For the program's own use.
  void *_Nullable mUserData;
  /// Capacity of mPacketDescriptions.
  const UInt32 mPacketDescriptionCapacity;
  /// Descriptions of the packets in mAudioData, for formats whose packets vary.
  AudioStreamPacketDescription *const _Nullable mPacketDescriptions;
  /// Number of descriptions in mPacketDescriptions.
  UInt32 mPacketDescriptionCount;
} AudioQueueBuffer;

typedef AudioQueueBuffer *AudioQueueBufferRef;

/// Called on the callback thread when the queue has finished reading a buffer. The program may fill
/// it again.
typedef void (*AudioQueueOutputCallback)(void *_Nullable inUserData, AudioQueueRef inAQ,
                                         AudioQueueBufferRef inBuffer);

/// Called on the callback thread when a recording queue returns a buffer. mAudioDataByteSize bytes
/// of it are filled; none if the queue was stopped or reset before that buffer's turn.
///
/// `inStartTime` is the time of its first frame: frames at the queue's rate since the queue
/// started, and the host time. For linear PCM the number of packets is the number of frames. If
/// packets vary in size, the buffer has descriptions. Then it holds no more packets than are
/// certain to fit, and no more than the number of descriptions it was allocated for.
typedef void (*AudioQueueInputCallback)(
  void *_Nullable inUserData, AudioQueueRef inAQ, AudioQueueBufferRef inBuffer,
  const AudioTimeStamp *inStartTime, UInt32 inNumberPacketDescriptions,
  const AudioStreamPacketDescription *_Nullable inPacketDescs);

/// Called on the callback thread after a property has changed. AudioQueueGetProperty returns the
/// new value.
typedef void (*AudioQueuePropertyListenerProc)(void *_Nullable inUserData, AudioQueueRef inAQ,
                                               AudioQueuePropertyID inID);

/// Creates a playback queue.
///
/// For packets, the format must have the sample rate and the channels; sizes that the codec
/// determines may be 0. kAudioQueueErr_CodecNotFound if there is no decoder.
///
/// The callback thread runs the given run loop in the given mode (NULL: the common modes). If the
/// run loop is NULL, it is a thread of the queue's own, or of several queues if a program has more
/// than sixteen. The flags must be 0.
extern OSStatus AudioQueueNewOutput(const AudioStreamBasicDescription *inFormat,
                                    AudioQueueOutputCallback inCallbackProc,
                                    void *_Nullable inUserData,
                                    CFRunLoopRef _Nullable inCallbackRunLoop,
                                    CFStringRef _Nullable inCallbackRunLoopMode, UInt32 inFlags,
                                    AudioQueueRef _Nullable *_Nonnull outAQ);

/// Creates a recording queue. The callback thread is the same as for a playback queue. A sample
/// rate of 0 means that of the device. The flags must be 0. kAudioQueueErr_CodecNotFound if there
/// is no encoder for the format.
///
/// kAudioConverterEncodeBitRate can be set while the queue is stopped. kAudioConverterPrimeInfo can
/// be read once a run is over: the frames at both ends of the packets that are not sound.
extern OSStatus AudioQueueNewInput(const AudioStreamBasicDescription *inFormat,
                                   AudioQueueInputCallback inCallbackProc,
                                   void *_Nullable inUserData,
                                   CFRunLoopRef _Nullable inCallbackRunLoop,
                                   CFStringRef _Nullable inCallbackRunLoopMode, UInt32 inFlags,
                                   AudioQueueRef _Nullable *_Nonnull outAQ);

#ifdef __BLOCKS__
/// Block version of AudioQueueOutputCallback.
typedef void (^AudioQueueOutputCallbackBlock)(AudioQueueRef inAQ, AudioQueueBufferRef inBuffer);

/// Creates a playback queue that calls a block on a dispatch queue. The flags must be 0.
extern OSStatus AudioQueueNewOutputWithDispatchQueue(AudioQueueRef _Nullable *_Nonnull outAQ,
                                                     const AudioStreamBasicDescription *inFormat,
                                                     UInt32 inFlags,
                                                     dispatch_queue_t inCallbackDispatchQueue,
                                                     AudioQueueOutputCallbackBlock inCallbackBlock);

/// Block version of AudioQueueInputCallback.
typedef void (^AudioQueueInputCallbackBlock)(
  AudioQueueRef inAQ, AudioQueueBufferRef inBuffer, const AudioTimeStamp *inStartTime,
  UInt32 inNumberPacketDescriptions, const AudioStreamPacketDescription *_Nullable inPacketDescs);

/// Creates a recording queue that calls a block on a dispatch queue. The flags must be 0.
extern OSStatus AudioQueueNewInputWithDispatchQueue(AudioQueueRef _Nullable *_Nonnull outAQ,
                                                    const AudioStreamBasicDescription *inFormat,
                                                    UInt32 inFlags,
                                                    dispatch_queue_t inCallbackDispatchQueue,
                                                    AudioQueueInputCallbackBlock inCallbackBlock);
#endif

/// Disposes of a queue and frees its buffers: immediately, or when everything enqueued has been
/// played. A recording queue first delivers the frames it holds, unless the disposal is immediate
/// or happens in a callback.
///
/// No callback and no listener begins after this has returned. If another thread is running one,
/// the call waits for it: for five seconds at most if `inImmediate`, else for 0.1 s.
extern OSStatus AudioQueueDispose(AudioQueueRef inAQ, Boolean inImmediate);

/// Allocates a buffer of `inBufferByteSize` bytes.
extern OSStatus AudioQueueAllocateBuffer(AudioQueueRef inAQ, UInt32 inBufferByteSize,
                                         AudioQueueBufferRef _Nullable *_Nonnull outBuffer);

/// Allocates a buffer of `inBufferByteSize` bytes, with room for packet descriptions.
extern OSStatus
AudioQueueAllocateBufferWithPacketDescriptions(AudioQueueRef inAQ, UInt32 inBufferByteSize,
                                               UInt32 inNumberPacketDescriptions,
                                               AudioQueueBufferRef _Nullable *_Nonnull outBuffer);

/// Frees a buffer that is not enqueued.
extern OSStatus AudioQueueFreeBuffer(AudioQueueRef inAQ, AudioQueueBufferRef inBuffer);

/// Enqueues a filled buffer; for recording, an empty one.
///
/// Packets that vary in size need descriptions. `inPacketDescs` has `inNumPacketDescs` of them. If
/// it is NULL, the queue uses the first `inNumPacketDescs` of the buffer's own mPacketDescriptions.
/// If that number is 0 or above mPacketDescriptionCapacity, it uses the first
/// mPacketDescriptionCount.
///
/// A buffer to record into needs room for at least one packet. Wrong or missing descriptions, and
/// too little room, give kAudio_ParamError.
extern OSStatus AudioQueueEnqueueBuffer(AudioQueueRef inAQ, AudioQueueBufferRef inBuffer,
                                        UInt32 inNumPacketDescs,
                                        const AudioStreamPacketDescription *_Nullable inPacketDescs);

/// Enqueues a filled buffer with frames to trim at its ends, parameters that apply from its first
/// frame on, and a start time.
///
/// The start time is in frames at the queue's rate since the queue started; NULL means directly
/// after the buffer enqueued before. It must not precede the start time of another enqueued buffer,
/// nor be more than 30 years away; otherwise kAudio_ParamError. `outActualStartTime` receives the
/// time at which the buffer begins, provided that the queue does not run dry before.
extern OSStatus AudioQueueEnqueueBufferWithParameters(
    AudioQueueRef inAQ, AudioQueueBufferRef inBuffer, UInt32 inNumPacketDescs,
    const AudioStreamPacketDescription *_Nullable inPacketDescs, UInt32 inTrimFramesAtStart,
    UInt32 inTrimFramesAtEnd, UInt32 inNumParamValues,
    const AudioQueueParameterEvent *_Nullable inParamValues,
    const AudioTimeStamp *_Nullable inStartTime, AudioTimeStamp *_Nullable outActualStartTime);

/// Starts or resumes the queue at a device time; NULL means as soon as possible.
extern OSStatus AudioQueueStart(AudioQueueRef inAQ, const AudioTimeStamp *_Nullable inStartTime);

/// Decodes enqueued sound ahead of the start: at least `inNumberOfFramesToPrepare` frames at the
/// queue's rate, or everything enqueued if that is 0. Returns when that is done.
///
/// It may exceed kAudioQueueProperty_DecodeBufferSizeFrames and then uses 4 bytes per sample, until
/// these samples have been played. `outNumberOfFramesPrepared` receives the number of frames that
/// are ready, whatever the result.
///
/// kAudioQueueErr_PrimeTimedOut: fewer frames are enqueued, the decoder delivers none for five
/// seconds, or more than 1,000 segments are ahead. Each buffer that needs decoding ends a segment.
extern OSStatus AudioQueuePrime(AudioQueueRef inAQ, UInt32 inNumberOfFramesToPrepare,
                                UInt32 *_Nullable outNumberOfFramesPrepared);

/// Stops the queue. With `inImmediate` it stops at once and returns every buffer to the program
/// before this call returns. Without, this call returns at once, and the queue stops when
/// everything enqueued has been played.
///
/// A recording queue that is stopped with `inImmediate` records no more. Before this call returns,
/// the callback gets the full buffers, then the partly filled one with the frames it holds, then
/// the empty ones.
///
/// Without `inImmediate` the queue records until every enqueued buffer is full. Until
/// kAudioQueueProperty_IsRunning is 0, enqueueing another buffer gives
/// kAudioQueueErr_EnqueueDuringReset. A call of AudioQueueStart lets the run continue instead. A
/// queue that is paused, has no buffer or has lost its server delivers the frames it holds and
/// stops soon.
///
/// The device keeps running: the JACK client and its ports exist until AudioQueueDispose. So a
/// patchbay can connect the ports of a stopped queue. JACK forgets the connections of a client that
/// closes.
extern OSStatus AudioQueueStop(AudioQueueRef inAQ, Boolean inImmediate);

/// Pauses the queue. Buffers and time stay where they are.
extern OSStatus AudioQueuePause(AudioQueueRef inAQ);

/// Makes the queue play everything enqueued to its last frame, and restarts the decoder with the
/// next buffer. Also works before the first AudioQueuePrime or AudioQueueStart. Does not wait.
extern OSStatus AudioQueueFlush(AudioQueueRef inAQ);

/// Silences the queue and returns every buffer to the program, but does not stop the queue.
extern OSStatus AudioQueueReset(AudioQueueRef inAQ);

/// Copies the present value of a parameter.
extern OSStatus AudioQueueGetParameter(AudioQueueRef inAQ, AudioQueueParameterID inParamID,
                                       AudioQueueParameterValue *outValue);

/// Sets a parameter.
extern OSStatus AudioQueueSetParameter(AudioQueueRef inAQ, AudioQueueParameterID inParamID,
                                       AudioQueueParameterValue inValue);

/// Copies a property's value to `outData`, which has room for `*ioDataSize` bytes. `*ioDataSize`
/// receives the actual size. kAudioQueueErr_InvalidPropertySize if there is less room; `*ioDataSize`
/// then stays as it is, or receives the size needed if it was 0.
extern OSStatus AudioQueueGetProperty(AudioQueueRef inAQ, AudioQueuePropertyID inID, void *outData,
                                      UInt32 *ioDataSize);

/// Sets a property.
extern OSStatus AudioQueueSetProperty(AudioQueueRef inAQ, AudioQueuePropertyID inID,
                                      const void *inData, UInt32 inDataSize);

/// Returns the size of a property's value in bytes.
extern OSStatus AudioQueueGetPropertySize(AudioQueueRef inAQ, AudioQueuePropertyID inID,
                                          UInt32 *outDataSize);

/// Adds a listener that the callback thread calls after the property has changed.
extern OSStatus AudioQueueAddPropertyListener(AudioQueueRef inAQ, AudioQueuePropertyID inID,
                                              AudioQueuePropertyListenerProc inProc,
                                              void *_Nullable inUserData);

/// Removes a listener. All arguments must be those it was added with. No call of it begins after
/// this has returned. If another thread is calling it, this waits for a second at most.
extern OSStatus AudioQueueRemovePropertyListener(AudioQueueRef inAQ, AudioQueuePropertyID inID,
                                                 AudioQueuePropertyListenerProc inProc,
                                                 void *_Nullable inUserData);

/// Creates a timeline, which detects discontinuities in the queue's time from now on. Disposing of
/// the queue disposes of the timeline.
extern OSStatus AudioQueueCreateTimeline(AudioQueueRef inAQ,
                                         AudioQueueTimelineRef _Nullable *_Nonnull outTimeline);

/// Disposes of a timeline of this queue.
extern OSStatus AudioQueueDisposeTimeline(AudioQueueRef inAQ, AudioQueueTimelineRef inTimeline);

/// Returns the queue's time: mSampleTime in frames at its own rate since it started, and mHostTime
/// of the same moment.
///
/// After an AudioQueueStart with a time, mSampleTime counts up from below zero until that time.
/// Before that call and after a stop: kAudioQueueErr_InvalidRunState, with mHostTime alone.
///
/// `*outTimelineDiscontinuity` is true if the timeline has not reported a discontinuity yet, and
/// false without a timeline. The timeline must belong to the queue. A discontinuity is a missed
/// cycle while the queue ran, or silence for lack of a buffer. So is a server that went away and
/// came back, or a change of the device's rate.
extern OSStatus AudioQueueGetCurrentTime(AudioQueueRef inAQ,
                                         AudioQueueTimelineRef _Nullable inTimeline,
                                         AudioTimeStamp *_Nullable outTimeStamp,
                                         Boolean *_Nullable outTimelineDiscontinuity);

/// Returns the device's time: mSampleTime and mHostTime of one moment. While the device does not
/// run, only mHostTime is valid. mRateScalar is never valid, because the device's actual rate is
/// not measured.
extern OSStatus AudioQueueDeviceGetCurrentTime(AudioQueueRef inAQ, AudioTimeStamp *outTimeStamp);

/// Converts a time of the device: a host time to its sample time, or the other way round.
/// kAudioQueueErr_InvalidRunState while the device does not run.
extern OSStatus AudioQueueDeviceTranslateTime(AudioQueueRef inAQ, const AudioTimeStamp *inTime,
                                              AudioTimeStamp *outTime);

/// Replaces the requested time by the earliest one, not before it, at which a queue of this device
/// can still start. The flags must be 0. kAudioQueueErr_InvalidRunState while the device does not
/// run.
extern OSStatus AudioQueueDeviceGetNearestStartTime(AudioQueueRef inAQ,
                                                    AudioTimeStamp *ioRequestedStartTime,
                                                    UInt32 inFlags);

/// Makes the queue render to memory in `inFormat` instead of playing; NULL returns it to its
/// previous device. Enqueued buffers stay. kAudioQueueErr_InvalidRunState while the queue runs.
///
/// The format is any interleaved linear PCM that a queue can play. Its rate and channels may differ
/// from the queue's. A layout must have as many channels as the format.
///
/// If `inLayout` and kAudioQueueProperty_ChannelLayout both label channels, each channel goes to
/// the one with its label. The others are mixed as by kAudioFormatProperty_MatrixMixMap. Without a
/// layout, one channel goes to the first two, several are averaged into one, and otherwise each
/// goes to its own.
///
/// A queue that renders has no device. Functions that convert device times, and device properties,
/// give kAudioQueueErr_InvalidOfflineMode. AudioQueueStart ignores its time.
extern OSStatus AudioQueueSetOfflineRenderFormat(AudioQueueRef inAQ,
                                                 const AudioStreamBasicDescription *_Nullable inFormat,
                                                 const AudioChannelLayout *_Nullable inLayout);

/// Renders the next frames of a started queue to one of its own buffers, and sets its
/// mAudioDataByteSize. Renders as many as are enqueued, fit and are requested.
///
/// The calling thread runs callbacks and listeners inside this call, and buffers that they enqueue
/// are rendered at once. No frames result if nothing is enqueued or everything has been rendered. 0
/// frames may be requested, to begin.
///
/// A valid mSampleTime in the time stamp is the time of the buffer's first frame, in frames of the
/// render format since AudioQueueStart. Frames that it skips are silence and are not returned. The
/// queue's time passes meanwhile, and enqueued sound continues with the buffer's first frame. A
/// time that has been rendered gives kAudio_ParamError. Without a valid mSampleTime, or once
/// everything has been rendered, frames are consecutive.
///
/// kAudioQueueErr_InvalidOfflineMode if the queue does not render offline.
/// kAudioQueueErr_InvalidRunState before its start, while it is paused, and inside a callback.
extern OSStatus AudioQueueOfflineRender(AudioQueueRef inAQ,
                                        const AudioTimeStamp *_Nullable inTimestamp,
                                        AudioQueueBufferRef ioBuffer, UInt32 inNumberFrames);

// MARK: Processing taps

/// A callback of the program that reads a queue's sound, or replaces it.
typedef struct OpaqueAudioQueueProcessingTap *AudioQueueProcessingTapRef;

/// Position and type of a tap, and flags of a call.
typedef CF_OPTIONS(UInt32, AudioQueueProcessingTapFlags) {
  /// The tap gets the sound before changes of rate and pitch …
  kAudioQueueProcessingTap_PreEffects = (1U << 0),
  /// … or after them. A tap has one of these two flags.
  kAudioQueueProcessingTap_PostEffects = (1U << 1),
  /// The tap only reads: ioData holds the sound, and changes to it are not heard.
  kAudioQueueProcessingTap_Siphon = (1U << 2),
  /// The frames begin a stream: a run, or the sound after a gap, a flush or a reset.
  kAudioQueueProcessingTap_StartOfStream = (1U << 8),
  /// The run has ended: the source has no more frames. A tap may still return frames. It is called
  /// until it returns none or sets this flag.
  kAudioQueueProcessingTap_EndOfStream = (1U << 9)
};

/// A tap's callback. The thread that decodes calls it, or the thread that calls
/// AudioQueueOfflineRender; never JACK's process thread. So a slow tap makes the queue run dry, but
/// does not delay JACK. It may call AudioQueueProcessingTapGetSourceAudio and
/// AudioQueueProcessingTapGetQueueTime. It must not stop the queue, because that waits for the tap.
///
/// The tap writes `inNumberFrames` frames to `ioData`, which has room for that many, or makes the
/// buffers point elsewhere. It sets `outNumberFrames` to the number of frames, and `ioFlags` to the
/// flags from AudioQueueProcessingTapGetSourceAudio. Source frames that it did not get are skipped.
///
/// Too many frames, or too few without kAudioQueueProcessingTap_EndOfStream, set
/// kAudioQueueProperty_ConverterError. Excess frames are dropped; missing ones are silent.
typedef void (*AudioQueueProcessingTapCallback)(void *inClientData,
                                                AudioQueueProcessingTapRef inAQTap,
                                                UInt32 inNumberFrames, AudioTimeStamp *ioTimeStamp,
                                                AudioQueueProcessingTapFlags *ioFlags,
                                                UInt32 *outNumberFrames, AudioBufferList *ioData);

/// Adds a tap to a stopped queue. A queue has at most one. The callback gets at most `outMaxFrames`
/// frames per call, in `outProcessingFormat`: 32-bit floats, one buffer per channel, at the queue's
/// rate. Disposing of the queue disposes of the tap.
extern OSStatus AudioQueueProcessingTapNew(AudioQueueRef inAQ,
                                           AudioQueueProcessingTapCallback inCallback,
                                           void *_Nullable inClientData,
                                           AudioQueueProcessingTapFlags inFlags,
                                           UInt32 *outMaxFrames,
                                           AudioStreamBasicDescription *outProcessingFormat,
                                           AudioQueueProcessingTapRef _Nullable *_Nonnull outAQTap);

/// Removes a tap from its queue, which must be stopped.
extern OSStatus AudioQueueProcessingTapDispose(AudioQueueProcessingTapRef inAQTap);

/// Returns source frames of a tap, but not of a siphon. Only inside the tap's callback, in one or
/// several calls. `outNumberFrames` receives the number of frames, which is lower once the frames
/// of this callback are used up. Buffers of `ioData` whose mData is NULL are made to point at the
/// sound, valid until the next call.
extern OSStatus AudioQueueProcessingTapGetSourceAudio(AudioQueueProcessingTapRef inAQTap,
                                                      UInt32 inNumberFrames,
                                                      AudioTimeStamp *ioTimeStamp,
                                                      AudioQueueProcessingTapFlags *outFlags,
                                                      UInt32 *outNumberFrames,
                                                      AudioBufferList *ioData);

/// Returns the queue's time at which the callback's first frame is heard, and the number of queue
/// frames that its frames make. If the queue runs dry, they are heard later. Only inside the tap's
/// callback.
extern OSStatus AudioQueueProcessingTapGetQueueTime(AudioQueueProcessingTapRef inAQTap,
                                                    Float64 *outQueueSampleTime,
                                                    UInt32 *outQueueFrameCount);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
