// Eight threads and the callbacks themselves make random calls on random queues, followed by known
// races, one after another. Arguments: a seed and the number of calls.
#include "check.h"

#include <stdatomic.h>

enum {
  THREADS = 8,
  QUEUES = 8,
  RECORDING = 2, // recording queues
  BUFFERS = 8,
  FRAMES = 512,
  RACES = 8
};

static AudioStreamBasicDescription format;

// MARK: Random calls

struct queue;

/// A buffer. Callers hold the lock for reading while they use its address, and for writing to free
/// it.
struct buffer {
  struct queue *queue;
  pthread_rwlock_t lock;
  AudioQueueBufferRef buffer; // NULL if not allocated
  atomic_ulong taken, returned;
};

/// An array element for a queue. Writers hold the lock only to replace the queue.
static struct queue {
  pthread_rwlock_t lock;
  AudioQueueRef queue;
  atomic_bool is_disposed;
  atomic_int inside;
  _Atomic(AudioQueueTimelineRef) timeline;
  struct buffer buffers[BUFFERS];
} queues[QUEUES];

static atomic_ulong calls, callbacks, disposals, told, scheduled, recorded_frames;
static atomic_bool is_over;

static uint64_t draw(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static unsigned below(uint64_t *state, unsigned limit) {
  return (unsigned)(draw(state) % limit);
}

static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)data;
  UInt32 value, size = sizeof value;
  AudioQueueGetProperty(queue, property, &value, &size);
  told++;
}

/// Enqueues with trims that may be too large, a start that may be too early or out of order, and
/// any parameters.
static OSStatus schedule(AudioQueueRef queue, AudioQueueBufferRef buffer, uint64_t *random) {
  AudioQueueParameterEvent events[2] = {
      {kAudioQueueParam_Volume, (float)below(random, 9) / 8},
      {below(random, 2) ? kAudioQueueParam_VolumeRampTime : kAudioQueueParam_Pan,
       (float)below(random, 5) / 4},
  };
  AudioTimeStamp start, actual;
  memset(&start, 0, sizeof start);
  AudioQueueGetCurrentTime(queue, NULL, &start, NULL);
  start.mSampleTime += below(random, 3000) - 1000.0;
  start.mFlags = kAudioTimeStampSampleTimeValid;
  OSStatus status = AudioQueueEnqueueBufferWithParameters(
      queue, buffer, 0, NULL, below(random, FRAMES), below(random, FRAMES / 8), below(random, 3),
      events, below(random, 4) ? NULL : &start, &actual);
  if (!status) scheduled++;
  return status;
}

static void enqueue(struct buffer *buffer, uint64_t *random) {
  if (pthread_rwlock_tryrdlock(&buffer->lock)) return;
  if (buffer->buffer) {
    // Before the call, because the callback may come before it returns.
    buffer->taken++;
    AudioQueueRef queue = buffer->queue->queue;
    if (below(random, 2) ? AudioQueueEnqueueBuffer(queue, buffer->buffer, 0, NULL)
                         : schedule(queue, buffer->buffer, random))
      buffer->taken--;
  }
  pthread_rwlock_unlock(&buffer->lock);
}

static void allocate_or_free(struct buffer *buffer) {
  if (pthread_rwlock_trywrlock(&buffer->lock)) return;
  AudioQueueRef queue = buffer->queue->queue;
  if (!buffer->buffer) {
    if (!AudioQueueAllocateBuffer(queue, FRAMES * FRAME_BYTES, &buffer->buffer)) {
      buffer->buffer->mUserData = buffer;
      buffer->buffer->mAudioDataByteSize = FRAMES * FRAME_BYTES;
    } else {
      buffer->buffer = NULL;
    }
  } else if (buffer->taken == buffer->returned) {
    // The queue still owns a buffer whose callback is pending.
    if (!AudioQueueFreeBuffer(queue, buffer->buffer)) buffer->buffer = NULL;
  }
  pthread_rwlock_unlock(&buffer->lock);
}

static const AudioQueueParameterID parameters[] = {
    kAudioQueueParam_Volume, kAudioQueueParam_VolumeRampTime, kAudioQueueParam_Pan};

