// Dither: the mean of rounded integers equals the input at any level.
#include "check.h"

enum {
  Frames = 20000
};

/// One step of 16-bit samples.
static const double step = 1.0 / 32768;
static float input[2 * Frames];
static SInt16 output[2 * Frames];

static AudioStreamBasicDescription int16(double rate) {
  AudioStreamBasicDescription format = float_format(rate, 2);
  format.mFormatFlags = kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked;
  format.mBytesPerPacket = format.mBytesPerFrame = 4;
  format.mBitsPerChannel = 16;
  return format;
}

static AudioConverterRef converter(UInt32 algorithm, UInt32 bits) {
  AudioStreamBasicDescription from = float_format(RATE, 2), to = int16(RATE);
  AudioConverterRef made = NULL;
  WORKS(AudioConverterNew(&from, &to, &made));
  WORKS(AudioConverterSetProperty(made, kAudioConverterPropertyDithering, 4, &algorithm));
  WORKS(AudioConverterSetProperty(made, kAudioConverterPropertyDitherBitDepth, 4, &bits));
  UInt32 value = 99, size = sizeof value;
  WORKS(AudioConverterGetProperty(made, kAudioConverterPropertyDithering, &size, &value));
  EQUAL(value, algorithm);
  return made;
}

static void convert(AudioConverterRef made) {
  UInt32 bytes = sizeof output;
  WORKS(AudioConverterConvertBuffer(made, sizeof input, input, &bytes, output));
  EQUAL(bytes, sizeof output);
}

/// Fills the input with constants.
static void set_input(double left, double right) {
  for (int i = 0; i < Frames; i++) {
    input[2 * i] = (float)left;
    input[2 * i + 1] = (float)right;
  }
}

static void none(void) {
  AudioConverterRef made = converter(0, 0);
  set_input(0.3 * step, -0.3 * step);
  convert(made);
  for (int i = 0; i < 2 * Frames; i++)
    EQUAL(output[i], 0);
  WORKS(AudioConverterDispose(made));
  passed("none");
}

static double mean(int side) {
  double sum = 0;
  for (int i = 0; i < Frames; i++)
    sum += output[2 * i + side];
  return sum / Frames;
}

static void triangular(void) {
  AudioConverterRef made = converter(kDitherAlgorithm_TPDF, 0);
  set_input(0.3 * step, -100.25 * step);
  convert(made);
  // The noise of a sample is below one step, and rounding adds half a step.
  for (int i = 0; i < Frames; i++) {
    CHECK(output[2 * i] >= -1 && output[2 * i] <= 2);
    CHECK(output[2 * i + 1] >= -102 && output[2 * i + 1] <= -99);
  }
  // The variance is a quarter of a squared step. The limit is five standard deviations of the mean.
  CHECK(fabs(mean(0) - 0.3) < 5 * sqrt(0.25 / Frames));
  CHECK(fabs(mean(1) + 100.25) < 5 * sqrt(0.25 / Frames));
  // The noise differs between channels.
  int same = 0;
  set_input(0, 0);
  convert(made);
  for (int i = 0; i < Frames; i++)
    same += output[2 * i] == output[2 * i + 1];
  CHECK(same < Frames * 3 / 4);
  // Full scale does not overflow.
  set_input(1, -1);
  convert(made);
  for (int i = 0; i < Frames; i++)
    CHECK(output[2 * i] >= 32766 && output[2 * i + 1] <= -32767);
  WORKS(AudioConverterDispose(made));
  passed("triangular");
}

static void shaped(void) {
  AudioConverterRef made = converter(kDitherAlgorithm_NoiseShaping, 0);
  set_input(0.3 * step, -100.25 * step);
  convert(made);
  // Noise shaping: the accumulated error never exceeds that of the last sample.
  double error[2] = {0, 0};
  for (int i = 0; i < Frames; i++) {
    error[0] += output[2 * i] - 0.3;
    error[1] += output[2 * i + 1] + 100.25;
    CHECK(fabs(error[0]) < 1.6 && fabs(error[1]) < 1.6);
  }
  WORKS(AudioConverterDispose(made));
  passed("shaped");
}

static void fewer_bits(void) {
  AudioConverterRef made = converter(kDitherAlgorithm_TPDF, 8);
  set_input(0.3 / 128, -0.7 / 128);
  convert(made);
  int other = 0;
  for (int i = 0; i < 2 * Frames; i++) {
    EQUAL(output[i] % 256, 0);
    other += output[i] != 0;
  }
  CHECK(other > Frames / 2);
  CHECK(fabs(mean(0) / 256 - 0.3) < 5 * sqrt(0.25 / Frames));
  WORKS(AudioConverterDispose(made));
  passed("fewer bits");
}

typedef struct {
  AudioBufferList list;
  bool given;
} Input;

static OSStatus give(AudioConverterRef made, UInt32 *packets, AudioBufferList *list,
                     AudioStreamPacketDescription **descriptions, void *data) {
  (void)made, (void)descriptions;
  Input *given = data;
  *packets = given->given ? 0 : Frames;
  list->mBuffers[0] = given->list.mBuffers[0];
  given->given = true;
  return noErr;
}

/// Also after a sample rate conversion.
static void at_another_rate(void) {
  AudioStreamBasicDescription from = float_format(RATE, 2), to = int16(RATE / 2);
  AudioConverterRef made = NULL;
  UInt32 algorithm = kDitherAlgorithm_TPDF, frames = Frames / 2;
  WORKS(AudioConverterNew(&from, &to, &made));
  WORKS(AudioConverterSetProperty(made, kAudioConverterPropertyDithering, 4, &algorithm));
  set_input(0.3 * step, 0.3 * step);
  Input given = {{1, {{2, sizeof input, input}}}, false};
  AudioBufferList list = {1, {{2, sizeof output, output}}};
  WORKS(AudioConverterFillComplexBuffer(made, give, &given, &frames, &list, NULL));
  EQUAL(frames, Frames / 2);
  double sum = 0;
  for (UInt32 i = 0; i < frames; i++)
    sum += output[2 * i];
  CHECK(fabs(sum / frames - 0.3) < 5 * sqrt(0.25 / frames));
  WORKS(AudioConverterDispose(made));
  passed("at another rate");
}

static void what_cannot_be(void) {
  AudioConverterRef made = converter(0, 0);
  UInt32 value = 3;
  GIVES(AudioConverterSetProperty(made, kAudioConverterPropertyDithering, 4, &value),
        kAudio_ParamError);
  value = 25;
  GIVES(AudioConverterSetProperty(made, kAudioConverterPropertyDitherBitDepth, 4, &value),
        kAudio_ParamError);
  WORKS(AudioConverterDispose(made));
  passed("what cannot be");
}

int main(void) {
  none();
  triangular();
  shaped();
  fewer_bits();
  at_another_rate();
  what_cannot_be();
  return 0;
}
