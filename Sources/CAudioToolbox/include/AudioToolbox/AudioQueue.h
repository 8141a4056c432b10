// Audio queues: playback and recording, buffer by buffer, through JACK, of linear PCM and of packets of
// the codecs that AudioFormat.h lists.
#ifndef CUEJACK_AUDIOQUEUE_H
#define CUEJACK_AUDIOQUEUE_H

#include "../CoreAudioTypes/CoreAudioTypes.h"
#include "AudioFormat.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

CF_ENUM(OSStatus) {
  /// The buffer is waiting in the queue or playing: it cannot be enqueued again.
  kAudioQueueErr_BufferEnqueuedTwice = -66666,
  /// The buffer is not one of this queue's.
  kAudioQueueErr_InvalidBuffer = -66687,
  /// The buffer's mAudioDataByteSize is 0.
  kAudioQueueErr_BufferEmpty = -66686,
  /// The queue is playing its last buffers before it goes: it takes no more calls.
  kAudioQueueErr_DisposalPending = -66685,
  /// There is no such property, or not here.
  kAudioQueueErr_InvalidProperty = -66684,
  /// The size given does not suit the property.
  kAudioQueueErr_InvalidPropertySize = -66683,
  /// There is no such parameter.
  kAudioQueueErr_InvalidParameter = -66682,
  /// The queue could not start; the log says why.
  kAudioQueueErr_CannotStart = -66681,
  /// There is no such device, or it does not answer.
  kAudioQueueErr_InvalidDevice = -66680,
  /// The buffer is waiting in the queue or playing: it cannot be freed.
  kAudioQueueErr_BufferInQueue = -66679,
  /// The queue runs and should not, or the other way round.
  kAudioQueueErr_InvalidRunState = -66678,
  /// The queue plays where one that records is needed, or the other way round.
  kAudioQueueErr_InvalidQueueType = -66677,
  /// The caller may not do this.
  kAudioQueueErr_Permissions = -66676,
  /// The property cannot take this value.
  kAudioQueueErr_InvalidPropertyValue = -66675,
  /// Priming did not get the frames asked for: they are not enqueued, or were not ready in time.
  kAudioQueueErr_PrimeTimedOut = -66674,
  /// No codec for the format was found.
  kAudioQueueErr_CodecNotFound = -66673,
  /// The codec was found, but could not be used.
  kAudioQueueErr_InvalidCodecAccess = -66672,
  /// The sound server went away and took the queue with it.
  kAudioQueueErr_QueueInvalidated = -66671,
  /// The queue has a processing tap already.
  kAudioQueueErr_TooManyTaps = -66670,
  /// The call is for a tap's callback, while it runs.
  kAudioQueueErr_InvalidTapContext = -66669,
  /// The call is for taps of another kind.
  kAudioQueueErr_InvalidTapType = -66667,
  /// No buffer was there to take what was recorded.
  kAudioQueueErr_RecordUnderrun = -66668,
  /// Buffers cannot be enqueued while the queue resets, stops or is disposed of.
  kAudioQueueErr_EnqueueDuringReset = -66632,
  /// The queue renders offline and should not, or the other way round.
  kAudioQueueErr_InvalidOfflineMode = -66626
};

/// A queue. Only the functions below know what is behind it.
typedef struct OpaqueAudioQueue *AudioQueueRef;
/// A watcher of breaks in a queue's time: AudioQueueGetCurrentTime tells it of each once.
typedef struct OpaqueAudioQueueTimeline *AudioQueueTimelineRef;

typedef UInt32 AudioQueuePropertyID;
typedef UInt32 AudioQueueParameterID;
typedef Float32 AudioQueueParameterValue;

