// Output units and queues as the strictest programs use and check them, at the rate and period of
// any server. manners.md says which line is tested where.
#include "units.h"

#include <errno.h>

static char client[100];
static double rate;
static UInt32 period;
static cue_emitter *emitter;

/// A rate that the device does not have.
static double other_rate(void) {
  return rate == 48000 ? 44100 : 48000;
}

// MARK: Playing

/// A player of the wave, and what its calls have shown.
typedef struct {
  AudioUnit unit;
  long first, length; // of the wave; silence follows
  _Atomic long played;
  _Atomic int calls, wrong;
  int stops_at; // the call that stops the unit; 0 for none
  UInt32 size;  // frames that each call must have; 0 for any
  float level;  // a constant instead of the wave, unless 0
  UInt64 host;
  double next;
} player;

/// Checks that the times of a call follow those of the one before.
static void check_times(player *this, const AudioTimeStamp *time, UInt32 frames) {
  if ((time->mFlags & 3) != 3 || time->mHostTime <= this->host) this->wrong++;
  if (this->host > 0 && time->mSampleTime != this->next) this->wrong++;
  this->host = time->mHostTime;
  this->next = time->mSampleTime + frames;
  if (this->size > 0 && frames != this->size) this->wrong++;
}

static OSStatus play(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  player *this = data;
  (void)flags;
  if (bus != 0 || list == NULL || list->mNumberBuffers != 2) this->wrong++;
  check_times(this, time, frames);
  for (UInt32 f = 0; f < frames; f++, this->played++) {
    float value = this->level != 0 ? this->level : wave(this->first + this->played);
    if (this->played >= this->length) value = 0;
    ((float *)list->mBuffers[0].mData)[f] = value;
    ((float *)list->mBuffers[1].mData)[f] = -value;
  }
  if (++this->calls == this->stops_at) WORKS(AudioOutputUnitStop(this->unit));
  return noErr;
}

static void begin(player *this) {
  this->played = 0;
  this->calls = 0;
  this->host = 0;
}

/// Makes an output unit that plays stereo at a rate.
static AudioUnit make_output(player *this, double stream_rate) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  this->unit = unit;
  set_callback(unit, 0, play, this);
  set_format(unit, kAudioUnitScope_Input, 0, planar(stream_rate, 2));
  return unit;
}

/// Makes an output unit that plays stereo at a rate, and renders its input with a callback.
static AudioUnit make_duplex(double stream_rate, AURenderCallback callback, void *data) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  set_number(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1, 1);
  set_callback(unit, 0, callback, data);
  set_format(unit, kAudioUnitScope_Input, 0, planar(stream_rate, 2));
  set_format(unit, kAudioUnitScope_Output, 1, planar(stream_rate, 2));
  return unit;
}

static void set_input(AudioUnit unit, AURenderCallback proc, void *data) {
  AURenderCallbackStruct callback = {proc, data};
  WORKS(AudioUnitSetProperty(unit, kAudioOutputUnitProperty_SetInputCallback,
                             kAudioUnitScope_Global, 0, &callback, sizeof callback));
}

/// Connects the outputs of a client to the inputs of the device.
static void connect_input(jack_client_t *jack, const char *source) {
  for (int i = 1; i <= 2; i++) {
    char from[100], to[200];
    snprintf(from, sizeof from, "%s:out_%d", source, i);
    snprintf(to, sizeof to, "%s:in_%d", client, i);
    int result = jack_connect(jack, from, to);
    CHECK(result == 0 || result == EEXIST);
  }
}

/// Records from a moment on when what has begun is heard.
static void settle(cue_capture *card) {
  cue_capture_arm(card);
  record(card, SETTLED);
  cue_capture_arm(card);
}

// MARK: Drain

static void notice(void *data, AudioUnit unit, AudioUnitPropertyID property, AudioUnitScope scope,
                   AudioUnitElement element) {
  (void)unit, (void)property, (void)scope, (void)element;
  ++*(_Atomic int *)data;
}

/// Renders the input, and stops the unit in the fourth call.
static OSStatus drain_input(void *data, AudioUnitRenderActionFlags *flags,
                            const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                            AudioBufferList *list) {
  player *this = data;
  (void)list;
  buffers all = no_memory(2);
  if (AudioUnitRender(this->unit, flags, time, bus, frames, &all.list) != noErr) this->wrong++;
  check_times(this, time, frames);
  if (++this->calls == this->stops_at) WORKS(AudioOutputUnitStop(this->unit));
  return noErr;
}

static OSStatus drain_both(void *data, AudioUnitRenderActionFlags *flags,
                           const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                           AudioBufferList *list) {
  player *this = data;
  (void)bus;
  if (AudioUnitRender(this->unit, flags, time, 1, frames, list) != noErr) this->wrong++;
  check_times(this, time, frames);
  if (++this->calls == this->stops_at) WORKS(AudioOutputUnitStop(this->unit));
  return noErr;
}

/// Checks that the card has heard a constant level for as long as the callbacks gave it. A sample
/// rate converter rounds both edges.
static void hear_level_of(cue_capture *card, double seconds) {
  const float *left = cue_capture_samples(card, 0);
  size_t first = find_sound(card, 0), end = cue_capture_frames(card);
  while (first < end && left[first] < 0.25f)
    first++;
  while (end > first && left[end - 1] < 0.25f)
    end--;
  size_t hole = first;
  while (hole < end && left[hole] >= 0.25f)
    hole++;
  if (hole == end && fabs((double)(end - first) - seconds * rate) < 4) return;
  char text[200];
  snprintf(text, sizeof text, "heard %zu frames in %zu, not %g", hole - first, end - first,
           seconds * rate);
  fail(__FILE__, __LINE__, text);
}

