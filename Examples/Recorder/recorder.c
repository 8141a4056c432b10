// Records to a sound file through an audio queue.
//
// Usage: recorder FILE.aiff|FILE.caf [SECONDS]
//
// An AIFF file gets linear PCM, a CAF file gets AAC. Recording ends after SECONDS, or with
// Control-C.
//
// The queue passes each full buffer to a callback, which writes it to the file and enqueues it
// again. When the queue stops, it passes on the partly filled buffer as well.

#include <AudioToolbox/AudioToolbox.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Enough buffers to write one while the others are filled.
#define BUFFER_COUNT 3
/// Length of a buffer in seconds.
#define BUFFER_SECONDS 0.5

// MARK: State

/// The state of the callbacks. They run on the run loop of the thread that created the queue, so no
/// lock is needed.
struct recorder {
  AudioFileID file;
  AudioStreamBasicDescription format;
  AudioQueueRef queue;
  AudioQueueBufferRef buffers[BUFFER_COUNT];
  /// The next packet to write to the file.
  SInt64 next_packet;
  /// Duration in seconds of sound; 0 to record until Control-C.
  double seconds;
  /// True while buffers are to be enqueued again.
  bool is_running;
  /// Error in a callback, which has no caller to return it to.
  OSStatus error;
};

/// Set by Control-C.
static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int number) {
  (void)number;
  stop_asked = 1;
}

// MARK: Errors

/// Prints the call that failed and its result: most results are four-character codes, others are
/// numbers.
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

/// Returns from the calling function if the call fails.
#define TRY(call, function, ...)                                                                   \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) {                                                                        \
      report(call, status_);                                                                       \
      return status_;                                                                              \
    }                                                                                              \
  } while (0)

// MARK: Callbacks

/// Appends a buffer's packets to the file.
static OSStatus write_buffer(struct recorder *recorder, AudioQueueBufferRef buffer, UInt32 packets,
                             const AudioStreamPacketDescription *descriptions) {
  UInt32 bytes = buffer->mAudioDataByteSize;
  // For packets of constant size, the number follows from the bytes.
  if (packets == 0 && recorder->format.mBytesPerPacket > 0)
    packets = bytes / recorder->format.mBytesPerPacket;
  if (packets == 0) return noErr;
  TRY("AudioFileWritePackets", AudioFileWritePackets, recorder->file, false, bytes, descriptions,
      recorder->next_packet, &packets, buffer->mAudioData);
  recorder->next_packet += packets;
  return noErr;
}

/// Writes a buffer that the queue has filled, or partly filled when it stops, and enqueues it
/// again.
static void buffer_filled(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                          const AudioTimeStamp *start, UInt32 packets,
                          const AudioStreamPacketDescription *descriptions) {
  (void)start;
  struct recorder *recorder = data;
  OSStatus status = recorder->error;
  if (status == noErr) status = write_buffer(recorder, buffer, packets, descriptions);
  if (status == noErr && recorder->is_running) {
    status = AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
    // A queue that is being stopped rejects buffers.
    if (status == kAudioQueueErr_EnqueueDuringReset) status = noErr;
    if (status != noErr) report("AudioQueueEnqueueBuffer", status);
  }
  recorder->error = status;
}

/// Checks periodically whether recording should end.
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

/// Chooses the container and the format.
static OSStatus choose_format(const char *path, AudioFileTypeID *type,
                              AudioStreamBasicDescription *format) {
  // 0 stands for the device's own rate.
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
    // The encoder fills in the rest.
    *type = kAudioFileCAFType;
    format->mFormatID = kAudioFormatMPEG4AAC;
    return noErr;
  }
  report("the file's name has to end in .aiff or .caf", kAudioFileUnsupportedFileTypeError);
  return kAudioFileUnsupportedFileTypeError;
}

static OSStatus make_queue(struct recorder *recorder) {
  // The current run loop is the one that record() runs.
  TRY("AudioQueueNewInput", AudioQueueNewInput, &recorder->format, buffer_filled, recorder,
      CFRunLoopGetCurrent(), kCFRunLoopCommonModes, 0, &recorder->queue);
  // The queue has filled in the fields that were left open.
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

/// Copies the encoder's magic cookie to the file. Linear PCM has none.
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

/// Computes the bytes of a buffer of BUFFER_SECONDS, with an upper limit.
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

/// Records until the end condition is met.
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
  // The queue passes its partly filled buffer to the callback before this call returns.
  TRY("AudioQueueStop", AudioQueueStop, recorder->queue, true);
  if (recorder->error != noErr) return recorder->error;
  // Some encoders complete the cookie only at the end.
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
