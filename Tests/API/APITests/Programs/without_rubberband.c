// For a library without Rubber Band: it refuses the time-pitch processor, and plays. Needs no
// server.
#include "check.h"

enum {
  FRAMES = 1000
};

static void ignore(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

int main(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioChannelLayout layout = {.mChannelLayoutTag = kAudioChannelLayoutTag_Stereo};
  AudioTimeStamp time = {.mFlags = kAudioTimeStampSampleTimeValid};
  UInt32 on = 1, off = 0;
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, ignore, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueSetOfflineRenderFormat(queue, &format, &layout));
  GIVES(AudioQueueSetProperty(queue, kAudioQueueProperty_EnableTimePitch, &on, sizeof on),
        kAudioQueueErr_InvalidPropertyValue);
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_EnableTimePitch, &off, sizeof off));
  AudioQueueBufferRef heard = new_buffer(queue, FRAMES);
  enqueue_wave(queue, new_buffer(queue, FRAMES), 0, FRAMES);
  WORKS(AudioQueueStart(queue, NULL));
  WORKS(AudioQueueOfflineRender(queue, &time, heard, FRAMES));
  EQUAL(heard->mAudioDataByteSize, FRAMES * FRAME_BYTES);
  const float *samples = heard->mAudioData;
  for (long i = 0; i < FRAMES; i++)
    CHECK(samples[2 * i] == wave(i) && samples[2 * i + 1] == -wave(i));
  WORKS(AudioQueueDispose(queue, true));
  passed("without Rubber Band");
  return 0;
}
