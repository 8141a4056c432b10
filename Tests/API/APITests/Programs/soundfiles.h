// Shared code of the test programs for sound files: a folder of their own, and a file in memory.
#ifndef SOUNDFILES_H
#define SOUNDFILES_H

#include "check.h"

/// An invalid pointer.
static void *nowhere = NULL;

static char folder[] = "/tmp/cuejack-files-XXXXXX";

static const char *path_of(const char *name) {
  static char paths[4][200];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static CFURLRef url_of(const char *name) {
  const char *path = path_of(name);
  return CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path, (CFIndex)strlen(path),
                                                 false);
}

/// Runs a shell command in the folder.
static void run(const char *command) {
  char whole[1000];
  snprintf(whole, sizeof whole, "cd %s && %s", folder, command);
  if (system(whole) != 0) fail(__FILE__, __LINE__, command);
}

static AudioStreamBasicDescription named(AudioFormatID id, double rate, UInt32 channels) {
  AudioStreamBasicDescription format;
  memset(&format, 0, sizeof format);
  format.mFormatID = id;
  format.mSampleRate = rate;
  format.mChannelsPerFrame = channels;
  return format;
}

static AudioStreamBasicDescription int16(double rate, UInt32 channels, AudioFormatFlags more) {
  AudioStreamBasicDescription format = named(kAudioFormatLinearPCM, rate, channels);
  format.mFormatFlags = kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked | more;
  format.mBytesPerPacket = format.mBytesPerFrame = 2 * channels;
  format.mFramesPerPacket = 1;
  format.mBitsPerChannel = 16;
  return format;
}

// MARK: A file in memory of the program's own

typedef struct {
  char *bytes;
  SInt64 size;
  SInt64 room;
  OSStatus fault;
} Memory;

/// Returns an empty file with `room` bytes, which the caller frees.
static Memory new_memory(SInt64 room) {
  return (Memory){.bytes = calloc(1, (size_t)room), .size = 0, .room = room, .fault = noErr};
}

static OSStatus memory_read(void *data, SInt64 position, UInt32 count, void *buffer,
                            UInt32 *actual) {
  Memory *memory = data;
  SInt64 there = position < memory->size ? memory->size - position : 0;
  *actual = (UInt32)(there < (SInt64)count ? there : (SInt64)count);
  memcpy(buffer, memory->bytes + position, *actual);
  return memory->fault;
}

static OSStatus memory_write(void *data, SInt64 position, UInt32 count, const void *buffer,
                             UInt32 *actual) {
  Memory *memory = data;
  *actual = 0;
  if (memory->fault) return memory->fault;
  if (position + count > memory->room) return noErr;
  if (position + count > memory->size) memory->size = position + count;
  memcpy(memory->bytes + position, buffer, count);
  *actual = count;
  return noErr;
}

static SInt64 memory_size(void *data) {
  return ((Memory *)data)->size;
}

static OSStatus memory_set_size(void *data, SInt64 size) {
  Memory *memory = data;
  if (size > memory->room) return dskFulErr;
  if (size > memory->size) memset(memory->bytes + memory->size, 0, (size_t)(size - memory->size));
  memory->size = size;
  return noErr;
}

#endif
