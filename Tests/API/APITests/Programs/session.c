// The audio session: properties, categories, preferences, listeners, route changes and
// interruptions.
#include "check.h"

#include <AudioToolbox/AudioSession.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static OSStatus get(AudioSessionPropertyID id, void *value, UInt32 size) {
  UInt32 told = 99, copied = size;
  OSStatus status = AudioSessionGetPropertySize(id, &told);
  if (status == noErr) EQUAL(told, size);
  status = AudioSessionGetProperty(id, &copied, value);
  if (status == noErr) EQUAL(copied, size);
  return status;
}

static UInt32 number(AudioSessionPropertyID id) {
  UInt32 value = 0xABCDEF01;
  WORKS(get(id, &value, sizeof value));
  return value;
}

static Float32 real(AudioSessionPropertyID id) {
  Float32 value = -99;
  WORKS(get(id, &value, sizeof value));
  return value;
}

static OSStatus set(AudioSessionPropertyID id, UInt32 value) {
  return AudioSessionSetProperty(id, sizeof value, &value);
}

static OSStatus set_duration(Float32 seconds) {
  return AudioSessionSetProperty(kAudioSessionProperty_PreferredHardwareIOBufferDuration,
                                 sizeof seconds, &seconds);
}

static void set_category(UInt32 category) {
  WORKS(set(kAudioSessionProperty_AudioCategory, category));
  EQUAL(number(kAudioSessionProperty_AudioCategory), category);
}

static bool is_text(CFStringRef string, const char *text) {
  char buffer[200];
  return string != NULL &&
         CFStringGetCString(string, buffer, sizeof buffer, kCFStringEncodingUTF8) &&
         strcmp(buffer, text) == 0;
}

static void check_route_name(const char *text) {
  CFStringRef route = NULL;
  WORKS(get(kAudioSessionProperty_AudioRoute, &route, sizeof route));
  CHECK(is_text(route, text));
  CFRelease(route);
}

/// Checks one direction of a route description: the card's ports, separated by spaces; none for "".
static void check_side(CFDictionaryRef route, bool is_input, const char *ports) {
  CFArrayRef cards = (CFArrayRef)CFDictionaryGetValue(
      route, is_input ? kAudioSession_AudioRouteKey_Inputs : kAudioSession_AudioRouteKey_Outputs);
  CHECK(cards != NULL);
  char all[400] = "";
  for (CFIndex i = 0; i < CFArrayGetCount(cards); i++) {
    CFDictionaryRef one = (CFDictionaryRef)CFArrayGetValueAtIndex(cards, i);
    CFStringRef type = (CFStringRef)CFDictionaryGetValue(one, kAudioSession_AudioRouteKey_Type);
    CHECK(CFEqual(type,
                  is_input ? kAudioSessionInputRoute_LineIn : kAudioSessionOutputRoute_LineOut));
    CFArrayRef channels = (CFArrayRef)CFDictionaryGetValue(
        one, CFSTR("RouteDetailedDescription_ChannelDescriptions"));
    for (CFIndex k = 0; k < CFArrayGetCount(channels); k++) {
      CFDictionaryRef channel = (CFDictionaryRef)CFArrayGetValueAtIndex(channels, k);
      char name[200];
      CHECK(CFStringGetCString(
          (CFStringRef)CFDictionaryGetValue(channel, CFSTR("ChannelDescription_Name")), name,
          sizeof name, kCFStringEncodingUTF8));
      if (*all) strcat(all, " ");
      strcat(all, name);
    }
  }
  if (strcmp(all, ports) != 0) {
    printf("the route is \"%s\", not \"%s\"\n", all, ports);
    CHECK(strcmp(all, ports) == 0);
  }
}

static void check_route(const char *inputs, const char *outputs) {
  CFDictionaryRef route = NULL;
  WORKS(get(kAudioSessionProperty_AudioRouteDescription, &route, sizeof route));
  check_side(route, true, inputs);
  check_side(route, false, outputs);
  CFRelease(route);
}

// MARK: Before and at the beginning

static void heard_nothing(void *data, AudioSessionPropertyID id, UInt32 size, const void *value) {
  (void)data, (void)id, (void)size, (void)value;
  fail(__FILE__, __LINE__, "a listener that was never called for");
}

static void uninitialised(void) {
  UInt32 value = 0, size = sizeof value;
  const AudioSessionPropertyID volume = kAudioSessionProperty_CurrentHardwareOutputVolume;
  GIVES(AudioSessionSetActive(true), kAudioSessionNotInitialized);
  GIVES(AudioSessionSetActiveWithFlags(false, 0), kAudioSessionNotInitialized);
  GIVES(AudioSessionGetProperty(volume, &size, &value), kAudioSessionNotInitialized);
  GIVES(AudioSessionGetPropertySize(volume, &size), kAudioSessionNotInitialized);
  GIVES(set(kAudioSessionProperty_AudioCategory, kAudioSessionCategory_MediaPlayback),
        kAudioSessionNotInitialized);
  GIVES(AudioSessionAddPropertyListener(volume, heard_nothing, NULL), kAudioSessionNotInitialized);
  GIVES(AudioSessionRemovePropertyListener(volume), kAudioSessionNotInitialized);
  GIVES(AudioSessionRemovePropertyListenerWithUserData(volume, heard_nothing, NULL),
        kAudioSessionNotInitialized);
}

static void never(void *data, UInt32 state) {
  (void)data, (void)state;
  fail(__FILE__, __LINE__, "an interruption");
}

// MARK: Queues and units

