// Plays a sound file.
//
// Usage: player [-v VOLUME] [-t SECONDS] [-r RATE] [-d] FILE
//
// The queue calls back on the run loop of the main thread. A listener of IsRunning ends the run
// loop when the last frame has been played. Priming and remainder frames of the file are trimmed.
#include <AudioToolbox/AudioToolbox.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NUM_BUFFERS    3
#define BUFFER_SECONDS 0.2

typedef struct {
  AudioFileID file;
  AudioQueueRef queue;
  AudioStreamBasicDescription format;
  AudioQueueBufferRef buffers[NUM_BUFFERS];
  AudioStreamPacketDescription *descriptions;
  UInt32 packetsPerRead;
  SInt64 currentPacket;
  /// Frames to leave out before the sound, and frames that are still to be played.
  UInt32 priming;
  SInt64 framesLeft;
  Boolean done, started, verbose;
} PlayerState;

static const char *fourCC(OSStatus code) {
  static char text[16];
  char c[4] = {(char)(code >> 24), (char)(code >> 16), (char)(code >> 8), (char)code};
  if (isprint(c[0]) && isprint(c[1]) && isprint(c[2]) && isprint(c[3]))
    snprintf(text, sizeof text, "'%c%c%c%c'", c[0], c[1], c[2], c[3]);
  else
    snprintf(text, sizeof text, "%d", (int)code);
  return text;
}

static void checkError(OSStatus error, const char *operation) {
  if (error == noErr) return;
  fprintf(stderr, "player: %s failed (%s)\n", operation, fourCC(error));
  exit(1);
}

static void deriveBufferSize(const AudioStreamBasicDescription *format, UInt32 largestPacket,
                             Float64 seconds, UInt32 *bytes, UInt32 *packets) {
  const UInt32 most = 0x50000, least = 0x1000;
  if (format->mFramesPerPacket != 0)
    *bytes = (UInt32)(format->mSampleRate / format->mFramesPerPacket * seconds * largestPacket);
  else
    *bytes = most > largestPacket ? most : largestPacket;
  if (*bytes > most && *bytes > largestPacket)
    *bytes = most;
  else if (*bytes < least)
    *bytes = least;
  if (*bytes < largestPacket) *bytes = largestPacket;
  *packets = *bytes / largestPacket;
}

static void handleOutputBuffer(void *userData, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  PlayerState *state = (PlayerState *)userData;
  if (state->done) return;
  UInt32 bytes = buffer->mAudioDataBytesCapacity, packets = state->packetsPerRead;
  checkError(AudioFileReadPacketData(state->file, false, &bytes, state->descriptions,
                                     state->currentPacket, &packets, buffer->mAudioData),
             "reading packets");
  if (packets == 0 || state->framesLeft <= 0) {
    state->done = true;
    checkError(AudioQueueStop(queue, false), "stopping the queue");
    return;
  }
  SInt64 frames = (SInt64)packets * state->format.mFramesPerPacket;
  UInt32 atStart = state->priming, atEnd = 0;
  state->priming = 0;
  if (frames - atStart > state->framesLeft) atEnd = (UInt32)(frames - atStart - state->framesLeft);
  state->framesLeft -= frames - atStart - atEnd;
  state->currentPacket += packets;
  buffer->mAudioDataByteSize = bytes;
  checkError(AudioQueueEnqueueBufferWithParameters(queue, buffer, state->descriptions ? packets : 0,
                                                   state->descriptions, atStart, atEnd, 0, NULL,
                                                   NULL, NULL),
             "enqueuing a buffer");
}

static void handleRunning(void *userData, AudioQueueRef queue, AudioQueuePropertyID property) {
  PlayerState *state = (PlayerState *)userData;
  UInt32 running = 0, size = sizeof running;
  checkError(AudioQueueGetProperty(queue, property, &running, &size), "asking whether it runs");
  if (state->verbose) printf("%s\n", running ? "running" : "stopped");
  if (running)
    state->started = true;
  else if (state->started)
    CFRunLoopStop(CFRunLoopGetMain());
}

static void copyCookie(PlayerState *state) {
  UInt32 size = 0;
  if (AudioFileGetPropertyInfo(state->file, kAudioFilePropertyMagicCookieData, &size, NULL) != 0 ||
      size == 0)
    return;
  char *cookie = (char *)malloc(size);
  checkError(AudioFileGetProperty(state->file, kAudioFilePropertyMagicCookieData, &size, cookie),
             "reading the cookie");
  checkError(AudioQueueSetProperty(state->queue, kAudioQueueProperty_MagicCookie, cookie, size),
             "setting the cookie");
  free(cookie);
}

