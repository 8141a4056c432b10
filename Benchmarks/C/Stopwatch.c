#include "CBench.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_CHANNELS 8
#define MOST_CYCLES   65536

struct cue_stopwatch {
  jack_client_t *head, *tail;
  unsigned channels;
  jack_port_t *outputs[MOST_CHANNELS], *inputs[MOST_CHANNELS];
  atomic_int sound;
  uint32_t random;
  // JACK frame time of the head's latest cycle, and the host time at its end.
  _Atomic uint32_t frame;
  _Atomic uint64_t stamp;
  atomic_uint wanted, count;
  uint32_t nanoseconds[MOST_CYCLES];
  _Atomic float level;
  atomic_uint xruns;
};

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int head_cycle(jack_nframes_t frames, void *argument) {
  cue_stopwatch *watch = argument;
  int sound = atomic_load(&watch->sound);
  for (unsigned channel = 0; channel < watch->channels; channel++) {
    float *out = jack_port_get_buffer(watch->outputs[channel], frames);
    if (sound == CUE_SILENCE) {
      memset(out, 0, frames * sizeof *out);
      continue;
    }
    for (jack_nframes_t i = 0; i < frames; i++) {
      uint32_t random = watch->random = watch->random * 1664525 + 1013904223;
      if (sound == CUE_NOISE) {
        out[i] = (float)(int32_t)random * (0.25f / 2147483648.0f);
      } else {
        // A sign and a mantissa with a zero exponent: a denormal number.
        uint32_t bits = random & 0x807fffffu;
        memcpy(out + i, &bits, sizeof bits);
      }
    }
  }
  atomic_store(&watch->frame, jack_last_frame_time(watch->head));
  atomic_store(&watch->stamp, now());
  return 0;
}

static int tail_cycle(jack_nframes_t frames, void *argument) {
  uint64_t end = now();
  cue_stopwatch *watch = argument;
  float level = 0;
  for (unsigned channel = 0; channel < watch->channels; channel++) {
    const float *in = jack_port_get_buffer(watch->inputs[channel], frames);
    for (jack_nframes_t i = 0; i < frames; i++)
      level = fmaxf(level, fabsf(in[i]));
  }
  atomic_store(&watch->level, level);
  unsigned count = atomic_load(&watch->count);
  uint64_t begin = atomic_load(&watch->stamp);
  if (count < atomic_load(&watch->wanted) && begin <= end &&
      atomic_load(&watch->frame) == jack_last_frame_time(watch->tail)) {
    watch->nanoseconds[count] = end - begin < UINT32_MAX ? (uint32_t)(end - begin) : UINT32_MAX;
    atomic_store(&watch->count, count + 1);
  }
  return 0;
}

static int count_xrun(void *argument) {
  atomic_fetch_add(&((cue_stopwatch *)argument)->xruns, 1);
  return 0;
}

static jack_client_t *open_client(cue_stopwatch *watch, const char *server, const char *name,
                                  const char *part, JackProcessCallback cycle,
                                  jack_status_t *status) {
  char text[64];
  snprintf(text, sizeof text, "%s-%s", name, part);
  jack_client_t *client =
      jack_client_open(text, JackNoStartServer | JackServerName | JackUseExactName, status, server);
  if (client) jack_set_process_callback(client, cycle, watch);
  return client;
}

cue_stopwatch *cue_stopwatch_open(const char *server, const char *name, unsigned channels,
                                  jack_status_t *status) {
  *status = JackFailure;
  cue_stopwatch *watch = calloc(1, sizeof *watch);
  if (!watch || channels > MOST_CHANNELS) goto failed;
  watch->channels = channels;
  watch->head = open_client(watch, server, name, "head", head_cycle, status);
  if (!watch->head) goto failed;
  watch->tail = open_client(watch, server, name, "tail", tail_cycle, status);
  if (!watch->tail) goto failed;
  jack_set_xrun_callback(watch->tail, count_xrun, watch);
  for (unsigned channel = 0; channel < channels; channel++) {
    char port[16];
    snprintf(port, sizeof port, "out_%u", channel + 1);
    watch->outputs[channel] =
        jack_port_register(watch->head, port, JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
    snprintf(port, sizeof port, "in_%u", channel + 1);
    watch->inputs[channel] =
        jack_port_register(watch->tail, port, JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
    if (!watch->outputs[channel] || !watch->inputs[channel]) goto failed;
  }
  if (jack_activate(watch->head) == 0 && jack_activate(watch->tail) == 0) return watch;
failed:
  cue_stopwatch_close(watch);
  return NULL;
}

void cue_stopwatch_play(cue_stopwatch *watch, cue_sound sound) {
  atomic_store(&watch->sound, (int)sound);
}

void cue_stopwatch_start(cue_stopwatch *watch, unsigned cycles) {
  atomic_store(&watch->wanted, 0);
  atomic_store(&watch->count, 0);
  atomic_store(&watch->wanted, cycles < MOST_CYCLES ? cycles : MOST_CYCLES);
}

unsigned cue_stopwatch_count(const cue_stopwatch *watch) {
  return atomic_load(&watch->count);
}

uint32_t cue_stopwatch_nanoseconds(const cue_stopwatch *watch, unsigned number) {
  return watch->nanoseconds[number];
}

float cue_stopwatch_level(const cue_stopwatch *watch) {
  return atomic_load(&watch->level);
}

unsigned cue_stopwatch_xruns(const cue_stopwatch *watch) {
  return atomic_load(&watch->xruns);
}

bool cue_stopwatch_is_realtime(const cue_stopwatch *watch) {
  int policy = SCHED_OTHER;
  struct sched_param parameters;
  pthread_getschedparam(jack_client_thread_id(watch->tail), &policy, &parameters);
  return policy == SCHED_FIFO || policy == SCHED_RR;
}

jack_client_t *cue_stopwatch_client(const cue_stopwatch *watch) {
  return watch->tail;
}

void cue_stopwatch_close(cue_stopwatch *watch) {
  if (!watch) return;
  if (watch->head) jack_client_close(watch->head);
  if (watch->tail) jack_client_close(watch->tail);
  free(watch);
}
