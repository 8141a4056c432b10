// Uses of the headers that only C++ allows.
#include <AudioToolbox/AudioToolbox.h>

int main() {
  AudioStreamBasicDescription format = {};
  FillOutASBDForLPCM(format, 48000, 2, 24, 32, false, false);
  if (format.mBytesPerFrame != 8 || format.mFramesPerPacket != 1 || format.mBitsPerChannel != 24 ||
      format.mFormatFlags != (kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsAlignedHigh))
    return 1;
  FillOutASBDForLPCM(format, 48000, 2, 32, 32, true, false, true);
  if (format.mBytesPerFrame != 4 || format.mFormatFlags != (kAudioFormatFlagsNativeFloatPacked |
                                                            kAudioFormatFlagIsNonInterleaved))
    return 2;
  // Permissions are plain integers, and flags are numbers.
  OSStatus (*open)(CFURLRef, AudioFilePermissions, AudioFileTypeID, AudioFileID *) =
      AudioFileOpenURL;
  AudioFilePermissions permissions = 0x01;
  AudioTimeStamp time = {};
  time.mFlags |= kAudioTimeStampSampleTimeValid;
  time.mFlags = time.mFlags | kAudioTimeStampHostTimeValid;
  UInt32 flags = time.mFlags;
  return flags == 3 && permissions == kAudioFileReadPermission && open &&
                 IsAudioFormatNativeEndian(format) &&
                 AudioChannelLayoutTag_GetNumberOfChannels(kAudioChannelLayoutTag_MPEG_5_1_A) == 6
             ? 0
             : 3;
}
