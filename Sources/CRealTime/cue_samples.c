#include "cue_samples.h"

#include <string.h>

// A product that is added to at once must be rounded before, on every processor.
#pragma STDC FP_CONTRACT OFF

// The bodies are compiled anew, with that instruction set, into each function that they are inlined
// into. The compiler makes vectors of the plain loops by itself; what it does not find is written
// with clang's vectors.
#define BODY                static inline __attribute__((always_inline))
#define SHUFFLED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

typedef int16_t int16x8 __attribute__((vector_size(16)));
typedef int16_t int16x64 __attribute__((vector_size(128)));
typedef int32_t int32x32 __attribute__((vector_size(128)));
typedef uint8_t uint8x16 __attribute__((vector_size(16)));
typedef uint8_t uint8x32 __attribute__((vector_size(32)));
typedef int32_t int32x8 __attribute__((vector_size(32)));
typedef float floatx4 __attribute__((vector_size(16)));
typedef float floatx8 __attribute__((vector_size(32)));

// Little-endian integers of 16 bits, as words of a pair: the low half is the left channel's.

BODY void read_int16(const char *restrict source, size_t frames, float *restrict out,
                     float factor) CUE_REALTIME {
  for (size_t i = 0; i < frames; i++) {
    int16_t sample;
    memcpy(&sample, source + 2 * i, 2);
    out[i] = (float)sample * factor;
  }
}

BODY void read_int16_stereo(const char *restrict source, size_t frames, float *restrict left,
                            float *restrict right, float first, float second) CUE_REALTIME {
  // Both halves in the upper bits of a word.
  first *= 0x1p-16f;
  second *= 0x1p-16f;
  for (size_t i = 0; i < frames; i++) {
    uint32_t pair;
    memcpy(&pair, source + 4 * i, 4);
    left[i] = (float)(int32_t)(pair << 16) * first;
    right[i] = (float)(int32_t)(pair & 0xffff0000u) * second;
  }
}

