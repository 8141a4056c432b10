// What formats, codecs and channel layouts there are, and what they are made of. Any thread, but none
// in real time.
#ifndef CUEJACK_AUDIOFORMAT_H
#define CUEJACK_AUDIOFORMAT_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

typedef UInt32 AudioFormatPropertyID;

CF_ENUM(OSStatus) {
  /// Something failed that no other code names; the log says what.
  kAudioFormatUnspecifiedError = 'what',
  /// There is no such property.
  kAudioFormatUnsupportedPropertyError = 'prop',
  /// The memory given is smaller than the property's value.
  kAudioFormatBadPropertySizeError = '!siz',
  /// What the property is asked of is not of the size that it should have.
  kAudioFormatBadSpecifierSizeError = '!spc',
  /// The format is not one that this library handles, or is not described well.
  kAudioFormatUnsupportedDataFormatError = 'fmt?',
  /// There is no such format, or layout.
  kAudioFormatUnknownFormatError = '!fmt'
};

/// One of several formats that a stream can be decoded to.
struct AudioFormatListItem {
  AudioStreamBasicDescription mASBD;
  AudioChannelLayoutTag mChannelLayoutTag;
};
typedef struct AudioFormatListItem AudioFormatListItem;

/// A format with the cookie of its codec, whose memory is somebody else's.
struct AudioFormatInfo {
  AudioStreamBasicDescription mASBD;
  const void *mMagicCookie;
  UInt32 mMagicCookieSize;
};
typedef struct AudioFormatInfo AudioFormatInfo;

