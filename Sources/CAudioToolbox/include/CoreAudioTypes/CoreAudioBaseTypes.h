// The data types of Core Audio: formats, buffers, times, channels.
#ifndef CUEJACK_COREAUDIOBASETYPES_H
#define CUEJACK_COREAUDIOBASETYPES_H

#include "../CuejackBase.h"

/// Version of these types, for programs that compare it: that of macOS 10.10.3 to 15.
#define COREAUDIOTYPES_VERSION 20150414

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

// MARK: Result codes of all services

CF_ENUM(OSStatus) {
  kAudio_UnimplementedError = -4,
  kAudio_TooManyFilesOpenError = -42,
  kAudio_FileNotFoundError = -43,
  kAudio_ParamError = -50,
  kAudio_FilePermissionError = -54,
  kAudio_MemFullError = -108,
  kAudio_BadFilePathError = 0x21707468 // '!pth'
};

// MARK: Ranges and conversions

/// The range from mMinimum to mMaximum, inclusive.
struct AudioValueRange {
  Float64 mMinimum;
  Float64 mMaximum;
};
typedef struct AudioValueRange AudioValueRange;

/// Input value of a conversion, and memory for its result. Sizes are in bytes.
struct AudioValueTranslation {
  void *mInputData;
  UInt32 mInputDataSize;
  void *mOutputData;
  UInt32 mOutputDataSize;
};
typedef struct AudioValueTranslation AudioValueTranslation;

// MARK: Buffers

/// A buffer of samples of one channel, or of several interleaved channels.
struct AudioBuffer {
  UInt32 mNumberChannels;
  /// Size of mData in bytes.
  UInt32 mDataByteSize;
  void *_Nullable mData;
};
typedef struct AudioBuffer AudioBuffer;

/// A list of mNumberBuffers consecutive buffers.
struct AudioBufferList {
  UInt32 mNumberBuffers;
  AudioBuffer mBuffers[1];
};
typedef struct AudioBufferList AudioBufferList;

// A program that defines CA_PREFER_FIXED_POINT as 1 before it includes any header gets the sample types
// of Apple's phones: 16-bit integers, and 8.24 fixed point at the edges of units.
#ifndef CA_PREFER_FIXED_POINT
#define CA_PREFER_FIXED_POINT 0
#endif

#if CA_PREFER_FIXED_POINT
typedef SInt16 AudioSampleType;
typedef SInt32 AudioUnitSampleType;
/// Bits of a sample after its point.
#define kAudioUnitSampleFractionBits 24
#else
typedef Float32 AudioSampleType;
typedef Float32 AudioUnitSampleType;
#endif

// MARK: Formats

typedef UInt32 AudioFormatID;
typedef UInt32 AudioFormatFlags;

/// Format of an audio stream. A field that does not apply or is unknown is 0.
struct AudioStreamBasicDescription {
  /// Sample rate in Hz.
  Float64 mSampleRate;
  AudioFormatID mFormatID;
  AudioFormatFlags mFormatFlags;
  UInt32 mBytesPerPacket;
  UInt32 mFramesPerPacket;
  /// Bytes of one sample of every channel in a buffer.
  UInt32 mBytesPerFrame;
  UInt32 mChannelsPerFrame;
  /// Significant bits of a sample.
  UInt32 mBitsPerChannel;
  /// Reserved: 0.
  UInt32 mReserved;
};
typedef struct AudioStreamBasicDescription AudioStreamBasicDescription;

/// A sample rate that stands for any rate.
static const Float64 kAudioStreamAnyRate = 0.0;

/// Format ids. Each service documents which of them it supports.
CF_ENUM(AudioFormatID) {
  kAudioFormatLinearPCM = 'lpcm',
  kAudioFormatAC3 = 'ac-3',
  kAudioFormat60958AC3 = 'cac3',
  kAudioFormatAppleIMA4 = 'ima4',
  kAudioFormatMPEG4AAC = 'aac ',
  kAudioFormatMPEG4CELP = 'celp',
  kAudioFormatMPEG4HVXC = 'hvxc',
  kAudioFormatMPEG4TwinVQ = 'twvq',
  kAudioFormatMACE3 = 'MAC3',
  kAudioFormatMACE6 = 'MAC6',
  kAudioFormatULaw = 'ulaw',
  kAudioFormatALaw = 'alaw',
  kAudioFormatQDesign = 'QDMC',
  kAudioFormatQDesign2 = 'QDM2',
  kAudioFormatQUALCOMM = 'Qclp',
  kAudioFormatMPEGLayer1 = '.mp1',
  kAudioFormatMPEGLayer2 = '.mp2',
  kAudioFormatMPEGLayer3 = '.mp3',
  kAudioFormatTimeCode = 'time',
  kAudioFormatMIDIStream = 'midi',
  kAudioFormatParameterValueStream = 'apvs',
  kAudioFormatAppleLossless = 'alac',
  kAudioFormatMPEG4AAC_HE = 'aach',
  kAudioFormatMPEG4AAC_LD = 'aacl',
  kAudioFormatMPEG4AAC_ELD = 'aace',
  kAudioFormatMPEG4AAC_ELD_SBR = 'aacf',
  kAudioFormatMPEG4AAC_ELD_V2 = 'aacg',
  kAudioFormatMPEG4AAC_HE_V2 = 'aacp',
  kAudioFormatMPEG4AAC_Spatial = 'aacs',
  kAudioFormatMPEGD_USAC = 'usac',
  kAudioFormatAMR = 'samr',
  kAudioFormatAMR_WB = 'sawb',
  kAudioFormatAudible = 'AUDB',
  kAudioFormatiLBC = 'ilbc',
  kAudioFormatDVIIntelIMA = 0x6D730011,
  kAudioFormatMicrosoftGSM = 0x6D730031,
  kAudioFormatAES3 = 'aes3',
  kAudioFormatEnhancedAC3 = 'ec-3',
  kAudioFormatFLAC = 'flac',
  kAudioFormatOpus = 'opus',
  kAudioFormatAPAC = 'apac'
};

