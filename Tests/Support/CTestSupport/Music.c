#include "CTestSupport.h"
#include <jack/midiport.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_EVENTS 4096

struct cue_keys {
  jack_client_t *client;
  jack_port_t *in, *out;
  // Set once; `given` publishes them.
  cue_midi_event *events;
  atomic_size_t given;
  // Written by the process callback.
  size_t sent;
  cue_midi_event heard[KEPT_EVENTS];
  atomic_size_t heard_count;
};

static int keys_cycle(jack_nframes_t frames, void *argument) {
  cue_keys *keys = argument;
  uint32_t now = jack_last_frame_time(keys->client);
  void *in = jack_port_get_buffer(keys->in, frames);
  size_t heard = atomic_load_explicit(&keys->heard_count, memory_order_relaxed);
  for (uint32_t i = 0; i < jack_midi_get_event_count(in) && heard < KEPT_EVENTS; i++) {
    jack_midi_event_t event;
    if (jack_midi_event_get(&event, in, i) != 0 || event.size > 3) continue;
    cue_midi_event *kept = &keys->heard[heard++];
    kept->frame = now + event.time;
    kept->bytes = 0;
    for (size_t byte = 0; byte < event.size; byte++)
      kept->bytes = kept->bytes << 8 | event.buffer[byte];
  }
  atomic_store_explicit(&keys->heard_count, heard, memory_order_release);
  void *out = jack_port_get_buffer(keys->out, frames);
  jack_midi_clear_buffer(out);
  size_t given = atomic_load_explicit(&keys->given, memory_order_acquire);
  for (; keys->sent < given; keys->sent++) {
    const cue_midi_event *event = &keys->events[keys->sent];
    int32_t offset = (int32_t)(event->frame - now);
    if (offset >= (int32_t)frames) break;
    uint8_t bytes[3] = {(uint8_t)(event->bytes >> 16), (uint8_t)(event->bytes >> 8),
                        (uint8_t)event->bytes};
    // A program change has two bytes.
    size_t count = (bytes[0] & 0xf0) == 0xc0 ? 2 : sizeof bytes;
    jack_midi_event_write(out, offset < 0 ? 0 : (jack_nframes_t)offset, bytes, count);
  }
  return 0;
}

cue_keys *cue_keys_open(const char *server, const char *name, jack_status_t *status) {
  *status = JackFailure;
  cue_keys *keys = calloc(1, sizeof *keys);
  if (!keys) return NULL;
  keys->client =
      jack_client_open(name, JackNoStartServer | JackServerName | JackUseExactName, status, server);
  if (!keys->client) goto failed;
  jack_set_process_callback(keys->client, keys_cycle, keys);
  keys->in = jack_port_register(keys->client, "in", JACK_DEFAULT_MIDI_TYPE, JackPortIsInput, 0);
  keys->out = jack_port_register(keys->client, "out", JACK_DEFAULT_MIDI_TYPE, JackPortIsOutput, 0);
  if (keys->in && keys->out && jack_activate(keys->client) == 0) return keys;
failed:
  cue_keys_close(keys);
  return NULL;
}

bool cue_keys_play(cue_keys *keys, const cue_midi_event *events, size_t count) {
  if (keys->events) return false;
  keys->events = malloc(count * sizeof *events);
  if (!keys->events) return false;
  memcpy(keys->events, events, count * sizeof *events);
  atomic_store_explicit(&keys->given, count, memory_order_release);
  return true;
}

size_t cue_keys_heard(const cue_keys *keys) {
  return atomic_load_explicit(&keys->heard_count, memory_order_acquire);
}

cue_midi_event cue_keys_event(const cue_keys *keys, size_t index) {
  return keys->heard[index];
}

void cue_keys_close(cue_keys *keys) {
  if (!keys) return;
  if (keys->client) cue_client_close(keys->client);
  free(keys->events);
  free(keys);
}

#define TICKS_PER_BEAT 1920

struct cue_conductor {
  jack_client_t *client;
  _Atomic double beats_per_minute;
  // Frame time of the transport's frame 0 while it rolls; INT64_MIN otherwise.
  atomic_llong begin;
};

static void conduct(jack_transport_state_t state, jack_nframes_t frames, jack_position_t *position,
                    int is_new, void *argument) {
  (void)state, (void)frames, (void)is_new;
  cue_conductor *conductor = argument;
  double tempo = atomic_load(&conductor->beats_per_minute);
  double beats = position->frame * tempo / (60.0 * position->frame_rate);
  int64_t whole = (int64_t)beats;
  position->valid = JackPositionBBT;
  position->beats_per_bar = 3;
  position->beat_type = 4;
  position->ticks_per_beat = TICKS_PER_BEAT;
  position->beats_per_minute = tempo;
  position->bar = (int32_t)(whole / 3 + 1);
  position->beat = (int32_t)(whole % 3 + 1);
  position->tick = (int32_t)((beats - (double)whole) * TICKS_PER_BEAT);
}

static int conductor_cycle(jack_nframes_t frames, void *argument) {
  (void)frames;
  cue_conductor *conductor = argument;
  jack_position_t position;
  bool rolls = jack_transport_query(conductor->client, &position) == JackTransportRolling;
  long long now = jack_last_frame_time(conductor->client);
  atomic_store(&conductor->begin, rolls ? now - (long long)position.frame : INT64_MIN);
  return 0;
}

cue_conductor *cue_conductor_open(const char *server, const char *name, double tempo,
                                  jack_status_t *status) {
  *status = JackFailure;
  cue_conductor *conductor = calloc(1, sizeof *conductor);
  if (!conductor) return NULL;
  atomic_store(&conductor->beats_per_minute, tempo);
  atomic_store(&conductor->begin, INT64_MIN);
  conductor->client =
      jack_client_open(name, JackNoStartServer | JackServerName | JackUseExactName, status, server);
  if (!conductor->client) goto failed;
  jack_set_process_callback(conductor->client, conductor_cycle, conductor);
  if ((tempo <= 0 || jack_set_timebase_callback(conductor->client, 0, conduct, conductor) == 0) &&
      jack_activate(conductor->client) == 0)
    return conductor;
failed:
  cue_conductor_close(conductor);
  return NULL;
}

void cue_conductor_set_tempo(cue_conductor *conductor, double beats_per_minute) {
  atomic_store(&conductor->beats_per_minute, beats_per_minute);
}

jack_client_t *cue_conductor_client(const cue_conductor *conductor) {
  return conductor->client;
}

int64_t cue_conductor_begin(const cue_conductor *conductor) {
  return atomic_load(&conductor->begin);
}

void cue_conductor_close(cue_conductor *conductor) {
  if (!conductor) return;
  if (conductor->client) cue_client_close(conductor->client);
  free(conductor);
}
