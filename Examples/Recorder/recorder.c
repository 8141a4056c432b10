// Records to a sound file through an audio queue.
//
// Usage: recorder FILE.aiff|FILE.caf [SECONDS]
//
// An AIFF file gets linear PCM, a CAF file gets AAC. Recording ends after SECONDS, or with
// Control-C.
//
// The queue fills buffers: whenever one is full it hands it to a callback, which writes it to the
// file and gives it back to be filled again. At the end the queue hands out what it has so far.

#include <AudioToolbox/AudioToolbox.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Enough that one can be written while the others are filled.
#define BUFFER_COUNT 3
/// How much sound a buffer is to hold, in seconds.
#define BUFFER_SECONDS 0.5

// MARK: State

/// All that the callbacks need to know. They run on the run loop of the thread that made the queue,
/// so nothing here is locked.
struct recorder {
  AudioFileID file;
  AudioStreamBasicDescription format;
  AudioQueueRef queue;
  AudioQueueBufferRef buffers[BUFFER_COUNT];
  /// The packet of the file that is written next.
  SInt64 next_packet;
  /// When to end, in seconds of sound; 0 for not before it is asked to.
  double seconds;
  /// Buffers are filled and given back.
  bool is_running;
  /// What went wrong where nobody was there to be told.
  OSStatus error;
};

/// Set by Control-C.
static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int number) {
  (void)number;
  stop_asked = 1;
}

// MARK: Errors

/// Prints which call failed, and how: most results are four characters, the others are numbers.
static void report(const char *call, OSStatus status) {
  char text[5] = {(char)(status >> 24), (char)(status >> 16), (char)(status >> 8), (char)status};
  bool is_text = true;
  for (int i = 0; i < 4; i++)
    is_text = is_text && text[i] >= ' ' && text[i] <= '~';
  if (is_text)
    fprintf(stderr, "recorder: %s: '%s'\n", call, text);
  else
    fprintf(stderr, "recorder: %s: %d\n", call, (int)status);
}

/// Ends the function that it stands in if the call fails.
#define TRY(call, function, ...)                                                                   \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) {                                                                        \
      report(call, status_);                                                                       \
      return status_;                                                                              \
    }                                                                                              \
  } while (0)

// MARK: Callbacks

/// Writes what a buffer holds behind what the file has.
static OSStatus write_buffer(struct recorder *recorder, AudioQueueBufferRef buffer, UInt32 packets,
                             const AudioStreamPacketDescription *descriptions) {
  UInt32 bytes = buffer->mAudioDataByteSize;
  // Where all packets have one size, their number can be told from that.
  if (packets == 0 && recorder->format.mBytesPerPacket > 0)
    packets = bytes / recorder->format.mBytesPerPacket;
  if (packets == 0) return noErr;
  TRY("AudioFileWritePackets", AudioFileWritePackets, recorder->file, false, bytes, descriptions,
      recorder->next_packet, &packets, buffer->mAudioData);
  recorder->next_packet += packets;
  return noErr;
}

/// The queue has filled a buffer, or hands out what it has at the end.
static void buffer_filled(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                          const AudioTimeStamp *start, UInt32 packets,
                          const AudioStreamPacketDescription *descriptions) {
  (void)start;
  struct recorder *recorder = data;
  OSStatus status = recorder->error;
  if (status == noErr) status = write_buffer(recorder, buffer, packets, descriptions);
  if (status == noErr && recorder->is_running) {
    status = AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
    // While the queue is being stopped it takes none.
    if (status == kAudioQueueErr_EnqueueDuringReset) status = noErr;
    if (status != noErr) report("AudioQueueEnqueueBuffer", status);
  }
  recorder->error = status;
}

/// Looks now and then whether it is time to end.
static void check_end(CFRunLoopTimerRef timer, void *data) {
  (void)timer;
  struct recorder *recorder = data;
  bool is_over = stop_asked || recorder->error != noErr;
  if (recorder->seconds > 0) {
    AudioTimeStamp now = {0};
    OSStatus status = AudioQueueGetCurrentTime(recorder->queue, NULL, &now, NULL);
    if (status == noErr && now.mSampleTime >= recorder->seconds * recorder->format.mSampleRate)
      is_over = true;
  }
  if (is_over) CFRunLoopStop(CFRunLoopGetCurrent());
}

