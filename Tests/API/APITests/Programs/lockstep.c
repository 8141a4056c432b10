// Many queues start on one frame and stay locked to it: SECONDS of freewheel, checked by a client
// that reads every sample of every queue, with late and missing cycles in between. Exit code 3:
// jackd does not answer any more, or its frame counter has jumped farther than the queues are
// filled. Arguments: own or shared (a client per queue, or one per
// program), programs, queues per program, seconds, interruptions, process identifier of jackd. The
// programs that play get as further arguments their number, and the descriptors of their commands,
// their answers and the shared memory.
#include "check.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

enum {
  MOST_QUEUES = 1024,
  BUFFERS = 4,
  FRAMES = 16384,
  FREE = 0,           // index of the count in undisturbed freewheel mode
  DISTURBED = 1,      // index of the count while cycles fail
  IN_A_ROW = 4,       // interruptions between two parts in freewheel mode
  LONGEST_PHASE = 90, // seconds
  // Seconds for a change to freewheel, and without a cycle, after which jackd hangs.
  SERVER_PATIENCE = 20,
};

/// Memory shared by the programs.
struct shared_state {
  atomic_uint fed[MOST_QUEUES]; // enqueued buffers of each queue
  char clients[MOST_QUEUES][64];
};
static struct shared_state *shared;

static bool is_shared_client;
static int programs, queues_each;

// MARK: A program that plays

static struct voice {
  int number; // index among all queues
  AudioQueueRef queue;
  uint64_t next_frame;
} voices[MOST_QUEUES];

static AudioStreamBasicDescription format;
/// Set before the queues are disposed of, which then accept no buffers.
static atomic_bool is_over;

static void feed(struct voice *voice, AudioQueueBufferRef buffer) {
  cue_lockstep_fill(buffer->mAudioData, voice->next_frame, FRAMES);
  voice->next_frame += FRAMES;
  buffer->mAudioDataByteSize = FRAMES * sizeof(float);
  OSStatus status = AudioQueueEnqueueBuffer(voice->queue, buffer, 0, NULL);
  if (!is_over) WORKS(status);
  atomic_fetch_add(&shared->fed[voice->number], 1);
}

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)queue;
  if (!is_over) feed(data, buffer);
}

static void set_up(struct voice *voice) {
  WORKS(AudioQueueNewOutput(&format, played, voice, NULL, NULL, 0, &voice->queue));
  CFStringRef uid;
  UInt32 size = sizeof uid;
  if (is_shared_client && voice != voices) {
    WORKS(AudioQueueGetProperty(voices->queue, kAudioQueueProperty_CurrentDevice, &uid, &size));
    WORKS(AudioQueueSetProperty(voice->queue, kAudioQueueProperty_CurrentDevice, &uid, sizeof uid));
    CFRelease(uid);
  }
  for (int i = 0; i < BUFFERS; i++) {
    AudioQueueBufferRef buffer;
    WORKS(AudioQueueAllocateBuffer(voice->queue, FRAMES * sizeof(float), &buffer));
    feed(voice, buffer);
  }
  WORKS(AudioQueuePrime(voice->queue, 0, NULL));
  char name[200];
  WORKS(AudioQueueGetProperty(voice->queue, kAudioQueueProperty_CurrentDevice, &uid, &size));
  CHECK(CFStringGetCString(uid, name, sizeof name, kCFStringEncodingUTF8));
  CFRelease(uid);
  snprintf(shared->clients[voice->number], sizeof *shared->clients, "%s", strrchr(name, '/') + 1);
}

static Float64 await(int commands) {
  Float64 word;
  CHECK(read(commands, &word, sizeof word) == sizeof word);
  return word;
}

static void answer(int answers, Float64 word) {
  CHECK(write(answers, &word, sizeof word) == sizeof word);
}