/// Starts a unit twice that its callback stops in the fourth call.
static void drain(cue_capture *card, AudioUnit unit, player *this, double stream_rate) {
  _Atomic int notices = 0;
  WORKS(AudioUnitAddPropertyListener(unit, kAudioOutputUnitProperty_IsRunning, notice,
                                     (void *)&notices));
  WORKS(AudioUnitInitialize(unit));
  for (int round = 1; round <= 2; round++) {
    begin(this);
    cue_capture_arm(card);
    WORKS(AudioOutputUnitStart(unit));
    WAIT(this->calls >= 4 && notices >= 2 * round);
    WORKS(AudioOutputUnitStop(unit));
    // The second time, the unit is disposed of at once.
    if (round == 2) WORKS(AudioComponentInstanceDispose(unit));
    record(card, SETTLED + 4 * this->size);
    end_recording(card);
    EQUAL(this->calls, 4);
    EQUAL(this->wrong, 0);
    EQUAL(notices, 2 * round);
    if (this->length == 0) continue;
    if (this->level == 0)
      HEAR_SILENCE(card, HEAR(card, find_sound(card, 0), 0, this->length));
    else
      hear_level_of(card, 4 * this->size / stream_rate);
  }
}

/// A callback that stops its unit is not called again, and the stop is told once, whatever the
/// program stops afterwards. All that was given before the stop is heard.
static void drains(cue_capture *card) {
  const struct {
    double rate;
    UInt32 size;
  } cases[] = {
      {rate, period}, {other_rate(), period}, {rate, 2048}, {other_rate(), 480}, {22050, 2048}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    UInt32 size = cases[i].size;
    player this = {.stops_at = 4, .length = 4 * size, .size = size};
    if (cases[i].rate != rate) this.level = 0.5f;
    AudioUnit unit = make_output(&this, cases[i].rate);
    set_number(unit, kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Global, 0, size);
    drain(card, unit, &this, cases[i].rate);
  }
  // A converter stands before the unit, which converts, too.
  player given = {.stops_at = 4, .length = 4 * period, .size = period, .level = 0.5f};
  AudioUnit output = make_output(&given, other_rate());
  AudioUnit converter = make(kAudioUnitType_FormatConverter, kAudioUnitSubType_AUConverter);
  set_number(output, kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Global, 0, period);
  set_callback(converter, 0, play, &given);
  set_format(converter, kAudioUnitScope_Input, 0, planar(rate, 2));
  set_format(converter, kAudioUnitScope_Output, 0, planar(other_rate(), 2));
  AudioUnitConnection connection = {converter, 0, 0};
  WORKS(AudioUnitSetProperty(output, kAudioUnitProperty_MakeConnection, kAudioUnitScope_Input, 0,
                             &connection, sizeof connection));
  WORKS(AudioUnitInitialize(converter));
  drain(card, output, &given, rate);
  WORKS(AudioComponentInstanceDispose(converter));
  for (int converts = 0; converts < 2; converts++)
    for (int plays = 0; plays < 2; plays++) {
      player this = {.stops_at = 4, .size = period};
      AudioUnit unit = make_duplex(converts ? other_rate() : rate, drain_both, &this);
      this.unit = unit;
      if (!plays) {
        set_number(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Output, 0, 0);
        set_format(unit, kAudioUnitScope_Output, 1, planar(rate, 2));
        set_input(unit, drain_input, &this);
      }
      drain(card, unit, &this, rate);
    }
  passed("drain");
}

// MARK: Sizes

typedef struct {
  AudioUnitScope scope;
  _Atomic int told, wrong;
} size_listener;

static void size_of_unit(void *data, AudioUnit unit, AudioUnitPropertyID property,
                         AudioUnitScope scope, AudioUnitElement element) {
  size_listener *this = data;
  (void)unit, (void)property, (void)element;
  if (scope != this->scope) this->wrong++;
  this->told++;
}

static OSStatus size_of_device(AudioObjectID device, UInt32 count,
                               const AudioObjectPropertyAddress *addresses, void *data) {
  size_listener *this = data;
  (void)device;
  for (UInt32 i = 0; i < count; i++)
    if (addresses[i].mScope != this->scope) this->wrong++;
  this->told++;
  return noErr;
}

/// What was asked for is what comes, whatever the rate of the stream is, and listeners hear of it
/// in the scope in which it was set.
static void sizes(void) {
  static const double rates[] = {8000, 48000, 22050, 96000, 44100, 192000};
  static const UInt32 all[] = {16, 4096, 441, 1024, 64, 480};
  enum {
    COUNT = sizeof all / sizeof *all
  };
  const AudioObjectPropertyScope scopes[] = {kAudioObjectPropertyScopeGlobal,
                                             kAudioObjectPropertyScopeInput,
                                             kAudioObjectPropertyScopeOutput};
  player this = {.length = 1L << 40, .level = 0.001f};
  AudioUnit unit = make_output(&this, rate);
  AudioDeviceID device =
      number(unit, kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global, 0);
  size_listener of_unit = {.told = 0}, of_device[3];
  memset(of_device, 0, sizeof of_device);
  AudioObjectPropertyAddress address = {kAudioDevicePropertyBufferFrameSize, 0, 0};
  WORKS(AudioUnitAddPropertyListener(unit, kAudioDevicePropertyBufferFrameSize, size_of_unit,
                                     &of_unit));
  for (int i = 0; i < 3; i++) {
    of_device[i].scope = address.mScope = scopes[i];
    WORKS(AudioObjectAddPropertyListener(device, &address, size_of_device, &of_device[i]));
  }
  int sets = 0;
  for (size_t r = 0; r < sizeof rates / sizeof *rates; r++)
    for (int s = 0; s < 2; s++) {
      UInt32 size = all[sets % COUNT];
      if (sets % 2 == 0) {
        // It hears of the scope in which the unit's property was set last.
        of_unit.scope = (AudioUnitScope)(sets % 3);
        set_number(unit, kAudioDevicePropertyBufferFrameSize, of_unit.scope, 0, size);
        sets++;
        WAIT(of_unit.told == sets);
      } else {
        address.mScope = scopes[sets % 3];
        WORKS(AudioObjectSetPropertyData(device, &address, 0, NULL, sizeof size, &size));
        sets++;
      }
      for (int i = 0; i < 3; i++)
        WAIT(of_device[i].told == sets);
      EQUAL(number(unit, kAudioDevicePropertyBufferFrameSize, of_unit.scope, 0), size);
      set_format(unit, kAudioUnitScope_Input, 0, planar(rates[r], 2));
      this.size = size;
      begin(&this);
      WORKS(AudioUnitInitialize(unit));
      WORKS(AudioOutputUnitStart(unit));
      WAIT(this.calls >= 3);
      WORKS(AudioOutputUnitStop(unit));
      WORKS(AudioUnitUninitialize(unit));
      EQUAL(this.wrong, 0);
      for (int i = 0; i < 3; i++)
        EQUAL(of_device[i].wrong + of_unit.wrong, 0);
    }
  for (int i = 0; i < 3; i++) {
    address.mScope = scopes[i];
    WORKS(AudioObjectRemovePropertyListener(device, &address, size_of_device, &of_device[i]));
  }
  set_number(unit, kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Global, 0, period);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("sizes");
}

