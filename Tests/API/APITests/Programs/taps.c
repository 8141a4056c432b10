// Processing taps: their arguments, their output, and their restrictions.
#include "check.h"

enum {
  FRAMES = 3000
};

static AudioQueueProcessingTapRef tap;
static _Atomic long seen, ends, starts;
static _Atomic bool blocks;
static _Atomic int errors, changes, runs;

static void ignore(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)data, (void)queue;
  if (property == kAudioQueueProperty_ConverterError) errors++;
  if (property == kAudioQueueProperty_IsRunning) runs++;
  changes++;
}

static AudioQueueRef new_queue(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue;
  WORKS(AudioQueueNewOutput(&format, ignore, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, changed, NULL));
  seen = ends = starts = runs = 0;
  return queue;
}

static OSStatus add_tap(AudioQueueRef queue, AudioQueueProcessingTapCallback callback,
                        AudioQueueProcessingTapFlags flags) {
  UInt32 most = 0;
  AudioStreamBasicDescription format;
  memset(&format, 0, sizeof format);
  OSStatus status =
      AudioQueueProcessingTapNew(queue, callback, (void *)&seen, flags, &most, &format, &tap);
  if (status != noErr) return status;
  CHECK(most >= 256 && tap != NULL);
  EQUAL(format.mSampleRate, RATE);
  EQUAL(format.mChannelsPerFrame, 2);
  EQUAL(format.mBitsPerChannel, 32);
  EQUAL(format.mBytesPerFrame, sizeof(float));
  CHECK(format.mFormatFlags & kAudioFormatFlagIsNonInterleaved);
  CHECK(format.mFormatFlags & kAudioFormatFlagIsFloat);
  return noErr;
}

static void play_wave(AudioQueueRef queue, cue_capture *card) {
  cue_capture_arm(card);
  enqueue_wave(queue, new_buffer(queue, FRAMES), 0, FRAMES);
  WORKS(AudioQueueStop(queue, false));
  // Prime everything before the start, so that a busy machine causes no gap.
  WORKS(AudioQueuePrime(queue, 0, NULL));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(ends == 1 && runs == 2);
  end_recording(card);
}

/// Outputs twice the left channel and the negated right channel.
static void doubling(void *data, AudioQueueProcessingTapRef in, UInt32 frames, AudioTimeStamp *time,
                     AudioQueueProcessingTapFlags *flags, UInt32 *given, AudioBufferList *list) {
  CHECK(data == (void *)&seen && in == tap);
  EQUAL(list->mNumberBuffers, 2);
  CHECK(time->mFlags & kAudioTimeStampSampleTimeValid);
  Float64 queue_time = -1;
  UInt32 queue_frames = 0;
  WORKS(AudioQueueProcessingTapGetQueueTime(in, &queue_time, &queue_frames));
  EQUAL(queue_time, seen);
  EQUAL(queue_frames, frames);
  WORKS(AudioQueueProcessingTapGetSourceAudio(in, frames, time, flags, given, list));
  EQUAL(time->mSampleTime, seen);
  if (*flags & kAudioQueueProcessingTap_StartOfStream) starts++;
  if (*flags & kAudioQueueProcessingTap_EndOfStream) {
    EQUAL(*given, 0);
    ends++;
    return;
  }
  EQUAL(*given, frames);
  float *left = list->mBuffers[0].mData, *right = list->mBuffers[1].mData;
  for (UInt32 i = 0; i < frames; i++) {
    left[i] *= 2;
    right[i] = -right[i];
  }
  seen += frames;
}

