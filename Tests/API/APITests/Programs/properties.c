// Properties: sizes, values, device and listeners; and the volume.
#include "check.h"

#include <errno.h>

static AudioStreamBasicDescription format;
static _Atomic int calls, running_changes, other_changes;

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  calls++;
}

static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)queue, (void)property;
  (*(_Atomic int *)data)++;
}

static AudioQueueRef new_queue(void) {
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  return queue;
}

static CFStringRef device_of(AudioQueueRef queue) {
  CFStringRef uid = NULL;
  UInt32 size = sizeof uid;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_CurrentDevice, &uid, &size));
  EQUAL(size, sizeof uid);
  CHECK(uid != NULL);
  return uid;
}

static OSStatus set_device(AudioQueueRef queue, CFStringRef uid) {
  return AudioQueueSetProperty(queue, kAudioQueueProperty_CurrentDevice, &uid, sizeof uid);
}

static void check_size(AudioQueueRef queue, AudioQueuePropertyID property, UInt32 expected) {
  UInt32 size = 0;
  char value[100];
  WORKS(AudioQueueGetPropertySize(queue, property, &size));
  EQUAL(size, expected);
  size = expected - 1;
  memset(value, 0x77, sizeof value);
  if (expected == 4) {
    WORKS(AudioQueueGetProperty(queue, property, value, &size));
    EQUAL(size, expected);
    EQUAL(value[expected], 0x77);
  } else {
    GIVES(AudioQueueGetProperty(queue, property, value, &size), kAudioQueueErr_InvalidPropertySize);
    EQUAL(value[0], 0x77);
  }
  // A larger size is set to the actual one, and nothing is written beyond the value.
  size = expected + 9;
  WORKS(AudioQueueGetProperty(queue, property, value, &size));
  EQUAL(size, expected);
  EQUAL(value[expected], 0x77);
  if (property != kAudioQueueProperty_CurrentDevice) {
    GIVES(AudioQueueSetProperty(queue, property, value, expected), kAudioQueueErr_Permissions);
    return;
  }
  CFStringRef uid;
  memcpy(&uid, value, sizeof uid);
  CFRelease(uid);
  GIVES(AudioQueueSetProperty(queue, property, &format, expected - 1),
        kAudioQueueErr_InvalidPropertySize);
}

static void sizes(void) {
  AudioQueueRef queue = new_queue();
  check_size(queue, kAudioQueueProperty_IsRunning, 4);
  check_size(queue, kAudioQueueDeviceProperty_SampleRate, 8);
  check_size(queue, kAudioQueueDeviceProperty_NumberChannels, 4);
  check_size(queue, kAudioQueueProperty_CurrentDevice, sizeof(CFStringRef));
  check_size(queue, kAudioQueueProperty_StreamDescription, sizeof(AudioStreamBasicDescription));
  WORKS(AudioQueueDispose(queue, true));
  passed("sizes");
}

static void values(void) {
  AudioQueueRef queue = new_queue();
  AudioStreamBasicDescription stream;
  Float64 rate = 0;
  UInt32 channels = 0, size = sizeof stream;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_StreamDescription, &stream, &size));
  CHECK(memcmp(&stream, &format, sizeof stream) == 0);
  size = sizeof rate;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueDeviceProperty_SampleRate, &rate, &size));
  EQUAL(rate, RATE);
  size = sizeof channels;
  WORKS(AudioQueueGetProperty(queue, kAudioQueueDeviceProperty_NumberChannels, &channels, &size));
  EQUAL(channels, 2);
  EQUAL(is_running(queue), 0);
  WORKS(AudioQueueDispose(queue, true));
  passed("values");
}

static void a_magic_cookie_is_harmless(void) {
  AudioQueueRef queue = new_queue();
  char cookie[] = "cookie", back[sizeof cookie] = "";
  UInt32 size = 99;
  WORKS(AudioQueueGetPropertySize(queue, kAudioQueueProperty_MagicCookie, &size));
  EQUAL(size, 0);
  WORKS(AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, cookie, sizeof cookie));
  WORKS(AudioQueueGetPropertySize(queue, kAudioQueueProperty_MagicCookie, &size));
  EQUAL(size, sizeof cookie);
  WORKS(AudioQueueGetProperty(queue, kAudioQueueProperty_MagicCookie, back, &size));
  CHECK(memcmp(cookie, back, sizeof cookie) == 0);
  calls = 0;
  enqueue_wave(queue, new_buffer(queue, 100), 0, 100);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(calls == 1);
  WORKS(AudioQueueDispose(queue, true));
  passed("a magic cookie");
}

