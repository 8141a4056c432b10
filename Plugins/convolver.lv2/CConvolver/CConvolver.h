// The convolution of the bundle, and what loads impulse responses.
//
// The plugin is not linked to libsndfile and libsoxr: the first impulse response loads them.
#pragma once
#include "CFile.h"

// The outcomes of loading an impulse response: values of the port `status`.
enum cue_response_status {
  CUE_RESPONSE_NONE,
  CUE_RESPONSE_LOADED,
  CUE_RESPONSE_BROKEN
};

// A convolution of two channels with an impulse response, without latency. Its sound does not
// depend on how the frames are divided.
struct cue_convolver;

// Convolves frames. The inputs and outputs may be the same memory. Process thread.
__attribute__((visibility("hidden"))) void cue_rt_convolve(struct cue_convolver *convolver,
                                                           const float *left, const float *right,
                                                           void *left_out, void *right_out,
                                                           int frames) CUE_REALTIME;

// Forgets all frames. The convolver does not run.
__attribute__((visibility("hidden"))) void cue_convolver_reset(struct cue_convolver *convolver);

// Creates a convolver with the samples of a response, planar, of 1, 2 or 4 channels: the same
// response for both channels, one for each, or those from left to left, left to right, right to
// left and right to right. Returns NULL if there is no memory. Any thread that is not real time.
__attribute__((visibility("hidden"))) struct cue_convolver *
cue_convolver_new(const float *const *response, int channels, int frames, const char *path);
__attribute__((visibility("hidden"))) void cue_convolver_free(struct cue_convolver *convolver);

__attribute__((visibility("hidden"))) const char *
cue_rt_path_of(const struct cue_convolver *convolver) CUE_REALTIME;
