// Timelines report each discontinuity of their queue's time once, and nothing else. Argument:
// missed for skipped cycles, on a server that does not wait for its clients.
#include "check.h"

#include <signal.h>
#include <sys/wait.h>

static AudioStreamBasicDescription format;
static cue_capture *card;
static _Atomic int calls;

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  calls++;
}

static AudioQueueRef new_queue(void) {
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  return queue;
}

static AudioQueueTimelineRef new_timeline(AudioQueueRef queue) {
  AudioQueueTimelineRef timeline = NULL;
  WORKS(AudioQueueCreateTimeline(queue, &timeline));
  CHECK(timeline != NULL);
  return timeline;
}

static bool is_broken(AudioQueueRef queue, AudioQueueTimelineRef timeline) {
  Boolean flag = 7;
  AudioTimeStamp time;
  WORKS(AudioQueueGetCurrentTime(queue, timeline, &time, &flag));
  CHECK(flag == 0 || flag == 1);
  return flag;
}

/// Checks that no discontinuity occurred, unless a cycle was late on a busy machine.
static void check_whole(AudioQueueRef queue, AudioQueueTimelineRef timeline) {
  unsigned gaps = cue_capture_gap_count(card);
  record(card, 2048);
  for (int i = 0; i < 3; i++) {
    bool flag = is_broken(queue, timeline);
    record(card, 2048);
    CHECK(!flag || cue_capture_gap_count(card) != gaps);
  }
}

static void what_a_timeline_must_be(void) {
  AudioQueueRef queue = new_queue(), other = new_queue();
  AudioQueueTimelineRef timeline = new_timeline(queue), second = new_timeline(queue),
                        foreign = new_timeline(other), none = NULL;
  CHECK(timeline != second && timeline != foreign);
  const AudioQueueTimelineRef wrong[] = {foreign, (AudioQueueTimelineRef)queue,
                                         (AudioQueueTimelineRef)0x12345670};
  Boolean flag;
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_running(queue));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    AudioTimeStamp time;
    memset(&time, 0x55, sizeof time);
    flag = 7;
    GIVES(AudioQueueGetCurrentTime(queue, wrong[i], &time, &flag), kAudio_ParamError);
    EQUAL(flag, 0);
    EQUAL(time.mFlags & kAudioTimeStampSampleTimeValid, 0);
    GIVES(AudioQueueDisposeTimeline(queue, wrong[i]), kAudio_ParamError);
  }
  GIVES(AudioQueueDisposeTimeline(queue, none), kAudio_ParamError);
  // A missing timeline is no error.
  flag = 7;
  WORKS(AudioQueueGetCurrentTime(queue, NULL, NULL, &flag));
  EQUAL(flag, 0);
  WORKS(AudioQueueGetCurrentTime(queue, timeline, NULL, NULL));
  WORKS(AudioQueueDisposeTimeline(queue, timeline));
  GIVES(AudioQueueDisposeTimeline(queue, timeline), kAudio_ParamError);
  GIVES(AudioQueueGetCurrentTime(queue, timeline, NULL, NULL), kAudio_ParamError);
  WORKS(AudioQueueGetCurrentTime(queue, second, NULL, NULL));
  // The queue disposes of the remaining timelines.
  WORKS(AudioQueueDispose(queue, true));
  GIVES(AudioQueueDisposeTimeline(queue, second), kAudio_ParamError);
  GIVES(AudioQueueGetCurrentTime(other, second, NULL, NULL), kAudio_ParamError);
  WORKS(AudioQueueDisposeTimeline(other, foreign));
  WORKS(AudioQueueDispose(other, true));
  passed("what a timeline must be");
}

