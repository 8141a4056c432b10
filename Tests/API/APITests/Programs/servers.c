// Enumeration of devices as programs do it when they begin, with no server, one and two of them:
// each question is answered soon, and the list stays while a client is open. All servers of a
// machine together can be eight, so the test starts no more.
#include "units.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
  MOST = 2,
  /// Most seconds that an answer may take: a busy machine takes some.
  SECONDS = 10
};

/// The test's servers, of which `count` run.
static char names[MOST][60];
static pid_t servers[MOST];
static int count;

static void start_server(void) {
  const char *name = names[count];
  pid_t parent = getpid(), child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    freopen("/dev/null", "w", stdout);
    freopen("/dev/null", "w", stderr);
    execlp("jackd", "jackd", "-n", name, "-r", "-d", "dummy", "-p", "1024", (char *)NULL);
    _exit(1);
  }
  servers[count++] = child;
}

static void end_servers(void) {
  for (; count > 0; count--) {
    kill(servers[count - 1], SIGTERM);
    CHECK(waitpid(servers[count - 1], NULL, 0) == servers[count - 1]);
  }
}

/// Makes a question, and fails if the answer takes too long.
#define SOON(question)                                                                             \
  do {                                                                                             \
    double begin_ = seconds_now();                                                                 \
    question;                                                                                      \
    CHECK(seconds_now() - begin_ < SECONDS);                                                       \
  } while (0)

static const AudioObjectPropertySelector selectors[] = {
    kAudioObjectPropertyClass,
    kAudioObjectPropertyOwner,
    kAudioObjectPropertyName,
    kAudioObjectPropertyManufacturer,
    kAudioObjectPropertyOwnedObjects,
    kAudioDevicePropertyDeviceUID,
    kAudioDevicePropertyModelUID,
    kAudioDevicePropertyTransportType,
    kAudioDevicePropertyDeviceIsAlive,
    kAudioDevicePropertyDeviceIsRunning,
    kAudioDevicePropertyDeviceIsRunningSomewhere,
    kAudioDevicePropertyDeviceCanBeDefaultDevice,
    kAudioDevicePropertyDeviceCanBeDefaultSystemDevice,
    kAudioDevicePropertyLatency,
    kAudioDevicePropertySafetyOffset,
    kAudioDevicePropertyNominalSampleRate,
    kAudioDevicePropertyActualSampleRate,
    kAudioDevicePropertyAvailableNominalSampleRates,
    kAudioDevicePropertyStreams,
    kAudioDevicePropertyStreamConfiguration,
    kAudioDevicePropertyStreamFormat,
    kAudioDevicePropertyBufferFrameSize,
    kAudioDevicePropertyBufferFrameSizeRange,
    kAudioDevicePropertyPreferredChannelsForStereo,
    kAudioDevicePropertyPreferredChannelLayout,
    kAudioDevicePropertyVolumeScalar,
    kAudioDevicePropertyMute,
    kAudioDevicePropertyHogMode,
    kAudioDevicePropertyDataSource,
    kAudioDevicePropertyClockDomain,
};

/// Asks a device for all that programs ask for. Returns how many answers were errors.
static int ask(AudioDeviceID device) {
  int failures = 0;
  const AudioObjectPropertyScope scopes[] = {kAudioObjectPropertyScopeGlobal,
                                             kAudioObjectPropertyScopeInput,
                                             kAudioObjectPropertyScopeOutput};
  for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++)
    for (int s = 0; s < 3; s++) {
      AudioObjectPropertyAddress address = {selectors[i], scopes[s], 0};
      if (!AudioObjectHasProperty(device, &address)) continue;
      UInt32 size = 0;
      UInt64 value[512];
      OSStatus status;
      SOON(status = AudioObjectGetPropertyDataSize(device, &address, 0, NULL, &size));
      if (status == noErr) {
        CHECK(size <= sizeof value);
        SOON(status = AudioObjectGetPropertyData(device, &address, 0, NULL, &size, value));
      }
      failures += status != noErr;
      if (status == noErr && (selectors[i] == kAudioObjectPropertyName ||
                              selectors[i] == kAudioObjectPropertyManufacturer ||
                              selectors[i] == kAudioDevicePropertyDeviceUID ||
                              selectors[i] == kAudioDevicePropertyModelUID))
        CFRelease(*(CFStringRef *)value);
    }
  return failures;
}

