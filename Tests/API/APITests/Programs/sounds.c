// System sounds: files made by this program and captured by its own client.
#include "check.h"

#include <spawn.h>
#include <sys/wait.h>

#define FRAMES 9600

static char folder[] = "/tmp/cuejack-sounds-XXXXXX";
static char path[100];

static void put(FILE *file, UInt32 value, size_t bytes) {
  fwrite(&value, bytes, 1, file);
}

/// Writes a WAVE file. One-byte samples are silent; others are floats that identify their frame.
static CFURLRef write_sound(const char *name, UInt32 rate, UInt32 frames, UInt32 channels,
                            UInt32 sample) {
  snprintf(path, sizeof path, "%s/%s.wav", folder, name);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  UInt32 bytes = frames * channels * sample;
  fwrite("RIFF", 4, 1, file);
  put(file, bytes + 36, 4);
  fwrite("WAVEfmt ", 8, 1, file);
  put(file, 16, 4);
  put(file, sample == 1 ? 1 : 3, 2);
  put(file, channels, 2);
  put(file, rate, 4);
  put(file, rate * channels * sample, 4);
  put(file, channels * sample, 2);
  put(file, sample * 8, 2);
  fwrite("data", 4, 1, file);
  put(file, bytes, 4);
  for (UInt32 i = 0; i < frames; i++) {
    if (sample == 1) {
      for (UInt32 channel = 0; channel < channels; channel++)
        put(file, 0x80, 1);
    } else {
      float values[2] = {wave(i), -wave(i)};
      fwrite(values, sizeof(float), channels, file);
    }
  }
  fclose(file);
  CFURLRef url =
      CFURLCreateFromFileSystemRepresentation(NULL, (UInt8 *)path, (CFIndex)strlen(path), false);
  CHECK(url != NULL);
  return url;
}

static SystemSoundID make_sound(const char *name, UInt32 frames) {
  CFURLRef url = write_sound(name, RATE, frames, 2, 4);
  SystemSoundID sound = 0;
  WORKS(AudioServicesCreateSystemSoundID(url, &sound));
  CHECK(sound != 0);
  CFRelease(url);
  unlink(path);
  return sound;
}

static int completions;
static pthread_t main_thread;

static void completed(SystemSoundID sound, void *data) {
  CHECK(pthread_equal(pthread_self(), main_thread));
  CHECK(*(SystemSoundID *)data == sound);
  completions++;
}

static void playing(cue_capture *card) {
  static SystemSoundID sound;
  sound = make_sound("one", FRAMES);
  WORKS(AudioServicesAddSystemSoundCompletion(sound, NULL, NULL, completed, &sound));
  size_t at = cue_capture_frames(card);
  AudioServicesPlaySystemSound(sound);
  RUN_LOOP_UNTIL(completions == 1);
  record(card, SETTLED);
  at = HEAR(card, find_sound(card, at), 0, FRAMES);
  HEAR_SILENCE(card, at);

  // The completion block runs on any thread; the run loop's function is called as well.
  static volatile int blocks;
  AudioServicesPlayAlertSoundWithCompletion(sound, ^{
    blocks++;
  });
  RUN_LOOP_UNTIL(completions == 2 && blocks == 1);
  record(card, SETTLED);
  at = HEAR(card, find_sound(card, at), 0, FRAMES);

  AudioServicesRemoveSystemSoundCompletion(sound);
  AudioServicesPlaySystemSoundWithCompletion(sound, ^{
    blocks++;
  });
  WAIT(blocks == 2);
  CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.1, false);
  EQUAL(completions, 2);
  WORKS(AudioServicesDisposeSystemSoundID(sound));
  GIVES(AudioServicesDisposeSystemSoundID(sound), kAudioServicesSystemSoundUnspecifiedError);
  passed("a sound is heard, and its end told");

  // The built-in alert tone.
  at = cue_capture_frames(card);
  AudioServicesPlayAlertSoundWithCompletion(kSystemSoundID_UserPreferredAlert, ^{
    blocks++;
  });
  WAIT(blocks == 3);
  CHECK(find_sound(card, at) < cue_capture_frames(card));
  passed("the alert");
}

