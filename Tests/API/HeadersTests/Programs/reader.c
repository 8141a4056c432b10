// Reads a sound file like ported players and prints its properties.
#include <AudioToolbox/AudioFile.h>
#include <mach/mach_time.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  AudioFileID file = nil, none = nil;
  AudioStreamBasicDescription format;
  UInt32 size = sizeof(format);
  unsigned long long total = 0, sum = 0;
  SInt64 packet = 0;
  if (argc != 2) return 2;
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)argv[1],
                                                         (CFIndex)strlen(argv[1]), false);
  OSStatus status = AudioFileOpenURL(url, fsRdPerm, 0, &file);
  CFRelease(url);
  if (status != noErr) {
    printf("open %d\n", (int)status);
    return 1;
  }
  if (AudioFileGetProperty(file, kAudioFilePropertyDataFormat, &size, &format) != noErr) return 3;
  for (;;) {
    Byte buffer[4096];
    UInt32 bytes = 0, packets = 4096 / format.mBytesPerPacket;
    if (AudioFileReadPackets(file, false, &bytes, NULL, packet, &packets, buffer) != noErr)
      return 4;
    if (packets == 0) break;
    for (UInt32 i = 0; i < bytes; ++i)
      sum += buffer[i];
    packet += packets;
    total += bytes;
  }
  if (mach_absolute_time() == 0 || AudioFileClose(file) != noErr ||
      AudioFileClose(file) != kAudioFileNotOpenError || AudioFileClose(none) != kAudio_ParamError)
    return 5;
  printf("%lld packets %llu bytes sum %llu\n", (long long)packet, total, sum);
  return 0;
}
