// NULL in each argument where the headers do not allow it must give an error and never crash.
// `NullTests` checks that every function with pointers has a row here.
#include "soundfiles.h"

#include <CoreMIDI/CoreMIDI.h>
#include <Cuejack/QueueEffects.h>
#include <os/workgroup.h>

#include <CarbonCore/Files.h>
#include <errno.h>

#include <signal.h>

#define NOWHERE(type) ((type)nowhere)

// clang-format off
/// A call with NULL and its expected result.
typedef struct {
  const char *call;
  OSStatus expected;
  OSStatus (^run)(void);
} Row;

#define ROW(call, expected) {#call, expected, ^OSStatus { return call; }}
// clang-format on
#define PARAM(call) ROW(call, kAudio_ParamError)

static const char *present;

/// Prints the call that crashed.
static void crashed(int number) {
  char text[500];
  int length = snprintf(text, sizeof text, "signal %d in %s\n", number, present);
  if (write(STDOUT_FILENO, text, (size_t)length) < 0) _exit(3);
  _exit(2);
}

static void check_rows(const char *part, const Row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    present = rows[i].call;
    OSStatus status = rows[i].run();
    if (status != rows[i].expected) {
      printf("%s gave %d, not %d\n", present, (int)status, (int)rows[i].expected);
      fflush(stdout);
      exit(1);
    }
  }
  passed(part);
}

#define CHECK_ROWS(part, rows) check_rows(part, rows, sizeof rows / sizeof *rows)

// MARK: Queues

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data, (void)queue, (void)buffer;
}

static void recorded(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *time, UInt32 packets,
                     const AudioStreamPacketDescription *descriptions) {
  (void)data, (void)queue, (void)buffer, (void)time, (void)packets, (void)descriptions;
}

static void changed(void *data, AudioQueueRef queue, AudioQueuePropertyID property) {
  (void)data, (void)queue, (void)property;
}

static void tapped(void *data, AudioQueueProcessingTapRef tap, UInt32 frames, AudioTimeStamp *time,
                   AudioQueueProcessingTapFlags *flags, UInt32 *given, AudioBufferList *list) {
  (void)data, (void)tap, (void)frames, (void)time, (void)flags, (void)given, (void)list;
}

static void queues(void) {
  static AudioStreamBasicDescription format, other;
  static AudioQueueRef queue, made;
  static AudioQueueBufferRef buffer;
  static AudioTimeStamp time;
  static Float32 value;
  static Float64 sample_time;
  static UInt32 number, size = sizeof number;
  static AudioQueueTimelineRef timeline;
  static AudioQueueProcessingTapRef tap, another_tap;
  static AudioQueueProcessingTapFlags flags;
  static AudioBufferList list;
  static dispatch_queue_t serial;
  static const AudioQueueProcessingTapFlags before = kAudioQueueProcessingTap_PreEffects;
  static const AudioQueuePropertyID metering = kAudioQueueProperty_EnableLevelMetering;
  static const AudioQueueParameterID volume = kAudioQueueParam_Volume;
  format = float_format(RATE, 2);
  serial = dispatch_queue_create("nulls", NULL);
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  WORKS(AudioQueueAllocateBuffer(queue, 100, &buffer));
  WORKS(AudioQueueProcessingTapNew(queue, tapped, NULL, before, &number, &other, &tap));
  AudioQueueOutputCallbackBlock play = ^(AudioQueueRef aq, AudioQueueBufferRef given) {
    played(NULL, aq, given);
  };
  AudioQueueInputCallbackBlock take =
      ^(AudioQueueRef aq, AudioQueueBufferRef given, const AudioTimeStamp *start, UInt32 packets,
        const AudioStreamPacketDescription *descriptions) {
        recorded(NULL, aq, given, start, packets, descriptions);
      };
  const Row rows[] = {
      PARAM(AudioQueueNewOutput(nowhere, played, NULL, NULL, NULL, 0, &made)),
      PARAM(AudioQueueNewOutput(&format, NOWHERE(AudioQueueOutputCallback), NULL, NULL, NULL, 0,
                                &made)),
      PARAM(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, nowhere)),
      PARAM(AudioQueueNewInput(nowhere, recorded, NULL, NULL, NULL, 0, &made)),
      PARAM(AudioQueueNewInput(&format, NOWHERE(AudioQueueInputCallback), NULL, NULL, NULL, 0,
                               &made)),
      PARAM(AudioQueueNewInput(&format, recorded, NULL, NULL, NULL, 0, nowhere)),
      PARAM(AudioQueueNewOutputWithDispatchQueue(nowhere, &format, 0, serial, play)),
      PARAM(AudioQueueNewOutputWithDispatchQueue(&made, nowhere, 0, serial, play)),
      PARAM(
          AudioQueueNewOutputWithDispatchQueue(&made, &format, 0, NOWHERE(dispatch_queue_t), play)),
      PARAM(AudioQueueNewOutputWithDispatchQueue(&made, &format, 0, serial,
                                                 NOWHERE(AudioQueueOutputCallbackBlock))),
      PARAM(AudioQueueNewInputWithDispatchQueue(nowhere, &format, 0, serial, take)),
      PARAM(AudioQueueNewInputWithDispatchQueue(&made, nowhere, 0, serial, take)),
      PARAM(
          AudioQueueNewInputWithDispatchQueue(&made, &format, 0, NOWHERE(dispatch_queue_t), take)),
      PARAM(AudioQueueNewInputWithDispatchQueue(&made, &format, 0, serial,
                                                NOWHERE(AudioQueueInputCallbackBlock))),
      PARAM(AudioQueueDispose(nowhere, true)),
      PARAM(AudioQueueAllocateBuffer(nowhere, 100, &buffer)),
      PARAM(AudioQueueAllocateBuffer(queue, 100, nowhere)),
      PARAM(AudioQueueAllocateBufferWithPacketDescriptions(nowhere, 100, 1, &buffer)),
      PARAM(AudioQueueAllocateBufferWithPacketDescriptions(queue, 100, 1, nowhere)),
      PARAM(AudioQueueFreeBuffer(nowhere, buffer)),
      ROW(AudioQueueFreeBuffer(queue, nowhere), kAudioQueueErr_InvalidBuffer),
      PARAM(AudioQueueEnqueueBuffer(nowhere, buffer, 0, NULL)),
      ROW(AudioQueueEnqueueBuffer(queue, nowhere, 0, NULL), kAudioQueueErr_InvalidBuffer),
      PARAM(AudioQueueEnqueueBufferWithParameters(nowhere, buffer, 0, NULL, 0, 0, 0, NULL, NULL,
                                                  NULL)),
      ROW(AudioQueueEnqueueBufferWithParameters(queue, nowhere, 0, NULL, 0, 0, 0, NULL, NULL, NULL),
          kAudioQueueErr_InvalidBuffer),
      PARAM(
          AudioQueueEnqueueBufferWithParameters(queue, buffer, 0, NULL, 0, 0, 1, NULL, NULL, NULL)),
      PARAM(AudioQueueStart(nowhere, NULL)),
      PARAM(AudioQueuePrime(nowhere, 0, NULL)),
      PARAM(AudioQueueStop(nowhere, true)),
      PARAM(AudioQueuePause(nowhere)),
      PARAM(AudioQueueFlush(nowhere)),
      PARAM(AudioQueueReset(nowhere)),
      PARAM(AudioQueueGetParameter(nowhere, volume, &value)),
      PARAM(AudioQueueGetParameter(queue, volume, nowhere)),
      PARAM(AudioQueueSetParameter(nowhere, volume, 1)),
      PARAM(AudioQueueGetProperty(nowhere, metering, &number, &size)),
      PARAM(AudioQueueGetProperty(queue, metering, nowhere, &size)),
      PARAM(AudioQueueGetProperty(queue, metering, &number, nowhere)),
      PARAM(AudioQueueSetProperty(nowhere, metering, &number, size)),
      PARAM(AudioQueueSetProperty(queue, metering, nowhere, size)),
      ROW(AudioQueueSetProperty(queue, metering, nowhere, 0), kAudioQueueErr_InvalidPropertySize),
      PARAM(AudioQueueGetPropertySize(nowhere, metering, &size)),
      PARAM(AudioQueueGetPropertySize(queue, metering, nowhere)),
      PARAM(AudioQueueAddPropertyListener(nowhere, metering, changed, NULL)),
      PARAM(AudioQueueAddPropertyListener(queue, metering, NOWHERE(AudioQueuePropertyListenerProc),
                                          NULL)),
      PARAM(AudioQueueRemovePropertyListener(nowhere, metering, changed, NULL)),
      PARAM(AudioQueueRemovePropertyListener(queue, metering,
                                             NOWHERE(AudioQueuePropertyListenerProc), NULL)),
      PARAM(AudioQueueCreateTimeline(nowhere, &timeline)),
      PARAM(AudioQueueCreateTimeline(queue, nowhere)),
      PARAM(AudioQueueDisposeTimeline(nowhere, timeline)),
      PARAM(AudioQueueDisposeTimeline(queue, nowhere)),
      PARAM(AudioQueueGetCurrentTime(nowhere, NULL, NULL, NULL)),
      ROW(AudioQueueGetCurrentTime(queue, NULL, NULL, NULL), kAudioQueueErr_InvalidRunState),
      PARAM(AudioQueueDeviceGetCurrentTime(nowhere, &time)),
      PARAM(AudioQueueDeviceGetCurrentTime(queue, nowhere)),
      PARAM(AudioQueueDeviceTranslateTime(nowhere, &time, &time)),
      PARAM(AudioQueueDeviceTranslateTime(queue, nowhere, &time)),
      PARAM(AudioQueueDeviceTranslateTime(queue, &time, nowhere)),
      PARAM(AudioQueueDeviceGetNearestStartTime(nowhere, &time, 0)),
      PARAM(AudioQueueDeviceGetNearestStartTime(queue, nowhere, 0)),
      PARAM(AudioQueueSetOfflineRenderFormat(nowhere, NULL, NULL)),
      PARAM(AudioQueueOfflineRender(nowhere, &time, buffer, 0)),
      ROW(AudioQueueOfflineRender(queue, &time, nowhere, 0), kAudioQueueErr_InvalidBuffer),
      PARAM(AudioQueueProcessingTapNew(nowhere, tapped, NULL, before, &number, &other, &tap)),
      PARAM(AudioQueueProcessingTapNew(queue, NOWHERE(AudioQueueProcessingTapCallback), NULL,
                                       before, &number, &other, &another_tap)),
      PARAM(AudioQueueProcessingTapNew(queue, tapped, NULL, before, nowhere, &other, &another_tap)),
      PARAM(
          AudioQueueProcessingTapNew(queue, tapped, NULL, before, &number, nowhere, &another_tap)),
      PARAM(AudioQueueProcessingTapNew(queue, tapped, NULL, before, &number, &other, nowhere)),
      PARAM(AudioQueueProcessingTapGetSourceAudio(nowhere, 1, &time, &flags, &number, &list)),
      PARAM(AudioQueueProcessingTapGetSourceAudio(tap, 1, nowhere, &flags, &number, &list)),
      PARAM(AudioQueueProcessingTapGetSourceAudio(tap, 1, &time, nowhere, &number, &list)),
      PARAM(AudioQueueProcessingTapGetSourceAudio(tap, 1, &time, &flags, nowhere, &list)),
      PARAM(AudioQueueProcessingTapGetSourceAudio(tap, 1, &time, &flags, &number, nowhere)),
      PARAM(AudioQueueProcessingTapGetQueueTime(nowhere, &sample_time, &number)),
      PARAM(AudioQueueProcessingTapGetQueueTime(tap, nowhere, &number)),
      PARAM(AudioQueueProcessingTapGetQueueTime(tap, &sample_time, nowhere)),
      PARAM(AudioQueueProcessingTapDispose(nowhere)),
  };
  CHECK_ROWS("queues", rows);
  WORKS(AudioQueueDispose(queue, true));
  dispatch_release(serial);
}

