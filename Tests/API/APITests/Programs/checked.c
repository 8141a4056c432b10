// Callbacks in a cycle that do what they must not, and others: for CUEJACK_CHECK_CALLBACKS.
//
// `drains`, `stops` and `hands_over` call functions of the library that a cycle may call.
//
//   checked              ends like a program that runs for a short time
//   checked for-good     ends without telling the library, after more than a second
#include "extaudiofile.h"
#include "units.h"

#include <fcntl.h>
#include <time.h>

enum {
  CALLBACKS = 10
};

/// Calls of each callback.
static _Atomic int calls[CALLBACKS];

static void *volatile memory;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file;

static OSStatus behaves(AudioDeviceID device, const AudioTimeStamp *now,
                        const AudioBufferList *input, const AudioTimeStamp *input_time,
                        AudioBufferList *output, const AudioTimeStamp *output_time, void *data) {
  (void)device, (void)now, (void)input, (void)input_time, (void)output_time, (void)data;
  memset(output->mBuffers[0].mData, 0, output->mBuffers[0].mDataByteSize);
  calls[0]++;
  return noErr;
}

static OSStatus locks(AudioDeviceID device, const AudioTimeStamp *now, const AudioBufferList *input,
                      const AudioTimeStamp *input_time, AudioBufferList *output,
                      const AudioTimeStamp *output_time, void *data) {
  (void)device, (void)now, (void)input, (void)input_time, (void)output, (void)output_time;
  (void)data;
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  calls[1]++;
  return noErr;
}

static OSStatus sleeps(AudioDeviceID device, const AudioTimeStamp *now,
                       const AudioBufferList *input, const AudioTimeStamp *input_time,
                       AudioBufferList *output, const AudioTimeStamp *output_time, void *data) {
  (void)device, (void)now, (void)input, (void)input_time, (void)output, (void)output_time;
  (void)data;
  // Longer than the 4096 frames of a cycle.
  const struct timespec time = {0, 100000000};
  nanosleep(&time, NULL);
  calls[2]++;
  return noErr;
}

static OSStatus allocates(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                          UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)data, (void)flags, (void)time, (void)bus, (void)frames;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    memset(list->mBuffers[i].mData, 0, list->mBuffers[i].mDataByteSize);
  memory = malloc(100);
  free(memory);
  calls[3]++;
  return noErr;
}

/// Renders a unit, whose callback is `writes`.
static OSStatus pulls(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                      UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)bus;
  calls[4]++;
  return AudioUnitRender(data, flags, time, 0, frames, list);
}

static OSStatus writes(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                       UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)data, (void)flags, (void)time, (void)bus, (void)frames, (void)list;
  ssize_t written = write(file, "x", 1);
  calls[5] += written == 1;
  return noErr;
}

/// Allocates outside a cycle, as it may.
static OSStatus renders_elsewhere(void *data, AudioUnitRenderActionFlags *flags,
                                  const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                                  AudioBufferList *list) {
  calls[6] += allocates(data, flags, time, bus, frames, list) == noErr;
  return noErr;
}

/// Stops its unit in its third call.
static OSStatus drains(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                       UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)flags, (void)time, (void)bus, (void)frames;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    memset(list->mBuffers[i].mData, 0, list->mBuffers[i].mDataByteSize);
  if (calls[7] == 2 && AudioOutputUnitStop(data) != noErr) return 1;
  calls[7]++;
  return noErr;
}

/// Stops itself in its third call.
static OSStatus stops(AudioDeviceID device, const AudioTimeStamp *now, const AudioBufferList *input,
                      const AudioTimeStamp *input_time, AudioBufferList *output,
                      const AudioTimeStamp *output_time, void *data) {
  (void)now, (void)input, (void)input_time, (void)output, (void)output_time;
  AudioDeviceIOProcID *id = data;
  if (calls[8] == 2 && AudioDeviceStop(device, *id) != noErr) return 1;
  calls[8]++;
  return noErr;
}

