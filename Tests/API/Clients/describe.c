// Describes sound files: type, format, length, packets, cookie, tags.
//
// Usage: describe FILE...
#include <AudioToolbox/AudioToolbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void code_to_text(UInt32 code, char *text) {
  for (int i = 0; i < 4; i++)
    text[i] = (char)(code >> (24 - 8 * i));
  text[4] = 0;
}

static void print_string(const char *label, CFStringRef string) {
  char text[256] = "?";
  CFStringGetCString(string, text, sizeof text, kCFStringEncodingUTF8);
  printf("%s: %s\n", label, text);
}

/// Returns a property of the file, or 0 if the file does not have it.
static int get(AudioFileID file, AudioFilePropertyID id, void *value, UInt32 size) {
  UInt32 have = size;
  return AudioFileGetProperty(file, id, &have, value) == noErr && have == size;
}

static void print_format(const AudioStreamBasicDescription *format) {
  char id[5];
  code_to_text(format->mFormatID, id);
  printf("format: '%s', %u channels, %.0f Hz, flags 0x%x", id, (unsigned)format->mChannelsPerFrame,
         format->mSampleRate, (unsigned)format->mFormatFlags);
  if (format->mFormatID == kAudioFormatLinearPCM)
    printf(", %u bits, %u bytes a frame\n", (unsigned)format->mBitsPerChannel,
           (unsigned)format->mBytesPerFrame);
  else
    printf(", %u frames a packet, %u bytes a packet\n", (unsigned)format->mFramesPerPacket,
           (unsigned)format->mBytesPerPacket);
  CFStringRef name = NULL;
  UInt32 size = sizeof name;
  if (AudioFormatGetProperty(kAudioFormatProperty_FormatName, sizeof *format, format, &size,
                             &name) == noErr) {
    print_string("format name", name);
    CFRelease(name);
  }
}

static void print_tags(AudioFileID file) {
  CFDictionaryRef tags = NULL;
  if (!get(file, kAudioFilePropertyInfoDictionary, &tags, sizeof tags) || !tags) return;
  const void *title = CFDictionaryGetValue(tags, CFSTR(kAFInfoDictionary_Title));
  if (title) print_string("title", (CFStringRef)title);
  CFRelease(tags);
}

static int describe(const char *path) {
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  AudioFileID file = NULL;
  OSStatus status = AudioFileOpenURL(url, kAudioFileReadPermission, 0, &file);
  CFRelease(url);
  if (status != noErr) {
    char text[5];
    code_to_text((UInt32)status, text);
    fprintf(stderr, "describe: %s cannot be opened: %d '%s'\n", path, (int)status, text);
    return 1;
  }
  printf("file: %s\n", path);
  AudioFileTypeID type = 0;
  char text[5];
  if (get(file, kAudioFilePropertyFileFormat, &type, sizeof type)) {
    code_to_text(type, text);
    printf("type: '%s'\n", text);
    CFStringRef name = NULL;
    UInt32 size = sizeof name;
    if (AudioFileGetGlobalInfo(kAudioFileGlobalInfo_FileTypeName, sizeof type, &type, &size,
                               &name) == noErr) {
      print_string("type name", name);
      CFRelease(name);
    }
  }
  AudioStreamBasicDescription format;
  if (get(file, kAudioFilePropertyDataFormat, &format, sizeof format)) print_format(&format);

  UInt64 bytes = 0, packets = 0;
  Float64 seconds = 0;
  UInt32 rate = 0, largest = 0;
  SInt64 offset = 0;
  if (get(file, kAudioFilePropertyAudioDataByteCount, &bytes, sizeof bytes))
    printf("bytes: %llu\n", (unsigned long long)bytes);
  if (get(file, kAudioFilePropertyDataOffset, &offset, sizeof offset))
    printf("offset: %lld\n", (long long)offset);
  if (get(file, kAudioFilePropertyAudioDataPacketCount, &packets, sizeof packets))
    printf("packets: %llu\n", (unsigned long long)packets);
  if (get(file, kAudioFilePropertyMaximumPacketSize, &largest, sizeof largest))
    printf("largest packet: %u\n", (unsigned)largest);
  if (get(file, kAudioFilePropertyEstimatedDuration, &seconds, sizeof seconds))
    printf("seconds: %.6f\n", seconds);
  if (get(file, kAudioFilePropertyBitRate, &rate, sizeof rate))
    printf("bit rate: %u\n", (unsigned)rate);
  AudioFilePacketTableInfo table;
  if (get(file, kAudioFilePropertyPacketTableInfo, &table, sizeof table))
    printf("frames: %lld valid + %d priming + %d remainder\n", (long long)table.mNumberValidFrames,
           (int)table.mPrimingFrames, (int)table.mRemainderFrames);
  UInt32 size = 0;
  if (AudioFileGetPropertyInfo(file, kAudioFilePropertyMagicCookieData, &size, NULL) == noErr &&
      size > 0)
    printf("cookie: %u bytes\n", (unsigned)size);

  // The layout is as long as it has descriptions.
  if (AudioFileGetPropertyInfo(file, kAudioFilePropertyChannelLayout, &size, NULL) == noErr &&
      size > 0) {
    AudioChannelLayout *layout = (AudioChannelLayout *)malloc(size);
    CFStringRef name = NULL;
    UInt32 nameSize = sizeof name;
    if (AudioFileGetProperty(file, kAudioFilePropertyChannelLayout, &size, layout) == noErr &&
        AudioFormatGetProperty(kAudioFormatProperty_ChannelLayoutName, size, layout, &nameSize,
                               &name) == noErr) {
      print_string("layout", name);
      CFRelease(name);
    }
    free(layout);
  }
  print_tags(file);
  AudioFileClose(file);
  return 0;
}

int main(int argc, const char **argv) {
  int failures = argc < 2;
  if (argc < 2) fprintf(stderr, "usage: describe FILE...\n");
  for (int i = 1; i < argc; i++)
    failures += describe(argv[i]);
  return failures ? 1 : 0;
}
