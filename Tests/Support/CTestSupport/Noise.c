#include "CTestSupport.h"

#include <string.h>

void cue_noise(uint64_t seed, int bits, bool is_float, uint32_t channels, size_t frames,
               uint8_t *bytes, float *planes) {
  uint64_t state = seed * 0x9E3779B97F4A7C15 | 1;
  for (size_t frame = 0; frame < frames; frame++) {
    for (uint32_t channel = 0; channel < channels; channel++, bytes += bits / 8) {
      state = state * 6364136223846793005 + 1442695040888963407;
      // Odd, so never zero.
      int32_t number = (int32_t)(state >> 32) | 0x101;
      float value;
      if (is_float) {
        value = (float)number / 2147483648.f * 0.7f;
        memcpy(bytes, &value, 4);
      } else {
        int32_t sample = bits == 16 ? (int16_t)number : number >> 8 | 1;
        value = (float)sample / (bits == 16 ? 32768.f : 8388608.f);
        memcpy(bytes, &sample, (size_t)bits / 8);
      }
      planes[channel * frames + frame] = value;
    }
  }
}
