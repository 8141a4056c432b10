// Recording queues. A client plays frame numbers into them.
#include "check.h"

enum {
  MOST = 4 * RATE
};

static cue_emitter *emitter;
static jack_client_t *graph;

/// The recording of one queue.
typedef struct {
  float left[MOST];
  _Atomic long frames;
  _Atomic int calls, empty_calls, holes, errors, running_changes, enqueue_result;
  /// The behaviour of a callback.
  _Atomic int enqueues_again;
  Float64 next_time, first_time;
  UInt64 first_host_time;
} take;

static take takes[2];

/// A float format with one or two channels.
static AudioStreamBasicDescription format;

static void add(take *to, AudioQueueRef queue, AudioQueueBufferRef buffer,
                const AudioTimeStamp *start, UInt32 packets,
                const AudioStreamPacketDescription *descriptions) {
  CHECK(start != NULL && descriptions == NULL);
  EQUAL(start->mFlags, kAudioTimeStampSampleHostTimeValid);
  EQUAL(buffer->mAudioDataByteSize, packets * format.mBytesPerFrame);
  CHECK(buffer->mAudioDataByteSize <= buffer->mAudioDataBytesCapacity);
  if (packets == 0) to->empty_calls++;
  if (to->frames == 0) to->first_time = start->mSampleTime, to->first_host_time = start->mHostTime;
  if (start->mSampleTime != to->next_time) to->holes++;
  to->next_time = start->mSampleTime + packets;
  for (UInt32 i = 0; i < packets && to->frames < MOST; i++)
    to->left[to->frames++] = ((float *)buffer->mAudioData)[i * format.mChannelsPerFrame];
  if (to->enqueues_again) to->enqueue_result = AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
  to->calls++;
}

static void recorded(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *start, UInt32 packets,
                     const AudioStreamPacketDescription *descriptions) {
  add(data, queue, buffer, start, packets, descriptions);
}

static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  take *to = data;
  if (property == kAudioQueueProperty_IsRunning) to->running_changes++;
  if (property != kAudioQueueProperty_ConverterError) return;
  UInt32 value = 0, size = sizeof value;
  OSStatus status = AudioQueueGetProperty(queue, property, &value, &size);
  // The queue may be disposed of after its listener has been called.
  if (status == kAudio_ParamError) return;
  CHECK(status == noErr);
  EQUAL((OSStatus)value, kAudioQueueErr_RecordUnderrun);
  to->errors++;
}

/// Connects the ports of the program's client from `in_1` on, including those of a second queue.
static void feed(const char *client) {
  char port[100];
  for (UInt32 channel = 1; channel <= format.mChannelsPerFrame; channel++) {
    snprintf(port, sizeof port, "%s:in_%u", client, (unsigned)channel);
    WAIT(jack_port_by_name(graph, port) != NULL);
    CHECK(jack_connect(graph, channel == 1 ? "emitter:out_1" : "emitter:out_2", port) == 0);
  }
}

static AudioQueueRef new_queue(int number, Float64 rate) {
  AudioQueueRef queue = NULL;
  take *to = &takes[number];
  memset(to, 0, sizeof *to);
  format.mSampleRate = rate;
  WORKS(AudioQueueNewInput(&format, recorded, to, NULL, NULL, 0, &queue));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, changed, to));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_ConverterError, changed, to));
  // Opens the device, which registers the ports.
  Float64 device_rate = 0;
  UInt32 size = sizeof device_rate;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueDeviceProperty_SampleRate, &device_rate, &size));
  EQUAL(device_rate, RATE);
  char client[100];
  client_of(queue, client, sizeof client);
  feed(client);
  return queue;
}

static AudioQueueBufferRef enqueue(AudioQueueRef queue, UInt32 frames) {
  AudioQueueBufferRef buffer = NULL;
  WORKS(AudioQueueAllocateBuffer(queue, frames * format.mBytesPerFrame, &buffer));
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
  return buffer;
}

static long frame_of(float sample) {
  return (long)sample & 0x3fffff;
}

/// Returns the emitter's sample of the frame after that of `sample`.
static float sample_after(float sample) {
  return cue_emitter_sample((uint32_t)frame_of(sample) + 1, 0);
}