// MARK: Input and output

/// Returns the ratio of a sine of 1 kHz to everything else in samples, in decibels. The samples are
/// 100 ms or more, a whole number of periods.
static double signal_to_noise(const float *samples, long count, double sample_rate) {
  double a = 0, b = 0, noise = 0;
  for (long f = 0; f < count; f++) {
    double phase = 2 * M_PI * 1000 * (double)f / sample_rate;
    a += samples[f] * sin(phase) * 2 / (double)count;
    b += samples[f] * cos(phase) * 2 / (double)count;
  }
  for (long f = 0; f < count; f++) {
    double phase = 2 * M_PI * 1000 * (double)f / sample_rate;
    noise += pow(samples[f] - a * sin(phase) - b * cos(phase), 2) / (double)count;
  }
  return 10 * log10((a * a + b * b) / 2 / fmax(noise, 1e-20));
}

/// A client that plays a sine of 1 kHz.
typedef struct {
  jack_client_t *jack;
  jack_port_t *ports[2];
} singer;

static int sing_cycle(jack_nframes_t frames, void *data) {
  singer *this = data;
  jack_nframes_t time = jack_last_frame_time(this->jack);
  for (int i = 0; i < 2; i++) {
    float *out = jack_port_get_buffer(this->ports[i], frames);
    for (jack_nframes_t f = 0; f < frames; f++)
      out[f] = (float)(0.5 * sin(2 * M_PI * 1000 * fmod((double)time + f, rate) / rate));
  }
  return 0;
}

static void open_singer(singer *this) {
  jack_status_t status;
  this->jack = jack_client_open("singer", JackNoStartServer, &status);
  CHECK(this->jack != NULL);
  for (int i = 0; i < 2; i++) {
    this->ports[i] = jack_port_register(this->jack, i ? "out_2" : "out_1", JACK_DEFAULT_AUDIO_TYPE,
                                        JackPortIsOutput, 0);
    CHECK(this->ports[i] != NULL);
  }
  CHECK(jack_set_process_callback(this->jack, sing_cycle, this) == 0);
  CHECK(jack_activate(this->jack) == 0);
}

/// Fails unless the card has recorded the emitter's samples in a row, from a frame on.
static void are_emitted(const cue_capture *card, size_t at, size_t frames) {
  const float *heard[] = {cue_capture_samples(card, 0), cue_capture_samples(card, 1)};
  uint32_t first = (uint32_t)heard[0][at];
  for (unsigned channel = 0; channel < 2; channel++)
    for (size_t i = 0; i < frames; i++)
      EQUAL(heard[channel][at + i], cue_emitter_sample(first + (uint32_t)i, channel));
}

static void duplex(cue_capture *card) {
  singer that;
  open_singer(&that);
  const double rates[] = {rate, other_rate(), 96000, 22050};
  for (int r = 0; r < 4; r++) {
    player this = {.calls = 0};
    AudioUnit unit = make_duplex(rates[r], drain_both, &this);
    this.unit = unit;
    WORKS(AudioUnitInitialize(unit));
    WORKS(AudioOutputUnitStart(unit));
    if (r == 0)
      connect_input(cue_emitter_client(emitter), "emitter");
    else
      connect_input(that.jack, "singer");
    WAIT(this.calls > 8);
    settle(card);
    record(card, (size_t)rate / 5);
    cue_capture_disarm(card);
    WORKS(AudioOutputUnitStop(unit));
    EQUAL(this.wrong, 0);
    if (r == 0)
      are_emitted(card, 0, (size_t)rate / 5);
    else {
      for (unsigned channel = 0; channel < 2; channel++)
        CHECK(signal_to_noise(cue_capture_samples(card, channel), (long)rate / 5, rate) > 65);
    }
    WORKS(AudioComponentInstanceDispose(unit));
    // The connection was made by hand, and would come back.
    if (r == 0) {
      cue_emitter_close(emitter);
      emitter = NULL;
    }
  }
  jack_client_close(that.jack);
  jack_status_t status;
  emitter = cue_emitter_open(getenv("JACK_DEFAULT_SERVER"), "emitter", 2, &status);
  CHECK(emitter != NULL);
  passed("duplex");
}

// MARK: Two units

enum {
  RING = 1 << 16
};

/// A ring between an input and an output unit.
typedef struct {
  player in, out;
  float samples[2][RING];
  _Atomic long written, read;
} ring;

static OSStatus write_ring(void *data, AudioUnitRenderActionFlags *flags,
                           const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                           AudioBufferList *list) {
  ring *this = data;
  (void)list;
  buffers all = no_memory(2);
  if (AudioUnitRender(this->in.unit, flags, time, bus, frames, &all.list) != noErr)
    this->in.wrong++;
  for (UInt32 f = 0; f < frames; f++)
    for (int i = 0; i < 2; i++)
      this->samples[i][(this->written + f) % RING] = plane(&all, i)[f];
  this->written += frames;
  this->in.calls++;
  return noErr;
}

static OSStatus read_ring(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                          UInt32 bus, UInt32 frames, AudioBufferList *list) {
  ring *this = data;
  (void)flags, (void)bus;
  check_times(&this->out, time, frames);
  UInt32 count = 0;
  for (; count < frames && this->read < this->written; count++, this->read++)
    for (int i = 0; i < 2; i++)
      ((float *)list->mBuffers[i].mData)[count] = this->samples[i][this->read % RING];
  for (int i = 0; i < 2; i++)
    list->mBuffers[i].mDataByteSize = 4 * count;
  this->out.calls++;
  return noErr;
}