// MARK: Converters and formats

static OSStatus feed(AudioConverterRef converter, UInt32 *packets, AudioBufferList *list,
                     AudioStreamPacketDescription **descriptions, void *data) {
  (void)converter, (void)list, (void)descriptions, (void)data;
  *packets = 0;
  return noErr;
}

static OSStatus feed_bytes(AudioConverterRef converter, UInt32 *size, void **at, void *data) {
  (void)converter, (void)at, (void)data;
  *size = 0;
  return noErr;
}

static void converters(void) {
  static AudioStreamBasicDescription from, to;
  static AudioConverterRef converter, made;
  static float samples[2];
  static UInt32 number, size = sizeof samples;
  static AudioBufferList list, nothing;
  static const void *no_layouts[2];
  static const AudioConverterPropertyID quality = kAudioConverterSampleRateConverterQuality;
  static const AudioFormatPropertyID name = kAudioFormatProperty_FormatName;
  from = float_format(RATE, 2);
  to = float_format(RATE, 2);
  list = (AudioBufferList){1, {{2, sizeof samples, samples}}};
  nothing = (AudioBufferList){1, {{2, sizeof samples, NULL}}};
  WORKS(AudioConverterNew(&from, &to, &converter));
  const Row rows[] = {
      PARAM(AudioConverterNew(nowhere, &to, &made)),
      PARAM(AudioConverterNew(&from, nowhere, &made)),
      PARAM(AudioConverterNew(&from, &to, nowhere)),
      PARAM(AudioConverterNewSpecific(nowhere, &to, 0, nowhere, &made)),
      PARAM(AudioConverterNewSpecific(&from, nowhere, 0, nowhere, &made)),
      PARAM(AudioConverterNewSpecific(&from, &to, 1, nowhere, &made)),
      PARAM(AudioConverterNewSpecific(&from, &to, 0, nowhere, nowhere)),
      PARAM(AudioConverterDispose(nowhere)),
      PARAM(AudioConverterReset(nowhere)),
      PARAM(AudioConverterGetPropertyInfo(nowhere, quality, NULL, NULL)),
      PARAM(AudioConverterGetProperty(nowhere, quality, &size, &number)),
      PARAM(AudioConverterGetProperty(converter, quality, nowhere, &number)),
      PARAM(AudioConverterGetProperty(converter, quality, &size, nowhere)),
      PARAM(AudioConverterSetProperty(nowhere, quality, 4, &number)),
      PARAM(AudioConverterSetProperty(converter, quality, 4, nowhere)),
      PARAM(AudioConverterConvertBuffer(nowhere, 8, samples, &size, samples)),
      PARAM(AudioConverterConvertBuffer(converter, 8, nowhere, &size, samples)),
      PARAM(AudioConverterConvertBuffer(converter, 8, samples, nowhere, samples)),
      PARAM(AudioConverterConvertBuffer(converter, 8, samples, &size, nowhere)),
      PARAM(AudioConverterFillComplexBuffer(nowhere, feed, NULL, &number, &list, NULL)),
      PARAM(AudioConverterFillComplexBuffer(converter, NOWHERE(AudioConverterComplexInputDataProc),
                                            NULL, &number, &list, NULL)),
      PARAM(AudioConverterFillComplexBuffer(converter, feed, NULL, nowhere, &list, NULL)),
      PARAM(AudioConverterFillComplexBuffer(converter, feed, NULL, &number, nowhere, NULL)),
      PARAM(AudioConverterFillComplexBuffer(converter, feed, NULL, &number, &nothing, NULL)),
      PARAM(AudioConverterFillBuffer(nowhere, feed_bytes, NULL, &size, samples)),
      PARAM(AudioConverterFillBuffer(converter, NOWHERE(AudioConverterInputDataProc), NULL, &size,
                                     samples)),
      PARAM(AudioConverterFillBuffer(converter, feed_bytes, NULL, nowhere, samples)),
      PARAM(AudioConverterFillBuffer(converter, feed_bytes, NULL, &size, nowhere)),
      PARAM(AudioConverterConvertComplexBuffer(nowhere, 1, &list, &list)),
      PARAM(AudioConverterConvertComplexBuffer(converter, 1, nowhere, &list)),
      PARAM(AudioConverterConvertComplexBuffer(converter, 1, &list, nowhere)),
      PARAM(AudioConverterConvertComplexBuffer(converter, 1, &nothing, &list)),
      PARAM(AudioFormatGetPropertyInfo(name, sizeof from, &from, nowhere)),
      ROW(AudioFormatGetPropertyInfo(name, sizeof from, NULL, &size),
          kAudioFormatBadSpecifierSizeError),
      PARAM(AudioFormatGetProperty(name, sizeof from, &from, NULL, &number)),
      ROW(AudioFormatGetProperty(name, sizeof from, NULL, &size, &number),
          kAudioFormatBadSpecifierSizeError),
      PARAM(AudioFormatGetProperty(kAudioFormatProperty_ChannelMap, sizeof no_layouts, no_layouts,
                                   &size, &number)),
  };
  CHECK_ROWS("converters and formats", rows);
  WORKS(AudioConverterDispose(converter));
}

// MARK: Files

