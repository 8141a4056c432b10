// A JACK client in a process of its own. It loads libjack from LD_LIBRARY_PATH, which may be
// PipeWire's. It prints “ready” once it plays or records, and exits on SIGTERM or when its server
// has gone.
//
//   jack-peer silence PORT…             plays silence to each of the input ports
//   jack-peer numbers CHANNELS PORT…    plays frame numbers on out_1 …, like cue_emitter, and
//                                       prints “end FRAME MICROSECONDS BEFORE” of
//                                       cue_emitter_end at the end
//   jack-peer key OFFSET                on SIGUSR1, sends a note from its MIDI port keys:out,
//                                       OFFSET frames into the next cycle; prints “note FRAME”, its
//                                       frame time, at the end
//   jack-peer tone HZ AMPLITUDE OFFSET
//                                       plays a sine with an offset from its outputs tone:out_1 and
//                                       tone:out_2. These look like those of a sound card, which
//                                       programs connect to before they start. The second one has
//                                       half the amplitude and no offset
//   jack-peer capture FILE CHANNELS SECONDS PORT…
//                                       records the output ports on in_1 … and writes FILE at the
//                                       end
//   jack-peer card FILE CHANNELS SECONDS NAME
//                                       the same with inputs NAME:in_1 … like those of a sound
//                                       card, which programs connect to before they start
//
// The file starts with the numbers of channels, frames and cycles. For each cycle follow the index
// of its first frame, the frame time, and the predicted start of the next cycle in microseconds.
// All these numbers have 64 bits. Then come the samples of the first channel, of the second, and so
// on.
#include "CTestSupport.h"
#include <errno.h>
#include <inttypes.h>
#include <jack/midiport.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_CHANNELS 64

typedef struct {
  uint64_t frame, counter, next;
} cycle;

typedef struct {
  jack_client_t *client;
  jack_port_t *ports[MOST_CHANNELS];
  size_t channels, capacity, most_cycles;
  float *samples;
  cycle *cycles;
  atomic_size_t frames, cycle_count;
} recording;

static atomic_bool is_over;

static void end(int signal) {
  (void)signal;
  atomic_store(&is_over, true);
}

static void server_gone(void *argument) {
  (void)argument;
  atomic_store(&is_over, true);
}

static _Noreturn void fail(const char *what, const char *name) {
  fprintf(stderr, "jack-peer: %s %s\n", what, name);
  exit(1);
}

static void await_end(void) {
  puts("ready");
  fflush(stdout);
  while (!atomic_load(&is_over))
    nanosleep(&(struct timespec){0, 5000000}, NULL);
}

static jack_client_t *open_client(const char *name) {
  jack_status_t status = 0;
  jack_client_t *client = jack_client_open(name, JackNoStartServer, &status);
  if (!client) fail("no server takes the client", name);
  jack_on_shutdown(client, server_gone, NULL);
  return client;
}

static void connect(jack_client_t *client, const char *source, const char *destination) {
  // A port may not exist yet, as after a restart of the server, or PipeWire may not have seen it.
  for (int i = 0; i < 2000 && !atomic_load(&is_over); i++) {
    if (jack_port_by_name(client, source) && jack_port_by_name(client, destination)) {
      const int error = jack_connect(client, source, destination);
      if (!error || error == EEXIST) return;
    }
    nanosleep(&(struct timespec){0, 5000000}, NULL);
  }
  fail("cannot connect with", destination);
}

static jack_port_t *add_port(jack_client_t *client, const char *stem, size_t number,
                             unsigned long flags) {
  char name[32];
  snprintf(name, sizeof name, "%s_%zu", stem, number);
  jack_port_t *port = jack_port_register(client, name, JACK_DEFAULT_AUDIO_TYPE, flags, 0);
  if (!port) fail("there is no port", name);
  return port;
}

// MARK: Silence

static int silent_cycle(jack_nframes_t frames, void *argument) {
  memset(jack_port_get_buffer(argument, frames), 0, frames * sizeof(float));
  return 0;
}