CF_ENUM(AudioQueuePropertyID) {
  /// UInt32, read-only: 1 from the first cycle played to the last frame gone, else 0. Listeners
  /// hear of both.
  kAudioQueueProperty_IsRunning = 'aqrn',
  /// Float64, read-only: frames per second of the device.
  kAudioQueueDeviceProperty_SampleRate = 'aqsr',
  /// UInt32, read-only: channels of the device.
  kAudioQueueDeviceProperty_NumberChannels = 'aqdc',
  /// CFStringRef: the device's UID. The caller releases what it reads. Set it before the start.
  kAudioQueueProperty_CurrentDevice = 'aqcd',
  /// Array of AudioQueueChannelAssignment, one for each channel of the queue: which output of the
  /// device it goes to. The caller releases the UIDs it reads. Set it before the start; it holds until
  /// another device is set.
  kAudioQueueProperty_ChannelAssignments = 'aqca',
  /// Bytes that a decoder needs first. A queue that plays takes them in any form that files and programs
  /// use, AAC's bare configuration included; set them before the first buffer is decoded.
  /// kAudioQueueErr_InvalidPropertyValue says that they are none of the format's. One that records gives
  /// those of its encoder, complete once a run is over; they can only be read. Linear PCM needs none:
  /// they are kept and change nothing.
  kAudioQueueProperty_MagicCookie = 'aqmc',
  /// UInt32, read-only: bytes of the largest packet that is recorded; of each that is played if all have
  /// one size, else 0.
  kAudioQueueProperty_MaximumOutputPacketSize = 'xops',
  /// AudioStreamBasicDescription, read-only: the queue's format, with every field filled in that is known.
  kAudioQueueProperty_StreamDescription = 'aqft',
  /// AudioChannelLayout: what the channels are for, by tag, bitmap or descriptions, as many as the
  /// format has. The ports stand in the order of the labels' numbers, as in a WAVE file (left, right, centre,
  /// low frequencies, …), and each channel goes to, or comes from, the port of its label. Channels without a
  /// label of their own go to the ports in their order. Set it before priming and the start; a change of the
  /// order closes a device that is open, and it opens anew. At first it is mono, stereo, or so many channels
  /// without a meaning.
  kAudioQueueProperty_ChannelLayout = 'aqcl',
  /// UInt32: whether levels are measured, 0 or 1. 0 at first.
  kAudioQueueProperty_EnableLevelMetering = 'aqme',
  /// Array of AudioQueueLevelMeterState, read-only, one for each channel: the level of the cycle played
  /// last, 0 to 1. kAudioQueueErr_InvalidPropertyValue while levels are not measured.
  kAudioQueueProperty_CurrentLevelMeter = 'aqmv',
  /// The same in decibels, -120 to 0.
  kAudioQueueProperty_CurrentLevelMeterDB = 'aqmd',
  /// UInt32: 1 if what is played goes through a time-pitch processor, which the parameters PlayRate
  /// and Pitch need. Set it while the queue does not run. 0 at first. A library that was built without
  /// Rubber Band takes no 1: kAudioQueueErr_InvalidPropertyValue.
  kAudioQueueProperty_EnableTimePitch = 'q_tp',
  /// UInt32: how rate and pitch are changed, a kAudioQueueTimePitchAlgorithm. Set it while the queue
  /// does not run.
  kAudioQueueProperty_TimePitchAlgorithm = 'qtpa',
  /// UInt32: 1 if the sound passes by the time-pitch processor. At any time. 0 at first.
  kAudioQueueProperty_TimePitchBypass = 'qtpb',
  /// UInt32: frames of the queue's rate that are decoded ahead, 256 to 1048576; 16384 at first.
  /// AudioQueuePrime may go beyond. Set it while the queue does not run. It is kept and changes nothing for linear PCM at the device's rate,
  /// which needs no decoding, unless a tap or the time-pitch processor is there.
  kAudioQueueProperty_DecodeBufferSizeFrames = 'dcbf',
  /// UInt32, read-only: the OSStatus of the latest thing that went wrong on the way from the buffers to
  /// the ports or back, 0 if nothing did: kAudioQueueErr_InvalidCodecAccess if packets could not be
  /// decoded, which are silence then, or frames not encoded; kAudioQueueErr_RecordUnderrun if there was no
  /// buffer. Listeners hear of each. The log says more.
  kAudioQueueProperty_ConverterError = 'qcve'
};

