// A queue on a server in freewheel: each cycle waits until the callback has refilled the queue.
#include "check.h"

enum {
  BUFFERS = 3,
  FRAMES = 512,
  REFILLS = 400
};

static AudioQueueBufferRef buffers[BUFFERS];
static _Atomic int calls;
static long next_frame;

static void refill(AudioQueueRef queue, AudioQueueBufferRef buffer) {
  enqueue_wave(queue, buffer, next_frame, FRAMES);
  next_frame += FRAMES;
}

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data;
  if (calls == REFILLS) return;
  // Longer than a cycle takes in freewheel.
  usleep(300);
  refill(queue, buffer);
  calls++;
}

/// True if the card has heard more in a tenth of a second than the clock gives.
static bool is_fast(cue_capture *card) {
  cue_capture_arm(card);
  size_t before = cue_capture_frames(card);
  usleep(100000);
  return cue_capture_frames(card) - before > RATE / 2;
}

int main(void) {
  const AudioStreamBasicDescription format = float_format(RATE, 2);
  cue_capture *card = open_card(120);
  jack_client_t *client = cue_capture_client(card);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  for (int i = 0; i < BUFFERS; i++) {
    buffers[i] = new_buffer(queue, FRAMES);
    refill(queue, buffers[i]);
  }
  WORKS(AudioQueuePrime(queue, 0, NULL));
  EQUAL(jack_set_freewheel(client, 1), 0);
  WAIT(is_fast(card));
  cue_capture_arm(card);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(calls == REFILLS);
  EQUAL(jack_set_freewheel(client, 0), 0);
  WORKS(AudioQueueStop(queue, true));
  WORKS(AudioQueueDispose(queue, true));
  cue_capture_disarm(card);
  // The last buffers may have been played after the freewheel.
  HEAR(card, find_sound(card, 0), 0, (long)FRAMES * (REFILLS - 2 * BUFFERS));
  passed("freewheel");
  cue_capture_close(card);
  return 0;
}
