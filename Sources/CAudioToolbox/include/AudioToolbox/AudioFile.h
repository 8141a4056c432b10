// Sound files: linear PCM in AIFF, AIFC, CAF, WAVE, RF64, Wave64 and NeXT files, and packets of codecs in
// CAF, MPEG-4, ADTS, MPEG layer 1 to 3, AC-3, FLAC, Ogg, AMR and 3GPP files. Any thread may call these
// functions, but none in real time: they wait for the disk.
#ifndef CUEJACK_AUDIOFILE_H
#define CUEJACK_AUDIOFILE_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// The kind of a file: how the data is wrapped, not how the sound is coded.
typedef UInt32 AudioFileTypeID;

CF_ENUM(AudioFileTypeID) {
  kAudioFileAIFFType = 'AIFF',
  kAudioFileAIFCType = 'AIFC',
  kAudioFileWAVEType = 'WAVE',
  kAudioFileRF64Type = 'RF64',
  kAudioFileWave64Type = 'W64f',
  /// A name that programs know; such files, half of which is in a resource fork, are neither read nor
  /// written: kAudioFileUnsupportedFileTypeError.
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
  /// Ogg has no name in Apple's headers; this is the one that their tools show. Streams that follow each
  /// other in a file are read as one as long as their codec, rate and channels are the same. Where pages
  /// were lost, packets without bytes stand for them, and count as many frames.
  kAudioFileOggType = 'Oggf'
};

CF_ENUM(OSStatus) {
  /// Something failed that no other code names; the log says what.
  kAudioFileUnspecifiedError = 0x7768743F, // 'wht?'
  /// The file is of a kind that cannot be read.
  kAudioFileUnsupportedFileTypeError = 'typ?',
  /// The sound in the file is coded in a way that cannot be read.
  kAudioFileUnsupportedDataFormatError = 'fmt?',
  /// The file has no such property.
  kAudioFileUnsupportedPropertyError = 'pty?',
  /// The memory given is smaller than the property's value.
  kAudioFileBadPropertySizeError = '!siz',
  /// The file may not be opened like that.
  kAudioFilePermissionsError = 'prm?',
  /// The file must be rearranged before this can be done.
  kAudioFileNotOptimizedError = 'optm',
  /// A chunk is missing or makes no sense.
  kAudioFileInvalidChunkError = 'chk?',
  /// The file would outgrow its kind.
  kAudioFileDoesNotAllow64BitDataSizeError = 'off?',
  /// A packet's offset makes no sense.
  kAudioFileInvalidPacketOffsetError = 'pck?',
  /// A packet's dependency makes no sense.
  kAudioFileInvalidPacketDependencyError = 'dep?',
  /// The file is damaged, or is no sound file.
  kAudioFileInvalidFileError = 'dta?',
  /// This cannot be done to this file.
  kAudioFileOperationNotSupportedError = 0x6F703F3F,
  /// The AudioFileID is not that of an open file.
  kAudioFileNotOpenError = -38,
  /// Nothing is left to read.
  kAudioFileEndOfFileError = -39,
  /// The position lies before the file's start.
  kAudioFilePositionError = -40,
  /// There is no such file.
  kAudioFileFileNotFoundError = -43,
  /// The disk is full. What was written is kept.
  dskFulErr = -34
};

/// What a file is opened for. Takes a plain integer too.
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

/// An open file. Only the functions below know what is behind it.
typedef struct OpaqueAudioFileID *AudioFileID;
typedef UInt32 AudioFilePropertyID;

/// How a new file is made.
typedef CF_OPTIONS(UInt32, AudioFileFlags) {
  /// A file of that name is emptied. Without it, one that exists is an error.
  kAudioFileFlags_EraseFile = 1,
  /// The sound follows the head at once. Without it, it begins at a multiple of 4096 bytes in those
  /// kinds of linear PCM that can fill the room.
  kAudioFileFlags_DontPageAlignAudioData = 2
};

/// How an AIFF or CAF loop goes.
enum {
  kAudioFileLoopDirection_NoLooping = 0,
  kAudioFileLoopDirection_Forward = 1,
  kAudioFileLoopDirection_ForwardAndBackward = 2,
  kAudioFileLoopDirection_Backward = 3
};

