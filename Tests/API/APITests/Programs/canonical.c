// The canonical samples of audio units in a program that prefers fixed point: files, mixers and
// output units in 8.24, as the first phones had it.
#define CA_PREFER_FIXED_POINT 1
#include "units.h"

#include "extaudiofile.h"

_Static_assert(_Generic((AudioUnitSampleType)0, SInt32 : 1), "8.24 fixed point");
_Static_assert(_Generic((AudioSampleType)0, SInt16 : 1), "16 bits");
_Static_assert(kAudioUnitSampleFractionBits == 24, "8.24 fixed point");

enum {
  FRAMES = 20000
};

/// Full scale.
#define ONE (1 << kAudioUnitSampleFractionBits)

/// Returns the canonical format, as programs make it up.
static AudioStreamBasicDescription canonical(UInt32 channels) {
  AudioStreamBasicDescription format = {0};
  format.mSampleRate = RATE;
  format.mFormatID = kAudioFormatLinearPCM;
  format.mFormatFlags = kAudioFormatFlagsAudioUnitCanonical;
  format.mBytesPerPacket = format.mBytesPerFrame = sizeof(AudioUnitSampleType);
  format.mFramesPerPacket = 1;
  format.mChannelsPerFrame = channels;
  format.mBitsPerChannel = 8 * sizeof(AudioUnitSampleType);
  return format;
}

/// Returns the samples of a file: 16 bits, the right channel the negative of the left.
static SInt16 in_file(long frame) {
  return (SInt16)(frame % 30000 + 1);
}

// MARK: Files

static AudioUnitSampleType *sound[2];

/// Reads a file of 16 bits into memory, a buffer for each channel.
static void files(void) {
  CHECK(mkdtemp(folder) != NULL);
  AudioStreamBasicDescription format = int16(RATE, 2, 0);
  EQUAL(format.mFormatFlags, kAudioFormatFlagsCanonical);
  ExtAudioFileRef file =
      create("canonical.caf", kAudioFileCAFType, format, kAudioFileFlags_EraseFile);
  static AudioSampleType written[2 * FRAMES];
  for (long f = 0; f < FRAMES; f++) {
    written[2 * f] = in_file(f);
    written[2 * f + 1] = (SInt16)-in_file(f);
  }
  AudioBufferList list = {1, {{2, sizeof written, written}}};
  WORKS(ExtAudioFileWrite(file, FRAMES, &list));
  WORKS(ExtAudioFileDispose(file));

  file = open_file("canonical.caf");
  set_client(file, canonical(2));
  buffers all = no_memory(2);
  for (int i = 0; i < 2; i++) {
    sound[i] = calloc(FRAMES, sizeof *sound[i]);
    all.list.mBuffers[i] = (AudioBuffer){1, FRAMES * sizeof *sound[i], sound[i]};
  }
  UInt32 frames = FRAMES;
  WORKS(ExtAudioFileRead(file, &frames, &all.list));
  EQUAL(frames, FRAMES);
  WORKS(ExtAudioFileDispose(file));
  run("rm canonical.caf");
  rmdir(folder);
  for (long f = 0; f < FRAMES; f++) {
    EQUAL(sound[0][f], in_file(f) * (ONE / 32768));
    EQUAL(sound[1][f], -in_file(f) * (ONE / 32768));
  }
  passed("files");
}

// MARK: Units

/// Plays the sound from a frame on.
typedef struct {
  UInt32 channels;
  _Atomic long frame;
} player;

static OSStatus give(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)flags, (void)time, (void)bus;
  player *this = data;
  EQUAL(list->mNumberBuffers, this->channels);
  for (UInt32 i = 0; i < list->mNumberBuffers; i++) {
    EQUAL(list->mBuffers[i].mDataByteSize, frames * sizeof(AudioUnitSampleType));
    AudioUnitSampleType *samples = list->mBuffers[i].mData;
    for (UInt32 f = 0; f < frames; f++)
      samples[f] = this->frame + f < FRAMES ? sound[i][this->frame + f] : 0;
  }
  this->frame += frames;
  return noErr;
}