static void running_dry(void) {
  AudioQueueRef queue = new_queue();
  AudioQueueTimelineRef first = new_timeline(queue), second = new_timeline(queue);
  AudioQueueBufferRef buffer = new_buffer(queue, 1000);
  Boolean flag = 7;
  // Before the start there is nothing to report, and nothing is lost.
  GIVES(AudioQueueGetCurrentTime(queue, first, NULL, &flag), kAudioQueueErr_InvalidRunState);
  EQUAL(flag, 0);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_running(queue));
  // The queue was dry from its first frame on. A call without the flag argument does not consume
  // the report.
  WORKS(AudioQueueGetCurrentTime(queue, first, NULL, NULL));
  EQUAL(is_broken(queue, first), true);
  check_whole(queue, first);
  // A timeline created later does not report it.
  AudioQueueTimelineRef late = new_timeline(queue);
  check_whole(queue, late);
  // The queue gets a buffer and runs dry again.
  double before = time_of(queue);
  calls = 0;
  enqueue_wave(queue, buffer, 0, 1000);
  WAIT(calls == 1);
  WAIT(is_broken(queue, first));
  EQUAL(is_broken(queue, late), true);
  check_whole(queue, first);
  check_whole(queue, late);
  // A timeline that was never read reports both as one.
  EQUAL(is_broken(queue, second), true);
  check_whole(queue, second);
  // The queue's time advanced with the clock and counted the silence once.
  UInt64 start = mach_absolute_time();
  double begin = time_of(queue);
  CHECK(begin > before);
  record(card, RATE / 2);
  double passed_by = time_of(queue) - begin;
  double elapsed = (double)(mach_absolute_time() - start) / 1e9;
  CHECK(passed_by < (elapsed + 0.1) * RATE);
  WORKS(AudioQueueDispose(queue, true));
  passed("running dry");
}

/// Stops this program for a while, including its clients' threads.
static void stand_still(void) {
  pid_t child = fork();
  if (child == 0) {
    kill(getppid(), SIGSTOP);
    usleep(200000);
    kill(getppid(), SIGCONT);
    _exit(0);
  }
  CHECK(child > 0);
  int status;
  waitpid(child, &status, 0);
}

static void missed_cycles(void) {
  AudioQueueRef queue = new_queue();
  AudioQueueBufferRef buffer = new_buffer(queue, 20 * RATE);
  fill_with_wave(buffer, 0, 20 * RATE);
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_running(queue));
  AudioQueueTimelineRef first = new_timeline(queue), second = new_timeline(queue);
  // A busy machine may miss some cycles by itself.
  WAIT(!is_broken(queue, first));
  unsigned gaps = cue_capture_gap_count(card);
  stand_still();
  WAIT(cue_capture_gap_count(card) > gaps);
  WAIT(is_broken(queue, first));
  EQUAL(is_broken(queue, second), true);
  WAIT(!is_broken(queue, first));
  WAIT(!is_broken(queue, second));
  WORKS(AudioQueueDispose(queue, true));
  passed("missed cycles");
}

static void a_queue_that_drains(void) {
  AudioQueueRef queue = new_queue();
  AudioQueueTimelineRef timeline = new_timeline(queue), another = NULL;
  AudioQueueBufferRef buffer = new_buffer(queue, 2 * RATE);
  enqueue_wave(queue, buffer, 0, 2 * RATE);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_running(queue));
  WORKS(AudioQueueDispose(queue, false));
  const OSStatus pending = kAudioQueueErr_DisposalPending;
  UInt32 value = 0, size = sizeof value;
  GIVES(AudioQueueCreateTimeline(queue, &another), pending);
  GIVES(AudioQueueGetCurrentTime(queue, timeline, NULL, NULL), pending);
  GIVES(AudioQueueDisposeTimeline(queue, timeline), pending);
  GIVES(AudioQueueGetProperty(queue, kAudioQueueProperty_IsRunning, &value, &size), pending);
  GIVES(AudioQueueFreeBuffer(queue, buffer), pending);
  WAIT(AudioQueueDisposeTimeline(queue, timeline) == kAudio_ParamError);
  passed("a queue that drains");
}

int main(int argc, char **argv) {
  format = float_format(RATE, 2);
  card = open_card(60);
  if (argc > 1 && !strcmp(argv[1], "missed")) {
    missed_cycles();
  } else {
    what_a_timeline_must_be();
    running_dry();
    a_queue_that_drains();
  }
  cue_capture_close(card);
  return 0;
}
