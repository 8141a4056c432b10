// What a queue's converter tells, through the property functions of AudioQueue.h.
#ifndef CUEJACK_AUDIOCONVERTER_H
#define CUEJACK_AUDIOCONVERTER_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

typedef UInt32 AudioConverterPropertyID;

CF_ENUM(AudioConverterPropertyID) {
  /// UInt32, read-only: the most bytes that a packet of the output can have.
  kAudioConverterPropertyMaximumOutputPacketSize = 'xops',
  /// Bytes that a decoder of the output needs first.
  kAudioConverterCompressionMagicCookie = 'cmgc',
  /// AudioStreamBasicDescription, read-only: the format that goes in.
  kAudioConverterCurrentInputStreamDescription = 'acid',
  /// AudioStreamBasicDescription, read-only: the format that comes out.
  kAudioConverterCurrentOutputStreamDescription = 'acod'
};

CF_EXTERN_C_END
CUE_HEADER_END

#endif