/// Flags of linear PCM, and of Apple Lossless.
CF_ENUM(AudioFormatFlags) {
  /// Floating point; without it, integers.
  kAudioFormatFlagIsFloat = (1U << 0),
  kAudioFormatFlagIsBigEndian = (1U << 1),
  /// Only for integers.
  kAudioFormatFlagIsSignedInteger = (1U << 2),
  /// The significant bits fill the container.
  kAudioFormatFlagIsPacked = (1U << 3),
  /// For integers that are not packed: the significant bits are the high ones of the container.
  /// Without it, the low ones.
  kAudioFormatFlagIsAlignedHigh = (1U << 4),
  /// Each channel has a buffer of its own.
  kAudioFormatFlagIsNonInterleaved = (1U << 5),
  /// The stream cannot be mixed with others.
  kAudioFormatFlagIsNonMixable = (1U << 6),
  /// Means that no flag is set, because 0 leaves the flags open.
  kAudioFormatFlagsAreAllClear = 0x80000000,

  kLinearPCMFormatFlagIsFloat = kAudioFormatFlagIsFloat,
  kLinearPCMFormatFlagIsBigEndian = kAudioFormatFlagIsBigEndian,
  kLinearPCMFormatFlagIsSignedInteger = kAudioFormatFlagIsSignedInteger,
  kLinearPCMFormatFlagIsPacked = kAudioFormatFlagIsPacked,
  kLinearPCMFormatFlagIsAlignedHigh = kAudioFormatFlagIsAlignedHigh,
  kLinearPCMFormatFlagIsNonInterleaved = kAudioFormatFlagIsNonInterleaved,
  kLinearPCMFormatFlagIsNonMixable = kAudioFormatFlagIsNonMixable,
  /// Shift and mask of the number of fraction bits of a fixed-point sample.
  kLinearPCMFormatFlagsSampleFractionShift = 7,
  kLinearPCMFormatFlagsSampleFractionMask = (0x3FU << kLinearPCMFormatFlagsSampleFractionShift),
  kLinearPCMFormatFlagsAreAllClear = kAudioFormatFlagsAreAllClear,

  kAppleLosslessFormatFlag_16BitSourceData = 1,
  kAppleLosslessFormatFlag_20BitSourceData = 2,
  kAppleLosslessFormatFlag_24BitSourceData = 3,
  kAppleLosslessFormatFlag_32BitSourceData = 4
};

CF_ENUM(AudioFormatFlags) {
  /// This machine's byte order.
#if TARGET_RT_BIG_ENDIAN
  kAudioFormatFlagsNativeEndian = kAudioFormatFlagIsBigEndian,
#else
  kAudioFormatFlagsNativeEndian = 0,
#endif
  /// 32-bit or 64-bit floating point in this machine's byte order.
  kAudioFormatFlagsNativeFloatPacked =
      kAudioFormatFlagIsFloat | kAudioFormatFlagsNativeEndian | kAudioFormatFlagIsPacked,
#if CA_PREFER_FIXED_POINT
  /// Flags of AudioSampleType, interleaved.
  kAudioFormatFlagsCanonical =
      kAudioFormatFlagIsSignedInteger | kAudioFormatFlagsNativeEndian | kAudioFormatFlagIsPacked,
  /// Flags of AudioUnitSampleType, not interleaved.
  kAudioFormatFlagsAudioUnitCanonical =
      kAudioFormatFlagIsSignedInteger | kAudioFormatFlagsNativeEndian | kAudioFormatFlagIsPacked |
      kAudioFormatFlagIsNonInterleaved |
      (kAudioUnitSampleFractionBits << kLinearPCMFormatFlagsSampleFractionShift)
#else
  /// Flags of AudioSampleType, interleaved.
  kAudioFormatFlagsCanonical = kAudioFormatFlagsNativeFloatPacked,
  /// Flags of AudioUnitSampleType, not interleaved.
  kAudioFormatFlagsAudioUnitCanonical =
      kAudioFormatFlagsNativeFloatPacked | kAudioFormatFlagIsNonInterleaved
#endif
};

/// True if `f` is linear PCM in this machine's byte order.
#define TestAudioFormatNativeEndian(f)                                                             \
  ((f.mFormatID == kAudioFormatLinearPCM) &&                                                       \
   ((f.mFormatFlags & kAudioFormatFlagIsBigEndian) == kAudioFormatFlagsNativeEndian))

/// Position of a packet in a block of data, for formats whose packets vary.
struct AudioStreamPacketDescription {
  /// Bytes from the start of the block.
  SInt64 mStartOffset;
  /// Frames in the packet, or 0 if all packets have the same number.
  UInt32 mVariableFramesInPacket;
  /// Bytes in the packet.
  UInt32 mDataByteSize;
};
typedef struct AudioStreamPacketDescription AudioStreamPacketDescription;

/// Object types of MPEG-4 audio.
typedef CF_ENUM(long, MPEG4ObjectID) {
  kMPEG4Object_AAC_Main = 1,
  kMPEG4Object_AAC_LC = 2,
  kMPEG4Object_AAC_SSR = 3,
  kMPEG4Object_AAC_LTP = 4,
  kMPEG4Object_AAC_SBR = 5,
  kMPEG4Object_AAC_Scalable = 6,
  kMPEG4Object_TwinVQ = 7,
  kMPEG4Object_CELP = 8,
  kMPEG4Object_HVXC = 9
};

/// Identifies a component, such as a codec.
struct AudioClassDescription {
  OSType mType;
  OSType mSubType;
  OSType mManufacturer;
};
typedef struct AudioClassDescription AudioClassDescription;

// MARK: Time

/// Frame counts of SMPTE time.
typedef CF_ENUM(UInt32, SMPTETimeType) {
  kSMPTETimeType24 = 0,
  kSMPTETimeType25 = 1,
  kSMPTETimeType30Drop = 2,
  kSMPTETimeType30 = 3,
  kSMPTETimeType2997 = 4,
  kSMPTETimeType2997Drop = 5,
  kSMPTETimeType60 = 6,
  kSMPTETimeType5994 = 7,
  kSMPTETimeType60Drop = 8,
  kSMPTETimeType5994Drop = 9,
  kSMPTETimeType50 = 10,
  kSMPTETimeType2398 = 11
};

/// State flags of SMPTE time.
typedef CF_OPTIONS(UInt32, SMPTETimeFlags) {
  kSMPTETimeUnknown = 0,
  kSMPTETimeValid = (1U << 0),
  kSMPTETimeRunning = (1U << 1)
};

/// A SMPTE time in hours, minutes, seconds and frames.
struct SMPTETime {
  SInt16 mSubframes;
  SInt16 mSubframeDivisor;
  /// Number of messages received.
  UInt32 mCounter;
  SMPTETimeType mType;
  SMPTETimeFlags mFlags;
  SInt16 mHours;
  SInt16 mMinutes;
  SInt16 mSeconds;
  SInt16 mFrames;
};
typedef struct SMPTETime SMPTETime;

/// Valid fields of an AudioTimeStamp.
typedef CF_OPTIONS(UInt32, AudioTimeStampFlags) {
  kAudioTimeStampNothingValid = 0,
  kAudioTimeStampSampleTimeValid = (1U << 0),
  kAudioTimeStampHostTimeValid = (1U << 1),
  kAudioTimeStampRateScalarValid = (1U << 2),
  kAudioTimeStampWordClockTimeValid = (1U << 3),
  kAudioTimeStampSMPTETimeValid = (1U << 4),
  kAudioTimeStampSampleHostTimeValid =
      (kAudioTimeStampSampleTimeValid | kAudioTimeStampHostTimeValid)
};