static bool is_connected(const char *source, const char *own) {
  char name[200];
  snprintf(name, sizeof name, "%s:%s", client, own);
  jack_client_t *jack = cue_emitter_client(emitter);
  jack_port_t *port = jack_port_by_name(jack, source);
  CHECK(port != NULL);
  return jack_port_connected_to(port, name);
}

/// One unit records while another plays: they start and stop apart, and connections that others
/// have made stay.
static void two_units(cue_capture *card) {
  static ring this;
  AudioUnit input = make_duplex(rate, drain_both, &this.in);
  AudioUnit output = make_output(&this.out, rate);
  this.in.unit = input;
  set_number(input, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Output, 0, 0);
  set_input(input, write_ring, &this);
  set_callback(output, 0, read_ring, &this);
  WORKS(AudioUnitInitialize(input));
  WORKS(AudioUnitInitialize(output));
  WORKS(AudioOutputUnitStart(input));
  connect_input(cue_emitter_client(emitter), "emitter");
  for (int round = 0; round < 2; round++) {
    int before = this.in.calls;
    WAIT(this.in.calls > before + 8);
    this.read = this.written - 3 * period;
    this.out.calls = 0;
    this.out.host = 0;
    WORKS(AudioOutputUnitStart(output));
    CHECK(is_connected("emitter:out_1", "in_1") && is_connected("emitter:out_2", "in_2"));
    WAIT(this.out.calls > 8);
    settle(card);
    record(card, (size_t)rate / 5);
    cue_capture_disarm(card);
    WORKS(AudioOutputUnitStop(output));
    EQUAL(this.in.wrong + this.out.wrong, 0);
    are_emitted(card, 0, (size_t)rate / 5);
    CHECK(is_connected("emitter:out_1", "in_1") && is_connected("emitter:out_2", "in_2"));
  }
  WORKS(AudioComponentInstanceDispose(output));
  WORKS(AudioComponentInstanceDispose(input));
  passed("two units");
}

// MARK: Channel maps

/// Plays the number of each channel, counted from 1, as a level.
static OSStatus play_numbers(void *data, AudioUnitRenderActionFlags *flags,
                             const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                             AudioBufferList *list) {
  (void)flags, (void)time, (void)bus;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    for (UInt32 f = 0; f < frames; f++)
      ((float *)list->mBuffers[i].mData)[f] = (float)(i + 1) / 16;
  ++*(_Atomic int *)data;
  return noErr;
}

/// Maps may be wider than the device: what has no channel is silent, and no error.
static void maps(cue_capture *card) {
  static const struct {
    UInt32 channels; // of the stream
    UInt32 count;
    SInt32 map[8];
    int left, right; // channels of the stream that are heard; -1 for silence
  } cases[] = {
      {2, 8, {0, 1, -1, -1, -1, -1, -1, -1}, 0, 1},
      {2, 8, {0, 7, 3, 3, 3, 3, 3, 3}, 0, -1},
      {8, 8, {6, 7, 2, 3, 4, 5, 0, 1}, 6, 7},
      {2, 1, {0}, 0, -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
    _Atomic int calls = 0;
    set_callback(unit, 0, play_numbers, (void *)&calls);
    set_format(unit, kAudioUnitScope_Input, 0, planar(rate, cases[i].channels));
    WORKS(AudioUnitSetProperty(unit, kAudioOutputUnitProperty_ChannelMap, kAudioUnitScope_Output, 0,
                               cases[i].map, cases[i].count * 4));
    SInt32 told[8];
    UInt32 size = sizeof told;
    WORKS(AudioUnitGetProperty(unit, kAudioOutputUnitProperty_ChannelMap, kAudioUnitScope_Output, 0,
                               told, &size));
    EQUAL(size, cases[i].count * 4);
    EQUAL(memcmp(told, cases[i].map, size), 0);
    WORKS(AudioUnitInitialize(unit));
    WORKS(AudioOutputUnitStart(unit));
    WAIT(calls > 4);
    settle(card);
    record(card, period);
    end_recording(card);
    WORKS(AudioComponentInstanceDispose(unit));
    EQUAL(cue_capture_samples(card, 0)[0], (float)(cases[i].left + 1) / 16);
    EQUAL(cue_capture_samples(card, 1)[0], (float)(cases[i].right + 1) / 16);
  }
  passed("maps");
}

// MARK: Starts

/// Returns whether both channels of a capture have sound.
static bool hears_both(const cue_capture *user) {
  bool hears[2] = {false, false};
  for (unsigned channel = 0; channel < 2; channel++)
    for (size_t i = 0; i < cue_capture_frames(user); i++)
      hears[channel] |= cue_capture_samples(user, channel)[i] != 0;
  return hears[0] && hears[1];
}

/// Each start of fifty is heard from its first frame, by the card and by a client that a user
/// connected.
static void starts(cue_capture *card) {
  enum {
    STARTS = 50,
    FRAMES = 600
  };
  jack_status_t status;
  cue_capture *user = cue_capture_open(getenv("JACK_DEFAULT_SERVER"), "user", 2,
                                       (size_t)(rate * PATIENCE), false, &status);
  CHECK(user != NULL);
  player this = {.length = FRAMES};
  AudioUnit unit = make_output(&this, rate);
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioOutputUnitStart(unit));
  for (int i = 1; i <= 2; i++) {
    char from[200], to[100];
    snprintf(from, sizeof from, "%s:out_%d", client, i);
    snprintf(to, sizeof to, "user:in_%d", i);
    CHECK(jack_connect(cue_capture_client(user), from, to) == 0);
  }
  // PipeWire lets sound through a new connection some cycles later, and through each by itself.
  // Until then the unit's client does not know them.
  do {
    cue_capture_arm(user);
    begin(&this);
    WAIT(this.played >= FRAMES);
    record(user, 2 * period);
    cue_capture_disarm(user);
  } while (!hears_both(user));
  WORKS(AudioOutputUnitStop(unit));
  settle(card);
  cue_capture_arm(user);
  for (int i = 0; i < STARTS; i++) {
    begin(&this);
    this.first = (long)i * FRAMES;
    WORKS(AudioOutputUnitStart(unit));
    WAIT(this.played >= FRAMES);
    WORKS(AudioOutputUnitStop(unit));
  }
  record(card, 2 * period);
  end_recording(card);
  cue_capture_disarm(user);
  EQUAL(this.wrong, 0);
  size_t at = 0, also = 0;
  for (int i = 0; i < STARTS; i++) {
    at = HEAR(card, find_sound(card, at), (long)i * FRAMES, FRAMES);
    also = HEAR(user, find_sound(user, also), (long)i * FRAMES, FRAMES);
  }
  HEAR_SILENCE(card, at);
  WORKS(AudioComponentInstanceDispose(unit));
  cue_capture_close(user);
  passed("fifty starts");
}

