// Plays notes from the command line: the queue's callback computes each sample.
//
// Usage: synthesis [-t TEMPO] NOTE[+NOTE...][:BEATS] ...
//
//   -t  beats per minute; default: 120
//
// A note is a letter from A to G, # or b as needed, and an octave: A4 has 440 Hz. Notes joined by +
// sound together. - is a rest. Without BEATS a note lasts one beat.
//
// Build it with make. Run it on a JACK server, for example:
//   ./synthesis -t 90 C4 E4 G4 C5:2 -:0.5 C4+E4+G4:3
//
// Whenever the queue has played a buffer, it calls back for the next frames. The callback runs on
// the program's run loop, a few buffers ahead of what is heard, and may therefore take its time.

#include <AudioToolbox/AudioToolbox.h>

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  RATE = 48000,
  /// Enough buffers to compute one while the others play.
  BUFFER_COUNT = 3,
  FRAMES_PER_BUFFER = 2048,
  MOST_CHORDS = 256,
  MOST_NOTES = 8
};

/// Amplitude of the first harmonic of a note at its loudest.
static const double AMPLITUDE = 0.1;
/// Seconds in which a note reaches its amplitude, falls to 1/e of it, and ends.
static const double ATTACK = 0.005, DECAY = 0.6, RELEASE = 0.02;

/// Notes that begin and end together.
struct chord {
  double frequencies[MOST_NOTES];
  int count;
  UInt32 frames;
};

/// The melody, and the next frame to compute. Only the run loop's thread uses it.
struct synthesizer {
  struct chord chords[MOST_CHORDS];
  int count;
  int chord;
  UInt32 frame;
  bool is_at_end;
};

static void fail(const char *what, OSStatus status) {
  fprintf(stderr, "synthesis: %s: %d\n", what, (int)status);
  exit(1);
}

/// Ends the program if the call fails.
#define TRY(function, ...)                                                                         \
  do {                                                                                             \
    OSStatus status_ = function(__VA_ARGS__);                                                      \
    if (status_ != noErr) fail(#function, status_);                                                \
  } while (0)

// MARK: Notes

/// Parses a note and moves `text` behind it.
static bool read_note(const char **text, double *frequency) {
  // Semitones from C to each letter, from A on.
  static const int semitones[] = {9, 11, 0, 2, 4, 5, 7};
  const char *at = *text;
  int letter = toupper((unsigned char)*at++);
  if (letter < 'A' || letter > 'G') return false;
  int semitone = semitones[letter - 'A'];
  for (; *at == '#' || *at == 'b'; at++)
    semitone += *at == '#' ? 1 : -1;
  if (!isdigit((unsigned char)*at)) return false;
  int octave = *at++ - '0';
  // A4 is nine semitones above C4.
  *frequency = 440 * pow(2, octave - 4 + (semitone - 9) / 12.0);
  *text = at;
  return true;
}

/// Parses NOTE[+NOTE...][:BEATS].
static bool read_chord(const char *text, double tempo, struct chord *chord) {
  if (*text == '-') {
    text++;
  } else {
    for (;; text++) {
      if (chord->count == MOST_NOTES) return false;
      if (!read_note(&text, &chord->frequencies[chord->count++])) return false;
      if (*text != '+') break;
    }
  }
  double beats = 1;
  char *end = (char *)text;
  if (*text == ':') beats = strtod(text + 1, &end);
  if (*end != '\0' || !(beats > 0) || beats > 1000) return false;
  chord->frames = (UInt32)lround(beats * 60 / tempo * RATE);
  return true;
}

// MARK: Sound

/// Returns the amplitude of a note of `length` seconds after `time` seconds.
static double envelope(double time, double length) {
  double level = exp(-time / DECAY);
  if (time < ATTACK) level *= time / ATTACK;
  if (length - time < RELEASE) level *= (length - time) / RELEASE;
  return level;
}

/// Returns the sample of a chord at a frame: three harmonics of each note, each half as loud as the
/// one below.
static float sample(const struct chord *chord, UInt32 frame) {
  double time = (double)frame / RATE, sum = 0;
  for (int i = 0; i < chord->count; i++) {
    double phase = 2 * M_PI * chord->frequencies[i] * time;
    sum += sin(phase) + sin(2 * phase) / 2 + sin(3 * phase) / 4;
  }
  return (float)(AMPLITUDE * envelope(time, (double)chord->frames / RATE) * sum);
}

/// Fills a buffer with the next frames and enqueues it. At the end of the melody it stops the
/// queue, which first plays its remaining buffers.
static void fill(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  struct synthesizer *synthesizer = data;
  if (synthesizer->is_at_end) return;
  float *samples = buffer->mAudioData;
  UInt32 count = 0;
  while (count < FRAMES_PER_BUFFER && synthesizer->chord < synthesizer->count) {
    const struct chord *chord = &synthesizer->chords[synthesizer->chord];
    samples[count++] = sample(chord, synthesizer->frame++);
    if (synthesizer->frame < chord->frames) continue;
    synthesizer->chord++;
    synthesizer->frame = 0;
  }
  if (count > 0) {
    buffer->mAudioDataByteSize = count * sizeof(float);
    TRY(AudioQueueEnqueueBuffer, queue, buffer, 0, NULL);
  }
  if (synthesizer->chord < synthesizer->count) return;
  synthesizer->is_at_end = true;
  TRY(AudioQueueStop, queue, false);
}

/// Ends the run loop when the queue has played its last frame.
static void running_changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)data;
  UInt32 is_running, size = sizeof is_running;
  TRY(AudioQueueGetProperty, queue, property, &is_running, &size);
  if (!is_running) CFRunLoopStop(CFRunLoopGetCurrent());
}

