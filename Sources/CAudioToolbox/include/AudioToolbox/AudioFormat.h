// Properties of formats, codecs and channel layouts. Any thread that is not real time may call
// these functions.
#ifndef CUEJACK_AUDIOFORMAT_H
#define CUEJACK_AUDIOFORMAT_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

typedef UInt32 AudioFormatPropertyID;

CF_ENUM(OSStatus) {
  /// An error without a code of its own; the log has details.
  kAudioFormatUnspecifiedError = 'what',
  /// The property does not exist.
  kAudioFormatUnsupportedPropertyError = 'prop',
  /// The buffer is smaller than the property's value.
  kAudioFormatBadPropertySizeError = '!siz',
  /// The size of the specifier does not match the property.
  kAudioFormatBadSpecifierSizeError = '!spc',
  /// The library does not support the format, or its description is invalid.
  kAudioFormatUnsupportedDataFormatError = 'fmt?',
  /// The format or layout does not exist.
  kAudioFormatUnknownFormatError = '!fmt'
};

/// One of several formats that a stream can be decoded to.
struct AudioFormatListItem {
  AudioStreamBasicDescription mASBD;
  AudioChannelLayoutTag mChannelLayoutTag;
};
typedef struct AudioFormatListItem AudioFormatListItem;

/// A format with the magic cookie of its codec. The creator owns the cookie's memory.
struct AudioFormatInfo {
  AudioStreamBasicDescription mASBD;
  const void *mMagicCookie;
  UInt32 mMagicCookieSize;
};
typedef struct AudioFormatInfo AudioFormatInfo;

