// Rendering to memory like programs that export a file: a single buffer that the callback refills,
// and a run loop that never runs.
#include "check.h"

enum {
  FRAMES = 1000,
  TOTAL = 10300
};

static const AudioTimeStamp begin = {.mFlags = kAudioTimeStampSampleTimeValid};

static AudioStreamBasicDescription integers(double rate, UInt32 channels, UInt32 bytes) {
  AudioStreamBasicDescription format = float_format(rate, channels);
  format.mFormatFlags = kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked;
  format.mBytesPerPacket = format.mBytesPerFrame = channels * bytes;
  format.mBitsPerChannel = 8 * bytes;
  return format;
}

/// The state of a simulated file and the thread that reads it.
struct file {
  long read;
  bool flushed;
  int calls, changes;
  pthread_t thread;
};

static void read_file(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  struct file *file = data;
  CHECK(pthread_equal(pthread_self(), file->thread));
  file->calls++;
  long frames = TOTAL - file->read < FRAMES ? TOTAL - file->read : FRAMES;
  if (frames == 0) {
    if (!file->flushed) WORKS(AudioQueueFlush(queue));
    file->flushed = true;
    WORKS(AudioQueueStop(queue, false));
    return;
  }
  enqueue_wave(queue, buffer, file->read, frames);
  file->read += frames;
}

static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  struct file *file = data;
  CHECK(pthread_equal(pthread_self(), file->thread));
  CHECK(property == kAudioQueueProperty_IsRunning);
  EQUAL(is_running(queue), file->changes == 0);
  file->changes++;
}

/// Exports a file from `rate` to floats at 48 kHz, `wanted` frames per call. Returns the number of
/// frames.
static long export_file(double rate, long wanted, float *output, long room) {
  AudioStreamBasicDescription format = float_format(rate, 2), render = float_format(RATE, 2);
  AudioChannelLayout layout = {.mChannelLayoutTag = kAudioChannelLayoutTag_Stereo};
  AudioQueueRef queue;
  struct file file = {.thread = pthread_self()};
  AudioTimeStamp time = begin;
  WORKS(AudioQueueNewOutput(&format, read_file, &file, CFRunLoopGetCurrent(), NULL, 0, &queue));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, changed, &file));
  WORKS(AudioQueueSetOfflineRenderFormat(queue, &render, &layout));
  AudioQueueBufferRef buffer = new_buffer(queue, FRAMES), capture = new_buffer(queue, wanted);
  WORKS(AudioQueueStart(queue, NULL));
  capture->mAudioDataByteSize = 99;
  WORKS(AudioQueueOfflineRender(queue, &time, capture, 0));
  EQUAL(capture->mAudioDataByteSize, 0);
  EQUAL(is_running(queue), 1);
  read_file(&file, queue, buffer);
  long done = 0;
  while (!file.flushed) {
    WORKS(AudioQueueOfflineRender(queue, &time, capture, (UInt32)wanted));
    long frames = capture->mAudioDataByteSize / FRAME_BYTES;
    CHECK(capture->mAudioDataByteSize % FRAME_BYTES == 0 && done + frames <= room);
    memcpy(output + 2 * done, capture->mAudioData, capture->mAudioDataByteSize);
    done += frames;
    time.mSampleTime += (double)frames;
  }
  // The program was notified of the end and does not call again.
  EQUAL(file.changes, 2);
  EQUAL(file.calls, 1 + (TOTAL + FRAMES - 1) / FRAMES);
  WORKS(AudioQueueOfflineRender(queue, &time, capture, (UInt32)wanted));
  EQUAL(capture->mAudioDataByteSize, 0);
  WORKS(AudioQueueStop(queue, true));
  WORKS(AudioQueueDispose(queue, true));
  return done;
}

static void an_export(void) {
  static float output[4 * TOTAL];
  for (long wanted = 700; wanted < 24000; wanted *= 3) {
    EQUAL(export_file(RATE, wanted, output, 2 * TOTAL), TOTAL);
    for (long i = 0; i < TOTAL; i++)
      CHECK(output[2 * i] == wave(i) && output[2 * i + 1] == -wave(i));
  }
  passed("an export");
}

static void at_another_rate(void) {
  static float output[4 * TOTAL];
  for (long wanted = 700; wanted < 24000; wanted *= 3)
    EQUAL(export_file(44100, wanted, output, 2 * TOTAL), lround(TOTAL * 48000.0 / 44100));
  passed("at another rate");
}

