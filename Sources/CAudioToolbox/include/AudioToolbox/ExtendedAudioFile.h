// Sound files that are read and written as linear PCM, whatever their format: a file and a
// converter in one.
//
// One thread at a time may use an ExtAudioFileRef. These functions wait for the disk, except
// ExtAudioFileWriteAsync.
#ifndef CUEJACK_EXTENDEDAUDIOFILE_H
#define CUEJACK_EXTENDEDAUDIOFILE_H

#include "../CoreAudioTypes/CoreAudioTypes.h"
#include "AudioFile.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// An open file with its converter. Opaque: only the functions below use its contents.
typedef struct OpaqueExtAudioFile *ExtAudioFileRef;
typedef UInt32 ExtAudioFilePropertyID;

CF_ENUM(OSStatus) {
  /// The property does not exist or cannot be set.
  kExtAudioFileError_InvalidProperty = -66561,
  /// The size does not match the property's value.
  kExtAudioFileError_InvalidPropertySize = -66562,
  /// The client format must be linear PCM.
  kExtAudioFileError_NonPCMClientFormat = -66563,
  /// The channels do not match the format.
  kExtAudioFileError_InvalidChannelMap = -66564,
  /// Another call must come first.
  kExtAudioFileError_InvalidOperationOrder = -66565,
  /// The operation does not support the format.
  kExtAudioFileError_InvalidDataFormat = -66566,
  /// The size of the largest packet is unknown.
  kExtAudioFileError_MaxPacketSizeUnknown = -66567,
  /// The position is not in the file, or the file is open for writing.
  kExtAudioFileError_InvalidSeek = -66568,
  /// More frames than the write buffer can hold.
  kExtAudioFileError_AsyncWriteTooLarge = -66569,
  /// The disk could not keep up: these frames were not written.
  kExtAudioFileError_AsyncWriteBufferOverflow = -66570
};

CF_ENUM(ExtAudioFilePropertyID) {
  /// AudioStreamBasicDescription, read-only: format of the file. Sound without a format id, such as
  /// WavPack, is linear PCM here: what it decodes to.
  kExtAudioFileProperty_FileDataFormat = 'ffmt',
  /// AudioChannelLayout of the file, if it has one. Its size varies. In a file that is created,
  /// setting it writes it, if the file type supports layouts. For a file that is read, it replaces
  /// the file's own layout.
  kExtAudioFileProperty_FileChannelLayout = 'fclo',
  /// AudioStreamBasicDescription: linear PCM, interleaved or not, that the client reads or writes.
  /// Set it first if the file holds packets; otherwise it starts as the file's format.
  kExtAudioFileProperty_ClientDataFormat = 'cfmt',
  /// AudioChannelLayout of the client format, which starts as the file's. Its size varies. Once it
  /// is set, each channel is matched to the file's channel with the same label. Where the numbers
  /// of channels differ, the converter's kAudioConverterPropertyPerformDownmix mixes.
  kExtAudioFileProperty_ClientChannelLayout = 'cclo',
  /// UInt32: manufacturer of the codec to use. Each codec exists once, from
  /// kAppleSoftwareAudioCodecManufacturer.
  kExtAudioFileProperty_CodecManufacturer = 'cman',
  /// AudioConverterRef, read-only: the converter, whose properties may be set. Do not dispose of
  /// it.
  kExtAudioFileProperty_AudioConverter = 'acnv',
  /// AudioFileID, read-only: the file. Do not close it.
  kExtAudioFileProperty_AudioFile = 'afil',
  /// UInt32, read-only: bytes of the largest possible packet of the file.
  kExtAudioFileProperty_FileMaxPacketSize = 'fmps',
  /// UInt32, read-only: bytes of a frame of the client format, in each buffer.
  kExtAudioFileProperty_ClientMaxPacketSize = 'cmps',
  /// SInt64, read-only: length of the sound in frames, at the file's rate.
  kExtAudioFileProperty_FileLengthFrames = '#frm',
  /// CFPropertyListRef, write-only: set it to NULL after a change of the converter's properties.
  /// There are no other values.
  kExtAudioFileProperty_ConverterConfig = 'accf',
  /// UInt32: bytes to read from or write to the file at a time.
  kExtAudioFileProperty_IOBufferSizeBytes = 'iobs',
  /// AudioFilePacketTableInfo: priming, valid and remainder frames. Setting it overrides the values
  /// in the file that is read, or for the file that is written.
  kExtAudioFileProperty_PacketTable = 'xpti'
};

