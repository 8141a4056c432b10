// Sound files that come piece by piece, as from a network. AAC (ADTS), MPEG layers 1 to 3, AC-3,
// FLAC, CAF, WAVE, RF64, AIFF, AIFC, NeXT, and MPEG-4 files that begin with their tables.
#ifndef CUEJACK_AUDIOFILESTREAM_H
#define CUEJACK_AUDIOFILESTREAM_H

#include "../CoreAudioTypes/CoreAudioTypes.h"
#include "AudioFile.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// What a property listener is told, and what it answers.
typedef CF_OPTIONS(UInt32, AudioFileStreamPropertyFlags) {
  /// The stream keeps the value: it can be read until the stream is closed. Always set.
  kAudioFileStreamPropertyFlag_PropertyIsCached = 1,
  /// A listener sets this to have the value kept, which it is anyway.
  kAudioFileStreamPropertyFlag_CacheProperty = 2
};

typedef CF_OPTIONS(UInt32, AudioFileStreamParseFlags) {
  /// These bytes do not follow those of the last call.
  kAudioFileStreamParseFlag_Discontinuity = 1
};

typedef CF_OPTIONS(UInt32, AudioFileStreamSeekFlags) {
  /// The offset is a guess: the packets are of various sizes, and nothing in the stream lists them.
  kAudioFileStreamSeekFlag_OffsetIsEstimated = 1
};

/// A stream. Only the functions below know what is behind it.
typedef struct OpaqueAudioFileStreamID *AudioFileStreamID;
typedef UInt32 AudioFileStreamPropertyID;

/// Called for each property as it becomes known, on the thread that hands bytes in.
typedef void (*AudioFileStream_PropertyListenerProc)(void *inClientData,
                                                     AudioFileStreamID inAudioFileStream,
                                                     AudioFileStreamPropertyID inPropertyID,
                                                     AudioFileStreamPropertyFlags *ioFlags);

/// Called with whole packets, on the thread that hands bytes in. The data and the descriptions are
/// good until it returns; packets that are all of one size have no descriptions.
typedef void (*AudioFileStream_PacketsProc)(
    void *inClientData, UInt32 inNumberBytes, UInt32 inNumberPackets, const void *inInputData,
    AudioStreamPacketDescription *_Nullable inPacketDescriptions);

CF_ENUM(OSStatus) {
  /// The stream is of a kind that cannot be read piece by piece.
  kAudioFileStreamError_UnsupportedFileType = 'typ?',
  /// The sound is coded in a way that cannot be read.
  kAudioFileStreamError_UnsupportedDataFormat = 'fmt?',
  /// There is no such property, or it cannot be set.
  kAudioFileStreamError_UnsupportedProperty = 'pty?',
  /// The memory given does not suit the property's value.
  kAudioFileStreamError_BadPropertySize = '!siz',
  /// The tables that are needed to find packets come after the sound, or not at all.
  kAudioFileStreamError_NotOptimized = 'optm',
  /// There is no such packet.
  kAudioFileStreamError_InvalidPacketOffset = 'pck?',
  /// The bytes are damaged, or are no sound file.
  kAudioFileStreamError_InvalidFile = 'dta?',
  /// The stream does not tell this value.
  kAudioFileStreamError_ValueUnknown = 'unk?',
  /// More bytes must come before this can be known.
  kAudioFileStreamError_DataUnavailable = 'more',
  /// This cannot be done now, or to this stream.
  kAudioFileStreamError_IllegalOperation = 'nope',
  /// Something failed that no other code names; the log says what.
  kAudioFileStreamError_UnspecifiedError = 0x7768743F, // 'wht?'
  /// After the gap nothing tells where the packets lie: seek first.
  kAudioFileStreamError_DiscontinuityCantRecover = 0x64736321 // 'dsc!'
};

