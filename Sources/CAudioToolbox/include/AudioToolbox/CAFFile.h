// The structures of a Core Audio Format (CAF) file. All numbers in the file are big endian; CarbonCore's
// Endian.h has the macros that swap them. An array of one element stands for as many as the chunk holds.
#ifndef CUEJACK_CAFFILE_H
#define CUEJACK_CAFFILE_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN

#define CUE_PACKED __attribute__((__packed__))

// MARK: The file's header and chunks

CF_ENUM(UInt32) {
  kCAF_FileType = 'caff',
  kCAF_FileVersion_Initial = 1
};

/// Chunk types.
CF_ENUM(UInt32) {
  kCAF_StreamDescriptionChunkID = 'desc',
  kCAF_AudioDataChunkID = 'data',
  kCAF_ChannelLayoutChunkID = 'chan',
  kCAF_FillerChunkID = 'free',
  kCAF_MarkerChunkID = 'mark',
  kCAF_RegionChunkID = 'regn',
  kCAF_InstrumentChunkID = 'inst',
  kCAF_MagicCookieID = 'kuki',
  kCAF_InfoStringsChunkID = 'info',
  kCAF_EditCommentsChunkID = 'edct',
  kCAF_PacketTableChunkID = 'pakt',
  kCAF_StringsChunkID = 'strg',
  kCAF_UUIDChunkID = 'uuid',
  kCAF_PeakChunkID = 'peak',
  kCAF_OverviewChunkID = 'ovvw',
  kCAF_MIDIChunkID = 'midi',
  kCAF_UMIDChunkID = 'umid',
  kCAF_FormatListID = 'ldsc',
  kCAF_iXMLChunkID = 'iXML'
};

/// The first bytes of a file.
struct CAFFileHeader {
  UInt32 mFileType;
  UInt16 mFileVersion;
  /// 0 in version 1.
  UInt16 mFileFlags;
} CUE_PACKED;
typedef struct CAFFileHeader CAFFileHeader;

/// The first bytes of a chunk.
struct CAFChunkHeader {
  UInt32 mChunkType;
  /// Size in bytes of what follows this header. -1 in an audio data chunk that is the last one and goes
  /// on to the file's end.
  SInt64 mChunkSize;
} CUE_PACKED;
typedef struct CAFChunkHeader CAFChunkHeader;

/// The first bytes of a chunk of the type 'uuid'.
struct CAF_UUID_ChunkHeader {
  CAFChunkHeader mHeader;
  UInt8 mUUID[16];
} CUE_PACKED;
typedef struct CAF_UUID_ChunkHeader CAF_UUID_ChunkHeader;

// MARK: The format

/// Flags of linear PCM. They are not those of an AudioStreamBasicDescription.
typedef CF_OPTIONS(UInt32, CAFFormatFlags) {
  kCAFLinearPCMFormatFlagIsFloat = (1U << 0),
  kCAFLinearPCMFormatFlagIsLittleEndian = (1U << 1)
};

/// The chunk 'desc', the first one of each file.
struct CAFAudioDescription {
  Float64 mSampleRate;
  UInt32 mFormatID;
  CAFFormatFlags mFormatFlags;
  UInt32 mBytesPerPacket;
  UInt32 mFramesPerPacket;
  UInt32 mChannelsPerFrame;
  UInt32 mBitsPerChannel;
} CUE_PACKED;
typedef struct CAFAudioDescription CAFAudioDescription;

/// An element of the chunk 'ldsc'.
struct CAFAudioFormatListItem {
  CAFAudioDescription mFormat;
  UInt32 mChannelLayoutTag;
} CUE_PACKED;
typedef struct CAFAudioFormatListItem CAFAudioFormatListItem;

