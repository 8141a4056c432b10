// Every audio unit that needs no server: found, made, initialised, rendered for a second, asked for
// all its properties and parameters, saved, and restored to the same output.
//
//   components          all of them
//   components count    prints their number
//   components N END    those from the Nth on, counted from 0, up to the one before END
//
// The last way prints a component's number, manufacturer and name, then checks it, and prints
// "passes", or "varies" if no two instances give the same.
#include "units.h"

#include <errno.h>

// New memory is zero, in the program, the library and the plugins: a unit that reads what it has
// not written gives the same in each instance. M_PERTURB leaves much memory as it was.

extern void *__libc_malloc(size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static void *zeroed(void *block, size_t bytes) {
  return block ? memset(block, 0, bytes) : NULL;
}

void *malloc(size_t bytes) {
  return zeroed(__libc_malloc(bytes), bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  return zeroed(__libc_memalign(alignment, bytes), bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  void *made = memalign(alignment, bytes);
  if (!made) return ENOMEM;
  *block = made;
  return 0;
}

enum {
  FRAMES = 512,
  SLICES = RATE / FRAMES,
  /// Most channels of an output.
  CHANNELS = 256,
  /// Most parameters of a unit that are asked for.
  PARAMETERS = 4096
};

/// Returns the next component that needs no server.
static AudioComponent next(AudioComponent component) {
  const AudioComponentDescription any = {0};
  while ((component = AudioComponentFindNext(component, &any)) != NULL) {
    AudioComponentDescription description;
    WORKS(AudioComponentGetDescription(component, &description));
    if (description.componentType != kAudioUnitType_Output ||
        description.componentSubType == kAudioUnitSubType_GenericOutput)
      break;
  }
  return component;
}

static const char *name_of(AudioComponent component) {
  static char text[512];
  CFStringRef name = NULL;
  WORKS(AudioComponentCopyName(component, &name));
  CHECK(CFStringGetCString(name, text, sizeof text, kCFStringEncodingUTF8));
  CFRelease(name);
  return text;
}

/// The wave, another one on each channel.
static OSStatus give(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)data, (void)flags;
  for (UInt32 channel = 0; channel < list->mNumberBuffers; channel++) {
    float *samples = list->mBuffers[channel].mData;
    for (UInt32 i = 0; i < frames; i++)
      samples[i] = wave((long)time->mSampleTime + i + 100 * (long)(channel + bus)) / 4;
  }
  return noErr;
}

/// Asks for the parameters of a scope, and sets them to a value in their range.
static void ask_parameters(AudioUnit unit, AudioUnitScope scope) {
  static AudioUnitParameterID ids[PARAMETERS];
  UInt32 size = sizeof ids;
  if (AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterList, scope, 0, ids, &size) != noErr)
    return;
  for (UInt32 i = 0; i < size / sizeof *ids; i++) {
    AudioUnitParameterInfo info;
    UInt32 info_size = sizeof info;
    WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ParameterInfo, scope, ids[i], &info,
                               &info_size));
    CHECK(info.minValue <= info.defaultValue && info.defaultValue <= info.maxValue);
    if (info.flags & kAudioUnitParameterFlag_CFNameRelease) CFRelease(info.cfNameString);
    Float32 value = 0;
    WORKS(AudioUnitGetParameter(unit, ids[i], scope, 0, &value));
    CHECK(value == value);
    if (info.flags & kAudioUnitParameterFlag_IsWritable)
      WORKS(AudioUnitSetParameter(unit, ids[i], scope, 0, value, 0));
  }
}

/// A unit ready to render, with input on all its buses.
static AudioUnit ready(AudioComponent component, CFPropertyListRef state) {
  AudioUnit unit = NULL;
  WORKS(AudioComponentInstanceNew(component, &unit));
  UInt32 size = sizeof state;
  if (state)
    WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_ClassInfo, kAudioUnitScope_Global, 0,
                               &state, size));
  UInt32 inputs = 0;
  size = sizeof inputs;
  if (AudioUnitGetProperty(unit, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0, &inputs,
                           &size) != noErr)
    inputs = 0;
  AURenderCallbackStruct callback = {give, NULL};
  for (UInt32 i = 0; i < inputs; i++)
    WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_SetRenderCallback, kAudioUnitScope_Input, i,
                               &callback, sizeof callback));
  UInt32 offline = 1;
  AudioUnitSetProperty(unit, kAudioUnitProperty_OfflineRender, kAudioUnitScope_Global, 0, &offline,
                       sizeof offline);
  WORKS(AudioUnitInitialize(unit));
  return unit;
}