/// A moment in up to five time representations.
struct AudioTimeStamp {
  /// Sample time in frames.
  Float64 mSampleTime;
  /// Host time: nanoseconds of CLOCK_MONOTONIC, as mach_absolute_time returns them.
  UInt64 mHostTime;
  /// Ratio of the actual sample rate to the nominal one.
  Float64 mRateScalar;
  UInt64 mWordClockTime;
  SMPTETime mSMPTETime;
  AudioTimeStampFlags mFlags;
  /// Reserved: 0.
  UInt32 mReserved;
};
typedef struct AudioTimeStamp AudioTimeStamp;

// MARK: Channels

typedef UInt32 AudioChannelLabel;
typedef UInt32 AudioChannelLayoutTag;

/// Labels: the purpose of a channel.
CF_ENUM(AudioChannelLabel) {
  kAudioChannelLabel_Unknown = 0xFFFFFFFF,
  kAudioChannelLabel_Unused = 0,
  kAudioChannelLabel_UseCoordinates = 100,
  kAudioChannelLabel_Left = 1,
  kAudioChannelLabel_Right = 2,
  kAudioChannelLabel_Center = 3,
  kAudioChannelLabel_LFEScreen = 4,
  kAudioChannelLabel_LeftSurround = 5,
  kAudioChannelLabel_RightSurround = 6,
  kAudioChannelLabel_LeftCenter = 7,
  kAudioChannelLabel_RightCenter = 8,
  kAudioChannelLabel_CenterSurround = 9,
  kAudioChannelLabel_LeftSurroundDirect = 10,
  kAudioChannelLabel_RightSurroundDirect = 11,
  kAudioChannelLabel_TopCenterSurround = 12,
  kAudioChannelLabel_VerticalHeightLeft = 13,
  kAudioChannelLabel_VerticalHeightCenter = 14,
  kAudioChannelLabel_VerticalHeightRight = 15,
  kAudioChannelLabel_TopBackLeft = 16,
  kAudioChannelLabel_TopBackCenter = 17,
  kAudioChannelLabel_TopBackRight = 18,
  kAudioChannelLabel_RearSurroundLeft = 33,
  kAudioChannelLabel_RearSurroundRight = 34,
  kAudioChannelLabel_LeftWide = 35,
  kAudioChannelLabel_RightWide = 36,
  kAudioChannelLabel_LFE2 = 37,
  kAudioChannelLabel_LeftTotal = 38,
  kAudioChannelLabel_RightTotal = 39,
  kAudioChannelLabel_HearingImpaired = 40,
  kAudioChannelLabel_Narration = 41,
  kAudioChannelLabel_Mono = 42,
  kAudioChannelLabel_DialogCentricMix = 43,
  kAudioChannelLabel_CenterSurroundDirect = 44,
  kAudioChannelLabel_Haptic = 45,
  kAudioChannelLabel_LeftTopFront = kAudioChannelLabel_VerticalHeightLeft,
  kAudioChannelLabel_CenterTopFront = kAudioChannelLabel_VerticalHeightCenter,
  kAudioChannelLabel_RightTopFront = kAudioChannelLabel_VerticalHeightRight,
  kAudioChannelLabel_LeftTopMiddle = 49,
  kAudioChannelLabel_CenterTopMiddle = kAudioChannelLabel_TopCenterSurround,
  kAudioChannelLabel_RightTopMiddle = 51,
  kAudioChannelLabel_LeftTopRear = 52,
  kAudioChannelLabel_CenterTopRear = 53,
  kAudioChannelLabel_RightTopRear = 54,
  kAudioChannelLabel_LeftSideSurround = 55,
  kAudioChannelLabel_RightSideSurround = 56,
  kAudioChannelLabel_LeftBottom = 57,
  kAudioChannelLabel_RightBottom = 58,
  kAudioChannelLabel_CenterBottom = 59,
  kAudioChannelLabel_LeftTopSurround = 60,
  kAudioChannelLabel_RightTopSurround = 61,
  kAudioChannelLabel_LFE3 = 62,
  kAudioChannelLabel_LeftBackSurround = 63,
  kAudioChannelLabel_RightBackSurround = 64,
  kAudioChannelLabel_LeftEdgeOfScreen = 65,
  kAudioChannelLabel_RightEdgeOfScreen = 66,
  kAudioChannelLabel_Ambisonic_W = 200,
  kAudioChannelLabel_Ambisonic_X = 201,
  kAudioChannelLabel_Ambisonic_Y = 202,
  kAudioChannelLabel_Ambisonic_Z = 203,
  kAudioChannelLabel_MS_Mid = 204,
  kAudioChannelLabel_MS_Side = 205,
  kAudioChannelLabel_XY_X = 206,
  kAudioChannelLabel_XY_Y = 207,
  kAudioChannelLabel_BinauralLeft = 208,
  kAudioChannelLabel_BinauralRight = 209,
  kAudioChannelLabel_HeadphonesLeft = 301,
  kAudioChannelLabel_HeadphonesRight = 302,
  kAudioChannelLabel_ClickTrack = 304,
  kAudioChannelLabel_ForeignLanguage = 305,
  kAudioChannelLabel_Discrete = 400,
  kAudioChannelLabel_Discrete_0 = (1U << 16) | 0,
  kAudioChannelLabel_Discrete_1 = (1U << 16) | 1,
  kAudioChannelLabel_Discrete_2 = (1U << 16) | 2,
  kAudioChannelLabel_Discrete_3 = (1U << 16) | 3,
  kAudioChannelLabel_Discrete_4 = (1U << 16) | 4,
  kAudioChannelLabel_Discrete_5 = (1U << 16) | 5,
  kAudioChannelLabel_Discrete_6 = (1U << 16) | 6,
  kAudioChannelLabel_Discrete_7 = (1U << 16) | 7,
  kAudioChannelLabel_Discrete_8 = (1U << 16) | 8,
  kAudioChannelLabel_Discrete_9 = (1U << 16) | 9,
  kAudioChannelLabel_Discrete_10 = (1U << 16) | 10,
  kAudioChannelLabel_Discrete_11 = (1U << 16) | 11,
  kAudioChannelLabel_Discrete_12 = (1U << 16) | 12,
  kAudioChannelLabel_Discrete_13 = (1U << 16) | 13,
  kAudioChannelLabel_Discrete_14 = (1U << 16) | 14,
  kAudioChannelLabel_Discrete_15 = (1U << 16) | 15,
  kAudioChannelLabel_Discrete_65535 = (1U << 16) | 65535,
  kAudioChannelLabel_HOA_ACN = 500,
  kAudioChannelLabel_HOA_ACN_0 = (2U << 16) | 0,
  kAudioChannelLabel_HOA_ACN_1 = (2U << 16) | 1,
  kAudioChannelLabel_HOA_ACN_2 = (2U << 16) | 2,
  kAudioChannelLabel_HOA_ACN_3 = (2U << 16) | 3,
  kAudioChannelLabel_HOA_ACN_4 = (2U << 16) | 4,
  kAudioChannelLabel_HOA_ACN_5 = (2U << 16) | 5,
  kAudioChannelLabel_HOA_ACN_6 = (2U << 16) | 6,
  kAudioChannelLabel_HOA_ACN_7 = (2U << 16) | 7,
  kAudioChannelLabel_HOA_ACN_8 = (2U << 16) | 8,
  kAudioChannelLabel_HOA_ACN_9 = (2U << 16) | 9,
  kAudioChannelLabel_HOA_ACN_10 = (2U << 16) | 10,
  kAudioChannelLabel_HOA_ACN_11 = (2U << 16) | 11,
  kAudioChannelLabel_HOA_ACN_12 = (2U << 16) | 12,
  kAudioChannelLabel_HOA_ACN_13 = (2U << 16) | 13,
  kAudioChannelLabel_HOA_ACN_14 = (2U << 16) | 14,
  kAudioChannelLabel_HOA_ACN_15 = (2U << 16) | 15,
  kAudioChannelLabel_HOA_ACN_65024 = (2U << 16) | 65024,
  // Add the number of the channel.
  kAudioChannelLabel_HOA_SN3D = kAudioChannelLabel_HOA_ACN_0,
  kAudioChannelLabel_HOA_N3D = (3U << 16),
  // An object; add its number.
  kAudioChannelLabel_Object = (4U << 16),
  kAudioChannelLabel_BeginReserved = 0xF0000000,
  kAudioChannelLabel_EndReserved = 0xFFFFFFFE
};

