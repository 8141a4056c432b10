// Constants that identify a codec in an AudioClassDescription, the error of a codec, and the properties of encoders that
// AudioConverterSetProperty hands on.
#ifndef CUEJACK_AUDIOCODEC_H
#define CUEJACK_AUDIOCODEC_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN

CF_ENUM(OSStatus) {
  /// A packet is not valid for the codec; the next one may be.
  kAudioCodecBadDataError = 'bada'
};

/// Values of mType.
CF_ENUM(UInt32) {
  kAudioDecoderComponentType = 'adec',
  kAudioEncoderComponentType = 'aenc'
};

/// Values of mManufacturer. This library has no hardware codecs.
CF_ENUM(UInt32) {
  kAppleSoftwareAudioCodecManufacturer = 'appl',
  kAppleHardwareAudioCodecManufacturer = 'aphw'
};

/// Properties of an AudioConverter that encodes.
CF_ENUM(UInt32) {
  /// UInt32: one of the modes below. AAC has LongTermAverage, its default, and Variable; others are refused with
  /// kAudioConverterErr_UnspecifiedError. Lossless codecs have Variable only, and cannot be set.
  kAudioCodecPropertyBitRateControlMode = 'acbf',
  /// UInt32, 0 to 127: the quality of AAC in the mode Variable. Default 64.
  kAudioCodecPropertySoundQualityForVBR = 'vbrq',
  /// No encoder here limits its packets: kAudioConverterErr_PropertyNotSupported.
  kAudioCodecPropertyPacketSizeLimitForVBR = 'pakl'
};

/// Values of kAudioCodecPropertyBitRateControlMode.
CF_ENUM(UInt32) {
  /// Each packet has the same number of bits.
  kAudioCodecBitRateControlMode_Constant = 0,
  /// The target is held on average.
  kAudioCodecBitRateControlMode_LongTermAverage = 1,
  /// The number of bits varies within limits.
  kAudioCodecBitRateControlMode_VariableConstrained = 2,
  /// The number of bits depends on the sound.
  kAudioCodecBitRateControlMode_Variable = 3
};

CUE_HEADER_END

#endif
