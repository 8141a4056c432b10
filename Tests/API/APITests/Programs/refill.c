// Plays a wave in many buffers, which the callback refills in one of five contexts. Argument: loop,
// mode, thread, dispatch or second.
#include "check.h"

enum {
  BUFFERS = 3,
  FRAMES = 4000,
  REFILLS = 20
};

static const char *way;
static AudioQueueRef queue;
static pthread_t loop_thread, callback_thread;
static int dispatch_key;
static _Atomic int inside, calls, stopped, running_changes;
static AudioQueueBufferRef buffers[BUFFERS];
static long next_frame, next_back;
static bool is_in_mode, has_callback_thread;

static void check_place(void) {
  if (!strcmp(way, "loop") || !strcmp(way, "mode") || !strcmp(way, "second")) {
    CHECK(pthread_equal(pthread_self(), loop_thread));
    CHECK(strcmp(way, "mode") || is_in_mode);
  } else if (!strcmp(way, "dispatch")) {
    CHECK(dispatch_get_specific(&dispatch_key) == &dispatch_key);
  } else {
    // Always the same thread, which belongs to the queue.
    CHECK(!pthread_equal(pthread_self(), loop_thread));
    if (has_callback_thread) CHECK(pthread_equal(pthread_self(), callback_thread));
    callback_thread = pthread_self();
    has_callback_thread = true;
  }
}

static void refill(AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  CHECK(in_queue == queue);
  if (next_frame == (long)FRAMES * REFILLS) {
    if (!stopped) WORKS(AudioQueueStop(queue, false));
    stopped = 1;
    return;
  }
  enqueue_wave(queue, buffer, next_frame, FRAMES);
  next_frame += FRAMES;
}

static void played(void *data, AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
  CHECK(data == &calls);
  // One call at a time, in the order of enqueuing.
  CHECK(++inside == 1);
  check_place();
  CHECK(buffer == buffers[calls % BUFFERS]);
  CHECK(wave_frame(((float *)buffer->mAudioData)[0]) == next_back);
  CHECK(buffer->mAudioDataByteSize == FRAMES * FRAME_BYTES);
  next_back += FRAMES;
  refill(in_queue, buffer);
  calls++;
  inside--;
}

static void changed(void *data, AudioQueueRef in_queue, AudioQueuePropertyID property) {
  CHECK(data == &running_changes && property == kAudioQueueProperty_IsRunning);
  CHECK(++inside == 1);
  check_place();
  // First on, then off.
  EQUAL(is_running(in_queue), running_changes == 0);
  running_changes++;
  inside--;
}

static void play(cue_capture *card) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  CFStringRef mode = NULL;
  CFRunLoopRef loop = NULL;
  loop_thread = pthread_self();
  if (!strcmp(way, "dispatch")) {
    dispatch_queue_t target = dispatch_queue_create("test", NULL);
    dispatch_queue_set_specific(target, &dispatch_key, &dispatch_key, NULL);
    WORKS(AudioQueueNewOutputWithDispatchQueue(
        &queue, &format, 0, target, ^(AudioQueueRef in_queue, AudioQueueBufferRef buffer) {
          played(&calls, in_queue, buffer);
        }));
    dispatch_release(target);
  } else {
    if (!strcmp(way, "mode")) mode = CFSTR("a mode of its own");
    if (strcmp(way, "thread")) loop = CFRunLoopGetCurrent();
    WORKS(AudioQueueNewOutput(&format, played, &calls, loop, mode, 0, &queue));
  }
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, changed,
                                      &running_changes));
  for (int i = 0; i < BUFFERS; i++) {
    buffers[i] = new_buffer(queue, FRAMES);
    refill(queue, buffers[i]);
  }
  WORKS(AudioQueueStart(queue, NULL));
  if (mode) {
    // No callback runs in another mode.
    double end = seconds_now() + 0.2;
    while (seconds_now() < end)
      CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.05, false);
    EQUAL(calls, 0);
    EQUAL(running_changes, 0);
    is_in_mode = true;
    end = seconds_now() + PATIENCE;
    while (running_changes < 2 && seconds_now() < end)
      CFRunLoopRunInMode(mode, 0.05, true);
  } else if (loop) {
    RUN_LOOP_UNTIL(running_changes == 2);
  } else {
    WAIT(running_changes == 2);
  }
  EQUAL(running_changes, 2);
  EQUAL(calls, REFILLS);
  CHECK(stopped);
  WORKS(AudioQueueDispose(queue, true));
  end_recording(card);
  if (!mode) {
    HEAR(card, find_sound(card, 0), 0, (long)FRAMES * REFILLS);
  } else {
    // The queue ran dry while the mode did not run. The enqueued buffers were played.
    size_t at = HEAR(card, find_sound(card, 0), 0, (long)FRAMES * BUFFERS);
    HEAR(card, find_sound(card, at), (long)FRAMES * BUFFERS, FRAMES);
  }
}

static void *play_on_thread(void *card) {
  play((cue_capture *)card);
  return NULL;
}

int main(int argc, char **argv) {
  way = argc > 1 ? argv[1] : "loop";
  cue_capture *card = open_card(10);
  if (!strcmp(way, "second")) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, play_on_thread, card) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  } else {
    play(card);
  }
  passed(way);
  cue_capture_close(card);
  return 0;
}