static int removals;

static void remove_itself(SystemSoundID sound, void *data) {
  AudioServicesRemoveSystemSoundCompletion(sound);
  free(data);
  removals++;
}

static void a_function_that_takes_itself_away(void) {
  static _Atomic int blocks;
  SystemSoundID sound = make_sound("two", FRAMES);
  WORKS(AudioServicesAddSystemSoundCompletion(sound, NULL, NULL, remove_itself, malloc(1)));
  for (int i = 0; i < 2; i++)
    AudioServicesPlaySystemSoundWithCompletion(sound, ^{
      blocks++;
    });
  // Both end before the run loop reports the first.
  WAIT(blocks == 2);
  RUN_LOOP_UNTIL(removals > 0);
  CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.1, false);
  EQUAL(removals, 1);
  WORKS(AudioServicesDisposeSystemSoundID(sound));
  passed("a function that takes itself away");
}

// MARK: Compressed sounds

static CFURLRef url_of(const char *name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return CFURLCreateFromFileSystemRepresentation(NULL, (UInt8 *)path, (CFIndex)strlen(path), false);
}

/// Encodes a tone to a file. Returns its decoded frames, `FRAMES` plus possible padding.
static UInt32 encode(CFURLRef url, AudioFileTypeID type, AudioFormatID codec, float *decoded,
                     UInt32 room) {
  AudioStreamBasicDescription client = float_format(RATE, 2), format;
  memset(&format, 0, sizeof format);
  format.mSampleRate = RATE;
  format.mFormatID = codec;
  format.mChannelsPerFrame = 2;
  ExtAudioFileRef file = NULL;
  WORKS(ExtAudioFileCreateWithURL(url, type, &format, NULL, 0, &file));
  WORKS(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof client,
                                &client));
  static float tone[FRAMES * 2];
  for (int i = 0; i < FRAMES; i++) {
    tone[2 * i] = 0.4f * sinf((float)i * 0.06f);
    tone[2 * i + 1] = 0.3f * sinf((float)i * 0.09f);
  }
  AudioBufferList list = {1, {{2, sizeof tone, tone}}};
  WORKS(ExtAudioFileWrite(file, FRAMES, &list));
  WORKS(ExtAudioFileDispose(file));

  WORKS(ExtAudioFileOpenURL(url, &file));
  WORKS(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof client,
                                &client));
  UInt32 frames = 0;
  while (frames < room) {
    UInt32 count = room - frames;
    AudioBufferList rest = {1, {{2, count * FRAME_BYTES, decoded + 2 * frames}}};
    WORKS(ExtAudioFileRead(file, &count, &rest));
    if (count == 0) break;
    frames += count;
  }
  WORKS(ExtAudioFileDispose(file));
  return frames;
}

static void compressed(cue_capture *card) {
  static const struct {
    const char *name;
    AudioFileTypeID type;
    AudioFormatID codec;
  } kinds[] = {
      {"a.m4a", kAudioFileM4AType, kAudioFormatMPEG4AAC},
      {"a.mp3", kAudioFileMP3Type, kAudioFormatMPEGLayer3},
      {"a.ogg", kAudioFileOggType, kAudioFormatOpus},
      {"a.flac", kAudioFileFLACType, kAudioFormatFLAC},
  };
  static float decoded[2 * (FRAMES + 5000)];
  for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
    CFURLRef url = url_of(kinds[kind].name);
    UInt32 frames =
        encode(url, kinds[kind].type, kinds[kind].codec, decoded, sizeof decoded / FRAME_BYTES);
    CHECK(frames >= FRAMES && frames < FRAMES + 5000);
    SystemSoundID sound = 0;
    WORKS(AudioServicesCreateSystemSoundID(url, &sound));
    CFRelease(url);
    unlink(path);
    size_t at = cue_capture_frames(card);
    static volatile int blocks;
    blocks = 0;
    AudioServicesPlaySystemSoundWithCompletion(sound, ^{
      blocks++;
    });
    WAIT(blocks == 1);
    record(card, SETTLED);
    // Every frame of the file is played, starting with the first that is not silent.
    UInt32 first = 0;
    while (first < frames && decoded[2 * first] == 0)
      first++;
    CHECK(first < FRAMES / 10);
    at = find_sound(card, at);
    CHECK(at + frames - first < cue_capture_frames(card));
    for (UInt32 i = first; i < frames; i++, at++) {
      CHECK(cue_capture_samples(card, 0)[at] == decoded[2 * i]);
      CHECK(cue_capture_samples(card, 1)[at] == decoded[2 * i + 1]);
    }
    HEAR_SILENCE(card, at);
    WORKS(AudioServicesDisposeSystemSoundID(sound));
  }
  passed("compressed sounds");
}

