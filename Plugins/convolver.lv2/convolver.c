#include "CConvolver.h"

#include <string.h>

#pragma clang diagnostic error "-Wfunction-effects"

// The response is divided in three parts. Its first 64 samples are convolved directly. The
// partitions of 64 samples that follow are computed at the end of each block of 64 frames, for the
// next one. All samples from the 2048th on are partitions of 1024, whose work for a block of 1024
// frames is divided over the next 16 blocks of 64: the block after these has the result. So no
// frame is late, and all cycles take about the same time.
enum {
  BLOCK = 64,
  LARGE = 1024,
  SLOTS = LARGE / BLOCK,
  // The first samples of the large partitions.
  LARGE_FIRST = 2 * LARGE,
  CHANNELS = 2,
  // Steps of a large block's work: a transform for each channel at both ends, and partitions
  // between them.
  STEPS = SLOTS - 2 * CHANNELS,
};

// Values of a real signal's spectrum: those of the frequencies 0 to `size` - 1, with that of
// `size`, which is real as that of 0 is, in place of the imaginary part of 0.
struct spectrum {
  float *real, *imaginary;
};

// The factors of a transform of 2 × `size` real values.
struct transform {
  int size;
  // e^(-2πi k / size), for k to size / 2, and e^(-πi k / size), for k to size.
  float *cosine, *sine, *half_cosine, *half_sine;
  // Memory for a transform: two complex signals.
  float *memory[4];
};

// The partitions of one size.
struct level {
  struct transform transform;
  int partitions;
  // The spectra of the response's partitions by path, and of the latest blocks by channel, as a
  // ring.
  float *responses[CHANNELS][CHANNELS];
  float *inputs[CHANNELS];
  // The place of the latest block in the ring.
  int latest;
  // The sum of an output's products.
  float *sums[CHANNELS];
  // The latest two blocks of each input, and the present block of each output.
  float *windows[CHANNELS];
  float *outputs[CHANNELS];
};

struct cue_convolver {
  // Whether an input goes to the other side's output.
  bool is_crossed;
  // Frames of the present blocks.
  int place, large_place;
  float heads[CHANNELS][CHANNELS][BLOCK];
  // The last block, and the present one.
  float frames[CHANNELS][2 * BLOCK];
  struct level small, large;
  // The latest large block of each input while it arrives, and each output of the next one.
  float *arriving[CHANNELS];
  float *next[CHANNELS];
  char path[];
};

// MARK: Transforms

// Transforms a complex signal of `size` values by Stockham's method. The result is in the first or
// in the second memory.
static int transform(const struct transform *t, float *const memory[4]) CUE_REALTIME {
  int from = 0;
  for (int half = t->size / 2, step = 1; half > 0; half /= 2, step *= 2) {
    const float *restrict r = memory[from], *restrict i = memory[from + 1];
    float *restrict to_r = memory[2 - from], *restrict to_i = memory[3 - from];
    for (int k = 0; k < half; k++) {
      const float c = t->cosine[k * step], s = t->sine[k * step];
      const float *restrict ar = r + step * k, *restrict ai = i + step * k;
      const float *restrict br = ar + step * half, *restrict bi = ai + step * half;
      float *restrict xr = to_r + 2 * step * k, *restrict xi = to_i + 2 * step * k;
      float *restrict yr = xr + step, *restrict yi = xi + step;
      for (int j = 0; j < step; j++) {
        const float dr = ar[j] - br[j], di = ai[j] - bi[j];
        xr[j] = ar[j] + br[j];
        xi[j] = ai[j] + bi[j];
        yr[j] = dr * c - di * s;
        yi[j] = dr * s + di * c;
      }
    }
    from = 2 - from;
  }
  return from;
}

// Computes the spectrum of 2 × `size` values.
static void analyze(const struct transform *t, const float *values,
                    struct spectrum to) CUE_REALTIME {
  const int size = t->size;
  for (int k = 0; k < size; k++) {
    t->memory[0][k] = values[2 * k];
    t->memory[1][k] = values[2 * k + 1];
  }
  const int from = transform(t, t->memory);
  const float *r = t->memory[from], *i = t->memory[from + 1];
  to.real[0] = r[0] + i[0];
  to.imaginary[0] = r[0] - i[0];
  for (int k = 1; k < size; k++) {
    const int other = size - k;
    const float even_r = 0.5f * (r[k] + r[other]), even_i = 0.5f * (i[k] - i[other]);
    const float odd_r = 0.5f * (i[k] + i[other]), odd_i = 0.5f * (r[other] - r[k]);
    const float c = t->half_cosine[k], s = t->half_sine[k];
    to.real[k] = even_r + odd_r * c - odd_i * s;
    to.imaginary[k] = even_i + odd_r * s + odd_i * c;
  }
}