static void play_silence(char **ports, size_t count) {
  jack_client_t *client = open_client("silence");
  jack_port_t *port = add_port(client, "out", 1, JackPortIsOutput);
  jack_set_process_callback(client, silent_cycle, port);
  if (jack_activate(client)) fail("cannot activate", "silence");
  for (size_t i = 0; i < count; i++)
    connect(client, jack_port_name(port), ports[i]);
  await_end();
  jack_client_close(client);
}

// MARK: Numbers

static void play_numbers(unsigned channels, char **ports, size_t count) {
  jack_status_t status = 0;
  cue_emitter *emitter = cue_emitter_open(NULL, "emitter", channels, &status);
  if (!emitter) fail("no server takes the client", "emitter");
  jack_client_t *client = cue_emitter_client(emitter);
  for (size_t i = 0; i < count && i < channels; i++) {
    char name[128];
    snprintf(name, sizeof name, "%s:out_%zu", jack_get_client_name(client), i + 1);
    connect(client, name, ports[i]);
  }
  await_end();
  uint32_t frame, before;
  uint64_t microseconds;
  if (cue_emitter_end(emitter, &frame, &microseconds, &before))
    printf("end %" PRIu32 " %" PRIu64 " %" PRIu32 "\n", frame, microseconds, before);
  fflush(stdout);
  cue_emitter_close(emitter);
}

// MARK: A tone

static struct {
  jack_port_t *ports[2];
  double step, amplitude, offset, phase;
} tone;

static int tone_cycle(jack_nframes_t frames, void *argument) {
  (void)argument;
  float *first = jack_port_get_buffer(tone.ports[0], frames);
  float *second = jack_port_get_buffer(tone.ports[1], frames);
  for (jack_nframes_t i = 0; i < frames; i++) {
    double sample = tone.amplitude * sin(tone.phase);
    first[i] = (float)(sample + tone.offset);
    second[i] = (float)(sample / 2);
    tone.phase = fmod(tone.phase + tone.step, 2 * M_PI);
  }
  return 0;
}

static void play_tone(double hertz, double amplitude, double offset) {
  jack_client_t *client = open_client("tone");
  tone.step = 2 * M_PI * hertz / jack_get_sample_rate(client);
  tone.amplitude = amplitude;
  tone.offset = offset;
  for (size_t i = 0; i < 2; i++)
    tone.ports[i] =
        add_port(client, "out", i + 1, JackPortIsOutput | JackPortIsPhysical | JackPortIsTerminal);
  jack_set_process_callback(client, tone_cycle, NULL);
  if (jack_activate(client)) fail("cannot activate", "tone");
  await_end();
  jack_client_close(client);
}

// MARK: A key

static struct {
  jack_client_t *client;
  jack_port_t *port;
  jack_nframes_t offset;
  atomic_bool is_struck, is_sent;
  jack_nframes_t frame; // published by is_sent
} key;

static void strike(int signal) {
  (void)signal;
  atomic_store(&key.is_struck, true);
}

static int key_cycle(jack_nframes_t frames, void *argument) {
  (void)argument;
  void *out = jack_port_get_buffer(key.port, frames);
  jack_midi_clear_buffer(out);
  if (key.offset >= frames || !atomic_exchange(&key.is_struck, false)) return 0;
  const jack_midi_data_t note_on[] = {0x90, 60, 100};
  if (jack_midi_event_write(out, key.offset, note_on, sizeof note_on)) return 0;
  key.frame = jack_last_frame_time(key.client) + key.offset;
  atomic_store_explicit(&key.is_sent, true, memory_order_release);
  return 0;
}

static void play_key(jack_nframes_t offset) {
  struct sigaction action = {.sa_handler = strike};
  sigaction(SIGUSR1, &action, NULL);
  key.client = open_client("keys");
  key.offset = offset;
  key.port = jack_port_register(key.client, "out", JACK_DEFAULT_MIDI_TYPE, JackPortIsOutput, 0);
  if (!key.port) fail("there is no port", "out");
  jack_set_process_callback(key.client, key_cycle, NULL);
  if (jack_activate(key.client)) fail("cannot activate", "keys");
  await_end();
  if (atomic_load_explicit(&key.is_sent, memory_order_acquire))
    printf("note %" PRIu32 "\n", key.frame);
  fflush(stdout);
  jack_client_close(key.client);
}

// MARK: A recording

