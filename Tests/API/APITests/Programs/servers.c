// Enumeration of devices as programs do it when they begin, with no server, one, two and eight of
// them, and with one that hangs: each question is answered soon, and the list stays while a client
// is open. All servers of a machine together can be eight: the test starts seven, beside the one
// that JACK_DEFAULT_SERVER names.
#include "units.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
  MOST = 7,
  /// Most seconds that an answer may take: a busy machine takes some.
  SECONDS = 10,
  /// Most seconds that the start or the end of a unit or a queue may take.
  MOST_SECONDS = 40
};

/// The test's servers, of which `count` run.
static char names[MOST][60];
static pid_t servers[MOST];
/// The output of each server.
static FILE *words[MOST];
static int count;
/// The largest number of devices that were listed.
static UInt32 listed;
/// The longest time in seconds of an answer, and of a start or an end.
static double longest, slowest;

static void start_server(void) {
  const char *name = names[count];
  CHECK((words[count] = tmpfile()));
  int output = fileno(words[count]);
  pid_t parent = getpid(), child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execlp("jackd", "jackd", "-n", name, "-r", "-d", "dummy", "-p", "1024", (char *)NULL);
    _exit(1);
  }
  servers[count++] = child;
}

/// Fails with a server's words if its process has ended.
static void expect_servers(void) {
  for (int n = 0; n < count; n++) {
    int status;
    if (waitpid(servers[n], &status, WNOHANG) == 0) continue;
    char line[200];
    rewind(words[n]);
    while (fgets(line, sizeof line, words[n]))
      fputs(line, stderr);
    fprintf(stderr, "the server %s ended with status %d\n", names[n], status);
    exit(1);
  }
}

static void end_servers(void) {
  for (; count > 0; count--) {
    kill(servers[count - 1], SIGTERM);
    CHECK(waitpid(servers[count - 1], NULL, 0) == servers[count - 1]);
    fclose(words[count - 1]);
  }
}

/// Starts or ends something, and fails if that takes too long.
#define ENDS(call)                                                                                 \
  do {                                                                                             \
    double begin_ = seconds_now();                                                                 \
    call;                                                                                          \
    slowest = fmax(slowest, seconds_now() - begin_);                                               \
    CHECK(seconds_now() - begin_ < MOST_SECONDS);                                                  \
  } while (0)

/// Makes a question, and fails if the answer takes too long.
#define SOON(question)                                                                             \
  do {                                                                                             \
    double begin_ = seconds_now();                                                                 \
    question;                                                                                      \
    longest = fmax(longest, seconds_now() - begin_);                                               \
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
      bool has_property;
      SOON(has_property = AudioObjectHasProperty(device, &address));
      if (!has_property) continue;
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
  expect_servers();
  AudioDeviceID all[300];
  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDevices,
                                        kAudioObjectPropertyScopeGlobal, 0};
  UInt32 size = 0;
  SOON(WORKS(AudioObjectGetPropertyDataSize(kAudioObjectSystemObject, &address, 0, NULL, &size)));
  size = sizeof all;
  SOON(WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, all)));
  int found = 0;
  UInt32 number = size / sizeof *all;
  if (number > listed) listed = number;
  memset(devices, 0, MOST * sizeof *devices);
  for (UInt32 i = 0; i < number; i++) {
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
  (void)data, (void)time, (void)bus, (void)frames, (void)buffers;
  *flags |= kAudioUnitRenderAction_OutputIsSilence;
  return noErr;
}

/// Makes a unit that plays silence on a device.
static AudioUnit make_unit_of(AudioDeviceID device) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  set_number(unit, kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global, 0, device);
  set_callback(unit, 0, play, NULL);
  WORKS(AudioUnitInitialize(unit));
  return unit;
}

static AudioUnit start_unit(AudioDeviceID device) {
  AudioUnit unit = make_unit_of(device);
  WORKS(AudioOutputUnitStart(unit));
  return unit;
}

