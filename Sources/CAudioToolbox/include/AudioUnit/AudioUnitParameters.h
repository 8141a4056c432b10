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
  kMultiChannelMixerParam_Pan = 2,
  // Input, and output, plus the channel, counted from 0; read only: dB, -120 for silence, while
  // kAudioUnitProperty_MeteringMode is on. The average is that of the power, within 300 ms; a held peak
  // falls by 20 dB in a second.
  kMultiChannelMixerParam_PreAveragePower = 1000,
  kMultiChannelMixerParam_PrePeakHoldLevel = 2000,
  kMultiChannelMixerParam_PostAveragePower = 3000,
  kMultiChannelMixerParam_PostPeakHoldLevel = 4000
};
CF_ENUM(AudioUnitParameterID) {
  /// As kMultiChannelMixerParam_Volume.
  kStereoMixerParam_Volume = 0,
  /// Input: 0 to 1, at first 0.5, the centre.
  kStereoMixerParam_Pan = 1,
  // As those of the multichannel mixer.
  kStereoMixerParam_PreAveragePower = 1000,
  kStereoMixerParam_PrePeakHoldLevel = 2000,
  kStereoMixerParam_PostAveragePower = 3000,
  kStereoMixerParam_PostPeakHoldLevel = 4000
};

// Matrix mixers. In the input and output scopes an element is a channel, counted through all buses. In
// the global scope 0xFFFFFFFF is the whole mixer, and (input channel << 16 | output channel) a crossing.
// A sound passes the volumes of its input channel, the crossing, its output channel and the mixer.
CF_ENUM(AudioUnitParameterID) {
  /// 0 to 1; at first 0 for crossings, else 1.
  kMatrixMixerParam_Volume = 0,
  /// Input, and output: 0 or 1, at first 1.
  kMatrixMixerParam_Enable = 1,
  // Input, and output, as those of the multichannel mixer.
  kMatrixMixerParam_PreAveragePower = 1000,
  kMatrixMixerParam_PrePeakHoldLevel = 2000,
  kMatrixMixerParam_PostAveragePower = 3000,
  kMatrixMixerParam_PostPeakHoldLevel = 4000
};

// 3D mixers, input. A mono bus plays into the first two channels with the same power wherever it is: the
// angle of sin(azimuth) · cos(elevation) between left and right. A stereo bus keeps its sides, each with
// that gain.
CF_ENUM(AudioUnitParameterID) {
  /// Degrees, -180 to 180, at first 0, ahead; 90 is on the right.
  k3DMixerParam_Azimuth = 0,
  /// Degrees, -90 to 90, at first 0.
  k3DMixerParam_Elevation = 1,
  /// Metres, 0 to 10,000, at first 0: see kAudioUnitProperty_3DMixerDistanceParams.
  k3DMixerParam_Distance = 2,
  /// dB, -120 to 20, at first 0.
  k3DMixerParam_Gain = 3,
  /// 0 or 1, at first 1.
  k3DMixerParam_Enable = 5,
  // As those of the multichannel mixer.
  k3DMixerParam_PreAveragePower = 1000,
  k3DMixerParam_PrePeakHoldLevel = 2000,
  k3DMixerParam_PostAveragePower = 3000,
  k3DMixerParam_PostPeakHoldLevel = 4000
};