/// Renders a second, and returns its samples, channel after channel. The caller frees them.
static float *render(AudioUnit unit, UInt32 *channels) {
  *channels = get_format(unit, kAudioUnitScope_Output, 0).mChannelsPerFrame;
  CHECK(*channels <= CHANNELS);
  // Instruments play a note. Other units hear no MIDI, or may do with it what they like.
  (void)MusicDeviceMIDIEvent(unit, 0x90, 60, 100, 0);
  float *all = calloc((size_t)*channels * SLICES * FRAMES, sizeof *all);
  for (int slice = 0; slice < SLICES; slice++) {
    // A list of buffers without memory.
    static struct {
      AudioBufferList list;
      AudioBuffer more[CHANNELS - 1];
    } all_buffers;
    memset(&all_buffers, 0, sizeof all_buffers);
    AudioBufferList *list = &all_buffers.list;
    list->mNumberBuffers = *channels;
    AudioTimeStamp time = at_frame(slice * FRAMES);
    WORKS(AudioUnitRender(unit, NULL, &time, 0, FRAMES, list));
    for (UInt32 c = 0; c < *channels; c++)
      memcpy(all + ((size_t)c * SLICES + (size_t)slice) * FRAMES, list->mBuffers[c].mData,
             FRAMES * sizeof *all);
  }
  return all;
}

/// Checks a component. Returns false if no two instances give the same output.
static bool check(AudioComponent component) {
  bool is_steady = true;
  AudioUnit unit = ready(component, NULL);
  for (AudioUnitScope scope = kAudioUnitScope_Global; scope <= kAudioUnitScope_Output; scope++)
    ask_parameters(unit, scope);
  AudioUnit asked = NULL;
  WORKS(AudioComponentInstanceNew(component, &asked));
  check_properties(asked);
  WORKS(AudioComponentInstanceDispose(asked));
  CFPropertyListRef state = NULL;
  UInt32 size = sizeof state;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_ClassInfo, kAudioUnitScope_Global, 0, &state,
                             &size));
  UInt32 channels, again;
  float *first = render(unit, &channels);
  AudioUnit restored = ready(component, state);
  float *second = render(restored, &again);
  EQUAL(again, channels);
  size_t bytes = (size_t)channels * SLICES * FRAMES * sizeof *first;
  if (memcmp(first, second, bytes) != 0) {
    // A unit with chance in it gives another output each time.
    AudioUnit other = ready(component, NULL);
    float *third = render(other, &again);
    if (memcmp(first, third, bytes) == 0) {
      fprintf(stderr, "%s is not restored to the same output\n", name_of(component));
      exit(1);
    }
    is_steady = false;
    free(third);
    WORKS(AudioComponentInstanceDispose(other));
  }
  CFRelease(state);
  free(first);
  free(second);
  WORKS(AudioComponentInstanceDispose(restored));
  WORKS(AudioUnitReset(unit, kAudioUnitScope_Global, 0));
  WORKS(AudioUnitUninitialize(unit));
  WORKS(AudioComponentInstanceDispose(unit));
  return is_steady;
}

int main(int count, char **arguments) {
  int number = 0;
  bool counts = count == 2, lists = count == 3;
  int first = lists ? atoi(arguments[1]) : 0, end = lists ? atoi(arguments[2]) : INT32_MAX;
  for (AudioComponent component = next(NULL); component; component = next(component), number++) {
    if (counts || number < first || number >= end) continue;
    AudioComponentDescription description;
    WORKS(AudioComponentGetDescription(component, &description));
    bool is_ours = description.componentManufacturer == kAudioUnitManufacturer_Apple;
    FILE *out = lists ? stdout : stderr;
    fprintf(out, "%d\t%s\t%s\n", number, is_ours ? "Cuejack" : "LV2", name_of(component));
    fflush(out);
    bool is_steady = check(component);
    fprintf(out, "%s\n", is_steady ? "passes" : "varies");
    fflush(out);
  }
  if (counts) printf("%d\n", number);
  if (!lists && !counts) passed("components");
  return 0;
}