/// How rate and pitch are changed.
CF_ENUM(UInt32) {
  /// Each alone, for all kinds of sound.
  kAudioQueueTimePitchAlgorithm_Spectral = 'spec',
  /// Each alone, at half the cost, for speech.
  kAudioQueueTimePitchAlgorithm_TimeDomain = 'tido',
  /// The pitch follows the rate, as on a tape; the parameter Pitch does nothing.
  kAudioQueueTimePitchAlgorithm_Varispeed = 'vspd'
};

CF_ENUM(AudioQueuePropertyID) {
  /// UInt32: which kind of codec a queue that plays or records uses. Every codec here is software: with
  /// kAudioQueueHardwareCodecPolicy_UseHardwareOnly AudioQueuePrime and AudioQueueStart return
  /// kAudioQueueErr_InvalidCodecAccess. Linear PCM needs no codec and starts all the same. Set it before
  /// priming and the start.
  kAudioQueueProperty_HardwareCodecPolicy = 'aqcp'
};

CF_ENUM(UInt32) {
  kAudioQueueHardwareCodecPolicy_Default = 0,
  kAudioQueueHardwareCodecPolicy_UseSoftwareOnly = 1,
  kAudioQueueHardwareCodecPolicy_UseHardwareOnly = 2,
  kAudioQueueHardwareCodecPolicy_PreferSoftware = 3,
  kAudioQueueHardwareCodecPolicy_PreferHardware = 4
};

/// How loud one channel is.
typedef struct AudioQueueLevelMeterState {
  /// RMS.
  Float32 mAveragePower;
  Float32 mPeakPower;
} AudioQueueLevelMeterState;

/// Where one channel of a queue goes.
typedef struct AudioQueueChannelAssignment {
  /// The UID of the queue's device; NULL means that one, too.
  CFStringRef _Nullable mDeviceUID;
  /// 1 for the device's first output; 0 for none.
  UInt32 mChannelNumber;
} AudioQueueChannelAssignment;

CF_ENUM(AudioQueueParameterID) {
  /// Gain, 0 to 1, linear; what lies outside is clamped. 1 at first.
  kAudioQueueParam_Volume = 1,
  /// How many times as fast, 0.5 to 2; what lies outside is clamped. 1 at first. It and Pitch need
  /// kAudioQueueProperty_EnableTimePitch, and are heard within one decode buffer.
  kAudioQueueParam_PlayRate = 2,
  /// How many cents higher, -2400 to 2400; what lies outside is clamped. 0 at first.
  kAudioQueueParam_Pitch = 3,
  /// Seconds that later changes of the gain take, linearly and frame by frame. 0 at first.
  kAudioQueueParam_VolumeRampTime = 4,
  /// Balance of one or two channels, -1 (left) to 1 (right), with unity on both sides at the centre.
  /// More channels take no notice of it. 0 at first.
  kAudioQueueParam_Pan = 13
};

/// A parameter that changes with a buffer's first frame.
typedef struct AudioQueueParameterEvent {
  AudioQueueParameterID mID;
  AudioQueueParameterValue mValue;
} AudioQueueParameterEvent;

/// A buffer of a queue. The queue owns the memory; what is const never changes.
typedef struct AudioQueueBuffer {
  /// Bytes that mAudioData has room for.
  const UInt32 mAudioDataBytesCapacity;
  /// The sound.
  void *const mAudioData;
  /// Bytes of sound in mAudioData. The program sets it before it enqueues the buffer.
  UInt32 mAudioDataByteSize;
  /// The program's own.
  void *_Nullable mUserData;
  /// Descriptions that mPacketDescriptions has room for.
  const UInt32 mPacketDescriptionCapacity;
  /// What the packets in mAudioData are, for formats whose packets vary.
  AudioStreamPacketDescription *const _Nullable mPacketDescriptions;
  /// Descriptions in mPacketDescriptions.
  UInt32 mPacketDescriptionCount;
} AudioQueueBuffer;

typedef AudioQueueBuffer *AudioQueueBufferRef;