static _Atomic int returns;

static void returned(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
  returns++;
}

static void recorded(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *time, UInt32 packets,
                     const AudioStreamPacketDescription *descriptions) {
  (void)data, (void)queue, (void)buffer, (void)time, (void)packets, (void)descriptions;
}

static AudioQueueRef new_output(void) {
  AudioStreamBasicDescription format = float_format(RATE, 2);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, returned, NULL, NULL, NULL, 0, &queue));
  enqueue_wave(queue, new_buffer(queue, RATE), 0, RATE);
  return queue;
}

static AudioQueueRef new_input(void) {
  AudioStreamBasicDescription format = float_format(RATE, 1);
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewInput(&format, recorded, NULL, NULL, NULL, 0, &queue));
  return queue;
}

static OSStatus render(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                       UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)flags, (void)time, (void)bus;
  *(_Atomic UInt32 *)data = frames;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    memset(list->mBuffers[i].mData, 0, list->mBuffers[i].mDataByteSize);
  return noErr;
}

static OSStatus note_input(void *data, AudioUnitRenderActionFlags *flags,
                           const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                           AudioBufferList *list) {
  (void)flags, (void)time, (void)bus, (void)list;
  *(_Atomic UInt32 *)data = frames;
  return noErr;
}

static _Atomic UInt32 rendered, heard;

/// Makes an output unit that plays, records, or both.
static AudioUnit new_unit(UInt32 plays, UInt32 records) {
  AudioComponentDescription description = {kAudioUnitType_Output, kAudioUnitSubType_RemoteIO,
                                           kAudioUnitManufacturer_Apple, 0, 0};
  AudioUnit unit = NULL;
  WORKS(AudioComponentInstanceNew(AudioComponentFindNext(NULL, &description), &unit));
  WORKS(AudioUnitSetProperty(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Output, 0,
                             &plays, sizeof plays));
  WORKS(AudioUnitSetProperty(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1,
                             &records, sizeof records));
  AURenderCallbackStruct callback = {render, (void *)&rendered};
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_SetRenderCallback, kAudioUnitScope_Input, 0,
                             &callback, sizeof callback));
  callback = (AURenderCallbackStruct){note_input, (void *)&heard};
  WORKS(AudioUnitSetProperty(unit, kAudioOutputUnitProperty_SetInputCallback,
                             kAudioUnitScope_Global, 0, &callback, sizeof callback));
  WORKS(AudioUnitInitialize(unit));
  return unit;
}

// MARK: Properties

static void properties(void) {
  EQUAL(number(kAudioSessionProperty_AudioCategory), kAudioSessionCategory_SoloAmbientSound);
  EQUAL(number(kAudioSessionProperty_Mode), kAudioSessionMode_Default);
  Float64 rate = 0;
  WORKS(get(kAudioSessionProperty_CurrentHardwareSampleRate, &rate, sizeof rate));
  EQUAL(rate, RATE);
  EQUAL(real(kAudioSessionProperty_CurrentHardwareIOBufferDuration), (Float32)(1024.0 / RATE));
  EQUAL(number(kAudioSessionProperty_CurrentHardwareOutputNumberChannels), 2);
  EQUAL(number(kAudioSessionProperty_CurrentHardwareInputNumberChannels), 2);
  // The category hides the inputs from the route only.
  EQUAL(number(kAudioSessionProperty_AudioInputAvailable), 1);
  EQUAL(number(kAudioSessionProperty_InputGainAvailable), 0);
  EQUAL(real(kAudioSessionProperty_CurrentHardwareOutputVolume), 1);
  // The latencies are those of AudioHardware.h.
  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDefaultOutputDevice,
                                        kAudioObjectPropertyScopeGlobal, 0};
  AudioDeviceID device = 0;
  UInt32 size = sizeof device, frames = 0;
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, &device));
  for (int i = 0; i < 2; i++) {
    address.mSelector = kAudioDevicePropertyLatency;
    address.mScope = i == 0 ? kAudioObjectPropertyScopeInput : kAudioObjectPropertyScopeOutput;
    WORKS(AudioObjectGetPropertyData(device, &address, 0, NULL, &size, &frames));
    EQUAL(real(i == 0 ? kAudioSessionProperty_CurrentHardwareInputLatency
                      : kAudioSessionProperty_CurrentHardwareOutputLatency),
          (Float32)((double)frames / RATE));
  }
  EQUAL(real(kAudioSessionProperty_PreferredHardwareIOBufferDuration), 0);
  rate = 1;
  WORKS(get(kAudioSessionProperty_PreferredHardwareSampleRate, &rate, sizeof rate));
  EQUAL(rate, 0);
  check_route_name("LineOut");
  check_route("", "card:in_1 card:in_2");
  EQUAL(number(kAudioSessionProperty_OtherAudioIsPlaying), 0);
  // More room than the value needs.
  UInt64 room[4] = {0};
  size = sizeof room;
  WORKS(AudioSessionGetProperty(kAudioSessionProperty_CurrentHardwareSampleRate, &size, room));
  EQUAL(size, sizeof rate);
  passed("properties");
}