/// Finds the devices of the test's servers in the list. Returns their number. Others may run.
static int list(AudioDeviceID *devices) {
  AudioDeviceID all[300];
  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDevices,
                                        kAudioObjectPropertyScopeGlobal, 0};
  UInt32 size = 0;
  SOON(WORKS(AudioObjectGetPropertyDataSize(kAudioObjectSystemObject, &address, 0, NULL, &size)));
  size = sizeof all;
  SOON(WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, all)));
  int found = 0;
  memset(devices, 0, MOST * sizeof *devices);
  for (UInt32 i = 0; i < size / sizeof *all; i++) {
    address.mSelector = kAudioDevicePropertyDeviceUID;
    CFStringRef uid = NULL;
    UInt32 length = sizeof uid;
    OSStatus status;
    SOON(status = AudioObjectGetPropertyData(all[i], &address, 0, NULL, &length, &uid));
    // Another server may end meanwhile.
    if (status != noErr) continue;
    char text[100];
    CHECK(CFStringGetCString(uid, text, sizeof text, kCFStringEncodingUTF8));
    CFRelease(uid);
    for (int n = 0; n < MOST; n++)
      if (strcmp(text + 5, names[n]) == 0) {
        CHECK(devices[n] == 0);
        devices[n] = all[i];
        found++;
      }
  }
  return found;
}

static AudioDeviceID standard(void) {
  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDefaultOutputDevice,
                                        kAudioObjectPropertyScopeGlobal, 0};
  AudioDeviceID device = 77;
  UInt32 size = sizeof device;
  SOON(WORKS(
      AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, &device)));
  return device;
}

static OSStatus play(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *buffers) {
  (void)time, (void)bus, (void)frames, (void)buffers;
  *flags |= kAudioUnitRenderAction_OutputIsSilence;
  ++*(_Atomic int *)data;
  return noErr;
}

/// Lists devices while a client is open on the first of them.
static void is_stable(const AudioDeviceID *before) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  set_number(unit, kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global, 0, before[0]);
  _Atomic int calls = 0;
  set_callback(unit, 0, play, (void *)&calls);
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioOutputUnitStart(unit));
  WAIT(calls > 0);
  AudioDeviceID now[MOST];
  for (int round = 0; round < 3; round++) {
    EQUAL(list(now), count);
    EQUAL(memcmp(now, before, sizeof now), 0);
    for (int n = 0; n < count; n++)
      EQUAL(ask(now[n]), 0);
  }
  WORKS(AudioComponentInstanceDispose(unit));
}

static void enumerate(int wanted, const char *name) {
  while (count < wanted)
    start_server();
  AudioDeviceID devices[MOST], again[MOST];
  WAIT(list(devices) == wanted);
  EQUAL(standard(), devices[0]);
  for (int n = 0; n < wanted; n++)
    EQUAL(ask(devices[n]), 0);
  EQUAL(list(again), wanted);
  EQUAL(memcmp(devices, again, sizeof devices), 0);
  if (wanted > 0) is_stable(devices);
  passed(name);
}

int main(void) {
  cue_jack_silence();
  for (int n = 0; n < MOST; n++)
    snprintf(names[n], sizeof names[n], "strict-%d-%d", getpid(), n);
  CHECK(setenv("JACK_DEFAULT_SERVER", names[0], 1) == 0);
  EQUAL(standard(), kAudioObjectUnknown);
  enumerate(0, "no server");
  enumerate(1, "one server");
  enumerate(2, "two servers");
  WORKS(AudioHardwareUnload());
  end_servers();
  return 0;
}
