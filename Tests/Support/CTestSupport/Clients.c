#include "CTestSupport.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_CHANNELS 64
#define KEPT_GAPS     64

static void say_nothing(const char *message) {
  (void)message;
}

void cue_jack_silence(void) {
  jack_set_error_function(say_nothing);
  jack_set_info_function(say_nothing);
}

void cue_client_close(jack_client_t *client) {
  const struct timespec pause = {0, 20000000};
  nanosleep(&pause, NULL);
  jack_client_close(client);
}

static jack_client_t *open_client(const char *server, const char *name, jack_status_t *status) {
  return jack_client_open(name, JackNoStartServer | JackServerName | JackUseExactName, status,
                          server);
}

// Registers the ports in_1 … or out_1 …. Returns false if JACK refuses one.
static bool add_ports(jack_client_t *client, const char *stem, unsigned long flags,
                      unsigned channels, jack_port_t **ports) {
  for (unsigned channel = 0; channel < channels; channel++) {
    char name[16];
    snprintf(name, sizeof name, "%s_%u", stem, channel + 1);
    ports[channel] = jack_port_register(client, name, JACK_DEFAULT_AUDIO_TYPE, flags, 0);
    if (!ports[channel]) return false;
  }
  return true;
}

struct cue_capture {
  jack_client_t *client;
  jack_port_t *ports[MOST_CHANNELS];
  unsigned channels;
  size_t capacity;
  float *samples;

  atomic_bool armed;
  atomic_uint generation; // incremented by arm
  atomic_uint xruns;
  atomic_bool shut_down;
  atomic_uint cycles; // completed cycles

  // Written by the process callback; `frames` and `gap_count` publish them.
  unsigned seen_generation;
  uint32_t next_frame;
  uint32_t first_frame;
  uint64_t end_time;
  cue_gap gaps[KEPT_GAPS];
  atomic_uint gap_count;
  atomic_size_t frames;
};

static int capture_cycle(jack_nframes_t frames, void *argument) {
  cue_capture *capture = argument;
  if (atomic_load_explicit(&capture->armed, memory_order_acquire)) {
    uint32_t now = jack_last_frame_time(capture->client);
    size_t at = atomic_load_explicit(&capture->frames, memory_order_relaxed);
    unsigned generation = atomic_load_explicit(&capture->generation, memory_order_relaxed);
    if (generation != capture->seen_generation) {
      capture->seen_generation = generation;
      capture->first_frame = now;
    } else if (now != capture->next_frame && at < capture->capacity) {
      unsigned count = atomic_load_explicit(&capture->gap_count, memory_order_relaxed);
      if (count < KEPT_GAPS) capture->gaps[count] = (cue_gap){at, capture->next_frame, now};
      atomic_store_explicit(&capture->gap_count, count + 1, memory_order_release);
    }
    capture->next_frame = now + frames;
    jack_nframes_t counter;
    jack_time_t begin, next;
    float period;
    if (jack_get_cycle_times(capture->client, &counter, &begin, &next, &period) == 0)
      capture->end_time = next;
    size_t left = capture->capacity - at;
    size_t taken = left < frames ? left : frames;
    for (unsigned channel = 0; taken && channel < capture->channels; channel++)
      memcpy(capture->samples + channel * capture->capacity + at,
             jack_port_get_buffer(capture->ports[channel], frames), taken * sizeof(float));
    atomic_store_explicit(&capture->frames, at + taken, memory_order_release);
  }
  atomic_fetch_add_explicit(&capture->cycles, 1, memory_order_release);
  return 0;
}

static int capture_xrun(void *argument) {
  atomic_fetch_add(&((cue_capture *)argument)->xruns, 1);
  return 0;
}

static void capture_shut_down(void *argument) {
  atomic_store(&((cue_capture *)argument)->shut_down, true);
}

cue_capture *cue_capture_open(const char *server, const char *name, unsigned channels,
                              size_t capacity, bool is_card, jack_status_t *status) {
  *status = JackFailure;
  cue_capture *capture = calloc(1, sizeof *capture);
  if (!capture || channels > MOST_CHANNELS) goto failed;
  capture->channels = channels;
  capture->capacity = capacity;
  capture->samples = malloc((channels * capacity + 1) * sizeof(float));
  if (!capture->samples) goto failed;
  // Touch the memory here, so that no cycle causes a page fault.
  memset(capture->samples, 0, (channels * capacity + 1) * sizeof(float));
  capture->client = open_client(server, name, status);
  if (!capture->client) goto failed;
  jack_set_process_callback(capture->client, capture_cycle, capture);
  jack_set_xrun_callback(capture->client, capture_xrun, capture);
  jack_on_shutdown(capture->client, capture_shut_down, capture);
  unsigned long flags = JackPortIsInput | (is_card ? JackPortIsPhysical | JackPortIsTerminal : 0);
  if (add_ports(capture->client, "in", flags, channels, capture->ports) &&
      jack_activate(capture->client) == 0)
    return capture;
failed:
  cue_capture_close(capture);
  return NULL;
}

void cue_capture_arm(cue_capture *capture) {
  cue_capture_disarm(capture);
  atomic_store_explicit(&capture->frames, 0, memory_order_relaxed);
  atomic_store_explicit(&capture->gap_count, 0, memory_order_relaxed);
  atomic_fetch_add_explicit(&capture->generation, 1, memory_order_relaxed);
  atomic_store_explicit(&capture->armed, true, memory_order_release);
}