/// All of them can only be read. The specifier is what the property is asked of.
CF_ENUM(AudioFormatPropertyID) {
  // MARK: Formats

  /// AudioStreamBasicDescription, which comes with mFormatID at the least and goes with all that
  /// follows from what is there. The specifier is a magic cookie, or NULL.
  kAudioFormatProperty_FormatInfo = 'fmti',
  /// CFStringRef of the caller's: the name of an AudioStreamBasicDescription.
  kAudioFormatProperty_FormatName = 'fnam',
  /// UInt32 array: ids of the formats that can be encoded. No specifier.
  kAudioFormatProperty_EncodeFormatIDs = 'acof',
  /// UInt32 array: ids of the formats that can be decoded. No specifier.
  kAudioFormatProperty_DecodeFormatIDs = 'acif',
  /// AudioFormatListItem array: what the stream of an AudioFormatInfo can be decoded to, the best
  /// first.
  kAudioFormatProperty_FormatList = 'flst',
  /// AudioFormatListItem array: the linear PCM that the stream of an AudioFormatInfo is decoded to, the
  /// best first.
  kAudioFormatProperty_OutputFormatList = 'ofls',
  /// AudioStreamBasicDescription: the format that an ESDS describes.
  kAudioFormatProperty_ASBDFromESDS = 'essd',
  /// AudioChannelLayout: the channels that an ESDS describes.
  kAudioFormatProperty_ChannelLayoutFromESDS = 'escl',
  /// UInt32: the index of the first of an AudioFormatListItem array that can be decoded here.
  kAudioFormatProperty_FirstPlayableFormatFromList = 'fpfl',
  /// UInt32: 1 if the packets of an AudioStreamBasicDescription vary in size.
  kAudioFormatProperty_FormatIsVBR = 'fvbr',
  /// UInt32: 1 if its packets need descriptions.
  kAudioFormatProperty_FormatIsExternallyFramed = 'fexf',
  /// AudioClassDescription array: the encoders of a format id.
  kAudioFormatProperty_Encoders = 'aven',
  /// AudioClassDescription array: the decoders of a format id.
  kAudioFormatProperty_Decoders = 'avde',
  /// UInt32: how many of an AudioClassDescription array, from the first on, hardware does at one time: 0,
  /// as all codecs are software.
  kAudioFormatProperty_HardwareCodecCapabilities = 'hwcc',
  /// AudioValueRange array: the bit rates that a format id is encoded at.
  kAudioFormatProperty_AvailableEncodeBitRates = 'aebr',
  /// AudioValueRange array: the rates that a format id is encoded at.
  kAudioFormatProperty_AvailableEncodeSampleRates = 'aesr',
  /// UInt32 array: the numbers of channels that an AudioStreamBasicDescription can be encoded with.
  kAudioFormatProperty_AvailableEncodeNumberChannels = 'avnc',
  /// AudioChannelLayoutTag array: the layouts that an AudioStreamBasicDescription can be encoded with, of
  /// its number of channels, or of all if that is 0.
  kAudioFormatProperty_AvailableEncodeChannelLayoutTags = 'aecl',

  // MARK: Channel layouts

  /// UInt32: a number that is the same for AudioChannelLayouts whose channels are for the same, in order,
  /// and most likely another for others.
  kAudioFormatProperty_ChannelLayoutHash = 'chha',
  /// UInt32: the AudioChannelBitmap of an AudioChannelLayoutTag.
  kAudioFormatProperty_BitmapForLayoutTag = 'bmtg',
  /// Float32 for each pair of channels, all outputs of the first input first: how to mix the first of
  /// two AudioChannelLayout pointers to the second.
  kAudioFormatProperty_MatrixMixMap = 'mmap',
  /// SInt32 array: for each channel of the second of two AudioChannelLayout pointers the channel of
  /// the first that is for the same, or -1.
  kAudioFormatProperty_ChannelMap = 'chmp',
  /// UInt32: the channels of an AudioChannelLayout.
  kAudioFormatProperty_NumberOfChannelsForLayout = 'nchm',
  /// UInt32: 1 if the channels of two AudioChannelLayout pointers are for the same, in order.
  kAudioFormatProperty_AreChannelLayoutsEquivalent = 'cheq',
  /// UInt32: 1 if an AudioChannelLayout says what its channels are. noErr only then.
  kAudioFormatProperty_ValidateChannelLayout = 'vacl',
  /// AudioChannelLayout: the descriptions of an AudioChannelLayoutTag's channels.
  kAudioFormatProperty_ChannelLayoutForTag = 'cmpl',
  /// AudioChannelLayoutTag: the first one that fits an AudioChannelLayout.
  kAudioFormatProperty_TagForChannelLayout = 'cmpt',
  /// CFStringRef of the caller's: the name of an AudioChannelLayout.
  kAudioFormatProperty_ChannelLayoutName = 'lonm',
  /// AudioChannelLayout: the descriptions of an AudioChannelBitmap's channels.
  kAudioFormatProperty_ChannelLayoutForBitmap = 'cmpb',
  /// CFStringRef of the caller's: the name of an AudioChannelDescription.
  kAudioFormatProperty_ChannelName = 'cnam',
  /// CFStringRef of the caller's: its short name.
  kAudioFormatProperty_ChannelShortName = 'csnm',
  /// AudioChannelLayoutTag array: those for a number of channels.
  kAudioFormatProperty_TagsForNumberOfChannels = 'tagc'
};

/// Tells the size of a property's value in bytes.
extern OSStatus AudioFormatGetPropertyInfo(AudioFormatPropertyID inPropertyID,
                                           UInt32 inSpecifierSize,
                                           const void *_Nullable inSpecifier,
                                           UInt32 *outPropertyDataSize);

/// Copies a property's value into `outPropertyData`, which has room for `*ioPropertyDataSize` bytes;
/// the true size comes back. With NULL for `outPropertyData` only the size comes back.
extern OSStatus AudioFormatGetProperty(AudioFormatPropertyID inPropertyID, UInt32 inSpecifierSize,
                                       const void *_Nullable inSpecifier,
                                       UInt32 *_Nullable ioPropertyDataSize,
                                       void *_Nullable outPropertyData);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