static void play(int program, int commands, int answers) {
  format = float_format(RATE, 1);
  for (int i = 0; i < queues_each; i++) {
    voices[i].number = program * queues_each + i;
    set_up(&voices[i]);
  }
  AudioTimeStamp time;
  WORKS(AudioQueueDeviceGetCurrentTime(voices->queue, &time));
  answer(answers, time.mSampleTime);
  memset(&time, 0, sizeof time);
  time.mSampleTime = await(commands);
  time.mFlags = kAudioTimeStampSampleTimeValid;
  for (int i = 0; i < queues_each; i++)
    WORKS(AudioQueueStart(voices[i].queue, &time));
  answer(answers, 0);
  // Wait until the counting process has ended.
  if (!is_shared_client) pause();
  // Queues that share a client are disposed of in order while the first one plays on.
  await(commands);
  is_over = true;
  double began = seconds_now();
  for (int i = queues_each - 1; i > 0; i--)
    WORKS(AudioQueueDispose(voices[i].queue, true));
  answer(answers, seconds_now() - began);
  await(commands);
  WORKS(AudioQueueDispose(voices->queue, true));
  answer(answers, 0);
}

// MARK: The counting process

/// The present phase of the counting process, and the time in seconds at which it began.
static const char *_Atomic phase = "the start of the programs";
static _Atomic double phase_began;

static pid_t players[MOST_QUEUES];
static int commands[MOST_QUEUES], answers[MOST_QUEUES];
static cue_lockstep *lockstep;
static useconds_t cycle; // microseconds

static bool is_fed(void *data, uint32_t frames) {
  (void)data;
  for (int i = 0; i < programs * queues_each; i++)
    if ((uint64_t)atomic_load_explicit(&shared->fed[i], memory_order_relaxed) * FRAMES < frames)
      return false;
  return true;
}

static void connect_all(const char *server) {
  jack_status_t status;
  int count = programs * queues_each;
  lockstep = cue_lockstep_open(server, "lockstep-count", (unsigned)count, is_fed, NULL, &status);
  CHECK(lockstep != NULL);
  cycle = (useconds_t)(jack_get_buffer_size(cue_lockstep_client(lockstep)) * 1e6 / RATE);
  for (int i = 0; i < count; i++) {
    char from[100], to[100], number[16] = "";
    int member = i % queues_each;
    if (is_shared_client && member > 0) snprintf(number, sizeof number, "%d_", member + 1);
    snprintf(from, sizeof from, "%s:%sout_1", shared->clients[i], number);
    snprintf(to, sizeof to, "lockstep-count:in_%d", i + 1);
    EQUAL(jack_connect(cue_lockstep_client(lockstep), from, to), 0);
  }
}

static void tell_all(Float64 word) {
  for (int i = 0; i < programs; i++)
    answer(commands[i], word);
}

static Float64 hear_all(void) {
  Float64 word = 0;
  for (int i = 0; i < programs; i++)
    word = await(answers[i]);
  return word;
}

static void begin_phase(const char *name) {
  phase = name;
  phase_began = seconds_now();
}

/// Writes how far the queues and their server are.
static void describe(void) {
  cue_lockstep_count count = cue_lockstep_read(lockstep, FREE);
  fprintf(stderr, "lockstep: %llu frames of freewheel, %llu cycles stalled, %u xruns; enqueued:",
          (unsigned long long)count.frames, (unsigned long long)count.stalled,
          cue_lockstep_xruns(lockstep));
  for (int i = 0; i < programs * queues_each; i++)
    fprintf(stderr, " %u", atomic_load(&shared->fed[i]));
  fprintf(stderr, "\n");
}

/// Ends a program whose phase takes longer than any should, and says which.
static void *watch(void *unused) {
  (void)unused;
  for (;; sleep(1)) {
    if (seconds_now() - phase_began < LONGEST_PHASE) continue;
    fprintf(stderr, "lockstep: %s took longer than %d s\n", phase, LONGEST_PHASE);
    if (lockstep) describe();
    _exit(1);
  }
}

static void give_up(const char *words) {
  (void)!write(STDERR_FILENO, words, strlen(words));
  _exit(3);
}

static void alarmed(int signal) {
  (void)signal;
  give_up("jackd does not answer\n");
}