/// Properties with their sizes: read, set, and listened to.
static const struct {
  AudioSessionPropertyID id;
  UInt32 size;
  bool reads, sets, listens;
} all_properties[] = {
    {kAudioSessionProperty_PreferredHardwareSampleRate, 8, true, true, false},
    {kAudioSessionProperty_PreferredHardwareIOBufferDuration, 4, true, true, false},
    {kAudioSessionProperty_AudioCategory, 4, true, true, false},
    {kAudioSessionProperty_AudioRouteChange, 8, false, false, true},
    {kAudioSessionProperty_CurrentHardwareSampleRate, 8, true, false, false},
    {kAudioSessionProperty_CurrentHardwareInputNumberChannels, 4, true, false, true},
    {kAudioSessionProperty_CurrentHardwareOutputNumberChannels, 4, true, false, true},
    {kAudioSessionProperty_CurrentHardwareOutputVolume, 4, true, false, true},
    {kAudioSessionProperty_CurrentHardwareInputLatency, 4, true, false, false},
    {kAudioSessionProperty_CurrentHardwareOutputLatency, 4, true, false, false},
    {kAudioSessionProperty_CurrentHardwareIOBufferDuration, 4, true, false, false},
    {kAudioSessionProperty_OtherAudioIsPlaying, 4, true, false, false},
    {kAudioSessionProperty_OverrideAudioRoute, 4, false, true, false},
    {kAudioSessionProperty_AudioInputAvailable, 4, true, false, true},
    {kAudioSessionProperty_ServerDied, 4, false, false, true},
    {kAudioSessionProperty_OverrideCategoryMixWithOthers, 4, true, true, false},
    {kAudioSessionProperty_OverrideCategoryDefaultToSpeaker, 4, true, true, false},
    {kAudioSessionProperty_InterruptionType, 4, false, false, false},
    {kAudioSessionProperty_Mode, 4, true, true, false},
    {kAudioSessionProperty_InputGainAvailable, 4, true, false, true},
    {kAudioSessionProperty_InputGainScalar, 4, false, false, true},
    {kAudioSessionProperty_AudioRouteDescription, 8, true, false, false},
    {kAudioSessionProperty_AudioRoute, 8, true, false, false},
};

static void mistakes(void) {
  for (size_t i = 0; i < sizeof all_properties / sizeof *all_properties; i++) {
    const AudioSessionPropertyID id = all_properties[i].id;
    UInt64 value = 0;
    UInt32 size = 0;
    WORKS(AudioSessionGetPropertySize(id, &size));
    EQUAL(size, all_properties[i].size);
    if (all_properties[i].reads) {
      size--;
      GIVES(AudioSessionGetProperty(id, &size, &value), kAudioSessionBadPropertySizeError);
      size++;
      WORKS(AudioSessionGetProperty(id, &size, &value));
      if (size == 8 && id != kAudioSessionProperty_PreferredHardwareSampleRate &&
          id != kAudioSessionProperty_CurrentHardwareSampleRate)
        CFRelease((CFTypeRef)(uintptr_t)value);
    } else {
      GIVES(AudioSessionGetProperty(id, &size, &value), kAudioSessionUnsupportedPropertyError);
    }
    value = 0;
    if (all_properties[i].sets) {
      GIVES(AudioSessionSetProperty(id, size - 1, &value), kAudioSessionBadPropertySizeError);
      GIVES(AudioSessionSetProperty(id, size + 4, &value), kAudioSessionBadPropertySizeError);
    } else {
      GIVES(AudioSessionSetProperty(id, size, &value), kAudioSessionUnsupportedPropertyError);
    }
    const OSStatus expected =
        all_properties[i].listens ? noErr : kAudioSessionUnsupportedPropertyError;
    GIVES(AudioSessionAddPropertyListener(id, heard_nothing, &value), expected);
    GIVES(AudioSessionRemovePropertyListenerWithUserData(id, heard_nothing, &value), expected);
    GIVES(AudioSessionRemovePropertyListener(id), expected);
  }
  UInt32 value = 0, size = sizeof value;
  GIVES(AudioSessionGetProperty('none', &size, &value), kAudioSessionUnsupportedPropertyError);
  GIVES(AudioSessionGetPropertySize('none', &size), kAudioSessionUnsupportedPropertyError);
  GIVES(set('none', 0), kAudioSessionUnsupportedPropertyError);
  GIVES(AudioSessionAddPropertyListener('none', heard_nothing, NULL),
        kAudioSessionUnsupportedPropertyError);
  GIVES(set(kAudioSessionProperty_AudioCategory, 'none'), kAudioSessionUnsupportedPropertyError);
  GIVES(set(kAudioSessionProperty_Mode, 'none'), kAudioSessionUnsupportedPropertyError);
  GIVES(set(kAudioSessionProperty_OverrideAudioRoute, 'none'),
        kAudioSessionUnsupportedPropertyError);
  GIVES(set_duration(-1), kAudioSessionUnsupportedPropertyError);
  GIVES(set_duration(NAN), kAudioSessionUnsupportedPropertyError);
  const Float64 rate = -44100;
  GIVES(AudioSessionSetProperty(kAudioSessionProperty_PreferredHardwareSampleRate, sizeof rate,
                                &rate),
        kAudioSessionUnsupportedPropertyError);
  passed("mistakes");
}

// MARK: Categories