/// Hands its sound over to the thread that writes a file, which is prepared for that.
static OSStatus hands_over(void *data, AudioUnitRenderActionFlags *flags,
                           const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                           AudioBufferList *list) {
  (void)flags, (void)time, (void)bus;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    memset(list->mBuffers[i].mData, 0, list->mBuffers[i].mDataByteSize);
  calls[9] += ExtAudioFileWriteAsync(data, frames, list) == noErr;
  return noErr;
}

static AudioUnit output(void) {
  return make(kAudioUnitType_Output, kAudioUnitSubType_RemoteIO);
}

static AudioUnit play(AudioUnit unit, AURenderCallback proc, void *data) {
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, 2));
  set_callback(unit, 0, proc, data);
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioOutputUnitStart(unit));
  return unit;
}

int main(int count, char **arguments) {
  bool for_good = count > 1 && strcmp(arguments[1], "for-good") == 0;
  file = open("/dev/null", O_WRONLY);
  CHECK(file >= 0);

  AudioUnit elsewhere = make(kAudioUnitType_FormatConverter, kAudioUnitSubType_AUConverter);
  set_callback(elsewhere, 0, renders_elsewhere, NULL);
  WORKS(AudioUnitInitialize(elsewhere));
  AudioTimeStamp time = {.mFlags = kAudioTimeStampSampleTimeValid};
  buffers all = no_memory(2);
  WORKS(AudioUnitRender(elsewhere, NULL, &time, 0, 64, &all.list));
  CHECK(calls[6] == 1);
  WORKS(AudioComponentInstanceDispose(elsewhere));

  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDefaultOutputDevice,
                                        kAudioObjectPropertyScopeGlobal,
                                        kAudioObjectPropertyElementMain};
  AudioDeviceID device = 0;
  UInt32 size = sizeof device;
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, &device));
  const AudioDeviceIOProc procs[] = {behaves, locks, sleeps, stops};
  AudioDeviceIOProcID ids[4];
  for (int i = 0; i < 4; i++) {
    WORKS(AudioDeviceCreateIOProcID(device, procs[i], &ids[i], &ids[i]));
    WORKS(AudioDeviceStart(device, ids[i]));
  }
  AudioUnit inner = make(kAudioUnitType_FormatConverter, kAudioUnitSubType_AUConverter);
  set_format(inner, kAudioUnitScope_Input, 0, planar(RATE, 2));
  set_format(inner, kAudioUnitScope_Output, 0, planar(RATE, 2));
  UInt32 most = 4096;
  WORKS(AudioUnitSetProperty(inner, kAudioUnitProperty_MaximumFramesPerSlice,
                             kAudioUnitScope_Global, 0, &most, sizeof most));
  set_callback(inner, 0, writes, NULL);
  WORKS(AudioUnitInitialize(inner));
  CHECK(mkdtemp(folder) != NULL);
  ExtAudioFileRef sound =
      create("sound.wav", kAudioFileWAVEType, int16(RATE, 2, 0), kAudioFileFlags_EraseFile);
  set_client(sound, planar(RATE, 2));
  WORKS(ExtAudioFileWriteAsync(sound, 0, NULL));
  AudioUnit units[] = {output(), output(), output(), output()};
  play(units[0], allocates, NULL);
  play(units[1], pulls, inner);
  play(units[2], drains, units[2]);
  play(units[3], hands_over, sound);
  for (int i = 0; i < CALLBACKS; i++)
    WAIT(calls[i] >= (i == 6 ? 1 : 3));
  if (for_good) {
    sleep(3);
    run("rm -r \"$PWD\"");
    puts("done");
    fflush(stdout);
    _exit(0);
  }
  for (int i = 0; i < 4; i++)
    WORKS(AudioDeviceDestroyIOProcID(device, ids[i]));
  for (int i = 0; i < 4; i++)
    WORKS(AudioComponentInstanceDispose(units[i]));
  WORKS(AudioComponentInstanceDispose(inner));
  WORKS(ExtAudioFileDispose(sound));
  run("rm -r \"$PWD\"");
  puts("done");
  return 0;
}