/// A set of channels, from the lowest bit on.
typedef CF_OPTIONS(UInt32, AudioChannelBitmap) {
  kAudioChannelBit_Left = (1U << 0),
  kAudioChannelBit_Right = (1U << 1),
  kAudioChannelBit_Center = (1U << 2),
  kAudioChannelBit_LFEScreen = (1U << 3),
  kAudioChannelBit_LeftSurround = (1U << 4),
  kAudioChannelBit_RightSurround = (1U << 5),
  kAudioChannelBit_LeftCenter = (1U << 6),
  kAudioChannelBit_RightCenter = (1U << 7),
  kAudioChannelBit_CenterSurround = (1U << 8),
  kAudioChannelBit_LeftSurroundDirect = (1U << 9),
  kAudioChannelBit_RightSurroundDirect = (1U << 10),
  kAudioChannelBit_TopCenterSurround = (1U << 11),
  kAudioChannelBit_VerticalHeightLeft = (1U << 12),
  kAudioChannelBit_VerticalHeightCenter = (1U << 13),
  kAudioChannelBit_VerticalHeightRight = (1U << 14),
  kAudioChannelBit_TopBackLeft = (1U << 15),
  kAudioChannelBit_TopBackCenter = (1U << 16),
  kAudioChannelBit_TopBackRight = (1U << 17),
  kAudioChannelBit_LeftTopFront = kAudioChannelBit_VerticalHeightLeft,
  kAudioChannelBit_CenterTopFront = kAudioChannelBit_VerticalHeightCenter,
  kAudioChannelBit_RightTopFront = kAudioChannelBit_VerticalHeightRight,
  kAudioChannelBit_LeftTopMiddle = (1U << 21),
  kAudioChannelBit_CenterTopMiddle = kAudioChannelBit_TopCenterSurround,
  kAudioChannelBit_RightTopMiddle = (1U << 23),
  kAudioChannelBit_LeftTopRear = (1U << 24),
  kAudioChannelBit_CenterTopRear = (1U << 25),
  kAudioChannelBit_RightTopRear = (1U << 26)
};

/// Meaning of a channel's coordinates.
typedef CF_OPTIONS(UInt32, AudioChannelFlags) {
  kAudioChannelFlags_AllOff = 0,
  kAudioChannelFlags_RectangularCoordinates = (1U << 0),
  kAudioChannelFlags_SphericalCoordinates = (1U << 1),
  /// In metres; without it, relative to the size of the room.
  kAudioChannelFlags_Meters = (1U << 2)
};

/// Indexes of the coordinates: rectangular ones first, then spherical ones.
typedef CF_ENUM(UInt32, AudioChannelCoordinateIndex) {
  kAudioChannelCoordinates_LeftRight = 0,
  kAudioChannelCoordinates_BackFront = 1,
  kAudioChannelCoordinates_DownUp = 2,
  kAudioChannelCoordinates_Azimuth = 0,
  kAudioChannelCoordinates_Elevation = 1,
  kAudioChannelCoordinates_Distance = 2
};