static void a_tap_makes_the_sound(cue_capture *card, AudioQueueProcessingTapFlags flags) {
  AudioQueueRef queue = new_queue();
  WORKS(add_tap(queue, doubling, flags));
  GIVES(add_tap(queue, doubling, flags), kAudioQueueErr_TooManyTaps);
  play_wave(queue, card);
  EQUAL(seen, FRAMES);
  EQUAL(starts, 1);
  size_t at = find_sound(card, 0);
  const float *left = cue_capture_samples(card, 0), *right = cue_capture_samples(card, 1);
  for (long i = 0; i < FRAMES; i++) {
    EQUAL(left[at + (size_t)i], 2 * wave(i));
    EQUAL(right[at + (size_t)i], wave(i));
  }
  HEAR_SILENCE(card, at + FRAMES);
  UInt32 error = 99, size = sizeof error;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_ConverterError, &error, &size));
  EQUAL(error, 0);
  // The source is available only during a call of the tap.
  AudioTimeStamp time;
  AudioQueueProcessingTapFlags read_flags;
  AudioBufferList list = {0};
  Float64 queue_time;
  UInt32 frames;
  GIVES(AudioQueueProcessingTapGetSourceAudio(tap, 1, &time, &read_flags, &frames, &list),
        kAudioQueueErr_InvalidTapContext);
  GIVES(AudioQueueProcessingTapGetQueueTime(tap, &queue_time, &frames),
        kAudioQueueErr_InvalidTapContext);
  WORKS(AudioQueueProcessingTapDispose(tap));
  GIVES(AudioQueueProcessingTapDispose(tap), kAudio_ParamError);
  WORKS(AudioQueueDispose(queue, true));
}

static void looking(void *data, AudioQueueProcessingTapRef in, UInt32 frames, AudioTimeStamp *time,
                    AudioQueueProcessingTapFlags *flags, UInt32 *given, AudioBufferList *list) {
  (void)data;
  EQUAL(*given, frames);
  EQUAL(time->mSampleTime, seen);
  GIVES(AudioQueueProcessingTapGetSourceAudio(in, frames, time, flags, given, list),
        kAudioQueueErr_InvalidTapType);
  float *left = list->mBuffers[0].mData;
  for (UInt32 i = 0; i < frames; i++) {
    EQUAL(left[i], wave(seen + i));
    left[i] = 1;
  }
  seen += frames;
  if (*flags & kAudioQueueProcessingTap_StartOfStream) starts++;
  if (*flags & kAudioQueueProcessingTap_EndOfStream) ends++;
}

static void a_siphon_looks(cue_capture *card) {
  AudioQueueRef queue = new_queue();
  WORKS(add_tap(queue, looking,
                kAudioQueueProcessingTap_PostEffects | kAudioQueueProcessingTap_Siphon));
  play_wave(queue, card);
  EQUAL(seen, FRAMES);
  EQUAL(starts, 1);
  size_t end = HEAR(card, find_sound(card, 0), 0, FRAMES);
  HEAR_SILENCE(card, end);
  WORKS(AudioQueueDispose(queue, true));
  // The queue has disposed of the tap.
  GIVES(AudioQueueProcessingTapDispose(tap), kAudio_ParamError);
  passed("a siphon");
}

static void wrong_taps(void) {
  AudioQueueRef queue = new_queue();
  GIVES(add_tap(queue, looking, 0), kAudio_ParamError);
  GIVES(add_tap(queue, looking, kAudioQueueProcessingTap_Siphon), kAudio_ParamError);
  GIVES(add_tap(queue, looking,
                kAudioQueueProcessingTap_PreEffects | kAudioQueueProcessingTap_PostEffects),
        kAudio_ParamError);
  GIVES(add_tap((AudioQueueRef)(size_t)12345, looking, kAudioQueueProcessingTap_PreEffects),
        kAudio_ParamError);
  WORKS(AudioQueueStart(queue, NULL));
  GIVES(add_tap(queue, looking, kAudioQueueProcessingTap_PreEffects),
        kAudioQueueErr_InvalidRunState);
  WORKS(AudioQueueDispose(queue, true));
  passed("taps that cannot be");
}

static void miscounting(void *data, AudioQueueProcessingTapRef in, UInt32 frames,
                        AudioTimeStamp *time, AudioQueueProcessingTapFlags *flags, UInt32 *given,
                        AudioBufferList *list) {
  (void)data;
  WORKS(AudioQueueProcessingTapGetSourceAudio(in, frames, time, flags, given, list));
  if (*flags & kAudioQueueProcessingTap_EndOfStream) {
    ends++;
  } else {
    *given = frames + 1;
  }
}