static void categories(void) {
  static const UInt32 silent[] = {kAudioSessionCategory_AmbientSound,
                                  kAudioSessionCategory_SoloAmbientSound,
                                  kAudioSessionCategory_MediaPlayback};
  AudioQueueRef player = new_output(), recorder = new_input();
  for (size_t i = 0; i < 3; i++) {
    set_category(silent[i]);
    WORKS(AudioQueueStart(player, NULL));
    WORKS(AudioQueuePause(player));
    GIVES(AudioQueueStart(recorder, NULL), kAudioSessionIncompatibleCategory);
    EQUAL(is_running(recorder), 0);
  }
  AudioUnit both = new_unit(1, 1);
  GIVES(AudioOutputUnitStart(both), kAudioSessionIncompatibleCategory);
  AudioUnit plays = new_unit(1, 0);
  WORKS(AudioOutputUnitStart(plays));
  WORKS(AudioOutputUnitStop(plays));

  set_category(kAudioSessionCategory_PlayAndRecord);
  WORKS(AudioQueueStart(player, NULL));
  WORKS(AudioQueueStart(recorder, NULL));
  WORKS(AudioQueueStop(recorder, true));
  WORKS(AudioOutputUnitStart(both));
  rendered = heard = 0;
  WAIT(rendered > 0 && heard > 0);
  WORKS(AudioOutputUnitStop(both));

  set_category(kAudioSessionCategory_RecordAudio);
  GIVES(AudioQueueStart(player, NULL), kAudioSessionIncompatibleCategory);
  WORKS(AudioQueueStart(recorder, NULL));
  GIVES(AudioOutputUnitStart(plays), kAudioSessionIncompatibleCategory);
  // A unit that records, too, is silent.
  rendered = heard = 0;
  WORKS(AudioOutputUnitStart(both));
  WAIT(heard > 0);
  EQUAL(rendered, 0);
  WORKS(AudioOutputUnitStop(both));
  WORKS(AudioQueueStop(recorder, true));

  set_category(kAudioSessionCategory_AudioProcessing);
  GIVES(AudioQueueStart(player, NULL), kAudioSessionIncompatibleCategory);
  GIVES(AudioQueueStart(recorder, NULL), kAudioSessionIncompatibleCategory);
  check_route_name("");
  check_route("", "");
  // A graph asks, too.
  AUGraph graph = NULL;
  AUNode node = 0;
  AudioComponentDescription output = {kAudioUnitType_Output, kAudioUnitSubType_RemoteIO,
                                      kAudioUnitManufacturer_Apple, 0, 0};
  WORKS(NewAUGraph(&graph));
  WORKS(AUGraphAddNode(graph, &output, &node));
  WORKS(AUGraphOpen(graph));
  WORKS(AUGraphInitialize(graph));
  GIVES(AUGraphStart(graph), kAudioSessionIncompatibleCategory);
  set_category(kAudioSessionCategory_MediaPlayback);
  WORKS(AUGraphStart(graph));
  WORKS(DisposeAUGraph(graph));
  WORKS(AudioComponentInstanceDispose(both));
  WORKS(AudioComponentInstanceDispose(plays));
  WORKS(AudioQueueDispose(player, true));
  WORKS(AudioQueueDispose(recorder, true));
  passed("categories");
}

static void modes(void) {
  set_category(kAudioSessionCategory_MediaPlayback);
  const AudioSessionPropertyID mix = kAudioSessionProperty_OverrideCategoryMixWithOthers;
  const AudioSessionPropertyID speaker = kAudioSessionProperty_OverrideCategoryDefaultToSpeaker;
  WORKS(set(mix, 1));
  EQUAL(number(mix), 1);
  GIVES(set(speaker, 1), kAudioSessionIncompatibleCategory);
  WORKS(set(speaker, 0));
  WORKS(set(kAudioSessionProperty_OverrideAudioRoute, kAudioSessionOverrideAudioRoute_None));
  GIVES(set(kAudioSessionProperty_OverrideAudioRoute, kAudioSessionOverrideAudioRoute_Speaker),
        kAudioSessionIncompatibleCategory);
  GIVES(set(kAudioSessionProperty_Mode, kAudioSessionMode_VoiceChat),
        kAudioSessionIncompatibleCategory);
  GIVES(set(kAudioSessionProperty_Mode, kAudioSessionMode_VideoRecording),
        kAudioSessionIncompatibleCategory);
  WORKS(set(kAudioSessionProperty_Mode, kAudioSessionMode_Measurement));
  // The override goes with the category, the mode only if it must.
  set_category(kAudioSessionCategory_PlayAndRecord);
  EQUAL(number(mix), 0);
  EQUAL(number(kAudioSessionProperty_Mode), kAudioSessionMode_Measurement);
  WORKS(set(speaker, 1));
  EQUAL(number(speaker), 1);
  WORKS(set(kAudioSessionProperty_OverrideAudioRoute, kAudioSessionOverrideAudioRoute_Speaker));
  WORKS(set(kAudioSessionProperty_Mode, kAudioSessionMode_GameChat));
  set_category(kAudioSessionCategory_RecordAudio);
  EQUAL(number(kAudioSessionProperty_Mode), kAudioSessionMode_Default);
  EQUAL(number(speaker), 0);
  WORKS(set(kAudioSessionProperty_Mode, kAudioSessionMode_VideoRecording));
  GIVES(set(mix, 1), kAudioSessionIncompatibleCategory);
  set_category(kAudioSessionCategory_SoloAmbientSound);
  EQUAL(number(kAudioSessionProperty_Mode), kAudioSessionMode_Default);
  passed("modes");
}

// MARK: Preferences