/// Called when the queue has taken all the data out of a buffer, which may then be filled again.
typedef void (*AudioQueueOutputCallback)(void *_Nullable inUserData, AudioQueueRef inAQ,
                                         AudioQueueBufferRef inBuffer);

/// Called when a recording queue gives a buffer back: mAudioDataByteSize bytes of it are filled, none if
/// the queue was stopped or reset before it was its turn. `inStartTime` is the time of its first frame:
/// the frames, at the rate of the queue, since it started, and the host time. Of linear PCM the number
/// of packets is that of the frames. There are descriptions if packets vary in size; then a buffer holds no
/// more of them than there is certain to be room for, and than it was made to describe.
typedef void (*AudioQueueInputCallback)(
  void *_Nullable inUserData, AudioQueueRef inAQ, AudioQueueBufferRef inBuffer,
  const AudioTimeStamp *inStartTime, UInt32 inNumberPacketDescriptions,
  const AudioStreamPacketDescription *_Nullable inPacketDescs);

/// Called after a property has changed; AudioQueueGetProperty gives the new value.
typedef void (*AudioQueuePropertyListenerProc)(void *_Nullable inUserData, AudioQueueRef inAQ,
                                               AudioQueuePropertyID inID);

/// Makes a queue that plays. Of packets the format has to tell the rate and the channels; sizes that the
/// codec settles may be 0. kAudioQueueErr_CodecNotFound if there is no decoder. The callback runs on the
/// given run loop in the given mode (NULL: the common modes), or on a thread of the queue's own if the run
/// loop is NULL. The flags must be 0.
extern OSStatus AudioQueueNewOutput(const AudioStreamBasicDescription *inFormat,
                                    AudioQueueOutputCallback inCallbackProc,
                                    void *_Nullable inUserData,
                                    CFRunLoopRef _Nullable inCallbackRunLoop,
                                    CFStringRef _Nullable inCallbackRunLoopMode, UInt32 inFlags,
                                    AudioQueueRef _Nullable *_Nonnull outAQ);

/// Makes a queue that records. The callback is called as that of a queue that plays. A sample rate of
/// 0 is that of the device. kAudioQueueErr_CodecNotFound if there is no encoder for the format. The flags
/// must be 0.
///
/// kAudioConverterEncodeBitRate can be set while the queue does not run, and kAudioConverterPrimeInfo be
/// read once a run is over: which frames of the packets are no sound.
extern OSStatus AudioQueueNewInput(const AudioStreamBasicDescription *inFormat,
                                   AudioQueueInputCallback inCallbackProc,
                                   void *_Nullable inUserData,
                                   CFRunLoopRef _Nullable inCallbackRunLoop,
                                   CFStringRef _Nullable inCallbackRunLoopMode, UInt32 inFlags,
                                   AudioQueueRef _Nullable *_Nonnull outAQ);

#ifdef __BLOCKS__
/// The callback of a queue that calls a block.
typedef void (^AudioQueueOutputCallbackBlock)(AudioQueueRef inAQ, AudioQueueBufferRef inBuffer);

/// Makes a queue that plays and calls a block on a dispatch queue. The flags must be 0.
extern OSStatus AudioQueueNewOutputWithDispatchQueue(AudioQueueRef _Nullable *_Nonnull outAQ,
                                                     const AudioStreamBasicDescription *inFormat,
                                                     UInt32 inFlags,
                                                     dispatch_queue_t inCallbackDispatchQueue,
                                                     AudioQueueOutputCallbackBlock inCallbackBlock);

/// The callback of a recording queue that calls a block.
typedef void (^AudioQueueInputCallbackBlock)(
  AudioQueueRef inAQ, AudioQueueBufferRef inBuffer, const AudioTimeStamp *inStartTime,
  UInt32 inNumberPacketDescriptions, const AudioStreamPacketDescription *_Nullable inPacketDescs);

/// Makes a queue that records and calls a block on a dispatch queue. The flags must be 0.
extern OSStatus AudioQueueNewInputWithDispatchQueue(AudioQueueRef _Nullable *_Nonnull outAQ,
                                                    const AudioStreamBasicDescription *inFormat,
                                                    UInt32 inFlags,
                                                    dispatch_queue_t inCallbackDispatchQueue,
                                                    AudioQueueInputCallbackBlock inCallbackBlock);
