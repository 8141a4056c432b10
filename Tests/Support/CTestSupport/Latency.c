#include "CTestSupport.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_INPUTS 8
#define LOUD        0.25f

static jack_client_t *open_client(const char *server, const char *name, JackProcessCallback cycle,
                                  void *argument, jack_status_t *status) {
  jack_client_t *client =
      jack_client_open(name, JackNoStartServer | JackServerName | JackUseExactName, status, server);
  if (client) jack_set_process_callback(client, cycle, argument);
  return client;
}

struct cue_ear {
  jack_client_t *client;
  unsigned inputs;
  jack_port_t *ports[MOST_INPUTS];
  // For each input: the JACK frame time of the first loud frame or -1, and the number of silent
  // cycles since the last sound.
  _Atomic int64_t heard[MOST_INPUTS];
  atomic_uint silent[MOST_INPUTS];
  // Number of cycles that did not follow the previous one without a gap.
  atomic_uint gaps;
  uint32_t next_frame;
};

static int ear_cycle(jack_nframes_t frames, void *argument) {
  cue_ear *ear = argument;
  uint32_t now = jack_last_frame_time(ear->client);
  if (now != ear->next_frame) atomic_fetch_add(&ear->gaps, 1);
  ear->next_frame = now + frames;
  for (unsigned input = 0; input < ear->inputs; input++) {
    const float *samples = jack_port_get_buffer(ear->ports[input], frames);
    bool is_silent = true;
    jack_nframes_t first_loud = frames;
    for (jack_nframes_t i = 0; i < frames && first_loud == frames; i++) {
      if (samples[i] != 0) is_silent = false;
      if (fabsf(samples[i]) >= LOUD) first_loud = i;
    }
    if (first_loud < frames && atomic_load(&ear->heard[input]) < 0)
      atomic_store(&ear->heard[input], (int64_t)(uint32_t)(now + first_loud));
    unsigned silent = atomic_load(&ear->silent[input]);
    atomic_store(&ear->silent[input], is_silent ? silent + 1 : 0);
  }
  return 0;
}

cue_ear *cue_ear_open(const char *server, const char *name, unsigned inputs,
                      jack_status_t *status) {
  *status = JackFailure;
  cue_ear *ear = calloc(1, sizeof *ear);
  if (!ear || inputs > MOST_INPUTS) goto failed;
  ear->inputs = inputs;
  ear->client = open_client(server, name, ear_cycle, ear, status);
  if (!ear->client) goto failed;
  for (unsigned input = 0; input < inputs; input++) {
    char port[16];
    snprintf(port, sizeof port, "in_%u", input + 1);
    ear->heard[input] = -1;
    ear->ports[input] =
        jack_port_register(ear->client, port, JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
    if (!ear->ports[input]) goto failed;
  }
  if (jack_activate(ear->client) == 0) return ear;
failed:
  cue_ear_close(ear);
  return NULL;
}

void cue_ear_listen(cue_ear *ear, unsigned input) {
  atomic_store(&ear->heard[input], -1);
}

int64_t cue_ear_heard(const cue_ear *ear, unsigned input) {
  return atomic_load(&ear->heard[input]);
}

unsigned cue_ear_silent_cycles(const cue_ear *ear, unsigned input) {
  return atomic_load(&ear->silent[input]);
}

unsigned cue_ear_gaps(const cue_ear *ear) {
  return atomic_load(&ear->gaps);
}

void cue_ear_close(cue_ear *ear) {
  if (!ear) return;
  if (ear->client) cue_client_close(ear->client);
  free(ear);
}

struct cue_pulse {
  jack_client_t *client;
  jack_port_t *port;
  atomic_bool is_asked;
};

static int pulse_cycle(jack_nframes_t frames, void *argument) {
  cue_pulse *pulse = argument;
  float sample = atomic_exchange(&pulse->is_asked, false) ? 2 * LOUD : 0;
  float *out = jack_port_get_buffer(pulse->port, frames);
  for (jack_nframes_t i = 0; i < frames; i++)
    out[i] = sample;
  return 0;
}

cue_pulse *cue_pulse_open(const char *server, const char *name, const char *destination,
                          jack_status_t *status) {
  *status = JackFailure;
  cue_pulse *pulse = calloc(1, sizeof *pulse);
  if (!pulse) return NULL;
  pulse->client = open_client(server, name, pulse_cycle, pulse, status);
  if (!pulse->client) goto failed;
  pulse->port =
      jack_port_register(pulse->client, "out_1", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
  if (pulse->port && jack_activate(pulse->client) == 0 &&
      jack_connect(pulse->client, jack_port_name(pulse->port), destination) == 0)
    return pulse;
failed:
  cue_pulse_close(pulse);
  return NULL;
}

void cue_pulse_ask(cue_pulse *pulse) {
  atomic_store(&pulse->is_asked, true);
}

void cue_pulse_close(cue_pulse *pulse) {
  if (!pulse) return;
  if (pulse->client) cue_client_close(pulse->client);
  free(pulse);
}
