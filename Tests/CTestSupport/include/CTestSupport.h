// The C half of the tests' support: child processes that cannot outlive the tests, and JACK clients
// whose process callbacks are to be as plain as can be.
#pragma once
#include <jack/jack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// MARK: Child processes

/// A running or ended child process. It is sent SIGTERM when the process that started it ends, in
/// whatever way.
typedef struct cue_child cue_child;

/// Starts the program `path` with `arguments` and `environment` (both end with NULL) in `folder`
/// (NULL: the present one), with /dev/null as its input and its output in two files (which may be
/// one). It inherits the descriptor `kept` unless that is -1, and no other. NULL and errno if it
/// does not start.
cue_child *cue_child_start(const char *path, char *const *arguments, char *const *environment,
                           const char *folder, const char *output, const char *errors, int kept);
pid_t cue_child_pid(const cue_child *child);
/// Waits until it has ended, for at most `seconds`: true with the status of waitpid, or false.
bool cue_child_wait(cue_child *child, double seconds, int *status);
/// Processor time, in user and kernel mode, that it took; 0 as long as it has not ended.
double cue_child_cpu_seconds(cue_child *child);
/// Sends a signal, if it has not ended.
void cue_child_signal(cue_child *child, int signal);
/// Frees the record of a child that has ended; kills one that has not.
void cue_child_free(cue_child *child);

// MARK: Locks on files

/// Opens (creates) the file and locks it for this process and its children that inherit it: a
/// descriptor, or -1 if another holds it. Closing it gives it back. Close-on-exec.
int cue_lock_file(const char *path);

// MARK: JACK

/// Keeps libjack from printing its errors and messages.
void cue_jack_silence(void);

/// Closes a client, 20 ms later. libjack cancels the client's notification thread wherever it is:
/// in the middle of a notification about another client's end, it would keep a lock of libjack for
/// good.
void cue_client_close(jack_client_t *client);

/// A client that writes what reaches its input ports in_1, in_2 … into memory.
typedef struct cue_capture cue_capture;

typedef struct {
  uint64_t frame;    // captured frame before which the gap lies
  uint32_t expected; // JACK frame time that would have followed
  uint32_t found;    // JACK frame time that did
} cue_gap;

/// Opens, registers and activates. Inputs of a card look like a sound card's, so that programs
/// connect to them by themselves. NULL and the JACK status if it cannot be.
cue_capture *cue_capture_open(const char *server, const char *name, unsigned channels,
                              size_t capacity, bool is_card, jack_status_t *status);
/// Empties the memory and records from the next cycle on.
void cue_capture_arm(cue_capture *capture);
/// Stops recording. When it returns, no cycle writes any more.
void cue_capture_disarm(cue_capture *capture);
/// Frames recorded since it was armed. When it reaches the capacity, recording ends.
size_t cue_capture_frames(const cue_capture *capture);
/// JACK frame time of the first recorded frame; meaningful once there is one.
uint32_t cue_capture_first_frame(const cue_capture *capture);
/// Gaps in JACK's frame time since it was armed; the first 64 are kept.
unsigned cue_capture_gap_count(const cue_capture *capture);
cue_gap cue_capture_gap(const cue_capture *capture, unsigned index);
/// Xruns that the server told of since it was opened.
unsigned cue_capture_xruns(const cue_capture *capture);
/// True once the server has shut the client down.
bool cue_capture_was_shut_down(const cue_capture *capture);
const float *cue_capture_samples(const cue_capture *capture, unsigned channel);
jack_client_t *cue_capture_client(const cue_capture *capture);
void cue_capture_close(cue_capture *capture);

/// A client whose output ports out_1, out_2 … carry the number of each frame: see
/// cue_emitter_sample.
typedef struct cue_emitter cue_emitter;

cue_emitter *cue_emitter_open(const char *server, const char *name, unsigned channels,
                              jack_status_t *status);
/// What an emitter plays at a JACK frame time: exact, different from one frame to the next and
/// between channels.
float cue_emitter_sample(uint32_t frame, unsigned channel);
/// How many of interleaved samples are not what an emitter plays from `first` on.
uint64_t cue_emitter_wrong(const float *samples, uint32_t frames, unsigned channels,
                           uint32_t first);
jack_client_t *cue_emitter_client(const cue_emitter *emitter);
void cue_emitter_close(cue_emitter *emitter);

/// A client that checks, in its process callback, that its inputs in_1, in_2 … all carry the number
/// of the frame that is heard: what `cue_lockstep_fill` writes, counted from a start frame.
typedef struct cue_lockstep cue_lockstep;

