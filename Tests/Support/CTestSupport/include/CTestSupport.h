// The C half of the test support: child processes that cannot outlive the tests, and JACK clients
// with minimal process callbacks.
#pragma once
#include <jack/jack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// MARK: Child processes

/// A running or ended child process. It receives SIGTERM when its parent process ends in any way.
typedef struct cue_child cue_child;

/// Opens a pseudo-terminal of a size, whose reads do not wait. Returns its descriptor, or -1;
/// `name` gets the path of the programs' side.
int cue_terminal_open(unsigned short columns, unsigned short rows, char *name, size_t size);

/// Gives a terminal another size. Its program gets SIGWINCH.
void cue_terminal_resize(int terminal, unsigned short columns, unsigned short rows);

/// Starts the program `path` with `arguments` and `environment` (both end with NULL) in `folder`
/// (NULL: the current one). Its input is /dev/null, its outputs are two files, which may be the
/// same. It inherits the descriptor `kept`, unless that is -1, and no other. Returns NULL and sets
/// errno on failure.
cue_child *cue_child_start(const char *path, char *const *arguments, char *const *environment,
                           const char *folder, const char *output, const char *errors, int kept);
pid_t cue_child_pid(const cue_child *child);
/// Waits up to `seconds` for the exit. Returns true with the status of waitpid, or false.
bool cue_child_wait(cue_child *child, double seconds, int *status);
/// Returns the processor time of the ended child, user plus system, in seconds; 0 while it runs.
double cue_child_cpu_seconds(cue_child *child);
/// Sends a signal unless the child has ended.
void cue_child_signal(cue_child *child, int signal);
/// Frees the record of a child, killing it first if it runs.
void cue_child_free(cue_child *child);

// MARK: Locks on files

/// Opens (creates) a file and locks it for this process and children that inherit the descriptor.
/// Returns the descriptor (close-on-exec), or -1 if another process holds the lock. Closing it
/// releases the lock.
int cue_lock_file(const char *path);

// MARK: Processors

/// Keeps the calling thread on one processor, counted from 0. Without effect if there is none of
/// that number.
void cue_run_on_processor(int processor);

// MARK: JACK

/// Suppresses the errors and messages that libjack prints.
void cue_jack_silence(void);

/// Closes a client, 20 ms later. libjack cancels the client's notification thread wherever it is:
/// in the middle of a notification about another client's end, it would keep a lock of libjack for
/// good.
void cue_client_close(jack_client_t *client);

/// A client that records its input ports in_1, in_2 … in memory.
typedef struct cue_capture cue_capture;

typedef struct {
  uint64_t frame;    // index of the captured frame after the gap
  uint32_t expected; // expected JACK frame time
  uint32_t found;    // actual JACK frame time
} cue_gap;

/// Opens the client, registers its ports and activates it. With `is_card`, its inputs look like
/// those of a sound card, so that programs connect to them automatically. Returns NULL and the JACK
/// status on failure.
cue_capture *cue_capture_open(const char *server, const char *name, unsigned channels,
                              size_t capacity, bool is_card, jack_status_t *status);
/// Clears the recording and records from the next cycle on.
void cue_capture_arm(cue_capture *capture);
/// Stops recording. After the return no cycle writes any more.
void cue_capture_disarm(cue_capture *capture);
/// Returns the number of frames recorded since it was armed. Recording ends at the capacity.
size_t cue_capture_frames(const cue_capture *capture);
/// Returns the JACK frame time of the first recorded frame. Meaningful only if there is one.
uint32_t cue_capture_first_frame(const cue_capture *capture);
/// Predicted end of the latest recorded cycle, in microseconds of JACK's clock. Stable once the
/// capture is disarmed.
uint64_t cue_capture_end_time(const cue_capture *capture);
/// Returns the number of gaps in JACK's frame time since it was armed. The first 64 are kept.
unsigned cue_capture_gap_count(const cue_capture *capture);
cue_gap cue_capture_gap(const cue_capture *capture, unsigned index);
/// Returns the number of xruns reported since the client was opened.
unsigned cue_capture_xruns(const cue_capture *capture);
/// Returns whether the server has shut the client down.
bool cue_capture_was_shut_down(const cue_capture *capture);
const float *cue_capture_samples(const cue_capture *capture, unsigned channel);
jack_client_t *cue_capture_client(const cue_capture *capture);
void cue_capture_close(cue_capture *capture);

/// A client whose output ports out_1, out_2 … play the number of each frame: see
/// cue_emitter_sample.
typedef struct cue_emitter cue_emitter;

cue_emitter *cue_emitter_open(const char *server, const char *name, unsigned channels,
                              jack_status_t *status);
/// Returns the emitter's sample at a JACK frame time. It is exact and differs between neighbouring
/// frames and between channels.
float cue_emitter_sample(uint32_t frame, unsigned channel);
/// Returns how many interleaved samples differ from those of an emitter from frame `first` on.
uint64_t cue_emitter_wrong(const float *samples, uint32_t frames, unsigned channels,
                           uint32_t first);
jack_client_t *cue_emitter_client(const cue_emitter *emitter);
/// Tells the end of the emitter's latest cycle: the JACK frame time after its last frame, and its
/// predicted host time in microseconds of JACK's clock; and that frame time of the cycle `before`.
/// False before the first cycle. Meaningful once no more cycles come.
bool cue_emitter_end(const cue_emitter *emitter, uint32_t *frame, uint64_t *microseconds,
                     uint32_t *before);
void cue_emitter_close(cue_emitter *emitter);

/// A client whose process callback checks that all its inputs in_1, in_2 … carry the number of the
/// current frame. `cue_lockstep_fill` writes these numbers, counted from a start frame.
typedef struct cue_lockstep cue_lockstep;