// Computes the last `size` of 2 × `size` values, times 2 × `size`, of a spectrum.
static void synthesize(const struct transform *t, struct spectrum from,
                       float *values) CUE_REALTIME {
  const int size = t->size;
  // With real and imaginary parts exchanged, the transform is the inverse one.
  float *const memory[4] = {t->memory[1], t->memory[0], t->memory[3], t->memory[2]};
  float *r = t->memory[0], *i = t->memory[1];
  r[0] = from.real[0] + from.imaginary[0];
  i[0] = from.real[0] - from.imaginary[0];
  for (int k = 1; k < size; k++) {
    const int other = size - k;
    const float even_r = from.real[k] + from.real[other];
    const float even_i = from.imaginary[k] - from.imaginary[other];
    const float difference_r = from.real[k] - from.real[other];
    const float difference_i = from.imaginary[k] + from.imaginary[other];
    const float c = t->half_cosine[k], s = -t->half_sine[k];
    const float odd_r = difference_r * c - difference_i * s;
    const float odd_i = difference_r * s + difference_i * c;
    r[k] = even_r - odd_i;
    i[k] = even_i + odd_r;
  }
  const int result = transform(t, memory);
  const float *even = memory[result + 1], *odd = memory[result];
  for (int k = 0; k < size / 2; k++) {
    values[2 * k] = even[size / 2 + k];
    values[2 * k + 1] = odd[size / 2 + k];
  }
}

// MARK: Levels

static struct spectrum spectrum(const struct level *level, float *spectra, int index) CUE_REALTIME {
  float *start = spectra + (size_t)2 * level->transform.size * index;
  return (struct spectrum){start, start + level->transform.size};
}

// Adds the product of two spectra.
static void add_product(struct spectrum x, struct spectrum h, struct spectrum sum,
                        int size) CUE_REALTIME {
  const float first = sum.real[0] + x.real[0] * h.real[0];
  const float last = sum.imaginary[0] + x.imaginary[0] * h.imaginary[0];
  const float *restrict xr = x.real, *restrict xi = x.imaginary;
  const float *restrict hr = h.real, *restrict hi = h.imaginary;
  float *restrict r = sum.real, *restrict i = sum.imaginary;
  for (int k = 0; k < size; k++) {
    r[k] += xr[k] * hr[k] - xi[k] * hi[k];
    i[k] += xr[k] * hi[k] + xi[k] * hr[k];
  }
  r[0] = first;
  i[0] = last;
}

// Takes a new block of an input: the spectrum of it and the one before enters the ring.
static void take(struct level *level, int channel, const float *block) CUE_REALTIME {
  const int size = level->transform.size;
  float *window = level->windows[channel];
  __builtin_memcpy(window, window + size, sizeof *window * (size_t)size);
  __builtin_memcpy(window + size, block, sizeof *window * (size_t)size);
  analyze(&level->transform, window, spectrum(level, level->inputs[channel], level->latest));
}

// Adds the products of the partitions of a range to the sums.
static void add_partitions(struct level *level, int first, int end, bool is_crossed) CUE_REALTIME {
  for (int input = 0; input < CHANNELS; input++) {
    for (int p = first; p < end; p++) {
      int place = level->latest - p;
      if (place < 0) place += level->partitions;
      const struct spectrum x = spectrum(level, level->inputs[input], place);
      for (int output = 0; output < CHANNELS; output++) {
        if (output != input && !is_crossed) continue;
        add_product(x, spectrum(level, level->responses[input][output], p),
                    spectrum(level, level->sums[output], 0), level->transform.size);
      }
    }
  }
}

static void clear_sums(struct level *level) CUE_REALTIME {
  for (int output = 0; output < CHANNELS; output++)
    __builtin_memset(level->sums[output], 0, sizeof(float) * 2 * (size_t)level->transform.size);
}

static void finish(struct level *level, int output, float *block) CUE_REALTIME {
  synthesize(&level->transform, spectrum(level, level->sums[output], 0), block);
}

// MARK: Blocks

// Performs one of the steps that follow the arrival of a large block.
static void work(struct cue_convolver *convolver, int slot) CUE_REALTIME {
  struct level *large = &convolver->large;
  if (slot < CHANNELS) {
    take(large, slot, convolver->arriving[slot]);
  } else if (slot < SLOTS - CHANNELS) {
    // The partitions are divided evenly over the steps.
    const long count = large->partitions, step = slot - CHANNELS;
    if (step == 0) clear_sums(large);
    add_partitions(large, (int)(count * step / STEPS), (int)(count * (step + 1) / STEPS),
                   convolver->is_crossed);
  } else {
    finish(large, slot - SLOTS + CHANNELS, convolver->next[slot - SLOTS + CHANNELS]);
  }
}

