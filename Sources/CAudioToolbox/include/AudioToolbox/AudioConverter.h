// Converters between formats: linear PCM in every layout, sample rates, channels, and packets of
// the codecs that AudioFormat.h lists.
//
// One thread at a time may use a converter. Any thread that is not real time may call these
// functions.
#ifndef CUEJACK_AUDIOCONVERTER_H
#define CUEJACK_AUDIOCONVERTER_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// A converter. Opaque: only the functions below use its contents.
typedef struct OpaqueAudioConverter *AudioConverterRef;
typedef UInt32 AudioConverterPropertyID;

CF_ENUM(OSStatus) {
  /// No conversion between these formats exists, or a codec is missing.
  kAudioConverterErr_FormatNotSupported = 'fmt?',
  /// This converter does not support the operation.
  kAudioConverterErr_OperationNotSupported = 0x6F703F3F,
  /// The converter does not have the property, or the property is read-only.
  kAudioConverterErr_PropertyNotSupported = 'prop',
  /// The input is not a whole number of frames or packets.
  kAudioConverterErr_InvalidInputSize = 'insz',
  /// The output buffer is too small.
  kAudioConverterErr_InvalidOutputSize = 'otsz',
  /// An error without a code of its own; the log has details.
  kAudioConverterErr_UnspecifiedError = 'what',
  /// The size does not match the property's value.
  kAudioConverterErr_BadPropertySizeError = '!siz',
  /// Packets that vary in size have no descriptions.
  kAudioConverterErr_RequiresPacketDescriptionsError = '!pkd',
  /// The input rate cannot be converted.
  kAudioConverterErr_InputSampleRateOutOfRange = '!isr',
  /// The output rate cannot be converted to.
  kAudioConverterErr_OutputSampleRateOutOfRange = '!osr'
};

CF_ENUM(AudioConverterPropertyID) {
  /// UInt32, read-only: bytes of the smallest amount of input, one packet.
  kAudioConverterPropertyMinimumInputBufferSize = 'mibs',
  /// UInt32, read-only: bytes of the smallest buffer that is certain to hold a packet of output.
  kAudioConverterPropertyMinimumOutputBufferSize = 'mobs',
  /// UInt32, read-only: bytes of the largest possible packet of input.
  kAudioConverterPropertyMaximumInputPacketSize = 'xips',
  /// UInt32, read-only: bytes of the largest possible packet of output.
  kAudioConverterPropertyMaximumOutputPacketSize = 'xops',
  /// UInt32, read-only: on entry a number of bytes of output, on return the bytes of input needed
  /// for them.
  kAudioConverterPropertyCalculateInputBufferSize = 'cibs',
  /// UInt32, read-only: on entry a number of bytes of input, on return the largest number of bytes
  /// of output that they can make.
  kAudioConverterPropertyCalculateOutputBufferSize = 'cobs',
  /// OSType: algorithm of the rate conversion, one of those below. Default Mastering.
  kAudioConverterSampleRateConverterComplexity = 'srca',
  /// UInt32, 0 to 127: quality of the rate conversion. Default is the best.
  kAudioConverterSampleRateConverterQuality = 'srcq',
  /// UInt32: dither for linear PCM rounded to integers, one of the algorithms below. Default 0:
  /// rounds to the nearest.
  kAudioConverterPropertyDithering = 'dith',
  /// UInt32, 1 to 24: bits that dithered samples are rounded to. Default 0: those of the output.
  /// Integers of more than 24 bits are not rounded.
  kAudioConverterPropertyDitherBitDepth = 'dbit',
  /// UInt32, 0 to 127: effort of an encoder. Default medium.
  kAudioConverterCodecQuality = 'cdqu',
  /// UInt32: one of the methods below. Default Normal.
  kAudioConverterPrimeMethod = 'prmm',
  /// AudioConverterPrimeInfo. For an encoder, read-only: frames in its packets before and after the
  /// sound. The frames after it are known at the end of the stream. For a decoder: frames to trim
  /// at the start and end of the sound. Otherwise see the prime methods.
  kAudioConverterPrimeInfo = 'prim',
  /// SInt32 for each output channel: its input channel, or -1 for silence. By default the first
  /// comes from the first, and so on. Further input channels are dropped; further output channels
  /// are silent.
  kAudioConverterChannelMap = 'chmp',
  /// Bytes: magic cookie for the decoder of the input.
  kAudioConverterDecompressionMagicCookie = 'dmgc',
  /// Bytes, read-only: magic cookie for a decoder of the output.
  kAudioConverterCompressionMagicCookie = 'cmgc',
  /// UInt32: target of the encoder in bits per second.
  kAudioConverterEncodeBitRate = 'brat',
  /// Float64: rate of an encoder's output; 0 means the input's.
  kAudioConverterEncodeAdjustableSampleRate = 'ajsr',
  /// AudioChannelLayout of the input. Its size varies.
  kAudioConverterInputChannelLayout = 'icl ',
  /// AudioChannelLayout of the output. Its size varies.
  kAudioConverterOutputChannelLayout = 'ocl ',
  /// AudioValueRange array, read-only: bit rates for the encoder's present rate and channels.
  kAudioConverterApplicableEncodeBitRates = 'aebr',
  /// AudioValueRange array, read-only: all bit rates of the encoder.
  kAudioConverterAvailableEncodeBitRates = 'vebr',
  /// AudioChannelLayoutTag array, read-only: layouts that the encoder accepts, one for each number
  /// of channels.
  kAudioConverterAvailableEncodeChannelLayoutTags = 'aecl',
  /// AudioValueRange array, read-only: sample rates for the encoder's present settings.
  kAudioConverterApplicableEncodeSampleRates = 'aesr',
  /// AudioValueRange array, read-only: all sample rates of the encoder.
  kAudioConverterAvailableEncodeSampleRates = 'vesr',
  /// AudioStreamBasicDescription, read-only: the output format, with all fields set.
  kAudioConverterCurrentOutputStreamDescription = 'acod',
  /// AudioStreamBasicDescription, read-only: the input format, with all fields set.
  kAudioConverterCurrentInputStreamDescription = 'acid',
  /// UInt32: significant bits of the samples for a lossless encoder.
  kAudioConverterPropertyBitDepthHint = 'acbd',
  /// AudioFormatListItem array, read-only: the formats that the encoded output can be decoded to,
  /// best first.
  kAudioConverterPropertyFormatList = 'flst',
  /// UInt32: 1 to mix channels by their layouts where the numbers differ, 0 to drop some. Default
  /// 0.
  kAudioConverterPropertyPerformDownmix = 'dmix',
  /// Float32 for each pair of an input and an output channel: the gain from the one to the other.
  /// All outputs of the first input come first.
  kAudioConverterPropertyChannelMixMap = 'mmap',
  /// UInt32, read-only, always 1: a converter can continue after an interruption of the program.
  kAudioConverterPropertyCanResumeFromInterruption = 'crfi'
};

