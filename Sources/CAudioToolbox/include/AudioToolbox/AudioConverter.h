// Converters between formats: linear PCM in every layout, other rates and channels, and packets of
// the codecs that AudioFormat.h lists.
//
// A converter is used by one thread at a time. Nothing here may be called in a real-time thread.
#ifndef CUEJACK_AUDIOCONVERTER_H
#define CUEJACK_AUDIOCONVERTER_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// A converter. Only the functions below know what is behind it.
typedef struct OpaqueAudioConverter *AudioConverterRef;
typedef UInt32 AudioConverterPropertyID;

CF_ENUM(OSStatus) {
  /// There is no converting between these formats, or no codec for one of them.
  kAudioConverterErr_FormatNotSupported = 'fmt?',
  /// This converter cannot do that.
  kAudioConverterErr_OperationNotSupported = 0x6F703F3F,
  /// The converter has no such property, or it cannot be set.
  kAudioConverterErr_PropertyNotSupported = 'prop',
  /// The input is not a whole number of frames or packets.
  kAudioConverterErr_InvalidInputSize = 'insz',
  /// The memory for the output is too small.
  kAudioConverterErr_InvalidOutputSize = 'otsz',
  /// Something failed that no other code names; the log says what.
  kAudioConverterErr_UnspecifiedError = 'what',
  /// The size given is not that of the property's value.
  kAudioConverterErr_BadPropertySizeError = '!siz',
  /// Packets that vary in size came without their descriptions.
  kAudioConverterErr_RequiresPacketDescriptionsError = '!pkd',
  /// The rate of the input is not one that can be converted.
  kAudioConverterErr_InputSampleRateOutOfRange = '!isr',
  /// The rate of the output is not one that can be converted to.
  kAudioConverterErr_OutputSampleRateOutOfRange = '!osr'
};

