// Constants that identify a codec in an AudioClassDescription, and the error of a codec.
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

CUE_HEADER_END

#endif