// MARK: Ends

static _Atomic int ended;

/// Disposes of a unit that has stopped.
static void close_in_listener(void *data, AudioUnit unit, AudioUnitPropertyID property,
                              AudioUnitScope scope, AudioUnitElement element) {
  (void)data, (void)property, (void)scope, (void)element;
  if (number(unit, kAudioOutputUnitProperty_IsRunning, kAudioUnitScope_Global, 0)) return;
  WORKS(AudioUnitUninitialize(unit));
  WORKS(AudioComponentInstanceDispose(unit));
  ended++;
}

static void *close_on_thread(void *unit) {
  WORKS(AudioOutputUnitStop(unit));
  WORKS(AudioUnitUninitialize(unit));
  WORKS(AudioComponentInstanceDispose(unit));
  ended++;
  return NULL;
}

/// Plays, and has another thread stop the unit in the fourth call.
static OSStatus play_and_spawn(void *data, AudioUnitRenderActionFlags *flags,
                               const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                               AudioBufferList *list) {
  player *this = data;
  OSStatus status = play(data, flags, time, bus, frames, list);
  pthread_t thread;
  if (this->calls == 4) {
    CHECK(pthread_create(&thread, NULL, close_on_thread, this->unit) == 0);
    CHECK(pthread_detach(thread) == 0);
  }
  return status;
}

/// Checks that a unit is gone, and its callback with it.
static void has_ended(AudioUnit unit, player *this) {
  WAIT(ended == 1);
  int calls = this->calls;
  let_time_pass();
  EQUAL(this->calls, calls);
  EQUAL(ended, 1);
  EQUAL(this->wrong, 0);
  GIVES(AudioOutputUnitStart(unit), badComponentInstance);
  ended = 0;
}

static void closes_in_listeners(void) {
  for (int inside = 0; inside < 2; inside++)
    for (int converts = 0; converts < 2; converts++) {
      player this = {.length = 1L << 40, .level = 0.01f, .stops_at = inside ? 4 : 0};
      AudioUnit unit = make_output(&this, converts ? other_rate() : rate);
      WORKS(AudioUnitAddPropertyListener(unit, kAudioOutputUnitProperty_IsRunning,
                                         close_in_listener, NULL));
      WORKS(AudioUnitInitialize(unit));
      WORKS(AudioOutputUnitStart(unit));
      WAIT(this.calls >= 4);
      if (!inside) WORKS(AudioOutputUnitStop(unit));
      has_ended(unit, &this);
    }
  passed("close in a listener");
}

static void *stop_queue(void *queue) {
  WORKS(AudioQueueStop(queue, true));
  WORKS(AudioQueueDispose(queue, true));
  ended++;
  return NULL;
}

static void spawn_stop(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  _Atomic int *calls = data;
  pthread_t thread;
  if (++*calls == 4) {
    CHECK(pthread_create(&thread, NULL, stop_queue, queue) == 0);
    CHECK(pthread_detach(thread) == 0);
  }
  // The queue may be on its way out.
  AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
}

static void stops_on_threads(void) {
  for (int converts = 0; converts < 2; converts++) {
    double stream = converts ? other_rate() : rate;
    player this = {.length = 1L << 40, .level = 0.01f};
    AudioUnit unit = make_output(&this, stream);
    set_callback(unit, 0, play_and_spawn, &this);
    WORKS(AudioUnitInitialize(unit));
    WORKS(AudioOutputUnitStart(unit));
    has_ended(unit, &this);

    AudioStreamBasicDescription format = float_format(stream, 2);
    AudioQueueRef queue = NULL;
    _Atomic int calls = 0;
    WORKS(AudioQueueNewOutput(&format, spawn_stop, (void *)&calls, NULL, NULL, 0, &queue));
    for (int i = 0; i < 3; i++)
      enqueue_wave(queue, new_buffer(queue, 1000), 0, 1000);
    WORKS(AudioQueueStart(queue, NULL));
    WAIT(ended == 1);
    int before = calls;
    let_time_pass();
    EQUAL(calls, before);
    ended = 0;
  }
  passed("stop on another thread");
}

// MARK: Several streams

/// Waits until the card hears a level on the left.
static void hear_level(cue_capture *card, double level, double tolerance) {
  double end = seconds_now() + PATIENCE, heard = 0;
  do {
    if (seconds_now() > end) {
      char text[200];
      snprintf(text, sizeof text, "heard a level of %g, not %g", heard, level);
      fail(__FILE__, __LINE__, text);
    }
    cue_capture_arm(card);
    record(card, 1);
    cue_capture_disarm(card);
    heard = cue_capture_samples(card, 0)[cue_capture_frames(card) - 1];
  } while (fabs(heard - level) > tolerance);
}

static void eight_streams(cue_capture *card) {
  enum {
    STREAMS = 8
  };
  static const double rates[STREAMS] = {0, 0, 44100, 48000, 96000, 22050, 32000, 11025};
  for (int converts = 0; converts < 2; converts++) {
    player all[STREAMS];
    memset(all, 0, sizeof all);
    double level = 0;
    for (int i = 0; i < STREAMS; i++) {
      all[i].length = 1L << 40;
      all[i].level = (float)(1 << i) / 512;
      level += all[i].level;
      AudioUnit unit = make_output(&all[i], converts && rates[i] > 0 ? rates[i] : rate);
      WORKS(AudioUnitInitialize(unit));
      WORKS(AudioOutputUnitStart(unit));
    }
    const double tolerance = converts ? 5e-4 : 0;
    hear_level(card, level, tolerance);
    for (int i = STREAMS - 1; i >= 0; i--) {
      WORKS(AudioComponentInstanceDispose(all[i].unit));
      EQUAL(all[i].wrong, 0);
      level -= all[i].level;
      hear_level(card, level, tolerance);
    }
  }
  passed("eight streams");
}