/// Values of the two qualities.
CF_ENUM(UInt32) {
  kAudioConverterQuality_Max = 0x7F,
  kAudioConverterQuality_High = 0x60,
  kAudioConverterQuality_Medium = 0x40,
  kAudioConverterQuality_Low = 0x20,
  kAudioConverterQuality_Min = 0
};

/// Algorithms of the rate conversion.
CF_ENUM(UInt32) {
  /// The fastest: interpolation between a few samples, regardless of the quality.
  kAudioConverterSampleRateConverterComplexity_Linear = 'line',
  /// A filter whose length depends on the quality, but never the longest.
  kAudioConverterSampleRateConverterComplexity_Normal = 'norm',
  /// A filter whose length depends on the quality.
  kAudioConverterSampleRateConverterComplexity_Mastering = 'bats',
  /// The same with minimum phase: no ringing before a transient.
  kAudioConverterSampleRateConverterComplexity_MinimumPhase = 'minp'
};

/// Dither algorithms.
CF_ENUM(UInt32) {
  /// Triangular noise, up to one step to each side.
  kDitherAlgorithm_TPDF = 1,
  /// The same, shaped towards high frequencies.
  kDitherAlgorithm_NoiseShaping = 2
};

/// Assumptions of a rate converter about the frames before and after the stream.
CF_ENUM(UInt32) {
  /// The first leadingFrames frames of the stream only prime the filter; the sound begins after
  /// them.
  kConverterPrimeMethod_Pre = 0,
  /// Silence precedes the stream. The first output frame corresponds to the first input frame.
  kConverterPrimeMethod_Normal = 1,
  /// trailingFrames frames of silence are inserted before the stream, as its latency.
  kConverterPrimeMethod_None = 2
};

/// Numbers of frames before and after a stream's sound.
struct AudioConverterPrimeInfo {
  UInt32 leadingFrames;
  UInt32 trailingFrames;
};
typedef struct AudioConverterPrimeInfo AudioConverterPrimeInfo;

/// Callback that supplies a converter's input, on the thread that converts.
///
/// On entry, `*ioNumberDataPackets` is the number of packets wanted. The callback sets it to the
/// number supplied, which may be larger or smaller; 0 with noErr ends the stream. It points the
/// buffers of `ioData` at the data, which must not change until the next call. Packets that vary in
/// size need descriptions in `*outDataPacketDescription`, if that pointer is not NULL.
///
/// The converting function returns any other result to its caller, with the packets converted so
/// far. The stream continues with the next call.
typedef OSStatus (*AudioConverterComplexInputDataProc)(
    AudioConverterRef inAudioConverter, UInt32 *ioNumberDataPackets, AudioBufferList *ioData,
    AudioStreamPacketDescription *_Nullable *_Nullable outDataPacketDescription,
    void *_Nullable inUserData);

