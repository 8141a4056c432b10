#include "CBench.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define PORTS 2
#define BINS  65536

struct cue_lateness {
  jack_client_t *client;
  jack_port_t *inputs[PORTS];
  // A client without inputs, which jackd runs as a cycle begins: it stamps the time. The measuring
  // client gets its output, so it runs later. jack_get_cycle_times gives a smoothed time, which is
  // wrong for a while after late cycles.
  jack_client_t *head;
  jack_port_t *head_output, *head_input;
  _Atomic uint64_t begin;
  _Atomic jack_nframes_t begin_frame;
  // Number of cycles that got here so many microseconds after their begin.
  _Atomic uint32_t bins[BINS];
  atomic_uint xruns;
  _Atomic float level;
  atomic_bool counts;
};

static int begin_cycle(jack_nframes_t frames, void *argument) {
  cue_lateness *lateness = argument;
  (void)frames;
  atomic_store(&lateness->begin, jack_get_time());
  atomic_store(&lateness->begin_frame, jack_last_frame_time(lateness->head));
  return 0;
}

static int cycle(jack_nframes_t frames, void *argument) {
  cue_lateness *lateness = argument;
  float level = 0;
  jack_time_t now = jack_get_time();
  // The stamp of another cycle: the head has missed this one, or has begun the next one already.
  bool is_known = atomic_load(&lateness->begin_frame) == jack_last_frame_time(lateness->client);
  jack_time_t begin = atomic_load(&lateness->begin);
  for (unsigned i = 0; i < PORTS; i++) {
    const float *in = jack_port_get_buffer(lateness->inputs[i], frames);
    for (jack_nframes_t frame = 0; frame < frames; frame++)
      level = fmaxf(level, fabsf(in[frame]));
  }
  atomic_store(&lateness->level, level);
  // Cycles without sound are those of a program that jackd has put out.
  if (is_known && now >= begin && level > 0 && atomic_load(&lateness->counts))
    atomic_fetch_add(&lateness->bins[now - begin < BINS ? now - begin : BINS - 1], 1);
  return 0;
}

static int count_xrun(void *argument) {
  cue_lateness *lateness = argument;
  if (atomic_load(&lateness->counts)) atomic_fetch_add(&lateness->xruns, 1);
  return 0;
}

cue_lateness *cue_lateness_open(const char *server, const char *name, jack_status_t *status) {
  *status = JackFailure;
  cue_lateness *lateness = calloc(1, sizeof *lateness);
  if (!lateness) return NULL;
  lateness->client =
      jack_client_open(name, JackNoStartServer | JackServerName | JackUseExactName, status, server);
  if (!lateness->client) goto failed;
  jack_set_process_callback(lateness->client, cycle, lateness);
  jack_set_xrun_callback(lateness->client, count_xrun, lateness);
  for (unsigned i = 0; i < PORTS; i++) {
    char port[16];
    snprintf(port, sizeof port, "in_%u", i + 1);
    lateness->inputs[i] =
        jack_port_register(lateness->client, port, JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
    if (!lateness->inputs[i]) goto failed;
  }
  lateness->head = jack_client_open(
      "lateness-head", JackNoStartServer | JackServerName | JackUseExactName, status, server);
  if (!lateness->head) goto failed;
  jack_set_process_callback(lateness->head, begin_cycle, lateness);
  lateness->head_output =
      jack_port_register(lateness->head, "begin", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
  lateness->head_input =
      jack_port_register(lateness->client, "begin", JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
  if (!lateness->head_output || !lateness->head_input) goto failed;
  if (jack_activate(lateness->head) || jack_activate(lateness->client)) goto failed;
  if (jack_connect(lateness->client, jack_port_name(lateness->head_output),
                   jack_port_name(lateness->head_input)) == 0)
    return lateness;
failed:
  cue_lateness_close(lateness);
  return NULL;
}

jack_client_t *cue_lateness_client(const cue_lateness *lateness) {
  return lateness->client;
}

float cue_lateness_level(const cue_lateness *lateness) {
  return atomic_load(&lateness->level);
}

void cue_lateness_start(cue_lateness *lateness) {
  atomic_store(&lateness->counts, true);
}

void cue_lateness_stop(cue_lateness *lateness) {
  atomic_store(&lateness->counts, false);
}

uint64_t cue_lateness_cycles(const cue_lateness *lateness) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < BINS; i++)
    sum += atomic_load(&lateness->bins[i]);
  return sum;
}

uint32_t cue_lateness_of(const cue_lateness *lateness, double share) {
  double left = share * (double)cue_lateness_cycles(lateness);
  for (unsigned i = 0; i < BINS; i++) {
    left -= atomic_load(&lateness->bins[i]);
    if (left <= 0) return i;
  }
  return BINS - 1;
}

unsigned cue_lateness_xruns(const cue_lateness *lateness) {
  return atomic_load(&lateness->xruns);
}

void cue_lateness_close(cue_lateness *lateness) {
  if (!lateness) return;
  if (lateness->head) jack_client_close(lateness->head);
  if (lateness->client) jack_client_close(lateness->client);
  free(lateness);
}