// MARK: Formats

/// A sine of 1 kHz in any format of floats or integers of 16 bits.
typedef struct {
  AudioStreamBasicDescription format;
  _Atomic long played;
} tone;

static OSStatus play_tone(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                          UInt32 bus, UInt32 frames, AudioBufferList *list) {
  tone *this = data;
  (void)flags, (void)time, (void)bus;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++) {
    UInt32 channels = list->mBuffers[i].mNumberChannels;
    for (UInt32 s = 0; s < frames * channels; s++) {
      double phase = 1000 * (double)(this->played + s / channels) / this->format.mSampleRate;
      double sample = 0.5 * sin(2 * M_PI * phase);
      if (this->format.mBitsPerChannel == 16)
        ((SInt16 *)list->mBuffers[i].mData)[s] = (SInt16)lround(32767 * sample);
      else
        ((float *)list->mBuffers[i].mData)[s] = (float)sample;
    }
  }
  this->played += frames;
  return noErr;
}

/// One unit is opened, closed and opened with other formats.
static void other_formats(cue_capture *card) {
  static const struct {
    double rate;
    UInt32 channels, bits;
    bool is_planar;
  } cases[] = {
      {0, 2, 32, true},      {44100, 2, 16, false}, {48000, 1, 32, false}, {96000, 2, 32, false},
      {22050, 2, 16, false}, {0, 2, 32, true},      {8000, 1, 16, false},  {192000, 6, 32, true},
  };
  AudioUnit unit = NULL;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (i == 0 || i == 5) {
      if (unit) WORKS(AudioComponentInstanceDispose(unit));
      unit = make(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
    }
    tone this = {.played = 0};
    this.format = float_format(cases[i].rate > 0 ? cases[i].rate : rate, cases[i].channels);
    this.format.mReserved = 0xABCD0000;
    UInt32 width = cases[i].bits / 8;
    this.format.mBitsPerChannel = cases[i].bits;
    if (cases[i].bits == 16) this.format.mFormatFlags = kAudioFormatFlagIsSignedInteger;
    if (cases[i].is_planar) this.format.mFormatFlags |= kAudioFormatFlagIsNonInterleaved;
    this.format.mBytesPerFrame = this.format.mBytesPerPacket =
        width * (cases[i].is_planar ? 1 : cases[i].channels);
    set_format(unit, kAudioUnitScope_Input, 0, this.format);
    set_callback(unit, 0, play_tone, &this);
    WORKS(AudioUnitInitialize(unit));
    WORKS(AudioOutputUnitStart(unit));
    WAIT(this.played > 0);
    settle(card);
    record(card, (size_t)rate / 10);
    cue_capture_disarm(card);
    WORKS(AudioOutputUnitStop(unit));
    WORKS(AudioUnitUninitialize(unit));
    for (unsigned channel = 0; channel < 2; channel++)
      CHECK(signal_to_noise(cue_capture_samples(card, channel), (long)rate / 10, rate) > 65);
  }
  WORKS(AudioComponentInstanceDispose(unit));
  passed("other formats");
}

// MARK: Buffers that are written later

/// A player that enqueues a buffer again at once, and writes it some callbacks later.
typedef struct {
  double stream_rate;
  long size;
  int count, behind;
  AudioQueueBufferRef all[8];
  _Atomic long calls;
  /// Set before the queue is disposed of, which may refuse a buffer.
  _Atomic bool is_over;
} emulator;

/// Writes the sound of a turn: turn 0 is heard first.
static void write_turn(emulator *this, long turn) {
  AudioQueueBufferRef buffer = this->all[turn % this->count];
  float *samples = (float *)buffer->mAudioData;
  for (long i = 0; i < this->size; i++) {
    long frame = turn * this->size + i;
    bool is_exact = this->stream_rate == rate;
    double sine = 0.5 * sin(2 * M_PI * 1000 * (double)frame / this->stream_rate);
    samples[2 * i] = is_exact ? wave(frame) : (float)sine;
    samples[2 * i + 1] = -samples[2 * i];
  }
}

static void emulate(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  emulator *this = data;
  CHECK(buffer == this->all[this->calls % this->count]);
  OSStatus status = AudioQueueEnqueueBuffer(queue, buffer, 0, NULL);
  if (!this->is_over) WORKS(status);
  this->calls++;
  // The buffer of the turn `calls + count - 1` is enqueued.
  write_turn(this, this->calls + this->count - 1 - this->behind);
}

/// Plays some turns. Returns true if all turns were heard.
static bool is_heard(cue_capture *card, emulator *this) {
  AudioStreamBasicDescription format = float_format(this->stream_rate, 2);
  AudioQueueRef queue = NULL;
  this->calls = 0;
  this->is_over = false;
  WORKS(AudioQueueNewOutput(&format, emulate, this, NULL, NULL, 0, &queue));
  for (int i = 0; i < this->count; i++) {
    this->all[i] = new_buffer(queue, this->size);
    // Noise, which must not be heard.
    for (long s = 0; s < 2 * this->size; s++)
      ((float *)this->all[i]->mAudioData)[s] = (float)(s % 7) / 8;
    this->all[i]->mAudioDataByteSize = (UInt32)this->size * FRAME_BYTES;
    if (i < this->count - this->behind) write_turn(this, i);
    WORKS(AudioQueueEnqueueBuffer(queue, this->all[i], 0, NULL));
  }
  const long turns = 4 * 8192 / this->size;
  cue_capture_arm(card);
  WORKS(AudioQueueStart(queue, NULL));
  WAIT(this->calls >= turns);
  record(card, 2 * period);
  end_recording(card);
  this->is_over = true;
  WORKS(AudioQueueDispose(queue, true));
  size_t at = find_sound(card, 0);
  if (this->stream_rate == rate) {
    HEAR(card, at, 0, turns * this->size);
    return true;
  }
  return signal_to_noise(cue_capture_samples(card, 0) + at + 1000, (long)rate / 2, rate) > 65;
}