// MARK: Markers and regions

/// A SMPTE time and frames of sound beyond it. All bits set in the first four fields, and in the last:
/// no time.
struct AudioFile_SMPTE_Time {
  SInt8 mHours;
  UInt8 mMinutes;
  UInt8 mSeconds;
  UInt8 mFrames;
  UInt32 mSubFrameSampleOffset;
};
typedef struct AudioFile_SMPTE_Time AudioFile_SMPTE_Time;

/// Types of markers. CAF files know others, as four characters.
CF_ENUM(UInt32) { kAudioFileMarkerType_Generic = 0 };

/// A place in the sound.
struct AudioFileMarker {
  /// Frames from the start.
  Float64 mFramePosition;
  /// May be NULL. One that is got is the caller's to release.
  CFStringRef _Nullable mName;
  SInt32 mMarkerID;
  AudioFile_SMPTE_Time mSMPTETime;
  UInt32 mType;
  UInt16 mReserved;
  /// From 1; 0 for all.
  UInt16 mChannel;
};
typedef struct AudioFileMarker AudioFileMarker;

/// mNumberMarkers markers, one after another.
struct AudioFileMarkerList {
  /// How SMPTE times count frames: a SMPTETimeType.
  UInt32 mSMPTE_TimeType;
  UInt32 mNumberMarkers;
  AudioFileMarker mMarkers[1];
};
typedef struct AudioFileMarkerList AudioFileMarkerList;

/// Markers that fit into a list of so many bytes.
CF_INLINE size_t NumBytesToNumAudioFileMarkers(size_t inNumBytes) {
  return inNumBytes < offsetof(AudioFileMarkerList, mMarkers)
             ? 0
             : (inNumBytes - offsetof(AudioFileMarkerList, mMarkers)) / sizeof(AudioFileMarker);
}

/// Bytes of a list of so many markers.
CF_INLINE size_t NumAudioFileMarkersToNumBytes(size_t inNumMarkers) {
  return offsetof(AudioFileMarkerList, mMarkers) + inNumMarkers * sizeof(AudioFileMarker);
}

/// How a region is played.
typedef CF_OPTIONS(UInt32, AudioFileRegionFlags) {
  kAudioFileRegionFlag_LoopEnable = 1,
  kAudioFileRegionFlag_PlayForward = 2,
  kAudioFileRegionFlag_PlayBackward = 4
};

/// A stretch of the sound, from its first marker to its last.
struct AudioFileRegion {
  UInt32 mRegionID;
  /// May be NULL. One that is got is the caller's to release.
  CFStringRef _Nullable mName;
  AudioFileRegionFlags mFlags;
  UInt32 mNumberMarkers;
  AudioFileMarker mMarkers[1];
};
typedef struct AudioFileRegion AudioFileRegion;

/// mNumberRegions regions, one after another, each as long as its markers make it.
struct AudioFileRegionList {
  UInt32 mSMPTE_TimeType;
  UInt32 mNumberRegions;
  AudioFileRegion mRegions[1];
};
typedef struct AudioFileRegionList AudioFileRegionList;

/// The region after `inAFRegionPtr` in a list.
CF_INLINE AudioFileRegion *NextAudioFileRegion(const AudioFileRegion *inAFRegionPtr) {
  return (AudioFileRegion *)(void *)((char *)(uintptr_t)inAFRegionPtr +
                                     offsetof(AudioFileRegion, mMarkers) +
                                     inAFRegionPtr->mNumberMarkers * sizeof(AudioFileMarker));
}

// MARK: Places

/// A packet and a frame, of which one is asked for.
struct AudioFramePacketTranslation {
  SInt64 mFrame;
  SInt64 mPacket;
  /// Frames from the packet's first to mFrame.
  UInt32 mFrameOffsetInPacket;
};
typedef struct AudioFramePacketTranslation AudioFramePacketTranslation;

typedef CF_OPTIONS(UInt32, AudioBytePacketTranslationFlags) {
  /// Asked with: a guess will do. Answered with: it is one.
  kBytePacketTranslationFlag_IsEstimate = 1
};