#endif

/// Ends a queue and frees its buffers: at once, or when all that is enqueued has been played. One that
/// records first delivers what it has, unless it is ended at once or in a callback.
///
/// No callback and no listener begins after it has returned. If another thread runs one, the call
/// waits for it: for five seconds at most if `inImmediate`, else for 0.1 s.
extern OSStatus AudioQueueDispose(AudioQueueRef inAQ, Boolean inImmediate);

/// Makes a buffer with room for `inBufferByteSize` bytes.
extern OSStatus AudioQueueAllocateBuffer(AudioQueueRef inAQ, UInt32 inBufferByteSize,
                                         AudioQueueBufferRef _Nullable *_Nonnull outBuffer);

/// Makes a buffer with room for packet descriptions too.
extern OSStatus
AudioQueueAllocateBufferWithPacketDescriptions(AudioQueueRef inAQ, UInt32 inBufferByteSize,
                                               UInt32 inNumberPacketDescriptions,
                                               AudioQueueBufferRef _Nullable *_Nonnull outBuffer);

/// Frees a buffer that is not enqueued.
extern OSStatus AudioQueueFreeBuffer(AudioQueueRef inAQ, AudioQueueBufferRef inBuffer);

/// Hands a filled buffer to the queue, or an empty one to a queue that records. Packets that vary in size
/// need descriptions. `inPacketDescs` has `inNumPacketDescs` of them. If it is NULL the queue takes the first
/// `inNumPacketDescs` of the buffer's own mPacketDescriptions, or, if that number is 0 or above
/// mPacketDescriptionCapacity, the first mPacketDescriptionCount. A buffer that records needs room for one
/// packet at least. Wrong descriptions, none, and too little room are kAudio_ParamError.
extern OSStatus AudioQueueEnqueueBuffer(AudioQueueRef inAQ, AudioQueueBufferRef inBuffer,
                                        UInt32 inNumPacketDescs,
                                        const AudioStreamPacketDescription *_Nullable inPacketDescs);

/// Hands a filled buffer to the queue, and says how it is to be played: frames left out at its ends,
/// parameters that change with its first frame, and the time at which it begins, in frames of the
/// queue's rate since the queue started (NULL: right after what was enqueued before). A start time must not
/// come before that of another buffer that is still enqueued, nor be more than 30 years away: that is
/// kAudio_ParamError. The time at which it will begin, if the queue does not run dry before, comes back.
extern OSStatus AudioQueueEnqueueBufferWithParameters(
    AudioQueueRef inAQ, AudioQueueBufferRef inBuffer, UInt32 inNumPacketDescs,
    const AudioStreamPacketDescription *_Nullable inPacketDescs, UInt32 inTrimFramesAtStart,
    UInt32 inTrimFramesAtEnd, UInt32 inNumParamValues,
    const AudioQueueParameterEvent *_Nullable inParamValues,
    const AudioTimeStamp *_Nullable inStartTime, AudioTimeStamp *_Nullable outActualStartTime);

/// Starts or resumes the queue: at a time of its device, or as soon as it can if that is NULL.
extern OSStatus AudioQueueStart(AudioQueueRef inAQ, const AudioTimeStamp *_Nullable inStartTime);

/// Prepares enqueued sound ahead of the start: decodes at least `inNumberOfFramesToPrepare` frames at the
/// queue's rate, or everything that is enqueued if that is 0. It goes beyond
/// kAudioQueueProperty_DecodeBufferSizeFrames and takes 4 bytes for each sample, until that has been played.
/// The frames that are ready come back, whatever the result. kAudioQueueErr_PrimeTimedOut if fewer frames are
/// enqueued, if the decoder gives none for five seconds, or if the sound is in more than 1,000 pieces ahead:
/// each buffer that needs decoding and has a start time or parameters begins a piece.
extern OSStatus AudioQueuePrime(AudioQueueRef inAQ, UInt32 inNumberOfFramesToPrepare,
                                UInt32 *_Nullable outNumberOfFramesPrepared);