/// Properties of formats and layouts, all read-only. The specifier is the input of a property.
CF_ENUM(AudioFormatPropertyID) {
  // MARK: Formats

  /// AudioStreamBasicDescription: on entry at least mFormatID, on return all fields that follow
  /// from those given. The specifier is a magic cookie, or NULL.
  kAudioFormatProperty_FormatInfo = 'fmti',
  /// CFStringRef: name of an AudioStreamBasicDescription. The caller releases it.
  kAudioFormatProperty_FormatName = 'fnam',
  /// UInt32 array: ids of the formats that can be encoded. No specifier.
  kAudioFormatProperty_EncodeFormatIDs = 'acof',
  /// UInt32 array: ids of the formats that can be decoded. No specifier.
  kAudioFormatProperty_DecodeFormatIDs = 'acif',
  /// AudioFormatListItem array: the formats that the stream of an AudioFormatInfo can be decoded
  /// to, best first.
  kAudioFormatProperty_FormatList = 'flst',
  /// AudioFormatListItem array: the linear PCM formats that the stream of an AudioFormatInfo is
  /// decoded to, best first.
  kAudioFormatProperty_OutputFormatList = 'ofls',
  /// AudioStreamBasicDescription: the format that an ESDS describes.
  kAudioFormatProperty_ASBDFromESDS = 'essd',
  /// AudioChannelLayout: the channels that an ESDS describes.
  kAudioFormatProperty_ChannelLayoutFromESDS = 'escl',
  /// UInt32: index of the first item in an AudioFormatListItem array that this library can decode.
  kAudioFormatProperty_FirstPlayableFormatFromList = 'fpfl',
  /// UInt32: 1 if the packets of an AudioStreamBasicDescription vary in size.
  kAudioFormatProperty_FormatIsVBR = 'fvbr',
  /// UInt32: 1 if the packets of an AudioStreamBasicDescription need descriptions.
  kAudioFormatProperty_FormatIsExternallyFramed = 'fexf',
  /// AudioClassDescription array: the encoders of a format id.
  kAudioFormatProperty_Encoders = 'aven',
  /// AudioClassDescription array: the decoders of a format id.
  kAudioFormatProperty_Decoders = 'avde',
  /// UInt32: number of codecs in an AudioClassDescription array, from the first on, that can run in
  /// hardware together. Always 0, because all codecs are software.
  kAudioFormatProperty_HardwareCodecCapabilities = 'hwcc',
  /// AudioValueRange array: bit rates of the encoder of a format id.
  kAudioFormatProperty_AvailableEncodeBitRates = 'aebr',
  /// AudioValueRange array: sample rates of the encoder of a format id.
  kAudioFormatProperty_AvailableEncodeSampleRates = 'aesr',
  /// UInt32 array: the numbers of channels with which an AudioStreamBasicDescription can be
  /// encoded.
  kAudioFormatProperty_AvailableEncodeNumberChannels = 'avnc',
  /// AudioChannelLayoutTag array: the layouts with which an AudioStreamBasicDescription can be
  /// encoded. Those for its number of channels, or all if that is 0.
  kAudioFormatProperty_AvailableEncodeChannelLayoutTags = 'aecl',

  // MARK: Channel layouts

  /// UInt32: hash of an AudioChannelLayout. Equal for layouts with the same channel labels in the
  /// same order, and most likely different for others.
  kAudioFormatProperty_ChannelLayoutHash = 'chha',
  /// UInt32: AudioChannelBitmap of an AudioChannelLayoutTag.
  kAudioFormatProperty_BitmapForLayoutTag = 'bmtg',
  /// Float32 for each pair of channels: gains to mix the first of two AudioChannelLayout pointers
  /// to the second. All outputs of the first input come first.
  kAudioFormatProperty_MatrixMixMap = 'mmap',
  /// SInt32 array: for each channel of the second of two AudioChannelLayout pointers, the channel
  /// of the first one with the same label, or -1.
  kAudioFormatProperty_ChannelMap = 'chmp',
  /// UInt32: number of channels of an AudioChannelLayout.
  kAudioFormatProperty_NumberOfChannelsForLayout = 'nchm',
  /// UInt32: 1 if the channels of two AudioChannelLayout pointers have the same labels in the same
  /// order.
  kAudioFormatProperty_AreChannelLayoutsEquivalent = 'cheq',
  /// UInt32: 1, with noErr, if an AudioChannelLayout labels its channels. Otherwise an error.
  kAudioFormatProperty_ValidateChannelLayout = 'vacl',
  /// AudioChannelLayout: channel descriptions of an AudioChannelLayoutTag.
  kAudioFormatProperty_ChannelLayoutForTag = 'cmpl',
  /// AudioChannelLayoutTag: the first one that matches an AudioChannelLayout.
  kAudioFormatProperty_TagForChannelLayout = 'cmpt',
  /// CFStringRef: name of an AudioChannelLayout. The caller releases it.
  kAudioFormatProperty_ChannelLayoutName = 'lonm',
  /// AudioChannelLayout: channel descriptions of an AudioChannelBitmap.
  kAudioFormatProperty_ChannelLayoutForBitmap = 'cmpb',
  /// CFStringRef: name of an AudioChannelDescription. The caller releases it.
  kAudioFormatProperty_ChannelName = 'cnam',
  /// CFStringRef: short name of an AudioChannelDescription. The caller releases it.
  kAudioFormatProperty_ChannelShortName = 'csnm',
  /// AudioChannelLayoutTag array: the tags for a number of channels.
  kAudioFormatProperty_TagsForNumberOfChannels = 'tagc'
};

/// Returns the size of a property's value in bytes.
extern OSStatus AudioFormatGetPropertyInfo(AudioFormatPropertyID inPropertyID,
                                           UInt32 inSpecifierSize,
                                           const void *_Nullable inSpecifier,
                                           UInt32 *outPropertyDataSize);

/// Copies a property's value to `outPropertyData`, which has room for `*ioPropertyDataSize` bytes.
/// `*ioPropertyDataSize` receives the actual size. If `outPropertyData` is NULL, only the size is
/// returned.
extern OSStatus AudioFormatGetProperty(AudioFormatPropertyID inPropertyID, UInt32 inSpecifierSize,
                                       const void *_Nullable inSpecifier,
                                       UInt32 *_Nullable ioPropertyDataSize,
                                       void *_Nullable outPropertyData);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