/// Creates a converter. Fields of a description may be 0 if the others or the codec determine them.
extern OSStatus AudioConverterNew(const AudioStreamBasicDescription *inSourceFormat,
                                  const AudioStreamBasicDescription *inDestinationFormat,
                                  AudioConverterRef _Nullable *_Nonnull outAudioConverter);

/// Creates a converter with one of the given codecs, which are all software here.
extern OSStatus AudioConverterNewSpecific(const AudioStreamBasicDescription *inSourceFormat,
                                          const AudioStreamBasicDescription *inDestinationFormat,
                                          UInt32 inNumberClassDescriptions,
                                          const AudioClassDescription *inClassDescriptions,
                                          AudioConverterRef _Nullable *_Nonnull outAudioConverter);

/// Disposes of a converter.
extern OSStatus AudioConverterDispose(AudioConverterRef inAudioConverter);

/// Discards the stream: the frames held back and the rest of the supplied input. Properties stay.
extern OSStatus AudioConverterReset(AudioConverterRef inAudioConverter);

/// Returns the size of a property's value in bytes, and whether it can be set.
extern OSStatus AudioConverterGetPropertyInfo(AudioConverterRef inAudioConverter,
                                              AudioConverterPropertyID inPropertyID,
                                              UInt32 *_Nullable outSize,
                                              Boolean *_Nullable outWritable);

/// Copies a property's value to `outPropertyData`, which has room for `*ioPropertyDataSize` bytes.
/// `*ioPropertyDataSize` receives the actual size.
extern OSStatus AudioConverterGetProperty(AudioConverterRef inAudioConverter,
                                          AudioConverterPropertyID inPropertyID,
                                          UInt32 *ioPropertyDataSize, void *outPropertyData);

/// Sets a property. If a codec or the rate conversion depends on it, the present stream restarts.
/// Channel maps take effect with the next frame.
extern OSStatus AudioConverterSetProperty(AudioConverterRef inAudioConverter,
                                          AudioConverterPropertyID inPropertyID,
                                          UInt32 inPropertyDataSize, const void *inPropertyData);

/// Converts linear PCM to linear PCM of the same rate. Input and output are interleaved.
extern OSStatus AudioConverterConvertBuffer(AudioConverterRef inAudioConverter,
                                            UInt32 inInputDataSize, const void *inInputData,
                                            UInt32 *ioOutputDataSize, void *outOutputData);

/// Converts between all formats. Calls `inInputDataProc` for input until `outOutputData` holds
/// `*ioOutputDataPacketSize` packets, has no room for another, or the stream has ended.
///
/// `*ioOutputDataPacketSize` receives the number of packets. 0 with noErr is the end of the stream;
/// AudioConverterReset begins another. `outPacketDescription` must have room for that many packets.
extern OSStatus
AudioConverterFillComplexBuffer(AudioConverterRef inAudioConverter,
                                AudioConverterComplexInputDataProc inInputDataProc,
                                void *_Nullable inInputDataProcUserData,
                                UInt32 *ioOutputDataPacketSize, AudioBufferList *outOutputData,
                                AudioStreamPacketDescription *_Nullable outPacketDescription);

/// Callback that supplies the input of AudioConverterFillBuffer: it points `*outData` at the data, which must not change
/// until the next call, and sets `*ioDataSize` to their bytes. 0 bytes with noErr end the stream.
typedef OSStatus (*AudioConverterInputDataProc)(AudioConverterRef inAudioConverter,
                                                UInt32 *ioDataSize,
                                                void *_Nullable *_Nonnull outData,
                                                void *_Nullable inUserData);

/// The older form of AudioConverterFillComplexBuffer, for formats of one buffer whose packets have a constant size;
/// kAudioConverterErr_RequiresPacketDescriptionsError for others.
///
/// - ioOutputDataSize: the size of `outOutputData` in bytes; receives what was converted.
extern OSStatus AudioConverterFillBuffer(AudioConverterRef inAudioConverter,
                                         AudioConverterInputDataProc inInputDataProc,
                                         void *_Nullable inInputDataProcUserData,
                                         UInt32 *ioOutputDataSize, void *outOutputData);

/// Converts frames of linear PCM to linear PCM of the same rate, interleaved or not.
extern OSStatus AudioConverterConvertComplexBuffer(AudioConverterRef inAudioConverter,
                                                   UInt32 inNumberPCMFrames,
                                                   const AudioBufferList *inInputData,
                                                   AudioBufferList *outOutputData);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