static void sound_files(void) {
  static FSRef folder, no_file;
  static UInt8 path[100];
  static AudioStreamBasicDescription format;
  static AudioFileID file, made;
  static Memory memory, other;
  static UInt32 number, size = sizeof number, one = 1;
  static char bytes[64];
  static CFURLRef url;
  static const AudioFileTypeID wave = kAudioFileWAVEType;
  static const AudioFilePropertyID kind = kAudioFilePropertyFileFormat;
  static const AudioFilePropertyID defer = kAudioFilePropertyDeferSizeUpdates;
  static const AudioFilePropertyID extension = kAudioFileGlobalInfo_TypesForExtension;
  format = int16(RATE, 1, 0);
  url = url_of("none.wav");
  memory = new_memory(100000);
  other = new_memory(100000);
  WORKS(AudioFileInitializeWithCallbacks(&memory, memory_read, memory_write, memory_size,
                                         memory_set_size, wave, &format, 0, &file));
  WORKS(FSPathMakeRef((const UInt8 *)"/", &folder, NULL));
  const Row rows[] = {
      PARAM(AudioFileCreateWithURL(nowhere, wave, &format, 0, &made)),
      PARAM(AudioFileCreateWithURL(url, wave, nowhere, 0, &made)),
      PARAM(AudioFileCreateWithURL(url, wave, &format, 0, nowhere)),
      PARAM(AudioFileOpen(nowhere, kAudioFileReadPermission, 0, &made)),
      PARAM(AudioFileOpen(&no_file, kAudioFileReadPermission, 0, &made)),
      PARAM(AudioFileCreate(nowhere, CFSTR("none.wav"), wave, &format, 0, NULL, &made)),
      PARAM(AudioFileCreate(&folder, nowhere, wave, &format, 0, NULL, &made)),
      PARAM(AudioFileCreate(&folder, CFSTR("none.wav"), wave, nowhere, 0, NULL, &made)),
      PARAM(AudioFileCreate(&folder, CFSTR("none.wav"), wave, &format, 0, NULL, nowhere)),
      PARAM(AudioFileInitialize(nowhere, wave, &format, 0, &made)),
      PARAM(FSPathMakeRef(nowhere, &no_file, NULL)),
      PARAM(FSPathMakeRef((const UInt8 *)"/", nowhere, NULL)),
      PARAM(FSRefMakePath(nowhere, path, sizeof path)),
      PARAM(FSRefMakePath(&folder, nowhere, 100)),
      PARAM(FSCompareFSRefs(nowhere, &folder)),
      PARAM(FSCompareFSRefs(&folder, nowhere)),
      ROW(CFURLGetFSRef(nowhere, &no_file), false),
      ROW(CFURLGetFSRef(url, nowhere), false),
      ROW(CFURLCreateFromFSRef(NULL, nowhere) != NULL, false),
      PARAM(AudioFileOpenURL(nowhere, kAudioFileReadPermission, 0, &made)),
      PARAM(AudioFileOpenURL(url, kAudioFileReadPermission, 0, nowhere)),
      PARAM(AudioFileInitializeWithCallbacks(&other, NOWHERE(AudioFile_ReadProc), memory_write,
                                             memory_size, memory_set_size, wave, &format, 0,
                                             &made)),
      PARAM(AudioFileInitializeWithCallbacks(&other, memory_read, NOWHERE(AudioFile_WriteProc),
                                             memory_size, memory_set_size, wave, &format, 0,
                                             &made)),
      PARAM(AudioFileInitializeWithCallbacks(&other, memory_read, memory_write,
                                             NOWHERE(AudioFile_GetSizeProc), memory_set_size, wave,
                                             &format, 0, &made)),
      PARAM(AudioFileInitializeWithCallbacks(&other, memory_read, memory_write, memory_size,
                                             NOWHERE(AudioFile_SetSizeProc), wave, &format, 0,
                                             &made)),
      PARAM(AudioFileInitializeWithCallbacks(&other, memory_read, memory_write, memory_size,
                                             memory_set_size, wave, nowhere, 0, &made)),
      PARAM(AudioFileInitializeWithCallbacks(&other, memory_read, memory_write, memory_size,
                                             memory_set_size, wave, &format, 0, nowhere)),
      PARAM(AudioFileOpenWithCallbacks(&memory, NOWHERE(AudioFile_ReadProc), NULL, memory_size,
                                       NULL, 0, &made)),
      PARAM(AudioFileOpenWithCallbacks(&memory, memory_read, NULL, NOWHERE(AudioFile_GetSizeProc),
                                       NULL, 0, &made)),
      PARAM(AudioFileOpenWithCallbacks(&memory, memory_read, NULL, memory_size, NULL, 0, nowhere)),
      PARAM(AudioFileClose(nowhere)),
      PARAM(AudioFileOptimize(nowhere)),
      PARAM(AudioFileReadBytes(nowhere, false, 0, &size, bytes)),
      PARAM(AudioFileReadBytes(file, false, 0, nowhere, bytes)),
      PARAM(AudioFileReadBytes(file, false, 0, &one, NULL)),
      PARAM(AudioFileWriteBytes(nowhere, false, 0, &size, bytes)),
      PARAM(AudioFileWriteBytes(file, false, 0, nowhere, bytes)),
      PARAM(AudioFileWriteBytes(file, false, 0, (one = 1, &one), NULL)),
      PARAM(AudioFileReadPackets(nowhere, false, &size, NULL, 0, &one, bytes)),
      PARAM(AudioFileReadPackets(file, false, nowhere, NULL, 0, &one, bytes)),
      PARAM(AudioFileReadPackets(file, false, &size, NULL, 0, nowhere, bytes)),
      PARAM(AudioFileReadPackets(file, false, &size, NULL, 0, (one = 1, &one), NULL)),
      PARAM(AudioFileReadPacketData(nowhere, false, &size, NULL, 0, &one, bytes)),
      PARAM(AudioFileReadPacketData(file, false, nowhere, NULL, 0, &one, bytes)),
      PARAM(AudioFileReadPacketData(file, false, &size, NULL, 0, nowhere, bytes)),
      PARAM(
          AudioFileReadPacketData(file, false, (size = 4, &size), NULL, 0, (one = 1, &one), NULL)),
      PARAM(AudioFileWritePackets(nowhere, false, 2, NULL, 0, &one, bytes)),
      PARAM(AudioFileWritePackets(file, false, 2, NULL, 0, nowhere, bytes)),
      PARAM(AudioFileWritePackets(file, false, 2, NULL, 0, (one = 1, &one), NULL)),
      PARAM(AudioFileCountUserData(nowhere, 'abcd', &number)),
      PARAM(AudioFileCountUserData(file, 'abcd', nowhere)),
      PARAM(AudioFileGetUserDataSize(nowhere, 'abcd', 0, &number)),
      PARAM(AudioFileGetUserDataSize(file, 'abcd', 0, nowhere)),
      PARAM(AudioFileGetUserData(nowhere, 'abcd', 0, &size, bytes)),
      PARAM(AudioFileGetUserData(file, 'abcd', 0, nowhere, bytes)),
      PARAM(AudioFileGetUserData(file, 'abcd', 0, &size, nowhere)),
      PARAM(AudioFileSetUserData(nowhere, 'abcd', 0, 4, bytes)),
      PARAM(AudioFileSetUserData(file, 'abcd', 0, 4, nowhere)),
      PARAM(AudioFileRemoveUserData(nowhere, 'abcd', 0)),
      PARAM(AudioFileGetPropertyInfo(nowhere, kind, NULL, NULL)),
      PARAM(AudioFileGetProperty(nowhere, kind, &size, &number)),
      PARAM(AudioFileGetProperty(file, kind, nowhere, &number)),
      PARAM(AudioFileGetProperty(file, kind, &size, nowhere)),
      PARAM(AudioFileSetProperty(nowhere, defer, 4, &number)),
      PARAM(AudioFileSetProperty(file, defer, 4, nowhere)),
      PARAM(AudioFileGetGlobalInfoSize(extension, sizeof(void *), NULL, &size)),
      PARAM(AudioFileGetGlobalInfoSize(kAudioFileGlobalInfo_ReadableTypes, 0, NULL, nowhere)),
      PARAM(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_ReadableTypes, 0, NULL, nowhere, bytes)),
      PARAM(AudioFileGetGlobalInfo(kAudioFileGlobalInfo_ReadableTypes, 0, NULL, &size, nowhere)),
      PARAM(AudioFileGetGlobalInfo(extension, sizeof(void *), &nowhere, &size, bytes)),
  };
  CHECK_ROWS("sound files", rows);
  WORKS(AudioFileClose(file));
  CFRelease(url);
  free(memory.bytes);
  free(other.bytes);
}

static void extended_files(void) {
  static AudioStreamBasicDescription format;
  static ExtAudioFileRef file, made;
  static AudioFileID id;
  static Memory memory;
  static SInt16 samples[2];
  static UInt32 number, size = sizeof number, frames = 1;
  static SInt64 position;
  static AudioBufferList list, nothing;
  static CFURLRef url;
  static const AudioFileTypeID wave = kAudioFileWAVEType;
  static const ExtAudioFilePropertyID buffer = kExtAudioFileProperty_IOBufferSizeBytes;
  format = int16(RATE, 1, 0);
  url = url_of("none.wav");
  memory = new_memory(100000);
  list = (AudioBufferList){1, {{1, 2, samples}}};
  nothing = (AudioBufferList){1, {{1, 2, NULL}}};
  WORKS(AudioFileInitializeWithCallbacks(&memory, memory_read, memory_write, memory_size,
                                         memory_set_size, wave, &format, 0, &id));
  WORKS(ExtAudioFileWrapAudioFileID(id, true, &file));
  const Row rows[] = {
      PARAM(ExtAudioFileOpen(nowhere, &made)),
      PARAM(ExtAudioFileCreateNew(nowhere, CFSTR("none.wav"), wave, &format, NULL, &made)),
      PARAM(ExtAudioFileOpenURL(nowhere, &made)),
      PARAM(ExtAudioFileOpenURL(url, nowhere)),
      PARAM(ExtAudioFileWrapAudioFileID(nowhere, true, &made)),
      PARAM(ExtAudioFileWrapAudioFileID(id, true, nowhere)),
      PARAM(ExtAudioFileCreateWithURL(nowhere, wave, &format, NULL, 0, &made)),
      PARAM(ExtAudioFileCreateWithURL(url, wave, nowhere, NULL, 0, &made)),
      PARAM(ExtAudioFileCreateWithURL(url, wave, &format, NULL, 0, nowhere)),
      PARAM(ExtAudioFileDispose(nowhere)),
      PARAM(ExtAudioFileRead(nowhere, &frames, &list)),
      PARAM(ExtAudioFileRead(file, nowhere, &list)),
      PARAM(ExtAudioFileRead(file, &frames, nowhere)),
      PARAM(ExtAudioFileWrite(nowhere, 1, &list)),
      PARAM(ExtAudioFileWrite(file, 1, nowhere)),
      PARAM(ExtAudioFileWrite(file, 1, &nothing)),
      PARAM(ExtAudioFileWriteAsync(nowhere, 0, NULL)),
      PARAM(ExtAudioFileWriteAsync(file, 1, NULL)),
      PARAM(ExtAudioFileWriteAsync(file, 1, &nothing)),
      PARAM(ExtAudioFileSeek(nowhere, 0)),
      PARAM(ExtAudioFileTell(nowhere, &position)),
      PARAM(ExtAudioFileTell(file, nowhere)),
      PARAM(ExtAudioFileGetPropertyInfo(nowhere, buffer, NULL, NULL)),
      PARAM(ExtAudioFileGetProperty(nowhere, buffer, &size, &number)),
      PARAM(ExtAudioFileGetProperty(file, buffer, nowhere, &number)),
      PARAM(ExtAudioFileGetProperty(file, buffer, &size, nowhere)),
      PARAM(ExtAudioFileSetProperty(nowhere, buffer, 4, &number)),
      PARAM(ExtAudioFileSetProperty(file, buffer, 4, nowhere)),
  };
  CHECK_ROWS("extended files", rows);
  WORKS(ExtAudioFileDispose(file));
  WORKS(AudioFileClose(id));
  CFRelease(url);
  free(memory.bytes);
}

