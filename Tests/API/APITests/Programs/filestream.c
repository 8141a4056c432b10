// Audio File Stream Services: a WAVE file made by this program, parsed in pieces of all sizes.
#include "check.h"

#define FRAMES 1000
#define HEAD   44

static UInt8 file[HEAD + FRAMES * 4 + 8];

static void put(size_t at, UInt32 value, int bytes) {
  for (int i = 0; i < bytes; i++)
    file[at + (size_t)i] = (UInt8)(value >> 8 * i);
}

static void make_file(void) {
  memcpy(file, "RIFF....WAVEfmt ", 16);
  put(4, sizeof file - 8, 4);
  put(16, 16, 4);
  put(20, 1, 2);
  put(22, 2, 2);
  put(24, RATE, 4);
  put(28, RATE * 4, 4);
  put(32, 4, 2);
  put(34, 16, 2);
  memcpy(file + 36, "data", 4);
  put(40, FRAMES * 4, 4);
  for (UInt32 i = 0; i < FRAMES * 2; i++)
    put(HEAD + i * 2, i * 31, 2);
  // The chunk after the audio data is not parsed as packets.
  memcpy(file + HEAD + FRAMES * 4, "LIST\0\0\0\0", 8);
}

typedef struct {
  AudioFileStreamID stream;
  AudioFileStreamPropertyID told[32];
  int tellings;
  UInt8 sound[FRAMES * 4];
  size_t bytes, packets;
  bool closes, seeks;
} Heard;

static void heard_property(void *data, AudioFileStreamID stream, AudioFileStreamPropertyID id,
                           AudioFileStreamPropertyFlags *flags) {
  Heard *heard = data;
  CHECK(stream == heard->stream && heard->tellings < 32 && heard->packets == 0);
  CHECK(*flags == kAudioFileStreamPropertyFlag_PropertyIsCached);
  *flags |= kAudioFileStreamPropertyFlag_CacheProperty;
  heard->told[heard->tellings++] = id;
  // A property listener can read the value.
  UInt32 size = 0;
  Boolean writable = 1;
  WORKS(AudioFileStreamGetPropertyInfo(stream, id, &size, &writable));
  CHECK(size > 0 && !writable);
  UInt8 value[500];
  CHECK(size <= sizeof value);
  WORKS(AudioFileStreamGetProperty(stream, id, &size, value));
  // The parser does not accept data inside a callback.
  GIVES(AudioFileStreamParseBytes(stream, 4, file, 0), kAudioFileStreamError_IllegalOperation);
}

static void heard_packets(void *data, UInt32 bytes, UInt32 packets, const void *sound,
                          AudioStreamPacketDescription *descriptions) {
  Heard *heard = data;
  CHECK(bytes == packets * 4 && descriptions == NULL);
  CHECK(heard->bytes + bytes <= sizeof heard->sound);
  memcpy(heard->sound + heard->bytes, sound, bytes);
  heard->bytes += bytes;
  heard->packets += packets;
  if (heard->closes) {
    heard->closes = false;
    WORKS(AudioFileStreamClose(heard->stream));
  }
  if (heard->seeks) {
    heard->seeks = false;
    SInt64 offset;
    AudioFileStreamSeekFlags flags;
    WORKS(AudioFileStreamSeek(heard->stream, 500, &offset, &flags));
  }
}

static void open_stream(Heard *heard, AudioFileTypeID hint) {
  memset(heard, 0, sizeof *heard);
  WORKS(AudioFileStreamOpen(heard, heard_property, heard_packets, hint, &heard->stream));
  CHECK(heard->stream != NULL);
}

static void feed(Heard *heard, size_t from, size_t to, size_t piece,
                 AudioFileStreamParseFlags flags) {
  for (; from < to; from += piece, flags = 0) {
    size_t count = to - from < piece ? to - from : piece;
    // A separate copy, so that a sanitizer detects reads outside it.
    UInt8 *copy = malloc(count);
    memcpy(copy, file + from, count);
    WORKS(AudioFileStreamParseBytes(heard->stream, (UInt32)count, copy, flags));
    free(copy);
  }
}

static UInt64 number(AudioFileStreamID stream, AudioFileStreamPropertyID id, UInt32 size) {
  UInt64 value = 0;
  UInt32 room = sizeof value;
  WORKS(AudioFileStreamGetProperty(stream, id, &room, &value));
  CHECK(room == size);
  return value;
}

static void pieces(void) {
  Heard heard;
  for (size_t piece = 1; piece <= sizeof file; piece = piece * 3 + 1) {
    open_stream(&heard, 0);
    feed(&heard, 0, sizeof file, piece, 0);
    EQUAL(heard.packets, FRAMES);
    CHECK(memcmp(heard.sound, file + HEAD, FRAMES * 4) == 0);
    CHECK(heard.tellings > 8 && heard.told[0] == kAudioFileStreamProperty_FileFormat);
    CHECK(heard.told[1] == kAudioFileStreamProperty_DataFormat);
    CHECK(heard.told[heard.tellings - 1] == kAudioFileStreamProperty_ReadyToProducePackets);
    WORKS(AudioFileStreamClose(heard.stream));
  }
  passed("pieces of all sizes");
}

