// FFmpeg's libavformat, libavcodec and libavutil, as Swift sees them.
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavcodec/vorbis_parser.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/crc.h>
#include <libavutil/dict.h>
#include <libavutil/opt.h>

// Macros that Swift cannot see.
static const int cue_av_error_again = AVERROR(EAGAIN);
static const int cue_av_error_end_of_file = AVERROR_EOF;
static const int cue_av_error_invalid_data = AVERROR_INVALIDDATA;
static const int64_t cue_av_no_time = AV_NOPTS_VALUE;
