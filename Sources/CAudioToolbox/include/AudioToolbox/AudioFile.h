// Sound files. Linear PCM in AIFF, AIFC, CAF, WAVE, RF64, Wave64 and NeXT files can be read.
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
  kAudioFileNextType = 'NeXT',
  kAudioFileMP3Type = 'MPG3',
  kAudioFileMP2Type = 'MPG2',
  kAudioFileMP1Type = 'MPG1',
  kAudioFileAC3Type = 'ac-3',
  kAudioFileAAC_ADTSType = 'adts',
  kAudioFileMPEG4Type = 'mp4f',
  kAudioFileM4AType = 'm4af',
  kAudioFileM4BType = 'm4bf',
  kAudioFile3GPType = '3gpp',
  kAudioFile3GP2Type = '3gp2',
  kAudioFileAMRType = 'amrf',
  kAudioFileFLACType = 'flac',
  kAudioFileCAFType = 'caff'
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
  kAudioFileFileNotFoundError = -43
};

/// What a file is opened for: reading, so far. Takes a plain integer too.
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

/// Which of the frames that a file's packets decode to are sound.
struct AudioFilePacketTableInfo {
  SInt64 mNumberValidFrames;
  SInt32 mPrimingFrames;
  SInt32 mRemainderFrames;
};
typedef struct AudioFilePacketTableInfo AudioFilePacketTableInfo;

/// A frame and the packet that it belongs to.
struct AudioFramePacketTranslation {
  SInt64 mFrame;
  SInt64 mPacket;
  UInt32 mFrameOffsetInPacket;
};
typedef struct AudioFramePacketTranslation AudioFramePacketTranslation;

typedef CF_OPTIONS(UInt32, AudioBytePacketTranslationFlags) {
  kBytePacketTranslationFlag_IsEstimate = 1
};

/// A byte and the packet that it belongs to.
struct AudioBytePacketTranslation {
  SInt64 mByte;
  SInt64 mPacket;
  UInt32 mByteOffsetInPacket;
  AudioBytePacketTranslationFlags mFlags;
};
typedef struct AudioBytePacketTranslation AudioBytePacketTranslation;

/// All of them are read-only.
CF_ENUM(AudioFilePropertyID) {
  /// AudioFileTypeID: the kind of the file.
  kAudioFilePropertyFileFormat = 'ffmt',
  /// AudioStreamBasicDescription: how the sound is coded.
  kAudioFilePropertyDataFormat = 'dfmt',
  /// Bytes that a decoder needs first. Linear PCM has none: unsupported.
  kAudioFilePropertyMagicCookieData = 'mgic',
  /// UInt64: bytes of sound.
  kAudioFilePropertyAudioDataByteCount = 'bcnt',
  /// UInt64: packets of sound. A packet of linear PCM is one frame.
  kAudioFilePropertyAudioDataPacketCount = 'pcnt',
  /// UInt32: bytes of the largest packet.
  kAudioFilePropertyMaximumPacketSize = 'psze',
  /// AudioChannelLayout, if the file says which channel is which. Its size varies.
  kAudioFilePropertyChannelLayout = 'cmap',
  /// UInt32: bytes that no packet exceeds.
  kAudioFilePropertyPacketSizeUpperBound = 'pkub',
  /// Float64: duration in seconds.
  kAudioFilePropertyEstimatedDuration = 'edur',
  /// UInt32: bits per second of sound.
  kAudioFilePropertyBitRate = 'brat'
};

/// Opens a sound file. The type hint is not needed: files are recognised by what is in them. Any
/// thread; reads the file's head.
extern OSStatus AudioFileOpenURL(CFURLRef inFileRef, AudioFilePermissions inPermissions,
                                 AudioFileTypeID inFileTypeHint,
                                 AudioFileID _Nullable *_Nonnull outAudioFile);

/// Closes a file. Its AudioFileID is never used again for another one. Any thread.
extern OSStatus AudioFileClose(AudioFileID inAudioFile);

/// Reads packets into `outBuffer`, which must have room for `*ioNumPackets` of them. Both counts
/// come back as what was read: 0, with noErr, at the end of the file. Any thread.
extern OSStatus
AudioFileReadPackets(AudioFileID inAudioFile, Boolean inUseCache, UInt32 *outNumBytes,
                     AudioStreamPacketDescription *_Nullable outPacketDescriptions,
                     SInt64 inStartingPacket, UInt32 *ioNumPackets, void *_Nullable outBuffer);

/// The same, but `*ioNumBytes` says how much room `outBuffer` has: no more whole packets are read
/// than fit. Any thread.
extern OSStatus
AudioFileReadPacketData(AudioFileID inAudioFile, Boolean inUseCache, UInt32 *ioNumBytes,
                        AudioStreamPacketDescription *_Nullable outPacketDescriptions,
                        SInt64 inStartingPacket, UInt32 *ioNumPackets, void *_Nullable outBuffer);

/// Tells the size of a property's value in bytes, and whether it can be set (it cannot). Any thread.
extern OSStatus AudioFileGetPropertyInfo(AudioFileID inAudioFile, AudioFilePropertyID inPropertyID,
                                         UInt32 *_Nullable outDataSize,
                                         UInt32 *_Nullable isWritable);

/// Copies a property's value into `outPropertyData`, which has room for `*ioDataSize` bytes; the
/// true size comes back. Any thread.
extern OSStatus AudioFileGetProperty(AudioFileID inAudioFile, AudioFilePropertyID inPropertyID,
                                     UInt32 *ioDataSize, void *outPropertyData);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