static void act(struct queue *queue, uint64_t *random) {
  AudioQueueRef ref = queue->queue;
  AudioTimeStamp time;
  memset(&time, 0, sizeof time);
  UInt32 value = 0, size = sizeof value;
  Float32 volume;
  CFStringRef uid;
  AudioQueueLevelMeterState levels[2];
  AudioQueueTimelineRef timeline;
  Boolean is_broken;
  calls++;
  switch (below(random, 48)) {
  case 0:
  case 1:
  case 2:
    AudioQueueStart(ref, NULL);
    break;
  case 3:
    if (AudioQueueDeviceGetCurrentTime(ref, &time)) break;
    time.mSampleTime += below(random, 2000) - 500.0;
    AudioQueueStart(ref, &time);
    break;
  case 4:
    AudioQueuePause(ref);
    break;
  case 5:
    AudioQueueStop(ref, true);
    break;
  case 6:
    AudioQueueStop(ref, false);
    break;
  case 7:
    AudioQueueFlush(ref);
    break;
  case 8:
    AudioQueueReset(ref);
    break;
  case 9:
    AudioQueuePrime(ref, below(random, 2000), &value);
    break;
  case 10:
    AudioQueueSetParameter(ref, parameters[below(random, 3)], (float)below(random, 9) / 8);
    break;
  case 11:
    AudioQueueGetParameter(ref, parameters[below(random, 3)], &volume);
    break;
  case 12:
    AudioQueueGetCurrentTime(ref, NULL, &time, NULL);
    break;
  case 13:
    AudioQueueGetProperty(ref, kAudioQueueProperty_IsRunning, &value, &size);
    break;
  case 14:
    size = sizeof uid;
    if (!AudioQueueGetProperty(ref, kAudioQueueProperty_CurrentDevice, &uid, &size)) {
      // Queues may share clients.
      AudioQueueSetProperty(queues[below(random, QUEUES)].queue, kAudioQueueProperty_CurrentDevice,
                            &uid, sizeof uid);
      CFRelease(uid);
    }
    break;
  case 15:
    AudioQueueAddPropertyListener(ref, kAudioQueueProperty_IsRunning, changed, queue);
    break;
  case 16:
    AudioQueueRemovePropertyListener(ref, kAudioQueueProperty_IsRunning, changed, queue);
    break;
  case 17:
  case 18:
  case 19:
  case 20:
    allocate_or_free(&queue->buffers[below(random, BUFFERS)]);
    break;
  case 21:
    if (below(random, 8) == 0 && !atomic_exchange(&queue->is_disposed, true)) {
      WORKS(AudioQueueDispose(ref, below(random, 2)));
      disposals++;
    }
    break;
  case 22:
    if (AudioQueueCreateTimeline(ref, &timeline)) break;
    timeline = atomic_exchange(&queue->timeline, timeline);
    if (timeline) AudioQueueDisposeTimeline(ref, timeline);
    break;
  case 23:
    timeline = atomic_exchange(&queue->timeline, NULL);
    if (timeline) AudioQueueDisposeTimeline(ref, timeline);
    break;
  case 24:
  case 25:
    // Another thread may dispose of it at the same time.
    timeline = queue->timeline;
    if (timeline) AudioQueueGetCurrentTime(ref, timeline, &time, &is_broken);
    break;
  case 26:
    value = below(random, 2);
    AudioQueueSetProperty(ref, kAudioQueueProperty_EnableLevelMetering, &value, sizeof value);
    break;
  case 27:
  case 28:
    size = sizeof levels;
    if (!AudioQueueGetProperty(ref,
                               below(random, 2) ? kAudioQueueProperty_CurrentLevelMeter
                                                : kAudioQueueProperty_CurrentLevelMeterDB,
                               levels, &size))
      EQUAL(size, sizeof levels);
    break;
  default:
    enqueue(&queue->buffers[below(random, BUFFERS)], random);
  }
}

static void played(void *data, AudioQueueRef ref, AudioQueueBufferRef played) {
  struct queue *queue = data;
  struct buffer *buffer = played->mUserData;
  CHECK(queue->queue == ref && buffer->queue == queue);
  CHECK(atomic_fetch_add(&queue->inside, 1) == 0);
  CHECK(atomic_fetch_add(&buffer->returned, 1) < buffer->taken);
  uint64_t random = callbacks++ * 77 + (uint64_t)(buffer - queue->buffers);
  if (!is_over && !queue->is_disposed) {
    if (below(&random, 2)) enqueue(buffer, &random);
    if (below(&random, 4) == 0) act(queue, &random);
  }
  queue->inside--;
}