static void preferences(void) {
  const AudioSessionPropertyID current = kAudioSessionProperty_CurrentHardwareIOBufferDuration;
  WORKS(set_duration(0.005f));
  EQUAL(real(kAudioSessionProperty_PreferredHardwareIOBufferDuration), 0.005f);
  EQUAL(real(current), 240.0f / RATE);
  AudioUnit unit = new_unit(1, 0);
  WORKS(AudioOutputUnitStart(unit));
  WAIT(rendered == 240);
  // While it runs.
  WORKS(set_duration(0.01f));
  WAIT(rendered == 480);
  WORKS(set_duration(1e-9f));
  EQUAL(real(current), (Float32)(16.0 / RATE));
  WORKS(set_duration(10));
  EQUAL(real(current), (Float32)(4096.0 / RATE));
  WORKS(set_duration(0));
  EQUAL(real(current), (Float32)(1024.0 / RATE));
  WAIT(rendered == 1024);
  WORKS(AudioOutputUnitStop(unit));
  WORKS(AudioComponentInstanceDispose(unit));
  // The server keeps its rate.
  Float64 rate = 44100;
  WORKS(AudioSessionSetProperty(kAudioSessionProperty_PreferredHardwareSampleRate, sizeof rate,
                                &rate));
  rate = 0;
  WORKS(get(kAudioSessionProperty_PreferredHardwareSampleRate, &rate, sizeof rate));
  EQUAL(rate, 44100);
  WORKS(get(kAudioSessionProperty_CurrentHardwareSampleRate, &rate, sizeof rate));
  EQUAL(rate, RATE);
  passed("preferences");
}

// MARK: Listeners

typedef struct {
  _Atomic int calls;
  _Atomic int value; // of numbers; thousandths of others
  pthread_t thread;
  int removes; // the call that removes the listener; 0 for none
} note;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void changed(void *data, AudioSessionPropertyID id, UInt32 size, const void *value) {
  note *this = (note *)data;
  // The thread that changes the property holds it.
  pthread_mutex_lock(&lock);
  this->thread = pthread_self();
  pthread_mutex_unlock(&lock);
  EQUAL(size, 4);
  this->value = id == kAudioSessionProperty_CurrentHardwareOutputVolume
                    ? (int)lroundf(*(const Float32 *)value * 1000)
                    : *(const int *)value;
  if (++this->calls == this->removes)
    WORKS(AudioSessionRemovePropertyListenerWithUserData(id, changed, data));
}

static void set_volume(Float32 volume) {
  AudioObjectPropertyAddress address = {kAudioHardwarePropertyDefaultOutputDevice,
                                        kAudioObjectPropertyScopeGlobal, 0};
  AudioDeviceID device = 0;
  UInt32 size = sizeof device;
  WORKS(AudioObjectGetPropertyData(kAudioObjectSystemObject, &address, 0, NULL, &size, &device));
  address.mSelector = kAudioDevicePropertyVolumeScalar;
  address.mScope = kAudioObjectPropertyScopeOutput;
  pthread_mutex_lock(&lock);
  WORKS(AudioObjectSetPropertyData(device, &address, 0, NULL, sizeof volume, &volume));
  pthread_mutex_unlock(&lock);
}

static void listeners(void) {
  const AudioSessionPropertyID volume = kAudioSessionProperty_CurrentHardwareOutputVolume;
  static note first, second;
  second.removes = 2;
  WORKS(AudioSessionAddPropertyListener(volume, changed, &first));
  WORKS(AudioSessionAddPropertyListener(volume, changed, &first));
  WORKS(AudioSessionAddPropertyListener(volume, changed, &second));
  // The run loop runs: it calls.
  set_volume(0.5f);
  RUN_LOOP_UNTIL(first.calls == 1 && second.calls == 1);
  EQUAL(first.value, 500);
  EQUAL(real(volume), 0.5f);
  CHECK(pthread_equal(first.thread, pthread_self()));
  // It does not run: a thread of the library calls.
  set_volume(0.25f);
  WAIT(first.calls == 2 && second.calls == 2);
  CHECK(!pthread_equal(first.thread, pthread_self()));
  EQUAL(second.value, 250);
  // The second has removed itself.
  set_volume(0.125f);
  WAIT(first.calls == 3);
  WORKS(AudioSessionRemovePropertyListenerWithUserData(volume, changed, &first));
  WORKS(AudioSessionAddPropertyListener(volume, changed, &first));
  set_volume(0.75f);
  WAIT(first.calls == 4);
  WORKS(AudioSessionRemovePropertyListener(volume));
  set_volume(1);
  usleep(300000);
  CHECK(first.calls == 4 && second.calls == 2);

  // A microphone comes and goes.
  static note inputs, available;
  WORKS(AudioSessionAddPropertyListener(kAudioSessionProperty_CurrentHardwareInputNumberChannels,
                                        changed, &inputs));
  WORKS(AudioSessionAddPropertyListener(kAudioSessionProperty_AudioInputAvailable, changed,
                                        &available));
  usleep(300000);
  jack_client_t *microphone =
      jack_client_open("microphone", JackServerName, NULL, getenv("JACK_DEFAULT_SERVER"));
  CHECK(microphone != NULL && jack_activate(microphone) == 0);
  jack_port_t *port =
      jack_port_register(microphone, "capture_1", JACK_DEFAULT_AUDIO_TYPE,
                         JackPortIsOutput | JackPortIsPhysical | JackPortIsTerminal, 0);
  CHECK(port != NULL);
  WAIT(inputs.calls == 1);
  EQUAL(inputs.value, 3);
  check_route("", "card:in_1 card:in_2");
  check_route_name("LineOut");
  set_category(kAudioSessionCategory_PlayAndRecord);
  check_route("system:capture_1 system:capture_2 microphone:capture_1", "card:in_1 card:in_2");
  check_route_name("LineInOut");
  set_category(kAudioSessionCategory_RecordAudio);
  check_route("system:capture_1 system:capture_2 microphone:capture_1", "");
  check_route_name("LineIn");
  CHECK(jack_port_unregister(microphone, port) == 0);
  WAIT(inputs.calls == 2);
  EQUAL(inputs.value, 2);
  // There is an input all the time.
  EQUAL(available.calls, 0);
  cue_client_close(microphone);
  WORKS(
      AudioSessionRemovePropertyListener(kAudioSessionProperty_CurrentHardwareInputNumberChannels));
  WORKS(AudioSessionRemovePropertyListener(kAudioSessionProperty_AudioInputAvailable));
  set_category(kAudioSessionCategory_MediaPlayback);
  passed("listeners");
}