/// A mixer of a stereo and a mono input.
static AudioUnit mixer(player *stereo, player *mono) {
  AudioUnit unit = make(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  set_number(unit, kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0, 2);
  *stereo = (player){.channels = 2};
  *mono = (player){.channels = 1};
  set_callback(unit, 0, give, stereo);
  set_callback(unit, 1, give, mono);
  set_format(unit, kAudioUnitScope_Input, 0, canonical(2));
  set_format(unit, kAudioUnitScope_Input, 1, canonical(1));
  EQUAL(get_format(unit, kAudioUnitScope_Input, 1).mFormatFlags,
        kAudioFormatFlagsAudioUnitCanonical);
  WORKS(AudioUnitSetParameter(unit, kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, 0, 0.5f,
                              0));
  return unit;
}

/// The sum of half the stereo sound and all of the mono sound, which 8.24 holds exactly.
static SInt32 expected(long frame, int channel) {
  return (channel ? -1 : 1) * sound[0][frame] / 2 + sound[0][frame];
}

static void mixers(void) {
  player stereo, mono;
  AudioUnit unit = mixer(&stereo, &mono);
  set_format(unit, kAudioUnitScope_Output, 0, canonical(2));
  WORKS(AudioUnitInitialize(unit));
  for (long f = 0; f < FRAMES; f += 500) {
    AudioTimeStamp time = at_frame((double)f);
    buffers all = no_memory(2);
    WORKS(AudioUnitRender(unit, NULL, &time, 0, 500, &all.list));
    for (int c = 0; c < 2; c++) {
      EQUAL(all.list.mBuffers[c].mDataByteSize, 500 * sizeof(AudioUnitSampleType));
      const AudioUnitSampleType *samples = all.list.mBuffers[c].mData;
      for (int i = 0; i < 500; i++)
        EQUAL(samples[i], expected(f + i, c));
    }
  }
  WORKS(AudioComponentInstanceDispose(unit));
  passed("mixers");
}

static void output(cue_capture *card) {
  player stereo, mono;
  AudioUnit first = mixer(&stereo, &mono);
  set_format(first, kAudioUnitScope_Output, 0, canonical(2));
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_RemoteIO);
  AudioUnitConnection connection = {first, 0, 0};
  WORKS(AudioUnitSetProperty(unit, kAudioUnitProperty_MakeConnection, kAudioUnitScope_Input, 0,
                             &connection, sizeof connection));
  EQUAL(get_format(unit, kAudioUnitScope_Input, 0).mFormatFlags,
        kAudioFormatFlagsAudioUnitCanonical);
  WORKS(AudioUnitInitialize(first));
  WORKS(AudioUnitInitialize(unit));
  cue_capture_arm(card);
  WORKS(AudioOutputUnitStart(unit));
  WAIT(mono.frame >= FRAMES);
  record(card, 4096);
  WORKS(AudioOutputUnitStop(unit));
  end_recording(card);
  size_t start = find_sound(card, 0);
  CHECK(start + FRAMES <= cue_capture_frames(card));
  for (int c = 0; c < 2; c++)
    for (long f = 0; f < FRAMES; f++)
      EQUAL(cue_capture_samples(card, (unsigned)c)[start + (size_t)f],
            (float)expected(f, c) / (float)ONE);
  WORKS(AudioComponentInstanceDispose(unit));
  WORKS(AudioComponentInstanceDispose(first));
  passed("an output unit");
}

int main(void) {
  files();
  mixers();
  cue_capture *card = open_card(10);
  output(card);
  WORKS(AudioHardwareUnload());
  cue_capture_close(card);
  for (int i = 0; i < 2; i++)
    free(sound[i]);
  return 0;
}