// MARK: Streams and system sounds

static void told(void *data, AudioFileStreamID stream, AudioFileStreamPropertyID property,
                 AudioFileStreamPropertyFlags *flags) {
  (void)data, (void)stream, (void)property, (void)flags;
}

static void parsed(void *data, UInt32 bytes, UInt32 packets, const void *input,
                   AudioStreamPacketDescription *descriptions) {
  (void)data, (void)bytes, (void)packets, (void)input, (void)descriptions;
}

static void completed(SystemSoundID sound, void *data) {
  (void)sound, (void)data;
}

static void streams_and_sounds(void) {
  static AudioFileStreamID stream, made;
  static SInt64 offset;
  static AudioFileStreamSeekFlags flags;
  static UInt32 number, size = sizeof number;
  static SystemSoundID sound, alert = kSystemSoundID_UserPreferredAlert;
  static CFURLRef url;
  static const AudioFileStreamPropertyID kind = kAudioFileStreamProperty_FileFormat;
  static const AudioServicesPropertyID is_ui = kAudioServicesPropertyIsUISound;
  url = url_of("none.wav");
  WORKS(AudioFileStreamOpen(NULL, told, parsed, 0, &stream));
  const Row rows[] = {
      PARAM(AudioFileStreamOpen(NULL, NOWHERE(AudioFileStream_PropertyListenerProc), parsed, 0,
                                &made)),
      PARAM(AudioFileStreamOpen(NULL, told, NOWHERE(AudioFileStream_PacketsProc), 0, &made)),
      PARAM(AudioFileStreamOpen(NULL, told, parsed, 0, nowhere)),
      PARAM(AudioFileStreamParseBytes(nowhere, 4, &number, 0)),
      PARAM(AudioFileStreamParseBytes(stream, 4, NULL, 0)),
      PARAM(AudioFileStreamSeek(nowhere, 0, &offset, &flags)),
      PARAM(AudioFileStreamSeek(stream, 0, nowhere, &flags)),
      PARAM(AudioFileStreamSeek(stream, 0, &offset, nowhere)),
      PARAM(AudioFileStreamGetPropertyInfo(nowhere, kind, NULL, NULL)),
      PARAM(AudioFileStreamGetProperty(nowhere, kind, &size, &number)),
      PARAM(AudioFileStreamGetProperty(stream, kind, nowhere, &number)),
      PARAM(AudioFileStreamGetProperty(stream, kind, &size, nowhere)),
      PARAM(AudioFileStreamSetProperty(nowhere, kind, 4, &number)),
      ROW(AudioFileStreamSetProperty(stream, kind, 4, nowhere),
          kAudioFileStreamError_UnsupportedProperty),
      PARAM(AudioFileStreamClose(nowhere)),
      PARAM(AudioServicesCreateSystemSoundID(nowhere, &sound)),
      PARAM(AudioServicesCreateSystemSoundID(url, nowhere)),
      PARAM(AudioServicesAddSystemSoundCompletion(
          alert, NULL, NULL, NOWHERE(AudioServicesSystemSoundCompletionProc), NULL)),
      ROW(AudioServicesAddSystemSoundCompletion(sound, NULL, NULL, completed, NULL),
          kAudioServicesSystemSoundUnspecifiedError),
      PARAM(AudioServicesGetPropertyInfo(is_ui, 4, NULL, NULL, NULL)),
      PARAM(AudioServicesGetProperty(is_ui, 4, NULL, &size, &number)),
      ROW(AudioServicesGetProperty(is_ui, 4, &alert, nowhere, &number),
          kAudioServicesBadPropertySizeError),
      PARAM(AudioServicesGetProperty(is_ui, 4, &alert, &size, NULL)),
      PARAM(AudioServicesSetProperty(is_ui, 4, NULL, 4, &number)),
      PARAM(AudioServicesSetProperty(is_ui, 4, &alert, 4, nowhere)),
      // No completion is requested.
      ROW((AudioServicesPlaySystemSoundWithCompletion(0, NULL), noErr), noErr),
      ROW((AudioServicesPlayAlertSoundWithCompletion(0, NULL), noErr), noErr),
  };
  CHECK_ROWS("streams and system sounds", rows);
  WORKS(AudioFileStreamClose(stream));
  CFRelease(url);
}

// MARK: Hardware

static OSStatus object_changed(AudioObjectID object, UInt32 count,
                               const AudioObjectPropertyAddress *addresses, void *data) {
  (void)object, (void)count, (void)addresses, (void)data;
  return noErr;
}

#define ILLEGAL(call) ROW(call, kAudioHardwareIllegalOperationError)

static void hardware(void) {
  static const AudioObjectID system = kAudioObjectSystemObject;
  static const AudioObjectPropertyAddress devices = {kAudioHardwarePropertyDevices,
                                                     kAudioObjectPropertyScopeGlobal, 0};
  static const AudioHardwarePropertyID list = kAudioHardwarePropertyDevices;
  static AudioDeviceID device;
  static AudioStreamID stream;
  static UInt32 size = 4, number;
  static Boolean flag;
  static AudioTimeStamp time;
  static AudioObjectID made;
  static const AudioHardwarePropertyID alive = kAudioDevicePropertyDeviceIsAlive;
  static const AudioHardwarePropertyID way = kAudioStreamPropertyDirection;
  WORKS(AudioHardwareGetProperty(kAudioHardwarePropertyDefaultOutputDevice, &size, &device));
  // LogTests runs this program without a server.
  if (device == kAudioObjectUnknown) return passed("hardware");
  stream = device + 2;
  const Row rows[] = {
      ROW(AudioObjectHasProperty(system, nowhere), false),
      ILLEGAL(AudioObjectIsPropertySettable(system, nowhere, &flag)),
      ILLEGAL(AudioObjectIsPropertySettable(system, &devices, nowhere)),
      ILLEGAL(AudioObjectGetPropertyDataSize(system, nowhere, 0, NULL, &size)),
      ILLEGAL(AudioObjectGetPropertyDataSize(system, &devices, 0, NULL, nowhere)),
      ILLEGAL(AudioObjectGetPropertyData(system, nowhere, 0, NULL, &size, &number)),
      ILLEGAL(AudioObjectGetPropertyData(system, &devices, 0, NULL, nowhere, &number)),
      ILLEGAL(AudioObjectGetPropertyData(system, &devices, 0, NULL, &size, nowhere)),
      ILLEGAL(AudioObjectSetPropertyData(system, nowhere, 0, NULL, 4, &number)),
      ILLEGAL(AudioObjectAddPropertyListener(system, nowhere, object_changed, NULL)),
      ILLEGAL(AudioObjectAddPropertyListener(system, &devices,
                                             NOWHERE(AudioObjectPropertyListenerProc), NULL)),
      ILLEGAL(AudioObjectRemovePropertyListener(system, nowhere, object_changed, NULL)),
      ILLEGAL(AudioObjectRemovePropertyListener(system, &devices,
                                                NOWHERE(AudioObjectPropertyListenerProc), NULL)),
      ILLEGAL(AudioObjectAddPropertyListenerBlock(system, &devices, NULL,
                                                  NOWHERE(AudioObjectPropertyListenerBlock))),
      ILLEGAL(AudioObjectRemovePropertyListenerBlock(system, &devices, NULL,
                                                     NOWHERE(AudioObjectPropertyListenerBlock))),
      ROW(AudioHardwareServiceHasProperty(system, nowhere), false),
      ILLEGAL(AudioHardwareServiceIsPropertySettable(system, nowhere, &flag)),
      ILLEGAL(AudioHardwareServiceGetPropertyDataSize(system, nowhere, 0, NULL, &size)),
      ILLEGAL(AudioHardwareServiceGetPropertyData(system, nowhere, 0, NULL, &size, &number)),
      ILLEGAL(AudioHardwareServiceSetPropertyData(system, nowhere, 0, NULL, 4, &number)),
      ILLEGAL(AudioHardwareServiceAddPropertyListener(system, nowhere, object_changed, NULL)),
      ILLEGAL(AudioHardwareServiceRemovePropertyListener(system, nowhere, object_changed, NULL)),
      ROW(AudioHardwareCreateAggregateDevice(NOWHERE(CFDictionaryRef), &made),
          kAudioHardwareUnsupportedOperationError),
      ILLEGAL(AudioDeviceCreateIOProcID(device, NOWHERE(AudioDeviceIOProc), NULL,
                                        (AudioDeviceIOProcID *)&time)),
      ILLEGAL(AudioDeviceDestroyIOProcID(device, NOWHERE(AudioDeviceIOProcID))),
      // NULL starts and stops the device alone.
      ROW(AudioDeviceStart(device, NULL), noErr),
      ROW(AudioDeviceStop(device, NULL), noErr),
      ILLEGAL(AudioDeviceGetCurrentTime(device, nowhere)),
      ILLEGAL(AudioDeviceTranslateTime(device, nowhere, &time)),
      ILLEGAL(AudioDeviceTranslateTime(device, &time, nowhere)),
      ILLEGAL(AudioDeviceGetNearestStartTime(device, nowhere, 0)),
      ROW(AudioHardwareGetPropertyInfo(list, NULL, NULL), noErr),
      ILLEGAL(AudioHardwareGetProperty(list, nowhere, &number)),
      ILLEGAL(AudioHardwareGetProperty(list, &size, nowhere)),
      ROW(AudioHardwareSetProperty(kAudioHardwarePropertyDefaultOutputDevice, 4, NULL),
          kAudioHardwareBadPropertySizeError),
      ILLEGAL(
          AudioHardwareAddPropertyListener(list, NOWHERE(AudioHardwarePropertyListenerProc), NULL)),
      ILLEGAL(
          AudioHardwareRemovePropertyListener(list, NOWHERE(AudioHardwarePropertyListenerProc))),
      ROW(AudioDeviceGetPropertyInfo(device, 0, false, alive, NULL, NULL), noErr),
      ILLEGAL(AudioDeviceGetProperty(device, 0, false, alive, nowhere, &number)),
      ROW(AudioDeviceSetProperty(device, NULL, 0, false, kAudioDevicePropertyMute, 4, NULL),
          kAudioHardwareBadPropertySizeError),
      ILLEGAL(AudioDeviceAddPropertyListener(device, 0, false, alive,
                                             NOWHERE(AudioDevicePropertyListenerProc), NULL)),
      ILLEGAL(AudioDeviceRemovePropertyListener(device, 0, false, alive,
                                                NOWHERE(AudioDevicePropertyListenerProc))),
      ILLEGAL(AudioDeviceAddIOProc(device, NOWHERE(AudioDeviceIOProc), NULL)),
      ILLEGAL(AudioDeviceRead(device, nowhere, nowhere)),
      ROW(os_workgroup_join(nowhere, nowhere), EINVAL),
      ROW((os_workgroup_leave(nowhere, nowhere), noErr), noErr),
      ROW((os_workgroup_cancel(nowhere), noErr), noErr),
      ROW(os_workgroup_testcancel(nowhere), false),
      ROW(os_workgroup_max_parallel_threads(nowhere, NULL) > 0, true),
      ROW(os_workgroup_interval_start(nowhere, 0, 1, NULL), EINVAL),
      ROW(os_workgroup_interval_update(nowhere, 1, NULL), EINVAL),
      ROW(os_workgroup_interval_finish(nowhere, NULL), EINVAL),
      ROW(os_retain(nowhere) != NULL, false),
      ROW((os_release(nowhere), noErr), noErr),
      ROW(pthread_threadid_np(0, NULL), EINVAL),
      ILLEGAL(AudioDeviceRemoveIOProc(device, NOWHERE(AudioDeviceIOProc))),
      ROW(AudioStreamGetPropertyInfo(stream, 0, way, NULL, NULL), noErr),
      ILLEGAL(AudioStreamGetProperty(stream, 0, way, nowhere, &number)),
      ROW(AudioStreamSetProperty(stream, NULL, 0, kAudioStreamPropertyVirtualFormat, 4, NULL),
          kAudioHardwareBadPropertySizeError),
      ILLEGAL(AudioStreamAddPropertyListener(stream, 0, way,
                                             NOWHERE(AudioStreamPropertyListenerProc), NULL)),
      ILLEGAL(AudioStreamRemovePropertyListener(stream, 0, way,
                                                NOWHERE(AudioStreamPropertyListenerProc))),
  };
  CHECK_ROWS("hardware", rows);
}