// MARK: Routes

static _Atomic int route_changes, latest_reason;
static CFDictionaryRef latest_route;

static void route_changed(void *data, AudioSessionPropertyID id, UInt32 size, const void *value) {
  CHECK(data == &route_changes && id == kAudioSessionProperty_AudioRouteChange);
  EQUAL(size, sizeof(CFDictionaryRef));
  CFDictionaryRef change = (CFDictionaryRef)value;
  SInt32 reason = 0, same = -1;
  CHECK(CFNumberGetValue(
      (CFNumberRef)CFDictionaryGetValue(change, CFSTR(kAudioSession_AudioRouteChangeKey_Reason)),
      kCFNumberSInt32Type, &reason));
  CHECK(CFNumberGetValue(
      (CFNumberRef)CFDictionaryGetValue(change, kAudioSession_RouteChangeKey_Reason),
      kCFNumberSInt32Type, &same));
  EQUAL(reason, same);
  latest_reason = reason;
  if (latest_route) CFRelease(latest_route);
  latest_route = (CFDictionaryRef)CFRetain(change);
  route_changes++;
}

static void check_change(UInt32 reason, const char *old_name, const char *old_outputs,
                         const char *new_outputs) {
  EQUAL(latest_reason, reason);
  CHECK(is_text((CFStringRef)CFDictionaryGetValue(
                    latest_route, CFSTR(kAudioSession_AudioRouteChangeKey_OldRoute)),
                old_name));
  check_side((CFDictionaryRef)CFDictionaryGetValue(
                 latest_route, kAudioSession_AudioRouteChangeKey_PreviousRouteDescription),
             false, old_outputs);
  check_side((CFDictionaryRef)CFDictionaryGetValue(
                 latest_route, kAudioSession_AudioRouteChangeKey_CurrentRouteDescription),
             false, new_outputs);
}

/// Waits for route changes that no other follows.
static void await_changes(int count) {
  WAIT(route_changes >= count);
  usleep(400000);
  EQUAL(route_changes, count);
}

static jack_port_t *plug(jack_client_t *headphones) {
  jack_port_t *port =
      jack_port_register(headphones, "playback_1", JACK_DEFAULT_AUDIO_TYPE,
                         JackPortIsInput | JackPortIsPhysical | JackPortIsTerminal, 0);
  CHECK(port != NULL);
  return port;
}

/// Connects a client that plays to headphones, which are unplugged and plugged in again.
static void unplug(jack_client_t *jack, const char *client) {
  char left[100];
  snprintf(left, sizeof left, "%s:out_1", client);
  jack_client_t *headphones =
      jack_client_open("headphones", JackServerName, NULL, getenv("JACK_DEFAULT_SERVER"));
  CHECK(headphones != NULL && jack_activate(headphones) == 0);
  jack_port_t *port = plug(headphones);
  int changes = route_changes;
  CHECK(jack_connect(jack, left, "headphones:playback_1") == 0);
  await_changes(++changes);
  check_change(kAudioSessionRouteChangeReason_NewDeviceAvailable, "LineOut", "card:in_1 card:in_2",
               "card:in_1 card:in_2 headphones:playback_1");
  CHECK(jack_port_unregister(headphones, port) == 0);
  await_changes(++changes);
  check_change(kAudioSessionRouteChangeReason_OldDeviceUnavailable, "LineOut",
               "card:in_1 card:in_2 headphones:playback_1", "card:in_1 card:in_2");
  port = plug(headphones);
  // The connection is made again.
  await_changes(++changes);
  check_change(kAudioSessionRouteChangeReason_NewDeviceAvailable, "LineOut", "card:in_1 card:in_2",
               "card:in_1 card:in_2 headphones:playback_1");
  CHECK(jack_disconnect(jack, left, "headphones:playback_1") == 0);
  await_changes(++changes);
  CHECK(jack_port_unregister(headphones, port) == 0);
  cue_client_close(headphones);
}

/// Disconnects and connects the ports of a client that plays.
static void reroute(jack_client_t *jack, const char *client) {
  char left[100], right[100];
  snprintf(left, sizeof left, "%s:out_1", client);
  snprintf(right, sizeof right, "%s:out_2", client);
  int changes = route_changes;
  CHECK(jack_disconnect(jack, right, "card:in_2") == 0);
  await_changes(++changes);
  check_change(kAudioSessionRouteChangeReason_OldDeviceUnavailable, "LineOut",
               "card:in_1 card:in_2", "card:in_1");
  check_route("", "card:in_1");
  CHECK(jack_disconnect(jack, left, "card:in_1") == 0);
  await_changes(++changes);
  check_change(kAudioSessionRouteChangeReason_OldDeviceUnavailable, "LineOut", "card:in_1", "");
  check_route_name("");
  CHECK(jack_connect(jack, left, "card:in_2") == 0);
  await_changes(++changes);
  check_change(kAudioSessionRouteChangeReason_NewDeviceAvailable, "", "", "card:in_2");
  CHECK(jack_connect(jack, left, "card:in_1") == 0);
  await_changes(++changes);
  check_route("", "card:in_1 card:in_2");
  // Connections that do not concern the card.
  CHECK(jack_connect(jack, right, "other:in_1") == 0);
  CHECK(jack_disconnect(jack, right, "other:in_1") == 0);
  usleep(400000);
  EQUAL(route_changes, changes);
}