static SystemSoundID ended;

static void silent_completed(SystemSoundID sound, void *data) {
  CHECK(data == &ended);
  ended = sound;
}

/// Vibration and screen flash, which have no sound.
static void silent(cue_capture *card) {
  static const SystemSoundID sounds[] = {kSystemSoundID_Vibrate, kSystemSoundID_FlashScreen};
  size_t at = cue_capture_frames(card);
  for (int i = 0; i < 2; i++) {
    static volatile int blocks;
    blocks = 0;
    WORKS(AudioServicesAddSystemSoundCompletion(sounds[i], NULL, NULL, silent_completed, &ended));
    AudioServicesPlayAlertSoundWithCompletion(sounds[i], ^{
      blocks++;
    });
    RUN_LOOP_UNTIL(blocks == 1 && ended == sounds[i]);
    AudioServicesRemoveSystemSoundCompletion(sounds[i]);
    UInt32 value = 0, size = 4;
    WORKS(AudioServicesGetProperty(kAudioServicesPropertyIsUISound, 4, &sounds[i], &size, &value));
    EQUAL(value, 1);
    GIVES(AudioServicesDisposeSystemSoundID(sounds[i]), kAudioServicesSystemSoundUnspecifiedError);
  }
  record(card, SETTLED);
  HEAR_SILENCE(card, at);
  passed("vibration and flash");
}

static void many(cue_capture *card) {
  // Simultaneous sounds share a client and are mixed.
  SystemSoundID sound = make_sound("many", 2 * RATE);
  static volatile int blocks;
  size_t at = cue_capture_frames(card);
  for (int i = 0; i < 5; i++)
    AudioServicesPlaySystemSoundWithCompletion(sound, ^{
      __sync_fetch_and_add(&blocks, 1);
    });
  WAIT(find_sound(card, at) < cue_capture_frames(card));
  WAIT(blocks == 5);
  record(card, SETTLED);
  // Each sound rises by one step per frame from its first frame on, so five of them rise by five.
  const float *left = cue_capture_samples(card, 0);
  float steepest = 0;
  for (size_t i = at + 1; i < cue_capture_frames(card); i++) {
    float step = left[i] - left[i - 1];
    if (step > 0 && step < 16.0f / 16777216 && step > steepest) steepest = step;
  }
  EQUAL(steepest * 16777216, 5);

  // Disposed of during playback: it becomes silent, and the block is called.
  static volatile int ended;
  at = cue_capture_frames(card);
  AudioServicesPlaySystemSoundWithCompletion(sound, ^{
    ended++;
  });
  WAIT(find_sound(card, at) < cue_capture_frames(card));
  WORKS(AudioServicesDisposeSystemSoundID(sound));
  WAIT(ended == 1);
  size_t over = cue_capture_frames(card);
  record(card, SETTLED);
  HEAR_SILENCE(card, over + SETTLED / 2);
  passed("several at once");
}

