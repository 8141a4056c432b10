// Processes that fork and go on without exec, as daemons do.
#include "check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

/// Number of children that each part makes: a lock is wanted by two threads in some of them only.
enum {
  CHILDREN = 6,
  THREADS = 4
};

static OSStatus render(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                       UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)flags, (void)time, (void)bus, (void)frames;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    memset(list->mBuffers[i].mData, 0, list->mBuffers[i].mDataByteSize);
  __atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED);
  return noErr;
}

/// Makes units and converters, from the first call of the library on.
static void *use(void *unused) {
  AudioComponentDescription filter = {kAudioUnitType_Effect, kAudioUnitSubType_LowPassFilter,
                                      kAudioUnitManufacturer_Apple, 0, 0};
  AudioUnit unit;
  WORKS(AudioComponentInstanceNew(AudioComponentFindNext(NULL, &filter), &unit));
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioComponentInstanceDispose(unit));
  for (int i = 0; i < 1000; i++)
    GIVES(AudioConverterReset((AudioConverterRef)16), kAudio_ParamError);
  return unused;
}

static void use_on_threads(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, use, NULL) == 0);
  use(NULL);
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_join(threads[i], NULL) == 0);
}

/// Runs an output unit on the server until it is called.
static void play(void) {
  AudioComponentDescription output = {kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput,
                                      kAudioUnitManufacturer_Apple, 0, 0};
  AudioUnit unit;
  int calls = 0;
  AURenderCallbackStruct callback = {render, &calls};
  WORKS(AudioComponentInstanceNew(AudioComponentFindNext(NULL, &output), &unit));
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_SetRenderCallback, kAudioUnitScope_Input, 0,
                             &callback, sizeof callback));
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioOutputUnitStart(unit));
  WAIT(__atomic_load_n(&calls, __ATOMIC_RELAXED) > 3);
  WORKS(AudioComponentInstanceDispose(unit));
}

/// Waits for a child, which must end with status 0.
static void join(pid_t child) {
  int status = -1;
  WAIT(waitpid(child, &status, WNOHANG) == child);
  EQUAL(status, 0);
}

static void children(void (*body)(void), int count) {
  for (int i = 0; i < count; i++) {
    pid_t child = fork();
    if (child == 0) {
      alarm(PATIENCE);
      body();
      _exit(0);
    }
    join(child);
  }
}

static void use_and_play(void) {
  use_on_threads();
  play();
}

/// Becomes a daemon, which tells by a pipe that it has played.
static void become_daemon(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    CHECK(daemon(1, 1) == 0);
    alarm(PATIENCE);
    use_and_play();
    CHECK(write(ends[1], "y", 1) == 1);
    _exit(0);
  }
  join(child);
  close(ends[1]);
  char answer = 0;
  CHECK(read(ends[0], &answer, 1) == 1 && answer == 'y');
  close(ends[0]);
}

// MARK: A number like half an address

static void do_nothing(void) {}

/// Forks if this thread has the number that is the upper half of its stack's address.
static void *fork_with_number(void *has_forked) {
  int here;
  if ((uintptr_t)&here >> 32 != (uintptr_t)gettid()) return NULL;
  *(bool *)has_forked = true;
  // The child crashes in fork() if that writes the new number into addresses.
  children(do_nothing, 1);
  return NULL;
}

/// Forks on a thread whose number equals the upper half of addresses in its memory. Only root may
/// choose the numbers that threads get, and other programs may take one first.
static void fork_with_number_like_an_address(void) {
  pthread_attr_t attributes;
  void *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(stack != MAP_FAILED && pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstack(&attributes, stack, 1 << 20) == 0);
  bool has_forked = false;
  for (int i = 0; i < 1000 && !has_forked; i++) {
    FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
    if (!last) break;
    fprintf(last, "%lu", (unsigned long)((uintptr_t)stack >> 32) - 1);
    if (fclose(last) != 0) break;
    pthread_t thread;
    CHECK(pthread_create(&thread, &attributes, fork_with_number, &has_forked) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  CHECK(has_forked || getuid() != 0);
}

// MARK: A child that is refused

static AudioQueueRef queue;

static void *nothing(void *unused) {
  return unused;
}

static void drop(void *data, AudioQueueRef from, AudioQueueBufferRef buffer) {
  (void)data, (void)from, (void)buffer;
}

static void be_refused(void) {
  AudioStreamBasicDescription format = {
      48000, kAudioFormatLinearPCM, kAudioFormatFlagsNativeFloatPacked, 4, 1, 4, 1, 32, 0};
  AudioQueueRef made = NULL;
  AudioConverterRef converter = NULL;
  AudioComponentDescription any = {0};
  GIVES(AudioQueueStart(queue, NULL), kAudio_ParamError);
  GIVES(AudioQueueDispose(queue, true), kAudio_ParamError);
  GIVES(AudioQueueNewOutput(&format, drop, NULL, NULL, NULL, 0, &made), kAudio_ParamError);
  GIVES(AudioConverterNew(&format, &format, &converter), kAudio_ParamError);
  CHECK(AudioComponentFindNext(NULL, &any) == NULL);
  EQUAL(AudioComponentCount(&any), 0);
  AudioServicesPlaySystemSound(kSystemSoundID_UserPreferredAlert);
#if __has_feature(address_sanitizer)
  // The check for leaks knows no threads of the parent.
  _exit(0);
#else
  exit(0);
#endif
}

static void refused(void) {
  AudioStreamBasicDescription format = {
      48000, kAudioFormatLinearPCM, kAudioFormatFlagsNativeFloatPacked, 4, 1, 4, 1, 32, 0};
  WORKS(AudioQueueNewOutput(&format, drop, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueStart(queue, NULL));
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  int ends[2];
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    alarm(PATIENCE);
    be_refused();
  }
  close(ends[1]);
  char text[2000];
  size_t length = 0;
  ssize_t count;
  while ((count = read(ends[0], text + length, sizeof text - length - 1)) > 0)
    length += count;
  text[length] = 0;
  join(child);
  close(ends[0]);
  CHECK(strstr(text, "must call exec") && strchr(text, '\n') == text + length - 1);
  // Nothing has changed for the parent.
  WORKS(AudioQueueDispose(queue, true));
}

int main(void) {
  cue_jack_silence();
  children(use_and_play, CHILDREN);
  passed("a child before the first call");
  become_daemon();
  passed("a daemon");
  use(NULL);
  children(use_on_threads, CHILDREN);
  passed("a child after calls");
  fork_with_number_like_an_address();
  passed("a number like half an address");
  refused();
  passed("a refused child");
  return 0;
}
