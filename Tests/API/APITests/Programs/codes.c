// Every result code that Audio Queue Services documents, each provoked by an error.
#include "check.h"

#include <signal.h>
#include <sys/wait.h>

static cue_capture *card;
static _Atomic int calls;
static _Atomic bool blocks;
static OSStatus seen_in_callback;

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  if (data) seen_in_callback = AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
  calls++;
}

static void recorded(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *start, UInt32 count,
                     const AudioStreamPacketDescription *packets) {
  (void)data, (void)queue, (void)buffer, (void)start, (void)count, (void)packets;
}

static AudioQueueRef new_queue(void *data) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, played, data, NULL, NULL, 0, &queue));
  return queue;
}

static AudioQueueRef new_recorder(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewInput(&format, recorded, NULL, NULL, NULL, 0, &queue));
  return queue;
}

static UInt32 uint32_of(AudioQueueRef queue, AudioQueuePropertyID property) {
  UInt32 value = 99, size = sizeof value;
  WORKS(AudioQueueGetProperty(queue, property, &value, &size));
  return value;
}

static void mistakes_with_buffers(void) {
  AudioQueueRef queue = new_queue(NULL), other = new_queue(NULL);
  AudioQueueBufferRef buffer = new_buffer(queue, 1000), foreign = new_buffer(other, 1000);
  foreign->mAudioDataByteSize = 1000 * FRAME_BYTES;
  GIVES(AudioQueueEnqueueBuffer(queue, foreign, 0, NULL), kAudioQueueErr_InvalidBuffer);
  GIVES(AudioQueueEnqueueBuffer(queue, buffer, 0, NULL), kAudioQueueErr_BufferEmpty);
  enqueue_wave(queue, buffer, 0, 1000);
  GIVES(AudioQueueFreeBuffer(queue, buffer), kAudioQueueErr_BufferInQueue);
  passed("InvalidBuffer");
  passed("BufferEmpty");
  passed("BufferInQueue");

  AudioQueueRef resetting = new_queue(&calls);
  AudioQueueBufferRef handed_back = new_buffer(resetting, 1000);
  enqueue_wave(resetting, handed_back, 0, 1000);
  WORKS(AudioQueueReset(resetting));
  EQUAL(seen_in_callback, kAudioQueueErr_EnqueueDuringReset);
  passed("EnqueueDuringReset");
  WORKS(AudioQueueDispose(resetting, true));
  WORKS(AudioQueueDispose(other, true));
  WORKS(AudioQueueDispose(queue, true));
}

static void mistakes_with_properties(void) {
  AudioQueueRef queue = new_queue(NULL);
  UInt32 value = 1, size = sizeof value;
  GIVES(AudioQueueGetProperty(queue, 'none', &value, &size), kAudioQueueErr_InvalidProperty);
  passed("InvalidProperty");
  Float64 rate = 0;
  size = sizeof rate - 1;
  GIVES(AudioQueueGetProperty(queue, kAudioQueueDeviceProperty_SampleRate, &rate, &size),
        kAudioQueueErr_InvalidPropertySize);
  passed("InvalidPropertySize");
  GIVES(AudioQueueSetProperty(queue, kAudioQueueProperty_IsRunning, &value, sizeof value),
        kAudioQueueErr_Permissions);
  passed("Permissions");
  value = 5;
  GIVES(AudioQueueSetProperty(queue, kAudioQueueProperty_HardwareCodecPolicy, &value, sizeof value),
        kAudioQueueErr_InvalidPropertyValue);
  passed("InvalidPropertyValue");
  value = kAudioQueueHardwareCodecPolicy_UseHardwareOnly;
  AudioStreamBasicDescription compressed = {.mSampleRate = RATE,
                                            .mFormatID = kAudioFormatULaw,
                                            .mBytesPerPacket = 1,
                                            .mFramesPerPacket = 1,
                                            .mBytesPerFrame = 1,
                                            .mChannelsPerFrame = 1,
                                            .mBitsPerChannel = 8};
  AudioQueueRef queues[2] = {NULL, NULL};
  WORKS(AudioQueueNewOutput(&compressed, played, NULL, NULL, NULL, 0, &queues[0]));
  WORKS(AudioQueueNewInput(&compressed, recorded, NULL, NULL, NULL, 0, &queues[1]));
  GIVES(AudioQueuePrime(queues[0], 0, NULL), noErr);
  for (int i = 0; i < 2; i++) {
    WORKS(AudioQueueSetProperty(queues[i], kAudioQueueProperty_HardwareCodecPolicy, &value,
                                sizeof value));
    EQUAL(uint32_of(queues[i], kAudioQueueProperty_HardwareCodecPolicy), value);
    GIVES(AudioQueueStart(queues[i], NULL), kAudioQueueErr_InvalidCodecAccess);
  }
  GIVES(AudioQueuePrime(queues[0], 0, NULL), kAudioQueueErr_InvalidCodecAccess);
  value = kAudioQueueHardwareCodecPolicy_PreferHardware;
  for (int i = 0; i < 2; i++) {
    WORKS(AudioQueueSetProperty(queues[i], kAudioQueueProperty_HardwareCodecPolicy, &value,
                                sizeof value));
    WORKS(AudioQueueStart(queues[i], NULL));
    GIVES(AudioQueueSetProperty(queues[i], kAudioQueueProperty_HardwareCodecPolicy, &value,
                                sizeof value),
          kAudioQueueErr_InvalidRunState);
    WORKS(AudioQueueDispose(queues[i], true));
  }
  passed("InvalidCodecAccess");
  CFStringRef nowhere = CFSTR("jack:nowhere/nobody");
  GIVES(AudioQueueSetProperty(queue, kAudioQueueProperty_CurrentDevice, &nowhere, sizeof nowhere),
        kAudioQueueErr_InvalidDevice);
  passed("InvalidDevice");
  GIVES(AudioQueueSetParameter(queue, 99, 0), kAudioQueueErr_InvalidParameter);
  passed("InvalidParameter");
  AudioTimeStamp time;
  GIVES(AudioQueueGetCurrentTime(queue, NULL, &time, NULL), kAudioQueueErr_InvalidRunState);
  passed("InvalidRunState");
  time = (AudioTimeStamp){.mFlags = kAudioTimeStampSampleTimeValid};
  GIVES(AudioQueueOfflineRender(queue, &time, new_buffer(queue, 100), 100),
        kAudioQueueErr_InvalidOfflineMode);
  passed("InvalidOfflineMode");
  WORKS(AudioQueueDispose(queue, true));

  AudioStreamBasicDescription format = float_format(RATE, 2);
  format.mFormatID = 'QDM2';
  format.mFormatFlags = format.mBitsPerChannel = 0;
  format.mBytesPerFrame = format.mBytesPerPacket = format.mFramesPerPacket = 0;
  GIVES(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue),
        kAudioQueueErr_CodecNotFound);
  passed("CodecNotFound");
}