/// Reads how many frames the file has, and how many of a codec come before them.
static void countFrames(PlayerState *state, Float64 seconds) {
  AudioFilePacketTableInfo table;
  UInt32 size = sizeof table;
  if (AudioFileGetProperty(state->file, kAudioFilePropertyPacketTableInfo, &size, &table) ==
      noErr) {
    state->priming = (UInt32)table.mPrimingFrames;
    state->framesLeft = table.mNumberValidFrames;
  } else {
    UInt64 packets = 0;
    size = sizeof packets;
    checkError(
        AudioFileGetProperty(state->file, kAudioFilePropertyAudioDataPacketCount, &size, &packets),
        "counting packets");
    state->framesLeft = (SInt64)packets * state->format.mFramesPerPacket;
  }
  SInt64 limit = (SInt64)(seconds * state->format.mSampleRate);
  if (seconds > 0 && limit < state->framesLeft) state->framesLeft = limit;
  if (state->verbose) printf("%lld frames\n", (long long)state->framesLeft);
}

int main(int argc, char **argv) {
  PlayerState state;
  memset(&state, 0, sizeof state);
  Float32 volume = 1, rate = 1;
  Float64 seconds = 0;
  int option;
  while ((option = getopt(argc, argv, "v:t:r:d")) != -1) {
    switch (option) {
    case 'v':
      volume = (Float32)atof(optarg);
      break;
    case 't':
      seconds = atof(optarg);
      break;
    case 'r':
      rate = (Float32)atof(optarg);
      break;
    case 'd':
      state.verbose = true;
      break;
    default:
      optind = argc;
    }
  }
  if (optind != argc - 1) {
    fprintf(stderr, "usage: player [-v VOLUME] [-t SECONDS] [-r RATE] [-d] FILE\n");
    return 2;
  }

  const char *path = argv[optind];
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  checkError(AudioFileOpenURL(url, kAudioFileReadPermission, 0, &state.file), "opening the file");
  CFRelease(url);
  UInt32 size = sizeof state.format;
  checkError(AudioFileGetProperty(state.file, kAudioFilePropertyDataFormat, &size, &state.format),
             "reading the format");
  if (state.verbose)
    printf("%s: %s, %g Hz, %u channels\n", path, fourCC((OSStatus)state.format.mFormatID),
           state.format.mSampleRate, (unsigned)state.format.mChannelsPerFrame);
  countFrames(&state, seconds);

  checkError(AudioQueueNewOutput(&state.format, handleOutputBuffer, &state, CFRunLoopGetCurrent(),
                                 kCFRunLoopCommonModes, 0, &state.queue),
             "making the queue");
  checkError(AudioQueueAddPropertyListener(state.queue, kAudioQueueProperty_IsRunning,
                                           handleRunning, &state),
             "listening");
  copyCookie(&state);
  UInt32 largestPacket = 0, bufferBytes = 0;
  size = sizeof largestPacket;
  checkError(AudioFileGetProperty(state.file, kAudioFilePropertyPacketSizeUpperBound, &size,
                                  &largestPacket),
             "asking for the largest packet");
  deriveBufferSize(&state.format, largestPacket, BUFFER_SECONDS, &bufferBytes,
                   &state.packetsPerRead);
  if (state.format.mBytesPerPacket == 0 || state.format.mFramesPerPacket == 0)
    state.descriptions = (AudioStreamPacketDescription *)calloc(
        state.packetsPerRead, sizeof(AudioStreamPacketDescription));
  checkError(AudioQueueSetParameter(state.queue, kAudioQueueParam_Volume, volume), "the volume");
  if (rate != 1) {
    UInt32 on = 1;
    checkError(
        AudioQueueSetProperty(state.queue, kAudioQueueProperty_EnableTimePitch, &on, sizeof on),
        "enabling the rate");
    checkError(AudioQueueSetParameter(state.queue, kAudioQueueParam_PlayRate, rate), "the rate");
  }
  for (int i = 0; i < NUM_BUFFERS && !state.done; i++) {
    checkError(AudioQueueAllocateBuffer(state.queue, bufferBytes, &state.buffers[i]),
               "allocating a buffer");
    handleOutputBuffer(&state, state.queue, state.buffers[i]);
  }
  checkError(AudioQueueStart(state.queue, NULL), "starting the queue");
  CFRunLoopRun();

  checkError(AudioQueueDispose(state.queue, true), "disposing of the queue");
  checkError(AudioFileClose(state.file), "closing the file");
  free(state.descriptions);
  return 0;
}