/// The chunk 'pakt'. The sizes of packets follow, as numbers of variable length.
struct CAFPacketTableHeader {
  SInt64 mNumberPackets;
  SInt64 mNumberValidFrames;
  SInt32 mPrimingFrames;
  SInt32 mRemainderFrames;
  UInt8 mPacketDescriptions[1];
} CUE_PACKED;
typedef struct CAFPacketTableHeader CAFPacketTableHeader;

/// The chunk 'data'.
struct CAFDataChunk {
  /// Number of times that the sound was changed.
  UInt32 mEditCount;
  UInt8 mData[1];
} CUE_PACKED;
typedef struct CAFDataChunk CAFDataChunk;

// MARK: Markers and regions

/// Types of markers.
CF_ENUM(UInt32) {
  kCAFMarkerType_Generic = 0,
  kCAFMarkerType_ProgramStart = 'pbeg',
  kCAFMarkerType_ProgramEnd = 'pend',
  kCAFMarkerType_TrackStart = 'tbeg',
  kCAFMarkerType_TrackEnd = 'tend',
  kCAFMarkerType_Index = 'indx',
  kCAFMarkerType_RegionStart = 'rbeg',
  kCAFMarkerType_RegionEnd = 'rend',
  kCAFMarkerType_RegionSyncPoint = 'rsyc',
  kCAFMarkerType_SelectionStart = 'sbeg',
  kCAFMarkerType_SelectionEnd = 'send',
  kCAFMarkerType_EditSourceBegin = 'cbeg',
  kCAFMarkerType_EditSourceEnd = 'cend',
  kCAFMarkerType_EditDestinationBegin = 'dbeg',
  kCAFMarkerType_EditDestinationEnd = 'dend',
  kCAFMarkerType_SustainLoopStart = 'slbg',
  kCAFMarkerType_SustainLoopEnd = 'slen',
  kCAFMarkerType_ReleaseLoopStart = 'rlbg',
  kCAFMarkerType_ReleaseLoopEnd = 'rlen',
  kCAFMarkerType_SavedPlayPosition = 'sply',
  kCAFMarkerType_Tempo = 'tmpo',
  kCAFMarkerType_TimeSignature = 'tsig',
  kCAFMarkerType_KeySignature = 'ksig'
};

/// Frame rates of SMPTE times.
CF_ENUM(UInt32) {
  kCAF_SMPTE_TimeTypeNone = 0,
  kCAF_SMPTE_TimeType24 = 1,
  kCAF_SMPTE_TimeType25 = 2,
  kCAF_SMPTE_TimeType30Drop = 3,
  kCAF_SMPTE_TimeType30 = 4,
  kCAF_SMPTE_TimeType2997 = 5,
  kCAF_SMPTE_TimeType2997Drop = 6,
  kCAF_SMPTE_TimeType60 = 7,
  kCAF_SMPTE_TimeType5994 = 8,
  kCAF_SMPTE_TimeType60Drop = 9,
  kCAF_SMPTE_TimeType5994Drop = 10,
  kCAF_SMPTE_TimeType50 = 11,
  kCAF_SMPTE_TimeType2398 = 12
};

/// An SMPTE time; all of its bits are set if it is not valid.
struct CAF_SMPTE_Time {
  SInt8 mHours;
  SInt8 mMinutes;
  SInt8 mSeconds;
  SInt8 mFrames;
  UInt32 mSubFrameSampleOffset;
} CUE_PACKED;
typedef struct CAF_SMPTE_Time CAF_SMPTE_Time;

/// A position in the sound. The chunk 'strg' has the marker's name under its ID.
struct CAFMarker {
  UInt32 mType;
  Float64 mFramePosition;
  UInt32 mMarkerID;
  CAF_SMPTE_Time mSMPTETime;
  /// Number of the channel, from 1; 0 for all channels.
  UInt32 mChannel;
} CUE_PACKED;
typedef struct CAFMarker CAFMarker;

/// The chunk 'mark'.
struct CAFMarkerChunk {
  UInt32 mSMPTE_TimeType;
  UInt32 mNumberMarkers;
  CAFMarker mMarkers[1];
} CUE_PACKED;
typedef struct CAFMarkerChunk CAFMarkerChunk;