static void properties(void) {
  Heard heard;
  open_stream(&heard, kAudioFileWAVEType);
  EQUAL(number(heard.stream, kAudioFileStreamProperty_ReadyToProducePackets, 4), 0);
  UInt32 size = 500;
  UInt8 memory[500];
  GIVES(
      AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_DataFormat, &size, memory),
      kAudioFileStreamError_DataUnavailable);
  feed(&heard, 0, HEAD + 6, 10, 0);
  EQUAL(heard.packets, 1);
  EQUAL(number(heard.stream, kAudioFileStreamProperty_ReadyToProducePackets, 4), 1);
  EQUAL(number(heard.stream, kAudioFileStreamProperty_FileFormat, 4), kAudioFileWAVEType);
  EQUAL(number(heard.stream, kAudioFileStreamProperty_AudioDataByteCount, 8), FRAMES * 4);
  EQUAL(number(heard.stream, kAudioFileStreamProperty_AudioDataPacketCount, 8), FRAMES);
  EQUAL(number(heard.stream, kAudioFileStreamProperty_DataOffset, 8), HEAD);
  EQUAL(number(heard.stream, kAudioFileStreamProperty_MaximumPacketSize, 4), 4);
  EQUAL(number(heard.stream, kAudioFileStreamProperty_PacketSizeUpperBound, 4), 4);
  EQUAL(number(heard.stream, kAudioFileStreamProperty_BitRate, 4), RATE * 32);
  AudioStreamBasicDescription format;
  size = sizeof format;
  WORKS(AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_DataFormat, &size,
                                   &format));
  CHECK(format.mFormatID == kAudioFormatLinearPCM && format.mSampleRate == RATE);
  CHECK(format.mChannelsPerFrame == 2 && format.mBytesPerPacket == 4 &&
        format.mBitsPerChannel == 16);
  AudioFormatListItem item;
  size = sizeof item;
  WORKS(
      AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_FormatList, &size, &item));
  CHECK(memcmp(&item.mASBD, &format, sizeof format) == 0 && size == sizeof item);
  CHECK(item.mChannelLayoutTag == kAudioChannelLayoutTag_Stereo);
  double average = 0;
  size = sizeof average;
  WORKS(AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_AverageBytesPerPacket,
                                   &size, &average));
  EQUAL(average, 4);

  AudioFramePacketTranslation frame = {0, 123, 0};
  size = sizeof frame;
  WORKS(AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_PacketToFrame, &size,
                                   &frame));
  EQUAL(frame.mFrame, 123);
  frame.mFrame = 77;
  WORKS(AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_FrameToPacket, &size,
                                   &frame));
  CHECK(frame.mPacket == 77 && frame.mFrameOffsetInPacket == 0);
  AudioBytePacketTranslation byte = {0, 123, 0, 9};
  size = sizeof byte;
  WORKS(AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_PacketToByte, &size,
                                   &byte));
  CHECK(byte.mByte == 492 && byte.mFlags == 0);
  byte.mByte = 403;
  WORKS(AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_ByteToPacket, &size,
                                   &byte));
  CHECK(byte.mPacket == 100 && byte.mByteOffsetInPacket == 3 && byte.mFlags == 0);

  // An overstated size does no harm: only the argument is read.
  byte.mByte = 407;
  size = UINT32_MAX;
  WORKS(AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_ByteToPacket, &size,
                                   &byte));
  CHECK(byte.mPacket == 101 && byte.mByteOffsetInPacket == 3 && size == sizeof byte);
  for (size = 0; size < sizeof byte; size += sizeof byte - 1) {
    UInt32 room = size;
    GIVES(AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_ByteToPacket, &room,
                                     &byte),
          kAudioFileStreamError_BadPropertySize);
  }
  EQUAL(number(heard.stream, kAudioFileStreamProperty_RestrictsRandomAccess, 4), 0);

  size = 3;
  GIVES(
      AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_FileFormat, &size, memory),
      kAudioFileStreamError_BadPropertySize);
  size = 4;
  GIVES(AudioFileStreamGetProperty(heard.stream, 'nono', &size, memory),
        kAudioFileStreamError_UnsupportedProperty);
  GIVES(AudioFileStreamGetProperty(heard.stream, kAudioFileStreamProperty_MagicCookieData, &size,
                                   memory),
        kAudioFileStreamError_ValueUnknown);
  GIVES(AudioFileStreamSetProperty(heard.stream, kAudioFileStreamProperty_DataFormat, sizeof format,
                                   &format),
        kAudioFileStreamError_UnsupportedProperty);
  WORKS(AudioFileStreamClose(heard.stream));
  passed("properties");
}