/// Opens a file for reading.
extern OSStatus ExtAudioFileOpenURL(CFURLRef inURL,
                                    ExtAudioFileRef _Nullable *_Nonnull outExtAudioFile);

/// The same with a reference to a file.
extern OSStatus ExtAudioFileOpen(const FSRef *inFSRef,
                                 ExtAudioFileRef _Nullable *_Nonnull outExtAudioFile);

/// Creates a new file in a folder, as ExtAudioFileCreateWithURL does; a file of that name must not exist.
extern OSStatus ExtAudioFileCreateNew(const FSRef *inParentDir, CFStringRef inFileName,
                                      AudioFileTypeID inFileType,
                                      const AudioStreamBasicDescription *inStreamDesc,
                                      const AudioChannelLayout *_Nullable inChannelLayout,
                                      ExtAudioFileRef _Nullable *_Nonnull outExtAudioFile);

/// Creates an ExtAudioFileRef for an open file. The file must outlive it and is not closed with it.
extern OSStatus ExtAudioFileWrapAudioFileID(AudioFileID inFileID, Boolean inForWriting,
                                            ExtAudioFileRef _Nullable *_Nonnull outExtAudioFile);

/// Creates a file in the format `inStreamDesc`; fields that the codec determines may be 0. If the
/// sample rate of a codec is 0, the file takes that of the client's format, once it is set. The
/// layout is written to the file, if its type supports layouts. It is also the layout of the
/// client's channels until another is set. kExtAudioFileError_InvalidChannelMap if its number of
/// channels differs.
extern OSStatus ExtAudioFileCreateWithURL(CFURLRef inURL, AudioFileTypeID inFileType,
                                          const AudioStreamBasicDescription *inStreamDesc,
                                          const AudioChannelLayout *_Nullable inChannelLayout,
                                          UInt32 inFlags,
                                          ExtAudioFileRef _Nullable *_Nonnull outExtAudioFile);

/// Writes all remaining data and closes the file, even if part of that fails. Returns the first
/// error.
extern OSStatus ExtAudioFileDispose(ExtAudioFileRef inExtAudioFile);

/// Reads frames in the client format. `*ioNumberFrames` receives the number read: fewer than
/// requested only at the end, and 0 after it.
extern OSStatus ExtAudioFileRead(ExtAudioFileRef inExtAudioFile, UInt32 *ioNumberFrames,
                                 AudioBufferList *ioData);

/// Writes frames in the client format.
extern OSStatus ExtAudioFileWrite(ExtAudioFileRef inExtAudioFile, UInt32 inNumberFrames,
                                  const AudioBufferList *ioData);

/// Writes frames in the client format without waiting: copies them, and another thread writes them.
///
/// Call it once before with 0 and NULL, on a thread that may wait, to allocate the buffer. An error
/// of the writing thread is the result of the next call with the file, whichever it is. That call
/// does nothing else, except that ExtAudioFileDispose still disposes of the file.
extern OSStatus ExtAudioFileWriteAsync(ExtAudioFileRef inExtAudioFile, UInt32 inNumberFrames,
                                       const AudioBufferList *_Nullable ioData);

/// Moves the read position to exactly this frame, at the file's rate.
extern OSStatus ExtAudioFileSeek(ExtAudioFileRef inExtAudioFile, SInt64 inFrameOffset);

/// Returns the frame that is read or written next, at the file's rate.
extern OSStatus ExtAudioFileTell(ExtAudioFileRef inExtAudioFile, SInt64 *outFrameOffset);

/// Returns the size of a property's value in bytes, and whether it can be set.
extern OSStatus ExtAudioFileGetPropertyInfo(ExtAudioFileRef inExtAudioFile,
                                            ExtAudioFilePropertyID inPropertyID,
                                            UInt32 *_Nullable outSize,
                                            Boolean *_Nullable outWritable);

/// Copies a property's value to `outPropertyData`, which has room for `*ioPropertyDataSize` bytes.
/// `*ioPropertyDataSize` receives the actual size.
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
