// Parser for sound files that arrive in pieces, as from a network: AAC (ADTS), MPEG layers 1 to 3,
// AC-3, FLAC, CAF, WAVE, RF64, AIFF, AIFC, NeXT, and MPEG-4 files that begin with their tables.
// Other files, such as Ogg, give kAudioFileStreamError_UnsupportedFileType.
//
// Any thread that is not real time may call these functions. One thread at a time may use a stream.
#ifndef CUEJACK_AUDIOFILESTREAM_H
#define CUEJACK_AUDIOFILESTREAM_H

#include "../CoreAudioTypes/CoreAudioTypes.h"
#include "AudioFile.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// Flags of a property listener.
typedef CF_OPTIONS(UInt32, AudioFileStreamPropertyFlags) {
  /// The stream keeps the value, which can be read until the stream is closed. Always set.
  kAudioFileStreamPropertyFlag_PropertyIsCached = 1,
  /// A listener sets it to make the stream keep the value, which it always does.
  kAudioFileStreamPropertyFlag_CacheProperty = 2
};

typedef CF_OPTIONS(UInt32, AudioFileStreamParseFlags) {
  /// These bytes do not follow those of the previous call.
  kAudioFileStreamParseFlag_Discontinuity = 1
};

typedef CF_OPTIONS(UInt32, AudioFileStreamSeekFlags) {
  /// The offset is an estimate: the packet sizes vary, and the stream has no packet table.
  kAudioFileStreamSeekFlag_OffsetIsEstimated = 1
};

/// A stream parser. Opaque: only the functions below use its contents.
typedef struct OpaqueAudioFileStreamID *AudioFileStreamID;
typedef UInt32 AudioFileStreamPropertyID;

/// Called for each property once it is known, on the thread that parses bytes.
typedef void (*AudioFileStream_PropertyListenerProc)(void *inClientData,
                                                     AudioFileStreamID inAudioFileStream,
                                                     AudioFileStreamPropertyID inPropertyID,
                                                     AudioFileStreamPropertyFlags *ioFlags);

/// Called with whole packets, on the thread that parses bytes. The data and the descriptions are
/// valid until it returns. Packets of constant size have no descriptions.
typedef void (*AudioFileStream_PacketsProc)(
    void *inClientData, UInt32 inNumberBytes, UInt32 inNumberPackets, const void *inInputData,
    AudioStreamPacketDescription *_Nullable inPacketDescriptions);

CF_ENUM(OSStatus) {
  /// The file type cannot be parsed in pieces.
  kAudioFileStreamError_UnsupportedFileType = 'typ?',
  /// The codec of the sound cannot be read.
  kAudioFileStreamError_UnsupportedDataFormat = 'fmt?',
  /// The property does not exist or cannot be set.
  kAudioFileStreamError_UnsupportedProperty = 'pty?',
  /// The buffer size does not match the property's value.
  kAudioFileStreamError_BadPropertySize = '!siz',
  /// The tables that locate the packets come after the sound, or are missing.
  kAudioFileStreamError_NotOptimized = 'optm',
  /// The packet does not exist.
  kAudioFileStreamError_InvalidPacketOffset = 'pck?',
  /// The bytes are damaged or not a sound file.
  kAudioFileStreamError_InvalidFile = 'dta?',
  /// The stream does not contain this value.
  kAudioFileStreamError_ValueUnknown = 'unk?',
  /// The value needs more bytes of the stream.
  kAudioFileStreamError_DataUnavailable = 'more',
  /// The operation is not possible now, or not with this stream.
  kAudioFileStreamError_IllegalOperation = 'nope',
  /// An error without a code of its own; the log has details.
  kAudioFileStreamError_UnspecifiedError = 0x7768743F, // 'wht?'
  /// The position of packets after the discontinuity is unknown: seek first.
  kAudioFileStreamError_DiscontinuityCantRecover = 0x64736321 // 'dsc!'
};