/// Checks that a recording contains every frame after its first.
static void hear_all(const take *of) {
  CHECK(of->frames > 0 && of->left[0] > 0);
  long first = frame_of(of->left[0]);
  for (long i = 0; i < of->frames; i++)
    EQUAL(of->left[i], cue_emitter_sample((uint32_t)(first + i), 0));
}

static void records_every_frame(void) {
  AudioQueueRef queue = new_queue(0, 0);
  take *to = &takes[0];
  to->enqueues_again = 1;
  for (int i = 0; i < 4; i++)
    enqueue(queue, 12000);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(to->running_changes == 1);
  EQUAL(is_running(queue), 1);
  WAIT(to->frames > RATE);
  WORKS(AudioQueueStop(queue, true));
  EQUAL(is_running(queue), 0);
  // All buffers returned, and none could be enqueued again.
  EQUAL(to->enqueue_result, kAudioQueueErr_EnqueueDuringReset);
  int calls = to->calls;
  EQUAL(to->holes, 0);
  EQUAL(to->errors, 0);
  EQUAL(to->first_time, 0);
  hear_all(to);
  let_time_pass();
  EQUAL(to->calls, calls);
  WAIT(to->running_changes == 2);
  WORKS(AudioQueueDispose(queue, true));
  passed("every frame");
}

static void stop_gives_what_there_is(void) {
  AudioQueueRef queue = new_queue(0, RATE);
  take *to = &takes[0];
  AudioQueueBufferRef buffer = enqueue(queue, 2 * RATE);
  enqueue(queue, 100);
  WORKS(AudioQueueStop(queue, false));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(time_of(queue) > RATE / 4);
  WORKS(AudioQueueStop(queue, true));
  EQUAL(to->calls, 2);
  EQUAL(to->empty_calls, 1);
  CHECK(to->frames > RATE / 4 && to->frames < 2 * RATE);
  hear_all(to);
  EQUAL(buffer->mAudioDataByteSize, to->frames * format.mBytesPerFrame);

  WORKS(AudioQueueDispose(queue, true));
  passed("stop gives what there is");
}

static void stop_when_full(void) {
  AudioQueueRef queue = new_queue(0, RATE);
  take *to = &takes[0];
  to->enqueues_again = 1;
  for (int i = 0; i < 3; i++)
    enqueue(queue, RATE / 8);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(to->calls == 1);
  WORKS(AudioQueueStop(queue, false));
  EQUAL(is_running(queue), 1);
  WAIT(to->running_changes == 2);
  // Every buffer enqueued at that time is full, and none could be enqueued again.
  EQUAL(is_running(queue), 0);
  EQUAL(to->enqueue_result, kAudioQueueErr_EnqueueDuringReset);
  EQUAL(to->empty_calls, 0);
  EQUAL(to->errors, 0);
  EQUAL(to->holes, 0);
  EQUAL(to->frames, to->calls * RATE / 8);
  CHECK(to->calls >= 3);
  hear_all(to);
  // The next run counts from 0.
  int calls = to->calls;
  to->frames = 0;
  enqueue(queue, RATE / 8);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(to->calls > calls);
  WORKS(AudioQueueStop(queue, true));
  EQUAL(to->first_time, 0);
  WORKS(AudioQueueDispose(queue, true));
  passed("stop when full");
}

/// Listing 2-7 of Apple's guide, verbatim.
static OSStatus SetMagicCookieForFile(AudioQueueRef inQueue, AudioFileID inFile) {
  OSStatus result = noErr;
  UInt32 cookieSize;

  if (AudioQueueGetPropertySize(inQueue, kAudioQueueProperty_MagicCookie, &cookieSize) == noErr) {
    char *magicCookie = (char *)malloc(cookieSize);
    if (AudioQueueGetProperty(inQueue, kAudioQueueProperty_MagicCookie, magicCookie, &cookieSize) ==
        noErr)
      result =
          AudioFileSetProperty(inFile, kAudioFilePropertyMagicCookieData, cookieSize, magicCookie);
    free(magicCookie);
  }
  return result;
}