CF_ENUM(AudioConverterPropertyID) {
  /// UInt32, read-only: bytes of the smallest amount of input, one packet.
  kAudioConverterPropertyMinimumInputBufferSize = 'mibs',
  /// UInt32, read-only: bytes of the smallest buffer that a packet of output is sure to fit into.
  kAudioConverterPropertyMinimumOutputBufferSize = 'mobs',
  /// UInt32, read-only: the most bytes that a packet of the input can have.
  kAudioConverterPropertyMaximumInputPacketSize = 'xips',
  /// UInt32, read-only: the most bytes that a packet of the output can have.
  kAudioConverterPropertyMaximumOutputPacketSize = 'xops',
  /// UInt32, read-only: holds a number of bytes of output on the way in, and on the way out the
  /// bytes of input that make as many.
  kAudioConverterPropertyCalculateInputBufferSize = 'cibs',
  /// UInt32, read-only: holds a number of bytes of input on the way in, and on the way out the
  /// bytes of output that they can make at the most.
  kAudioConverterPropertyCalculateOutputBufferSize = 'cobs',
  /// OSType: how the rate is converted, one of the kinds below. Begins with Mastering.
  kAudioConverterSampleRateConverterComplexity = 'srca',
  /// UInt32, 0 to 127: how well the rate is converted. Begins with the best.
  kAudioConverterSampleRateConverterQuality = 'srcq',
  /// UInt32: how linear PCM is rounded to integers, one of the algorithms below, or 0 for the nearest, as
  /// it begins.
  kAudioConverterPropertyDithering = 'dith',
  /// UInt32, 1 to 24: the bits that it is rounded to with dithering; 0, as it begins, for those of the
  /// output. Integers of more than 24 bits are not rounded.
  kAudioConverterPropertyDitherBitDepth = 'dbit',
  /// UInt32, 0 to 127: how much work an encoder takes. Begins with medium.
  kAudioConverterCodecQuality = 'cdqu',
  /// UInt32: one of the methods below. Begins with Normal.
  kAudioConverterPrimeMethod = 'prmm',
  /// AudioConverterPrimeInfo. Of an encoder, read-only: the frames that its packets hold before and
  /// after the sound; the latter are known at the end of the stream. Of a decoder: as many frames
  /// are cut off the sound's start and end. Else: see the prime methods.
  kAudioConverterPrimeInfo = 'prim',
  /// SInt32 for each channel of the output: the channel of the input that goes there, or -1 for
  /// silence. Begins with the first to the first, and so on; channels that remain are dropped, or
  /// silent.
  kAudioConverterChannelMap = 'chmp',
  /// Bytes that the decoder of the input needs.
  kAudioConverterDecompressionMagicCookie = 'dmgc',
  /// Bytes, read-only: what a decoder of the output needs first.
  kAudioConverterCompressionMagicCookie = 'cmgc',
  /// UInt32: bits per second that the encoder aims at.
  kAudioConverterEncodeBitRate = 'brat',
  /// Float64: the rate of the output, for an encoder: 0 is the input's.
  kAudioConverterEncodeAdjustableSampleRate = 'ajsr',
  /// AudioChannelLayout of the input. Its size varies.
  kAudioConverterInputChannelLayout = 'icl ',
  /// AudioChannelLayout of the output. Its size varies.
  kAudioConverterOutputChannelLayout = 'ocl ',
  /// AudioValueRange array, read-only: bit rates that suit the encoder's rate and channels.
  kAudioConverterApplicableEncodeBitRates = 'aebr',
  /// AudioValueRange array, read-only: all bit rates of the encoder.
  kAudioConverterAvailableEncodeBitRates = 'vebr',
  /// AudioChannelLayoutTag array, read-only: layouts that the encoder takes, one for each number of
  /// channels.
  kAudioConverterAvailableEncodeChannelLayoutTags = 'aecl',
  /// AudioValueRange array, read-only: rates that suit the encoder as it is set.
  kAudioConverterApplicableEncodeSampleRates = 'aesr',
  /// AudioValueRange array, read-only: all rates of the encoder.
  kAudioConverterAvailableEncodeSampleRates = 'vesr',
  /// AudioStreamBasicDescription, read-only: the format that comes out, all fields filled in.
  kAudioConverterCurrentOutputStreamDescription = 'acod',
  /// AudioStreamBasicDescription, read-only: the format that goes in, all fields filled in.
  kAudioConverterCurrentInputStreamDescription = 'acid',
  /// UInt32: significant bits of the samples that a lossless encoder is given.
  kAudioConverterPropertyBitDepthHint = 'acbd',
  /// AudioFormatListItem array, read-only: the formats that the encoded output can be decoded to,
  /// the best first.
  kAudioConverterPropertyFormatList = 'flst',
  /// UInt32: 1 to mix channels by their layouts where their numbers differ, rather than to drop
  /// some. Begins with 0.
  kAudioConverterPropertyPerformDownmix = 'dmix',
  /// Float32 for each pair of an input channel and an output channel, all outputs of the first input
  /// first: how much of the one goes into the other.
  kAudioConverterPropertyChannelMixMap = 'mmap',
  /// UInt32, read-only: 1: a converter goes on after whatever interrupted the program.
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

/// Ways of converting the rate.
CF_ENUM(UInt32) {
  /// The quickest: by interpolation between a few samples, whatever the quality.
  kAudioConverterSampleRateConverterComplexity_Linear = 'line',
  /// A filter as long as the quality asks for, but never the longest.
  kAudioConverterSampleRateConverterComplexity_Normal = 'norm',
  /// A filter as long as the quality asks for.
  kAudioConverterSampleRateConverterComplexity_Mastering = 'bats',
  /// The same without ringing before the sound.
  kAudioConverterSampleRateConverterComplexity_MinimumPhase = 'minp'
};

/// Kinds of dither.
CF_ENUM(UInt32) {
  /// Noise with a triangular distribution, up to a step to each side.
  kDitherAlgorithm_TPDF = 1,
  /// The same, moved to high frequencies.
  kDitherAlgorithm_NoiseShaping = 2
};

/// What a converter of rates takes for the frames before and after the stream.
CF_ENUM(UInt32) {
  /// The stream's first leadingFrames frames come before its sound, and prepare for it only.
  kConverterPrimeMethod_Pre = 0,
  /// Silence comes before the stream; the first frame out stands for the first frame in.
  kConverterPrimeMethod_Normal = 1,
  /// trailingFrames frames of silence are put before the stream, as its latency.
  kConverterPrimeMethod_None = 2
};

/// Frames before and after a stream's sound.
struct AudioConverterPrimeInfo {
  UInt32 leadingFrames;
  UInt32 trailingFrames;
};
typedef struct AudioConverterPrimeInfo AudioConverterPrimeInfo;

/// Gives a converter its input. `*ioNumberDataPackets` comes as the packets that it wants, and is
/// to be set to those that are given, more or fewer; 0 with noErr ends the stream. The buffers of
/// `ioData` are to be pointed at the data, which must stay as it is until the next call. Packets that
/// vary in size need descriptions: `*outDataPacketDescription`, if the pointer is not NULL. Another
/// result than noErr is passed on to the caller, along with what was converted; the stream goes on
/// with the next call.
typedef OSStatus (*AudioConverterComplexInputDataProc)(
    AudioConverterRef inAudioConverter, UInt32 *ioNumberDataPackets, AudioBufferList *ioData,
    AudioStreamPacketDescription *_Nullable *_Nullable outDataPacketDescription,
    void *_Nullable inUserData);

/// Makes a converter. Fields of a description that follow from the others, or from the codec, may be
/// 0.
extern OSStatus AudioConverterNew(const AudioStreamBasicDescription *inSourceFormat,
                                  const AudioStreamBasicDescription *inDestinationFormat,
                                  AudioConverterRef _Nullable *_Nonnull outAudioConverter);

/// The same with one of the codecs that are given, which all are software here.
extern OSStatus AudioConverterNewSpecific(const AudioStreamBasicDescription *inSourceFormat,
                                          const AudioStreamBasicDescription *inDestinationFormat,
                                          UInt32 inNumberClassDescriptions,
                                          const AudioClassDescription *inClassDescriptions,
                                          AudioConverterRef _Nullable *_Nonnull outAudioConverter);

extern OSStatus AudioConverterDispose(AudioConverterRef inAudioConverter);

/// Forgets the stream: what was held back of it, and the input that was given. Properties stay.
extern OSStatus AudioConverterReset(AudioConverterRef inAudioConverter);

/// Tells the size of a property's value in bytes, and whether it can be set.
extern OSStatus AudioConverterGetPropertyInfo(AudioConverterRef inAudioConverter,
                                              AudioConverterPropertyID inPropertyID,
                                              UInt32 *_Nullable outSize,
                                              Boolean *_Nullable outWritable);

/// Copies a property's value into `outPropertyData`, which has room for `*ioPropertyDataSize` bytes;
/// the true size comes back.
extern OSStatus AudioConverterGetProperty(AudioConverterRef inAudioConverter,
                                          AudioConverterPropertyID inPropertyID,
                                          UInt32 *ioPropertyDataSize, void *outPropertyData);

/// Sets a property. What a codec or the conversion of the rate depends on begins the stream anew, if
/// one is under way; channel maps take effect with the next frame.
extern OSStatus AudioConverterSetProperty(AudioConverterRef inAudioConverter,
                                          AudioConverterPropertyID inPropertyID,
                                          UInt32 inPropertyDataSize, const void *inPropertyData);

/// Converts linear PCM to linear PCM of the same rate, both interleaved.
extern OSStatus AudioConverterConvertBuffer(AudioConverterRef inAudioConverter,
                                            UInt32 inInputDataSize, const void *inInputData,
                                            UInt32 *ioOutputDataSize, void *outOutputData);

/// Converts everything: calls `inInputDataProc` for input until `outOutputData` holds
/// `*ioOutputDataPacketSize` packets, no further one fits, or the stream has ended; the packets
/// that it holds come back. 0 packets, with noErr, is the end of the stream: AudioConverterReset
/// begins another. `outPacketDescription` has room for as many packets.
extern OSStatus
AudioConverterFillComplexBuffer(AudioConverterRef inAudioConverter,
                                AudioConverterComplexInputDataProc inInputDataProc,
                                void *_Nullable inInputDataProcUserData,
                                UInt32 *ioOutputDataPacketSize, AudioBufferList *outOutputData,
                                AudioStreamPacketDescription *_Nullable outPacketDescription);

/// Converts frames of linear PCM to linear PCM of the same rate, interleaved or not.
extern OSStatus AudioConverterConvertComplexBuffer(AudioConverterRef inAudioConverter,
                                                   UInt32 inNumberPCMFrames,
                                                   const AudioBufferList *inInputData,
                                                   AudioBufferList *outOutputData);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