/// Properties of a stream, all read-only.
CF_ENUM(AudioFileStreamPropertyID) {
  /// UInt32: 1 once all properties are known. Packets follow. The last property that a listener is
  /// called for.
  kAudioFileStreamProperty_ReadyToProducePackets = 'redy',
  /// AudioFileTypeID: type of the stream.
  kAudioFileStreamProperty_FileFormat = 'ffmt',
  /// AudioStreamBasicDescription: format of the sound.
  kAudioFileStreamProperty_DataFormat = 'dfmt',
  /// AudioFormatListItem array: the formats that the sound can be decoded to, best first.
  kAudioFileStreamProperty_FormatList = 'flst',
  /// Bytes: magic cookie of the codec.
  kAudioFileStreamProperty_MagicCookieData = 'mgic',
  /// UInt64: bytes of sound.
  kAudioFileStreamProperty_AudioDataByteCount = 'bcnt',
  /// UInt64: packets of sound.
  kAudioFileStreamProperty_AudioDataPacketCount = 'pcnt',
  /// UInt32: bytes of the largest packet.
  kAudioFileStreamProperty_MaximumPacketSize = 'psze',
  /// SInt64: offset of the sound from the start of the stream, in bytes.
  kAudioFileStreamProperty_DataOffset = 'doff',
  /// AudioChannelLayout. Its size varies.
  kAudioFileStreamProperty_ChannelLayout = 'cmap',
  /// AudioFramePacketTranslation: mPacket on entry, mFrame on return.
  kAudioFileStreamProperty_PacketToFrame = 'pkfr',
  /// AudioFramePacketTranslation: mFrame on entry, mPacket and mFrameOffsetInPacket on return.
  kAudioFileStreamProperty_FrameToPacket = 'frpk',
  /// AudioBytePacketTranslation: mPacket on entry, mByte on return, counted from the start of the
  /// sound.
  kAudioFileStreamProperty_PacketToByte = 'pkby',
  /// AudioBytePacketTranslation: mByte on entry, mPacket and mByteOffsetInPacket on return.
  kAudioFileStreamProperty_ByteToPacket = 'bypk',
  /// AudioFilePacketTableInfo: priming, valid and remainder frames.
  kAudioFileStreamProperty_PacketTableInfo = 'pnfo',
  /// UInt32: upper bound of the packet size in bytes.
  kAudioFileStreamProperty_PacketSizeUpperBound = 'pkub',
  /// Float64: average bytes of a packet; of those parsed so far if the stream does not state it.
  kAudioFileStreamProperty_AverageBytesPerPacket = 'abpp',
  /// UInt32: bits per second of sound.
  kAudioFileStreamProperty_BitRate = 'brat',
  /// UInt32: 1 if decoding cannot begin at every packet. Always 0: every supported codec allows it,
  /// though some need a few earlier packets.
  kAudioFileStreamProperty_RestrictsRandomAccess = 'rrap',
  /// CFDictionaryRef of strings. The caller releases it.
  kAudioFileStreamProperty_InfoDictionary = 'info'
};

/// Creates a stream parser. The type hint identifies streams without a header of their own; 0 for
/// none.
extern OSStatus AudioFileStreamOpen(void *_Nullable inClientData,
                                    AudioFileStream_PropertyListenerProc inPropertyListenerProc,
                                    AudioFileStream_PacketsProc inPacketsProc,
                                    AudioFileTypeID inFileTypeHint,
                                    AudioFileStreamID _Nullable *_Nonnull outAudioFileStream);

/// Parses the next bytes, and calls the listener and the packets callback from within. A stream
/// that was found damaged or unreadable returns the same error each time.
extern OSStatus AudioFileStreamParseBytes(AudioFileStreamID inAudioFileStream,
                                          UInt32 inDataByteSize, const void *_Nullable inData,
                                          AudioFileStreamParseFlags inFlags);

/// Returns the byte offset from which to supply data in order to get the packets from
/// `inPacketOffset` on. It counts from the start of the sound (see DataOffset). The parser expects
/// the next bytes to start there.
extern OSStatus AudioFileStreamSeek(AudioFileStreamID inAudioFileStream, SInt64 inPacketOffset,
                                    SInt64 *outDataByteOffset, AudioFileStreamSeekFlags *ioFlags);

/// Returns the size of a property's value in bytes, and whether it can be set (never).
extern OSStatus AudioFileStreamGetPropertyInfo(AudioFileStreamID inAudioFileStream,
                                               AudioFileStreamPropertyID inPropertyID,
                                               UInt32 *_Nullable outPropertyDataSize,
                                               Boolean *_Nullable outWritable);

/// Copies a property's value to `outPropertyData`, which has room for `*ioPropertyDataSize` bytes.
/// `*ioPropertyDataSize` receives the actual size.
extern OSStatus AudioFileStreamGetProperty(AudioFileStreamID inAudioFileStream,
                                           AudioFileStreamPropertyID inPropertyID,
                                           UInt32 *ioPropertyDataSize, void *outPropertyData);

/// Returns kAudioFileStreamError_UnsupportedProperty, because no property can be set.
extern OSStatus AudioFileStreamSetProperty(AudioFileStreamID inAudioFileStream,
                                           AudioFileStreamPropertyID inPropertyID,
                                           UInt32 inPropertyDataSize, const void *inPropertyData);

/// Closes a stream. May be called inside its own callbacks.
extern OSStatus AudioFileStreamClose(AudioFileStreamID inAudioFileStream);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
