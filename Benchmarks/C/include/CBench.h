// The C part of the plugin host benchmark: a minimal host as the lower bound, and the clients that
// measure.
#pragma once
#include <jack/jack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: The floor of a cycle

typedef enum {
  CUE_FLOOR_S16,
  CUE_FLOOR_S24,
  CUE_FLOOR_F32
} cue_floor_format;

/// Converts interleaved frames to planes that lie one after another, in plain loops.
void cue_floor_read(cue_floor_format format, const void *source, uint32_t frames, uint32_t channels,
                    float gain, float *planes);
/// Does the inverse, rounds and clips.
void cue_floor_store(cue_floor_format format, const float *planes, uint32_t frames,
                     uint32_t channels, void *target);

// MARK: The floor (minimal host)

/// A minimal LV2 host: a chain of plugins, each with its own output buffers, run in a plain loop
/// with denormals flushed to zero.
typedef struct cue_floor cue_floor;

/// Instantiates the plugins with `uris` for blocks of at most `frames` frames. The first `channels`
/// audio ports of each side form the chain; other ports are connected to unused memory. If a plugin
/// is missing, fails to instantiate or has too few ports, returns NULL and sets `failed` to its
/// index.
cue_floor *cue_floor_make(const char *const *uris, unsigned count, unsigned channels, double rate,
                          unsigned frames, unsigned *failed);
/// Sets a control of plugin `number` before the first run. Returns false if it has no such symbol.
bool cue_floor_set(cue_floor *floor, unsigned number, const char *symbol, float value);
/// Runs the chain on one block. `inputs` and `outputs` have one plane per channel.
void cue_floor_run(cue_floor *floor, float *const *inputs, float *const *outputs, unsigned frames);
/// Runs the chain as a JACK client with ports in_1 … and out_1 … until it is freed. Returns false
/// on failure.
bool cue_floor_serve(cue_floor *floor, const char *server, const char *name);
void cue_floor_free(cue_floor *floor);

// MARK: The stopwatch

/// A pair of JACK clients that measures a chain. The head plays to the chain, and stamps the time
/// at the end of its process callback. The tail follows the chain, and stamps the time at the start
/// of its process callback in the same cycle.
typedef struct cue_stopwatch cue_stopwatch;

/// The signal that the head plays.
typedef enum {
  CUE_NOISE,
  CUE_SILENCE,
  CUE_DENORMALS
} cue_sound;

/// Opens and activates the clients NAME-head and NAME-tail, with ports out_1 … and in_1 …. On
/// failure, returns NULL and sets the JACK status.
cue_stopwatch *cue_stopwatch_open(const char *server, const char *name, unsigned channels,
                                  jack_status_t *status);
void cue_stopwatch_play(cue_stopwatch *watch, cue_sound sound);
/// Measures the next `cycles` cycles (at most 65,536) in which both clients ran.
void cue_stopwatch_start(cue_stopwatch *watch, unsigned cycles);
/// Returns the number of cycles measured so far.
unsigned cue_stopwatch_count(const cue_stopwatch *watch);
/// Returns the nanoseconds between the two stamps of measured cycle `number`.
uint32_t cue_stopwatch_nanoseconds(const cue_stopwatch *watch, unsigned number);
/// Returns the tail's peak sample in the latest cycle.
float cue_stopwatch_level(const cue_stopwatch *watch);
/// Returns the number of xruns since the clients were opened.
unsigned cue_stopwatch_xruns(const cue_stopwatch *watch);
/// Returns true if the tail's process thread has real-time priority.
bool cue_stopwatch_is_realtime(const cue_stopwatch *watch);
/// Returns the tail client, for connections and JACK's CPU load.
jack_client_t *cue_stopwatch_client(const cue_stopwatch *watch);
void cue_stopwatch_close(cue_stopwatch *watch);

// MARK: Lateness

/// A JACK client behind others that counts how long after its begin each cycle gets to it.
typedef struct cue_lateness cue_lateness;

/// Opens the client, with ports in_1 and in_2.
cue_lateness *cue_lateness_open(const char *server, const char *name, jack_status_t *status);
/// Returns the client, for connections.
jack_client_t *cue_lateness_client(const cue_lateness *lateness);
/// Returns the peak sample of the latest cycle.
float cue_lateness_level(const cue_lateness *lateness);
/// Begins to count cycles with sound, and xruns.
void cue_lateness_start(cue_lateness *lateness);
void cue_lateness_stop(cue_lateness *lateness);
/// Returns the number of cycles counted.
uint64_t cue_lateness_cycles(const cue_lateness *lateness);
/// Returns the microseconds that `share` of them (0 to 1) took at most; those above 65,535 count as
/// 65,535.
uint32_t cue_lateness_of(const cue_lateness *lateness, double share);
unsigned cue_lateness_xruns(const cue_lateness *lateness);
void cue_lateness_close(cue_lateness *lateness);

// MARK: Wakefulness

/// Busy threads with idle priority, one per processor, that keep processors from sleeping. A
/// sleeping processor takes longer to wake up than a plugin takes to run.
typedef struct cue_wakefulness cue_wakefulness;

/// Starts the threads. Returns NULL if there is no memory.
cue_wakefulness *cue_wakefulness_begin(void);
void cue_wakefulness_end(cue_wakefulness *wakefulness);