static void session_changed(void *data, AudioSessionPropertyID property, UInt32 size,
                            const void *value) {
  (void)data, (void)property, (void)size, (void)value;
}

static void session(void) {
  static const AudioSessionPropertyID volume = kAudioSessionProperty_CurrentHardwareOutputVolume;
  static UInt32 number, size = 4;
  const Row rows[] = {
      PARAM(AudioSessionGetProperty(volume, nowhere, &number)),
      PARAM(AudioSessionGetProperty(volume, &size, nowhere)),
      PARAM(AudioSessionSetProperty(kAudioSessionProperty_AudioCategory, 4, nowhere)),
      PARAM(AudioSessionGetPropertySize(volume, nowhere)),
      PARAM(AudioSessionAddPropertyListener(volume, NOWHERE(AudioSessionPropertyListener), NULL)),
      ROW(AudioSessionInitialize(NULL, NULL, NULL, NULL), noErr),
      PARAM(AudioSessionGetProperty(volume, nowhere, &number)),
      ROW(AudioSessionAddPropertyListener(volume, session_changed, NULL), noErr),
      PARAM(AudioSessionRemovePropertyListenerWithUserData(
          volume, NOWHERE(AudioSessionPropertyListener), NULL)),
      ROW(AudioSessionRemovePropertyListenerWithUserData(volume, session_changed, NULL), noErr),
  };
  CHECK_ROWS("the audio session", rows);
}

static OSStatus rendered(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                         UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)data, (void)flags, (void)time, (void)bus, (void)frames, (void)list;
  return noErr;
}

static void unit_changed(void *data, AudioUnit unit, AudioUnitPropertyID property,
                         AudioUnitScope scope, AudioUnitElement element) {
  (void)data, (void)unit, (void)property, (void)scope, (void)element;
}

/// Rows of the functions of AUGraph.h.
static void graphs(void) {
  static AudioComponentDescription description = {
      kAudioUnitType_Output, kAudioUnitSubType_GenericOutput, kAudioUnitManufacturer_Apple, 0, 0};
  static const AURenderCallbackStruct callback;
  static AUGraph graph;
  static AUNode node;
  static UInt32 number;
  static Boolean flag;
  static Float32 load;
  static AUNodeInteraction found;
  WORKS(NewAUGraph(&graph));
  WORKS(AUGraphAddNode(graph, &description, &node));
  WORKS(AUGraphOpen(graph));
  const Row rows[] = {
      PARAM(NewAUGraph(nowhere)),
      ROW(DisposeAUGraph(NULL), noErr),
      PARAM(AUGraphAddNode(graph, nowhere, &node)),
      PARAM(AUGraphAddNode(graph, &description, nowhere)),
      PARAM(AUGraphRemoveNode(nowhere, 1)),
      PARAM(AUGraphGetNodeCount(graph, nowhere)),
      PARAM(AUGraphGetIndNode(graph, 0, nowhere)),
      ROW(AUGraphNodeInfo(graph, node, NULL, NULL), noErr),
      PARAM(AUGraphConnectNodeInput(nowhere, 1, 0, 2, 0)),
      PARAM(AUGraphSetNodeInputCallback(graph, node, 0, nowhere)),
      PARAM(AUGraphSetNodeInputCallback(nowhere, node, 0, &callback)),
      PARAM(AUGraphDisconnectNodeInput(nowhere, 1, 0)),
      PARAM(AUGraphClearConnections(nowhere)),
      ROW(AUGraphUpdate(graph, NULL), noErr),
      PARAM(AUGraphGetNumberOfInteractions(graph, nowhere)),
      PARAM(AUGraphGetInteractionInfo(graph, 0, nowhere)),
      PARAM(AUGraphCountNodeInteractions(graph, node, nowhere)),
      PARAM(AUGraphGetNodeInteractions(graph, node, nowhere, &found)),
      PARAM(AUGraphGetNodeInteractions(graph, node, &number, nowhere)),
      PARAM(AUGraphOpen(nowhere)),
      PARAM(AUGraphClose(nowhere)),
      PARAM(AUGraphInitialize(nowhere)),
      PARAM(AUGraphUninitialize(nowhere)),
      PARAM(AUGraphStart(nowhere)),
      PARAM(AUGraphStop(nowhere)),
      PARAM(AUGraphIsOpen(graph, nowhere)),
      PARAM(AUGraphIsInitialized(graph, nowhere)),
      PARAM(AUGraphIsRunning(graph, nowhere)),
      PARAM(AUGraphIsRunning(nowhere, &flag)),
      PARAM(AUGraphGetCPULoad(graph, nowhere)),
      PARAM(AUGraphGetMaxCPULoad(graph, nowhere)),
      PARAM(AUGraphGetMaxCPULoad(nowhere, &load)),
      PARAM(AUGraphAddRenderNotify(graph, NOWHERE(AURenderCallback), NULL)),
      PARAM(AUGraphRemoveRenderNotify(graph, NOWHERE(AURenderCallback), NULL)),
      PARAM(AUGraphNewNode(graph, nowhere, 0, NULL, &node)),
      ROW(AUGraphGetNodeInfo(graph, node, NULL, NULL, NULL, NULL), noErr),
  };
  CHECK_ROWS("graphs", rows);
  WORKS(DisposeAUGraph(graph));
}

#define NO_TRACK(call) ROW(call, kAudioToolboxErr_TrackNotFound)

static void music_happened(void *data, MusicSequence sequence, MusicTrack track,
                           MusicTimeStamp beat, const MusicEventUserData *event,
                           MusicTimeStamp start, MusicTimeStamp end) {
  (void)data, (void)sequence, (void)track, (void)beat, (void)event, (void)start, (void)end;
}