/// Sets freewheel mode, and waits for it: until then, cycles still fail on a busy machine. jackd
/// occasionally hangs if cycles fail at the same moment, so an alarm guards the call.
static void freewheel(bool on) {
  alarm(SERVER_PATIENCE);
  EQUAL(jack_set_freewheel(cue_lockstep_client(lockstep), on), 0);
  alarm(0);
  if (!cue_lockstep_settle(lockstep, on)) give_up("jackd does not change its mode\n");
}

static void stand_still(pid_t process, useconds_t microseconds) {
  CHECK(kill(process, SIGSTOP) == 0);
  usleep(microseconds);
  CHECK(kill(process, SIGCONT) == 0);
}

/// In real time: `times` times a program misses cycles, and then the server does.
static void disturb(int number, int times, pid_t jackd) {
  freewheel(false);
  cue_lockstep_use(lockstep, DISTURBED);
  usleep(100000);
  for (int i = number; i < number + times; i++) {
    stand_still(players[i % programs], 3 * cycle);
    usleep(3 * cycle);
    stand_still(jackd, 2 * cycle);
    usleep(3 * cycle);
  }
  cue_lockstep_use(lockstep, -1);
  // Change jackd's mode while no cycle fails, if such a moment comes on a busy machine.
  for (int tries = 0; tries < 10; tries++) {
    unsigned xruns = cue_lockstep_xruns(lockstep);
    usleep(4 * cycle);
    if (cue_lockstep_xruns(lockstep) == xruns) break;
  }
  freewheel(true);
}

static void count(double seconds, int interruptions, pid_t jackd) {
  uint64_t total = (uint64_t)(seconds * RATE);
  int parts = 1 + (interruptions + IN_A_ROW - 1) / IN_A_ROW;
  freewheel(true);
  for (int part = 0; part < parts; part++) {
    int done = (part - 1) * IN_A_ROW, left = interruptions - done;
    begin_phase("the disturbed part");
    if (part > 0) disturb(done, left < IN_A_ROW ? left : IN_A_ROW, jackd);
    cue_lockstep_use(lockstep, FREE);
    uint64_t end = total * (uint64_t)(part + 1) / (uint64_t)parts;
    uint64_t frames = 0;
    begin_phase("a part in freewheel mode");
    for (double since = seconds_now(); frames < end; usleep(1000)) {
      uint64_t before = frames;
      frames = cue_lockstep_read(lockstep, FREE).frames;
      if (frames > before) since = seconds_now();
      if (seconds_now() - since > SERVER_PATIENCE) give_up("jackd runs no cycles any more\n");
      if (cue_lockstep_jump(lockstep) > (BUFFERS - 1) * FRAMES)
        give_up("jackd's frame counter has jumped farther than the queues are filled\n");
    }
    cue_lockstep_use(lockstep, -1);
  }
  freewheel(false);
}

static int count_ports(const char *client) {
  char pattern[100];
  snprintf(pattern, sizeof pattern, "^%s:", client);
  const char **ports = jack_get_ports(cue_lockstep_client(lockstep), pattern, NULL, 0);
  int count = 0;
  while (ports && ports[count])
    count++;
  jack_free(ports);
  return count;
}

static void report(double took) {
  cue_lockstep_count count = cue_lockstep_read(lockstep, FREE);
  cue_lockstep_count late = cue_lockstep_read(lockstep, DISTURBED);
  fprintf(
      stderr,
      "lockstep: %d programs, %d queues each, %s: %llu frames of freewheel in %.1f s, %llu samples "
      "wrong "
      "(%llu of them silent), offset %u frames, %llu frames missed, %llu cycles stalled; while "
      "disturbed %llu frames came, %llu were missed, %llu came twice, %llu samples were late; %u "
      "xruns\n",
      programs, queues_each, is_shared_client ? "on one client" : "each a client",
      (unsigned long long)count.frames, took, (unsigned long long)count.wrong,
      (unsigned long long)count.silent, count.offset, (unsigned long long)count.missed,
      (unsigned long long)count.stalled, (unsigned long long)late.frames,
      (unsigned long long)late.missed, (unsigned long long)late.repeated,
      (unsigned long long)late.wrong, cue_lockstep_xruns(lockstep));
  EQUAL(count.wrong, 0);
  EQUAL(count.offset, 0);
  EQUAL(count.stalled, 0);
  CHECK(count.frames > 0);
}