// MARK: Setting up

static bool has_end(const char *path, const char *end) {
  size_t length = strlen(path), end_length = strlen(end);
  return length > end_length && strcmp(path + length - end_length, end) == 0;
}

/// Chooses the kind of file, and what its sound is like.
static OSStatus choose_format(const char *path, AudioFileTypeID *type,
                              AudioStreamBasicDescription *format) {
  // The device's own rate.
  format->mSampleRate = 0;
  format->mChannelsPerFrame = 2;
  if (has_end(path, ".aiff") || has_end(path, ".aif")) {
    *type = kAudioFileAIFFType;
    format->mFormatID = kAudioFormatLinearPCM;
    format->mFormatFlags = kLinearPCMFormatFlagIsBigEndian | kLinearPCMFormatFlagIsSignedInteger |
                           kLinearPCMFormatFlagIsPacked;
    format->mBitsPerChannel = 16;
    format->mBytesPerFrame = 2 * format->mChannelsPerFrame;
    format->mFramesPerPacket = 1;
    format->mBytesPerPacket = format->mBytesPerFrame;
    return noErr;
  }
  if (has_end(path, ".caf")) {
    // The encoder knows all the rest.
    *type = kAudioFileCAFType;
    format->mFormatID = kAudioFormatMPEG4AAC;
    return noErr;
  }
  report("the file's name has to end in .aiff or .caf", kAudioFileUnsupportedFileTypeError);
  return kAudioFileUnsupportedFileTypeError;
}

static OSStatus make_queue(struct recorder *recorder) {
  // The current run loop: it is the one that record() runs.
  TRY("AudioQueueNewInput", AudioQueueNewInput, &recorder->format, buffer_filled, recorder,
      CFRunLoopGetCurrent(), kCFRunLoopCommonModes, 0, &recorder->queue);
  // What was left open is known now.
  UInt32 size = sizeof recorder->format;
  TRY("AudioQueueGetProperty(StreamDescription)", AudioQueueGetProperty, recorder->queue,
      kAudioQueueProperty_StreamDescription, &recorder->format, &size);
  return noErr;
}

static OSStatus make_file(struct recorder *recorder, const char *path, AudioFileTypeID type) {
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  if (!url) {
    report("CFURLCreateFromFileSystemRepresentation", kAudio_BadFilePathError);
    return kAudio_BadFilePathError;
  }
  OSStatus status = AudioFileCreateWithURL(url, type, &recorder->format, kAudioFileFlags_EraseFile,
                                           &recorder->file);
  CFRelease(url);
  if (status != noErr) report("AudioFileCreateWithURL", status);
  return status;
}

/// Gives the file what a decoder will need besides the packets. Linear PCM needs nothing.
static OSStatus copy_magic_cookie(struct recorder *recorder) {
  UInt32 size = 0;
  OSStatus status =
      AudioQueueGetPropertySize(recorder->queue, kAudioQueueProperty_MagicCookie, &size);
  if (status != noErr || size == 0) return noErr;
  void *cookie = malloc(size);
  if (!cookie) {
    report("malloc", kAudio_MemFullError);
    return kAudio_MemFullError;
  }
  const char *call = "AudioQueueGetProperty(MagicCookie)";
  status = AudioQueueGetProperty(recorder->queue, kAudioQueueProperty_MagicCookie, cookie, &size);
  if (status == noErr) {
    call = "AudioFileSetProperty(MagicCookieData)";
    status = AudioFileSetProperty(recorder->file, kAudioFilePropertyMagicCookieData, size, cookie);
  }
  free(cookie);
  if (status != noErr) report(call, status);
  return status;
}

