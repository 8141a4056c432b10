// Functions that return and translate times.

#include "check.h"

#include <CoreAudio/CoreAudio.h>

static void hear(void *user, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)user, (void)queue, (void)buffer;
}

int main(void) {
  UInt64 before = AudioGetCurrentHostTime();
  UInt64 after = AudioGetCurrentHostTime();
  CHECK(after >= before);
  CHECK(AudioGetHostClockFrequency() == 1e9);
  CHECK(AudioGetHostClockMinimumTimeDelta() == 1);
  CHECK(AudioConvertHostTimeToNanos(12345) == 12345);
  CHECK(AudioConvertNanosToHostTime(12345) == 12345);
  passed("host time");

  const AudioStreamBasicDescription format = float_format(RATE, 1);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, hear, NULL, NULL, NULL, 0, &queue));

  AudioQueueRef none = NULL;
  AudioTimeStamp wanted = {0}, found = {0};
  wanted.mFlags = kAudioTimeStampSampleTimeValid;
  GIVES(AudioQueueDeviceTranslateTime(queue, &wanted, &found), kAudioQueueErr_InvalidRunState);
  GIVES(AudioQueueDeviceGetNearestStartTime(queue, &wanted, 0), kAudioQueueErr_InvalidRunState);
  GIVES(AudioQueueDeviceGetNearestStartTime(queue, &wanted, 1), kAudio_ParamError);
  GIVES(AudioQueueDeviceTranslateTime(none, &wanted, &found), kAudio_ParamError);
  passed("a device that does not run");

  WORKS(AudioQueueStart(queue, NULL));
  AudioTimeStamp now = {0};
  WORKS(AudioQueueDeviceGetCurrentTime(queue, &now));
  wanted.mSampleTime = now.mSampleTime + RATE;
  WORKS(AudioQueueDeviceTranslateTime(queue, &wanted, &found));
  // The rate scalar is not measured.
  EQUAL(found.mFlags, kAudioTimeStampSampleHostTimeValid);
  EQUAL(found.mSampleTime, wanted.mSampleTime);
  Float64 seconds = ((Float64)found.mHostTime - (Float64)now.mHostTime) / 1e9;
  CHECK(seconds > 0.9 && seconds < 1.1);
  AudioTimeStamp host = {0};
  host.mHostTime = found.mHostTime;
  host.mFlags = kAudioTimeStampHostTimeValid;
  AudioTimeStamp back = {0};
  WORKS(AudioQueueDeviceTranslateTime(queue, &host, &back));
  CHECK(back.mHostTime == host.mHostTime);
  CHECK(back.mSampleTime > wanted.mSampleTime - 480 && back.mSampleTime < wanted.mSampleTime + 480);
  host.mFlags = 0;
  GIVES(AudioQueueDeviceTranslateTime(queue, &host, &back), kAudio_ParamError);
  passed("translated times");

  AudioTimeStamp start = {0};
  start.mFlags = kAudioTimeStampSampleTimeValid;
  WORKS(AudioQueueDeviceGetNearestStartTime(queue, &start, 0));
  CHECK(start.mSampleTime > 0 && (start.mFlags & kAudioTimeStampHostTimeValid));
  wanted.mSampleTime = start.mSampleTime + 1e6;
  WORKS(AudioQueueDeviceGetNearestStartTime(queue, &wanted, 0));
  CHECK(wanted.mSampleTime == start.mSampleTime + 1e6);
  passed("nearest start times");

  WORKS(AudioQueueDispose(queue, true));
  return 0;
}
