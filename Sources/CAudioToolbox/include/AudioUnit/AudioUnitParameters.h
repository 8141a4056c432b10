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

// Effects, global scope. A change takes 20 ms, without a click. Frequencies end at half the sample
// rate.
CF_ENUM(AudioUnitParameterID) {
  /// dB, -96 to 24.
  kAUNBandEQParam_GlobalGain = 0,
  // Each of these plus the number of the band, counted from 0.
  /// 0 or 1, at first 1.
  kAUNBandEQParam_BypassBand = 1000,
  /// kAUNBandEQFilterType_…, at first parametric.
  kAUNBandEQParam_FilterType = 2000,
  /// Hz, 20 to half the sample rate.
  kAUNBandEQParam_Frequency = 3000,
  /// dB, -96 to 24.
  kAUNBandEQParam_Gain = 4000,
  /// Octaves, 0.05 to 5, at first 0.5.
  kAUNBandEQParam_Bandwidth = 5000
};

/// Types of a filter. Those without “Resonant” are Butterworth filters of the second order, and take
/// no bandwidth.
enum {
  kAUNBandEQFilterType_Parametric = 0,
  kAUNBandEQFilterType_2ndOrderButterworthLowPass = 1,
  kAUNBandEQFilterType_2ndOrderButterworthHighPass = 2,
  kAUNBandEQFilterType_ResonantLowPass = 3,
  kAUNBandEQFilterType_ResonantHighPass = 4,
  kAUNBandEQFilterType_BandPass = 5,
  kAUNBandEQFilterType_BandStop = 6,
  kAUNBandEQFilterType_LowShelf = 7,
  kAUNBandEQFilterType_HighShelf = 8,
  kAUNBandEQFilterType_ResonantLowShelf = 9,
  kAUNBandEQFilterType_ResonantHighShelf = 10
};

CF_ENUM(AudioUnitParameterID) {
  /// Hz, 20 to half the sample rate, at first 2,000.
  kParametricEQParam_CenterFreq = 0,
  /// 0.1 to 20, at first 1.
  kParametricEQParam_Q = 1,
  /// dB, -20 to 20.
  kParametricEQParam_Gain = 2
};

CF_ENUM(AudioUnitParameterID) {
  /// Hz, 10 to half the sample rate, at first 6,900.
  kLowPassParam_CutoffFrequency = 0,
  /// dB, -20 to 40, at first 0; held within -15 and 29.
  kLowPassParam_Resonance = 1
};
CF_ENUM(AudioUnitParameterID) {
  /// As those of the low pass.
  kHipassParam_CutoffFrequency = 0,
  kHipassParam_Resonance = 1
};

CF_ENUM(AudioUnitParameterID) {
  /// Hz, 20 to half the sample rate, at first 5,000.
  kBandpassParam_CenterFrequency = 0,
  /// Cents, 100 to 6,000, at first 600.
  kBandpassParam_Bandwidth = 1
};

CF_ENUM(AudioUnitParameterID) {
  /// Hz, 10 to half the sample rate, at first 80.
  kAULowShelfParam_CutoffFrequency = 0,
  /// dB, -40 to 24.
  kAULowShelfParam_Gain = 1
};
CF_ENUM(AudioUnitParameterID) {
  /// Hz, 10 to half the sample rate, at first 10,000.
  kHighShelfParam_CutOffFrequency = 0,
  /// dB, -40 to 24.
  kHighShelfParam_Gain = 1
};

CUE_HEADER_END

#endif