static void recorded(void *data, AudioQueueRef ref, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *start, UInt32 frames,
                     const AudioStreamPacketDescription *packets) {
  CHECK(start && !packets && buffer->mAudioDataByteSize == frames * FRAME_BYTES);
  recorded_frames += frames;
  played(data, ref, buffer);
}

static void make(struct queue *queue) {
  if (queue < queues + RECORDING)
    WORKS(AudioQueueNewInput(&format, recorded, queue, NULL, NULL, 0, &queue->queue));
  else
    WORKS(AudioQueueNewOutput(&format, played, queue, NULL, NULL, 0, &queue->queue));
  queue->timeline = NULL;
  queue->is_disposed = false;
  for (int i = 0; i < BUFFERS; i++) {
    queue->buffers[i].queue = queue;
    queue->buffers[i].buffer = NULL;
    queue->buffers[i].taken = queue->buffers[i].returned = 0;
  }
}

static uint64_t seed;
static unsigned long wanted;

static void *call_at_random(void *number) {
  uint64_t random = seed * 31 + (uint64_t)(uintptr_t)number;
  while (calls < wanted) {
    struct queue *queue = &queues[below(&random, QUEUES)];
    pthread_rwlock_rdlock(&queue->lock);
    if (!queue->is_disposed) act(queue, &random);
    pthread_rwlock_unlock(&queue->lock);
    // A disposed queue is replaced only when all its sound has ended.
    if (queue->is_disposed && !pthread_rwlock_trywrlock(&queue->lock)) {
      if (queue->is_disposed && queue->inside == 0 &&
          AudioQueueStart(queue->queue, NULL) == kAudio_ParamError)
        make(queue);
      pthread_rwlock_unlock(&queue->lock);
    }
  }
  return NULL;
}

static void random_calls(void) {
  pthread_t threads[THREADS];
  double began = seconds_now();
  for (int i = 0; i < QUEUES; i++) {
    pthread_rwlock_init(&queues[i].lock, NULL);
    for (int j = 0; j < BUFFERS; j++)
      pthread_rwlock_init(&queues[i].buffers[j].lock, NULL);
    make(&queues[i]);
  }
  for (intptr_t i = 0; i < THREADS; i++)
    CHECK(!pthread_create(&threads[i], NULL, call_at_random, (void *)i));
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  is_over = true;
  for (int i = 0; i < QUEUES; i++) {
    if (queues[i].is_disposed) continue;
    // A server whose cycles do not come for two seconds, as on a busy machine, counts as gone.
    WAIT(AudioQueueStop(queues[i].queue, true) == noErr);
    // Every accepted enqueue had its callback, and the queue owns no buffer.
    for (int j = 0; j < BUFFERS; j++) {
      struct buffer *buffer = &queues[i].buffers[j];
      EQUAL(buffer->returned, buffer->taken);
      if (buffer->buffer) WORKS(AudioQueueFreeBuffer(queues[i].queue, buffer->buffer));
    }
    EQUAL(queues[i].inside, 0);
    WORKS(AudioQueueDispose(queues[i].queue, true));
  }
  fprintf(stderr,
          "stress: %lu calls, %lu callbacks, %lu frames recorded, %lu buffers scheduled, %lu "
          "listeners called, %lu queues disposed of, %.1f s\n",
          calls, callbacks, recorded_frames, scheduled, told, disposals, seconds_now() - began);
  CHECK(callbacks > 0 && disposals > 0 && told > 0 && scheduled > 0 && recorded_frames > 0);
  passed("random calls");
}

// MARK: Races

static AudioQueueRef raced;
static AudioQueueBufferRef raced_buffers[3];
static atomic_bool has_begun;
static atomic_int back;

static void come_back(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  back++;
  has_begun = true;
  usleep(2000);
}

static void *start_it(void *result) {
  *(OSStatus *)result = AudioQueueStart(raced, NULL);
  return NULL;
}
static void *stop_it(void *result) {
  *(OSStatus *)result = AudioQueueStop(raced, true);
  return NULL;
}
static void *enqueue_it(void *result) {
  *(OSStatus *)result = AudioQueueEnqueueBuffer(raced, raced_buffers[2], 0, NULL);
  return NULL;
}
static void *dispose_it(void *result) {
  *(OSStatus *)result = AudioQueueDispose(raced, true);
  return NULL;
}
static void *remove_it(void *result) {
  *(OSStatus *)result =
      AudioQueueRemovePropertyListener(raced, kAudioQueueProperty_IsRunning, changed, NULL);
  return NULL;
}