/// A packet and a byte of the sound, of which one is asked for.
struct AudioBytePacketTranslation {
  SInt64 mByte;
  SInt64 mPacket;
  /// Bytes from the packet's first to mByte.
  UInt32 mByteOffsetInPacket;
  AudioBytePacketTranslationFlags mFlags;
};
typedef struct AudioBytePacketTranslation AudioBytePacketTranslation;

/// A packet, and the next one that can be decoded without those before it.
struct AudioIndependentPacketTranslation {
  SInt64 mPacket;
  SInt64 mIndependentlyDecodablePacket;
};
typedef struct AudioIndependentPacketTranslation AudioIndependentPacketTranslation;

/// Which of the frames that the packets decode to are sound.
struct AudioFilePacketTableInfo {
  SInt64 mNumberValidFrames;
  /// Frames before and after those.
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
/// Bytes of the file.
typedef SInt64 (*AudioFile_GetSizeProc)(void *inClientData);
/// Cuts the file, or has it grow with zeros.
typedef OSStatus (*AudioFile_SetSizeProc)(void *inClientData, SInt64 inSize);

/// Makes a sound file. kAudioFileUnsupportedDataFormatError if its kind does not hold such sound: what
/// it holds, AudioFileGetGlobalInfo tells.
extern OSStatus AudioFileCreateWithURL(CFURLRef inFileRef, AudioFileTypeID inFileType,
                                       const AudioStreamBasicDescription *inFormat,
                                       AudioFileFlags inFlags,
                                       AudioFileID _Nullable *_Nonnull outAudioFile);

/// Opens a sound file. The type hint is needed only where a file does not begin as others of its kind
/// do. Linear PCM opened for writing can be changed and gone on with; packets cannot.
extern OSStatus AudioFileOpenURL(CFURLRef inFileRef, AudioFilePermissions inPermissions,
                                 AudioFileTypeID inFileTypeHint,
                                 AudioFileID _Nullable *_Nonnull outAudioFile);

/// Makes a sound file out of what the caller's functions keep, which is emptied. They are called on
/// the threads that call functions here, one at a time for each file, and not after AudioFileClose. A call
/// that they make with this very file gives kAudioFileOperationNotSupportedError; they must not wait for
/// another thread that makes one.
extern OSStatus AudioFileInitializeWithCallbacks(
    void *inClientData, AudioFile_ReadProc inReadFunc, AudioFile_WriteProc inWriteFunc,
    AudioFile_GetSizeProc inGetSizeFunc, AudioFile_SetSizeProc inSetSizeFunc,
    AudioFileTypeID inFileType, const AudioStreamBasicDescription *inFormat, AudioFileFlags inFlags,
    AudioFileID _Nullable *_Nonnull outAudioFile);

/// Opens a sound file that the caller's functions keep: for reading, and for writing if both functions
/// for that are there.
extern OSStatus AudioFileOpenWithCallbacks(
    void *inClientData, AudioFile_ReadProc inReadFunc,
    AudioFile_WriteProc _Nullable inWriteFunc, AudioFile_GetSizeProc inGetSizeFunc,
    AudioFile_SetSizeProc _Nullable inSetSizeFunc, AudioFileTypeID inFileTypeHint,
    AudioFileID _Nullable *_Nonnull outAudioFile);

/// Completes a file that was written, and closes it. Its AudioFileID is never used again for another
/// one.
extern OSStatus AudioFileClose(AudioFileID inAudioFile);

/// Completes a file that was written, and moves what comes after its sound before it: chunks, and the tables
/// of MPEG-4 and CAF files; with a file of packets that is being made, that happens when it is closed. The file
/// is written anew beside itself, so that a kill leaves it as it was or as it is to be, and takes its old name
/// when it is complete. A file that the app keeps itself has no name:
/// kAudioFileOperationNotSupportedError, unless there is nothing to do.
extern OSStatus AudioFileOptimize(AudioFileID inAudioFile);

// MARK: Reading and writing

/// Reads bytes of the sound. `*ioNumBytes` comes back as what was read; if that is less than was asked
/// for, the result is kAudioFileEndOfFileError.
extern OSStatus AudioFileReadBytes(AudioFileID inAudioFile, Boolean inUseCache,
                                   SInt64 inStartingByte, UInt32 *ioNumBytes,
                                   void *_Nullable outBuffer);

/// Writes bytes of the sound, over others or behind the last. Only linear PCM takes that.
extern OSStatus AudioFileWriteBytes(AudioFileID inAudioFile, Boolean inUseCache,
                                    SInt64 inStartingByte, UInt32 *ioNumBytes,
                                    const void *_Nullable inBuffer);

/// Reads packets into `outBuffer`, which must have room for `*ioNumPackets` of them. Both counts
/// come back as what was read: 0, with noErr, at the end of the file.
extern OSStatus
AudioFileReadPackets(AudioFileID inAudioFile, Boolean inUseCache, UInt32 *outNumBytes,
                     AudioStreamPacketDescription *_Nullable outPacketDescriptions,
                     SInt64 inStartingPacket, UInt32 *ioNumPackets, void *_Nullable outBuffer);

/// The same, but `*ioNumBytes` says how much room `outBuffer` has: no more whole packets are read
/// than fit.
extern OSStatus
AudioFileReadPacketData(AudioFileID inAudioFile, Boolean inUseCache, UInt32 *ioNumBytes,
                        AudioStreamPacketDescription *_Nullable outPacketDescriptions,
                        SInt64 inStartingPacket, UInt32 *ioNumPackets, void *_Nullable outBuffer);

/// Writes packets. Linear PCM takes them at any place, other formats behind the last only, and with
/// descriptions if their sizes vary. `*ioNumPackets` comes back as what was written.
extern OSStatus
AudioFileWritePackets(AudioFileID inAudioFile, Boolean inUseCache, UInt32 inNumBytes,
                      const AudioStreamPacketDescription *_Nullable inPacketDescriptions,
                      SInt64 inStartingPacket, UInt32 *ioNumPackets, const void *_Nullable inBuffer);

// MARK: User data: the chunks of AIFF, AIFC, CAF, WAVE, RF64 and Wave64 files

/// Tells how many chunks of an id there are. They are numbered from 0 on.
extern OSStatus AudioFileCountUserData(AudioFileID inAudioFile, UInt32 inUserDataID,
                                       UInt32 *outNumberItems);

/// Tells the size of a chunk in bytes.
extern OSStatus AudioFileGetUserDataSize(AudioFileID inAudioFile, UInt32 inUserDataID,
                                         UInt32 inIndex, UInt32 *outUserDataSize);

/// Copies a chunk, or as many of its bytes as `*ioUserDataSize` says there is room for.
extern OSStatus AudioFileGetUserData(AudioFileID inAudioFile, UInt32 inUserDataID, UInt32 inIndex,
                                     UInt32 *ioUserDataSize, void *outUserData);

/// Replaces a chunk, or adds one if `inIndex` is the number of those that there are. Those that say how
/// and where the sound is are not set like this.
extern OSStatus AudioFileSetUserData(AudioFileID inAudioFile, UInt32 inUserDataID, UInt32 inIndex,
                                     UInt32 inUserDataSize, const void *inUserData);

/// Takes a chunk away.
extern OSStatus AudioFileRemoveUserData(AudioFileID inAudioFile, UInt32 inUserDataID,
                                        UInt32 inIndex);

// MARK: Properties

/// Those that can be set are marked so.
CF_ENUM(AudioFilePropertyID) {
  /// AudioFileTypeID: the kind of the file. A WAVE file that outgrows 4 GiB becomes RF64.
  kAudioFilePropertyFileFormat = 'ffmt',
  /// AudioStreamBasicDescription: how the sound is coded.
  kAudioFilePropertyDataFormat = 'dfmt',
  /// AudioFormatListItem array: the formats that the sound can be decoded as, the best first.
  kAudioFilePropertyFormatList = 'flst',
  /// UInt32: 1 if nothing comes after the sound, which then can be played as it is read; of a file of packets
  /// that is being made, if that will be so when it is closed.
  kAudioFilePropertyIsOptimized = 'optm',
  /// Bytes that a decoder needs first. Can be set. Linear PCM has none: unsupported, but setting no bytes in a
  /// file for writing is noErr, as programs hand on the cookie of any recording.
  kAudioFilePropertyMagicCookieData = 'mgic',
  /// UInt64: bytes of sound.
  kAudioFilePropertyAudioDataByteCount = 'bcnt',
  /// UInt64: packets of sound. A packet of linear PCM is one frame.
  kAudioFilePropertyAudioDataPacketCount = 'pcnt',
  /// UInt32: bytes of the largest packet.
  kAudioFilePropertyMaximumPacketSize = 'psze',
  /// SInt64: where the sound begins in the file.
  kAudioFilePropertyDataOffset = 'doff',
  /// AudioChannelLayout, if the file says which channel is which. Its size varies. Can be set: in
  /// WAVE, RF64 and Wave64 files if it is a set of speakers in their order.
  kAudioFilePropertyChannelLayout = 'cmap',
  /// UInt32: 1, which it is at first, to bring the sizes in the head up to date with each second of
  /// sound; 0 for each write. Can be set.
  kAudioFilePropertyDeferSizeUpdates = 'dszu',
  /// CFStringRef of the caller's: the format's name.
  kAudioFilePropertyDataFormatName = 'fnme',
  /// AudioFileMarkerList, in AIFF, AIFC, CAF, WAVE and RF64 files. Can be set.
  kAudioFilePropertyMarkerList = 'mkls',
  /// AudioFileRegionList, in CAF, WAVE and RF64 files. Can be set.
  kAudioFilePropertyRegionList = 'rgls',
  /// AudioFramePacketTranslation: mPacket comes, mFrame goes.
  kAudioFilePropertyPacketToFrame = 'pkfr',
  /// AudioFramePacketTranslation: mFrame comes, mPacket and mFrameOffsetInPacket go.
  kAudioFilePropertyFrameToPacket = 'frpk',
  /// UInt32: 1 if packets depend on others before them.
  kAudioFilePropertyRestrictsRandomAccess = 'rrap',
  /// AudioIndependentPacketTranslation: mPacket comes, the next packet after it that can be decoded
  /// without others goes; -1 if there is none.
  kAudioFilePropertyNextIndependentPacket = 'nind',
  /// AudioBytePacketTranslation: mPacket comes, mByte goes.
  kAudioFilePropertyPacketToByte = 'pkby',
  /// AudioBytePacketTranslation: mByte comes, mPacket and mByteOffsetInPacket go.
  kAudioFilePropertyByteToPacket = 'bypk',
  /// UInt32 array: the ids of all chunks.
  kAudioFilePropertyChunkIDs = 'chid',
  /// CFDictionaryRef of the caller's: what the file says of itself, strings by the keys above. Can be
  /// set; keys that the kind of file has no place for are left out.
  kAudioFilePropertyInfoDictionary = 'info',
  /// AudioFilePacketTableInfo. Can be set.
  kAudioFilePropertyPacketTableInfo = 'pnfo',
  /// UInt32: bytes that no packet exceeds.
  kAudioFilePropertyPacketSizeUpperBound = 'pkub',
  /// Float64: seconds of sound that will be written, of a file that nothing was written to yet. Can
  /// be set.
  kAudioFilePropertyReserveDuration = 'rsrv',
  /// Float64: duration in seconds.
  kAudioFilePropertyEstimatedDuration = 'edur',
  /// UInt32: bits per second of sound.
  kAudioFilePropertyBitRate = 'brat',
  /// The tag of ID3 in the file, byte for byte.
  kAudioFilePropertyID3Tag = 'id3t',
  /// CFDataRef of the caller's: the picture that goes with the sound, as a file of its own.
  kAudioFilePropertyAlbumArtwork = 'aart',
  /// SInt32: significant bits of a sample; negative for floats.
  kAudioFilePropertySourceBitDepth = 'sbtd',
  /// UInt32: tracks of sound that can be read: 1.
  kAudioFilePropertyAudioTrackCount = 'atct',
  /// UInt32: the track that is read: 0. Can be set to that.
  kAudioFilePropertyUseAudioTrack = 'uatk'
};

/// Tells the size of a property's value in bytes, and whether it can be set: 1 or 0.
extern OSStatus AudioFileGetPropertyInfo(AudioFileID inAudioFile, AudioFilePropertyID inPropertyID,
                                         UInt32 *_Nullable outDataSize,
                                         UInt32 *_Nullable isWritable);

/// Copies a property's value into `outPropertyData`, which has room for `*ioDataSize` bytes; the
/// true size comes back.
extern OSStatus AudioFileGetProperty(AudioFileID inAudioFile, AudioFilePropertyID inPropertyID,
                                     UInt32 *ioDataSize, void *outPropertyData);

/// Sets a property.
extern OSStatus AudioFileSetProperty(AudioFileID inAudioFile, AudioFilePropertyID inPropertyID,
                                     UInt32 inDataSize, const void *inPropertyData);

// MARK: What there is

/// A kind of file and a format.
struct AudioFileTypeAndFormatID {
  AudioFileTypeID mFileType;
  AudioFormatID mFormatID;
};
typedef struct AudioFileTypeAndFormatID AudioFileTypeAndFormatID;

/// What is asked with is the specifier. Arrays and strings that are got are the caller's to release.
CF_ENUM(AudioFilePropertyID) {
  /// UInt32 array: the kinds that can be read, and written. No specifier.
  kAudioFileGlobalInfo_ReadableTypes = 'afrf',
  kAudioFileGlobalInfo_WritableTypes = 'afwf',
  /// CFStringRef: the name of an AudioFileTypeID.
  kAudioFileGlobalInfo_FileTypeName = 'ftnm',
  /// AudioStreamBasicDescription array: what an AudioFileTypeAndFormatID can be written as. Rates and
  /// channels are 0.
  kAudioFileGlobalInfo_AvailableStreamDescriptionsForFormat = 'sdid',
  /// UInt32 array: the formats that an AudioFileTypeID can be written with.
  kAudioFileGlobalInfo_AvailableFormatIDs = 'fmid',
  /// UInt32 array: the type codes that HFS has for all kinds, no specifier; for an AudioFileTypeID.
  kAudioFileGlobalInfo_AllHFSTypeCodes = 'ahfs',
  kAudioFileGlobalInfo_HFSTypeCodesForType = 'fhfs',
  /// AudioFileTypeID array: the kinds that such a code, a UInt32, is for.
  kAudioFileGlobalInfo_TypesForHFSTypeCode = 'thfs',
  /// CFArrayRef of CFStringRef: file name extensions, UTIs, MIME types of all kinds. No specifier.
  kAudioFileGlobalInfo_AllExtensions = 'alxt',
  kAudioFileGlobalInfo_AllUTIs = 'auti',
  kAudioFileGlobalInfo_AllMIMETypes = 'amim',
  /// The same of an AudioFileTypeID.
  kAudioFileGlobalInfo_ExtensionsForType = 'fext',
  kAudioFileGlobalInfo_UTIsForType = 'futi',
  kAudioFileGlobalInfo_MIMETypesForType = 'fmim',
  /// AudioFileTypeID array: the kinds that a CFStringRef names.
  kAudioFileGlobalInfo_TypesForMIMEType = 'tmim',
  kAudioFileGlobalInfo_TypesForUTI = 'tuti',
  kAudioFileGlobalInfo_TypesForExtension = 'text'
};

/// Tells the size of a value in bytes.
extern OSStatus AudioFileGetGlobalInfoSize(AudioFilePropertyID inPropertyID, UInt32 inSpecifierSize,
                                           void *_Nullable inSpecifier, UInt32 *outDataSize);

/// Copies a value into `outPropertyData`, which has room for `*ioDataSize` bytes; the true size comes
/// back.
extern OSStatus AudioFileGetGlobalInfo(AudioFilePropertyID inPropertyID, UInt32 inSpecifierSize,
                                       void *_Nullable inSpecifier, UInt32 *ioDataSize,
                                       void *outPropertyData);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