/// Tests the cookie of a recording in the format of the guide's listing 2-8.
static void the_cookie_of_linear_pcm(void) {
  AudioStreamBasicDescription description = {0};
  description.mFormatID = kAudioFormatLinearPCM;
  description.mSampleRate = 44100.0;
  description.mChannelsPerFrame = 2;
  description.mBitsPerChannel = 16;
  description.mBytesPerPacket = description.mBytesPerFrame =
      description.mChannelsPerFrame * sizeof(SInt16);
  description.mFramesPerPacket = 1;
  description.mFormatFlags = kLinearPCMFormatFlagIsBigEndian | kLinearPCMFormatFlagIsSignedInteger |
                             kLinearPCMFormatFlagIsPacked;
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewInput(&description, recorded, &takes[0], NULL, NULL, 0, &queue));
  char path[] = "/tmp/cuejack-XXXXXX.aiff";
  int descriptor = mkstemps(path, 5);
  CHECK(descriptor >= 0);
  close(descriptor);
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  AudioFileID file = NULL;
  WORKS(AudioFileCreateWithURL(url, kAudioFileAIFFType, &description, kAudioFileFlags_EraseFile,
                               &file));
  WORKS(SetMagicCookieForFile(queue, file));
  // Linear PCM accepts no cookie, even a non-empty one.
  GIVES(AudioFileSetProperty(file, kAudioFilePropertyMagicCookieData, 1, "c"),
        kAudioFileUnsupportedPropertyError);
  WORKS(AudioFileClose(file));
  CFRelease(url);
  unlink(path);
  WORKS(AudioQueueDispose(queue, true));
  passed("the cookie of linear PCM");
}

static void two_on_one_frame(void) {
  AudioQueueRef queues[2];
  for (int i = 0; i < 2; i++) {
    queues[i] = new_queue(i, RATE);
    enqueue(queues[i], RATE / 2);
  }
  AudioTimeStamp start = {0};
  start.mFlags = kAudioTimeStampSampleTimeValid;
  WORKS(AudioQueueDeviceGetNearestStartTime(queues[0], &start, 0));
  start.mFlags = kAudioTimeStampSampleTimeValid;
  start.mSampleTime += RATE / 2 + 77;
  for (int i = 0; i < 2; i++)
    WORKS(AudioQueueStart(queues[i], &start));
  WAIT(takes[0].calls > 0 && takes[1].calls > 0);
  for (int i = 0; i < 2; i++) {
    EQUAL(takes[i].frames, RATE / 2);
    // On PipeWire the emitter's numbers are the driver's, and the device's time is not.
    EQUAL(frame_of(takes[i].left[0]),
          is_pipewire() ? frame_of(takes[0].left[0]) : (long)start.mSampleTime & 0x3fffff);
    hear_all(&takes[i]);
    // The buffer's host time is that of its first frame.
    AudioTimeStamp found;
    WORKS(AudioQueueDeviceTranslateTime(queues[i], &start, &found));
    CHECK(fabs((Float64)takes[i].first_host_time - (Float64)found.mHostTime) < 20e6);
    WORKS(AudioQueueDispose(queues[i], i == 0));
  }
  passed("two on one frame");
}

static void pause_keeps_the_buffer(void) {
  AudioQueueRef queue = new_queue(0, RATE);
  take *to = &takes[0];
  enqueue(queue, RATE);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(time_of(queue) > RATE / 8);
  WORKS(AudioQueuePause(queue));
  double time = time_of(queue);
  let_time_pass();
  EQUAL(time_of(queue), time);
  EQUAL(to->calls, 0);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(to->calls == 1);
  EQUAL(to->frames, RATE);
  // One jump, at the pause.
  int jumps = 0;
  for (long i = 1; i < to->frames; i++)
    if (to->left[i] != sample_after(to->left[i - 1])) jumps++, EQUAL(i, time);
  EQUAL(jumps, 1);
  WORKS(AudioQueueDispose(queue, true));
  passed("pause keeps the buffer");
}

