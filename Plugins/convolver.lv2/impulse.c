#include "CConvolver.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sndfile.h>
#include <soxr.h>
#include <stdio.h>
#include <string.h>

// The longest response in frames of the server, 22 seconds at 48 kHz: longer ones cost more than a
// processor has.
enum {
  MOST_FRAMES = 1 << 20,
  MOST_CHANNELS = 4
};

// The functions of libsndfile and libsoxr that the plugin calls.
#define FUNCTIONS(FUNCTION)                                                                        \
  FUNCTION(sf_open)                                                                                \
  FUNCTION(sf_strerror)                                                                            \
  FUNCTION(sf_readf_float)                                                                         \
  FUNCTION(sf_close)                                                                               \
  FUNCTION(soxr_oneshot)                                                                           \
  FUNCTION(soxr_quality_spec)
static struct {
#define FUNCTION(name) __typeof__(name) *name;
  FUNCTIONS(FUNCTION)
#undef FUNCTION
} library;

static char fault[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  void *const sndfile = dlopen("libsndfile.so.1", RTLD_NOW | RTLD_LOCAL);
  void *const soxr = sndfile ? dlopen("libsoxr.so.0", RTLD_NOW | RTLD_LOCAL) : NULL;
  bool is_complete = soxr;
#define FUNCTION(name)                                                                             \
  is_complete =                                                                                    \
      is_complete &&                                                                               \
      (library.name = (__typeof__(name) *)dlsym(strncmp(#name, "sf", 2) ? soxr : sndfile, #name));
  FUNCTIONS(FUNCTION)
  if (is_complete) return;
  const char *reason = dlerror();
  snprintf(fault, sizeof fault, "%s", reason ? reason : "libsndfile and libsoxr are not complete");
}

// The samples of a response, planar.
struct samples {
  int channels;
  sf_count_t frames;
  float *planes[MOST_CHANNELS];
};

static void release(struct samples *samples) {
  for (int channel = 0; channel < MOST_CHANNELS; channel++)
    free(samples->planes[channel]);
}

// Converts a plane to another rate. A response has the same gain at each rate if its samples are in
// proportion to the interval between them. Returns NULL if that fails.
static float *resampled(const float *plane, sf_count_t *frames, double from, double to) {
  const size_t count = (size_t)((double)*frames * to / from) + 1;
  float *result = calloc(count, sizeof *result);
  size_t done = 0;
  const soxr_quality_spec_t quality = library.soxr_quality_spec(SOXR_VHQ, 0);
  if (!result || library.soxr_oneshot(from, to, 1, plane, (size_t)*frames, NULL, result, count,
                                      &done, NULL, &quality, NULL)) {
    free(result);
    return NULL;
  }
  for (size_t i = 0; i < done; i++)
    result[i] *= (float)(from / to);
  *frames = (sf_count_t)done;
  return result;
}

// Reads a file. Returns the reason if that fails; NULL otherwise. `info` has the file's rate.
static const char *read_file(const char *path, SF_INFO *info, struct samples *samples) {
  SNDFILE *file = library.sf_open(path, SFM_READ, info);
  if (!file) return library.sf_strerror(NULL);
  const char *reason = NULL;
  float *frames = NULL;
  samples->channels = info->channels;
  // A few seconds more than the longest response, for other rates and what is trimmed.
  const sf_count_t most = (sf_count_t)(MOST_FRAMES * 2) * (info->samplerate / 48000 + 1);
  if (info->channels != 1 && info->channels != 2 && info->channels != 4) {
    reason = "a response has 1, 2 or 4 channels";
  } else if (info->frames < 1) {
    reason = "it has no frames";
  } else {
    const sf_count_t count = info->frames < most ? info->frames : most;
    frames = calloc((size_t)(count * info->channels), sizeof *frames);
    for (int channel = 0; channel < info->channels; channel++)
      samples->planes[channel] = calloc((size_t)count, sizeof(float));
    for (int channel = 0; channel < info->channels; channel++)
      if (!samples->planes[channel]) reason = strerror(ENOMEM);
    samples->frames = frames && !reason ? library.sf_readf_float(file, frames, count) : 0;
    if (!reason && samples->frames < count) reason = frames ? "it is cut short" : strerror(ENOMEM);
    for (sf_count_t i = 0; !reason && i < count * info->channels; i++) {
      if (!__builtin_isfinite(frames[i])) reason = "it has samples that are no numbers";
      samples->planes[i % info->channels][i / info->channels] = frames[i];
    }
  }
  free(frames);
  library.sf_close(file);
  return reason;
}

// Converts the samples to the plugin's rate, and trims and delays them. Returns the reason if that
// fails.
static const char *fit(struct samples *samples, double from, double to,
                       struct cue_settings settings) {
  sf_count_t frames = samples->frames;
  for (int channel = 0; channel < samples->channels && from != to; channel++) {
    frames = samples->frames;
    float *plane = resampled(samples->planes[channel], &frames, from, to);
    if (!plane) return "its rate cannot be converted";
    free(samples->planes[channel]);
    samples->planes[channel] = plane;
  }
  const sf_count_t trimmed = (sf_count_t)(settings.first / 1000 * to + 0.5);
  const sf_count_t delay = (sf_count_t)(settings.second / 1000 * to + 0.5);
  if (trimmed >= frames) return "nothing is left of it after trim";
  const sf_count_t count = frames - trimmed + delay;
  if (count > MOST_FRAMES) return "it has more than 1048576 frames at the server's rate";
  samples->frames = count;
  for (int channel = 0; channel < samples->channels; channel++) {
    float *plane = calloc((size_t)count, sizeof *plane);
    if (!plane) return strerror(ENOMEM);
    memcpy(plane + delay, samples->planes[channel] + trimmed,
           sizeof *plane * (size_t)(frames - trimmed));
    free(samples->planes[channel]);
    samples->planes[channel] = plane;
  }
  return NULL;
}

struct cue_loaded cue_load(const struct cue_mailbox *mailbox, const char *path,
                           struct cue_settings settings) {
  if (!*path) return (struct cue_loaded){NULL, CUE_RESPONSE_NONE};
  pthread_once(&once, load);
  struct samples samples = {0};
  SF_INFO info = {0};
  const char *reason = *fault ? fault : read_file(path, &info, &samples);
  if (!reason) reason = fit(&samples, info.samplerate, mailbox->rate, settings);
  struct cue_convolver *convolver = NULL;
  if (!reason) {
    convolver = cue_convolver_new((const float *const *)samples.planes, samples.channels,
                                  (int)samples.frames, path);
    if (!convolver) reason = strerror(ENOMEM);
  }
  release(&samples);
  if (reason) cue_complain(mailbox, "cannot load the impulse response %s: %s\n", path, reason);
  return (struct cue_loaded){convolver, reason ? CUE_RESPONSE_BROKEN : CUE_RESPONSE_LOADED};
}

void cue_unload(void *content) {
  cue_convolver_free(content);
}
