// Sound files. Linear PCM: AIFF, AIFC, CAF, WAVE, RF64, Wave64 and NeXT files. Packets of codecs:
// CAF, MPEG-4, ADTS, MPEG layer 1 to 3, AC-3, FLAC, Ogg, AMR and 3GPP files.
//
// Any thread that is not real time may call these functions: they wait for the disk.
#ifndef CUEJACK_AUDIOFILE_H
#define CUEJACK_AUDIOFILE_H

#include "../CarbonCore/Files.h"
#include "../CarbonCore/MacErrors.h"
#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// File type: the container, not the codec of the sound.
typedef UInt32 AudioFileTypeID;

CF_ENUM(AudioFileTypeID) {
  kAudioFileAIFFType = 'AIFF',
  kAudioFileAIFCType = 'AIFC',
  kAudioFileWAVEType = 'WAVE',
  kAudioFileRF64Type = 'RF64',
  kAudioFileWave64Type = 'W64f',
  /// Defined for source compatibility. Such files, which keep half of their data in a resource
  /// fork, can be neither read nor written: kAudioFileUnsupportedFileTypeError.
  kAudioFileSoundDesigner2Type = 'Sd2f',
  kAudioFileNextType = 'NeXT',
  kAudioFileMP3Type = 'MPG3',
  kAudioFileMP2Type = 'MPG2',
  kAudioFileMP1Type = 'MPG1',
  kAudioFileAC3Type = 'ac-3',
  kAudioFileAAC_ADTSType = 'adts',
  kAudioFileMPEG4Type = 'mp4f',
  kAudioFileM4AType = 'm4af',
  kAudioFileM4BType = 'm4bf',
  kAudioFileCAFType = 'caff',
  kAudioFile3GPType = '3gpp',
  kAudioFile3GP2Type = '3gp2',
  kAudioFileAMRType = 'amrf',
  kAudioFileFLACType = 'flac',
  /// Ogg. Apple's headers have no name for it; this is the code that Apple's tools show. Chained
  /// streams are read as one while their codec, rate and channels are the same. Packets lost with
  /// missing pages become packets of 0 bytes with the same number of frames.
  kAudioFileOggType = 'Oggf'
};

CF_ENUM(OSStatus) {
  /// An error without a code of its own; the log has details.
  kAudioFileUnspecifiedError = 0x7768743F, // 'wht?'
  /// The file type cannot be read.
  kAudioFileUnsupportedFileTypeError = 'typ?',
  /// The codec of the sound in the file cannot be read.
  kAudioFileUnsupportedDataFormatError = 'fmt?',
  /// The file does not have the property.
  kAudioFileUnsupportedPropertyError = 'pty?',
  /// The buffer is smaller than the property's value.
  kAudioFileBadPropertySizeError = '!siz',
  /// The file cannot be opened with these permissions.
  kAudioFilePermissionsError = 'prm?',
  /// The file must be rearranged before this is possible.
  kAudioFileNotOptimizedError = 'optm',
  /// A chunk is missing or invalid.
  kAudioFileInvalidChunkError = 'chk?',
  /// The file would exceed the size limit of its type.
  kAudioFileDoesNotAllow64BitDataSizeError = 'off?',
  /// A packet's offset is invalid.
  kAudioFileInvalidPacketOffsetError = 'pck?',
  /// A packet's dependency is invalid.
  kAudioFileInvalidPacketDependencyError = 'dep?',
  /// The file is damaged or not a sound file.
  kAudioFileInvalidFileError = 'dta?',
  /// The operation is not possible with this file.
  kAudioFileOperationNotSupportedError = 0x6F703F3F,
  /// The AudioFileID does not belong to an open file.
  kAudioFileNotOpenError = -38,
  /// No data is left to read.
  kAudioFileEndOfFileError = -39,
  /// The position lies before the file's start.
  kAudioFilePositionError = -40,
  /// The file does not exist.
  kAudioFileFileNotFoundError = -43
  // A full disk is dskFulErr. Data written before is kept.
};

