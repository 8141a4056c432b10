// What names a codec in an AudioClassDescription, and what a codec complains of.
#ifndef CUEJACK_AUDIOCODEC_H
#define CUEJACK_AUDIOCODEC_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN

CF_ENUM(OSStatus) {
  /// A packet is not one of the codec's; the next may be.
  kAudioCodecBadDataError = 'bada'
};

/// Values of mType.
CF_ENUM(UInt32) {
  kAudioDecoderComponentType = 'adec',
  kAudioEncoderComponentType = 'aenc'
};

/// Values of mManufacturer. There are no codecs in hardware here.
CF_ENUM(UInt32) {
  kAppleSoftwareAudioCodecManufacturer = 'appl',
  kAppleHardwareAudioCodecManufacturer = 'aphw'
};

CUE_HEADER_END

#endif