static void a_queue_that_goes(void) {
  AudioQueueRef queue = new_queue(NULL);
  AudioQueueBufferRef buffer = new_buffer(queue, 4 * RATE);
  enqueue_wave(queue, buffer, 0, 4 * RATE);
  WORKS(AudioQueueStart(queue, NULL));
  WORKS(AudioQueueDispose(queue, false));
  GIVES(AudioQueueStart(queue, NULL), kAudioQueueErr_DisposalPending);
  passed("DisposalPending");
}

static void slow(void *data, AudioQueueProcessingTapRef tap, UInt32 frames, AudioTimeStamp *time,
                 AudioQueueProcessingTapFlags *flags, UInt32 *out_frames, AudioBufferList *list) {
  (void)data;
  while (blocks)
    usleep(1000);
  WORKS(AudioQueueProcessingTapGetSourceAudio(tap, frames, time, flags, out_frames, list));
}

static void a_converter_that_hangs(void) {
  AudioQueueRef queue = new_queue(NULL);
  AudioQueueProcessingTapRef tap = NULL;
  AudioStreamBasicDescription format;
  UInt32 most = 0;
  WORKS(AudioQueueProcessingTapNew(queue, slow, NULL, kAudioQueueProcessingTap_PreEffects, &most,
                                   &format, &tap));
  enqueue_wave(queue, new_buffer(queue, 1000), 0, 1000);
  blocks = true;
  GIVES(AudioQueuePrime(queue, 0, NULL), kAudioQueueErr_PrimeTimedOut);
  blocks = false;
  passed("PrimeTimedOut");
  WORKS(AudioQueueDispose(queue, true));
}

static void mistakes_with_recording(void) {
  AudioQueueRef recorder = new_recorder();
  GIVES(AudioQueuePrime(recorder, 0, NULL), kAudioQueueErr_InvalidQueueType);
  passed("InvalidQueueType");
  // Nothing is enqueued.
  WORKS(AudioQueueStart(recorder, NULL));
  WAIT((OSStatus)uint32_of(recorder, kAudioQueueProperty_ConverterError) ==
       kAudioQueueErr_RecordUnderrun);
  passed("RecordUnderrun");
  WORKS(AudioQueueDispose(recorder, true));
}

/// A separate server, which can be killed.
static void a_server_that_goes(void) {
  char name[100];
  const char *usual = getenv("JACK_DEFAULT_SERVER");
  snprintf(name, sizeof name, "%s-second", usual);
  char *saved = strdup(usual);
  setenv("JACK_DEFAULT_SERVER", name, 1);
  AudioQueueRef queue = new_queue(NULL);
  GIVES(AudioQueueStart(queue, NULL), kAudioQueueErr_CannotStart);
  passed("CannotStart");

  pid_t server = fork();
  if (server == 0) {
    freopen("/dev/null", "w", stdout);
    freopen("/dev/null", "w", stderr);
    execlp("jackd", "jackd", "-n", name, "-r", "-d", "dummy", "-p", "1024", (char *)NULL);
    _exit(127);
  }
  CHECK(server > 0);
  // libjack fails if the server has started only halfway.
  OSStatus status = kAudioQueueErr_CannotStart;
  for (int i = 0; i < PATIENCE && status != noErr; i++) {
    sleep(1);
    status = AudioQueueStart(queue, NULL);
  }
  WORKS(status);
  WAIT(is_running(queue));
  kill(server, SIGTERM);
  waitpid(server, NULL, 0);
  WAIT(AudioQueueStart(queue, NULL) == kAudioQueueErr_QueueInvalidated);
  // These calls need no server.
  WORKS(AudioQueuePause(queue));
  WORKS(AudioQueueStop(queue, true));
  passed("QueueInvalidated");
  WORKS(AudioQueueDispose(queue, true));
  setenv("JACK_DEFAULT_SERVER", saved, 1);
  free(saved);
}

int main(void) {
  card = open_card(1);
  mistakes_with_buffers();
  mistakes_with_properties();
  a_queue_that_goes();
  a_converter_that_hangs();
  mistakes_with_recording();
  // libjack supports only one server at a time in a program.
  cue_capture_close(card);
  a_server_that_goes();
  return 0;
}
