// Lists the audio devices (`-d`: the default one only). With `-w` it reports changes until it is
// interrupted, and lists them again.
#include <CoreAudio/CoreAudio.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static int ok(OSStatus status, const char *what) {
  if (status == kAudioHardwareNoError) return 1;
  UInt32 code = CFSwapInt32HostToBig((UInt32)status);
  fprintf(stderr, "%s: '%.4s'\n", what, (const char *)&code);
  failures++;
  return 0;
}

static void *copy_property(AudioObjectID object, AudioObjectPropertySelector selector,
                           AudioObjectPropertyScope scope, UInt32 *size) {
  AudioObjectPropertyAddress address = {selector, scope, kAudioObjectPropertyElementMaster};
  *size = 0;
  if (!ok(AudioObjectGetPropertyDataSize(object, &address, 0, NULL, size), "size")) return NULL;
  void *data = calloc(1, *size ? *size : 1);
  if (ok(AudioObjectGetPropertyData(object, &address, 0, NULL, size, data), "data")) return data;
  free(data);
  return NULL;
}

static void print_string(AudioObjectID object, AudioObjectPropertySelector selector,
                         const char *name) {
  CFStringRef string = NULL;
  UInt32 size = sizeof string;
  AudioObjectPropertyAddress address = {selector, kAudioObjectPropertyScopeGlobal,
                                        kAudioObjectPropertyElementMaster};
  if (!ok(AudioObjectGetPropertyData(object, &address, 0, NULL, &size, &string), name)) return;
  CFIndex room =
      CFStringGetMaximumSizeForEncoding(CFStringGetLength(string), kCFStringEncodingUTF8) + 1;
  char *text = (char *)malloc((size_t)room);
  if (CFStringGetCString(string, text, room, kCFStringEncodingUTF8))
    printf("  %s: %s\n", name, text);
  free(text);
  CFRelease(string);
}

static UInt32 count_channels(AudioDeviceID device, AudioObjectPropertyScope scope) {
  UInt32 size, count = 0;
  AudioBufferList *list = (AudioBufferList *)copy_property(
      device, kAudioDevicePropertyStreamConfiguration, scope, &size);
  if (!list) return 0;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    count += list->mBuffers[i].mNumberChannels;
  free(list);
  return count;
}

static UInt32 get_number(AudioDeviceID device, AudioObjectPropertySelector selector,
                         AudioObjectPropertyScope scope) {
  UInt32 size, value = 0;
  UInt32 *data = (UInt32 *)copy_property(device, selector, scope, &size);
  if (data) value = *data;
  free(data);
  return value;
}

static void print_device(AudioDeviceID device) {
  UInt32 size;
  print_string(device, kAudioObjectPropertyName, "name");
  print_string(device, kAudioObjectPropertyManufacturer, "made by");
  print_string(device, kAudioDevicePropertyDeviceUID, "uid");
  printf("  channels: %u in, %u out\n",
         (unsigned)count_channels(device, kAudioDevicePropertyScopeInput),
         (unsigned)count_channels(device, kAudioDevicePropertyScopeOutput));
  Float64 *rate = (Float64 *)copy_property(device, kAudioDevicePropertyNominalSampleRate,
                                           kAudioObjectPropertyScopeGlobal, &size);
  if (rate) printf("  rate: %.0f\n", *rate);
  free(rate);
  AudioValueRange *ranges =
      (AudioValueRange *)copy_property(device, kAudioDevicePropertyAvailableNominalSampleRates,
                                       kAudioObjectPropertyScopeGlobal, &size);
  for (UInt32 i = 0; ranges && i < size / sizeof *ranges; i++)
    printf("  possible rates: %.0f to %.0f\n", ranges[i].mMinimum, ranges[i].mMaximum);
  free(ranges);
  printf("  buffer: %u frames\n", (unsigned)get_number(device, kAudioDevicePropertyBufferFrameSize,
                                                       kAudioObjectPropertyScopeGlobal));
  printf("  alive: %u\n", (unsigned)get_number(device, kAudioDevicePropertyDeviceIsAlive,
                                               kAudioObjectPropertyScopeGlobal));
}

static void list_devices(int default_only) {
  UInt32 size;
  AudioDeviceID *devices = (AudioDeviceID *)copy_property(
      kAudioObjectSystemObject,
      default_only ? kAudioHardwarePropertyDefaultOutputDevice : kAudioHardwarePropertyDevices,
      kAudioObjectPropertyScopeGlobal, &size);
  UInt32 count = devices ? size / (UInt32)sizeof *devices : 0;
  printf("%u devices\n", (unsigned)count);
  for (UInt32 i = 0; i < count; i++) {
    printf("device %u\n", (unsigned)i + 1);
    print_device(devices[i]);
  }
  free(devices);
  fflush(stdout);
}

static OSStatus something_changed(AudioObjectID object, UInt32 count,
                                  const AudioObjectPropertyAddress *addresses, void *data) {
  (void)object, (void)data;
  for (UInt32 i = 0; i < count; i++) {
    UInt32 code = CFSwapInt32HostToBig(addresses[i].mSelector);
    printf("changed: %.4s\n", (const char *)&code);
  }
  fflush(stdout);
  return noErr;
}

int main(int argc, char **argv) {
  int default_only = 0, watches = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-d") == 0) default_only = 1;
    if (strcmp(argv[i], "-w") == 0) watches = 1;
  }
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  if (watches) pthread_sigmask(SIG_BLOCK, &interrupt, NULL);
  list_devices(default_only);
  if (watches) {
    CFRunLoopRef loop = NULL;
    AudioObjectPropertyAddress address = {kAudioHardwarePropertyRunLoop,
                                          kAudioObjectPropertyScopeGlobal,
                                          kAudioObjectPropertyElementMaster};
    ok(AudioObjectSetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, sizeof loop, &loop),
       "run loop");
    address.mSelector = kAudioHardwarePropertyDevices;
    ok(AudioObjectAddPropertyListener(kAudioObjectSystemObject, &address, something_changed, NULL),
       "listener");
    UInt32 size;
    AudioDeviceID *output = (AudioDeviceID *)copy_property(
        kAudioObjectSystemObject, kAudioHardwarePropertyDefaultOutputDevice,
        kAudioObjectPropertyScopeGlobal, &size);
    const AudioObjectPropertySelector selectors[] = {kAudioDevicePropertyDeviceIsAlive,
                                                     kAudioDevicePropertyBufferFrameSize};
    for (int i = 0; output && i < 2; i++) {
      address.mSelector = selectors[i];
      ok(AudioObjectAddPropertyListener(*output, &address, something_changed, NULL), "listener");
    }
    free(output);
    printf("watching\n");
    fflush(stdout);
    int number;
    sigwait(&interrupt, &number);
    list_devices(default_only);
  }
  return failures ? 1 : 0;
}
