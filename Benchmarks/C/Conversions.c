// The floor of a cycle: the conversion between interleaved samples and planes as one would write it
// in C, without a thought of the processor.
#include "CBench.h"

#include <math.h>

// The number of channels is a constant in each of its uses, so that the compiler knows the strides.
static inline __attribute__((always_inline)) void read_channels(cue_floor_format format,
                                                                const void *source, uint32_t frames,
                                                                uint32_t channels, float gain,
                                                                float *planes) {
  for (uint32_t c = 0; c < channels; c++) {
    float *out = planes + (size_t)c * frames;
    switch (format) {
    case CUE_FLOOR_S16: {
      const int16_t *samples = (const int16_t *)source + c;
      for (uint32_t i = 0; i < frames; i++)
        out[i] = samples[i * channels] * (gain / 0x1p15f);
      break;
    }
    case CUE_FLOOR_S24: {
      const uint8_t *bytes = (const uint8_t *)source + 3 * c;
      for (uint32_t i = 0; i < frames; i++) {
        const uint8_t *at = bytes + 3 * i * channels;
        const int32_t sample =
            (int32_t)((uint32_t)at[0] << 8 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 24);
        out[i] = (float)sample * (gain / 0x1p31f);
      }
      break;
    }
    case CUE_FLOOR_F32: {
      const float *samples = (const float *)source + c;
      for (uint32_t i = 0; i < frames; i++)
        out[i] = samples[i * channels] * gain;
      break;
    }
    }
  }
}

static float limited(float value, float scale) {
  value *= scale;
  return value < -scale ? -scale : value > scale - 1 ? scale - 1 : value;
}

static inline __attribute__((always_inline)) void store_channels(cue_floor_format format,
                                                                 const float *planes,
                                                                 uint32_t frames, uint32_t channels,
                                                                 void *target) {
  for (uint32_t c = 0; c < channels; c++) {
    const float *in = planes + (size_t)c * frames;
    switch (format) {
    case CUE_FLOOR_S16: {
      int16_t *samples = (int16_t *)target + c;
      for (uint32_t i = 0; i < frames; i++)
        samples[i * channels] = (int16_t)lrintf(limited(in[i], 0x1p15f));
      break;
    }
    case CUE_FLOOR_S24: {
      uint8_t *bytes = (uint8_t *)target + 3 * c;
      for (uint32_t i = 0; i < frames; i++) {
        const int32_t sample = (int32_t)lrintf(limited(in[i], 0x1p23f));
        uint8_t *at = bytes + 3 * i * channels;
        at[0] = (uint8_t)sample;
        at[1] = (uint8_t)(sample >> 8);
        at[2] = (uint8_t)(sample >> 16);
      }
      break;
    }
    case CUE_FLOOR_F32: {
      float *samples = (float *)target + c;
      for (uint32_t i = 0; i < frames; i++)
        samples[i * channels] = in[i];
      break;
    }
    }
  }
}

void cue_floor_read(cue_floor_format format, const void *source, uint32_t frames, uint32_t channels,
                    float gain, float *planes) {
  switch (channels) {
  case 1:
    return read_channels(format, source, frames, 1, gain, planes);
  case 2:
    return read_channels(format, source, frames, 2, gain, planes);
  case 8:
    return read_channels(format, source, frames, 8, gain, planes);
  default:
    return read_channels(format, source, frames, channels, gain, planes);
  }
}

void cue_floor_store(cue_floor_format format, const float *planes, uint32_t frames,
                     uint32_t channels, void *target) {
  switch (channels) {
  case 1:
    return store_channels(format, planes, frames, 1, target);
  case 2:
    return store_channels(format, planes, frames, 2, target);
  case 8:
    return store_channels(format, planes, frames, 8, target);
  default:
    return store_channels(format, planes, frames, channels, target);
  }
}
