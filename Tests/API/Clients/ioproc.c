// Passes the input of the default device on to its output: `ioproc [BUFFER-FRAMES]`,
// until it is interrupted.
#include <CoreAudio/AudioHardware.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  UInt32 channels, frames;
  volatile UInt32 calls;
} Thru;

static void check(OSStatus status, const char *what) {
  if (status == noErr) return;
  fprintf(stderr, "%s failed: %d\n", what, (int)status);
  exit(1);
}

static OSStatus process(AudioDeviceID device, const AudioTimeStamp *now,
                        const AudioBufferList *input, const AudioTimeStamp *inputTime,
                        AudioBufferList *output, const AudioTimeStamp *outputTime, void *data) {
  Thru *thru = (Thru *)data;
  (void)device, (void)now, (void)inputTime, (void)outputTime;
  for (UInt32 i = 0; i < output->mNumberBuffers && i < input->mNumberBuffers; i++) {
    const AudioBuffer *from = &input->mBuffers[i];
    AudioBuffer *to = &output->mBuffers[i];
    UInt32 frames = to->mDataByteSize / (to->mNumberChannels * (UInt32)sizeof(Float32));
    const Float32 *in = (const Float32 *)from->mData;
    Float32 *out = (Float32 *)to->mData;
    for (UInt32 frame = 0; frame < frames; frame++)
      for (UInt32 channel = 0; channel < to->mNumberChannels; channel++)
        out[frame * to->mNumberChannels + channel] =
            in[frame * from->mNumberChannels + channel % from->mNumberChannels];
  }
  thru->calls++;
  return kAudioHardwareNoError;
}

int main(int argc, char **argv) {
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, NULL);
  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDefaultOutputDevice,
                                        kAudioObjectPropertyScopeGlobal,
                                        kAudioObjectPropertyElementMain};
  AudioDeviceID device = kAudioDeviceUnknown;
  UInt32 size = sizeof device;
  check(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, &device),
        "default device");
  if (device == kAudioDeviceUnknown) {
    fprintf(stderr, "there is no output device\n");
    return 1;
  }
  Thru thru;
  memset(&thru, 0, sizeof thru);
  AudioStreamBasicDescription format;
  size = sizeof format;
  check(AudioDeviceGetProperty(device, 0, false, kAudioDevicePropertyStreamFormat, &size, &format),
        "stream format");
  thru.channels = format.mChannelsPerFrame;
  if (argc > 1) {
    thru.frames = (UInt32)atoi(argv[1]);
    address.mSelector = kAudioDevicePropertyBufferFrameSize;
    check(AudioObjectSetPropertyData(device, &address, 0, NULL, sizeof thru.frames, &thru.frames),
          "buffer size");
  }
  AudioDeviceIOProcID proc = NULL;
  check(AudioDeviceCreateIOProcID(device, process, &thru, &proc), "create");
  check(AudioDeviceStart(device, proc), "start");
  printf("recording\n");
  fflush(stdout);
  int number;
  sigwait(&interrupt, &number);
  check(AudioDeviceStop(device, proc), "stop");
  check(AudioDeviceDestroyIOProcID(device, proc), "destroy");
  printf("%u calls of %.0f Hz\n", (unsigned)thru.calls, format.mSampleRate);
  return 0;
}