static void devices(void) {
  AudioQueueRef queue = new_queue(), other = new_queue();
  char server[100];
  snprintf(server, sizeof server, "jack:%s", getenv("JACK_DEFAULT_SERVER"));
  CFStringRef server_uid = CFStringCreateWithCString(NULL, server, kCFStringEncodingUTF8);
  CFStringRef uid = device_of(queue);
  CHECK(CFEqual(uid, server_uid));
  CFRelease(uid);
  WORKS(set_device(queue, server_uid));
  GIVES(set_device(queue, CFSTR("jack:no-such-server")), kAudioQueueErr_InvalidDevice);
  GIVES(set_device(queue, CFSTR("jack:")), kAudioQueueErr_InvalidDevice);
  GIVES(set_device(queue, CFSTR("")), kAudioQueueErr_InvalidDevice);
  GIVES(set_device(queue, CFSTR("Built-in Output")), kAudioQueueErr_InvalidDevice);
  GIVES(set_device(queue, NULL), kAudioQueueErr_InvalidPropertyValue);
  uid = device_of(queue);
  CHECK(CFEqual(uid, server_uid));
  CFRelease(uid);

  // A running queue has its own client and keeps it.
  enqueue_wave(queue, new_buffer(queue, 48000), 0, 48000);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_running(queue));
  GIVES(set_device(queue, server_uid), kAudioQueueErr_InvalidRunState);
  uid = device_of(queue);
  CFStringRef expected = CFStringCreateWithFormat(NULL, NULL, CFSTR("%@/%s"), server_uid,
                                                  program_invocation_short_name);
  CHECK(CFEqual(uid, expected));
  CFRelease(expected);

  // Another queue that names this client shares it, until its own start.
  CFStringRef unknown = CFStringCreateWithFormat(NULL, NULL, CFSTR("%@-not"), uid);
  GIVES(set_device(other, unknown), kAudioQueueErr_InvalidDevice);
  CFRelease(unknown);
  WORKS(set_device(other, uid));
  calls = 0;
  enqueue_wave(other, new_buffer(other, 100), 0, 100);
  WORKS(AudioQueueStart(other, NULL));
  WAIT(calls == 1);
  CFStringRef shared = device_of(other);
  CHECK(CFEqual(shared, uid));
  CFRelease(shared);
  WORKS(AudioQueueStop(other, true));
  GIVES(set_device(other, CFSTR("jack:no-such-server")), kAudioQueueErr_InvalidDevice);
  // The first queue is disposed of, and the client stays for the second.
  WORKS(AudioQueueDispose(queue, true));
  AudioQueueBufferRef buffer = new_buffer(other, 100);
  enqueue_wave(other, buffer, 0, 100);
  WORKS(AudioQueueStart(other, NULL));
  WAIT(calls == 2);
  WORKS(AudioQueueStop(other, true));
  // Back to its own client. The old one is closed then.
  WORKS(set_device(other, server_uid));
  queue = new_queue();
  GIVES(set_device(queue, uid), kAudioQueueErr_InvalidDevice);
  enqueue_wave(other, buffer, 0, 100);
  WORKS(AudioQueueStart(other, NULL));
  WAIT(calls == 3);
  CFRelease(uid);
  CFRelease(server_uid);
  WORKS(AudioQueueDispose(queue, true));
  WORKS(AudioQueueDispose(other, true));
  passed("devices");
}

static void listeners(void) {
  AudioQueueRef queue = new_queue();
  const AudioQueuePropertyID running = kAudioQueueProperty_IsRunning;
  running_changes = other_changes = 0;
  WORKS(AudioQueueAddPropertyListener(queue, running, changed, &running_changes));
  WORKS(AudioQueueAddPropertyListener(queue, running, changed, &other_changes));
  WORKS(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_CurrentDevice, changed, &calls));
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(running_changes == 1 && other_changes == 1);
  calls = 0;
  // Removing a listener that was never added fails. Removing one of two removes only that one.
  CHECK(AudioQueueRemovePropertyListener(queue, running, changed, NULL) != noErr);
  WORKS(AudioQueueRemovePropertyListener(queue, running, changed, &other_changes));
  CHECK(AudioQueueRemovePropertyListener(queue, running, changed, &other_changes) != noErr);
  WORKS(AudioQueueStop(queue, true));
  WAIT(running_changes == 2);
  let_time_pass();
  EQUAL(other_changes, 1);
  EQUAL(calls, 0);
  WORKS(AudioQueueDispose(queue, true));
  passed("listeners");
}

static void volume(void) {
  AudioQueueRef queue = new_queue();
  const struct {
    Float32 set, expected;
  } cases[] = {{0.5f, 0.5f}, {0, 0}, {1, 1}, {2, 1}, {-0.25f, 0}, {INFINITY, 1}, {0.125f, 0.125f}};
  Float32 value = 99;
  WORKS(AudioQueueGetParameter(queue, kAudioQueueParam_Volume, &value));
  EQUAL(value, 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    WORKS(AudioQueueSetParameter(queue, kAudioQueueParam_Volume, cases[i].set));
    WORKS(AudioQueueGetParameter(queue, kAudioQueueParam_Volume, &value));
    EQUAL(value, cases[i].expected);
  }
  WORKS(AudioQueueDispose(queue, true));
  passed("volume");
}

int main(void) {
  format = float_format(RATE, 2);
  cue_capture *card = open_card(1);
  sizes();
  values();
  a_magic_cookie_is_harmless();
  devices();
  listeners();
  volume();
  cue_capture_close(card);
  return 0;
}