// Ends a block of 64 frames.
static void end_block(struct cue_convolver *convolver) CUE_REALTIME {
  struct level *small = &convolver->small, *large = &convolver->large;
  if (small->partitions > 0) {
    small->latest = (small->latest + 1) % small->partitions;
    clear_sums(small);
    for (int channel = 0; channel < CHANNELS; channel++)
      take(small, channel, convolver->frames[channel] + BLOCK);
    add_partitions(small, 0, small->partitions, convolver->is_crossed);
    for (int output = 0; output < CHANNELS; output++)
      finish(small, output, small->outputs[output]);
  }
  for (int channel = 0; channel < CHANNELS; channel++) {
    float *frames = convolver->frames[channel];
    __builtin_memcpy(frames, frames + BLOCK, sizeof *frames * BLOCK);
  }
  convolver->place = 0;
  if (large->partitions == 0) return;
  // The work is that for the large block before this one, which `arriving` has until its transform.
  work(convolver, convolver->large_place / BLOCK);
  for (int channel = 0; channel < CHANNELS; channel++)
    __builtin_memcpy(convolver->arriving[channel] + LARGE + convolver->large_place,
                     convolver->frames[channel], sizeof(float) * BLOCK);
  convolver->large_place += BLOCK;
  if (convolver->large_place < LARGE) return;
  convolver->large_place = 0;
  large->latest = (large->latest + 1) % large->partitions;
  for (int channel = 0; channel < CHANNELS; channel++) {
    float *arriving = convolver->arriving[channel];
    __builtin_memcpy(arriving, arriving + LARGE, sizeof *arriving * LARGE);
    float *output = large->outputs[channel];
    large->outputs[channel] = convolver->next[channel];
    convolver->next[channel] = output;
  }
}

// Convolves frames of the present block.
static void convolve(struct cue_convolver *convolver, const float *in[CHANNELS],
                     float *out[CHANNELS], int count) CUE_REALTIME {
  const int place = convolver->place;
  for (int channel = 0; channel < CHANNELS; channel++) {
    float *frames = convolver->frames[channel] + BLOCK + place;
    // Anything that is no number would stay for the length of the response.
    for (int i = 0; i < count; i++)
      frames[i] = __builtin_isfinite(in[channel][i]) ? in[channel][i] : 0;
  }
  for (int output = 0; output < CHANNELS; output++) {
    float sums[BLOCK] = {0};
    for (int input = 0; input < CHANNELS; input++) {
      if (output != input && !convolver->is_crossed) continue;
      const float *frames = convolver->frames[input] + BLOCK + place;
      for (int k = 0; k < BLOCK; k++) {
        const float tap = convolver->heads[input][output][k];
        for (int i = 0; i < count; i++)
          sums[i] += tap * frames[i - k];
      }
    }
    if (convolver->small.partitions > 0)
      for (int i = 0; i < count; i++)
        sums[i] += convolver->small.outputs[output][place + i];
    if (convolver->large.partitions > 0)
      for (int i = 0; i < count; i++)
        sums[i] += convolver->large.outputs[output][convolver->large_place + place + i];
    __builtin_memcpy(out[output], sums, sizeof *sums * (size_t)count);
  }
  convolver->place += count;
  if (convolver->place == BLOCK) end_block(convolver);
}

void cue_rt_convolve(struct cue_convolver *convolver, const float *left, const float *right,
                     void *left_out, void *right_out, int frames) CUE_REALTIME {
  for (int done = 0; done < frames;) {
    const int room = BLOCK - convolver->place;
    const int count = frames - done < room ? frames - done : room;
    const float *in[CHANNELS] = {left + done, right + done};
    float *out[CHANNELS] = {(float *)left_out + done, (float *)right_out + done};
    convolve(convolver, in, out, count);
    done += count;
  }
}

const char *cue_rt_path_of(const struct cue_convolver *convolver) CUE_REALTIME {
  return convolver->path;
}

// MARK: Memory

// Returns zeros; notes in `is_complete` if there is no memory.
static float *zeros(size_t count, bool *is_complete) {
  float *memory = calloc(count + !count, sizeof *memory);
  *is_complete = *is_complete && memory;
  return memory;
}

static void open_transform(struct transform *t, int size, bool *is_complete) {
  t->size = size;
  t->cosine = zeros((size_t)size / 2, is_complete);
  t->sine = zeros((size_t)size / 2, is_complete);
  t->half_cosine = zeros((size_t)size, is_complete);
  t->half_sine = zeros((size_t)size, is_complete);
  for (int i = 0; i < 4; i++)
    t->memory[i] = zeros((size_t)size, is_complete);
  if (!*is_complete) return;
  for (int k = 0; k < size; k++) {
    t->half_cosine[k] = (float)cos(M_PI * k / size);
    t->half_sine[k] = (float)-sin(M_PI * k / size);
  }
  for (int k = 0; k < size / 2; k++) {
    t->cosine[k] = t->half_cosine[2 * k];
    t->sine[k] = t->half_sine[2 * k];
  }
}