static void routes(cue_capture *card) {
  jack_client_t *jack = cue_capture_client(card);
  set_category(kAudioSessionCategory_MediaPlayback);
  jack_status_t status;
  cue_capture *other =
      cue_capture_open(getenv("JACK_DEFAULT_SERVER"), "other", 1, 10, false, &status);
  CHECK(other != NULL);
  WORKS(AudioSessionAddPropertyListener(kAudioSessionProperty_AudioRouteChange, route_changed,
                                        (void *)&route_changes));
  AudioQueueRef queue = new_output();
  WORKS(AudioQueueStart(queue, NULL));
  check_route("", "card:in_1 card:in_2");
  char name[100];
  client_of(queue, name, sizeof name);
  unplug(jack, name);
  reroute(jack, name);
  WORKS(AudioQueueDispose(queue, true));
  passed("the route of a queue");

  int changes = route_changes;
  AudioUnit unit = new_unit(1, 0);
  WORKS(AudioOutputUnitStart(unit));
  const char **ports = jack_port_get_all_connections(jack, jack_port_by_name(jack, "card:in_1"));
  CHECK(ports != NULL && ports[0] != NULL && ports[1] == NULL);
  snprintf(name, sizeof name, "%.*s", (int)(strchr(ports[0], ':') - ports[0]), ports[0]);
  jack_free(ports);
  reroute(jack, name);
  // Connections that the program makes itself are no route change.
  changes = route_changes;
  for (int i = 0; i < 3; i++) {
    WORKS(AudioOutputUnitStop(unit));
    check_route("", "card:in_1 card:in_2");
    WORKS(AudioOutputUnitStart(unit));
  }
  WORKS(AudioComponentInstanceDispose(unit));
  usleep(400000);
  EQUAL(route_changes, changes);
  passed("the route of an output unit");

  cue_emitter *emitter = cue_emitter_open(getenv("JACK_DEFAULT_SERVER"), "emitter", 1, &status);
  CHECK(emitter != NULL && jack_connect(jack, "emitter:out_1", "card:in_1") == 0);
  // The server makes a connection with its next cycle.
  WAIT(number(kAudioSessionProperty_OtherAudioIsPlaying) == 1);
  cue_emitter_close(emitter);
  WAIT(number(kAudioSessionProperty_OtherAudioIsPlaying) == 0);

  set_category(kAudioSessionCategory_AmbientSound);
  await_changes(++changes);
  check_change(kAudioSessionRouteChangeReason_CategoryChange, "LineOut", "card:in_1 card:in_2",
               "card:in_1 card:in_2");
  set_category(kAudioSessionCategory_RecordAudio);
  await_changes(++changes);
  check_change(kAudioSessionRouteChangeReason_CategoryChange, "LineOut", "card:in_1 card:in_2", "");
  set_category(kAudioSessionCategory_RecordAudio);
  WORKS(AudioSessionRemovePropertyListener(kAudioSessionProperty_AudioRouteChange));
  set_category(kAudioSessionCategory_MediaPlayback);
  usleep(300000);
  EQUAL(route_changes, changes);
  CFRelease(latest_route);
  latest_route = NULL;
  cue_capture_close(other);
  passed("changes");
}

static void activity(void) {
  WORKS(AudioSessionSetActive(true));
  WORKS(AudioSessionSetActive(true));
  AudioQueueRef queue = new_output();
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_running(queue));
  // A queue that runs keeps running, and a start makes the session active.
  WORKS(
      AudioSessionSetActiveWithFlags(false, kAudioSessionSetActiveFlag_NotifyOthersOnDeactivation));
  WORKS(AudioSessionSetActive(false));
  CHECK(is_running(queue));
  EQUAL(number(kAudioSessionProperty_CurrentHardwareOutputNumberChannels), 2);
  WORKS(AudioQueueDispose(queue, true));
  passed("activity");
}

// MARK: Interruptions

static struct {
  _Atomic int begins, ends, deaths;
  _Atomic UInt32 type;
  pthread_t thread;
} interruptions;
static bool deactivates;

static void interrupted(void *data, UInt32 state) {
  CHECK(data == &interruptions);
  interruptions.thread = pthread_self();
  UInt32 type = 0, size = sizeof type;
  OSStatus status = AudioSessionGetProperty(kAudioSessionProperty_InterruptionType, &size, &type);
  if (state == kAudioSessionBeginInterruption) {
    EQUAL(status, kAudioSessionUnsupportedPropertyError);
    GIVES(AudioSessionSetActive(true), kAudioServicesNoHardwareError);
    if (deactivates) WORKS(AudioSessionSetActive(false));
    interruptions.begins++;
  } else {
    WORKS(status);
    interruptions.type = type;
    WORKS(AudioSessionSetActive(true));
    interruptions.ends++;
  }
}

static void died(void *data, AudioSessionPropertyID id, UInt32 size, const void *value) {
  (void)data;
  CHECK(id == kAudioSessionProperty_ServerDied && size == 4 && *(const UInt32 *)value == 1);
  interruptions.deaths++;
}