/// Makes two simultaneous calls on a queue that plays two buffers. Returns their results.
static void race(void *(*one)(void *), void *(*other)(void *), bool starts, OSStatus results[2]) {
  back = 0;
  has_begun = false;
  WORKS(AudioQueueNewOutput(&format, come_back, NULL, NULL, NULL, 0, &raced));
  WORKS(AudioQueueAddPropertyListener(raced, kAudioQueueProperty_IsRunning, changed, NULL));
  for (int i = 0; i < 3; i++) {
    raced_buffers[i] = new_buffer(raced, FRAMES);
    raced_buffers[i]->mAudioDataByteSize = FRAMES * FRAME_BYTES;
    if (i < 2) WORKS(AudioQueueEnqueueBuffer(raced, raced_buffers[i], 0, NULL));
  }
  if (starts) {
    WORKS(AudioQueueStart(raced, NULL));
    WAIT(has_begun);
  }
  pthread_t threads[2];
  CHECK(!pthread_create(&threads[0], NULL, one, &results[0]));
  CHECK(!pthread_create(&threads[1], NULL, other, &results[1]));
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}

static atomic_bool is_freed;

static void look_after_free(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)queue;
  has_begun = true;
  WAIT(is_freed);
  CHECK(buffer->mUserData == data && buffer->mAudioDataByteSize == FRAMES * FRAME_BYTES);
  EQUAL(((float *)buffer->mAudioData)[5], 5);
  back++;
}

/// Frees a buffer on another thread while a callback uses it.
static void free_in_callback(void) {
  static int data;
  back = 0;
  has_begun = is_freed = false;
  WORKS(AudioQueueNewOutput(&format, look_after_free, &data, NULL, NULL, 0, &raced));
  AudioQueueBufferRef buffer = new_buffer(raced, FRAMES);
  buffer->mUserData = &data;
  buffer->mAudioDataByteSize = FRAMES * FRAME_BYTES;
  ((float *)buffer->mAudioData)[5] = 5;
  WORKS(AudioQueueEnqueueBuffer(raced, buffer, 0, NULL));
  WORKS(AudioQueueStart(raced, NULL));
  WAIT(has_begun);
  WORKS(AudioQueueFreeBuffer(raced, buffer));
  GIVES(AudioQueueFreeBuffer(raced, buffer), kAudioQueueErr_InvalidBuffer);
  is_freed = true;
  WAIT(back == 1);
  WORKS(AudioQueueDispose(raced, true));
}

static void races(void) {
  free_in_callback();
  OSStatus results[2];
  for (int i = 0; i < RACES; i++) {
    // Disposal during a callback, together with the removal of a listener.
    race(dispose_it, remove_it, true, results);
    EQUAL(results[0], noErr);
    CHECK(results[1] == noErr || results[1] == kAudio_ParamError);
    int then = back;
    GIVES(AudioQueueStart(raced, NULL), kAudio_ParamError);

    race(dispose_it, start_it, false, results);
    EQUAL(results[0], noErr);
    CHECK(results[1] == noErr || results[1] == kAudio_ParamError);
    then = back;
    usleep(20000);
    EQUAL(back, then);

    race(dispose_it, dispose_it, true, results);
    CHECK((results[0] == noErr) != (results[1] == noErr));
    CHECK(results[0] + results[1] == kAudio_ParamError);

    race(stop_it, stop_it, true, results);
    EQUAL(results[0] | results[1], noErr);
    EQUAL(back, 2);
    WORKS(AudioQueueDispose(raced, true));

    race(stop_it, enqueue_it, true, results);
    EQUAL(results[0], noErr);
    CHECK(results[1] == noErr || results[1] == kAudioQueueErr_EnqueueDuringReset);
    // Enqueued before the stop, the buffer has returned; after it, it is queued.
    WORKS(AudioQueueReset(raced));
    EQUAL(back, results[1] == noErr ? 3 : 2);
    WORKS(AudioQueueDispose(raced, true));
  }
  passed("races");
}

int main(int argc, char **argv) {
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  wanted = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
  format = float_format(RATE, 2);
  cue_jack_silence();
  random_calls();
  races();
  return 0;
}
