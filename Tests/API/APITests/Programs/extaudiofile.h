// Shared code of the test programs for ExtAudioFile.
#ifndef EXTAUDIOFILE_H
#define EXTAUDIOFILE_H

#include "soundfiles.h"

static ExtAudioFileRef open_file(const char *name) {
  CFURLRef url = url_of(name);
  ExtAudioFileRef file = NULL;
  WORKS(ExtAudioFileOpenURL(url, &file));
  CHECK(file != NULL);
  CFRelease(url);
  return file;
}

static ExtAudioFileRef create(const char *name, AudioFileTypeID type,
                              AudioStreamBasicDescription format, UInt32 flags) {
  CFURLRef url = url_of(name);
  ExtAudioFileRef file = NULL;
  WORKS(ExtAudioFileCreateWithURL(url, type, &format, NULL, flags, &file));
  CFRelease(url);
  return file;
}

static void set_client(ExtAudioFileRef file, AudioStreamBasicDescription format) {
  WORKS(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof format,
                                &format));
}

static SInt64 length_of(ExtAudioFileRef file) {
  SInt64 frames = -1;
  UInt32 size = sizeof frames;
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_FileLengthFrames, &size, &frames));
  EQUAL(size, sizeof frames);
  return frames;
}

static SInt64 position(ExtAudioFileRef file) {
  SInt64 frame = -1;
  WORKS(ExtAudioFileTell(file, &frame));
  return frame;
}

/// Reads interleaved samples of any format.
static UInt32 read_some(ExtAudioFileRef file, void *into, UInt32 frames, UInt32 channels,
                        UInt32 bytes) {
  AudioBufferList list = {1, {{channels, frames * bytes, into}}};
  WORKS(ExtAudioFileRead(file, &frames, &list));
  EQUAL(list.mBuffers[0].mDataByteSize, frames * bytes);
  return frames;
}

static UInt32 read_all(ExtAudioFileRef file, void *into, UInt32 most, UInt32 channels,
                       UInt32 bytes) {
  UInt32 got = 0, more;
  while (got < most) {
    UInt32 room = most - got < 1000 ? most - got : 1000;
    more = read_some(file, (char *)into + got * bytes, room, channels, bytes);
    if (more == 0) break;
    got += more;
  }
  return got;
}

static void write_some(ExtAudioFileRef file, const void *from, UInt32 frames, UInt32 channels,
                       UInt32 bytes) {
  AudioBufferList list = {1, {{channels, frames * bytes, (void *)from}}};
  WORKS(ExtAudioFileWrite(file, frames, &list));
}

#endif
