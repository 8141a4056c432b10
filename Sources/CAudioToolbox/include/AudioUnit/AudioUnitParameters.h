// The parameters of audio units.
#ifndef CUEJACK_AUDIOUNITPARAMETERS_H
#define CUEJACK_AUDIOUNITPARAMETERS_H

#include "AUComponent.h"

CUE_HEADER_BEGIN

CF_ENUM(AudioUnitParameterID) {
  /// Output units, any scope: gain of what is played, 0 to 1, at first 1.
  kHALOutputParam_Volume = 14
};

// Multichannel and stereo mixers. Volume and pan of a bus multiply: a mono bus plays into the first
// two channels; pan p (-1 to 1) multiplies the first by 1 - max(0, p) and the second by 1 + min(0, p).
CF_ENUM(AudioUnitParameterID) {
  /// Input, and output: gain, 0 to 1, at first 1.
  kMultiChannelMixerParam_Volume = 0,
  /// Input: 0 to leave the bus out, without a click. At first 1.
  kMultiChannelMixerParam_Enable = 1,
  /// Input: -1 to 1, at first 0.
  kMultiChannelMixerParam_Pan = 2
};
CF_ENUM(AudioUnitParameterID) {
  /// As kMultiChannelMixerParam_Volume.
  kStereoMixerParam_Volume = 0,
  /// Input: 0 to 1, at first 0.5, the centre.
  kStereoMixerParam_Pan = 1
};

CUE_HEADER_END

#endif
