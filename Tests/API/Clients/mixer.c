// A game's sound: a mixer that the queue's callback calls whenever a buffer is free.
//
// Usage: mixer EFFECT DELAY [EFFECT DELAY]...
//
// Each effect is a sound file that begins after a delay in frames, at half its amplitude. All have
// the rate of the first. The program loads the files, plays until the mixer has nothing left, and
// stops as soon as the last buffer has come back.
#include <AudioToolbox/AudioToolbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_VOICES     8
#define MIX_BUFFERS    4
#define FRAMES_PER_MIX 4096

typedef struct {
  float *samples;
  long frames, start;
} voice;

static voice voices[MAX_VOICES];
static int num_voices;
static long mix_position, mix_length;
static int buffers_playing;
static double mix_rate;

static void die(const char *what, OSStatus status) {
  fprintf(stderr, "mixer: %s: error %d\n", what, (int)status);
  exit(1);
}

/// Describes interleaved stereo floats.
static AudioStreamBasicDescription stereo_floats(double rate) {
  AudioStreamBasicDescription format;
  memset(&format, 0, sizeof format);
  format.mSampleRate = rate;
  format.mFormatID = kAudioFormatLinearPCM;
  format.mFormatFlags = kAudioFormatFlagsNativeFloatPacked;
  format.mBytesPerPacket = format.mBytesPerFrame = 8;
  format.mFramesPerPacket = 1;
  format.mChannelsPerFrame = 2;
  format.mBitsPerChannel = 32;
  return format;
}

/// Loads a file as stereo floats.
static void load(const char *path, long start) {
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  ExtAudioFileRef file = NULL;
  OSStatus status = ExtAudioFileOpenURL(url, &file);
  CFRelease(url);
  if (status != noErr) die(path, status);
  AudioStreamBasicDescription format;
  UInt32 size = sizeof format;
  status = ExtAudioFileGetProperty(file, kExtAudioFileProperty_FileDataFormat, &size, &format);
  if (status != noErr) die("FileDataFormat", status);
  if (mix_rate == 0) mix_rate = format.mSampleRate;
  SInt64 length = 0;
  size = sizeof length;
  status = ExtAudioFileGetProperty(file, kExtAudioFileProperty_FileLengthFrames, &size, &length);
  if (status != noErr) die("FileLengthFrames", status);
  format = stereo_floats(mix_rate);
  status =
      ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof format, &format);
  if (status != noErr) die("ClientDataFormat", status);

  voice *v = &voices[num_voices++];
  v->start = start;
  v->samples = (float *)calloc((size_t)length + 1, format.mBytesPerFrame);
  while (v->frames < length) {
    AudioBufferList list;
    UInt32 frames = (UInt32)(length - v->frames);
    list.mNumberBuffers = 1;
    list.mBuffers[0].mNumberChannels = 2;
    list.mBuffers[0].mDataByteSize = frames * format.mBytesPerFrame;
    list.mBuffers[0].mData = v->samples + 2 * v->frames;
    status = ExtAudioFileRead(file, &frames, &list);
    if (status != noErr) die("ExtAudioFileRead", status);
    if (frames == 0) break;
    v->frames += frames;
  }
  if (v->start + v->frames > mix_length) mix_length = v->start + v->frames;
  ExtAudioFileDispose(file);
}

/// Mixes the next frames. Returns 0 at the end.
static long mix(float *output, long frames) {
  if (frames > mix_length - mix_position) frames = mix_length - mix_position;
  memset(output, 0, (size_t)frames * 2 * sizeof *output);
  for (int i = 0; i < num_voices; i++) {
    for (long f = 0; f < frames; f++) {
      long at = mix_position + f - voices[i].start;
      if (at < 0 || at >= voices[i].frames) continue;
      output[2 * f] += 0.5f * voices[i].samples[2 * at];
      output[2 * f + 1] += 0.5f * voices[i].samples[2 * at + 1];
    }
  }
  mix_position += frames;
  return frames;
}

static void callback(void *user, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)user;
  long frames = mix((float *)buffer->mAudioData, FRAMES_PER_MIX);
  if (frames == 0) {
    __sync_sub_and_fetch(&buffers_playing, 1);
    return;
  }
  buffer->mAudioDataByteSize = (UInt32)frames * 8;
  OSStatus status = AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
  if (status != noErr) die("AudioQueueEnqueueBuffer", status);
}

int main(int argc, char **argv) {
  if (argc < 3 || argc % 2 == 0 || argc > 2 * MAX_VOICES) {
    fprintf(stderr, "usage: mixer EFFECT DELAY [EFFECT DELAY]...\n");
    return 2;
  }
  for (int i = 1; i < argc; i += 2)
    load(argv[i], atol(argv[i + 1]));

  AudioStreamBasicDescription format = stereo_floats(mix_rate);
  AudioQueueRef queue = NULL;
  OSStatus status = AudioQueueNewOutput(&format, callback, NULL, NULL, NULL, 0, &queue);
  if (status != noErr) die("AudioQueueNewOutput", status);
  buffers_playing = MIX_BUFFERS;
  for (int i = 0; i < MIX_BUFFERS; i++) {
    AudioQueueBufferRef buffer = NULL;
    status = AudioQueueAllocateBuffer(queue, FRAMES_PER_MIX * format.mBytesPerFrame, &buffer);
    if (status != noErr) die("AudioQueueAllocateBuffer", status);
    callback(NULL, queue, buffer);
  }
  status = AudioQueueStart(queue, NULL);
  if (status != noErr) die("AudioQueueStart", status);
  // The game's own loop.
  while (__sync_add_and_fetch(&buffers_playing, 0) > 0)
    usleep(1000);
  status = AudioQueueStop(queue, true);
  if (status != noErr) die("AudioQueueStop", status);
  status = AudioQueueDispose(queue, true);
  if (status != noErr) die("AudioQueueDispose", status);
  for (int i = 0; i < num_voices; i++)
    free(voices[i].samples);
  printf("mixed %ld frames\n", mix_length);
  return 0;
}