static void written_later(cue_capture *card) {
  static const struct {
    long size;
    int count, behind;
  } cases[] = {{8192, 3, 1}, {2048, 8, 3}};
  for (int c = 0; c < 2; c++)
    for (int converts = 0; converts < 2; converts++) {
      emulator this = {.stream_rate = converts ? other_rate() : rate,
                       .size = cases[c].size,
                       .count = cases[c].count,
                       .behind = cases[c].behind};
      // The thread that converts no more than 20 ms ahead comes too late now and then if the
      // machine is busy.
      int attempts = 0;
      while (!is_heard(card, &this))
        CHECK(++attempts < 5);
    }
  passed("written later");
}

// MARK: Renders on other threads

static OSStatus give(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)data, (void)flags, (void)bus;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    for (UInt32 f = 0; f < frames; f++)
      ((float *)list->mBuffers[i].mData)[f] = wave((long)time->mSampleTime + f);
  return noErr;
}

typedef struct {
  AudioUnit unit, output;
  buffers all;
  UInt32 frames;
  double next;
  _Atomic int done;
} renderer;

static void *render(void *data) {
  renderer *this = data;
  AudioTimeStamp time = at_frame(this->next);
  time.mReserved = 0xABCD;
  WORKS(AudioUnitRender(this->unit, NULL, &time, 0, this->frames, &this->all.list));
  this->done++;
  return NULL;
}

/// Renders in the call of an output unit, once.
static OSStatus render_in_call(void *data, AudioUnitRenderActionFlags *flags,
                               const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                               AudioBufferList *list) {
  renderer *this = data;
  (void)time, (void)bus, (void)frames, (void)list;
  *flags |= kAudioUnitRenderAction_OutputIsSilence;
  if (this->done == 0) render(data);
  return noErr;
}

static void renders_elsewhere(void) {
  enum {
    FRAMES = 300
  };
  renderer this = {.frames = FRAMES};
  this.unit = make(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  set_callback(this.unit, 0, give, NULL);
  set_format(this.unit, kAudioUnitScope_Input, 0, planar(rate, 2));
  set_format(this.unit, kAudioUnitScope_Output, 0, planar(rate, 2));
  WORKS(AudioUnitInitialize(this.unit));
  this.output = make(kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput);
  set_callback(this.output, 0, render_in_call, &this);
  WORKS(AudioUnitInitialize(this.output));
  float *memory = malloc(2 * FRAMES * sizeof(float));
  for (int round = 0; round < 6; round++, this.next += FRAMES) {
    this.all = no_memory(2);
    for (int i = 0; i < 2; i++) {
      this.all.list.mBuffers[i].mNumberChannels = 1;
      this.all.list.mBuffers[i].mDataByteSize = FRAMES * 4;
      this.all.list.mBuffers[i].mData = memory + i * FRAMES;
    }
    this.done = 0;
    if (round % 3 == 0) {
      render(&this);
    } else if (round % 3 == 1) {
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, render, &this) == 0);
      CHECK(pthread_join(thread, NULL) == 0);
    } else {
      WORKS(AudioOutputUnitStart(this.output));
      WAIT(this.done);
      WORKS(AudioOutputUnitStop(this.output));
    }
    for (int i = 0; i < 2 * FRAMES; i++)
      EQUAL(memory[i], wave((long)this.next + i % FRAMES));
    for (int i = 0; i < 2; i++)
      CHECK(this.all.list.mBuffers[i].mData == memory + i * FRAMES &&
            this.all.list.mBuffers[i].mDataByteSize == FRAMES * 4);
  }
  WORKS(AudioComponentInstanceDispose(this.output));
  WORKS(AudioComponentInstanceDispose(this.unit));
  free(memory);
  passed("renders elsewhere");
}

// MARK: Values

/// One byte of a value is read where there is room for one.
static void one_byte(void) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  static const struct {
    AudioUnitPropertyID id;
    AudioUnitScope scope;
    AudioUnitElement element;
  } all[] = {
      {kAudioOutputUnitProperty_IsRunning, kAudioUnitScope_Global, 0},
      {kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Output, 0},
      {kAudioOutputUnitProperty_HasIO, kAudioUnitScope_Output, 0},
      {kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global, 0},
      {kAudioUnitProperty_MaximumFramesPerSlice, kAudioUnitScope_Global, 0},
      {kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input, 0},
      {kAudioUnitProperty_SampleRate, kAudioUnitScope_Input, 0},
      {kAudioUnitProperty_Latency, kAudioUnitScope_Global, 0},
      {kAudioDevicePropertyBufferFrameSize, kAudioUnitScope_Global, 0},
      {kAudioDevicePropertyNominalSampleRate, kAudioUnitScope_Global, 0},
  };
  for (int running = 0; running < 2; running++) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
      UInt8 whole[64] = {0}, part[2] = {0x55, 0x55};
      UInt32 size = sizeof whole;
      WORKS(AudioUnitGetProperty(unit, all[i].id, all[i].scope, all[i].element, whole, &size));
      CHECK(size >= 4);
      size = 1;
      WORKS(AudioUnitGetProperty(unit, all[i].id, all[i].scope, all[i].element, part, &size));
      CHECK(size == 1 && part[0] == whole[0] && part[1] == 0x55);
    }
    if (running) break;
    player *this = calloc(1, sizeof *this);
    set_callback(unit, 0, play, this);
    WORKS(AudioUnitInitialize(unit));
    WORKS(AudioOutputUnitStart(unit));
    WAIT(this->calls > 0);
    WORKS(AudioOutputUnitStop(unit));
    set_callback(unit, 0, NULL, NULL);
    free(this);
  }
  WORKS(AudioComponentInstanceDispose(unit));
  passed("one byte");
}