/// Rows of the functions of MusicPlayer.h for sequences and players.
static void sequences(MusicSequence given, MusicTrack added) {
  static MusicSequence sequence, found;
  static MusicTrack track, other;
  static MusicPlayer player;
  static AUGraph graph;
  static MusicSequenceType type;
  static CFDataRef data, empty;
  static UInt32 number;
  static UInt64 time;
  static Float64 value;
  static Boolean flag;
  static CABarBeatTime bar;
  sequence = given;
  track = added;
  empty = CFDataCreate(NULL, (const UInt8 *)"", 0);
  WORKS(NewMusicPlayer(&player));
  const Row rows[] = {
      PARAM(NewMusicSequence(nowhere)),
      PARAM(DisposeMusicSequence(nowhere)),
      PARAM(MusicSequenceNewTrack(nowhere, &other)),
      PARAM(MusicSequenceNewTrack(sequence, nowhere)),
      PARAM(MusicSequenceDisposeTrack(nowhere, track)),
      NO_TRACK(MusicSequenceDisposeTrack(sequence, nowhere)),
      PARAM(MusicSequenceGetTrackCount(sequence, nowhere)),
      PARAM(MusicSequenceGetIndTrack(sequence, 0, nowhere)),
      PARAM(MusicSequenceGetTrackIndex(sequence, track, nowhere)),
      NO_TRACK(MusicSequenceGetTrackIndex(sequence, nowhere, &number)),
      PARAM(MusicSequenceGetTempoTrack(sequence, nowhere)),
      ROW(MusicSequenceSetAUGraph(sequence, NULL), noErr),
      PARAM(MusicSequenceSetAUGraph(nowhere, NULL)),
      PARAM(MusicSequenceGetAUGraph(sequence, nowhere)),
      PARAM(MusicSequenceGetAUGraph(nowhere, &graph)),
      PARAM(MusicSequenceSetMIDIEndpoint(nowhere, 0)),
      ROW(MusicSequenceSetMIDIEndpoint(sequence, 0x7FFFFFFF), kMIDIUnknownEndpoint),
      PARAM(MusicSequenceSetSequenceType(nowhere, kMusicSequenceType_Beats)),
      PARAM(MusicSequenceGetSequenceType(sequence, nowhere)),
      PARAM(MusicSequenceGetSequenceType(nowhere, &type)),
      PARAM(MusicSequenceFileLoad(sequence, nowhere, 0, 0)),
      PARAM(MusicSequenceFileLoadData(sequence, nowhere, 0, 0)),
      PARAM(MusicSequenceFileLoadData(nowhere, empty, 0, 0)),
      PARAM(MusicSequenceFileCreate(sequence, nowhere, kMusicSequenceFile_MIDIType, 0, 0)),
      PARAM(MusicSequenceFileCreateData(sequence, kMusicSequenceFile_MIDIType, 0, 0, nowhere)),
      PARAM(MusicSequenceFileCreateData(nowhere, kMusicSequenceFile_MIDIType, 0, 0, &data)),
      PARAM(MusicSequenceReverse(nowhere)),
      PARAM(MusicSequenceGetSecondsForBeats(sequence, 1, nowhere)),
      PARAM(MusicSequenceGetBeatsForSeconds(sequence, 1, nowhere)),
      PARAM(MusicSequenceSetUserCallback(nowhere, music_happened, NULL)),
      ROW(MusicSequenceSetUserCallback(sequence, NULL, NULL), noErr),
      PARAM(MusicSequenceBeatsToBarBeatTime(sequence, 1, 4, nowhere)),
      PARAM(MusicSequenceBarBeatTimeToBeats(sequence, nowhere, &value)),
      PARAM(MusicSequenceBarBeatTimeToBeats(sequence, &bar, nowhere)),
      ROW(MusicSequenceGetInfoDictionary(nowhere) == NULL, true),
      PARAM(NewMusicPlayer(nowhere)),
      PARAM(DisposeMusicPlayer(nowhere)),
      PARAM(MusicPlayerSetSequence(nowhere, sequence)),
      ROW(MusicPlayerSetSequence(player, NULL), noErr),
      PARAM(MusicPlayerGetSequence(player, nowhere)),
      ROW(MusicPlayerGetSequence(player, &found), kAudioToolboxErr_NoSequence),
      PARAM(MusicPlayerSetTime(nowhere, 0)),
      PARAM(MusicPlayerGetTime(player, nowhere)),
      PARAM(MusicPlayerGetHostTimeForBeats(player, 0, nowhere)),
      PARAM(MusicPlayerGetHostTimeForBeats(nowhere, 0, &time)),
      PARAM(MusicPlayerGetBeatsForHostTime(player, 0, nowhere)),
      PARAM(MusicPlayerPreroll(nowhere)),
      ROW(MusicPlayerPreroll(player), kAudioToolboxErr_NoSequence),
      PARAM(MusicPlayerStart(nowhere)),
      ROW(MusicPlayerStart(player), kAudioToolboxErr_NoSequence),
      PARAM(MusicPlayerStop(nowhere)),
      PARAM(MusicPlayerIsPlaying(player, nowhere)),
      PARAM(MusicPlayerIsPlaying(nowhere, &flag)),
      PARAM(MusicPlayerSetPlayRateScalar(nowhere, 1)),
      PARAM(MusicPlayerGetPlayRateScalar(player, nowhere)),
  };
  CHECK_ROWS("sequences", rows);
  WORKS(DisposeMusicPlayer(player));
  CFRelease(empty);
}

/// Rows of those for tracks and iterators.
static void tracks(void) {
  static const MIDINoteMessage note = {0, 60, 100, 0, 1};
  static MusicSequence sequence, found;
  static MIDIEndpointRef endpoint;
  static MusicTrack track;
  static MusicEventIterator iterator, made;
  static AUNode node;
  static UInt32 size = 8;
  static Float64 value;
  static Boolean flag;
  WORKS(NewMusicSequence(&sequence));
  WORKS(MusicSequenceNewTrack(sequence, &track));
  WORKS(MusicTrackNewMIDINoteEvent(track, 0, &note));
  WORKS(NewMusicEventIterator(track, &iterator));
  const Row rows[] = {
      NO_TRACK(MusicTrackGetSequence(nowhere, &found)),
      PARAM(MusicTrackGetSequence(track, nowhere)),
      NO_TRACK(MusicTrackSetDestNode(nowhere, 1)),
      PARAM(MusicTrackGetDestNode(track, nowhere)),
      ROW(MusicTrackGetDestNode(track, &node), kAudioToolboxErr_IllegalTrackDestination),
      NO_TRACK(MusicTrackSetDestMIDIEndpoint(nowhere, 0)),
      ROW(MusicTrackSetDestMIDIEndpoint(track, 0x7FFFFFFF), kMIDIUnknownEndpoint),
      PARAM(MusicTrackGetDestMIDIEndpoint(track, nowhere)),
      ROW(MusicTrackGetDestMIDIEndpoint(track, &endpoint),
          kAudioToolboxErr_IllegalTrackDestination),
      PARAM(MusicTrackSetProperty(track, kSequenceTrackProperty_OffsetTime, nowhere, 8)),
      PARAM(MusicTrackGetProperty(track, kSequenceTrackProperty_OffsetTime, &value, nowhere)),
      ROW(MusicTrackGetProperty(track, kSequenceTrackProperty_OffsetTime, NULL, &size), noErr),
      NO_TRACK(MusicTrackMoveEvents(nowhere, 0, 1, 1)),
      NO_TRACK(MusicTrackClear(nowhere, 0, 1)),
      NO_TRACK(MusicTrackCut(nowhere, 0, 1)),
      NO_TRACK(MusicTrackCopyInsert(nowhere, 0, 1, track, 0)),
      NO_TRACK(MusicTrackCopyInsert(track, 0, 1, nowhere, 0)),
      NO_TRACK(MusicTrackMerge(nowhere, 0, 1, track, 0)),
      NO_TRACK(MusicTrackNewMIDINoteEvent(nowhere, 0, &note)),
      PARAM(MusicTrackNewMIDINoteEvent(track, 0, nowhere)),
      PARAM(MusicTrackNewMIDIChannelEvent(track, 0, nowhere)),
      PARAM(MusicTrackNewMIDIRawDataEvent(track, 0, nowhere)),
      PARAM(MusicTrackNewExtendedNoteEvent(track, 0, nowhere)),
      PARAM(MusicTrackNewParameterEvent(track, 0, nowhere)),
      NO_TRACK(MusicTrackNewExtendedTempoEvent(nowhere, 0, 100)),
      PARAM(MusicTrackNewMetaEvent(track, 0, nowhere)),
      PARAM(MusicTrackNewUserEvent(track, 0, nowhere)),
      NO_TRACK(NewMusicEventIterator(nowhere, &made)),
      PARAM(NewMusicEventIterator(track, nowhere)),
      PARAM(DisposeMusicEventIterator(nowhere)),
      PARAM(MusicEventIteratorSeek(nowhere, 0)),
      PARAM(MusicEventIteratorNextEvent(nowhere)),
      PARAM(MusicEventIteratorPreviousEvent(nowhere)),
      ROW(MusicEventIteratorGetEventInfo(iterator, NULL, NULL, NULL, NULL), noErr),
      PARAM(MusicEventIteratorGetEventInfo(nowhere, NULL, NULL, NULL, NULL)),
      PARAM(MusicEventIteratorSetEventInfo(iterator, kMusicEventType_MIDINoteMessage, nowhere)),
      PARAM(MusicEventIteratorSetEventInfo(nowhere, kMusicEventType_MIDINoteMessage, &note)),
      PARAM(MusicEventIteratorDeleteEvent(nowhere)),
      PARAM(MusicEventIteratorSetEventTime(nowhere, 0)),
      PARAM(MusicEventIteratorHasPreviousEvent(iterator, nowhere)),
      PARAM(MusicEventIteratorHasNextEvent(iterator, nowhere)),
      PARAM(MusicEventIteratorHasCurrentEvent(iterator, nowhere)),
      PARAM(MusicEventIteratorHasCurrentEvent(nowhere, &flag)),
  };
  CHECK_ROWS("tracks", rows);
  sequences(sequence, track);
  WORKS(DisposeMusicEventIterator(iterator));
  WORKS(DisposeMusicSequence(sequence));
}

#define NO_UNIT(call) ROW(call, badComponentInstance)

static AudioComponentPlugInInterface *make_nothing(const AudioComponentDescription *description) {
  (void)description;
  return NULL;
}

static void heard(void *data, void *object, const AudioUnitParameter *parameter, Float32 value) {
  (void)data, (void)object, (void)parameter, (void)value;
}

static void happened(void *data, void *object, const AudioUnitEvent *event, UInt64 time,
                     Float32 value) {
  (void)data, (void)object, (void)event, (void)time, (void)value;
}