/// All of them are read-only.
CF_ENUM(AudioFileStreamPropertyID) {
  /// UInt32: 1 once the properties are known; packets come from then on. The last that a listener
  /// hears of.
  kAudioFileStreamProperty_ReadyToProducePackets = 'redy',
  /// AudioFileTypeID: the kind of the stream.
  kAudioFileStreamProperty_FileFormat = 'ffmt',
  /// AudioStreamBasicDescription: how the sound is coded.
  kAudioFileStreamProperty_DataFormat = 'dfmt',
  /// AudioFormatListItem, one or more: the ways in which the sound can be decoded, the best first.
  kAudioFileStreamProperty_FormatList = 'flst',
  /// Bytes that a decoder needs first.
  kAudioFileStreamProperty_MagicCookieData = 'mgic',
  /// UInt64: bytes of sound.
  kAudioFileStreamProperty_AudioDataByteCount = 'bcnt',
  /// UInt64: packets of sound.
  kAudioFileStreamProperty_AudioDataPacketCount = 'pcnt',
  /// UInt32: bytes of the largest packet.
  kAudioFileStreamProperty_MaximumPacketSize = 'psze',
  /// SInt64: bytes from the start of the stream to the sound.
  kAudioFileStreamProperty_DataOffset = 'doff',
  /// AudioChannelLayout. Its size varies.
  kAudioFileStreamProperty_ChannelLayout = 'cmap',
  /// AudioFramePacketTranslation: mPacket in, mFrame out.
  kAudioFileStreamProperty_PacketToFrame = 'pkfr',
  /// AudioFramePacketTranslation: mFrame in, mPacket and mFrameOffsetInPacket out.
  kAudioFileStreamProperty_FrameToPacket = 'frpk',
  /// AudioBytePacketTranslation: mPacket in, mByte out, from where the sound begins.
  kAudioFileStreamProperty_PacketToByte = 'pkby',
  /// AudioBytePacketTranslation: mByte in, mPacket and mByteOffsetInPacket out.
  kAudioFileStreamProperty_ByteToPacket = 'bypk',
  /// AudioFilePacketTableInfo: which of the decoded frames are sound.
  kAudioFileStreamProperty_PacketTableInfo = 'pnfo',
  /// UInt32: bytes that no packet exceeds.
  kAudioFileStreamProperty_PacketSizeUpperBound = 'pkub',
  /// Float64: bytes of a packet on average, of those that have come so far if nothing else tells.
  kAudioFileStreamProperty_AverageBytesPerPacket = 'abpp',
  /// UInt32: bits per second of sound.
  kAudioFileStreamProperty_BitRate = 'brat',
  /// UInt32: 1 if decoding cannot begin with any packet. Always 0: no codec that is read forbids it,
  /// though some need a few packets before the one that is wanted.
  kAudioFileStreamProperty_RestrictsRandomAccess = 'rrap',
  /// CFDictionaryRef of strings, which the caller releases.
  kAudioFileStreamProperty_InfoDictionary = 'info'
};

/// Makes a stream. The type hint tells streams apart that have no head of their own; 0 for none. Any
/// thread; one stream is used by one thread at a time.
extern OSStatus AudioFileStreamOpen(void *_Nullable inClientData,
                                    AudioFileStream_PropertyListenerProc inPropertyListenerProc,
                                    AudioFileStream_PacketsProc inPacketsProc,
                                    AudioFileTypeID inFileTypeHint,
                                    AudioFileStreamID _Nullable *_Nonnull outAudioFileStream);

/// Hands in the bytes that come next; the listener and the packets function are called from within.
/// A stream that was found to be damaged or not readable gives the same code again and again.
extern OSStatus AudioFileStreamParseBytes(AudioFileStreamID inAudioFileStream,
                                          UInt32 inDataByteSize, const void *_Nullable inData,
                                          AudioFileStreamParseFlags inFlags);

/// Tells from which byte on, counted from where the sound begins (see DataOffset), bytes are to be
/// handed in to get the packets from `inPacketOffset` on. They are taken to come from there
/// next.
extern OSStatus AudioFileStreamSeek(AudioFileStreamID inAudioFileStream, SInt64 inPacketOffset,
                                    SInt64 *outDataByteOffset, AudioFileStreamSeekFlags *ioFlags);

/// Tells the size of a property's value in bytes, and whether it can be set (it cannot).
extern OSStatus AudioFileStreamGetPropertyInfo(AudioFileStreamID inAudioFileStream,
                                               AudioFileStreamPropertyID inPropertyID,
                                               UInt32 *_Nullable outPropertyDataSize,
                                               Boolean *_Nullable outWritable);

/// Copies a property's value into `outPropertyData`, which has room for `*ioPropertyDataSize` bytes;
/// the true size comes back.
extern OSStatus AudioFileStreamGetProperty(AudioFileStreamID inAudioFileStream,
                                           AudioFileStreamPropertyID inPropertyID,
                                           UInt32 *ioPropertyDataSize, void *outPropertyData);

/// No property can be set: gives kAudioFileStreamError_UnsupportedProperty.
extern OSStatus AudioFileStreamSetProperty(AudioFileStreamID inAudioFileStream,
                                           AudioFileStreamPropertyID inPropertyID,
                                           UInt32 inPropertyDataSize, const void *inPropertyData);

/// Closes a stream. May be called from within its own callbacks.
extern OSStatus AudioFileStreamClose(AudioFileStreamID inAudioFileStream);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
