// Result codes about audio formats.
#ifndef CUEJACK_AUDIOFORMAT_H
#define CUEJACK_AUDIOFORMAT_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN

CF_ENUM(OSStatus) {
  /// The format is not one that this library can play.
  kAudioFormatUnsupportedDataFormatError = 'fmt?'
};

CUE_HEADER_END

#endif