// Converters of speed, global scope. A change takes effect with the next render.
CF_ENUM(AudioUnitParameterID) {
  /// 0.25 to 4, at first 1: frames of the input for each of the output.
  kVarispeedParam_PlaybackRate = 0,
  /// Cents, -2,400 to 2,400, at first 0. The speed is the rate times 2^(cents / 1200), within 0.25 to 4.
  kVarispeedParam_PlaybackCents = 1
};
CF_ENUM(AudioUnitParameterID) {
  /// Speed, 0.25 to 4, at first 1.
  kTimePitchParam_Rate = 0,
  /// Cents, -2,400 to 2,400, at first 0.
  kTimePitchParam_Pitch = 1
};
CF_ENUM(AudioUnitParameterID) {
  /// As those of kAudioUnitSubType_TimePitch.
  kNewTimePitchParam_Rate = 0,
  kNewTimePitchParam_Pitch = 1
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

CF_ENUM(AudioUnitParameterID) {
  // 0 to 30: the gain of each band in dB, -20 to 20.
  /// 0 for 10 bands of an octave, from 31.25 Hz on; 1, as at first, for 31 of a third, from 20 Hz on.
  kGraphicEQParam_NumberOfBands = 10000
};

CF_ENUM(AudioUnitParameterID) {
  /// Seconds, 0.001 to 0.03, at first 0.012; held at 0.005.
  kLimiterParam_AttackTime = 0,
  /// Seconds, 0.001 to 0.06, at first 0.024.
  kLimiterParam_DecayTime = 1,
  /// dB, -40 to 40, at first 0.
  kLimiterParam_PreGain = 2
};

// A level L above the threshold T becomes T + H · (1 - e^((T - L) / H)), with the headroom H. A level
// below the expansion threshold falls by the ratio.
CF_ENUM(AudioUnitParameterID) {
  /// dB, -40 to 20, at first -20.
  kDynamicsProcessorParam_Threshold = 0,
  /// dB, 0.1 to 40, at first 5.
  kDynamicsProcessorParam_HeadRoom = 1,
  /// 1 to 50, at first 2.
  kDynamicsProcessorParam_ExpansionRatio = 2,
  /// dB, -120, as at first, to 0.
  kDynamicsProcessorParam_ExpansionThreshold = 3,
  /// Seconds, 0.0001 to 0.2, at first 0.05.
  kDynamicsProcessorParam_AttackTime = 4,
  /// Seconds, 0.01 to 3, at first 0.05.
  kDynamicsProcessorParam_ReleaseTime = 5,
  /// dB, -40 to 40, at first 0.
  kDynamicsProcessorParam_OverallGain = 6,
  kDynamicsProcessorParam_MasterGain = 6
};

CF_ENUM(AudioUnitParameterID) {
  /// Percent, 0 to 100, at first 50.
  kDelayParam_WetDryMix = 0,
  /// Seconds, 0 to 2, at first 1.
  kDelayParam_DelayTime = 1,
  /// Percent, -100 to 100, at first 50; held within 99.9.
  kDelayParam_Feedback = 2,
  /// Hz, 10 to half the sample rate, at first 15,000.
  kDelayParam_LopassCutoff = 3
};

CF_ENUM(AudioUnitParameterID) {
  /// Percent, 0 to 100, at first 100.
  kReverb2Param_DryWetMix = 0,
  /// Seconds before the first reflection, 0.0001 to 0.1, at first 0.008.
  kReverb2Param_MinDelayTime = 2,
  /// Seconds, 0.1 to 10, at first 1.
  kReverb2Param_DecayTimeAt0Hz = 4
};

// One after another: echo, decimation, ring modulation, polynomial, soft limit. Mixes are percent, 0 to
// 100, at first 0 except the last one.
CF_ENUM(AudioUnitParameterID) {
  /// Milliseconds, 0.1 to 500, at first 0.1.
  kDistortionParam_Delay = 0,
  /// Delays in which the echo falls by 60 dB, 0.1 to 50, at first 1.
  kDistortionParam_Decay = 1,
  kDistortionParam_DelayMix = 2,
  /// Percent: a sample is held for up to 100 frames.
  kDistortionParam_Decimation = 3,
  /// Percent: 24 bits down to 2.
  kDistortionParam_Rounding = 4,
  kDistortionParam_DecimationMix = 5,
  // Factors: 0 to 1, at first 1; 0 to 20, at first 0.
  kDistortionParam_LinearTerm = 6,
  kDistortionParam_SquaredTerm = 7,
  kDistortionParam_CubicTerm = 8,
  kDistortionParam_PolynomialMix = 9,
  /// Hz, 0.5 to 8,000, at first 100.
  kDistortionParam_RingModFreq1 = 10,
  kDistortionParam_RingModFreq2 = 11,
  /// Percent of the second one, at first 50.
  kDistortionParam_RingModBalance = 12,
  kDistortionParam_RingModMix = 13,
  /// dB, -80 to 20, at first -6: x becomes x / sqrt(1 + x^2) after this gain.
  kDistortionParam_SoftClipGain = 14,
  /// Percent, at first 50.
  kDistortionParam_FinalMix = 15
};

CF_ENUM(AudioUnitParameterID) {
  // DLSSynth and MIDISynth.
  /// Cents, -1,200 to 1,200, at first 0.
  kMusicDeviceParam_Tuning = 0,
  /// dB, -120 to 40, at first 0.
  kMusicDeviceParam_Volume = 1,
  /// dB, -120 to 40, at first 0. FluidSynth's reverberation has its most at 0.9 dB.
  kMusicDeviceParam_ReverbVolume = 2
};

/// Parameters of kAudioUnitScope_Group, which send a MIDI message to the channel of the element: 0 to 127 are the
/// controllers of these numbers. They can be set, and not read.
CF_ENUM(AudioUnitParameterID) {
  kAUGroupParameterID_ModWheel = 1,
  kAUGroupParameterID_Foot = 4,
  kAUGroupParameterID_DataEntry = 6,
  kAUGroupParameterID_Volume = 7,
  kAUGroupParameterID_Pan = 10,
  kAUGroupParameterID_Expression = 11,
  kAUGroupParameterID_ModWheel_LSB = 33,
  kAUGroupParameterID_Foot_LSB = 36,
  kAUGroupParameterID_DataEntry_LSB = 38,
  kAUGroupParameterID_Volume_LSB = 39,
  kAUGroupParameterID_Pan_LSB = 42,
  kAUGroupParameterID_Expression_LSB = 43,
  kAUGroupParameterID_Sustain = 64,
  kAUGroupParameterID_Sostenuto = 66,
  kAUGroupParameterID_AllSoundOff = 120,
  kAUGroupParameterID_ResetAllControllers = 121,
  kAUGroupParameterID_AllNotesOff = 123,
  kAUGroupParameterID_ChannelPressure = 0xD0,
  /// -8,192 to 8,191.
  kAUGroupParameterID_PitchBend = 0xE0,
  /// The pressure of key 0, and that of key 127.
  kAUGroupParameterID_KeyPressure_FirstKey = 256,
  kAUGroupParameterID_KeyPressure_LastKey = 383
};

CF_ENUM(AudioUnitParameterID) {
  /// dB, -90 to 12, at first 0.
  kAUSamplerParam_Gain = 900,
  /// Semitones, -24 to 24, at first 0.
  kAUSamplerParam_CoarseTuning = 901,
  /// Cents, -99 to 99, at first 0.
  kAUSamplerParam_FineTuning = 902,
  /// -1 to 1, at first 0.
  kAUSamplerParam_Pan = 903
};

CUE_HEADER_END

#endif