/// Stops the queue. With `inImmediate` it stops at once and hands back every buffer before it returns. Without
/// it, the function returns at once and the queue stops when all that is enqueued has been played.
///
/// A queue that records and is stopped with `inImmediate` records no more. Before the function returns, the
/// callback gets the buffers that are full, the one that was being filled with the frames that it holds, and
/// the others empty. Without `inImmediate` the queue records until every enqueued buffer is full. Until
/// kAudioQueueProperty_IsRunning is 0, enqueueing another is kAudioQueueErr_EnqueueDuringReset; a call of
/// AudioQueueStart has the run go on instead. A queue that is paused, has no buffer or has lost its server
/// delivers what it has and stops soon.
///
/// The device keeps running: the JACK client and its ports stay until AudioQueueDispose. A patchbay connects
/// ports while a queue is stopped too, and JACK forgets the connections of a client that closes.
extern OSStatus AudioQueueStop(AudioQueueRef inAQ, Boolean inImmediate);

/// Halts the queue; buffers and time stay where they are.
extern OSStatus AudioQueuePause(AudioQueueRef inAQ);

/// Sees to it that all that was enqueued is played to its last frame, and that the decoder begins anew with
/// what is enqueued next, before the first AudioQueuePrime or AudioQueueStart too. Does not wait.
extern OSStatus AudioQueueFlush(AudioQueueRef inAQ);

/// Silences the queue and hands back every buffer, but does not stop it.
extern OSStatus AudioQueueReset(AudioQueueRef inAQ);

/// Reads a parameter as it is at this moment.
extern OSStatus AudioQueueGetParameter(AudioQueueRef inAQ, AudioQueueParameterID inParamID,
                                       AudioQueueParameterValue *outValue);

/// Sets a parameter.
extern OSStatus AudioQueueSetParameter(AudioQueueRef inAQ, AudioQueueParameterID inParamID,
                                       AudioQueueParameterValue inValue);

/// Copies a property's value into `outData`, which has room for `*ioDataSize` bytes; the true size
/// comes back.
extern OSStatus AudioQueueGetProperty(AudioQueueRef inAQ, AudioQueuePropertyID inID, void *outData,
                                      UInt32 *ioDataSize);

/// Sets a property.
extern OSStatus AudioQueueSetProperty(AudioQueueRef inAQ, AudioQueuePropertyID inID,
                                      const void *inData, UInt32 inDataSize);

/// Tells the size of a property's value, in bytes.
extern OSStatus AudioQueueGetPropertySize(AudioQueueRef inAQ, AudioQueuePropertyID inID,
                                          UInt32 *outDataSize);

/// Has `inProc` called when a property changes.
extern OSStatus AudioQueueAddPropertyListener(AudioQueueRef inAQ, AudioQueuePropertyID inID,
                                              AudioQueuePropertyListenerProc inProc,
                                              void *_Nullable inUserData);

/// Takes a listener back. All of the arguments must be those it was added with. No call of it begins
/// after this has returned; one on another thread is waited for, for a second at most.
extern OSStatus AudioQueueRemovePropertyListener(AudioQueueRef inAQ, AudioQueuePropertyID inID,
                                                 AudioQueuePropertyListenerProc inProc,
                                                 void *_Nullable inUserData);

/// Makes a timeline, which watches for breaks in the queue's time from now on. It goes with the queue.
extern OSStatus AudioQueueCreateTimeline(AudioQueueRef inAQ,
                                         AudioQueueTimelineRef _Nullable *_Nonnull outTimeline);

/// Ends a timeline of this queue.
extern OSStatus AudioQueueDisposeTimeline(AudioQueueRef inAQ, AudioQueueTimelineRef inTimeline);

