// What names a codec in an AudioClassDescription.
#ifndef CUEJACK_AUDIOCODEC_H
#define CUEJACK_AUDIOCODEC_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN

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