static void never(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

static void never_in(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *time, UInt32 count,
                     const AudioStreamPacketDescription *packets) {
  (void)data, (void)queue, (void)buffer, (void)time, (void)count, (void)packets;
}

/// Reserved fields are not looked at, and flags that no one asks for are not compared.
static void garbage(void) {
  AudioStreamBasicDescription format = float_format(rate, 2), other = float_format(8000, 1);
  format.mReserved = other.mReserved = 0xDEADBEEF;
  AudioQueueRef queue = NULL;
  WORKS(AudioQueueNewOutput(&format, never, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueDispose(queue, true));
  WORKS(AudioQueueNewInput(&format, never_in, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueDispose(queue, true));
  AudioConverterRef converter = NULL;
  WORKS(AudioConverterNew(&format, &other, &converter));
  WORKS(AudioConverterDispose(converter));
  UInt32 size = sizeof format;
  WORKS(AudioFormatGetProperty(kAudioFormatProperty_FormatInfo, 0, NULL, &size, &format));
  CHECK(format.mChannelsPerFrame == 2);
  char path[100];
  snprintf(path, sizeof path, "/tmp/cuejack-strict-%d.caf", getpid());
  CFURLRef url =
      CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path, (CFIndex)strlen(path), 0);
  ExtAudioFileRef file = NULL;
  format.mReserved = 0xDEADBEEF;
  WORKS(ExtAudioFileCreateWithURL(url, kAudioFileCAFType, &format, NULL, kAudioFileFlags_EraseFile,
                                  &file));
  WORKS(
      ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof other, &other));
  WORKS(ExtAudioFileDispose(file));
  AudioFileID old = NULL;
  WORKS(AudioFileCreateWithURL(url, kAudioFileCAFType, &format, kAudioFileFlags_EraseFile, &old));
  WORKS(AudioFileClose(old));
  CFRelease(url);
  CHECK(unlink(path) == 0);

  AudioComponentDescription description =
      describe(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  description.componentFlags = 0xDEADBEEF;
  AudioUnit unit = make_unit(description);
  AudioDeviceID device =
      number(unit, kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global, 0);
  AudioObjectPropertyAddress address = {kAudioDevicePropertyStreamFormat,
                                        kAudioObjectPropertyScopeOutput, 0};
  size = sizeof format;
  WORKS(AudioObjectGetPropertyData(device, &address, 0, NULL, &size, &format));
  EQUAL(format.mReserved, 0);
  format.mReserved = 0xDEADBEEF;
  WORKS(AudioObjectSetPropertyData(device, &address, 0, NULL, sizeof format, &format));
  AudioStreamID stream = 0;
  size = sizeof stream;
  address.mSelector = kAudioDevicePropertyStreams;
  WORKS(AudioObjectGetPropertyData(device, &address, 0, NULL, &size, &stream));
  address.mSelector = kAudioStreamPropertyPhysicalFormat;
  WORKS(AudioObjectSetPropertyData(stream, &address, 0, NULL, sizeof format, &format));
  AudioTimeStamp time, told;
  memset(&time, 0xAB, sizeof time);
  memset(&told, 0xAB, sizeof told);
  time.mSampleTime = 12345;
  time.mFlags = kAudioTimeStampSampleTimeValid;
  told.mFlags = kAudioTimeStampSampleTimeValid;
  player this = {.length = 1000};
  set_callback(unit, 0, play, &this);
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioOutputUnitStart(unit));
  WAIT(this.calls > 0);
  WORKS(AudioDeviceTranslateTime(device, &time, &told));
  EQUAL(told.mSampleTime, 12345);
  WORKS(AudioComponentInstanceDispose(unit));
  passed("garbage");
}

// MARK: The last write

/// A driver that writes into a ring, from which the callback plays.
typedef struct {
  float samples[RING];
  _Atomic long written, read;
} driver;

static OSStatus drive(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                      UInt32 bus, UInt32 frames, AudioBufferList *list) {
  driver *this = data;
  (void)flags, (void)time, (void)bus;
  UInt32 count = 0;
  for (; count < frames && this->read + count < this->written; count++) {
    float sample = this->samples[(this->read + count) % RING];
    ((float *)list->mBuffers[0].mData)[count] = sample;
    ((float *)list->mBuffers[1].mData)[count] = -sample;
  }
  for (int i = 0; i < 2; i++)
    list->mBuffers[i].mDataByteSize = 4 * count;
  this->read += count;
  return noErr;
}

/// A driver that closes right after its last write, and one that waits until the callback has taken
/// all of it. Whatever the callback gave is heard: the rest was in the driver's ring.
static void last_write(cue_capture *card) {
  for (int waits = 0; waits < 2; waits++)
    for (int round = 0; round < 2; round++) {
      static driver this;
      memset(&this, 0, sizeof this);
      player unused = {.calls = 0};
      AudioUnit unit = make_output(&unused, rate);
      set_callback(unit, 0, drive, &this);
      WORKS(AudioUnitInitialize(unit));
      cue_capture_arm(card);
      WORKS(AudioOutputUnitStart(unit));
      for (int turn = 0; turn < 4; turn++) {
        for (long i = 0; i < 1025; i++)
          this.samples[(this.written + i) % RING] = wave(this.written + i);
        this.written += 1025;
        WAIT(this.written - this.read < 2048);
      }
      if (waits) WAIT(this.read == this.written);
      WORKS(AudioOutputUnitStop(unit));
      long given = this.read;
      WORKS(AudioComponentInstanceDispose(unit));
      record(card, 4 * period);
      end_recording(card);
      CHECK(!waits || given == this.written);
      HEAR_SILENCE(card, HEAR(card, find_sound(card, 0), 0, given));
    }
  passed("the last write");
}

int main(int count, char **arguments) {
  (void)count;
  snprintf(client, sizeof client, "%s", strrchr(arguments[0], '/') + 1);
  cue_capture *card = open_card(5);
  rate = jack_get_sample_rate(cue_capture_client(card));
  period = jack_get_buffer_size(cue_capture_client(card));
  jack_status_t status;
  emitter = cue_emitter_open(getenv("JACK_DEFAULT_SERVER"), "emitter", 2, &status);
  CHECK(emitter != NULL);
  drains(card);
  sizes();
  duplex(card);
  two_units(card);
  maps(card);
  starts(card);
  closes_in_listeners();
  stops_on_threads();
  eight_streams(card);
  other_formats(card);
  written_later(card);
  renders_elsewhere();
  one_byte();
  garbage();
  last_write(card);
  cue_emitter_close(emitter);
  WORKS(AudioHardwareUnload());
  cue_capture_close(card);
  return 0;
}
