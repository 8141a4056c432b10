// The C half of the bench of plugin hosts: the least that a host can be, and the clients that
// measure.
#pragma once
#include <jack/jack.h>
#include <stdbool.h>
#include <stdint.h>

// MARK: The floor

/// Plugins one after another, each with outputs of its own, run in a plain loop with denormals
/// flushed: as little as a host can do.
typedef struct cue_floor cue_floor;

/// Instantiates the plugins with `uris` for blocks of at most `frames` frames. The first `channels`
/// audio ports of each side are the chain; other ports have memory that nobody looks at. NULL, and
/// which one it was, if a plugin is not there, refuses, or has too few ports.
cue_floor *cue_floor_make(const char *const *uris, unsigned count, unsigned channels, double rate,
                          unsigned frames, unsigned *failed);
/// Sets a control of plugin `number`, before the first run; false if it has none of that symbol.
bool cue_floor_set(cue_floor *floor, unsigned number, const char *symbol, float value);
/// Runs the chain on one block. `inputs` and `outputs` are a plane for each channel.
void cue_floor_run(cue_floor *floor, float *const *inputs, float *const *outputs, unsigned frames);
/// Runs the chain as a JACK client with ports in_1 … and out_1 …, until it is freed. False if that
/// cannot be.
bool cue_floor_serve(cue_floor *floor, const char *server, const char *name);
void cue_floor_free(cue_floor *floor);

// MARK: The stopwatch

/// Two clients: the head plays to a chain and stamps the time at the end of its process callback;
/// the tail, behind the chain, stamps at the beginning of its own in the same cycle.
typedef struct cue_stopwatch cue_stopwatch;

/// What the head plays.
typedef enum {
  CUE_NOISE,
  CUE_SILENCE,
  CUE_DENORMALS
} cue_sound;

/// Opens and activates the clients NAME-head and NAME-tail, with ports out_1 … and in_1 …. NULL and
/// the JACK status if they cannot be.
cue_stopwatch *cue_stopwatch_open(const char *server, const char *name, unsigned channels,
                                  jack_status_t *status);
void cue_stopwatch_play(cue_stopwatch *watch, cue_sound sound);
/// Measures the next `cycles` cycles, at most 65,536, in which both ran.
void cue_stopwatch_start(cue_stopwatch *watch, unsigned cycles);
/// How many of them have been measured.
unsigned cue_stopwatch_count(const cue_stopwatch *watch);
/// Nanoseconds from stamp to stamp of measured cycle `number`.
uint32_t cue_stopwatch_nanoseconds(const cue_stopwatch *watch, unsigned number);
/// The loudest sample that the tail has seen in the latest cycle.
float cue_stopwatch_level(const cue_stopwatch *watch);
/// Cycles that came too late since it was opened.
unsigned cue_stopwatch_xruns(const cue_stopwatch *watch);
/// True if the clients' threads have real-time priority.
bool cue_stopwatch_is_realtime(const cue_stopwatch *watch);
/// The tail: for connections, and JACK's load.
jack_client_t *cue_stopwatch_client(const cue_stopwatch *watch);
void cue_stopwatch_close(cue_stopwatch *watch);

// MARK: Wakefulness

/// Threads, one for each processor, that never sleep and give way to whatever else is to run: a
/// processor that sleeps takes its time to wake up, more than a plugin takes.
typedef struct cue_wakefulness cue_wakefulness;

/// NULL if they cannot be.
cue_wakefulness *cue_wakefulness_begin(void);
void cue_wakefulness_end(cue_wakefulness *wakefulness);