/// Named layouts. The low 16 bits are the number of channels. In the comments: L left, R right, C
/// centre, LFE low frequencies, s surround, d direct, r rear, c towards the centre, w wide, V
/// height, T top, t total.
CF_ENUM(AudioChannelLayoutTag) {
  kAudioChannelLayoutTag_UseChannelDescriptions = (0U << 16) | 0, // the array of descriptions
                                                                  // applies
  kAudioChannelLayoutTag_UseChannelBitmap = (1U << 16) | 0, // the bitmap applies
  kAudioChannelLayoutTag_Mono = (100U << 16) | 1,
  kAudioChannelLayoutTag_Stereo = (101U << 16) | 2, // L R
  kAudioChannelLayoutTag_StereoHeadphones = (102U << 16) | 2, // L R
  kAudioChannelLayoutTag_MatrixStereo = (103U << 16) | 2, // Lt Rt
  kAudioChannelLayoutTag_MidSide = (104U << 16) | 2,
  kAudioChannelLayoutTag_XY = (105U << 16) | 2,
  kAudioChannelLayoutTag_Binaural = (106U << 16) | 2,
  kAudioChannelLayoutTag_Ambisonic_B_Format = (107U << 16) | 4, // W X Y Z
  kAudioChannelLayoutTag_Quadraphonic = (108U << 16) | 4, // L R Ls Rs
  kAudioChannelLayoutTag_Pentagonal = (109U << 16) | 5, // L R Ls Rs C
  kAudioChannelLayoutTag_Hexagonal = (110U << 16) | 6, // L R Ls Rs C Cs
  kAudioChannelLayoutTag_Octagonal = (111U << 16) | 8, // L R Ls Rs C Cs Lw Rw
  kAudioChannelLayoutTag_Cube = (112U << 16) | 8, // L R Ls Rs, then the same above
  kAudioChannelLayoutTag_MPEG_1_0 = kAudioChannelLayoutTag_Mono,
  kAudioChannelLayoutTag_MPEG_2_0 = kAudioChannelLayoutTag_Stereo,
  kAudioChannelLayoutTag_MPEG_3_0_A = (113U << 16) | 3, // L R C
  kAudioChannelLayoutTag_MPEG_3_0_B = (114U << 16) | 3, // C L R
  kAudioChannelLayoutTag_MPEG_4_0_A = (115U << 16) | 4, // L R C Cs
  kAudioChannelLayoutTag_MPEG_4_0_B = (116U << 16) | 4, // C L R Cs
  kAudioChannelLayoutTag_MPEG_5_0_A = (117U << 16) | 5, // L R C Ls Rs
  kAudioChannelLayoutTag_MPEG_5_0_B = (118U << 16) | 5, // L R Ls Rs C
  kAudioChannelLayoutTag_MPEG_5_0_C = (119U << 16) | 5, // L C R Ls Rs
  kAudioChannelLayoutTag_MPEG_5_0_D = (120U << 16) | 5, // C L R Ls Rs
  kAudioChannelLayoutTag_MPEG_5_1_A = (121U << 16) | 6, // L R C LFE Ls Rs
  kAudioChannelLayoutTag_MPEG_5_1_B = (122U << 16) | 6, // L R Ls Rs C LFE
  kAudioChannelLayoutTag_MPEG_5_1_C = (123U << 16) | 6, // L C R Ls Rs LFE
  kAudioChannelLayoutTag_MPEG_5_1_D = (124U << 16) | 6, // C L R Ls Rs LFE
  kAudioChannelLayoutTag_MPEG_6_1_A = (125U << 16) | 7, // L R C LFE Ls Rs Cs
  kAudioChannelLayoutTag_MPEG_7_1_A = (126U << 16) | 8, // L R C LFE Ls Rs Lc Rc
  kAudioChannelLayoutTag_MPEG_7_1_B = (127U << 16) | 8, // C Lc Rc L R Ls Rs LFE
  kAudioChannelLayoutTag_MPEG_7_1_C = (128U << 16) | 8, // L R C LFE Ls Rs Rls Rrs
  kAudioChannelLayoutTag_Emagic_Default_7_1 = (129U << 16) | 8, // L R Ls Rs C LFE Lc Rc
  kAudioChannelLayoutTag_SMPTE_DTV = (130U << 16) | 8, // L R C LFE Ls Rs Lt Rt
  kAudioChannelLayoutTag_ITU_1_0 = kAudioChannelLayoutTag_Mono,
  kAudioChannelLayoutTag_ITU_2_0 = kAudioChannelLayoutTag_Stereo,
  kAudioChannelLayoutTag_ITU_2_1 = (131U << 16) | 3, // L R Cs
  kAudioChannelLayoutTag_ITU_2_2 = (132U << 16) | 4, // L R Ls Rs
  kAudioChannelLayoutTag_ITU_3_0 = kAudioChannelLayoutTag_MPEG_3_0_A,
  kAudioChannelLayoutTag_ITU_3_1 = kAudioChannelLayoutTag_MPEG_4_0_A,
  kAudioChannelLayoutTag_ITU_3_2 = kAudioChannelLayoutTag_MPEG_5_0_A,
  kAudioChannelLayoutTag_ITU_3_2_1 = kAudioChannelLayoutTag_MPEG_5_1_A,
  kAudioChannelLayoutTag_ITU_3_4_1 = kAudioChannelLayoutTag_MPEG_7_1_C,
  kAudioChannelLayoutTag_DVD_0 = kAudioChannelLayoutTag_Mono,
  kAudioChannelLayoutTag_DVD_1 = kAudioChannelLayoutTag_Stereo,
  kAudioChannelLayoutTag_DVD_2 = kAudioChannelLayoutTag_ITU_2_1,
  kAudioChannelLayoutTag_DVD_3 = kAudioChannelLayoutTag_ITU_2_2,
  kAudioChannelLayoutTag_DVD_4 = (133U << 16) | 3, // L R LFE
  kAudioChannelLayoutTag_DVD_5 = (134U << 16) | 4, // L R LFE Cs
  kAudioChannelLayoutTag_DVD_6 = (135U << 16) | 5, // L R LFE Ls Rs
  kAudioChannelLayoutTag_DVD_7 = kAudioChannelLayoutTag_MPEG_3_0_A,
  kAudioChannelLayoutTag_DVD_8 = kAudioChannelLayoutTag_MPEG_4_0_A,
  kAudioChannelLayoutTag_DVD_9 = kAudioChannelLayoutTag_MPEG_5_0_A,
  kAudioChannelLayoutTag_DVD_10 = (136U << 16) | 4, // L R C LFE
  kAudioChannelLayoutTag_DVD_11 = (137U << 16) | 5, // L R C LFE Cs
  kAudioChannelLayoutTag_DVD_12 = kAudioChannelLayoutTag_MPEG_5_1_A,
  kAudioChannelLayoutTag_DVD_13 = kAudioChannelLayoutTag_DVD_8,
  kAudioChannelLayoutTag_DVD_14 = kAudioChannelLayoutTag_DVD_9,
  kAudioChannelLayoutTag_DVD_15 = kAudioChannelLayoutTag_DVD_10,
  kAudioChannelLayoutTag_DVD_16 = kAudioChannelLayoutTag_DVD_11,
  kAudioChannelLayoutTag_DVD_17 = kAudioChannelLayoutTag_DVD_12,
  kAudioChannelLayoutTag_DVD_18 = (138U << 16) | 5, // L R Ls Rs LFE
  kAudioChannelLayoutTag_DVD_19 = kAudioChannelLayoutTag_MPEG_5_0_B,
  kAudioChannelLayoutTag_DVD_20 = kAudioChannelLayoutTag_MPEG_5_1_B,
  kAudioChannelLayoutTag_AudioUnit_4 = kAudioChannelLayoutTag_Quadraphonic,
  kAudioChannelLayoutTag_AudioUnit_5 = kAudioChannelLayoutTag_Pentagonal,
  kAudioChannelLayoutTag_AudioUnit_6 = kAudioChannelLayoutTag_Hexagonal,
  kAudioChannelLayoutTag_AudioUnit_8 = kAudioChannelLayoutTag_Octagonal,
  kAudioChannelLayoutTag_AudioUnit_5_0 = kAudioChannelLayoutTag_MPEG_5_0_B,
  kAudioChannelLayoutTag_AudioUnit_6_0 = (139U << 16) | 6, // L R Ls Rs C Cs
  kAudioChannelLayoutTag_AudioUnit_7_0 = (140U << 16) | 7, // L R Ls Rs C Rls Rrs
  kAudioChannelLayoutTag_AudioUnit_7_0_Front = (148U << 16) | 7, // L R Ls Rs C Lc Rc
  kAudioChannelLayoutTag_AudioUnit_5_1 = kAudioChannelLayoutTag_MPEG_5_1_A,
  kAudioChannelLayoutTag_AudioUnit_6_1 = kAudioChannelLayoutTag_MPEG_6_1_A,
  kAudioChannelLayoutTag_AudioUnit_7_1 = kAudioChannelLayoutTag_MPEG_7_1_C,
  kAudioChannelLayoutTag_AudioUnit_7_1_Front = kAudioChannelLayoutTag_MPEG_7_1_A,
  kAudioChannelLayoutTag_AAC_3_0 = kAudioChannelLayoutTag_MPEG_3_0_B,
  kAudioChannelLayoutTag_AAC_Quadraphonic = kAudioChannelLayoutTag_Quadraphonic,
  kAudioChannelLayoutTag_AAC_4_0 = kAudioChannelLayoutTag_MPEG_4_0_B,
  kAudioChannelLayoutTag_AAC_5_0 = kAudioChannelLayoutTag_MPEG_5_0_D,
  kAudioChannelLayoutTag_AAC_5_1 = kAudioChannelLayoutTag_MPEG_5_1_D,
  kAudioChannelLayoutTag_AAC_6_0 = (141U << 16) | 6, // C L R Ls Rs Cs
  kAudioChannelLayoutTag_AAC_6_1 = (142U << 16) | 7, // C L R Ls Rs Cs LFE
  kAudioChannelLayoutTag_AAC_7_0 = (143U << 16) | 7, // C L R Ls Rs Rls Rrs
  kAudioChannelLayoutTag_AAC_7_1 = kAudioChannelLayoutTag_MPEG_7_1_B,
  kAudioChannelLayoutTag_AAC_7_1_B = (183U << 16) | 8, // C L R Ls Rs Rls Rrs LFE
  kAudioChannelLayoutTag_AAC_7_1_C = (184U << 16) | 8, // C L R Ls Rs LFE VL VR
  kAudioChannelLayoutTag_AAC_Octagonal = (144U << 16) | 8, // C L R Ls Rs Rls Rrs Cs
  kAudioChannelLayoutTag_TMH_10_2_std = (145U << 16) | 16,
  kAudioChannelLayoutTag_TMH_10_2_full = (146U << 16) | 21,
  kAudioChannelLayoutTag_AC3_1_0_1 = (149U << 16) | 2, // C LFE
  kAudioChannelLayoutTag_AC3_3_0 = (150U << 16) | 3, // L C R
  kAudioChannelLayoutTag_AC3_3_1 = (151U << 16) | 4, // L C R Cs
  kAudioChannelLayoutTag_AC3_3_0_1 = (152U << 16) | 4, // L C R LFE
  kAudioChannelLayoutTag_AC3_2_1_1 = (153U << 16) | 4, // L R Cs LFE
  kAudioChannelLayoutTag_AC3_3_1_1 = (154U << 16) | 5, // L C R Cs LFE
  kAudioChannelLayoutTag_EAC_6_0_A = (155U << 16) | 6, // L C R Ls Rs Cs
  kAudioChannelLayoutTag_EAC_7_0_A = (156U << 16) | 7, // L C R Ls Rs Rls Rrs
  kAudioChannelLayoutTag_EAC3_6_1_A = (157U << 16) | 7, // L C R Ls Rs LFE Cs
  kAudioChannelLayoutTag_EAC3_6_1_B = (158U << 16) | 7, // L C R Ls Rs LFE Ts
  kAudioChannelLayoutTag_EAC3_6_1_C = (159U << 16) | 7, // L C R Ls Rs LFE VC
  kAudioChannelLayoutTag_EAC3_7_1_A = (160U << 16) | 8, // L C R Ls Rs LFE Rls Rrs
  kAudioChannelLayoutTag_EAC3_7_1_B = (161U << 16) | 8, // L C R Ls Rs LFE Lc Rc
  kAudioChannelLayoutTag_EAC3_7_1_C = (162U << 16) | 8, // L C R Ls Rs LFE Lsd Rsd
  kAudioChannelLayoutTag_EAC3_7_1_D = (163U << 16) | 8, // L C R Ls Rs LFE Lw Rw
  kAudioChannelLayoutTag_EAC3_7_1_E = (164U << 16) | 8, // L C R Ls Rs LFE VL VR
  kAudioChannelLayoutTag_EAC3_7_1_F = (165U << 16) | 8, // L C R Ls Rs LFE Cs Ts
  kAudioChannelLayoutTag_EAC3_7_1_G = (166U << 16) | 8, // L C R Ls Rs LFE Cs VC
  kAudioChannelLayoutTag_EAC3_7_1_H = (167U << 16) | 8, // L C R Ls Rs LFE Ts VC
  kAudioChannelLayoutTag_DTS_3_1 = (168U << 16) | 4, // C L R LFE
  kAudioChannelLayoutTag_DTS_4_1 = (169U << 16) | 5, // C L R Cs LFE
  kAudioChannelLayoutTag_DTS_6_0_A = (170U << 16) | 6, // Lc Rc L R Ls Rs
  kAudioChannelLayoutTag_DTS_6_0_B = (171U << 16) | 6, // C L R Rls Rrs Ts
  kAudioChannelLayoutTag_DTS_6_0_C = (172U << 16) | 6, // C Cs L R Rls Rrs
  kAudioChannelLayoutTag_DTS_6_1_A = (173U << 16) | 7, // Lc Rc L R Ls Rs LFE
  kAudioChannelLayoutTag_DTS_6_1_B = (174U << 16) | 7, // C L R Rls Rrs Ts LFE
  kAudioChannelLayoutTag_DTS_6_1_C = (175U << 16) | 7, // C Cs L R Rls Rrs LFE
  kAudioChannelLayoutTag_DTS_7_0 = (176U << 16) | 7, // Lc C Rc L R Ls Rs
  kAudioChannelLayoutTag_DTS_7_1 = (177U << 16) | 8, // Lc C Rc L R Ls Rs LFE
  kAudioChannelLayoutTag_DTS_8_0_A = (178U << 16) | 8, // Lc Rc L R Ls Rs Rls Rrs
  kAudioChannelLayoutTag_DTS_8_0_B = (179U << 16) | 8, // Lc C Rc L R Ls Cs Rs
  kAudioChannelLayoutTag_DTS_8_1_A = (180U << 16) | 9, // Lc Rc L R Ls Rs Rls Rrs LFE
  kAudioChannelLayoutTag_DTS_8_1_B = (181U << 16) | 9, // Lc C Rc L R Ls Cs Rs LFE
  kAudioChannelLayoutTag_DTS_6_1_D = (182U << 16) | 7, // C L R Ls Rs LFE Cs
  kAudioChannelLayoutTag_WAVE_2_1 = kAudioChannelLayoutTag_DVD_4,
  kAudioChannelLayoutTag_WAVE_3_0 = kAudioChannelLayoutTag_MPEG_3_0_A,
  kAudioChannelLayoutTag_WAVE_4_0_A = kAudioChannelLayoutTag_ITU_2_2,
  kAudioChannelLayoutTag_WAVE_4_0_B = (185U << 16) | 4, // L R Rls Rrs
  kAudioChannelLayoutTag_WAVE_5_0_A = kAudioChannelLayoutTag_MPEG_5_0_A,
  kAudioChannelLayoutTag_WAVE_5_0_B = (186U << 16) | 5, // L R C Rls Rrs
  kAudioChannelLayoutTag_WAVE_5_1_A = kAudioChannelLayoutTag_MPEG_5_1_A,
  kAudioChannelLayoutTag_WAVE_5_1_B = (187U << 16) | 6, // L R C LFE Rls Rrs
  kAudioChannelLayoutTag_WAVE_6_1 = (188U << 16) | 7, // L R C LFE Cs Ls Rs
  kAudioChannelLayoutTag_WAVE_7_1 = (189U << 16) | 8, // L R C LFE Rls Rrs Ls Rs
  kAudioChannelLayoutTag_HOA_ACN_SN3D = (190U << 16) | 0, // ambisonics; add the number of channels
  kAudioChannelLayoutTag_HOA_ACN_N3D = (191U << 16) | 0, // ambisonics; add the number of channels
  kAudioChannelLayoutTag_Atmos_5_1_2 = (194U << 16) | 8,
  kAudioChannelLayoutTag_Atmos_5_1_4 = (195U << 16) | 10,
  kAudioChannelLayoutTag_Atmos_7_1_2 = (196U << 16) | 10,
  kAudioChannelLayoutTag_Atmos_7_1_4 = (192U << 16) | 12,
  kAudioChannelLayoutTag_Atmos_9_1_6 = (193U << 16) | 16,
  kAudioChannelLayoutTag_Logic_Mono = kAudioChannelLayoutTag_Mono,
  kAudioChannelLayoutTag_Logic_Stereo = kAudioChannelLayoutTag_Stereo,
  kAudioChannelLayoutTag_Logic_Quadraphonic = kAudioChannelLayoutTag_Quadraphonic,
  kAudioChannelLayoutTag_Logic_4_0_A = kAudioChannelLayoutTag_MPEG_4_0_A,
  kAudioChannelLayoutTag_Logic_4_0_B = kAudioChannelLayoutTag_MPEG_4_0_B,
  kAudioChannelLayoutTag_Logic_4_0_C = (197U << 16) | 4, // L R Cs C
  kAudioChannelLayoutTag_Logic_5_0_A = kAudioChannelLayoutTag_MPEG_5_0_A,
  kAudioChannelLayoutTag_Logic_5_0_B = kAudioChannelLayoutTag_MPEG_5_0_B,
  kAudioChannelLayoutTag_Logic_5_0_C = kAudioChannelLayoutTag_MPEG_5_0_C,
  kAudioChannelLayoutTag_Logic_5_0_D = kAudioChannelLayoutTag_MPEG_5_0_D,
  kAudioChannelLayoutTag_Logic_5_1_A = kAudioChannelLayoutTag_MPEG_5_1_A,
  kAudioChannelLayoutTag_Logic_5_1_B = kAudioChannelLayoutTag_MPEG_5_1_B,
  kAudioChannelLayoutTag_Logic_5_1_C = kAudioChannelLayoutTag_MPEG_5_1_C,
  kAudioChannelLayoutTag_Logic_5_1_D = kAudioChannelLayoutTag_MPEG_5_1_D,
  kAudioChannelLayoutTag_Logic_6_0_A = kAudioChannelLayoutTag_AAC_6_0,
  kAudioChannelLayoutTag_Logic_6_0_B = (198U << 16) | 6, // L R Ls Rs Cs C
  kAudioChannelLayoutTag_Logic_6_0_C = kAudioChannelLayoutTag_AudioUnit_6_0,
  kAudioChannelLayoutTag_Logic_6_1_A = kAudioChannelLayoutTag_AAC_6_1,
  kAudioChannelLayoutTag_Logic_6_1_B = (199U << 16) | 7, // L R Ls Rs Cs C LFE
  kAudioChannelLayoutTag_Logic_6_1_C = kAudioChannelLayoutTag_MPEG_6_1_A,
  kAudioChannelLayoutTag_Logic_6_1_D = (200U << 16) | 7, // L C R Ls Cs Rs LFE
  kAudioChannelLayoutTag_Logic_7_1_A = kAudioChannelLayoutTag_AudioUnit_7_1,
  kAudioChannelLayoutTag_Logic_7_1_B = (201U << 16) | 8, // L R Ls Rs Rls Rrs C LFE
  kAudioChannelLayoutTag_Logic_7_1_C = kAudioChannelLayoutTag_MPEG_7_1_C,
  kAudioChannelLayoutTag_Logic_7_1_SDDS_A = kAudioChannelLayoutTag_MPEG_7_1_A,
  kAudioChannelLayoutTag_Logic_7_1_SDDS_B = kAudioChannelLayoutTag_MPEG_7_1_B,
  kAudioChannelLayoutTag_Logic_7_1_SDDS_C = kAudioChannelLayoutTag_Emagic_Default_7_1,
  kAudioChannelLayoutTag_Logic_Atmos_5_1_2 = kAudioChannelLayoutTag_Atmos_5_1_2,
  kAudioChannelLayoutTag_Logic_Atmos_5_1_4 = kAudioChannelLayoutTag_Atmos_5_1_4,
  kAudioChannelLayoutTag_Logic_Atmos_7_1_2 = kAudioChannelLayoutTag_Atmos_7_1_2,
  kAudioChannelLayoutTag_Logic_Atmos_7_1_4_A = kAudioChannelLayoutTag_Atmos_7_1_4,
  kAudioChannelLayoutTag_Logic_Atmos_7_1_4_B = (202U << 16) | 12, // L R Rls Rrs Ls Rs C LFE VL VR LtR RtR
  kAudioChannelLayoutTag_Logic_Atmos_7_1_6 = (203U << 16) | 14, // L R Rls Rrs Ls Rs C LFE VL VR LtM RtM LtR RtR
  kAudioChannelLayoutTag_DiscreteInOrder = (147U << 16) | 0, // no meaning; add the number of channels
  // The numbers of ISO/IEC 23091-3.
  kAudioChannelLayoutTag_CICP_1 = kAudioChannelLayoutTag_MPEG_1_0,
  kAudioChannelLayoutTag_CICP_2 = kAudioChannelLayoutTag_MPEG_2_0,
  kAudioChannelLayoutTag_CICP_3 = kAudioChannelLayoutTag_MPEG_3_0_A,
  kAudioChannelLayoutTag_CICP_4 = kAudioChannelLayoutTag_MPEG_4_0_A,
  kAudioChannelLayoutTag_CICP_5 = kAudioChannelLayoutTag_MPEG_5_0_A,
  kAudioChannelLayoutTag_CICP_6 = kAudioChannelLayoutTag_MPEG_5_1_A,
  kAudioChannelLayoutTag_CICP_7 = kAudioChannelLayoutTag_MPEG_7_1_B,
  kAudioChannelLayoutTag_CICP_9 = kAudioChannelLayoutTag_ITU_2_1,
  kAudioChannelLayoutTag_CICP_10 = kAudioChannelLayoutTag_ITU_2_2,
  kAudioChannelLayoutTag_CICP_11 = kAudioChannelLayoutTag_MPEG_6_1_A,
  kAudioChannelLayoutTag_CICP_12 = kAudioChannelLayoutTag_MPEG_7_1_C,
  kAudioChannelLayoutTag_CICP_13 = (204U << 16) | 24, // Lc Rc C LFE2 Rls Rrs L R Cs LFE3 Lss Rss VL VR VC Ts LtR RtR LtM RtM CtR Cb Lb Rb
  kAudioChannelLayoutTag_CICP_14 = (205U << 16) | 8, // L R C LFE Ls Rs VL VR
  kAudioChannelLayoutTag_CICP_15 = (206U << 16) | 12, // L R C LFE2 Rls Rrs LFE3 Lss Rss VL VR CtR
  kAudioChannelLayoutTag_CICP_16 = (207U << 16) | 10, // L R C LFE Ls Rs VL VR Lts Rts
  kAudioChannelLayoutTag_CICP_17 = (208U << 16) | 12, // L R C LFE Ls Rs VL VR VC Lts Rts Ts
  kAudioChannelLayoutTag_CICP_18 = (209U << 16) | 14, // L R C LFE Ls Rs Lbs Rbs VL VR VC Lts Rts Ts
  kAudioChannelLayoutTag_CICP_19 = (210U << 16) | 12, // L R C LFE Rls Rrs Lss Rss VL VR LtR RtR
  kAudioChannelLayoutTag_CICP_20 = (211U << 16) | 14, // L R C LFE Rls Rrs Lss Rss VL VR LtR RtR Leos Reos
  kAudioChannelLayoutTag_Ogg_3_0 = kAudioChannelLayoutTag_AC3_3_0,
  kAudioChannelLayoutTag_Ogg_4_0 = kAudioChannelLayoutTag_WAVE_4_0_B,
  kAudioChannelLayoutTag_Ogg_5_0 = (212U << 16) | 5, // L C R Rls Rrs
  kAudioChannelLayoutTag_Ogg_5_1 = (213U << 16) | 6, // L C R Rls Rrs LFE
  kAudioChannelLayoutTag_Ogg_6_1 = (214U << 16) | 7, // L C R Ls Rs Cs LFE
  kAudioChannelLayoutTag_Ogg_7_1 = (215U << 16) | 8, // L C R Ls Rs Rls Rrs LFE
  kAudioChannelLayoutTag_MPEG_5_0_E = (216U << 16) | 5, // L R Rls Rrs C
  kAudioChannelLayoutTag_MPEG_5_1_E = (217U << 16) | 6, // L R Rls Rrs C LFE
  kAudioChannelLayoutTag_MPEG_6_1_B = (218U << 16) | 7, // L R Ls Rs C Cs LFE
  kAudioChannelLayoutTag_MPEG_7_1_D = (219U << 16) | 8, // L R Rls Rrs Ls Rs C LFE
  kAudioChannelLayoutTag_BeginReserved = 0xF0000000,
  kAudioChannelLayoutTag_EndReserved = 0xFFFEFFFF,
  kAudioChannelLayoutTag_Unknown = 0xFFFF0000 // add the number of channels
};