static void underrun(void) {
  AudioQueueRef queue = new_queue(0, RATE);
  take *to = &takes[0];
  UInt32 value = 99, size = sizeof value;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_ConverterError, &value, &size));
  EQUAL(value, 0);
  enqueue(queue, 4800);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(to->errors == 1);
  EQUAL(to->calls, 1);
  let_time_pass();
  EQUAL(to->errors, 1);
  enqueue(queue, 4800);
  WAIT(to->calls == 2 && to->errors == 2);
  EQUAL(to->holes, 1);
  EQUAL(to->frames, 9600);
  // The second buffer's time matches its frames.
  EQUAL((frame_of(to->left[4800]) - frame_of(to->left[0])) & 0x3fffff, to->next_time - 4800);
  EQUAL(is_running(queue), 1);
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_ConverterError, &value, &size));
  EQUAL((OSStatus)value, kAudioQueueErr_RecordUnderrun);
  GIVES(AudioQueueSetProperty(queue, kAudioQueueProperty_ConverterError, &value, sizeof value),
        kAudioQueueErr_Permissions);
  WORKS(AudioQueueDispose(queue, true));
  passed("underrun");
}

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

static void queue_types(void) {
  AudioQueueRef queue = new_queue(0, RATE), player = NULL;
  Float32 value = 1;
  UInt32 frames = 0, size = sizeof frames;
  GIVES(AudioQueuePrime(queue, 0, &frames), kAudioQueueErr_InvalidQueueType);
  GIVES(AudioQueueSetParameter(queue, kAudioQueueParam_Volume, 1), kAudioQueueErr_InvalidQueueType);
  GIVES(AudioQueueGetParameter(queue, kAudioQueueParam_Volume, &value),
        kAudioQueueErr_InvalidQueueType);
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &player));
  // Properties of recording queues only.
  AudioStreamBasicDescription current;
  size = sizeof current;
  GIVES(
      AudioQueueGetProperty(player, kAudioConverterCurrentInputStreamDescription, &current, &size),
      kAudioQueueErr_InvalidQueueType);
  WORKS(AudioQueueDispose(player, true));
  // A buffer smaller than a frame.
  AudioQueueBufferRef buffer = NULL;
  WORKS(AudioQueueAllocateBuffer(queue, 3, &buffer));
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL), kAudio_ParamError);
  WORKS(AudioQueueFreeBuffer(queue, buffer));
  WORKS(AudioQueueDispose(queue, true));
  AudioStreamBasicDescription wrong = format;
  wrong.mFormatID = 'what';
  GIVES(AudioQueueNewInput(&wrong, recorded, NULL, NULL, NULL, 0, &queue),
        kAudioFormatUnsupportedDataFormatError);
  GIVES(AudioQueueNewInput(&format, recorded, NULL, NULL, NULL, 1, &queue), kAudio_ParamError);
  passed("queue types");
}

static void properties(void) {
  AudioQueueRef queue = new_queue(0, 0);
  AudioStreamBasicDescription stream, expected = format;
  expected.mSampleRate = RATE;
  const AudioQueuePropertyID streams[] = {kAudioQueueProperty_StreamDescription,
                                          kAudioConverterCurrentOutputStreamDescription};
  const AudioQueuePropertyID most[] = {kAudioQueueProperty_MaximumOutputPacketSize,
                                       kAudioConverterPropertyMaximumOutputPacketSize};
  const AudioQueuePropertyID cookies[] = {kAudioQueueProperty_MagicCookie,
                                          kAudioConverterCompressionMagicCookie};
  // For the lifetime of the queue: new, running and stopped.
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 2; i++) {
      UInt32 size = 99, value = 0;
      WORKS(AudioQueueGetPropertySize(queue, streams[i], &size));
      EQUAL(size, sizeof stream);
      WORKS(AudioQueueGetProperty(queue, streams[i], &stream, &size));
      CHECK(memcmp(&stream, &expected, sizeof stream) == 0);
      WORKS(AudioQueueGetPropertySize(queue, most[i], &size));
      EQUAL(size, sizeof value);
      WORKS(AudioQueueGetProperty(queue, most[i], &value, &size));
      EQUAL(value, format.mBytesPerFrame);
      size = 3;
      WORKS(AudioQueueGetProperty(queue, most[i], &value, &size));
      EQUAL(size, sizeof value);
      WORKS(AudioQueueGetPropertySize(queue, cookies[i], &size));
      EQUAL(size, 0);
    }
    UInt32 size = sizeof stream, channels = 0;
    WORKS(
        AudioQueueGetProperty(queue, kAudioConverterCurrentInputStreamDescription, &stream, &size));
    EQUAL(stream.mSampleRate, RATE);
    EQUAL(stream.mChannelsPerFrame, format.mChannelsPerFrame);
    CHECK(stream.mFormatFlags & kAudioFormatFlagIsNonInterleaved);
    size = sizeof channels;
    WORKS(AudioQueueGetProperty(queue, kAudioQueueDeviceProperty_NumberChannels, &channels, &size));
    // The test's PipeWire has no source.
    EQUAL(channels, is_pipewire() ? 0 : 2);
    if (round == 0) WORKS(AudioQueueStart(queue, NULL));
    if (round == 1) WORKS(AudioQueueStop(queue, true));
  }
  WORKS(AudioQueueDispose(queue, true));
  passed("properties");
}

