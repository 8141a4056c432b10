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
