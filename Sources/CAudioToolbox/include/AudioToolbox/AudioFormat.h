// Result codes about audio formats.
#ifndef CUEJACK_AUDIOFORMAT_H
#define CUEJACK_AUDIOFORMAT_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN

CF_ENUM(OSStatus) {
  /// The format is not one that this library can play.
  kAudioFormatUnsupportedDataFormatError = 'fmt?'
};

/// One of the ways in which a sound can be decoded.
struct AudioFormatListItem {
  AudioStreamBasicDescription mASBD;
  AudioChannelLayoutTag mChannelLayoutTag;
};
typedef struct AudioFormatListItem AudioFormatListItem;

CUE_HEADER_END

#endif