static void nothing(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

static void volume_trims_and_starts(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2), render = integers(RATE, 2, 2);
  AudioQueueRef queue;
  WORKS(AudioQueueNewOutput(&format, nothing, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueSetOfflineRenderFormat(queue, &render, NULL));
  AudioQueueBufferRef buffer = new_buffer(queue, 8), capture = new_buffer(queue, 100);
  float *samples = buffer->mAudioData;
  for (int i = 0; i < 16; i++)
    samples[i] = (float)(i - 8) / 8;
  buffer->mAudioDataByteSize = 8 * FRAME_BYTES;
  AudioQueueParameterEvent half = {kAudioQueueParam_Volume, 0.5f};
  AudioTimeStamp at = begin;
  at.mSampleTime = 3;
  WORKS(AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, 1, 2, 1, &half, &at, NULL));
  WORKS(AudioQueueStart(queue, &at));
  WORKS(AudioQueueOfflineRender(queue, NULL, capture, 100));
  EQUAL(capture->mAudioDataByteSize, 8 * 4);
  const SInt16 *got = capture->mAudioData;
  for (int i = 0; i < 16; i++)
    EQUAL(got[i], i < 6 ? 0 : (i - 6 + 2 - 8) * 2048);
  EQUAL(time_of(queue), 8);
  WORKS(AudioQueueDispose(queue, false));
  passed("volume, trims and starts");
}

static void time_stamps(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue;
  WORKS(AudioQueueNewOutput(&format, nothing, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueSetOfflineRenderFormat(queue, &format, NULL));
  AudioQueueBufferRef capture = new_buffer(queue, 100);
  enqueue_wave(queue, new_buffer(queue, 300), 0, 300);
  WORKS(AudioQueueStart(queue, NULL));
  AudioTimeStamp time = begin;
  WORKS(AudioQueueOfflineRender(queue, &time, capture, 100));
  // This time has already been rendered.
  GIVES(AudioQueueOfflineRender(queue, &time, capture, 100), kAudio_ParamError);
  // The frames 100 to 999 are silent, and the sound continues where it stopped.
  time.mSampleTime = 1000;
  WORKS(AudioQueueOfflineRender(queue, &time, capture, 100));
  EQUAL(capture->mAudioDataByteSize, 100 * FRAME_BYTES);
  for (long i = 0; i < 100; i++)
    EQUAL(((float *)capture->mAudioData)[2 * i], wave(100 + i));
  EQUAL(time_of(queue), 1100);
  // An invalid time stamp and a NULL one have no effect.
  time = (AudioTimeStamp){.mSampleTime = 5};
  WORKS(AudioQueueOfflineRender(queue, &time, capture, 50));
  WORKS(AudioQueueOfflineRender(queue, NULL, capture, 100));
  EQUAL(capture->mAudioDataByteSize, 50 * FRAME_BYTES);
  EQUAL(time_of(queue), 1200);
  WORKS(AudioQueueDispose(queue, true));
  passed("time stamps");
}

/// A layout of two swapped channels.
static const struct {
  AudioChannelLayout layout;
  AudioChannelDescription second;
} crossed = {.layout = {.mChannelLayoutTag = kAudioChannelLayoutTag_UseChannelDescriptions,
                        .mNumberChannelDescriptions = 2,
                        .mChannelDescriptions = {{.mChannelLabel = kAudioChannelLabel_Right}}},
             .second = {.mChannelLabel = kAudioChannelLabel_Left}};

static void layouts(void) {
  AudioStreamBasicDescription format = float_format(RATE, 3);
  const AudioChannelLayout own = {.mChannelLayoutTag = kAudioChannelLayoutTag_MPEG_3_0_B};
  const AudioChannelLayout tags[] = {{.mChannelLayoutTag = kAudioChannelLayoutTag_MPEG_3_0_A},
                                     {.mChannelLayoutTag = kAudioChannelLayoutTag_MPEG_3_0_B}};
  const float expected[2][3] = {{2, 3, 1}, {1, 2, 3}};
  // The queue's layout may be set before or after the format's.
  for (int i = 0; i < 4; i++) {
    AudioQueueRef queue;
    WORKS(AudioQueueNewOutput(&format, nothing, NULL, NULL, NULL, 0, &queue));
    for (int step = 0; step < 2; step++) {
      if (step == i / 2)
        WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_ChannelLayout, &own, sizeof own));
      else
        WORKS(AudioQueueSetOfflineRenderFormat(queue, &format, &tags[i % 2]));
    }
    AudioQueueBufferRef buffer = new_buffer(queue, 3), capture = new_buffer(queue, 3);
    const float samples[] = {1, 2, 3};
    memcpy(buffer->mAudioData, samples, sizeof samples);
    buffer->mAudioDataByteSize = sizeof samples;
    WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
    WORKS(AudioQueueStart(queue, NULL));
    WORKS(AudioQueueOfflineRender(queue, NULL, capture, 1));
    EQUAL(capture->mAudioDataByteSize, sizeof samples);
    CHECK(memcmp(capture->mAudioData, expected[i % 2], sizeof samples) == 0);
    WORKS(AudioQueueDispose(queue, true));
  }
  // Only the existing descriptions are read.
  format = float_format(RATE, 2);
  AudioQueueRef queue;
  WORKS(AudioQueueNewOutput(&format, nothing, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueSetOfflineRenderFormat(queue, &format, &crossed.layout));
  AudioQueueBufferRef capture = new_buffer(queue, 1);
  enqueue_wave(queue, new_buffer(queue, 1), 7, 1);
  WORKS(AudioQueueStart(queue, NULL));
  WORKS(AudioQueueOfflineRender(queue, NULL, capture, 1));
  EQUAL(((float *)capture->mAudioData)[0], -wave(7));
  EQUAL(((float *)capture->mAudioData)[1], wave(7));
  WORKS(AudioQueueDispose(queue, true));
  passed("layouts");
}