typedef struct {
  uint64_t frames;   // frames in which all inputs were checked
  uint64_t wrong;    // samples of any input that differ from the expected one
  uint64_t silent;   // wrong samples where either side is silence
  uint32_t offset;   // largest offset in frames among the other wrong samples
  uint64_t missed;   // frames of skipped cycles
  uint64_t repeated; // frames of repeated cycles
  uint64_t stalled;  // cycles that waited for the players in vain
} cue_lockstep_count;

/// Fills `samples` with the numbers of the frames `first`, `first + 1` …. The numbers are exact,
/// never 0, and unique within five minutes at 48 kHz.
void cue_lockstep_fill(float *samples, uint64_t first, size_t frames);

/// Opens the client, registers its ports and activates it. In freewheel mode a cycle waits, up to
/// some seconds, until `is_fed` returns true. That function reports whether the players have
/// enqueued `frames` frames since the start. Returns NULL and the JACK status on failure.
cue_lockstep *cue_lockstep_open(const char *server, const char *name, unsigned inputs,
                                bool (*is_fed)(void *data, uint32_t frames), void *data,
                                jack_status_t *status);
/// Sets the JACK frame time of frame 0; silence is expected before it. Call once, before counting
/// starts.
void cue_lockstep_begin(cue_lockstep *lockstep, uint32_t start);
/// Counts the following cycles in count 0 or 1, or in none (-1, the initial setting).
void cue_lockstep_use(cue_lockstep *lockstep, int count);
/// Waits until the client has been told that the server freewheels, and eight cycles have followed
/// each other without a gap; or that it does not. Returns false if that takes longer than 20
/// seconds.
bool cue_lockstep_settle(const cue_lockstep *lockstep, bool freewheels);
cue_lockstep_count cue_lockstep_read(const cue_lockstep *lockstep, int count);
unsigned cue_lockstep_xruns(const cue_lockstep *lockstep);
/// Tells the largest number of frames by which the server's frame counter jumped between two
/// cycles.
unsigned cue_lockstep_jump(const cue_lockstep *lockstep);
jack_client_t *cue_lockstep_client(const cue_lockstep *lockstep);
void cue_lockstep_close(cue_lockstep *lockstep);

/// A client that records, for each of its inputs in_1, in_2 …, the frame at which it becomes loud
/// (a quarter of full scale). Inputs count from 0.
typedef struct cue_ear cue_ear;

/// Opens the client, registers its ports and activates it. Returns NULL and the JACK status on
/// failure.
cue_ear *cue_ear_open(const char *server, const char *name, unsigned inputs, jack_status_t *status);
/// Resets an input, which should be silent.
void cue_ear_listen(cue_ear *ear, unsigned input);
/// Returns the JACK frame time of the first loud frame since the reset, or -1 if there is none yet.
int64_t cue_ear_heard(const cue_ear *ear, unsigned input);
/// Returns the number of cycles of exact silence since the last one with sound.
unsigned cue_ear_silent_cycles(const cue_ear *ear, unsigned input);
/// Returns how often a cycle did not follow the previous one without a gap and may have missed a
/// sound.
unsigned cue_ear_gaps(const cue_ear *ear);
void cue_ear_close(cue_ear *ear);

/// A minimal audible client: its process callback reads an atomic flag and, if it is set, fills one
/// cycle of its output with half of full scale.
typedef struct cue_pulse cue_pulse;

/// Opens the client, registers its port, activates it and connects its output to the port
/// `destination`. Returns NULL and the JACK status on failure.
cue_pulse *cue_pulse_open(const char *server, const char *name, const char *destination,
                          jack_status_t *status);
/// Sets the flag.
void cue_pulse_ask(cue_pulse *pulse);
void cue_pulse_close(cue_pulse *pulse);

/// A MIDI message of up to three bytes; the first is the most significant one.
typedef struct {
  uint32_t frame; // JACK frame time
  uint32_t bytes;
} cue_midi_event;

/// A client that sends three-byte MIDI messages at given frames from its port `out` and records its
/// port `in`.
typedef struct cue_keys cue_keys;

/// Opens the client, registers its ports and activates it. Returns NULL and the JACK status on
/// failure.
cue_keys *cue_keys_open(const char *server, const char *name, jack_status_t *status);
/// Sends messages sorted by frame. Call once. Returns false on failure.
bool cue_keys_play(cue_keys *keys, const cue_midi_event *events, size_t count);
/// Returns the number of received messages. The first 4096 are kept.
size_t cue_keys_heard(const cue_keys *keys);
cue_midi_event cue_keys_event(const cue_keys *keys, size_t index);
void cue_keys_close(cue_keys *keys);

/// A client that controls the transport and provides its beats, three per bar.
typedef struct cue_conductor cue_conductor;

/// Opens the client and activates it. With a tempo of 0 it provides no beats. Returns NULL and the
/// JACK status on failure.
cue_conductor *cue_conductor_open(const char *server, const char *name, double tempo,
                                  jack_status_t *status);
void cue_conductor_set_tempo(cue_conductor *conductor, double beats_per_minute);
jack_client_t *cue_conductor_client(const cue_conductor *conductor);
/// Returns the frame time of the transport's frame 0, as the latest cycle played it, or INT64_MIN
/// while the transport is stopped.
int64_t cue_conductor_begin(const cue_conductor *conductor);
void cue_conductor_close(cue_conductor *conductor);

/// Stores noise without a zero: interleaved little-endian samples of 16 or 24 bits, or floats of
/// 32, and the same as floats, one channel after the other. It is in C because a debug build of
/// Swift takes a hundred times as long.
void cue_noise(uint64_t seed, int bits, bool is_float, uint32_t channels, size_t frames,
               uint8_t *bytes, float *planes);