static pid_t start_server(const char *name, const char *inputs) {
  pid_t server = fork();
  if (server == 0) {
    freopen("/dev/null", "w", stdout);
    freopen("/dev/null", "w", stderr);
    execlp("jackd", "jackd", "-n", name, "-r", "-d", "dummy", "-p", "1024", "-C", inputs,
           (char *)NULL);
    _exit(127);
  }
  CHECK(server > 0);
  return server;
}

/// Ends a server. The run loop runs meanwhile: the session's listeners are called on it.
static void end_server(pid_t server) {
  kill(server, SIGTERM);
  RUN_LOOP_UNTIL(waitpid(server, NULL, WNOHANG) == server);
}

static void interruption(void) {
  char name[100];
  snprintf(name, sizeof name, "%s-second", getenv("JACK_DEFAULT_SERVER"));
  setenv("JACK_DEFAULT_SERVER", name, 1);
  WORKS(AudioSessionInitialize(CFRunLoopGetCurrent(), NULL, interrupted, &interruptions));
  WORKS(AudioSessionAddPropertyListener(kAudioSessionProperty_ServerDied, died, NULL));
  static note available;
  WORKS(AudioSessionAddPropertyListener(kAudioSessionProperty_AudioInputAvailable, changed,
                                        &available));
  UInt32 value = 0, size = sizeof value;
  GIVES(AudioSessionSetActive(true), kAudioServicesNoHardwareError);
  GIVES(AudioSessionGetProperty(kAudioSessionProperty_AudioInputAvailable, &size, &value),
        kAudioServicesNoHardwareError);
  // Preferences wait for the server.
  WORKS(set_duration(0.005f));

  pid_t server = start_server(name, "2");
  OSStatus status = kAudioServicesNoHardwareError;
  for (int i = 0; i < PATIENCE && status != noErr; i++) {
    sleep(1);
    status = AudioSessionSetActive(true);
  }
  WORKS(status);
  EQUAL(real(kAudioSessionProperty_CurrentHardwareIOBufferDuration), 240.0f / RATE);
  EQUAL(number(kAudioSessionProperty_AudioInputAvailable), 1);
  set_category(kAudioSessionCategory_PlayAndRecord);
  check_route("system:capture_1 system:capture_2", "system:playback_1 system:playback_2");
  AudioQueueRef queue = new_output();
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(is_running(queue));
  for (int i = 1; i <= 2; i++) {
    end_server(server);
    RUN_LOOP_UNTIL(interruptions.begins == i && interruptions.deaths == i);
    CHECK(pthread_equal(interruptions.thread, pthread_self()));
    EQUAL(interruptions.ends, i - 1);
    EQUAL(number(kAudioSessionProperty_CurrentHardwareOutputNumberChannels), 2);
    // The last one has no inputs.
    server = start_server(name, i == 1 ? "2" : "0");
    RUN_LOOP_UNTIL(interruptions.ends == i);
    EQUAL(interruptions.type, kAudioSessionInterruptionType_ShouldResume);
    GIVES(AudioSessionGetProperty(kAudioSessionProperty_InterruptionType, &size, &value),
          kAudioSessionUnsupportedPropertyError);
    // The next time the listener makes the session inactive.
    deactivates = true;
  }
  EQUAL(real(kAudioSessionProperty_CurrentHardwareIOBufferDuration), 240.0f / RATE);
  RUN_LOOP_UNTIL(available.calls == 1);
  EQUAL(available.value, 0);
  EQUAL(number(kAudioSessionProperty_AudioInputAvailable), 0);
  EQUAL(number(kAudioSessionProperty_CurrentHardwareInputNumberChannels), 0);
  WAIT(AudioQueuePause(queue) == noErr);
  WORKS(AudioSessionAddPropertyListener(kAudioSessionProperty_AudioRouteChange, route_changed,
                                        (void *)&route_changes));
  set_category(kAudioSessionCategory_RecordAudio);
  RUN_LOOP_UNTIL(route_changes == 1);
  check_change(kAudioSessionRouteChangeReason_NoSuitableRouteForCategory, "LineOut",
               "system:playback_1 system:playback_2", "");
  CFRelease(latest_route);
  WORKS(AudioSessionRemovePropertyListener(kAudioSessionProperty_AudioRouteChange));
  WORKS(AudioSessionRemovePropertyListener(kAudioSessionProperty_AudioInputAvailable));
  WORKS(AudioQueueDispose(queue, true));
  // An inactive session is not interrupted.
  WORKS(AudioSessionRemovePropertyListener(kAudioSessionProperty_ServerDied));
  WORKS(AudioSessionSetActive(false));
  end_server(server);
  usleep(1500000);
  EQUAL(interruptions.begins, 2);
  WORKS(AudioHardwareUnload());
  passed("interruptions");
}

int main(int count, char **arguments) {
  (void)arguments;
  cue_jack_silence();
  if (count > 1) {
    interruption();
    return 0;
  }
  cue_capture *card = open_card(1);
  uninitialised();
  WORKS(AudioSessionInitialize(NULL, NULL, never, NULL));
  GIVES(AudioSessionInitialize(NULL, NULL, never, NULL), kAudioSessionAlreadyInitialized);
  passed("initialising");
  properties();
  mistakes();
  modes();
  categories();
  preferences();
  listeners();
  routes(card);
  activity();
  WORKS(AudioHardwareUnload());
  cue_capture_close(card);
  return 0;
}