static int record_cycle(jack_nframes_t frames, void *argument) {
  recording *into = argument;
  size_t at = atomic_load_explicit(&into->frames, memory_order_relaxed);
  size_t number = atomic_load_explicit(&into->cycle_count, memory_order_relaxed);
  if (at + frames > into->capacity || number == into->most_cycles) return 0;
  jack_nframes_t counter;
  jack_time_t begin, next;
  float period;
  if (jack_get_cycle_times(into->client, &counter, &begin, &next, &period)) return 0;
  into->cycles[number] = (cycle){at, counter, next};
  for (size_t channel = 0; channel < into->channels; channel++)
    memcpy(into->samples + channel * into->capacity + at,
           jack_port_get_buffer(into->ports[channel], frames), frames * sizeof(float));
  atomic_store_explicit(&into->frames, at + frames, memory_order_release);
  atomic_store_explicit(&into->cycle_count, number + 1, memory_order_release);
  return 0;
}

static void write_recording(const recording *recorded, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file) fail("cannot write", path);
  size_t cycles = atomic_load_explicit(&recorded->cycle_count, memory_order_acquire);
  size_t frames = atomic_load_explicit(&recorded->frames, memory_order_acquire);
  uint64_t counts[] = {recorded->channels, frames, cycles};
  bool written = fwrite(counts, sizeof counts, 1, file) == 1 &&
                 fwrite(recorded->cycles, sizeof(cycle), cycles, file) == cycles;
  for (size_t channel = 0; channel < recorded->channels; channel++)
    written &= fwrite(recorded->samples + channel * recorded->capacity, sizeof(float), frames,
                      file) == frames;
  if (fclose(file) || !written) fail("cannot write", path);
}

/// Records as the client `card`, with the inputs of a sound card, or as `capture` if that is NULL.
static void record(const char *path, size_t channels, double seconds, const char *card,
                   char **ports, size_t count) {
  static recording into;
  if (channels > MOST_CHANNELS) fail("too many channels:", "64 are the most");
  into.client = open_client(card ? card : "capture");
  into.channels = channels;
  into.capacity = (size_t)(seconds * jack_get_sample_rate(into.client));
  // The shortest period of any server here.
  into.most_cycles = into.capacity / 16 + 1;
  into.samples = calloc(channels * into.capacity + 1, sizeof(float));
  into.cycles = calloc(into.most_cycles, sizeof(cycle));
  if (!into.samples || !into.cycles) fail("no memory for", path);
  unsigned long flags = JackPortIsInput | (card ? JackPortIsPhysical | JackPortIsTerminal : 0);
  for (size_t channel = 0; channel < channels; channel++)
    into.ports[channel] = add_port(into.client, "in", channel + 1, flags);
  jack_set_process_callback(into.client, record_cycle, &into);
  if (jack_activate(into.client)) fail("cannot activate", "capture");
  for (size_t i = 0; i < count && i < channels; i++)
    connect(into.client, ports[i], jack_port_name(into.ports[i]));
  await_end();
  jack_client_close(into.client);
  write_recording(&into, path);
}

int main(int count, char **words) {
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  const char *command = count > 1 ? words[1] : "";
  if (!strcmp(command, "silence")) {
    play_silence(words + 2, (size_t)count - 2);
  } else if (!strcmp(command, "numbers") && count > 2) {
    play_numbers((unsigned)atoi(words[2]), words + 3, (size_t)count - 3);
  } else if (!strcmp(command, "key") && count > 2) {
    play_key((jack_nframes_t)atoi(words[2]));
  } else if (!strcmp(command, "tone") && count == 5) {
    play_tone(atof(words[2]), atof(words[3]), atof(words[4]));
  } else if (!strcmp(command, "capture") && count > 4) {
    record(words[2], (size_t)atoi(words[3]), atof(words[4]), NULL, words + 5, (size_t)count - 5);
  } else if (!strcmp(command, "card") && count == 6) {
    record(words[2], (size_t)atoi(words[3]), atof(words[4]), words[5], NULL, 0);
  } else {
    fprintf(stderr, "usage: jack-peer silence|numbers|key|tone|capture|card …\n");
    return 64;
  }
  return 0;
}