/// Listeners of events, lists of MIDI, and components of the app.
static void listeners(AudioUnit unit) {
  static AudioComponentDescription description = {'aufx', 'null', 'Test', 0, 0};
  static AUParameterListenerRef made;
  static AUEventListenerRef events;
  static AudioUnitParameter parameter;
  static AudioUnitEvent event;
  static MIDIEventList list;
  static UInt32 word = 0x20904064;
  static AudioComponent empty;
  static AudioUnit instance;
  parameter.mAudioUnit = unit;
  event.mArgument.mParameter = parameter;
  MIDIEventListInit(&list, kMIDIProtocol_1_0);
  empty = AudioComponentRegister(&description, CFSTR("Test: Null"), 1, make_nothing);
  CHECK(empty != NULL);
  WORKS(AUListenerCreate(heard, NULL, NULL, NULL, 0, &made));
  WORKS(AUEventListenerCreate(happened, NULL, NULL, NULL, 0, 0, &events));
  const Row rows[] = {
      PARAM(AUListenerCreate(NOWHERE(AUParameterListenerProc), NULL, NULL, NULL, 0, &made)),
      PARAM(AUListenerCreate(heard, NULL, NULL, NULL, 0, nowhere)),
      PARAM(AUEventListenerCreate(NOWHERE(AUEventListenerProc), NULL, NULL, NULL, 0, 0, &events)),
      PARAM(AUEventListenerCreate(happened, NULL, NULL, NULL, 0, 0, nowhere)),
      PARAM(AUListenerAddParameter(nowhere, NULL, &parameter)),
      PARAM(AUListenerAddParameter(made, NULL, nowhere)),
      PARAM(AUListenerRemoveParameter(nowhere, NULL, &parameter)),
      PARAM(AUListenerRemoveParameter(made, NULL, nowhere)),
      PARAM(AUParameterSet(NULL, NULL, nowhere, 0, 0)),
      PARAM(AUParameterListenerNotify(NULL, NULL, nowhere)),
      PARAM(AUEventListenerAddEventType(nowhere, NULL, &event)),
      PARAM(AUEventListenerAddEventType(events, NULL, nowhere)),
      PARAM(AUEventListenerRemoveEventType(nowhere, NULL, &event)),
      PARAM(AUEventListenerRemoveEventType(events, NULL, nowhere)),
      PARAM(AUEventListenerNotify(NULL, NULL, nowhere)),
      ROW(AUListenerDispose(nowhere), noErr),
      ROW(MIDIEventListInit(nowhere, kMIDIProtocol_1_0) == NULL, true),
      ROW(MIDIEventListAdd(nowhere, sizeof list, list.packet, 0, 1, &word) == NULL, true),
      ROW(MIDIEventListAdd(&list, sizeof list, nowhere, 0, 1, &word) == NULL, true),
      ROW(MIDIEventListAdd(&list, sizeof list, list.packet, 0, 1, nowhere) == NULL, true),
      ROW(AudioComponentRegister(nowhere, CFSTR("A: B"), 1, make_nothing) == NULL, true),
      ROW(AudioComponentRegister(&description, nowhere, 1, make_nothing) == NULL, true),
      ROW(AudioComponentRegister(&description, CFSTR("A: B"), 1,
                                 NOWHERE(AudioComponentFactoryFunction)) == NULL,
          true),
      // Its function makes nothing.
      ROW(AudioComponentInstanceNew(empty, &instance), kAudioUnitErr_FailedInitialization),
  };
  CHECK_ROWS("listeners, MIDI and components of the app", rows);
  static AudioQueueRef queue;
  static UInt32 count = 1;
  AudioStreamBasicDescription format = float_format(RATE, 2);
  WORKS(AudioQueueNewOutput(&format, played, NULL, NULL, NULL, 0, &queue));
  const Row effects[] = {
      PARAM(CueQueueSetEffects(nowhere, 0, NULL)),
      PARAM(CueQueueSetEffects(queue, 1, NULL)),
      PARAM(CueQueueGetEffects(nowhere, &count, NULL)),
      PARAM(CueQueueGetEffects(queue, nowhere, NULL)),
      PARAM(CueQueueSetMixer(nowhere, unit, 0)),
  };
  CHECK_ROWS("queues through units", effects);
  WORKS(AudioQueueDispose(queue, true));
  WORKS(AUListenerDispose(made));
  WORKS(AUListenerDispose(events));
}

static void units(void) {
  static const MusicDeviceNoteParams note = {2, 60, 100, {{0, 0}}};
  static AudioComponentDescription description = {
      kAudioUnitType_Output, kAudioUnitSubType_GenericOutput, kAudioUnitManufacturer_Apple, 0, 0};
  static const AudioTimeStamp time;
  static AudioBufferList list;
  static MIDIEventList events;
  static UInt32 size = 4, number;
  static Float32 value;
  static AudioUnit made;
  static AudioComponent component;
  static AudioUnit unit;
  component = AudioComponentFindNext(NULL, &description);
  WORKS(AudioComponentInstanceNew(component, &unit));
  WORKS(AudioUnitInitialize(unit));
  const Row rows[] = {
      ROW(AudioComponentFindNext(NULL, nowhere) == NULL, true),
      ROW(AudioComponentCount(nowhere), 0),
      ROW(AudioComponentCopyName(nowhere, (CFStringRef *)&number), invalidComponentID),
      PARAM(AudioComponentCopyName(component, nowhere)),
      ROW(AudioComponentGetDescription(nowhere, &description), invalidComponentID),
      PARAM(AudioComponentGetDescription(component, nowhere)),
      ROW(AudioComponentGetVersion(nowhere, &number), invalidComponentID),
      PARAM(AudioComponentGetVersion(component, nowhere)),
      ROW(AudioComponentInstanceNew(nowhere, &made), invalidComponentID),
      PARAM(AudioComponentInstanceNew(component, nowhere)),
      ROW(AudioComponentInstanceDispose(NULL), noErr),
      ROW(AudioComponentInstanceGetComponent(nowhere) == NULL, true),
      ROW(FindNextComponent(NULL, nowhere) == NULL, true),
      ROW(CountComponents(nowhere), 0),
      ROW(OpenComponent(nowhere) == NULL, true),
      ROW(OpenAComponent(nowhere, &made), invalidComponentID),
      PARAM(OpenAComponent(component, nowhere)),
      ROW(CloseComponent(NULL), noErr),
      ROW(GetComponentInfo(nowhere, &description, NULL, NULL, NULL), invalidComponentID),
      ROW(GetComponentInfo(component, NULL, NULL, NULL, NULL), noErr),
      NO_UNIT(AudioUnitInitialize(nowhere)),
      NO_UNIT(AudioUnitUninitialize(nowhere)),
      NO_UNIT(AudioUnitGetPropertyInfo(nowhere, kAudioUnitProperty_Latency, 0, 0, &size, NULL)),
      ROW(AudioUnitGetPropertyInfo(unit, kAudioUnitProperty_Latency, 0, 0, NULL, NULL), noErr),
      PARAM(AudioUnitGetProperty(unit, kAudioUnitProperty_Latency, 0, 0, &value, nowhere)),
      // NULL asks for the size.
      ROW(AudioUnitGetProperty(unit, kAudioUnitProperty_Latency, 0, 0, nowhere, &size), noErr),
      PARAM(AudioUnitSetProperty(unit, kAudioUnitProperty_SampleRate, 1, 0, NULL, 8)),
      ROW(AudioUnitSetProperty(unit, kAudioUnitProperty_SetRenderCallback, 1, 0, NULL, 0), noErr),
      PARAM(AudioUnitAddPropertyListener(unit, kAudioUnitProperty_Latency,
                                         NOWHERE(AudioUnitPropertyListenerProc), NULL)),
      NO_UNIT(
          AudioUnitAddPropertyListener(nowhere, kAudioUnitProperty_Latency, unit_changed, NULL)),
      PARAM(AudioUnitRemovePropertyListenerWithUserData(
          unit, kAudioUnitProperty_Latency, NOWHERE(AudioUnitPropertyListenerProc), NULL)),
      PARAM(AudioUnitRemovePropertyListener(unit, kAudioUnitProperty_Latency,
                                            NOWHERE(AudioUnitPropertyListenerProc))),
      PARAM(AudioUnitAddRenderNotify(unit, NOWHERE(AURenderCallback), NULL)),
      NO_UNIT(AudioUnitAddRenderNotify(nowhere, rendered, NULL)),
      PARAM(AudioUnitRemoveRenderNotify(unit, NOWHERE(AURenderCallback), NULL)),
      PARAM(AudioUnitGetParameter(unit, 0, 0, 0, nowhere)),
      NO_UNIT(AudioUnitGetParameter(nowhere, 0, 0, 0, &value)),
      NO_UNIT(AudioUnitSetParameter(nowhere, 0, 0, 0, 1, 0)),
      PARAM(AudioUnitRender(unit, NULL, nowhere, 0, 64, &list)),
      PARAM(AudioUnitRender(unit, NULL, &time, 0, 64, nowhere)),
      NO_UNIT(AudioUnitRender(nowhere, NULL, &time, 0, 64, &list)),
      NO_UNIT(AudioUnitReset(nowhere, 0, 0)),
      PARAM(AudioUnitScheduleParameters(unit, nowhere, 1)),
      NO_UNIT(AudioUnitScheduleParameters(nowhere, nowhere, 0)),
      PARAM(AudioUnitProcess(unit, NULL, nowhere, 64, &list)),
      PARAM(AudioUnitProcess(unit, NULL, &time, 64, nowhere)),
      NO_UNIT(AudioUnitProcess(nowhere, NULL, &time, 64, &list)),
      PARAM(AudioUnitProcessMultiple(unit, NULL, nowhere, 64, 0, nowhere, 0, nowhere)),
      PARAM(AudioUnitProcessMultiple(unit, NULL, &time, 64, 1, nowhere, 0, nowhere)),
      PARAM(AudioUnitProcessMultiple(unit, NULL, &time, 64, 0, nowhere, 1, nowhere)),
      NO_UNIT(AudioUnitProcessMultiple(nowhere, NULL, &time, 64, 0, nowhere, 0, nowhere)),
      NO_UNIT(MusicDeviceMIDIEvent(nowhere, 0x90, 60, 100, 0)),
      ROW(MusicDeviceMIDIEvent(unit, 0x90, 60, 100, 0), kAudioComponentErr_UnsupportedType),
      PARAM(MusicDeviceSysEx(unit, nowhere, 4)),
      NO_UNIT(MusicDeviceStartNote(nowhere, kMusicNoteEvent_UseGroupInstrument, 0, NULL, 0, &note)),
      PARAM(MusicDeviceStartNote(unit, kMusicNoteEvent_UseGroupInstrument, 0, NULL, 0, nowhere)),
      NO_UNIT(MusicDeviceStopNote(nowhere, 0, 60, 0)),
      NO_UNIT(MusicDeviceSysEx(nowhere, (const UInt8 *)"\xF0\xF7", 2)),
      PARAM(MusicDeviceMIDIEventList(unit, 0, nowhere)),
      NO_UNIT(MusicDeviceMIDIEventList(nowhere, 0, &events)),
      NO_UNIT(AudioOutputUnitStart(nowhere)),
      NO_UNIT(AudioOutputUnitStop(nowhere)),
      // It belongs to no device.
      PARAM(AudioOutputUnitStart(unit)),
      PARAM(AudioOutputUnitStop(unit)),
  };
  CHECK_ROWS("audio units", rows);
  listeners(unit);
  graphs();
  tracks();
  WORKS(AudioComponentInstanceDispose(unit));
}