static void play(struct synthesizer *synthesizer) {
  AudioStreamBasicDescription format = {
      .mSampleRate = RATE,
      .mFormatID = kAudioFormatLinearPCM,
      .mFormatFlags = kAudioFormatFlagsNativeFloatPacked,
      .mBytesPerPacket = sizeof(float),
      .mFramesPerPacket = 1,
      .mBytesPerFrame = sizeof(float),
      .mChannelsPerFrame = 1,
      .mBitsPerChannel = 32,
  };
  AudioQueueRef queue;
  TRY(AudioQueueNewOutput, &format, fill, synthesizer, CFRunLoopGetCurrent(), kCFRunLoopCommonModes,
      0, &queue);
  TRY(AudioQueueAddPropertyListener, queue, kAudioQueueProperty_IsRunning, running_changed, NULL);
  for (int i = 0; i < BUFFER_COUNT; i++) {
    AudioQueueBufferRef buffer;
    TRY(AudioQueueAllocateBuffer, queue, FRAMES_PER_BUFFER * sizeof(float), &buffer);
    fill(synthesizer, queue, buffer);
  }
  TRY(AudioQueueStart, queue, NULL);
  CFRunLoopRun();
  TRY(AudioQueueDispose, queue, true);
}

static int explain(void) {
  fprintf(stderr, "usage: synthesis [-t TEMPO] NOTE[+NOTE...][:BEATS] ...\n");
  return 64;
}

int main(int argc, char **argv) {
  double tempo = 120;
  int first = 1;
  if (argc > 2 && strcmp(argv[1], "-t") == 0) {
    tempo = atof(argv[2]);
    first = 3;
  }
  if (argc <= first || argc - first > MOST_CHORDS || !(tempo >= 10 && tempo <= 1000))
    return explain();
  static struct synthesizer synthesizer;
  for (int i = first; i < argc; i++) {
    if (read_chord(argv[i], tempo, &synthesizer.chords[synthesizer.count++])) continue;
    fprintf(stderr, "synthesis: “%s” is not a note\n", argv[i]);
    return 1;
  }
  play(&synthesizer);
  return 0;
}
