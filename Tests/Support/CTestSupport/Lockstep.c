#include "CTestSupport.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_FRAMES 8192
/// Number of values that a float holds exactly, without 0.
#define NUMBERS 0xffffffu
#define COUNTS  2

struct cue_lockstep {
  jack_client_t *client;
  jack_port_t **ports;
  unsigned inputs;
  bool (*is_fed)(void *data, uint32_t frames);
  void *data;

  atomic_bool has_begun;
  uint32_t start; // published by has_begun
  atomic_int used;
  atomic_bool freewheels;
  atomic_uint xruns;
  atomic_uint cycles; // completed cycles
  atomic_uint gaps;   // cycles that did not begin where the one before ended
  atomic_uint jump;   // largest gap between two cycles, in frames

  // Written by the process callback, except the element of `counts` that is not in use.
  uint32_t next_frame;
  bool has_next;
  float expected[MOST_FRAMES];
  cue_lockstep_count counts[COUNTS];
};

void cue_lockstep_fill(float *samples, uint64_t first, size_t frames) {
  uint32_t number = (uint32_t)(first % NUMBERS);
  while (frames > 0) {
    size_t run = frames < NUMBERS - number ? frames : NUMBERS - number;
    for (size_t i = 0; i < run; i++)
      samples[i] = (float)(number + 1 + (uint32_t)i);
    samples += run;
    frames -= run;
    number = 0;
  }
}

static void check_input(cue_lockstep_count *count, const float *samples, const float *expected,
                        jack_nframes_t frames) {
  if (!memcmp(samples, expected, frames * sizeof(float))) return;
  for (jack_nframes_t i = 0; i < frames; i++) {
    if (samples[i] == expected[i]) continue;
    count->wrong++;
    if (samples[i] == 0 || expected[i] == 0) {
      count->silent++;
      continue;
    }
    uint32_t ahead = ((uint32_t)samples[i] - (uint32_t)expected[i] + NUMBERS) % NUMBERS;
    uint32_t offset = ahead < NUMBERS / 2 ? ahead : NUMBERS - ahead;
    if (offset > count->offset) count->offset = offset;
  }
}

static void check_cycle(cue_lockstep *lockstep, cue_lockstep_count *count, uint32_t now,
                        jack_nframes_t frames) {
  int32_t gap = lockstep->has_next ? (int32_t)(now - lockstep->next_frame) : 0;
  if (gap > 0) count->missed += (uint32_t)gap;
  if (gap < 0) count->repeated += (uint32_t)-gap;
  int32_t since = (int32_t)(now - lockstep->start);
  jack_nframes_t before = since >= 0 ? 0 : (uint32_t)-since < frames ? (uint32_t)-since : frames;
  memset(lockstep->expected, 0, before * sizeof(float));
  cue_lockstep_fill(lockstep->expected + before, since > 0 ? (uint32_t)since : 0, frames - before);
  for (unsigned i = 0; i < lockstep->inputs; i++)
    check_input(count, jack_port_get_buffer(lockstep->ports[i], frames), lockstep->expected,
                frames);
  count->frames += frames;
}

static int lockstep_cycle(jack_nframes_t frames, void *argument) {
  cue_lockstep *lockstep = argument;
  uint32_t now = jack_last_frame_time(lockstep->client);
  int used = atomic_load_explicit(&lockstep->used, memory_order_acquire);
  if (used >= 0) check_cycle(lockstep, &lockstep->counts[used], now, frames);
  int32_t gap = lockstep->has_next ? (int32_t)(now - lockstep->next_frame) : 0;
  if (gap > (int32_t)atomic_load(&lockstep->jump)) atomic_store(&lockstep->jump, (unsigned)gap);
  if (gap != 0) atomic_fetch_add(&lockstep->gaps, 1);
  lockstep->next_frame = now + frames;
  lockstep->has_next = true;
  if (atomic_load(&lockstep->freewheels) && atomic_load(&lockstep->has_begun)) {
    // Give the players' programs the time that a real clock would leave them.
    int32_t ahead = (int32_t)(now - lockstep->start) + 2 * (int32_t)frames;
    int tries = 0;
    // After a jump over more than a second the players' programs cannot keep up at all.
    while (gap < 48000 && ahead > 0 && !lockstep->is_fed(lockstep->data, (uint32_t)ahead) &&
           ++tries < 50000)
      nanosleep(&(struct timespec){0, 50000}, NULL);
    if (tries == 50000 && used >= 0) lockstep->counts[used].stalled++;
  }
  atomic_fetch_add_explicit(&lockstep->cycles, 1, memory_order_release);
  return 0;
}