/// Bytes of a buffer that holds so many seconds, or a moderate size if packets may be large.
static OSStatus choose_buffer_size(struct recorder *recorder, UInt32 *bytes) {
  enum {
    LARGEST = 0x50000
  };
  const AudioStreamBasicDescription *format = &recorder->format;
  double wanted = BUFFER_SECONDS * format->mSampleRate;
  if (format->mBytesPerFrame > 0) {
    wanted *= format->mBytesPerFrame;
  } else {
    UInt32 packet = format->mBytesPerPacket, size = sizeof packet;
    if (packet == 0)
      TRY("AudioQueueGetProperty(MaximumOutputPacketSize)", AudioQueueGetProperty, recorder->queue,
          kAudioQueueProperty_MaximumOutputPacketSize, &packet, &size);
    double packets = format->mFramesPerPacket > 0 ? wanted / format->mFramesPerPacket : wanted;
    wanted = (packets < 1 ? 1 : packets) * packet;
  }
  *bytes = wanted < LARGEST ? (UInt32)wanted : LARGEST;
  return noErr;
}

static OSStatus enqueue_buffers(struct recorder *recorder) {
  UInt32 bytes = 0;
  OSStatus status = choose_buffer_size(recorder, &bytes);
  if (status != noErr) return status;
  for (int i = 0; i < BUFFER_COUNT; i++) {
    TRY("AudioQueueAllocateBuffer", AudioQueueAllocateBuffer, recorder->queue, bytes,
        &recorder->buffers[i]);
    TRY("AudioQueueEnqueueBuffer", AudioQueueEnqueueBuffer, recorder->queue, recorder->buffers[i],
        0, NULL);
  }
  return noErr;
}

// MARK: Recording

/// Records until it is time to end.
static OSStatus record(struct recorder *recorder) {
  CFRunLoopTimerContext context = {.info = recorder};
  CFRunLoopTimerRef timer =
      CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent(), 0.05, 0, 0, check_end, &context);
  CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopCommonModes);
  recorder->is_running = true;
  OSStatus status = AudioQueueStart(recorder->queue, NULL);
  if (status == noErr)
    CFRunLoopRun();
  else
    report("AudioQueueStart", status);
  CFRunLoopTimerInvalidate(timer);
  CFRelease(timer);
  if (status != noErr) return status;
  recorder->is_running = false;
  // What the queue has so far comes to the callback before this returns.
  TRY("AudioQueueStop", AudioQueueStop, recorder->queue, true);
  if (recorder->error != noErr) return recorder->error;
  // Some encoders know all of it only at the end.
  return copy_magic_cookie(recorder);
}

static OSStatus clean_up(struct recorder *recorder) {
  OSStatus result = noErr;
  // Disposing of the queue frees its buffers.
  if (recorder->queue) {
    result = AudioQueueDispose(recorder->queue, true);
    if (result != noErr) report("AudioQueueDispose", result);
  }
  // Closing the file completes it.
  if (recorder->file) {
    OSStatus status = AudioFileClose(recorder->file);
    if (status != noErr) report("AudioFileClose", status);
    if (result == noErr) result = status;
  }
  return result;
}

static void print_format(const char *path, const AudioStreamBasicDescription *format) {
  UInt32 id = format->mFormatID;
  printf("%s: '%c%c%c%c', %u channels, %g Hz\n", path, (char)(id >> 24), (char)(id >> 16),
         (char)(id >> 8), (char)id, (unsigned)format->mChannelsPerFrame, format->mSampleRate);
  fflush(stdout);
}

int main(int argc, char **argv) {
  struct recorder recorder = {0};
  char *end = "";
  if (argc == 3) recorder.seconds = strtod(argv[2], &end);
  if (argc < 2 || argc > 3 || *end != '\0' || end == argv[argc - 1]) {
    fprintf(stderr, "usage: recorder FILE.aiff|FILE.caf [SECONDS]\n");
    return 2;
  }
  signal(SIGINT, ask_to_stop);
  signal(SIGTERM, ask_to_stop);
  AudioFileTypeID type = 0;
  OSStatus status = choose_format(argv[1], &type, &recorder.format);
  if (status == noErr) status = make_queue(&recorder);
  if (status == noErr) status = make_file(&recorder, argv[1], type);
  if (status == noErr) status = copy_magic_cookie(&recorder);
  if (status == noErr) status = enqueue_buffers(&recorder);
  if (status == noErr) {
    print_format(argv[1], &recorder.format);
    status = record(&recorder);
  }
  OSStatus closed = clean_up(&recorder);
  if (status == noErr) status = closed;
  if (status == noErr) printf("recorded %lld packets\n", (long long)recorder.next_packet);
  return status == noErr ? 0 : 1;
}