typedef struct {
  uint64_t frames;   // frames in which every input was looked at
  uint64_t wrong;    // samples, of all inputs, that were not their frame's
  uint64_t silent;   // those of them that were silence
  uint32_t offset;   // the most frames that one of the others was off by
  uint64_t missed;   // frames of cycles that did not come
  uint64_t repeated; // frames of cycles that came twice
  uint64_t stalled;  // cycles that were held back in vain
} cue_lockstep_count;

/// Fills `samples` with the numbers of frames `first`, `first + 1` …: exact, never 0, and not
/// repeated within five minutes at 48 kHz.
void cue_lockstep_fill(float *samples, uint64_t first, size_t frames);

/// Opens, registers and activates. While the server freewheels, a cycle ends only when `is_fed`
/// says that the players have ready what the next `frames` frames since the start will take; that
/// is given up after some seconds. NULL and the JACK status if it cannot be.
cue_lockstep *cue_lockstep_open(const char *server, const char *name, unsigned inputs,
                                bool (*is_fed)(void *data, uint32_t frames), void *data,
                                jack_status_t *status);
/// The JACK frame time of frame 0; before it, silence is right. Once, before any is counted.
void cue_lockstep_begin(cue_lockstep *lockstep, uint32_t start);
/// Has the cycles that follow counted as `count` 0 or 1, or not at all: -1. At first they are not.
void cue_lockstep_use(cue_lockstep *lockstep, int count);
cue_lockstep_count cue_lockstep_read(const cue_lockstep *lockstep, int count);
unsigned cue_lockstep_xruns(const cue_lockstep *lockstep);
jack_client_t *cue_lockstep_client(const cue_lockstep *lockstep);
void cue_lockstep_close(cue_lockstep *lockstep);

/// A client that notes, for each of its inputs in_1, in_2 …, the frame at which it becomes loud: a
/// quarter of full scale. Its numbers count from 0.
typedef struct cue_ear cue_ear;

/// Opens, registers and activates. NULL and the JACK status if it cannot be.
cue_ear *cue_ear_open(const char *server, const char *name, unsigned inputs, jack_status_t *status);
/// Forgets what an input heard. It should be silent.
void cue_ear_listen(cue_ear *ear, unsigned input);
/// JACK frame time of the first loud frame since it was told to listen; -1 if there is none yet.
int64_t cue_ear_heard(const cue_ear *ear, unsigned input);
/// Cycles of silence, in every bit, since the latest one that was not.
unsigned cue_ear_silent_cycles(const cue_ear *ear, unsigned input);
/// How often a cycle of its own did not follow on the one before: it may have missed a sound.
unsigned cue_ear_gaps(const cue_ear *ear);
void cue_ear_close(cue_ear *ear);

/// The least that a client can do to be heard: its process callback looks at one atomic flag and
/// fills a cycle of its output with half of full scale if it is set.
typedef struct cue_pulse cue_pulse;

/// Opens, registers, activates and connects its output to the port `destination`. NULL and the JACK
/// status if it cannot be.
cue_pulse *cue_pulse_open(const char *server, const char *name, const char *destination,
                          jack_status_t *status);
/// Sets the flag.
void cue_pulse_ask(cue_pulse *pulse);
void cue_pulse_close(cue_pulse *pulse);

/// A MIDI message of up to three bytes, the first of them in the highest place.
typedef struct {
  uint32_t frame; // JACK frame time
  uint32_t bytes;
} cue_midi_event;

/// A client that sends MIDI messages of three bytes from its port `out` at given frames, and keeps
/// what comes to its port `in`.
typedef struct cue_keys cue_keys;

/// Opens, registers and activates. NULL and the JACK status if it cannot be.
cue_keys *cue_keys_open(const char *server, const char *name, jack_status_t *status);
/// Has it send messages, which are in the order of their frames. Once; false if it cannot be.
bool cue_keys_play(cue_keys *keys, const cue_midi_event *events, size_t count);
/// How many messages came; the first 4096 are kept.
size_t cue_keys_heard(const cue_keys *keys);
cue_midi_event cue_keys_event(const cue_keys *keys, size_t index);
void cue_keys_close(cue_keys *keys);

/// A client that starts, stops and moves the transport, and tells of beats, three in a bar.
typedef struct cue_conductor cue_conductor;

/// Opens and activates. With a tempo of 0 nobody tells of beats. NULL and the JACK status if it
/// cannot be.
cue_conductor *cue_conductor_open(const char *server, const char *name, double tempo,
                                  jack_status_t *status);
void cue_conductor_set_tempo(cue_conductor *conductor, double beats_per_minute);
jack_client_t *cue_conductor_client(const cue_conductor *conductor);
/// The frame time of the music's begin as the latest cycle played it; INT64_MIN while it
/// stands still.
int64_t cue_conductor_begin(const cue_conductor *conductor);
void cue_conductor_close(cue_conductor *conductor);
