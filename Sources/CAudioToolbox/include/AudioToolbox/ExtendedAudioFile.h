// Sound files that are read and written as linear PCM, whatever they hold: a file and a converter in
// one.
//
// One thread at a time may use an ExtAudioFileRef. These functions wait for the disk, but for
// ExtAudioFileWriteAsync.
#ifndef CUEJACK_EXTENDEDAUDIOFILE_H
#define CUEJACK_EXTENDEDAUDIOFILE_H

#include "../CoreAudioTypes/CoreAudioTypes.h"
#include "AudioFile.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// An open file with its converter. Only the functions below know what is behind it.
typedef struct OpaqueExtAudioFile *ExtAudioFileRef;
typedef UInt32 ExtAudioFilePropertyID;

CF_ENUM(OSStatus) {
  /// There is no such property, or it cannot be set.
  kExtAudioFileError_InvalidProperty = -66561,
  /// The size given is not that of the property's value.
  kExtAudioFileError_InvalidPropertySize = -66562,
  /// The client's format must be linear PCM.
  kExtAudioFileError_NonPCMClientFormat = -66563,
  /// The channels do not fit the format.
  kExtAudioFileError_InvalidChannelMap = -66564,
  /// Something else must be done first.
  kExtAudioFileError_InvalidOperationOrder = -66565,
  /// The format is not one that this can be done with.
  kExtAudioFileError_InvalidDataFormat = -66566,
  /// Nobody knows how long a packet may be.
  kExtAudioFileError_MaxPacketSizeUnknown = -66567,
  /// There is no such place in the file, or it is open for writing.
  kExtAudioFileError_InvalidSeek = -66568,
  /// More frames than are held at the most.
  kExtAudioFileError_AsyncWriteTooLarge = -66569,
  /// The disk could not keep up: these frames are not written.
  kExtAudioFileError_AsyncWriteBufferOverflow = -66570
};

CF_ENUM(ExtAudioFilePropertyID) {
  /// AudioStreamBasicDescription, read-only: what the file holds.
  kExtAudioFileProperty_FileDataFormat = 'ffmt',
  /// AudioChannelLayout: the file's channels, if it tells. Its size varies. Setting it writes it to a file
  /// that is made, if that has a place for layouts; a file that is read is taken to have it.
  kExtAudioFileProperty_FileChannelLayout = 'fclo',
  /// AudioStreamBasicDescription: linear PCM, interleaved or not, that is read or written. To be set
  /// first if the file holds packets; else it begins with the file's own.
  kExtAudioFileProperty_ClientDataFormat = 'cfmt',
  /// AudioChannelLayout of that, which begins as the file's. Its size varies. Once it is set, each channel
  /// goes to the one of the file that is for the same, or comes from there. Where the numbers of channels
  /// differ, the converter's kAudioConverterPropertyPerformDownmix mixes.
  kExtAudioFileProperty_ClientChannelLayout = 'cclo',
  /// UInt32: whose codec to use. There is one of each, by kAppleSoftwareAudioCodecManufacturer.
  kExtAudioFileProperty_CodecManufacturer = 'cman',
  /// AudioConverterRef, read-only: the converter, whose properties may be set. Not to be disposed of.
  kExtAudioFileProperty_AudioConverter = 'acnv',
  /// AudioFileID, read-only: the file. Not to be closed.
  kExtAudioFileProperty_AudioFile = 'afil',
  /// UInt32, read-only: the most bytes that a packet of the file can have.
  kExtAudioFileProperty_FileMaxPacketSize = 'fmps',
  /// UInt32, read-only: bytes of a frame of the client's, in each buffer.
  kExtAudioFileProperty_ClientMaxPacketSize = 'cmps',
  /// SInt64, read-only: frames of sound, at the file's rate.
  kExtAudioFileProperty_FileLengthFrames = '#frm',
  /// CFPropertyListRef, write-only: NULL after a change of the converter's properties. There are no
  /// others.
  kExtAudioFileProperty_ConverterConfig = 'accf',
  /// UInt32: bytes that are read from the file, or written to it, at a time.
  kExtAudioFileProperty_IOBufferSizeBytes = 'iobs',
  /// AudioFilePacketTableInfo: which of the decoded frames are sound. Setting it overrides what the
  /// file says, or what it will be told.
  kExtAudioFileProperty_PacketTable = 'xpti'
};

