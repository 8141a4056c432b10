// Programs that end while their queues play, open and close clients of the server: each ends with
// its own status. A synchronous jackd waits five seconds for each client that is not closed, and
// the test's deadline passes.
#include "check.h"

#include <CoreMIDI/CoreMIDI.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

enum {
  QUEUES = 3,
  ENDS = 10
};

static AudioQueueRef queues[QUEUES];
static _Atomic int calls;

static void play_again(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data;
  calls++;
  AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
}

/// Starts the queues, until a call fails: the process may end in the meantime.
static void *start_all(void *unused) {
  AudioStreamBasicDescription format = float_format(48000, 2);
  for (int i = 0; i < QUEUES; i++) {
    if (AudioQueueNewOutput(&format, play_again, NULL, NULL, NULL, 0, &queues[i])) return unused;
    for (int j = 0; j < 2; j++) {
      AudioQueueBufferRef buffer = NULL;
      UInt32 size = 1024 * format.mBytesPerFrame;
      if (AudioQueueAllocateBuffer(queues[i], size, &buffer)) return unused;
      buffer->mAudioDataByteSize = size;
      if (AudioQueueEnqueueBuffer(queues[i], buffer, 0, NULL)) return unused;
    }
    if (AudioQueueStart(queues[i], NULL)) return unused;
  }
  return unused;
}

static void *dispose_all(void *unused) {
  for (int i = 0; i < QUEUES; i++)
    AudioQueueDispose(queues[i], true);
  return unused;
}

enum {
  LAST_FRAMES = 24000
};

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  // The queue is disposed of before its first buffer comes back.
  _exit(3);
}

/// The child: returns from main while its queue plays on.
static int leave_a_sound(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  enqueue_wave(queue, new_buffer(queue, LAST_FRAMES), 0, LAST_FRAMES);
  WORKS(AudioQueueStart(queue, NULL));
  WORKS(AudioQueueDispose(queue, false));
  return 0;
}

/// The child: returns from main behind the call that sends a message to the parent.
static int leave_a_message(void) {
  MIDIClientRef client = 0;
  MIDIPortRef port = 0;
  MIDIEndpointRef ears = 0;
  WORKS(MIDIClientCreate(CFSTR("leaving"), NULL, NULL, &client));
  WORKS(MIDIOutputPortCreate(client, CFSTR("out"), &port));
  for (ItemCount i = 0; i < MIDIGetNumberOfDestinations() && !ears; i++) {
    CFStringRef name = NULL;
    MIDIEndpointRef destination = MIDIGetDestination(i);
    WORKS(MIDIObjectGetStringProperty(destination, kMIDIPropertyName, &name));
    if (CFEqual(name, CFSTR("Ears"))) ears = destination;
    CFRelease(name);
  }
  CHECK(ears);
  const Byte note[] = {0x90, 60, 100};
  MIDIPacketList list;
  MIDIPacketListAdd(&list, sizeof list, MIDIPacketListInit(&list), 0, sizeof note, note);
  WORKS(MIDISend(port, ears, &list));
  return 0;
}

/// The child: returns from main some time after a thread began to open or close clients.
static int end(const char *how, useconds_t delay) {
  pthread_t thread;
  if (strcmp(how, "opening") == 0) {
    CHECK(pthread_create(&thread, NULL, start_all, NULL) == 0);
  } else {
    start_all(NULL);
    WAIT(calls > QUEUES);
    if (strcmp(how, "closing") == 0) CHECK(pthread_create(&thread, NULL, dispose_all, NULL) == 0);
  }
  usleep(delay);
  return 0;
}

/// Runs this program with two arguments, and waits for its end.
static void run(const char *how, const char *delay) {
  char *arguments[] = {"exits", (char *)how, (char *)delay, NULL};
  pid_t child = 0;
  int status = -1;
  CHECK(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
  CHECK(waitpid(child, &status, 0) == child);
  EQUAL(status, 0);
}

static void check_ends(const char *how) {
  for (int i = 0; i < ENDS; i++) {
    char delay[20];
    snprintf(delay, sizeof delay, "%d", i * 3000);
    run(how, delay);
  }
  passed(how);
}

static void check_last_sound(void) {
  cue_capture *card = open_card(5);
  run("leaving a sound", "0");
  end_recording(card);
  HEAR_SILENCE(card, HEAR(card, find_sound(card, 0), 0, LAST_FRAMES));
  EQUAL(cue_capture_gap_count(card), 0);
  passed("leaving a sound");
  cue_capture_close(card);
}

static void hear(const MIDIPacketList *list, void *heard, void *tag) {
  (void)tag;
  *(_Atomic UInt32 *)heard += list->numPackets;
}

static void check_last_message(void) {
  _Atomic UInt32 heard = 0;
  MIDIClientRef client = 0;
  MIDIEndpointRef ears = 0;
  WORKS(MIDIClientCreate(CFSTR("parent"), NULL, NULL, &client));
  WORKS(MIDIDestinationCreate(client, CFSTR("Ears"), hear, (void *)&heard, &ears));
  for (UInt32 i = 1; i <= ENDS; i++) {
    run("leaving a message", "0");
    WAIT(heard == i);
  }
  WORKS(MIDIClientDispose(client));
  passed("leaving a message");
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "leaving a message") == 0) return leave_a_message();
  if (argc == 3 && strcmp(argv[1], "leaving a sound") == 0) return leave_a_sound();
  if (argc == 3) return end(argv[1], (useconds_t)atoi(argv[2]));
  check_ends("playing");
  check_ends("closing");
  check_ends("opening");
  check_last_sound();
  check_last_message();
  return 0;
}