// Creates a level for the samples of the response from `first` to `end`.
static void open_level(struct level *level, int size, const float *const *response, int channels,
                       int first, int end, bool is_crossed, bool *is_complete) {
  level->partitions = end > first ? (end - first + size - 1) / size : 0;
  if (level->partitions == 0) return;
  open_transform(&level->transform, size, is_complete);
  const size_t count = (size_t)level->partitions * 2 * (size_t)size;
  for (int input = 0; input < CHANNELS; input++) {
    level->inputs[input] = zeros(count, is_complete);
    level->sums[input] = zeros((size_t)2 * (size_t)size, is_complete);
    level->windows[input] = zeros((size_t)2 * (size_t)size, is_complete);
    level->outputs[input] = zeros((size_t)size, is_complete);
    for (int output = 0; output < CHANNELS; output++) {
      if (output != input && !is_crossed) continue;
      float *spectra = level->responses[input][output] = zeros(count, is_complete);
      if (!*is_complete) return;
      const float *samples = response[channels == 4 ? 2 * input + output : input % channels];
      for (int p = 0; p < level->partitions; p++) {
        float values[2 * LARGE] = {0};
        for (int k = 0; k < size && first + p * size + k < end; k++)
          // The factor that `synthesize` leaves out.
          values[k] = samples[first + p * size + k] / (float)(2 * size);
        analyze(&level->transform, values, spectrum(level, spectra, p));
      }
    }
  }
}

static void close_level(struct level *level) {
  struct transform *t = &level->transform;
  float *const tables[] = {t->cosine,    t->sine,      t->half_cosine, t->half_sine,
                           t->memory[0], t->memory[1], t->memory[2],   t->memory[3]};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    free(tables[i]);
  for (int input = 0; input < CHANNELS; input++) {
    free(level->inputs[input]);
    free(level->sums[input]);
    free(level->windows[input]);
    free(level->outputs[input]);
    for (int output = 0; output < CHANNELS; output++)
      free(level->responses[input][output]);
  }
}

struct cue_convolver *cue_convolver_new(const float *const *response, int channels, int frames,
                                        const char *path) {
  struct cue_convolver *convolver = calloc(1, sizeof *convolver + strlen(path) + 1);
  if (!convolver) return NULL;
  strcpy(convolver->path, path);
  convolver->is_crossed = channels == 4;
  for (int input = 0; input < CHANNELS; input++)
    for (int output = 0; output < CHANNELS; output++)
      for (int k = 0; k < BLOCK && k < frames; k++)
        convolver->heads[input][output][k] =
            response[channels == 4 ? 2 * input + output : input % channels][k];
  bool is_complete = true;
  const int middle = frames < LARGE_FIRST ? frames : LARGE_FIRST;
  open_level(&convolver->small, BLOCK, response, channels, BLOCK, middle, convolver->is_crossed,
             &is_complete);
  open_level(&convolver->large, LARGE, response, channels, LARGE_FIRST, frames,
             convolver->is_crossed, &is_complete);
  for (int channel = 0; channel < CHANNELS; channel++) {
    convolver->arriving[channel] = zeros(2 * LARGE, &is_complete);
    convolver->next[channel] = zeros(LARGE, &is_complete);
  }
  if (is_complete) return convolver;
  cue_convolver_free(convolver);
  return NULL;
}

void cue_convolver_free(struct cue_convolver *convolver) {
  if (!convolver) return;
  close_level(&convolver->small);
  close_level(&convolver->large);
  for (int channel = 0; channel < CHANNELS; channel++) {
    free(convolver->arriving[channel]);
    free(convolver->next[channel]);
  }
  free(convolver);
}

static void reset_level(struct level *level) {
  const size_t size = (size_t)level->transform.size * sizeof(float);
  for (int channel = 0; channel < CHANNELS && level->partitions > 0; channel++) {
    memset(level->inputs[channel], 0, (size_t)level->partitions * 2 * size);
    memset(level->windows[channel], 0, 2 * size);
    memset(level->outputs[channel], 0, size);
    memset(level->sums[channel], 0, 2 * size);
  }
}

void cue_convolver_reset(struct cue_convolver *convolver) {
  convolver->place = convolver->large_place = 0;
  memset(convolver->frames, 0, sizeof convolver->frames);
  for (int channel = 0; channel < CHANNELS; channel++) {
    memset(convolver->arriving[channel], 0, sizeof(float) * 2 * LARGE);
    memset(convolver->next[channel], 0, sizeof(float) * LARGE);
  }
  reset_level(&convolver->small);
  reset_level(&convolver->large);
}