/// Calls back on the main thread's run loop and on a dispatch queue.
static void callback_targets(void) {
  take *to = &takes[0];
  memset(to, 0, sizeof *to);
  to->enqueues_again = 1;
  AudioQueueRef queue = NULL;
  format.mSampleRate = RATE;
  WORKS(AudioQueueNewInput(&format, recorded, to, CFRunLoopGetCurrent(), NULL, 0, &queue));
  enqueue(queue, 2400);
  enqueue(queue, 2400);
  enqueue(queue, RATE);
  WORKS(AudioQueueStart(queue, NULL));
  usleep(200000);
  EQUAL(to->calls, 0);
  RUN_LOOP_UNTIL(to->calls >= 2);
  WORKS(AudioQueueStop(queue, true));
  EQUAL(to->holes, 0);
  WORKS(AudioQueueDispose(queue, true));

  memset(to, 0, sizeof *to);
  dispatch_queue_t callbacks = dispatch_queue_create("recorder", NULL);
  WORKS(AudioQueueNewInputWithDispatchQueue(
      &queue, &format, 0, callbacks,
      ^(AudioQueueRef in_queue, AudioQueueBufferRef buffer, const AudioTimeStamp *start,
        UInt32 packets, const AudioStreamPacketDescription *descriptions) {
        CHECK(strcmp(dispatch_queue_get_label(NULL), "") != 0);
        add(&takes[0], in_queue, buffer, start, packets, descriptions);
      }));
  enqueue(queue, 2400);
  enqueue(queue, RATE);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(to->calls == 1);
  WORKS(AudioQueueStop(queue, true));
  EQUAL(to->calls, 2);
  WORKS(AudioQueueDispose(queue, true));
  dispatch_release(callbacks);
  passed("run loop and dispatch queue");
}

static void dispose(void) {
  take *to = &takes[0];
  for (int at_once = 0; at_once < 2; at_once++) {
    AudioQueueRef queue = new_queue(0, RATE);
    AudioQueueBufferRef buffer = enqueue(queue, RATE);
    WORKS(AudioQueueStart(queue, NULL));
    WAIT(time_of(queue) > 4800);
    WORKS(AudioQueueDispose(queue, at_once));
    EQUAL(to->calls, at_once ? 0 : 1);
    if (!at_once) hear_all(to);
    int calls = to->calls;
    GIVES(AudioQueueStart(queue, NULL), kAudio_ParamError);
    GIVES(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL), kAudio_ParamError);
    let_time_pass();
    EQUAL(to->calls, calls);
  }
  passed("dispose");
}

int main(void) {
  cue_jack_silence();
  jack_status_t status;
  const char *server = getenv("JACK_DEFAULT_SERVER");
  emitter = cue_emitter_open(server, "emitter", 2, &status);
  CHECK(emitter != NULL);
  graph = jack_client_open("graph", JackServerName | JackNoStartServer, &status, server);
  CHECK(graph != NULL);
  format = float_format(RATE, 2);
  records_every_frame();
  stop_gives_what_there_is();
  stop_when_full();
  the_cookie_of_linear_pcm();
  format = float_format(RATE, 1);
  two_on_one_frame();
  pause_keeps_the_buffer();
  underrun();
  queue_types();
  properties();
  callback_targets();
  dispose();
  jack_client_close(graph);
  cue_emitter_close(emitter);
  return 0;
}