/// Transposes eight rows of eight samples in three steps. Each step brings rows together that were
/// twice as near to each other as in the step before.
BODY void transpose(int16x8 rows[8]) CUE_REALTIME {
  for (int step = 0; step < 3; step++) {
    int16x8 next[8];
    for (int k = 0; k < 4; k++) {
      next[2 * k] = SHUFFLED(rows[k], rows[k + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * k + 1] = SHUFFLED(rows[k], rows[k + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    memcpy(rows, next, sizeof next);
  }
}

BODY void read_int16_eight(const char *restrict source, size_t stride, size_t frames,
                           float *const *restrict planes, size_t offset, float first,
                           float second) CUE_REALTIME {
  size_t i = 0;
  for (; i + 8 <= frames; i += 8) {
    int16x8 rows[8];
    for (int k = 0; k < 8; k++)
      memcpy(&rows[k], source + (i + (size_t)k) * stride, 16);
    transpose(rows);
    for (int c = 0; c < 8; c++) {
      const floatx8 plane = __builtin_convertvector(rows[c], floatx8) * (c == 1 ? second : first);
      memcpy(planes[c] + offset + i, &plane, sizeof plane);
    }
  }
  for (; i < frames; i++) {
    for (size_t c = 0; c < 8; c++) {
      int16_t sample;
      memcpy(&sample, source + i * stride + 2 * c, 2);
      planes[c][offset + i] = (float)sample * (c == 1 ? second : first);
    }
  }
}

// Integers of 24 bits are read into the upper bits of words.

BODY float int24(const char *source, float factor) CUE_REALTIME {
  uint32_t word = 0;
  memcpy((char *)&word + 1, source, 3);
  return (float)(int32_t)word * factor;
}

BODY void read_int24(const char *restrict source, size_t frames, float *restrict out,
                     float factor) CUE_REALTIME {
  factor *= 0x1p-8f;
  const uint8x16 zero = {0};
  size_t i = 0;
  // 28 bytes are read of eight samples, which have 24.
  for (; i + 10 <= frames; i += 8) {
    uint8x16 a, b;
    memcpy(&a, source + 3 * i, 16);
    memcpy(&b, source + 3 * i + 12, 16);
    const uint8x16 low = SHUFFLED(a, zero, 16, 0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11);
    const uint8x16 high = SHUFFLED(b, zero, 16, 0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11);
    const uint8x32 words = SHUFFLED(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    const floatx8 samples = __builtin_convertvector((int32x8)words, floatx8) * factor;
    memcpy(out + i, &samples, sizeof samples);
  }
  for (; i < frames; i++)
    out[i] = int24(source + 3 * i, factor);
}

BODY void read_int24_stereo(const char *restrict source, size_t frames, float *restrict left,
                            float *restrict right, float first, float second) CUE_REALTIME {
  first *= 0x1p-8f;
  second *= 0x1p-8f;
  const floatx8 factors = {first, first, first, first, second, second, second, second};
  const uint8x16 zero = {0};
  size_t i = 0;
  // 28 bytes are read of four frames, which have 24.
  for (; i + 5 <= frames; i += 4) {
    uint8x16 a, b;
    memcpy(&a, source + 6 * i, 16);
    memcpy(&b, source + 6 * i + 12, 16);
    // Two frames in each half: left, left, right, right.
    const uint8x16 low = SHUFFLED(a, zero, 16, 0, 1, 2, 16, 6, 7, 8, 16, 3, 4, 5, 16, 9, 10, 11);
    const uint8x16 high = SHUFFLED(b, zero, 16, 0, 1, 2, 16, 6, 7, 8, 16, 3, 4, 5, 16, 9, 10, 11);
    const uint8x32 words = SHUFFLED(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    floatx8 samples = __builtin_convertvector((int32x8)words, floatx8);
    samples = SHUFFLED(samples, samples, 0, 1, 4, 5, 2, 3, 6, 7) * factors;
    const floatx4 lefts = SHUFFLED(samples, samples, 0, 1, 2, 3);
    const floatx4 rights = SHUFFLED(samples, samples, 4, 5, 6, 7);
    memcpy(left + i, &lefts, sizeof lefts);
    memcpy(right + i, &rights, sizeof rights);
  }
  for (; i < frames; i++) {
    left[i] = int24(source + 6 * i, first);
    right[i] = int24(source + 6 * i + 3, second);
  }
}

BODY void read_float_stereo(const char *restrict source, size_t frames, float *restrict left,
                            float *restrict right, float first, float second) CUE_REALTIME {
  for (size_t i = 0; i < frames; i++) {
    float pair[2];
    memcpy(pair, source + 8 * i, 8);
    left[i] = pair[0] * first;
    right[i] = pair[1] * second;
  }
}

/// Transposes four rows of four samples, as `transpose` does eight.
BODY void transpose_four(floatx4 rows[4]) CUE_REALTIME {
  for (int step = 0; step < 2; step++) {
    floatx4 next[4];
    for (int k = 0; k < 2; k++) {
      next[2 * k] = SHUFFLED(rows[k], rows[k + 2], 0, 4, 1, 5);
      next[2 * k + 1] = SHUFFLED(rows[k], rows[k + 2], 2, 6, 3, 7);
    }
    memcpy(rows, next, sizeof next);
  }
}

BODY void read_float_four(const char *restrict source, size_t stride, size_t frames,
                          float *const *restrict planes, size_t offset, float first,
                          float second) CUE_REALTIME {
  size_t i = 0;
  for (; i + 4 <= frames; i += 4) {
    floatx4 rows[4];
    for (int k = 0; k < 4; k++)
      memcpy(&rows[k], source + (i + (size_t)k) * stride, 16);
    transpose_four(rows);
    for (int c = 0; c < 4; c++) {
      const floatx4 plane = rows[c] * (c == 1 ? second : first);
      memcpy(planes[c] + offset + i, &plane, sizeof plane);
    }
  }
  for (; i < frames; i++) {
    float row[4];
    memcpy(row, source + i * stride, 16);
    for (size_t c = 0; c < 4; c++)
      planes[c][offset + i] = row[c] * (c == 1 ? second : first);
  }
}

/// Returns `sample` times `scale`, limited to what an integer of this scale holds. NaN becomes 0.
BODY float scaled(float sample, float scale) CUE_REALTIME {
  float value = sample == sample ? sample * scale : 0;
  value = value < -scale ? -scale : value;
  return value > scale - 1 ? scale - 1 : value;
}

/// Returns the nearest integer in the low 16 bits.
BODY uint32_t int16_word(float sample) CUE_REALTIME {
  // The sum's ulp is 1: it has the rounded integer in its low bits.
  const float sum = scaled(sample, 0x1p15f) + 0x1.8p23f;
  uint32_t word;
  memcpy(&word, &sum, 4);
  return word;
}

/// Returns the nearest integer of 24 bits.
BODY int32_t int24_word(float sample) CUE_REALTIME {
  const float value = scaled(sample, 0x1p23f);
  // The sum's ulp is 1, or 2 where the value's is 1.
  const float magic = __builtin_copysignf(0x1p23f, value);
  return (int32_t)((value + magic) - magic);
}

BODY void store_int16(char *restrict target, size_t frames, const float *restrict in) CUE_REALTIME {
  for (size_t i = 0; i < frames; i++) {
    const uint16_t sample = (uint16_t)int16_word(in[i]);
    memcpy(target + 2 * i, &sample, 2);
  }
}

BODY void store_int16_stereo(char *restrict target, size_t frames, const float *restrict left,
                             const float *restrict right) CUE_REALTIME {
  for (size_t i = 0; i < frames; i++) {
    const uint32_t pair = (int16_word(left[i]) & 0xffff) | int16_word(right[i]) << 16;
    memcpy(target + 4 * i, &pair, 4);
  }
}

BODY void store_int16_eight(char *restrict target, size_t stride, size_t frames,
                            const float *const *restrict planes, size_t offset) CUE_REALTIME {
  size_t i = 0;
  for (; i + 8 <= frames; i += 8) {
    int16x8 rows[8];
    for (int c = 0; c < 8; c++) {
      const float *in = planes[c] + offset + i;
      for (int k = 0; k < 8; k++)
        rows[c][k] = (int16_t)int16_word(in[k]);
    }
    transpose(rows);
    for (int k = 0; k < 8; k++)
      memcpy(target + (i + (size_t)k) * stride, &rows[k], 16);
  }
  for (; i < frames; i++) {
    for (size_t c = 0; c < 8; c++) {
      const uint16_t sample = (uint16_t)int16_word(planes[c][offset + i]);
      memcpy(target + i * stride + 2 * c, &sample, 2);
    }
  }
}

BODY void store_int24(char *restrict target, size_t frames, const float *restrict in) CUE_REALTIME {
  size_t i = 0;
  for (; i + 8 <= frames; i += 8) {
    int32x8 words;
    for (int k = 0; k < 8; k++)
      words[k] = int24_word(in[i + (size_t)k]);
    const uint8x32 bytes = (uint8x32)words;
    const uint8x16 low = SHUFFLED(bytes, bytes, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 3, 3, 3);
    const uint8x16 high =
        SHUFFLED(bytes, bytes, 16, 17, 18, 20, 21, 22, 24, 25, 26, 28, 29, 30, 19, 19, 19, 19);
    // The second half overwrites the last four bytes of the first.
    memcpy(target + 3 * i, &low, 16);
    memcpy(target + 3 * i + 12, &high, 12);
  }
  for (; i < frames; i++) {
    const int32_t word = int24_word(in[i]);
    memcpy(target + 3 * i, &word, 3);
  }
}

BODY void store_int24_stereo(char *restrict target, size_t frames, const float *restrict left,
                             const float *restrict right) CUE_REALTIME {
  size_t i = 0;
  for (; i + 4 <= frames; i += 4) {
    // Two frames in each half: left, left, right, right.
    int32x8 words;
    for (int k = 0; k < 2; k++) {
      words[k] = int24_word(left[i + (size_t)k]);
      words[k + 2] = int24_word(right[i + (size_t)k]);
      words[k + 4] = int24_word(left[i + 2 + (size_t)k]);
      words[k + 6] = int24_word(right[i + 2 + (size_t)k]);
    }
    const uint8x32 bytes = (uint8x32)words;
    const uint8x16 low = SHUFFLED(bytes, bytes, 0, 1, 2, 8, 9, 10, 4, 5, 6, 12, 13, 14, 3, 3, 3, 3);
    const uint8x16 high =
        SHUFFLED(bytes, bytes, 16, 17, 18, 24, 25, 26, 20, 21, 22, 28, 29, 30, 19, 19, 19, 19);
    // The second half overwrites the last four bytes of the first.
    memcpy(target + 6 * i, &low, 16);
    memcpy(target + 6 * i + 12, &high, 12);
  }
  for (; i < frames; i++) {
    const int32_t words[2] = {int24_word(left[i]), int24_word(right[i])};
    memcpy(target + 6 * i, &words[0], 3);
    memcpy(target + 6 * i + 3, &words[1], 3);
  }
}

BODY void store_float_stereo(char *restrict target, size_t frames, const float *restrict left,
                             const float *restrict right) CUE_REALTIME {
  for (size_t i = 0; i < frames; i++) {
    const float pair[2] = {left[i], right[i]};
    memcpy(target + 8 * i, pair, 8);
  }
}

BODY void store_float_four(char *restrict target, size_t stride, size_t frames,
                           const float *const *restrict planes, size_t offset) CUE_REALTIME {
  size_t i = 0;
  for (; i + 4 <= frames; i += 4) {
    floatx4 rows[4];
    for (int c = 0; c < 4; c++)
      memcpy(&rows[c], planes[c] + offset + i, 16);
    transpose_four(rows);
    for (int k = 0; k < 4; k++)
      memcpy(target + (i + (size_t)k) * stride, &rows[k], 16);
  }
  for (; i < frames; i++) {
    for (size_t c = 0; c < 4; c++)
      memcpy(target + i * stride + 4 * c, planes[c] + offset + i, 4);
  }
}

// Samples that are infinite or NaN.

BODY bool are_finite(const float *samples, size_t frames) CUE_REALTIME {
  // The upper half of such a sample without its sign, and of no other sample, is 0x7f80 or more.
  const int16x64 mask = (int16x64)((int32x32){0} + 0x7fff0000);
  int16x64 largest = {0};
  size_t i = 0;
  for (; i + 32 <= frames; i += 32) {
    int16x64 part;
    memcpy(&part, samples + i, sizeof part);
    largest = __builtin_elementwise_max(largest, part & mask);
  }
  if (i < frames) {
    int16x64 part = {0};
    memcpy(&part, samples + i, (frames - i) * sizeof *samples);
    largest = __builtin_elementwise_max(largest, part & mask);
  }
  return !__builtin_reduce_or(largest >= 0x7f80);
}

BODY bool are_within(const float *samples, size_t frames, float low, float high) CUE_REALTIME {
  uint32_t outside = 0;
  for (size_t i = 0; i < frames; i++)
    outside |= !((samples[i] >= low) & (samples[i] < high));
  return outside == 0;
}

// Defines the functions of one level, and their table.
#define LEVEL(level, attributes)                                                                   \
  attributes static void read_int16_##level(const void *source, size_t frames, float *out,         \
                                            float factor) CUE_REALTIME {                           \
    read_int16(source, frames, out, factor);                                                       \
  }                                                                                                \
  attributes static void read_int16_stereo_##level(const void *source, size_t frames, float *left, \
                                                   float *right, float first, float second)        \
      CUE_REALTIME {                                                                               \
    read_int16_stereo(source, frames, left, right, first, second);                                 \
  }                                                                                                \
  attributes static void read_int16_eight_##level(                                                 \
      const void *source, size_t stride, size_t frames, float *const *planes, size_t offset,       \
      float first, float second) CUE_REALTIME {                                                    \
    read_int16_eight(source, stride, frames, planes, offset, first, second);                       \
  }                                                                                                \
  attributes static void read_int24_##level(const void *source, size_t frames, float *out,         \
                                            float factor) CUE_REALTIME {                           \
    read_int24(source, frames, out, factor);                                                       \
  }                                                                                                \
  attributes static void read_int24_stereo_##level(const void *source, size_t frames, float *left, \
                                                   float *right, float first, float second)        \
      CUE_REALTIME {                                                                               \
    read_int24_stereo(source, frames, left, right, first, second);                                 \
  }                                                                                                \
  attributes static void read_float_stereo_##level(const void *source, size_t frames, float *left, \
                                                   float *right, float first, float second)        \
      CUE_REALTIME {                                                                               \
    read_float_stereo(source, frames, left, right, first, second);                                 \
  }                                                                                                \
  attributes static void read_float_four_##level(const void *source, size_t stride, size_t frames, \
                                                 float *const *planes, size_t offset, float first, \
                                                 float second) CUE_REALTIME {                      \
    read_float_four(source, stride, frames, planes, offset, first, second);                        \
  }                                                                                                \
  attributes static void store_int16_##level(void *target, size_t frames, const float *in)         \
      CUE_REALTIME {                                                                               \
    store_int16(target, frames, in);                                                               \
  }                                                                                                \
  attributes static void store_int16_stereo_##level(                                               \
      void *target, size_t frames, const float *left, const float *right) CUE_REALTIME {           \
    store_int16_stereo(target, frames, left, right);                                               \
  }                                                                                                \
  attributes static void store_int16_eight_##level(void *target, size_t stride, size_t frames,     \
                                                   const float *const *planes, size_t offset)      \
      CUE_REALTIME {                                                                               \
    store_int16_eight(target, stride, frames, planes, offset);                                     \
  }                                                                                                \
  attributes static void store_int24_##level(void *target, size_t frames, const float *in)         \
      CUE_REALTIME {                                                                               \
    store_int24(target, frames, in);                                                               \
  }                                                                                                \
  attributes static void store_int24_stereo_##level(                                               \
      void *target, size_t frames, const float *left, const float *right) CUE_REALTIME {           \
    store_int24_stereo(target, frames, left, right);                                               \
  }                                                                                                \
  attributes static void store_float_stereo_##level(                                               \
      void *target, size_t frames, const float *left, const float *right) CUE_REALTIME {           \
    store_float_stereo(target, frames, left, right);                                               \
  }                                                                                                \
  attributes static void store_float_four_##level(void *target, size_t stride, size_t frames,      \
                                                  const float *const *planes, size_t offset)       \
      CUE_REALTIME {                                                                               \
    store_float_four(target, stride, frames, planes, offset);                                      \
  }                                                                                                \
  attributes static bool are_finite_##level(const float *samples, size_t frames) CUE_REALTIME {    \
    return are_finite(samples, frames);                                                            \
  }                                                                                                \
  attributes static bool are_within_##level(const float *samples, size_t frames, float low,        \
                                            float high) CUE_REALTIME {                             \
    return are_within(samples, frames, low, high);                                                 \
  }                                                                                                \
  static const cue_samples level = {                                                               \
      read_int16_##level,         read_int16_stereo_##level, read_int16_eight_##level,             \
      read_int24_##level,         read_int24_stereo_##level, read_float_stereo_##level,            \
      read_float_four_##level,    store_int16_##level,       store_int16_stereo_##level,           \
      store_int16_eight_##level,  store_int24_##level,       store_int24_stereo_##level,           \
      store_float_stereo_##level, store_float_four_##level,  are_finite_##level,                   \
      are_within_##level,                                                                          \
  };

LEVEL(baseline, )
#if defined(__x86_64__)
LEVEL(avx2, __attribute__((target("avx2"))))
LEVEL(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))))
#endif

const cue_samples *cue_samples_used = &baseline;

bool cue_samples_use(cue_samples_level level) {
  const cue_samples *samples = NULL;
  switch (level) {
  case cue_samples_baseline:
    samples = &baseline;
    break;
#if defined(__x86_64__)
  case cue_samples_avx2:
    if (__builtin_cpu_supports("avx2")) samples = &avx2;
    break;
  case cue_samples_avx512:
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
      samples = &avx512;
    break;
#endif
  default:
    break;
  }
  if (samples) cue_samples_used = samples;
  return samples != NULL;
}

__attribute__((constructor)) static void choose_samples(void) {
  for (int level = cue_samples_levels - 1; !cue_samples_use((cue_samples_level)level); level--)
    ;
}