void cue_capture_disarm(cue_capture *capture) {
  if (!atomic_exchange(&capture->armed, false)) return;
  // Wait until a running cycle has ended, or the server has stopped calling.
  unsigned cycles = atomic_load_explicit(&capture->cycles, memory_order_acquire);
  for (int tries = 0; tries < 2000; tries++) {
    if (atomic_load_explicit(&capture->cycles, memory_order_acquire) - cycles >= 2 ||
        atomic_load(&capture->shut_down))
      return;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
}

size_t cue_capture_frames(const cue_capture *capture) {
  return atomic_load_explicit(&capture->frames, memory_order_acquire);
}

uint32_t cue_capture_first_frame(const cue_capture *capture) {
  return capture->first_frame;
}

uint64_t cue_capture_end_time(const cue_capture *capture) {
  return capture->end_time;
}

unsigned cue_capture_gap_count(const cue_capture *capture) {
  return atomic_load_explicit(&capture->gap_count, memory_order_acquire);
}

cue_gap cue_capture_gap(const cue_capture *capture, unsigned index) {
  return index < KEPT_GAPS ? capture->gaps[index] : (cue_gap){0, 0, 0};
}

unsigned cue_capture_xruns(const cue_capture *capture) {
  return atomic_load(&capture->xruns);
}

bool cue_capture_was_shut_down(const cue_capture *capture) {
  return atomic_load(&capture->shut_down);
}

const float *cue_capture_samples(const cue_capture *capture, unsigned channel) {
  return channel < capture->channels ? capture->samples + channel * capture->capacity : NULL;
}

jack_client_t *cue_capture_client(const cue_capture *capture) {
  return capture->client;
}

void cue_capture_close(cue_capture *capture) {
  if (!capture) return;
  if (capture->client) cue_client_close(capture->client);
  free(capture->samples);
  free(capture);
}

struct cue_emitter {
  jack_client_t *client;
  jack_port_t *ports[MOST_CHANNELS];
  unsigned channels;

  // Of the cycle.
  _Atomic uint32_t end_frame, end_before;
  _Atomic uint64_t end_time;
};

float cue_emitter_sample(uint32_t frame, unsigned channel) {
  // 24 bits, the most that a float holds exactly: 22 of the frame and 2 of the channel.
  return (float)((frame & 0x3fffff) | (channel & 3) << 22);
}

uint64_t cue_emitter_wrong(const float *samples, uint32_t frames, unsigned channels,
                           uint32_t first) {
  uint64_t wrong = 0;
  for (uint32_t frame = 0; frame < frames; frame++)
    for (unsigned channel = 0; channel < channels; channel++)
      if (*samples++ != cue_emitter_sample(first + frame, channel)) wrong++;
  return wrong;
}

static int emitter_cycle(jack_nframes_t frames, void *argument) {
  cue_emitter *emitter = argument;
  uint32_t now = jack_last_frame_time(emitter->client);
  for (unsigned channel = 0; channel < emitter->channels; channel++) {
    float *out = jack_port_get_buffer(emitter->ports[channel], frames);
    for (jack_nframes_t frame = 0; frame < frames; frame++)
      out[frame] = cue_emitter_sample(now + frame, channel);
  }
  jack_nframes_t counter;
  jack_time_t begin, next;
  float period;
  if (jack_get_cycle_times(emitter->client, &counter, &begin, &next, &period) == 0) {
    uint32_t before = atomic_load_explicit(&emitter->end_frame, memory_order_relaxed);
    atomic_store_explicit(&emitter->end_before, before, memory_order_relaxed);
    atomic_store_explicit(&emitter->end_frame, now + frames, memory_order_relaxed);
    atomic_store_explicit(&emitter->end_time, next, memory_order_release);
  }
  return 0;
}

cue_emitter *cue_emitter_open(const char *server, const char *name, unsigned channels,
                              jack_status_t *status) {
  *status = JackFailure;
  cue_emitter *emitter = calloc(1, sizeof *emitter);
  if (!emitter || channels > MOST_CHANNELS) goto failed;
  emitter->channels = channels;
  emitter->client = open_client(server, name, status);
  if (!emitter->client) goto failed;
  jack_set_process_callback(emitter->client, emitter_cycle, emitter);
  if (add_ports(emitter->client, "out", JackPortIsOutput, channels, emitter->ports) &&
      jack_activate(emitter->client) == 0)
    return emitter;
failed:
  cue_emitter_close(emitter);
  return NULL;
}

jack_client_t *cue_emitter_client(const cue_emitter *emitter) {
  return emitter->client;
}

bool cue_emitter_end(const cue_emitter *emitter, uint32_t *frame, uint64_t *microseconds,
                     uint32_t *before) {
  *microseconds = atomic_load_explicit(&emitter->end_time, memory_order_acquire);
  *frame = atomic_load_explicit(&emitter->end_frame, memory_order_relaxed);
  *before = atomic_load_explicit(&emitter->end_before, memory_order_relaxed);
  return *microseconds != 0;
}

void cue_emitter_close(cue_emitter *emitter) {
  if (!emitter) return;
  if (emitter->client) cue_client_close(emitter->client);
  free(emitter);
}