static void mistakes(void) {
  SystemSoundID sound = 9;
  CFURLRef url = NULL;
  GIVES(AudioServicesCreateSystemSoundID(url, &sound), kAudio_ParamError);
  url = CFURLCreateWithFileSystemPath(NULL, CFSTR("/nonsense.wav"), kCFURLPOSIXPathStyle, 0);
  GIVES(AudioServicesCreateSystemSoundID(url, &sound), kAudioServicesSystemSoundUnspecifiedError);
  CHECK(sound == 0);
  CFRelease(url);
  url = write_sound("long", 8000, 8000 * 30 + 1, 1, 1);
  GIVES(AudioServicesCreateSystemSoundID(url, &sound),
        kAudioServicesSystemSoundExceededMaximumDurationError);
  CFRelease(url);
  url = write_sound("thirty", 8000, 8000 * 30, 1, 1);
  WORKS(AudioServicesCreateSystemSoundID(url, &sound));
  CFRelease(url);
  unlink(path);
  WORKS(AudioServicesDisposeSystemSoundID(sound));
  GIVES(AudioServicesAddSystemSoundCompletion(sound, NULL, NULL, completed, NULL),
        kAudioServicesSystemSoundUnspecifiedError);
  // A sound that cannot be played completes at once.
  static volatile int blocks;
  AudioServicesPlaySystemSoundWithCompletion(sound, ^{
    blocks++;
  });
  WAIT(blocks == 1);
  AudioServicesPlaySystemSound(77);
  passed("mistakes");
}

static void properties(void) {
  SystemSoundID sound = make_sound("properties", 10);
  UInt32 value = 9, size = 4;
  WORKS(AudioServicesGetProperty(kAudioServicesPropertyIsUISound, 4, &sound, &size, &value));
  CHECK(value == 1 && size == 4);
  size = 8;
  WORKS(AudioServicesGetProperty(kAudioServicesPropertyCompletePlaybackIfAppDies, 4, &sound, &size,
                                 &value));
  CHECK(value == 0 && size == 4);
  value = 0;
  WORKS(AudioServicesSetProperty(kAudioServicesPropertyIsUISound, 4, &sound, 4, &value));
  value = 9;
  WORKS(AudioServicesGetProperty(kAudioServicesPropertyIsUISound, 4, &sound, &size, &value));
  CHECK(value == 0);
  Boolean writable = 0;
  WORKS(AudioServicesGetPropertyInfo(kAudioServicesPropertyIsUISound, 4, &sound, &size, &writable));
  CHECK(size == 4 && writable);
  GIVES(AudioServicesGetProperty('nono', 4, &sound, &size, &value),
        kAudioServicesUnsupportedPropertyError);
  GIVES(AudioServicesGetProperty(kAudioServicesPropertyIsUISound, 2, &sound, &size, &value),
        kAudioServicesBadSpecifierSizeError);
  size = 2;
  GIVES(AudioServicesGetProperty(kAudioServicesPropertyIsUISound, 4, &sound, &size, &value),
        kAudioServicesBadPropertySizeError);
  GIVES(AudioServicesSetProperty(kAudioServicesPropertyIsUISound, 4, &sound, 8, &value),
        kAudioServicesBadPropertySizeError);
  WORKS(AudioServicesDisposeSystemSoundID(sound));
  GIVES(AudioServicesSetProperty(kAudioServicesPropertyIsUISound, 4, &sound, 4, &value),
        kAudioServicesSystemSoundUnspecifiedError);
  passed("properties");
}

/// Exits while a sound plays.
static void last_words(void) {
  SystemSoundID sound = make_sound("last", FRAMES);
  UInt32 value = 1;
  WORKS(AudioServicesSetProperty(kAudioServicesPropertyCompletePlaybackIfAppDies, 4, &sound, 4,
                                 &value));
  AudioServicesPlaySystemSound(sound);
}

static void ending(cue_capture *card) {
  size_t at = cue_capture_frames(card);
  char *arguments[] = {"sounds", "last", NULL};
  extern char **environ;
  pid_t child;
  CHECK(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  record(card, SETTLED);
  HEAR(card, find_sound(card, at), 0, FRAMES);
  passed("the program's end waits");
}

int main(int count, char **arguments) {
  (void)arguments;
  CHECK(mkdtemp(folder) != NULL);
  if (count > 1) {
    last_words();
    rmdir(folder);
    return 0;
  }
  main_thread = pthread_self();
  cue_capture *card = open_card(60);
  playing(card);
  a_function_that_takes_itself_away();
  compressed(card);
  silent(card);
  many(card);
  mistakes();
  properties();
  ending(card);
  end_recording(card);
  rmdir(folder);
  return 0;
}