typedef CF_OPTIONS(UInt32, CAFRegionFlags) {
  kCAFRegionFlag_LoopEnable = 1,
  kCAFRegionFlag_PlayForward = 2,
  kCAFRegionFlag_PlayBackward = 4
};

/// A part of the sound between markers.
struct CAFRegion {
  UInt32 mRegionID;
  CAFRegionFlags mFlags;
  UInt32 mNumberMarkers;
  CAFMarker mMarkers[1];
} CUE_PACKED;
typedef struct CAFRegion CAFRegion;

/// The chunk 'regn'. Its regions differ in size.
struct CAFRegionChunk {
  UInt32 mSMPTE_TimeType;
  UInt32 mNumberRegions;
  CAFRegion mRegions[1];
} CUE_PACKED;
typedef struct CAFRegionChunk CAFRegionChunk;

// MARK: Other chunks

/// The chunk 'inst'. An ID of 0 stands for no region.
struct CAFInstrumentChunk {
  /// MIDI note of the sound as it was recorded.
  Float32 mBaseNote;
  UInt8 mMIDILowNote;
  UInt8 mMIDIHighNote;
  UInt8 mMIDILowVelocity;
  UInt8 mMIDIHighVelocity;
  Float32 mdBGain;
  UInt32 mStartRegionID;
  UInt32 mSustainRegionID;
  UInt32 mReleaseRegionID;
  UInt32 mInstrumentID;
} CUE_PACKED;
typedef struct CAFInstrumentChunk CAFInstrumentChunk;

/// Position of a string in the chunk 'strg', in bytes behind the last CAFStringID.
struct CAFStringID {
  UInt32 mStringID;
  SInt64 mStringStartByteOffset;
} CUE_PACKED;
typedef struct CAFStringID CAFStringID;

/// The chunk 'strg'. The strings follow, in UTF-8, each with a null character at its end.
struct CAFStrings {
  UInt32 mNumEntries;
  CAFStringID mStringsIDs[1];
} CUE_PACKED;
typedef struct CAFStrings CAFStrings;

/// The chunk 'info'. A key and a value follow for each entry, in UTF-8, each with a null character at
/// its end.
struct CAFInfoStrings {
  UInt32 mNumEntries;
} CUE_PACKED;
typedef struct CAFInfoStrings CAFInfoStrings;

/// The greatest sample of a channel.
struct CAFPositionPeak {
  Float32 mValue;
  UInt64 mFrameNumber;
} CUE_PACKED;
typedef struct CAFPositionPeak CAFPositionPeak;

/// The chunk 'peak', with an element for each channel.
struct CAFPeakChunk {
  /// The audio data chunk's edit count for which the peaks hold.
  UInt32 mEditCount;
  CAFPositionPeak mPeaks[1];
} CUE_PACKED;
typedef struct CAFPeakChunk CAFPeakChunk;

/// Least and greatest sample of a channel in mNumFramesPerOVWSample frames.
struct CAFOverviewSample {
  SInt16 mMinValue;
  SInt16 mMaxValue;
} CUE_PACKED;
typedef struct CAFOverviewSample CAFOverviewSample;

/// The chunk 'ovvw'. The channels are interleaved.
struct CAFOverviewChunk {
  /// The audio data chunk's edit count for which the overview holds.
  UInt32 mEditCount;
  UInt32 mNumFramesPerOVWSample;
  CAFOverviewSample mData[1];
} CUE_PACKED;
typedef struct CAFOverviewChunk CAFOverviewChunk;

/// The chunk 'umid': a unique material identifier (SMPTE 330M).
struct CAFUMIDChunk {
  UInt8 mBytes[64];
} CUE_PACKED;
typedef struct CAFUMIDChunk CAFUMIDChunk;

#undef CUE_PACKED

CUE_HEADER_END

#endif
