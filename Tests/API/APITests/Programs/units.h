// Descriptions and formats for the programs with audio units.
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

#endif