/// Disposes of the queues of shared clients in order. Their ports are unregistered while the first
/// queue plays on; finally that one is disposed of, and the client closes.
static void dispose_of_all(void) {
  begin_phase("the disposal");
  tell_all(1);
  fprintf(stderr, "lockstep: disposing of %d queues took %.2f s\n", programs * (queues_each - 1),
          hear_all());
  for (int i = 0; i < programs; i++)
    WAIT(count_ports(shared->clients[i * queues_each]) == 1);
  tell_all(0);
  hear_all();
  for (int i = 0; i < programs; i++)
    WAIT(count_ports(shared->clients[i * queues_each]) == 0);
  passed("all disposed of");
}

static void map_shared_memory(int memory) {
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  CHECK(shared != MAP_FAILED);
}

/// Starts the programs that play. Each executes this file again: the runtime of Swift remembers the
/// number of a thread for its locks, so the library must not be used between fork and exec.
static void start_players(char **arguments, int memory) {
  for (int i = 0; i < programs; i++) {
    int to[2], from[2];
    CHECK(pipe(to) == 0 && pipe(from) == 0);
    players[i] = fork();
    CHECK(players[i] >= 0);
    if (players[i] == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(to[1]);
      close(from[0]);
      char numbers[4][16], *words[12] = {NULL};
      const int values[] = {i, to[0], from[1], memory};
      memcpy(words, arguments, 7 * sizeof *words);
      for (int word = 0; word < 4; word++) {
        snprintf(numbers[word], sizeof numbers[word], "%d", values[word]);
        words[7 + word] = numbers[word];
      }
      execv("/proc/self/exe", words);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    commands[i] = to[1];
    answers[i] = from[0];
  }
}

int main(int argc, char **argv) {
  CHECK(argc == 7 || argc == 11);
  is_shared_client = !strcmp(argv[1], "shared");
  programs = atoi(argv[2]);
  queues_each = atoi(argv[3]);
  double seconds = atof(argv[4]);
  int interruptions = atoi(argv[5]);
  pid_t jackd = atoi(argv[6]);
  CHECK(programs * queues_each <= MOST_QUEUES);
  cue_jack_silence();
  if (argc == 11) {
    map_shared_memory(atoi(argv[10]));
    play(atoi(argv[7]), atoi(argv[8]), atoi(argv[9]));
    return 0;
  }
  int memory = memfd_create("lockstep", 0);
  CHECK(memory >= 0 && ftruncate(memory, sizeof *shared) == 0);
  map_shared_memory(memory);
  begin_phase("the start of the programs");
  start_players(argv, memory);
  pthread_t watcher;
  CHECK(pthread_create(&watcher, NULL, watch, NULL) == 0);
  signal(SIGALRM, alarmed);
  Float64 now = hear_all();
  begin_phase("the connections");
  connect_all(getenv("JACK_DEFAULT_SERVER"));
  // After all connections and starts, and not a multiple of the period.
  now += (double)(jack_frame_time(cue_lockstep_client(lockstep)) - (uint32_t)(int64_t)now);
  Float64 start = now + RATE * (1 + programs * queues_each / 200) + 101;
  cue_lockstep_begin(lockstep, (uint32_t)(int64_t)start);
  begin_phase("the start of the queues");
  tell_all(start);
  hear_all();
  uint32_t present = jack_frame_time(cue_lockstep_client(lockstep));
  CHECK((int32_t)((uint32_t)(int64_t)start - present) > 0);
  double began = seconds_now();
  count(seconds, interruptions, jackd);
  double took = seconds_now() - began;
  report(took);
  if (interruptions > 0) {
    CHECK(cue_lockstep_read(lockstep, DISTURBED).missed > 0);
    CHECK(cue_lockstep_xruns(lockstep) > 0);
  }
  passed("all on one frame");
  if (is_shared_client) dispose_of_all();
  // Separate clients are not closed in good order, because jackd needs half a second for each. The
  // programs end with this one.
  _exit(0);
}