/// The sound card's channels follow the layout, not the order of the channels.
static void a_layout_on_the_device(cue_capture *card) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue;
  cue_capture_arm(card);
  WORKS(AudioQueueNewOutput(&format, nothing, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_ChannelLayout, &crossed, sizeof crossed));
  AudioQueueBufferRef buffer = new_buffer(queue, 300);
  fill_with_wave(buffer, 0, 300);
  float *samples = buffer->mAudioData;
  for (int i = 0; i < 600; i++)
    samples[i] = -samples[i];
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(time_of(queue) >= 300);
  record(card, SETTLED);
  WORKS(AudioQueueDispose(queue, true));
  end_recording(card);
  HEAR_SILENCE(card, HEAR(card, find_sound(card, 0), 0, 300));
  passed("a layout on the device");
}

static void results(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2), wrong = integers(RATE, 2, 2);
  AudioChannelLayout layout = {.mChannelLayoutTag = kAudioChannelLayoutTag_Mono};
  AudioQueueRef queue, other;
  AudioTimeStamp time = begin;
  WORKS(AudioQueueNewOutput(&format, nothing, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueNewOutput(&format, nothing, NULL, NULL, NULL, 0, &other));
  AudioQueueBufferRef buffer = new_buffer(queue, 10), foreign = new_buffer(other, 10);
  WORKS(AudioQueueSetOfflineRenderFormat(queue, NULL, NULL));
  GIVES(AudioQueueOfflineRender(queue, &time, buffer, 0), kAudioQueueErr_InvalidOfflineMode);
  wrong.mFormatFlags |= kAudioFormatFlagIsNonInterleaved;
  GIVES(AudioQueueSetOfflineRenderFormat(queue, &wrong, NULL),
        kAudioFormatUnsupportedDataFormatError);
  wrong.mFormatID = kAudioFormatMPEG4AAC;
  GIVES(AudioQueueSetOfflineRenderFormat(queue, &wrong, NULL),
        kAudioFormatUnsupportedDataFormatError);
  GIVES(AudioQueueSetOfflineRenderFormat(queue, &format, &layout),
        kAudioFormatUnsupportedDataFormatError);
  layout.mChannelLayoutTag = kAudioChannelLayoutTag_UseChannelBitmap;
  layout.mChannelBitmap = 3;
  WORKS(AudioQueueSetOfflineRenderFormat(queue, &format, &layout));
  GIVES(AudioQueueOfflineRender(queue, &time, buffer, 0), kAudioQueueErr_InvalidRunState);
  WORKS(AudioQueueStart(queue, NULL));
  GIVES(AudioQueueOfflineRender(queue, &time, foreign, 0), kAudioQueueErr_InvalidBuffer);
  GIVES(AudioQueueSetOfflineRenderFormat(queue, &format, NULL), kAudioQueueErr_InvalidRunState);
  GIVES(AudioQueueSetOfflineRenderFormat(queue, NULL, NULL), kAudioQueueErr_InvalidRunState);
  WORKS(AudioQueueOfflineRender(queue, &time, buffer, 1000));
  EQUAL(buffer->mAudioDataByteSize, 0);
  // Calls that need a device.
  AudioTimeStamp now;
  WORKS(AudioQueueDeviceGetCurrentTime(queue, &now));
  EQUAL(now.mFlags, kAudioTimeStampHostTimeValid);
  GIVES(AudioQueueDeviceTranslateTime(queue, &now, &time), kAudioQueueErr_InvalidOfflineMode);
  GIVES(AudioQueueDeviceGetNearestStartTime(queue, &now, 0), kAudioQueueErr_InvalidOfflineMode);
  CFStringRef uid = NULL;
  UInt32 size = sizeof uid;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_CurrentDevice, &uid, &size));
  GIVES(AudioQueueSetProperty(queue, kAudioQueueProperty_CurrentDevice, &uid, size),
        kAudioQueueErr_InvalidOfflineMode);
  CFRelease(uid);
  Float64 rate;
  size = sizeof rate;
  GIVES(AudioQueueGetProperty(queue, kAudioQueueDeviceProperty_SampleRate, &rate, &size),
        kAudioQueueErr_InvalidOfflineMode);
  enqueue_wave(queue, buffer, 0, 10);
  GIVES(AudioQueueOfflineRender(queue, &time, buffer, 10), kAudioQueueErr_BufferInQueue);
  WORKS(AudioQueueDispose(queue, false));
  GIVES(AudioQueueOfflineRender(queue, &time, buffer, 10), kAudio_ParamError);
  GIVES(AudioQueueSetOfflineRenderFormat(queue, NULL, NULL), kAudio_ParamError);
  WORKS(AudioQueueDispose(other, true));
  passed("results");
}