static void seeking(void) {
  Heard heard;
  SInt64 offset = -1;
  AudioFileStreamSeekFlags flags = 9;
  open_stream(&heard, 0);
  GIVES(AudioFileStreamSeek(heard.stream, 0, &offset, &flags),
        kAudioFileStreamError_DataUnavailable);
  feed(&heard, 0, HEAD + 402, 7, 0);
  EQUAL(heard.packets, 100);
  WORKS(AudioFileStreamSeek(heard.stream, 900, &offset, &flags));
  CHECK(offset == 3600 && flags == 0);
  feed(&heard, HEAD + 3600, sizeof file, 50, kAudioFileStreamParseFlag_Discontinuity);
  EQUAL(heard.packets, 200);
  CHECK(memcmp(heard.sound + 400, file + HEAD + 3600, 400) == 0);
  GIVES(AudioFileStreamSeek(heard.stream, FRAMES + 1, &offset, &flags),
        kAudioFileStreamError_InvalidPacketOffset);
  GIVES(AudioFileStreamSeek(heard.stream, -1, &offset, &flags),
        kAudioFileStreamError_InvalidPacketOffset);
  WORKS(AudioFileStreamClose(heard.stream));

  // A gap without a seek drops half a packet.
  open_stream(&heard, 0);
  feed(&heard, 0, HEAD + 6, 50, 0);
  feed(&heard, HEAD + 400, HEAD + 800, 50, kAudioFileStreamParseFlag_Discontinuity);
  EQUAL(heard.packets, 101);
  CHECK(memcmp(heard.sound + 4, file + HEAD + 400, 400) == 0);
  WORKS(AudioFileStreamClose(heard.stream));

  // Inside a callback: the rest of the piece is not parsed.
  open_stream(&heard, 0);
  heard.seeks = true;
  feed(&heard, 0, HEAD + 40, HEAD + 40, 0);
  feed(&heard, HEAD + 2000, sizeof file, 1000, 0);
  EQUAL(heard.packets, 510);
  CHECK(memcmp(heard.sound + 40, file + HEAD + 2000, 2000) == 0);
  WORKS(AudioFileStreamClose(heard.stream));
  passed("seeking");
}

static void mistakes(void) {
  Heard heard;
  AudioFileStreamID stream = (AudioFileStreamID)16;
  AudioFileStream_PropertyListenerProc no_listener = NULL;
  GIVES(AudioFileStreamOpen(NULL, no_listener, heard_packets, 0, &stream), kAudio_ParamError);
  CHECK(stream == NULL);
  GIVES(AudioFileStreamParseBytes(stream, 4, file, 0), kAudio_ParamError);
  GIVES(AudioFileStreamClose((AudioFileStreamID)0x12345), kAudio_ParamError);

  open_stream(&heard, 0);
  GIVES(AudioFileStreamParseBytes(heard.stream, 4, NULL, 0), kAudio_ParamError);
  WORKS(AudioFileStreamParseBytes(heard.stream, 0, NULL, 0));
  heard.closes = true;
  WORKS(AudioFileStreamParseBytes(heard.stream, sizeof file, file, 0));
  CHECK(heard.packets > 0 && !heard.closes);
  GIVES(AudioFileStreamParseBytes(heard.stream, 4, file, 0), kAudio_ParamError);

  // Endless garbage.
  open_stream(&heard, kAudioFileMP3Type);
  OSStatus status = noErr;
  for (int i = 0; i < 100 && status == noErr; i++)
    status = AudioFileStreamParseBytes(heard.stream, sizeof file - 1, file + 1, 0);
  CHECK(status == kAudioFileStreamError_UnsupportedFileType);
  GIVES(AudioFileStreamParseBytes(heard.stream, 4, file, 0),
        kAudioFileStreamError_UnsupportedFileType);
  WORKS(AudioFileStreamClose(heard.stream));

  // Audio data before its format, truncated audio data, and an unknown encoding.
  UInt8 copy[sizeof file];
  memcpy(copy, file, sizeof file);
  memcpy(copy + 12, "JUNK", 4);
  open_stream(&heard, 0);
  GIVES(AudioFileStreamParseBytes(heard.stream, sizeof copy, copy, 0),
        kAudioFileStreamError_NotOptimized);
  WORKS(AudioFileStreamClose(heard.stream));
  memcpy(copy, file, sizeof file);
  copy[16] = 8;
  open_stream(&heard, 0);
  GIVES(AudioFileStreamParseBytes(heard.stream, sizeof copy, copy, 0),
        kAudioFileStreamError_InvalidFile);
  WORKS(AudioFileStreamClose(heard.stream));
  static const UInt8 unknown[64] = "caff\0\1\0\0desc\0\0\0\0\0\0\0\40@\xe7p\0\0\0\0\0nono"
                                   "\0\0\0\0\0\0\0\4\0\0\0\1\0\0\0\2\0\0\0\20"
                                   "data\0\0\0\0\0\0";
  UInt8 caf[72] = {0};
  memcpy(caf, unknown, sizeof unknown);
  caf[63] = 8;
  open_stream(&heard, 0);
  GIVES(AudioFileStreamParseBytes(heard.stream, sizeof caf, caf, 0),
        kAudioFileStreamError_UnsupportedDataFormat);
  WORKS(AudioFileStreamClose(heard.stream));
  passed("mistakes");
}

int main(void) {
  make_file();
  pieces();
  properties();
  seeking();
  mistakes();
  return 0;
}
