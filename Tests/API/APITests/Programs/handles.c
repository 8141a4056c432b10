// Calls with invalid queues, formats and names.
#include "check.h"

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)data, (void)queue, (void)property;
}

/// Calls every function with an invalid queue.
static void call_everything(AudioQueueRef queue) {
  AudioQueueBuffer memory = {0};
  AudioQueueBufferRef buffer = &memory;
  AudioTimeStamp time = {0};
  Boolean is_discontinuous;
  Float32 value = 0;
  UInt32 number = 0, size = sizeof number;
  const AudioQueuePropertyID running = kAudioQueueProperty_IsRunning;
  GIVES(AudioQueueAllocateBuffer(queue, 100, &buffer), kAudio_ParamError);
  buffer = &memory;
  GIVES(AudioQueueAllocateBufferWithPacketDescriptions(queue, 100, 1, &buffer), kAudio_ParamError);
  buffer = &memory;
  GIVES(AudioQueueFreeBuffer(queue, buffer), kAudio_ParamError);
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL), kAudio_ParamError);
  GIVES(AudioQueueStart(queue, NULL), kAudio_ParamError);
  GIVES(AudioQueueDeviceTranslateTime(queue, &time, &time), kAudio_ParamError);
  GIVES(AudioQueueDeviceGetNearestStartTime(queue, &time, 0), kAudio_ParamError);
  GIVES(AudioQueuePrime(queue, 0, NULL), kAudio_ParamError);
  GIVES(AudioQueuePause(queue), kAudio_ParamError);
  GIVES(AudioQueueFlush(queue), kAudio_ParamError);
  GIVES(AudioQueueReset(queue), kAudio_ParamError);
  GIVES(AudioQueueStop(queue, true), kAudio_ParamError);
  GIVES(AudioQueueStop(queue, false), kAudio_ParamError);
  GIVES(AudioQueueGetParameter(queue, kAudioQueueParam_Volume, &value), kAudio_ParamError);
  GIVES(AudioQueueSetParameter(queue, kAudioQueueParam_Volume, 1), kAudio_ParamError);
  GIVES(AudioQueueGetPropertySize(queue, running, &size), kAudio_ParamError);
  GIVES(AudioQueueGetProperty(queue, running, &number, &size), kAudio_ParamError);
  GIVES(AudioQueueSetProperty(queue, running, &number, size), kAudio_ParamError);
  GIVES(AudioQueueAddPropertyListener(queue, running, changed, NULL), kAudio_ParamError);
  GIVES(AudioQueueRemovePropertyListener(queue, running, changed, NULL), kAudio_ParamError);
  GIVES(AudioQueueGetCurrentTime(queue, NULL, &time, &is_discontinuous), kAudio_ParamError);
  AudioQueueTimelineRef timeline = NULL;
  GIVES(AudioQueueCreateTimeline(queue, &timeline), kAudio_ParamError);
  GIVES(AudioQueueDisposeTimeline(queue, timeline), kAudio_ParamError);
  GIVES(AudioQueueDeviceGetCurrentTime(queue, &time), kAudio_ParamError);
  GIVES(AudioQueueDispose(queue, true), kAudio_ParamError);
  GIVES(AudioQueueDispose(queue, false), kAudio_ParamError);
}

static void unsupported(AudioStreamBasicDescription format) {
  AudioQueueRef queue = (AudioQueueRef)(void *)1;
  GIVES(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue),
        kAudioFormatUnsupportedDataFormatError);
}