static int lockstep_xrun(void *argument) {
  atomic_fetch_add(&((cue_lockstep *)argument)->xruns, 1);
  return 0;
}

static void lockstep_freewheel(int on, void *argument) {
  atomic_store(&((cue_lockstep *)argument)->freewheels, on != 0);
}

cue_lockstep *cue_lockstep_open(const char *server, const char *name, unsigned inputs,
                                bool (*is_fed)(void *data, uint32_t frames), void *data,
                                jack_status_t *status) {
  *status = JackFailure;
  cue_lockstep *lockstep = calloc(1, sizeof *lockstep);
  if (!lockstep) return NULL;
  lockstep->inputs = inputs;
  lockstep->is_fed = is_fed;
  lockstep->data = data;
  lockstep->used = -1;
  lockstep->ports = calloc(inputs, sizeof *lockstep->ports);
  if (!lockstep->ports) goto failed;
  lockstep->client =
      jack_client_open(name, JackNoStartServer | JackServerName | JackUseExactName, status, server);
  if (!lockstep->client) goto failed;
  jack_set_process_callback(lockstep->client, lockstep_cycle, lockstep);
  jack_set_xrun_callback(lockstep->client, lockstep_xrun, lockstep);
  jack_set_freewheel_callback(lockstep->client, lockstep_freewheel, lockstep);
  for (unsigned i = 0; i < inputs; i++) {
    char port[16];
    snprintf(port, sizeof port, "in_%u", i + 1);
    lockstep->ports[i] =
        jack_port_register(lockstep->client, port, JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
    if (!lockstep->ports[i]) goto failed;
  }
  if (jack_activate(lockstep->client) == 0) return lockstep;
failed:
  cue_lockstep_close(lockstep);
  return NULL;
}

void cue_lockstep_begin(cue_lockstep *lockstep, uint32_t start) {
  lockstep->start = start;
  atomic_store(&lockstep->has_begun, true);
}

void cue_lockstep_use(cue_lockstep *lockstep, int count) {
  atomic_store_explicit(&lockstep->used, count, memory_order_release);
  // The previous count is stable once a running cycle has ended.
  unsigned cycles = atomic_load_explicit(&lockstep->cycles, memory_order_acquire);
  for (int tries = 0; tries < 10000; tries++) {
    if (atomic_load_explicit(&lockstep->cycles, memory_order_acquire) - cycles >= 2) return;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
}

bool cue_lockstep_settle(const cue_lockstep *lockstep, bool freewheels) {
  unsigned begin = 0, gaps = 0;
  bool is_counting = false;
  for (int tries = 0; tries < 20000; tries++) {
    unsigned cycles = atomic_load(&lockstep->cycles);
    if (atomic_load(&lockstep->freewheels) != freewheels) {
      is_counting = false;
    } else if (!freewheels) {
      return true;
    } else if (!is_counting || atomic_load(&lockstep->gaps) != gaps) {
      begin = cycles;
      gaps = atomic_load(&lockstep->gaps);
      is_counting = true;
    } else if (cycles - begin >= 8) {
      return true;
    }
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  return false;
}

cue_lockstep_count cue_lockstep_read(const cue_lockstep *lockstep, int count) {
  return lockstep->counts[count];
}

unsigned cue_lockstep_jump(const cue_lockstep *lockstep) {
  return atomic_load(&lockstep->jump);
}

unsigned cue_lockstep_xruns(const cue_lockstep *lockstep) {
  return atomic_load(&lockstep->xruns);
}

jack_client_t *cue_lockstep_client(const cue_lockstep *lockstep) {
  return lockstep->client;
}

void cue_lockstep_close(cue_lockstep *lockstep) {
  if (!lockstep) return;
  if (lockstep->client) cue_client_close(lockstep->client);
  free(lockstep->ports);
  free(lockstep);
}