/// A channel: its label, or its position.
struct AudioChannelDescription {
  AudioChannelLabel mChannelLabel;
  AudioChannelFlags mChannelFlags;
  Float32 mCoordinates[3];
};
typedef struct AudioChannelDescription AudioChannelDescription;

/// The channels of a stream: by tag, by bitmap, or by mNumberChannelDescriptions descriptions.
struct AudioChannelLayout {
  AudioChannelLayoutTag mChannelLayoutTag;
  AudioChannelBitmap mChannelBitmap;
  UInt32 mNumberChannelDescriptions;
  AudioChannelDescription mChannelDescriptions[1];
};
typedef struct AudioChannelLayout AudioChannelLayout;

/// Returns the number of channels of a tag. Any thread, real time included.
CF_INLINE UInt32 AudioChannelLayoutTag_GetNumberOfChannels(AudioChannelLayoutTag inLayoutTag) {
  return inLayoutTag & 0x0000FFFF;
}

CF_EXTERN_C_END

// MARK: C++ functions

#ifdef __cplusplus

/// Returns the flags of linear PCM with `inValidBitsPerChannel` bits in containers of
/// `inTotalBitsPerChannel`.
inline AudioFormatFlags CalculateLPCMFlags(UInt32 inValidBitsPerChannel,
                                           UInt32 inTotalBitsPerChannel, bool inIsFloat,
                                           bool inIsBigEndian, bool inIsNonInterleaved = false) {
  AudioFormatFlags flags = inIsFloat ? static_cast<AudioFormatFlags>(kAudioFormatFlagIsFloat)
                                     : static_cast<AudioFormatFlags>(kAudioFormatFlagIsSignedInteger);
  if (inIsBigEndian)
    flags |= kAudioFormatFlagIsBigEndian;
  if (inValidBitsPerChannel == inTotalBitsPerChannel)
    flags |= kAudioFormatFlagIsPacked;
  else
    flags |= kAudioFormatFlagIsAlignedHigh;
  if (inIsNonInterleaved)
    flags |= kAudioFormatFlagIsNonInterleaved;
  return flags;
}