/// Access to a file. A plain integer is accepted too.
#ifdef __cplusplus
typedef SInt8 AudioFilePermissions;
CF_ENUM(SInt8) {
#else
typedef CF_ENUM(SInt8, AudioFilePermissions) {
#endif
  kAudioFileReadPermission = 0x01,
  kAudioFileWritePermission = 0x02,
  kAudioFileReadWritePermission = 0x03
};

/// An open file. Opaque: only the functions below use its contents.
typedef struct OpaqueAudioFileID *AudioFileID;
typedef UInt32 AudioFilePropertyID;

/// Options for creating a file.
typedef CF_OPTIONS(UInt32, AudioFileFlags) {
  /// Empties an existing file of that name. Without it, an existing file is an error.
  kAudioFileFlags_EraseFile = 1,
  /// The sound follows the header directly. Without it, the sound begins at a multiple of 4096
  /// bytes in types of linear PCM files that allow padding.
  kAudioFileFlags_DontPageAlignAudioData = 2
};

/// Direction of an AIFF or CAF loop.
CF_ENUM(UInt32) {
  kAudioFileLoopDirection_NoLooping = 0,
  kAudioFileLoopDirection_Forward = 1,
  kAudioFileLoopDirection_ForwardAndBackward = 2,
  kAudioFileLoopDirection_Backward = 3
};

// MARK: Markers and regions

/// A SMPTE time, plus frames of sound after it. If all bits of the first four fields and of the
/// last one are set, there is no time.
struct AudioFile_SMPTE_Time {
  SInt8 mHours;
  UInt8 mMinutes;
  UInt8 mSeconds;
  UInt8 mFrames;
  UInt32 mSubFrameSampleOffset;
};
typedef struct AudioFile_SMPTE_Time AudioFile_SMPTE_Time;

/// Marker types. CAF files have others, as four characters.
CF_ENUM(UInt32) { kAudioFileMarkerType_Generic = 0 };

/// A position in the sound.
struct AudioFileMarker {
  /// Frames from the start of the sound.
  Float64 mFramePosition;
  /// May be NULL. The caller releases a name that it reads.
  CFStringRef _Nullable mName CF_REFINED_FOR_SWIFT;
  SInt32 mMarkerID;
  AudioFile_SMPTE_Time mSMPTETime;
  UInt32 mType;
  UInt16 mReserved;
  /// Channel, from 1; 0 for all.
  UInt16 mChannel;
};
typedef struct AudioFileMarker AudioFileMarker;

/// A list of mNumberMarkers consecutive markers.
struct AudioFileMarkerList {
  /// Frame count of SMPTE times: a SMPTETimeType.
  UInt32 mSMPTE_TimeType;
  UInt32 mNumberMarkers;
  AudioFileMarker mMarkers[1];
};
typedef struct AudioFileMarkerList AudioFileMarkerList;

/// Returns the number of markers that fit into a list of `inNumBytes` bytes.
CF_INLINE size_t NumBytesToNumAudioFileMarkers(size_t inNumBytes) {
  return inNumBytes < offsetof(AudioFileMarkerList, mMarkers)
             ? 0
             : (inNumBytes - offsetof(AudioFileMarkerList, mMarkers)) / sizeof(AudioFileMarker);
}

/// Returns the bytes of a list of `inNumMarkers` markers.
CF_INLINE size_t NumAudioFileMarkersToNumBytes(size_t inNumMarkers) {
  return offsetof(AudioFileMarkerList, mMarkers) + inNumMarkers * sizeof(AudioFileMarker);
}

/// Playback of a region.
typedef CF_OPTIONS(UInt32, AudioFileRegionFlags) {
  kAudioFileRegionFlag_LoopEnable = 1,
  kAudioFileRegionFlag_PlayForward = 2,
  kAudioFileRegionFlag_PlayBackward = 4
};

/// A section of the sound, from its first marker to its last.
struct AudioFileRegion {
  UInt32 mRegionID;
  /// May be NULL. The caller releases a name that it reads.
  CFStringRef _Nullable mName CF_REFINED_FOR_SWIFT;
  AudioFileRegionFlags mFlags;
  UInt32 mNumberMarkers;
  AudioFileMarker mMarkers[1];
};
typedef struct AudioFileRegion AudioFileRegion;

/// A list of mNumberRegions consecutive regions, whose sizes depend on their numbers of markers.
struct AudioFileRegionList {
  UInt32 mSMPTE_TimeType;
  UInt32 mNumberRegions;
  AudioFileRegion mRegions[1];
};
typedef struct AudioFileRegionList AudioFileRegionList;

/// Returns the region after `inAFRegionPtr` in a list.
CF_INLINE AudioFileRegion *NextAudioFileRegion(const AudioFileRegion *inAFRegionPtr) {
  return (AudioFileRegion *)(void *)((char *)(uintptr_t)inAFRegionPtr +
                                     offsetof(AudioFileRegion, mMarkers) +
                                     inAFRegionPtr->mNumberMarkers * sizeof(AudioFileMarker));
}

// MARK: Translations

/// A packet and a frame; a property converts one to the other.
struct AudioFramePacketTranslation {
  SInt64 mFrame;
  SInt64 mPacket;
  /// Frames from the packet's first frame to mFrame.
  UInt32 mFrameOffsetInPacket;
};
typedef struct AudioFramePacketTranslation AudioFramePacketTranslation;

typedef CF_OPTIONS(UInt32, AudioBytePacketTranslationFlags) {
  /// On entry: an estimate is sufficient. On return: the result is an estimate.
  kBytePacketTranslationFlag_IsEstimate = 1
};

/// A packet and a byte of the sound; a property converts one to the other.
struct AudioBytePacketTranslation {
  SInt64 mByte;
  SInt64 mPacket;
  /// Bytes from the packet's first byte to mByte.
  UInt32 mByteOffsetInPacket;
  AudioBytePacketTranslationFlags mFlags;
};
typedef struct AudioBytePacketTranslation AudioBytePacketTranslation;

/// A packet, and the next packet that can be decoded without earlier ones.
struct AudioIndependentPacketTranslation {
  SInt64 mPacket;
  SInt64 mIndependentlyDecodablePacket;
};
typedef struct AudioIndependentPacketTranslation AudioIndependentPacketTranslation;

/// Counts of priming, valid and remainder frames in the decoded packets.
struct AudioFilePacketTableInfo {
  SInt64 mNumberValidFrames;
  /// Frames before and after the valid ones.
  SInt32 mPrimingFrames;
  SInt32 mRemainderFrames;
};
typedef struct AudioFilePacketTableInfo AudioFilePacketTableInfo;

// MARK: Keys of the info dictionary

#define kAFInfoDictionary_Album "album"
#define kAFInfoDictionary_ApproximateDurationInSeconds "approximate duration in seconds"
#define kAFInfoDictionary_Artist "artist"
#define kAFInfoDictionary_ChannelLayout "channel layout"
#define kAFInfoDictionary_Comments "comments"
#define kAFInfoDictionary_Composer "composer"
#define kAFInfoDictionary_Copyright "copyright"
#define kAFInfoDictionary_EncodingApplication "encoding application"
#define kAFInfoDictionary_Genre "genre"
#define kAFInfoDictionary_ISRC "ISRC"
#define kAFInfoDictionary_KeySignature "key signature"
#define kAFInfoDictionary_Lyricist "lyricist"
#define kAFInfoDictionary_NominalBitRate "nominal bit rate"
#define kAFInfoDictionary_RecordedDate "recorded date"
#define kAFInfoDictionary_SourceBitDepth "source bit depth"
#define kAFInfoDictionary_SourceEncoder "source encoder"
#define kAFInfoDictionary_SubTitle "subtitle"
#define kAFInfoDictionary_Tempo "tempo"
#define kAFInfoDictionary_TimeSignature "time signature"
#define kAFInfoDictionary_Title "title"
#define kAFInfoDictionary_TrackNumber "track number"
#define kAFInfoDictionary_Year "year"

// MARK: Opening

/// Reads `requestCount` bytes from `inPosition` on into `buffer`; fewer only at the end.
typedef OSStatus (*AudioFile_ReadProc)(void *inClientData, SInt64 inPosition, UInt32 requestCount,
                                       void *buffer, UInt32 *actualCount);
/// Writes `requestCount` bytes from `inPosition` on.
typedef OSStatus (*AudioFile_WriteProc)(void *inClientData, SInt64 inPosition, UInt32 requestCount,
                                        const void *buffer, UInt32 *actualCount);
/// Returns the size of the file in bytes.
typedef SInt64 (*AudioFile_GetSizeProc)(void *inClientData);
/// Truncates the file, or extends it with zeros.
typedef OSStatus (*AudioFile_SetSizeProc)(void *inClientData, SInt64 inSize);

/// Creates a sound file. kAudioFileUnsupportedDataFormatError if the type cannot hold the format;
/// AudioFileGetGlobalInfo returns the formats of a type.
extern OSStatus AudioFileCreateWithURL(CFURLRef inFileRef, AudioFileTypeID inFileType,
                                       const AudioStreamBasicDescription *inFormat,
                                       AudioFileFlags inFlags,
                                       AudioFileID _Nullable *_Nonnull outAudioFile);

/// Opens a sound file. The type hint is only needed for a file that does not begin like others of
/// its type. Linear PCM opened for writing can be changed and extended; packets cannot.
extern OSStatus AudioFileOpenURL(CFURLRef inFileRef, AudioFilePermissions inPermissions,
                                 AudioFileTypeID inFileTypeHint,
                                 AudioFileID _Nullable *_Nonnull outAudioFile);

/// The same with references to files. Any thread that is not real time.
extern OSStatus AudioFileOpen(const FSRef *inFileRef, AudioFilePermissions inPermissions,
                              AudioFileTypeID inFileTypeHint,
                              AudioFileID _Nullable *_Nonnull outAudioFile);

/// Creates a new sound file in a folder; a file of that name must not exist.
///
/// - outNewFileRef: receives a reference to it.
extern OSStatus AudioFileCreate(const FSRef *inParentRef, CFStringRef inFileName,
                                AudioFileTypeID inFileType,
                                const AudioStreamBasicDescription *inFormat, AudioFileFlags inFlags,
                                FSRef *_Nullable outNewFileRef,
                                AudioFileID _Nullable *_Nonnull outAudioFile);

/// Empties a file that exists and makes it a sound file.
extern OSStatus AudioFileInitialize(const FSRef *inFileRef, AudioFileTypeID inFileType,
                                    const AudioStreamBasicDescription *inFormat,
                                    AudioFileFlags inFlags,
                                    AudioFileID _Nullable *_Nonnull outAudioFile);

/// Creates a sound file in a store that the caller's functions access, and empties the store. A
/// thread that calls a function here also runs the caller's functions: one at a time for each file,
/// and never after AudioFileClose. If they call a function with this file, it gives
/// kAudioFileOperationNotSupportedError. They must not wait for another thread that makes such a
/// call.
extern OSStatus AudioFileInitializeWithCallbacks(
    void *inClientData, AudioFile_ReadProc inReadFunc, AudioFile_WriteProc inWriteFunc,
    AudioFile_GetSizeProc inGetSizeFunc, AudioFile_SetSizeProc inSetSizeFunc,
    AudioFileTypeID inFileType, const AudioStreamBasicDescription *inFormat, AudioFileFlags inFlags,
    AudioFileID _Nullable *_Nonnull outAudioFile);

/// Opens a sound file in a store that the caller's functions access: for reading, and also for
/// writing if both functions for that are given.
extern OSStatus AudioFileOpenWithCallbacks(
    void *inClientData, AudioFile_ReadProc inReadFunc,
    AudioFile_WriteProc _Nullable inWriteFunc, AudioFile_GetSizeProc inGetSizeFunc,
    AudioFile_SetSizeProc _Nullable inSetSizeFunc, AudioFileTypeID inFileTypeHint,
    AudioFileID _Nullable *_Nonnull outAudioFile);

/// Completes a file that was written, and closes it. Its AudioFileID is never used again.
extern OSStatus AudioFileClose(AudioFileID inAudioFile);

/// Completes a file that was written, and moves all data after the sound in front of it. These are
/// chunks, and the tables of MPEG-4 and CAF files. A file of packets that is being created is
/// rearranged when it is closed.
///
/// The file is written to a new one beside it, which replaces it when complete. So after a crash
/// either the old or the new version exists. A file in the caller's own store has no name:
/// kAudioFileOperationNotSupportedError, unless there is nothing to do.
extern OSStatus AudioFileOptimize(AudioFileID inAudioFile);

// MARK: Reading and writing

/// Reads bytes of the sound. `*ioNumBytes` receives the number read; if that is less than
/// requested, the result is kAudioFileEndOfFileError.
extern OSStatus AudioFileReadBytes(AudioFileID inAudioFile, Boolean inUseCache,
                                   SInt64 inStartingByte, UInt32 *ioNumBytes,
                                   void *_Nullable outBuffer);

/// Writes bytes of the sound, over existing ones or after the last. For linear PCM only.
extern OSStatus AudioFileWriteBytes(AudioFileID inAudioFile, Boolean inUseCache,
                                    SInt64 inStartingByte, UInt32 *ioNumBytes,
                                    const void *_Nullable inBuffer);

/// Reads packets to `outBuffer`, which must have room for `*ioNumPackets` of them. Both counts
/// receive the numbers read: 0, with noErr, at the end of the file.
extern OSStatus
AudioFileReadPackets(AudioFileID inAudioFile, Boolean inUseCache, UInt32 *outNumBytes,
                     AudioStreamPacketDescription *_Nullable outPacketDescriptions,
                     SInt64 inStartingPacket, UInt32 *ioNumPackets, void *_Nullable outBuffer);

/// Reads packets to `outBuffer`, which has room for `*ioNumBytes` bytes: only whole packets that
/// fit.
extern OSStatus
AudioFileReadPacketData(AudioFileID inAudioFile, Boolean inUseCache, UInt32 *ioNumBytes,
                        AudioStreamPacketDescription *_Nullable outPacketDescriptions,
                        SInt64 inStartingPacket, UInt32 *ioNumPackets, void *_Nullable outBuffer);

/// Writes packets. Linear PCM can be written at any position. Other formats can only be appended,
/// with descriptions if the packet sizes vary. `*ioNumPackets` receives the number written. If all
/// packets have one size, their number counts, and `inNumBytes` is ignored.
extern OSStatus
AudioFileWritePackets(AudioFileID inAudioFile, Boolean inUseCache, UInt32 inNumBytes,
                      const AudioStreamPacketDescription *_Nullable inPacketDescriptions,
                      SInt64 inStartingPacket, UInt32 *ioNumPackets, const void *_Nullable inBuffer);

// MARK: User data: the chunks of AIFF, AIFC, CAF, WAVE, RF64 and Wave64 files

/// Returns the number of chunks with an id. Their indexes start at 0.
extern OSStatus AudioFileCountUserData(AudioFileID inAudioFile, UInt32 inUserDataID,
                                       UInt32 *outNumberItems);

/// Returns the size of a chunk in bytes.
extern OSStatus AudioFileGetUserDataSize(AudioFileID inAudioFile, UInt32 inUserDataID,
                                         UInt32 inIndex, UInt32 *outUserDataSize);

/// Copies a chunk, or as many of its bytes as `*ioUserDataSize` allows.
extern OSStatus AudioFileGetUserData(AudioFileID inAudioFile, UInt32 inUserDataID, UInt32 inIndex,
                                     UInt32 *ioUserDataSize, void *outUserData);

/// Replaces a chunk, or adds one if `inIndex` is the present number of chunks. Chunks that describe
/// the format or hold the sound cannot be set.
extern OSStatus AudioFileSetUserData(AudioFileID inAudioFile, UInt32 inUserDataID, UInt32 inIndex,
                                     UInt32 inUserDataSize, const void *inUserData);

/// Removes a chunk.
extern OSStatus AudioFileRemoveUserData(AudioFileID inAudioFile, UInt32 inUserDataID,
                                        UInt32 inIndex);

// MARK: Properties

/// Read-only, unless marked as settable.
CF_ENUM(AudioFilePropertyID) {
  /// AudioFileTypeID: type of the file. A WAVE file that exceeds 4 GiB becomes RF64.
  kAudioFilePropertyFileFormat = 'ffmt',
  /// AudioStreamBasicDescription: format of the sound.
  kAudioFilePropertyDataFormat = 'dfmt',
  /// AudioFormatListItem array: the formats that the sound can be decoded to, best first.
  kAudioFilePropertyFormatList = 'flst',
  /// UInt32: 1 if nothing follows the sound, so that the file can be played while it is read. For a
  /// file of packets that is being created: 1 if that will be so once it is closed.
  kAudioFilePropertyIsOptimized = 'optm',
  /// Bytes: magic cookie of the codec. Settable. Linear PCM has none, so reading is unsupported.
  /// Setting 0 bytes in a file open for writing gives noErr, because programs pass on the cookie of
  /// any recording.
  kAudioFilePropertyMagicCookieData = 'mgic',
  /// UInt64: bytes of sound.
  kAudioFilePropertyAudioDataByteCount = 'bcnt',
  /// UInt64: packets of sound. A packet of linear PCM is one frame.
  kAudioFilePropertyAudioDataPacketCount = 'pcnt',
  /// UInt32: bytes of the largest packet.
  kAudioFilePropertyMaximumPacketSize = 'psze',
  /// SInt64: offset of the sound in the file, in bytes.
  kAudioFilePropertyDataOffset = 'doff',
  /// AudioChannelLayout, if the file labels its channels. Its size varies. Settable; in WAVE, RF64
  /// and Wave64 files only if it is a set of speakers in standard order.
  kAudioFilePropertyChannelLayout = 'cmap',
  /// UInt32: 1 to update the sizes in the header after each second of sound, 0 after each write.
  /// Default 1. Settable.
  kAudioFilePropertyDeferSizeUpdates = 'dszu',
  /// CFStringRef: name of the format. The caller releases it.
  kAudioFilePropertyDataFormatName = 'fnme',
  /// AudioFileMarkerList, in AIFF, AIFC, CAF, WAVE and RF64 files. Settable.
  kAudioFilePropertyMarkerList = 'mkls',
  /// AudioFileRegionList, in CAF, WAVE and RF64 files. Settable.
  kAudioFilePropertyRegionList = 'rgls',
  /// AudioFramePacketTranslation: mPacket on entry, mFrame on return.
  kAudioFilePropertyPacketToFrame = 'pkfr',
  /// AudioFramePacketTranslation: mFrame on entry, mPacket and mFrameOffsetInPacket on return.
  kAudioFilePropertyFrameToPacket = 'frpk',
  /// UInt32: 1 if packets depend on earlier ones.
  kAudioFilePropertyRestrictsRandomAccess = 'rrap',
  /// AudioIndependentPacketTranslation: mPacket on entry. On return, the next packet after it that
  /// can be decoded without others; -1 if there is none.
  kAudioFilePropertyNextIndependentPacket = 'nind',
  /// AudioBytePacketTranslation: mPacket on entry, mByte on return.
  kAudioFilePropertyPacketToByte = 'pkby',
  /// AudioBytePacketTranslation: mByte on entry, mPacket and mByteOffsetInPacket on return.
  kAudioFilePropertyByteToPacket = 'bypk',
  /// UInt32 array: the ids of all chunks.
  kAudioFilePropertyChunkIDs = 'chid',
  /// CFDictionaryRef: the file's metadata, strings by the keys above. The caller releases it.
  /// Settable; keys that the file type cannot store are dropped.
  kAudioFilePropertyInfoDictionary = 'info',
  /// AudioFilePacketTableInfo: priming, valid and remainder frames. Settable in a file that is being
  /// written; until then all frames are valid.
  kAudioFilePropertyPacketTableInfo = 'pnfo',
  /// UInt32: upper bound of the packet size in bytes.
  kAudioFilePropertyPacketSizeUpperBound = 'pkub',
  /// Float64: seconds of sound that will be written. Settable before anything has been written.
  kAudioFilePropertyReserveDuration = 'rsrv',
  /// Float64: duration in seconds.
  kAudioFilePropertyEstimatedDuration = 'edur',
  /// UInt32: bits per second of sound.
  kAudioFilePropertyBitRate = 'brat',
  /// Bytes: the file's ID3 tag, unchanged.
  kAudioFilePropertyID3Tag = 'id3t',
  /// CFDataRef: the cover picture, as the bytes of an image file. The caller releases it.
  kAudioFilePropertyAlbumArtwork = 'aart',
  /// SInt32: significant bits of a sample; negative for floats.
  kAudioFilePropertySourceBitDepth = 'sbtd',
  /// UInt32: number of audio tracks that can be read: 1.
  kAudioFilePropertyAudioTrackCount = 'atct',
  /// UInt32: index of the track that is read: 0. Settable to that only.
  kAudioFilePropertyUseAudioTrack = 'uatk'
};

/// Returns the size of a property's value in bytes, and whether it can be set: 1 or 0.
extern OSStatus AudioFileGetPropertyInfo(AudioFileID inAudioFile, AudioFilePropertyID inPropertyID,
                                         UInt32 *_Nullable outDataSize,
                                         UInt32 *_Nullable isWritable);

/// Copies a property's value to `outPropertyData`, which has room for `*ioDataSize` bytes.
/// `*ioDataSize` receives the actual size.
extern OSStatus AudioFileGetProperty(AudioFileID inAudioFile, AudioFilePropertyID inPropertyID,
                                     UInt32 *ioDataSize, void *outPropertyData);

/// Sets a property.
extern OSStatus AudioFileSetProperty(AudioFileID inAudioFile, AudioFilePropertyID inPropertyID,
                                     UInt32 inDataSize, const void *inPropertyData);

// MARK: Global info

/// A file type and a format.
struct AudioFileTypeAndFormatID {
  AudioFileTypeID mFileType;
  AudioFormatID mFormatID;
};
typedef struct AudioFileTypeAndFormatID AudioFileTypeAndFormatID;

/// Each takes a specifier as input. The caller releases arrays and strings that it reads.
CF_ENUM(AudioFilePropertyID) {
  /// UInt32 arrays: file types that can be read, and that can be written. No specifier.
  kAudioFileGlobalInfo_ReadableTypes = 'afrf',
  kAudioFileGlobalInfo_WritableTypes = 'afwf',
  /// CFStringRef: the name of an AudioFileTypeID.
  kAudioFileGlobalInfo_FileTypeName = 'ftnm',
  /// AudioStreamBasicDescription array: the descriptions with which an AudioFileTypeAndFormatID can
  /// be written. Rates and channels are 0.
  kAudioFileGlobalInfo_AvailableStreamDescriptionsForFormat = 'sdid',
  /// UInt32 array: the formats that an AudioFileTypeID can be written with.
  kAudioFileGlobalInfo_AvailableFormatIDs = 'fmid',
  /// UInt32 arrays: HFS type codes of all file types, without a specifier; and of an
  /// AudioFileTypeID.
  kAudioFileGlobalInfo_AllHFSTypeCodes = 'ahfs',
  kAudioFileGlobalInfo_HFSTypeCodesForType = 'fhfs',
  /// AudioFileTypeID array: the file types of such a code, a UInt32.
  kAudioFileGlobalInfo_TypesForHFSTypeCode = 'thfs',
  /// CFArrayRef of CFStringRef: file name extensions, UTIs and MIME types of all file types. No
  /// specifier.
  kAudioFileGlobalInfo_AllExtensions = 'alxt',
  kAudioFileGlobalInfo_AllUTIs = 'auti',
  kAudioFileGlobalInfo_AllMIMETypes = 'amim',
  /// The same for an AudioFileTypeID.
  kAudioFileGlobalInfo_ExtensionsForType = 'fext',
  kAudioFileGlobalInfo_UTIsForType = 'futi',
  kAudioFileGlobalInfo_MIMETypesForType = 'fmim',
  /// AudioFileTypeID array: the file types of a MIME type, UTI or extension, a CFStringRef.
  kAudioFileGlobalInfo_TypesForMIMEType = 'tmim',
  kAudioFileGlobalInfo_TypesForUTI = 'tuti',
  kAudioFileGlobalInfo_TypesForExtension = 'text'
};

/// Returns the size of a value in bytes.
extern OSStatus AudioFileGetGlobalInfoSize(AudioFilePropertyID inPropertyID, UInt32 inSpecifierSize,
                                           void *_Nullable inSpecifier, UInt32 *outDataSize);

/// Copies a value to `outPropertyData`, which has room for `*ioDataSize` bytes. `*ioDataSize`
/// receives the actual size. Of an array, as many whole items are copied as there is room for.
extern OSStatus AudioFileGetGlobalInfo(AudioFilePropertyID inPropertyID, UInt32 inSpecifierSize,
                                       void *_Nullable inSpecifier, UInt32 *ioDataSize,
                                       void *outPropertyData);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