static void a_tap_that_miscounts(cue_capture *card) {
  AudioQueueRef queue = new_queue();
  errors = 0;
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_ConverterError, changed, NULL));
  WORKS(add_tap(queue, miscounting, kAudioQueueProcessingTap_PreEffects));
  play_wave(queue, card);
  WAIT(errors > 0);
  UInt32 error = 0, size = sizeof error;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_ConverterError, &error, &size));
  EQUAL((OSStatus)error, kAudio_ParamError);
  GIVES(AudioQueueSetProperty(queue, kAudioQueueProperty_ConverterError, &error, size),
        kAudioQueueErr_Permissions);
  size_t end = HEAR(card, find_sound(card, 0), 0, FRAMES);
  HEAR_SILENCE(card, end);
  WORKS(AudioQueueDispose(queue, true));
  passed("a converter's error");
}

static void blocking(void *data, AudioQueueProcessingTapRef in, UInt32 frames, AudioTimeStamp *time,
                     AudioQueueProcessingTapFlags *flags, UInt32 *given, AudioBufferList *list) {
  (void)data, (void)in, (void)frames, (void)time, (void)flags, (void)given, (void)list;
  starts++;
  while (blocks)
    usleep(1000);
  ends++;
}

static void a_prime_that_takes_too_long(void) {
  AudioQueueRef queue = new_queue();
  UInt32 ready = 0;
  blocks = true;
  WORKS(add_tap(queue, blocking,
                kAudioQueueProcessingTap_PreEffects | kAudioQueueProcessingTap_Siphon));
  enqueue_wave(queue, new_buffer(queue, FRAMES), 0, FRAMES);
  GIVES(AudioQueuePrime(queue, 0, &ready), kAudioQueueErr_PrimeTimedOut);
  EQUAL(starts, 1);
  // A blocked tap delays nothing else.
  WORKS(AudioQueueStop(queue, true));
  WORKS(AudioQueueDispose(queue, true));
  blocks = false;
  WAIT(ends == 1);
  passed("a prime that takes too long");
}

static void the_decode_buffer(void) {
  AudioQueueRef queue = new_queue();
  UInt32 frames = 0, size = sizeof frames, ready = 0;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_DecodeBufferSizeFrames, &frames, &size));
  EQUAL(frames, 2048);
  frames = 1000;
  changes = 0;
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_DecodeBufferSizeFrames, changed,
                                      NULL));
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_DecodeBufferSizeFrames, &frames, size));
  WAIT(changes == 1);
  frames = 255;
  GIVES(AudioQueueSetProperty(queue, kAudioQueueProperty_DecodeBufferSizeFrames, &frames, size),
        kAudioQueueErr_InvalidPropertyValue);
  WORKS(add_tap(queue, looking,
                kAudioQueueProcessingTap_PreEffects | kAudioQueueProcessingTap_Siphon));
  enqueue_wave(queue, new_buffer(queue, FRAMES), 0, FRAMES);
  WORKS(AudioQueuePrime(queue, 1, &ready));
  // Two cycles of the server, if that is more.
  CHECK(ready >= 1 && ready <= 2048);
  // Prime exceeds the decode buffer if there is enough to prepare.
  WORKS(AudioQueuePrime(queue, 0, &ready));
  EQUAL(ready, FRAMES);
  ready = 0;
  GIVES(AudioQueuePrime(queue, FRAMES + 100, &ready), kAudioQueueErr_PrimeTimedOut);
  EQUAL(ready, FRAMES);
  WORKS(AudioQueueDispose(queue, true));
  passed("the decode buffer");
}

int main(void) {
  cue_capture *card = open_card(10);
  a_tap_makes_the_sound(card, kAudioQueueProcessingTap_PreEffects);
  a_tap_makes_the_sound(card, kAudioQueueProcessingTap_PostEffects);
  passed("a tap");
  a_siphon_looks(card);
  wrong_taps();
  a_tap_that_miscounts(card);
  a_prime_that_takes_too_long();
  the_decode_buffer();
  cue_capture_close(card);
  return 0;
}