static void took(const MIDIPacketList *list, void *data, void *tag) {
  (void)list, (void)data, (void)tag;
}

static void midi(void) {
  static MIDIClientRef client, made;
  static MIDIPortRef input, output;
  static MIDIEndpointRef source, destination;
  static SInt32 number;
  static CFDataRef data;
  static CFStringRef text;
  static MIDIPacketList list;
  static MIDISysexSendRequest request;
  static Byte byte = 0xF8;
  MIDIReadBlock read = ^(const MIDIPacketList *packets, void *tag) {
    (void)packets, (void)tag;
  };
  MIDIReceiveBlock receive = ^(const MIDIEventList *events, void *tag) {
    (void)events, (void)tag;
  };
  WORKS(MIDIClientCreate(CFSTR("nulls"), NULL, NULL, &client));
  WORKS(MIDIInputPortCreate(client, CFSTR("in"), took, NULL, &input));
  WORKS(MIDIOutputPortCreate(client, CFSTR("out"), &output));
  WORKS(MIDISourceCreate(client, CFSTR("source"), &source));
  WORKS(MIDIDestinationCreate(client, CFSTR("destination"), took, NULL, &destination));
  MIDIPacketListInit(&list);
  const Row rows[] = {
      PARAM(MIDIClientCreate(nowhere, NULL, NULL, &made)),
      PARAM(MIDIClientCreate(CFSTR("a"), NULL, NULL, nowhere)),
      PARAM(MIDIClientCreateWithBlock(nowhere, &made, NULL)),
      PARAM(MIDIClientCreateWithBlock(CFSTR("a"), nowhere, NULL)),
      PARAM(MIDIInputPortCreate(client, nowhere, took, NULL, &made)),
      PARAM(MIDIInputPortCreate(client, CFSTR("a"), NOWHERE(MIDIReadProc), NULL, &made)),
      PARAM(MIDIInputPortCreate(client, CFSTR("a"), took, NULL, nowhere)),
      PARAM(MIDIInputPortCreateWithBlock(client, nowhere, &made, read)),
      PARAM(MIDIInputPortCreateWithBlock(client, CFSTR("a"), nowhere, read)),
      PARAM(MIDIInputPortCreateWithBlock(client, CFSTR("a"), &made, nowhere)),
      PARAM(MIDIInputPortCreateWithProtocol(client, nowhere, 1, &made, receive)),
      PARAM(MIDIInputPortCreateWithProtocol(client, CFSTR("a"), 1, nowhere, receive)),
      PARAM(MIDIInputPortCreateWithProtocol(client, CFSTR("a"), 1, &made, nowhere)),
      PARAM(MIDIOutputPortCreate(client, nowhere, &made)),
      PARAM(MIDIOutputPortCreate(client, CFSTR("a"), nowhere)),
      PARAM(MIDIDestinationCreate(client, nowhere, took, NULL, &made)),
      PARAM(MIDIDestinationCreate(client, CFSTR("a"), NOWHERE(MIDIReadProc), NULL, &made)),
      PARAM(MIDIDestinationCreate(client, CFSTR("a"), took, NULL, nowhere)),
      PARAM(MIDIDestinationCreateWithBlock(client, nowhere, &made, read)),
      PARAM(MIDIDestinationCreateWithBlock(client, CFSTR("a"), nowhere, read)),
      PARAM(MIDIDestinationCreateWithBlock(client, CFSTR("a"), &made, nowhere)),
      PARAM(MIDIDestinationCreateWithProtocol(client, nowhere, 1, &made, receive)),
      PARAM(MIDIDestinationCreateWithProtocol(client, CFSTR("a"), 1, nowhere, receive)),
      PARAM(MIDIDestinationCreateWithProtocol(client, CFSTR("a"), 1, &made, nowhere)),
      PARAM(MIDISourceCreate(client, nowhere, &made)),
      PARAM(MIDISourceCreate(client, CFSTR("a"), nowhere)),
      PARAM(MIDISourceCreateWithProtocol(client, nowhere, 1, &made)),
      PARAM(MIDISourceCreateWithProtocol(client, CFSTR("a"), 1, nowhere)),
      ROW(MIDIPortConnectSource(input, source, NULL), noErr),
      ROW(MIDIEntityGetDevice(0, NULL), kMIDIObjectNotFound),
      ROW(MIDIEndpointGetEntity(source, NULL), kMIDIObjectNotFound),
      PARAM(MIDISend(output, destination, nowhere)),
      PARAM(MIDISendEventList(output, destination, nowhere)),
      PARAM(MIDISendSysex(nowhere)),
      PARAM(MIDIReceived(source, nowhere)),
      PARAM(MIDIReceivedEventList(source, nowhere)),
      ROW(MIDIPacketListInit(nowhere) == NULL, true),
      ROW(MIDIPacketListAdd(nowhere, 64, list.packet, 0, 1, &byte) == NULL, true),
      ROW(MIDIPacketListAdd(&list, 64, nowhere, 0, 1, &byte) == NULL, true),
      ROW(MIDIPacketListAdd(&list, 64, list.packet, 0, 1, nowhere) == NULL, true),
      PARAM(MIDIObjectGetIntegerProperty(source, nowhere, &number)),
      PARAM(MIDIObjectGetIntegerProperty(source, kMIDIPropertyUniqueID, nowhere)),
      PARAM(MIDIObjectSetIntegerProperty(source, nowhere, 1)),
      PARAM(MIDIObjectGetStringProperty(source, nowhere, &text)),
      PARAM(MIDIObjectGetStringProperty(source, kMIDIPropertyName, nowhere)),
      PARAM(MIDIObjectSetStringProperty(source, nowhere, CFSTR("a"))),
      PARAM(MIDIObjectSetStringProperty(source, CFSTR("a"), nowhere)),
      PARAM(MIDIObjectGetDataProperty(source, nowhere, &data)),
      PARAM(MIDIObjectGetDataProperty(source, CFSTR("a"), nowhere)),
      PARAM(MIDIObjectSetDataProperty(source, nowhere, data)),
      PARAM(MIDIObjectSetDataProperty(source, CFSTR("a"), nowhere)),
      PARAM(MIDIObjectGetDictionaryProperty(source, nowhere, (CFDictionaryRef *)&data)),
      PARAM(MIDIObjectGetDictionaryProperty(source, CFSTR("a"), nowhere)),
      PARAM(MIDIObjectSetDictionaryProperty(source, nowhere, nowhere)),
      PARAM(MIDIObjectSetDictionaryProperty(source, CFSTR("a"), nowhere)),
      PARAM(MIDIObjectGetProperties(source, nowhere, true)),
      PARAM(MIDIObjectRemoveProperty(source, nowhere)),
      ROW(MIDIObjectFindByUniqueID(0, NULL, NULL), kMIDIObjectNotFound),
      ROW((MIDIThruConnectionParamsInitialize(nowhere), true), true),
      PARAM(MIDIThruConnectionCreate(NULL, nowhere, &made)),
      PARAM(MIDIThruConnectionCreate(NULL, data, nowhere)),
      ROW(MIDIThruConnectionGetParams(0, nowhere), kMIDIObjectNotFound),
      ROW(MIDIThruConnectionSetParams(0, nowhere), kMIDIObjectNotFound),
      PARAM(MIDIThruConnectionFind(nowhere, &data)),
      PARAM(MIDIThruConnectionFind(CFSTR("a"), nowhere)),
  };
  CHECK_ROWS("MIDI", rows);
  request.destination = destination;
  request.bytesToSend = 4;
  GIVES(MIDISendSysex(&request), kAudio_ParamError);
  WORKS(MIDIClientDispose(client));
}

/// With an argument, leaves out what needs a server.
int main(int count, char **arguments) {
  (void)arguments;
  signal(SIGSEGV, crashed);
  signal(SIGILL, crashed);
  signal(SIGTRAP, crashed);
  signal(SIGABRT, crashed);
  CHECK(mkdtemp(folder) != NULL);
  queues();
  converters();
  sound_files();
  extended_files();
  streams_and_sounds();
  hardware();
  units();
  session();
  if (count == 1) midi();
  CHECK(rmdir(folder) == 0);
  return 0;
}