/// Sets all fields of `outASBD` for linear PCM.
inline void FillOutASBDForLPCM(AudioStreamBasicDescription &outASBD, Float64 inSampleRate,
                               UInt32 inChannelsPerFrame, UInt32 inValidBitsPerChannel,
                               UInt32 inTotalBitsPerChannel, bool inIsFloat, bool inIsBigEndian,
                               bool inIsNonInterleaved = false) {
  const UInt32 channelsPerBuffer = inIsNonInterleaved ? 1 : inChannelsPerFrame;
  outASBD.mSampleRate = inSampleRate;
  outASBD.mFormatID = kAudioFormatLinearPCM;
  outASBD.mFormatFlags = CalculateLPCMFlags(inValidBitsPerChannel, inTotalBitsPerChannel, inIsFloat,
                                            inIsBigEndian, inIsNonInterleaved);
  outASBD.mBytesPerPacket = channelsPerBuffer * (inTotalBitsPerChannel / 8);
  outASBD.mFramesPerPacket = 1;
  outASBD.mBytesPerFrame = outASBD.mBytesPerPacket;
  outASBD.mChannelsPerFrame = inChannelsPerFrame;
  outASBD.mBitsPerChannel = inValidBitsPerChannel;
  outASBD.mReserved = 0;
}

/// Returns true if `f` is linear PCM in this machine's byte order.
inline bool IsAudioFormatNativeEndian(const AudioStreamBasicDescription &f) {
  return TestAudioFormatNativeEndian(f);
}

#endif

CUE_HEADER_END

#endif
