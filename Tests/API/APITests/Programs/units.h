// Descriptions, formats, properties and buffers for the programs with audio units.
#ifndef UNITS_H
#define UNITS_H

#include "check.h"

static inline AudioComponentDescription describe(OSType type, OSType subtype) {
  AudioComponentDescription description = {type, subtype, kAudioUnitManufacturer_Apple, 0, 0};
  return description;
}

/// Returns a format of floats in a buffer for each channel.
static inline AudioStreamBasicDescription planar(double rate, UInt32 channels) {
  AudioStreamBasicDescription format = float_format(rate, channels);
  format.mFormatFlags |= kAudioFormatFlagIsNonInterleaved;
  format.mBytesPerPacket = format.mBytesPerFrame = 4;
  return format;
}

static inline void set_format(AudioUnit unit, AudioUnitScope scope, UInt32 bus,
                              AudioStreamBasicDescription format) {
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_StreamFormat, scope, bus, &format,
                             sizeof format));
}

static inline AudioStreamBasicDescription get_format(AudioUnit unit, AudioUnitScope scope,
                                                     UInt32 bus) {
  AudioStreamBasicDescription format;
  UInt32 size = sizeof format;
  WORKS(AudioUnitGetProperty(unit, kAudioUnitProperty_StreamFormat, scope, bus, &format, &size));
  EQUAL(size, sizeof format);
  return format;
}

/// Makes a unit.
static inline AudioUnit make_unit(AudioComponentDescription description) {
  AudioComponent component = AudioComponentFindNext(NULL, &description);
  CHECK(component != NULL);
  AudioUnit unit = NULL;
  WORKS(AudioComponentInstanceNew(component, &unit));
  CHECK(unit != NULL && AudioComponentInstanceGetComponent(unit) == component);
  return unit;
}

static inline AudioUnit make(OSType type, OSType subtype) {
  return make_unit(describe(type, subtype));
}

static inline UInt32 number(AudioUnit unit, AudioUnitPropertyID property, AudioUnitScope scope,
                            UInt32 element) {
  UInt32 value = 0xABCDEF01, size = sizeof value;
  WORKS(AudioUnitGetProperty(unit, property, scope, element, &value, &size));
  return value;
}

static inline void set_number(AudioUnit unit, AudioUnitPropertyID property, AudioUnitScope scope,
                              UInt32 element, UInt32 value) {
  WORKS(AudioUnitSetProperty(unit, property, scope, element, &value, sizeof value));
}

static inline void set_callback(AudioUnit unit, UInt32 bus, AURenderCallback proc, void *data) {
  AURenderCallbackStruct callback = {proc, data};
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_SetRenderCallback, kAudioUnitScope_Input, bus,
                             &callback, sizeof callback));
}

typedef struct {
  AudioBufferList list;
  AudioBuffer more[7];
} buffers;

/// A list of `count` buffers without memory.
static inline buffers no_memory(UInt32 count) {
  buffers all;
  memset(&all, 0, sizeof all);
  all.list.mNumberBuffers = count;
  return all;
}

/// Releases the objects of a property's value.
static inline void release_value(AudioUnitPropertyID id, const void *value) {
  CFTypeRef object = NULL;
  switch (id) {
  case kAudioUnitProperty_ClassInfo:
  case kAudioUnitProperty_FactoryPresets:
  case kAudioUnitProperty_ElementName:
  case kAudioUnitProperty_ParameterValueStrings:
    memcpy(&object, value, sizeof object);
    break;
  case kAudioUnitProperty_PresentPreset:
    object = ((const AUPreset *)value)->presetName;
    break;
  case kAudioUnitProperty_ParameterStringFromValue:
    object = ((const AudioUnitParameterStringFromValue *)value)->outString;
    break;
  case kAudioUnitProperty_ParameterInfo: {
    const AudioUnitParameterInfo *info = (const AudioUnitParameterInfo *)value;
    object = info->cfNameString;
    if (info->unit == kAudioUnitParameterUnit_CustomUnit) CFRelease(info->unitName);
    break;
  }
  default:
    break;
  }
  if (object) CFRelease(object);
}

/// Checks a property: what GetPropertyInfo answers can be read, or written if it says so; what it
/// refuses, Get and Set refuse alike.
static inline void check_property(AudioUnit unit, AudioUnitPropertyID id, AudioUnitScope scope,
                                  AudioUnitElement element) {
  static UInt64 value[16384];
  UInt32 bytes = 0;
  Boolean is_writable = false;
  OSStatus told = AudioUnitGetPropertyInfo(unit, id, scope, element, &bytes, &is_writable);
  CHECK(bytes <= sizeof value);
  memset(value, 0, told == noErr ? bytes : 256);
  UInt32 size = told == noErr ? bytes : 256;
  OSStatus got = AudioUnitGetProperty(unit, id, scope, element, value, &size);
  OSStatus set = noErr;
  bool asks = id == kAudioUnitProperty_ParameterStringFromValue ||
              id == kAudioUnitProperty_ParameterValueFromString ||
              id == kAudioUnitProperty_ParameterClumpName;
  bool agrees;
  if (told != noErr) {
    set = AudioUnitSetProperty(unit, id, scope, element, value, size);
    agrees = got == told && set == told;
  } else {
    set = AudioUnitSetProperty(unit, id, scope, element, value, got == noErr ? size : bytes);
    if (got == noErr) release_value(id, value);
    bool is_read = got == noErr ? size == bytes : asks && got != kAudioUnitErr_InvalidProperty;
    bool is_set = set != kAudioUnitErr_InvalidProperty && set != kAudioUnitErr_InvalidScope &&
                  set != kAudioUnitErr_InvalidElement && set != kAudioUnitErr_PropertyNotWritable;
    agrees = is_writable ? is_set && (got != noErr || is_read)
                         : is_read && set == kAudioUnitErr_PropertyNotWritable;
  }
  if (agrees) return;
  fprintf(stderr,
          "property %u, scope %u, element %u: info %d, %u bytes%s; get %d, %u bytes; set %d\n", id,
          scope, element, told, bytes, is_writable ? ", writable" : "", got, size, set);
  exit(1);
}

/// Checks the properties of a unit that no one else uses: the numbers of Apple's headers and some
/// others, on a bus that the unit has, and on one that it does not have.
static inline void check_properties(AudioUnit unit) {
  const struct {
    AudioUnitPropertyID first, end;
  } ranges[] = {{0, 70}, {2000, 2010}, {2200, 2202}, {3000, 3016}, {3300, 3321}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    for (AudioUnitPropertyID id = ranges[i].first; id < ranges[i].end; id++)
      for (AudioUnitScope scope = kAudioUnitScope_Global; scope <= kAudioUnitScope_Output;
           scope++) {
        check_property(unit, id, scope, 0);
        check_property(unit, id, scope, 5000);
      }
}

static inline const float *plane(const buffers *all, int i) {
  return (const float *)all->list.mBuffers[i].mData;
}

static inline AudioTimeStamp at_frame(double frame) {
  AudioTimeStamp time;
  memset(&time, 0, sizeof time);
  time.mSampleTime = frame;
  time.mFlags = kAudioTimeStampSampleTimeValid;
  return time;
}

#endif
