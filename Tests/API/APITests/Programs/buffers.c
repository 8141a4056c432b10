// The fields of buffers, and the conditions for enqueuing and freeing them.
#include "check.h"

enum {
  FRAMES = 1000
};

static AudioStreamBasicDescription format;
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

static void what_a_new_buffer_is(void) {
  AudioQueueRef queue = new_queue();
  const UInt32 sizes[] = {1, 7, 4096, 100001};
  for (int i = 0; i < 4; i++) {
    AudioQueueBufferRef buffer = NULL;
    WORKS(AudioQueueAllocateBuffer(queue, sizes[i], &buffer));
    EQUAL(buffer->mAudioDataBytesCapacity, sizes[i]);
    EQUAL(buffer->mAudioDataByteSize, 0);
    CHECK(buffer->mUserData == NULL && buffer->mAudioData != NULL);
    EQUAL(buffer->mPacketDescriptionCapacity, 0);
    CHECK(buffer->mPacketDescriptions == NULL);
    EQUAL(buffer->mPacketDescriptionCount, 0);
    // The whole buffer is writable.
    memset(buffer->mAudioData, 0x5a, sizes[i]);
    WORKS(AudioQueueFreeBuffer(queue, buffer));
  }
  AudioQueueBufferRef buffer = NULL;
  WORKS(AudioQueueAllocateBufferWithPacketDescriptions(queue, 100, 5, &buffer));
  EQUAL(buffer->mAudioDataBytesCapacity, 100);
  EQUAL(buffer->mPacketDescriptionCapacity, 5);
  EQUAL(buffer->mPacketDescriptionCount, 0);
  for (int i = 0; i < 5; i++)
    buffer->mPacketDescriptions[i].mDataByteSize = 8;
  WORKS(AudioQueueDispose(queue, true));
  passed("a new buffer");
}

static void the_app_s_fields_stay(void) {
  AudioQueueRef queue = new_queue();
  AudioQueueBufferRef buffer = new_buffer(queue, FRAMES);
  calls = 0;
  buffer->mUserData = &format;
  fill_with_wave(buffer, 0, FRAMES);
  // Three additional bytes, less than a frame.
  buffer->mAudioDataByteSize = (FRAMES - 1) * FRAME_BYTES + 3;
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL));
  WORKS(AudioQueueSetParameter(queue, kAudioQueueParam_Volume, 0.5f));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(calls == 1);
  EQUAL(buffer->mAudioDataByteSize, (FRAMES - 1) * FRAME_BYTES + 3);
  EQUAL(buffer->mAudioDataBytesCapacity, FRAMES * FRAME_BYTES);
  CHECK(buffer->mUserData == &format);
  for (int i = 0; i < FRAMES; i++)
    CHECK(((float *)buffer->mAudioData)[2 * i] == wave(i));
  WORKS(AudioQueueDispose(queue, true));
  passed("the app's fields stay");
}

static void what_cannot_be_enqueued(void) {
  AudioQueueRef queue = new_queue(), other = new_queue();
  AudioQueueBufferRef buffer = new_buffer(queue, FRAMES), foreign = new_buffer(other, FRAMES);
  calls = 0;

  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL), kAudioQueueErr_BufferEmpty);
  fill_with_wave(buffer, 0, FRAMES);
  // Less than a frame, and more than the capacity.
  buffer->mAudioDataByteSize = FRAME_BYTES - 1;
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL), kAudioQueueErr_BufferEmpty);
  buffer->mAudioDataByteSize = buffer->mAudioDataBytesCapacity + FRAME_BYTES;
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL), kAudio_ParamError);

  fill_with_wave(buffer, 0, FRAMES);
  fill_with_wave(foreign, 0, FRAMES);
  GIVES(AudioQueueEnqueueBuffer(queue, foreign, 0, NULL), kAudioQueueErr_InvalidBuffer);
  AudioQueueBuffer made_up = *buffer;
  GIVES(AudioQueueEnqueueBuffer(queue, &made_up, 0, NULL), kAudioQueueErr_InvalidBuffer);
  GIVES(AudioQueueEnqueueBuffer(queue, (AudioQueueBufferRef)(void *)16, 0, NULL),
        kAudioQueueErr_InvalidBuffer);

  AudioStreamPacketDescription outside[] = {{0, 0, 8}, {FRAMES * FRAME_BYTES - 4, 0, 8}};
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 2, outside), kAudio_ParamError);
  outside[1].mStartOffset = -1;
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 2, outside), kAudio_ParamError);

  // The refused calls had no effect.
  outside[1].mStartOffset = 8;
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 2, outside));
  memset(outside, 0xff, sizeof outside);
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL), kAudioQueueErr_BufferEnqueuedTwice);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(calls == 1);
  let_time_pass();
  EQUAL(calls, 1);
  // A description count without descriptions: PCM needs none.
  WORKS(AudioQueueEnqueueBuffer(queue, buffer, 2, NULL));
  WAIT(calls == 2);
  WORKS(AudioQueueDispose(queue, true));
  WORKS(AudioQueueDispose(other, true));
  passed("what cannot be enqueued");
}

static void what_can_be_freed(void) {
  AudioQueueRef queue = new_queue(), other = new_queue();
  AudioQueueBufferRef first = new_buffer(queue, 20 * FRAMES), second = new_buffer(queue, FRAMES);
  AudioQueueBufferRef foreign = new_buffer(other, FRAMES);
  calls = 0;
  GIVES(AudioQueueFreeBuffer(queue, foreign), kAudioQueueErr_InvalidBuffer);
  AudioQueueBuffer made_up = *first;
  GIVES(AudioQueueFreeBuffer(queue, &made_up), kAudioQueueErr_InvalidBuffer);
  enqueue_wave(queue, first, 0, 20 * FRAMES);
  GIVES(AudioQueueFreeBuffer(queue, first), kAudioQueueErr_BufferInQueue);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_running(queue));
  GIVES(AudioQueueFreeBuffer(queue, first), kAudioQueueErr_BufferInQueue);
  // A buffer that is not enqueued can be freed while another one plays.
  WORKS(AudioQueueFreeBuffer(queue, second));
  GIVES(AudioQueueFreeBuffer(queue, second), kAudioQueueErr_InvalidBuffer);
  GIVES(AudioQueueEnqueueBuffer(queue, second, 0, NULL), kAudioQueueErr_InvalidBuffer);
  WAIT(calls == 1);
  WORKS(AudioQueueFreeBuffer(queue, first));
  WORKS(AudioQueueDispose(queue, true));
  WORKS(AudioQueueDispose(other, true));
  passed("what can be freed");
}

int main(void) {
  format = float_format(RATE, 2);
  cue_capture *card = open_card(1);
  what_a_new_buffer_is();
  the_app_s_fields_stay();
  what_cannot_be_enqueued();
  what_can_be_freed();
  cue_capture_close(card);
  return 0;
}