/// The queue's time: mSampleTime counts frames of its own rate since it started, and mHostTime is the host
/// time of the same moment. From an AudioQueueStart with a time until that time mSampleTime counts up from
/// below zero. kAudioQueueErr_InvalidRunState, with mHostTime alone, before that call and after a stop.
/// The flag is true if
/// the timeline, which must be the queue's, has not been told yet of a break: cycles that did not
/// come while the queue ran, silence because no buffer was there, a server that went away and came back,
/// or another rate of the device. Without a timeline it is false.
extern OSStatus AudioQueueGetCurrentTime(AudioQueueRef inAQ,
                                         AudioQueueTimelineRef _Nullable inTimeline,
                                         AudioTimeStamp *_Nullable outTimeStamp,
                                         Boolean *_Nullable outTimelineDiscontinuity);

/// The device's time: mSampleTime and mHostTime of one moment. While the device does not run, only mHostTime
/// is valid. mRateScalar is never valid: the device's actual rate is not measured.
extern OSStatus AudioQueueDeviceGetCurrentTime(AudioQueueRef inAQ, AudioTimeStamp *outTimeStamp);

/// Gives a time of the device in all of its forms: the sample time of a host time, or the other way
/// round. kAudioQueueErr_InvalidRunState while the device does not run.
extern OSStatus AudioQueueDeviceTranslateTime(AudioQueueRef inAQ, const AudioTimeStamp *inTime,
                                              AudioTimeStamp *outTime);

/// Replaces the time asked for by the first one, not earlier, at which a queue of this device can
/// still start. The flags must be 0. kAudioQueueErr_InvalidRunState while the device does not run.
extern OSStatus AudioQueueDeviceGetNearestStartTime(AudioQueueRef inAQ,
                                                    AudioTimeStamp *ioRequestedStartTime,
                                                    UInt32 inFlags);

/// Has the queue render to memory in this format instead of playing; NULL takes it back to the device
/// that it had before. Any interleaved linear PCM that a queue plays will do. Its rate may differ from
/// the queue's, and so may its channels. A layout has to have as many channels as the format. If it and
/// kAudioQueueProperty_ChannelLayout name channels, each channel goes to the one of its label, and what has
/// none there is mixed as kAudioFormatProperty_MatrixMixMap says. Without a layout one channel goes to the
/// first two, into one goes the mean of all, and else each goes to its own. What is enqueued stays.
/// kAudioQueueErr_InvalidRunState while the queue runs. A queue that renders has no device: what
/// translates times of one or tells of it gives kAudioQueueErr_InvalidOfflineMode, and the time that
/// AudioQueueStart is given counts for nothing.
extern OSStatus AudioQueueSetOfflineRenderFormat(AudioQueueRef inAQ,
                                                 const AudioStreamBasicDescription *_Nullable inFormat,
                                                 const AudioChannelLayout *_Nullable inLayout);

/// Renders the next frames of a queue that was started to a buffer of its own, as many as are enqueued,
/// fit and are asked for, and sets its mAudioDataByteSize. Callbacks and listeners are called from
/// inside, on the calling thread, wherever the queue calls them otherwise, and what they enqueue is
/// rendered at once. No frames come if nothing is enqueued, or everything that was has been rendered; 0
/// frames may be asked for, to begin. The mSampleTime of the time stamp, if it is valid, is the time of the
/// buffer's first frame: frames of the render format since AudioQueueStart. Frames that it leaves out are
/// silence that is not returned: the queue's time passes, and what is enqueued goes on with the buffer's
/// first frame. A time that has been rendered is kAudio_ParamError. Without a valid mSampleTime, or once all
/// has been rendered, the frames follow each other.
/// kAudioQueueErr_InvalidOfflineMode if the queue does not render offline,
/// kAudioQueueErr_InvalidRunState before its start, while it is paused, and from inside a callback.
extern OSStatus AudioQueueOfflineRender(AudioQueueRef inAQ,
                                        const AudioTimeStamp *_Nullable inTimestamp,
                                        AudioQueueBufferRef ioBuffer, UInt32 inNumberFrames);

// MARK: Processing taps

/// A function of the program's that looks at a queue's sound, or makes it anew.
typedef struct OpaqueAudioQueueProcessingTap *AudioQueueProcessingTapRef;

