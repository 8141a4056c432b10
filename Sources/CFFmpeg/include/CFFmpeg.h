// FFmpeg's libavformat, libavcodec and libavutil, as Swift sees them: versions 5.1 to 8. Names that
// differ between these versions have one name here.
//
// libavformat brings more than a hundred other libraries with it. Loading them takes longer than
// everything else that a program does before it plays a file of linear PCM, so programs are not
// linked to it, and call its functions through a table of pointers.
#pragma once
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavcodec/vorbis_parser.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/crc.h>
#include <libavutil/dict.h>
#include <libavutil/opt.h>
#include <libavutil/sha.h>
#include <libavutil/tx.h>

// The functions that Cuejack calls.
struct cue_ffmpeg_functions {
#define FUNCTION(name) __typeof__(name) *name
#include "functions.inc"
#undef FUNCTION
};

// Returns the functions. The first call loads the libraries, and ends the process with a message if
// it cannot. Not for real-time threads.
__attribute__((visibility("hidden"))) const struct cue_ffmpeg_functions *cue_ffmpeg(void);

// Macros that Swift cannot see.
static const int cue_av_error_again = AVERROR(EAGAIN);
static const int cue_av_error_end_of_file = AVERROR_EOF;
static const int cue_av_error_invalid_data = AVERROR_INVALIDDATA;
static const int64_t cue_av_no_time = AV_NOPTS_VALUE;

#ifdef AV_PROFILE_AAC_HE
static const int cue_av_profile_aac_he = AV_PROFILE_AAC_HE;
static const int cue_av_profile_aac_he_v2 = AV_PROFILE_AAC_HE_V2;
#else
static const int cue_av_profile_aac_he = FF_PROFILE_AAC_HE;
static const int cue_av_profile_aac_he_v2 = FF_PROFILE_AAC_HE_V2;
#endif

// The values that an encoder accepts, and their count; NULL and 0 if it accepts every value, or
// libavcodec does not say. The codec owns the memory. FFmpeg 7.1 deprecates the codec's own lists.
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
static inline const void *cue_av_supported(const AVCodec *codec, enum AVCodecConfig kind,
                                           int *count) {
  const void *values = NULL;
  *count = 0;
  if (cue_ffmpeg()->avcodec_get_supported_config(NULL, codec, kind, 0, &values, count) < 0)
    return NULL;
  return values;
}

static inline const int *cue_av_sample_rates(const AVCodec *codec, int *count) {
  return (const int *)cue_av_supported(codec, AV_CODEC_CONFIG_SAMPLE_RATE, count);
}

static inline const enum AVSampleFormat *cue_av_sample_formats(const AVCodec *codec, int *count) {
  return (const enum AVSampleFormat *)cue_av_supported(codec, AV_CODEC_CONFIG_SAMPLE_FORMAT, count);
}

static inline const AVChannelLayout *cue_av_channel_layouts(const AVCodec *codec, int *count) {
  return (const AVChannelLayout *)cue_av_supported(codec, AV_CODEC_CONFIG_CHANNEL_LAYOUT, count);
}
#else
static inline const int *cue_av_sample_rates(const AVCodec *codec, int *count) {
  const int *rates = codec->supported_samplerates;
  *count = 0;
  while (rates && rates[*count] != 0)
    (*count)++;
  return rates;
}

static inline const enum AVSampleFormat *cue_av_sample_formats(const AVCodec *codec, int *count) {
  const enum AVSampleFormat *formats = codec->sample_fmts;
  *count = 0;
  while (formats && formats[*count] != AV_SAMPLE_FMT_NONE)
    (*count)++;
  return formats;
}

static inline const AVChannelLayout *cue_av_channel_layouts(const AVCodec *codec, int *count) {
  const AVChannelLayout *layouts = codec->ch_layouts;
  *count = 0;
  while (layouts && layouts[*count].nb_channels != 0)
    (*count)++;
  return layouts;
}
#endif

// Calls avio_alloc_context, whose write callback takes a const pointer since FFmpeg 7.0.
static inline AVIOContext *
cue_avio_alloc_context(unsigned char *buffer, int bytes, int is_writing, void *opaque,
                       int (*read)(void *opaque, uint8_t *memory, int bytes),
                       int (*write)(void *opaque, const uint8_t *memory, int bytes),
                       int64_t (*seek)(void *opaque, int64_t offset, int origin)) {
#if LIBAVFORMAT_VERSION_MAJOR >= 61
  return cue_ffmpeg()->avio_alloc_context(buffer, bytes, is_writing, opaque, read, write, seek);
#else
  return cue_ffmpeg()->avio_alloc_context(buffer, bytes, is_writing, opaque, read,
                                          (int (*)(void *, uint8_t *, int))write, seek);
#endif
}