static AudioQueueBufferRef captured;

static void dispose(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data;
  GIVES(AudioQueueFreeBuffer(queue, captured), kAudioQueueErr_BufferInQueue);
  WORKS(AudioQueueFreeBuffer(queue, buffer));
  WORKS(AudioQueueDispose(queue, true));
}

static void dispose_in_a_callback(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue;
  WORKS(AudioQueueNewOutput(&format, dispose, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueSetOfflineRenderFormat(queue, &format, NULL));
  captured = new_buffer(queue, 100);
  enqueue_wave(queue, new_buffer(queue, 10), 0, 10);
  WORKS(AudioQueueStart(queue, NULL));
  WORKS(AudioQueueOfflineRender(queue, NULL, captured, 100));
  GIVES(AudioQueueOfflineRender(queue, NULL, captured, 100), kAudio_ParamError);
  passed("dispose in a callback");
}

static void back_to_the_device(cue_capture *card) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue;
  cue_capture_arm(card);
  WORKS(AudioQueueNewOutput(&format, nothing, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueSetOfflineRenderFormat(queue, &format, NULL));
  AudioQueueBufferRef capture = new_buffer(queue, 100);
  enqueue_wave(queue, new_buffer(queue, 100), 0, 100);
  WORKS(AudioQueueStart(queue, NULL));
  WORKS(AudioQueueOfflineRender(queue, &begin, capture, 100));
  EQUAL(capture->mAudioDataByteSize, 100 * FRAME_BYTES);
  WORKS(AudioQueueStop(queue, true));
  enqueue_wave(queue, new_buffer(queue, 300), 500, 300);
  WORKS(AudioQueueSetOfflineRenderFormat(queue, NULL, NULL));
  GIVES(AudioQueueOfflineRender(queue, &begin, capture, 100), kAudioQueueErr_InvalidOfflineMode);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(time_of(queue) >= 300);
  record(card, SETTLED);
  WORKS(AudioQueueDispose(queue, true));
  end_recording(card);
  // The rendered frames were not played.
  HEAR_SILENCE(card, HEAR(card, find_sound(card, 0), 500, 300));
  passed("back to the device");
}

int main(void) {
  // These parts need no server, although one is running.
  an_export();
  at_another_rate();
  volume_trims_and_starts();
  time_stamps();
  layouts();
  results();
  dispose_in_a_callback();
  cue_capture *card = open_card(10);
  back_to_the_device(card);
  a_layout_on_the_device(card);
  cue_capture_close(card);
  return 0;
}