/// Where a tap stands, what it does, and what a call is about.
typedef CF_OPTIONS(UInt32, AudioQueueProcessingTapFlags) {
  /// The tap sees the sound before rate and pitch are changed …
  kAudioQueueProcessingTap_PreEffects = (1U << 0),
  /// … or after it. A tap has one of the two.
  kAudioQueueProcessingTap_PostEffects = (1U << 1),
  /// The tap only looks: the sound is in ioData already, and what becomes of that is not heard.
  kAudioQueueProcessingTap_Siphon = (1U << 2),
  /// The frames begin a stream: a run, or what comes after a gap, a flush or a reset.
  kAudioQueueProcessingTap_StartOfStream = (1U << 8),
  /// The run is at its end: there are no more frames. A tap that has some yet gives them; it is
  /// called until it gives none, or this flag back.
  kAudioQueueProcessingTap_EndOfStream = (1U << 9)
};

/// A tap's function. It is called on the thread on which the queue decodes, or in
/// AudioQueueOfflineRender, never in JACK's real-time thread: one that takes long makes the queue run
/// dry, not JACK. It may call AudioQueueProcessingTapGetSourceAudio and
/// AudioQueueProcessingTapGetQueueTime; functions of the queue that stop it would wait for it.
///
/// `inNumberFrames` frames are wanted: the tap puts them into `ioData`, which has room for so many, or
/// makes that point elsewhere. It sets `outNumberFrames` to what it gave, and `ioFlags` to what
/// AudioQueueProcessingTapGetSourceAudio told it. Frames of the source that it did not get are skipped.
/// More frames, or fewer without kAudioQueueProcessingTap_EndOfStream, are told as
/// kAudioQueueProperty_ConverterError: the rest is dropped, what lacks is silent.
typedef void (*AudioQueueProcessingTapCallback)(void *_Nullable inClientData,
                                                AudioQueueProcessingTapRef inAQTap,
                                                UInt32 inNumberFrames, AudioTimeStamp *ioTimeStamp,
                                                AudioQueueProcessingTapFlags *ioFlags,
                                                UInt32 *outNumberFrames, AudioBufferList *ioData);

/// Puts a tap into a queue that does not run. A queue has one at most. The callback is never asked for
/// more than `outMaxFrames` frames, and sees them in `outProcessingFormat`: 32 bit floats, a buffer
/// for each channel, at the queue's rate. The tap goes with its queue.
extern OSStatus AudioQueueProcessingTapNew(AudioQueueRef inAQ,
                                           AudioQueueProcessingTapCallback inCallback,
                                           void *_Nullable inClientData,
                                           AudioQueueProcessingTapFlags inFlags,
                                           UInt32 *outMaxFrames,
                                           AudioStreamBasicDescription *outProcessingFormat,
                                           AudioQueueProcessingTapRef _Nullable *_Nonnull outAQTap);

/// Takes a tap out of its queue, which does not run.
extern OSStatus AudioQueueProcessingTapDispose(AudioQueueProcessingTapRef inAQTap);

/// Gets the sound that a tap, but not a siphon, works on, in the tap's callback only. It may be got in
/// portions; `outNumberFrames` says how many frames came: fewer, if the call's are used up. Buffers of
/// `ioData` whose mData is NULL are made to point at the sound, until the next call.
extern OSStatus AudioQueueProcessingTapGetSourceAudio(AudioQueueProcessingTapRef inAQTap,
                                                      UInt32 inNumberFrames,
                                                      AudioTimeStamp *ioTimeStamp,
                                                      AudioQueueProcessingTapFlags *outFlags,
                                                      UInt32 *outNumberFrames,
                                                      AudioBufferList *ioData);

/// Tells when the frames of a callback are heard, in the callback only: the queue's time of the first,
/// and how many frames of that they make. A queue that runs dry hears them later.
extern OSStatus AudioQueueProcessingTapGetQueueTime(AudioQueueProcessingTapRef inAQTap,
                                                    Float64 *outQueueSampleTime,
                                                    UInt32 *outQueueFrameCount);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