/// Lists devices while a client is open on the first of them.
static void is_stable(const AudioDeviceID *before) {
  AudioUnit unit = start_unit(before[0]);
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

/// Reads a device's rate.
static OSStatus rate_of(AudioDeviceID device, Float64 *rate) {
  AudioObjectPropertyAddress address = {kAudioDevicePropertyNominalSampleRate,
                                        kAudioObjectPropertyScopeGlobal, 0};
  UInt32 size = sizeof *rate;
  OSStatus status;
  SOON(status = AudioObjectGetPropertyData(device, &address, 0, NULL, &size, rate));
  return status;
}

static void never(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

/// A queue and a unit fail soon on a server that hangs.
static void cannot_start(AudioDeviceID device, const char *name) {
  AudioStreamBasicDescription format = float_format(48000, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, never, NULL, NULL, NULL, 0, &queue));
  CFStringRef uid = CFStringCreateWithFormat(NULL, NULL, CFSTR("jack:%s"), name);
  OSStatus status;
  ENDS(status = AudioQueueSetProperty(queue, kAudioQueueProperty_CurrentDevice, &uid, sizeof uid));
  if (status == noErr) ENDS(status = AudioQueueStart(queue, NULL));
  CHECK(status != noErr);
  CFRelease(uid);
  ENDS(WORKS(AudioQueueDispose(queue, true)));
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  ENDS(status = AudioUnitSetProperty(unit, kAudioOutputUnitProperty_CurrentDevice,
                                     kAudioUnitScope_Global, 0, &device, sizeof device));
  if (status == noErr) ENDS(status = AudioUnitInitialize(unit));
  if (status == noErr) ENDS(status = AudioOutputUnitStart(unit));
  CHECK(status != noErr);
  ENDS(WORKS(AudioComponentInstanceDispose(unit)));
}

/// Asks all devices, which are in the list before and afterwards.
static void ask_all(const AudioDeviceID *devices) {
  AudioDeviceID now[MOST];
  for (int round = 0; round < 2; round++) {
    EQUAL(list(now), count);
    EQUAL(memcmp(now, devices, sizeof now), 0);
    for (int i = 0; i < count && round == 0; i++)
      EQUAL(ask(now[i]), 0);
  }
}

/// A server that is stopped stays in the list. It answers with what is known of it, or with an
/// error, and all others answer. It is of use again as soon as it goes on.
static void hang(void) {
  AudioDeviceID devices[MOST];
  Float64 rate = 0;
  WAIT(list(devices) == count);
  // The last server was never asked, the others were.
  const int unknown = count - 1;
  for (int n = 0; n < unknown; n++)
    EQUAL(ask(devices[n]), 0);
  for (int n = unknown; n >= unknown - 1; n--) {
    CHECK(kill(servers[n], SIGSTOP) == 0);
    ask_all(devices);
    GIVES(rate_of(devices[n], &rate), n == unknown ? kAudioHardwareNotRunningError : noErr);
    if (n != unknown) cannot_start(devices[n], names[n]);
    CHECK(kill(servers[n], SIGCONT) == 0);
    WAIT(rate_of(devices[n], &rate) == noErr);
    EQUAL(rate, 48000);
    ENDS(WORKS(AudioComponentInstanceDispose(start_unit(devices[n]))));
  }
  // A unit plays on the one that stops.
  AudioUnit unit = start_unit(devices[0]);
  CHECK(kill(servers[0], SIGSTOP) == 0);
  ask_all(devices);
  ENDS(WORKS(AudioComponentInstanceDispose(unit)));
  CHECK(kill(servers[0], SIGCONT) == 0);
  // Its client may have left, and returns.
  unit = make_unit_of(devices[0]);
  WAIT(AudioOutputUnitStart(unit) == noErr);
  ENDS(WORKS(AudioComponentInstanceDispose(unit)));
  passed("one server hangs");
}

int main(void) {
  cue_jack_silence();
  const char *other = getenv("JACK_DEFAULT_SERVER");
  // JACK keeps the name of a server that crashed, as one of the eight, until a server of that name
  // starts: the first name is that of the second servers of other programs.
  for (int n = 0; n < MOST; n++)
    snprintf(names[n], sizeof names[n], n == 0 ? "%s-second" : "%s-second-%d",
             other ? other : "strict", n);
  CHECK(setenv("JACK_DEFAULT_SERVER", names[0], 1) == 0);
  EQUAL(standard(), kAudioObjectUnknown);
  enumerate(0, "no server");
  enumerate(1, "one server");
  enumerate(2, "two servers");
  start_server();
  hang();
  enumerate(MOST, "eight servers");
  CHECK(listed == MOST + 1 || !other);
  fprintf(stderr, "the longest answer took %.2f s, the longest start or end %.2f s\n", longest,
          slowest);
  WORKS(AudioHardwareUnload());
  end_servers();
  return 0;
}