static void formats(void) {
  const AudioStreamBasicDescription good = float_format(RATE, 2);
  AudioStreamBasicDescription format = good;
  format.mFormatID = 'what';
  unsupported(format);
  format = good;
  format.mChannelsPerFrame = 0;
  unsupported(format);
  format = good;
  format.mChannelsPerFrame = 1000000;
  unsupported(format);
  format = good;
  format.mBitsPerChannel = 33;
  unsupported(format);
  format = good;
  format.mBytesPerFrame = 7;
  unsupported(format);
  format = good;
  format.mSampleRate = -1;
  unsupported(format);
  format.mSampleRate = NAN;
  unsupported(format);
  memset(&format, 0, sizeof format);
  unsupported(format);
  memset(&format, 0xff, sizeof format);
  unsupported(format);

  // Packet formats with only the required fields.
  AudioQueueRef queue = NULL;
  const AudioFormatID compressed[] = {kAudioFormatMPEG4AAC,      kAudioFormatMPEG4AAC_HE_V2,
                                      kAudioFormatAppleLossless, kAudioFormatMPEGLayer3,
                                      kAudioFormatAC3,           kAudioFormatAppleIMA4,
                                      kAudioFormatULaw,          kAudioFormatFLAC,
                                      kAudioFormatOpus,          kAudioFormatMicrosoftGSM};
  for (size_t i = 0; i < sizeof compressed / sizeof *compressed; i++) {
    memset(&format, 0, sizeof format);
    format.mSampleRate = 44100;
    format.mFormatID = compressed[i];
    format.mChannelsPerFrame = 2;
    WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
    WORKS(AudioQueueDispose(queue, true));
    format.mSampleRate = 0;
    unsupported(format);
    format.mSampleRate = 44100;
    format.mChannelsPerFrame = 0;
    unsupported(format);
  }
  // Such a packet does not exist.
  format.mChannelsPerFrame = 2;
  format.mFormatID = kAudioFormatULaw;
  format.mFramesPerPacket = 1024;
  unsupported(format);
  // Known formats without a codec.
  const AudioFormatID unplayable[] = {kAudioFormatAPAC, 'QDM2', 'QDMC'};
  for (size_t i = 0; i < sizeof unplayable / sizeof *unplayable; i++) {
    format.mFormatID = unplayable[i];
    GIVES(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue),
          kAudioQueueErr_CodecNotFound);
  }
  // Formats without audio.
  format.mFormatID = kAudioFormatTimeCode;
  unsupported(format);
  format.mFormatID = kAudioFormatMIDIStream;
  unsupported(format);

  // Sloppy but unambiguous.
  format = good;
  format.mFormatFlags = kAudioFormatFlagIsFloat;
  format.mReserved = 12345;
  format.mBytesPerPacket = 0;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueDispose(queue, true));
  GIVES(AudioQueueNewOutput(&good, played, NULL, NULL, NULL, 1, &queue), kAudio_ParamError);
  passed("formats");
}

static void names(void) {
  const AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  UInt32 number = 0, size = sizeof number;
  Float32 value = 0;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  GIVES(AudioQueueGetParameter(queue, 999, &value), kAudioQueueErr_InvalidParameter);
  GIVES(AudioQueueSetParameter(queue, 999, 1), kAudioQueueErr_InvalidParameter);
  GIVES(AudioQueueGetPropertySize(queue, 'what', &size), kAudioQueueErr_InvalidProperty);
  GIVES(AudioQueueGetProperty(queue, 'what', &number, &size), kAudioQueueErr_InvalidProperty);
  GIVES(AudioQueueSetProperty(queue, 'what', &number, size), kAudioQueueErr_InvalidProperty);
  GIVES(AudioQueueAddPropertyListener(queue, 'what', changed, NULL),
        kAudioQueueErr_InvalidProperty);
  GIVES(AudioQueueRemovePropertyListener(queue, 'what', changed, NULL),
        kAudioQueueErr_InvalidProperty);
  EQUAL(size, sizeof number);
  WORKS(AudioQueueDispose(queue, true));
  passed("names");
}

int main(void) {
  const AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  call_everything(NULL);
  passed("no queue");
  char memory[64] = {0};
  call_everything((AudioQueueRef)(void *)memory);
  call_everything((AudioQueueRef)(void *)1);
  call_everything((AudioQueueRef)(void *)UINTPTR_MAX);
  passed("made-up queues");
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueDispose(queue, true));
  call_everything(queue);
  // A new queue does not make an old handle valid again.
  AudioQueueRef old = queue;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  CHECK(queue != old);
  call_everything(old);
  WORKS(AudioQueueDispose(queue, true));
  passed("a disposed queue");
  formats();
  names();
  return 0;
}