/// Opens a file for reading.
extern OSStatus ExtAudioFileOpenURL(CFURLRef inURL,
                                    ExtAudioFileRef _Nullable *_Nonnull outExtAudioFile);

/// Takes a file that is open, which must outlive the ExtAudioFileRef, and is not closed with it.
extern OSStatus ExtAudioFileWrapAudioFileID(AudioFileID inFileID, Boolean inForWriting,
                                            ExtAudioFileRef _Nullable *_Nonnull outExtAudioFile);

/// Makes a file. `inStreamDesc` is what it holds; fields that the codec knows may be 0. The layout is
/// written to the file, if that has a place for layouts, and is that of the client's channels, too, until
/// another is set. kExtAudioFileError_InvalidChannelMap if it is for another number of channels.
extern OSStatus ExtAudioFileCreateWithURL(CFURLRef inURL, AudioFileTypeID inFileType,
                                          const AudioStreamBasicDescription *inStreamDesc,
                                          const AudioChannelLayout *_Nullable inChannelLayout,
                                          UInt32 inFlags,
                                          ExtAudioFileRef _Nullable *_Nonnull outExtAudioFile);

/// Writes what is still to be written, and closes the file, even if something of that fails: the result is
/// the first failure.
extern OSStatus ExtAudioFileDispose(ExtAudioFileRef inExtAudioFile);

/// Reads frames of the client's format. `*ioNumberFrames` comes back as what was read: fewer only at
/// the end, and 0 after it.
extern OSStatus ExtAudioFileRead(ExtAudioFileRef inExtAudioFile, UInt32 *ioNumberFrames,
                                 AudioBufferList *ioData);

/// Writes frames of the client's format.
extern OSStatus ExtAudioFileWrite(ExtAudioFileRef inExtAudioFile, UInt32 inNumberFrames,
                                  const AudioBufferList *ioData);

/// The same, but does not wait: the frames are copied, and another thread writes them. To be called
/// once with 0 and NULL before, on a thread that may wait, so that there is room for them. An error of
/// the writing thread is the result of the next call on the file, whichever it is, and that call does
/// nothing else; ExtAudioFileDispose disposes of the file all the same.
extern OSStatus ExtAudioFileWriteAsync(ExtAudioFileRef inExtAudioFile, UInt32 inNumberFrames,
                                       const AudioBufferList *_Nullable ioData);

/// Has reading go on with this very frame, at the file's rate.
extern OSStatus ExtAudioFileSeek(ExtAudioFileRef inExtAudioFile, SInt64 inFrameOffset);

/// Tells the frame that is read or written next, at the file's rate.
extern OSStatus ExtAudioFileTell(ExtAudioFileRef inExtAudioFile, SInt64 *outFrameOffset);

/// Tells the size of a property's value in bytes, and whether it can be set.
extern OSStatus ExtAudioFileGetPropertyInfo(ExtAudioFileRef inExtAudioFile,
                                            ExtAudioFilePropertyID inPropertyID,
                                            UInt32 *_Nullable outSize,
                                            Boolean *_Nullable outWritable);

/// Copies a property's value into `outPropertyData`, which has room for `*ioPropertyDataSize` bytes;
/// the true size comes back.
extern OSStatus ExtAudioFileGetProperty(ExtAudioFileRef inExtAudioFile,
                                        ExtAudioFilePropertyID inPropertyID,
                                        UInt32 *ioPropertyDataSize, void *outPropertyData);

/// Sets a property.
extern OSStatus ExtAudioFileSetProperty(ExtAudioFileRef inExtAudioFile,
                                        ExtAudioFilePropertyID inPropertyID,
                                        UInt32 inPropertyDataSize, const void *inPropertyData);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
