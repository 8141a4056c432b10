// Delayed errors: of a last write, of an asynchronous write, and of callbacks that use their own
// file.
#include "extaudiofile.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
  Frames = 1000
};
static float sound[2 * Frames];

// MARK: A last write

/// Returns the number of open descriptors of the process.
static int open_files(void) {
  int count = 0;
  char path[40];
  for (int i = 0; i < 256; i++) {
    struct stat found;
    snprintf(path, sizeof path, "/proc/self/fd/%d", i);
    count += lstat(path, &found) == 0;
  }
  return count;
}

/// Limits the size of files to that of an existing one.
static void limit_to(const char *path) {
  struct stat found;
  CHECK(stat(path, &found) == 0);
  struct rlimit limit = {(rlim_t)found.st_size, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void a_last_write(void) {
  signal(SIGXFSZ, SIG_IGN);
  int before = open_files();
  ExtAudioFileRef file = create("last.wav", kAudioFileWAVEType, int16(44100, 2, 0), 0);
  // The sample rate converter holds frames back.
  set_client(file, float_format(48000, 2));
  for (int i = 0; i < 20; i++)
    write_some(file, sound, Frames, 2, 8);
  SInt64 written = length_of(file);
  CHECK(written > 0);
  AudioFileID id = NULL;
  UInt32 size = sizeof id;
  WORKS(ExtAudioFileGetProperty(file, kExtAudioFileProperty_AudioFile, &size, &id));
  limit_to(path_of("last.wav"));
  OSStatus status = ExtAudioFileDispose(file);
  struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
  CHECK(status != noErr);
  // The file is closed anyway and contains what could be written.
  UInt32 kind = 0;
  size = sizeof kind;
  GIVES(AudioFileGetProperty(id, kAudioFilePropertyFileFormat, &size, &kind),
        kAudioFileNotOpenError);
  EQUAL(open_files(), before);
  GIVES(ExtAudioFileDispose(file), kAudio_ParamError);
  file = open_file("last.wav");
  EQUAL(length_of(file), written);
  WORKS(ExtAudioFileDispose(file));
  passed("a last write that fails");
}

// MARK: Asynchronous writes

enum {
  Ours = -1234
};

static Memory memory;

static AudioFileID new_file(void) {
  AudioStreamBasicDescription format = int16(RATE, 2, 0);
  AudioFileID id = NULL;
  memory = new_memory(1000000);
  WORKS(AudioFileInitializeWithCallbacks(&memory, memory_read, memory_write, memory_size,
                                         memory_set_size, kAudioFileCAFType, &format, 0, &id));
  return id;
}

/// Repeats a call until it returns the error of a write, which it must do exactly once.
#define TELLS_OF_FAILURE(call)                                                                     \
  do {                                                                                             \
    fail_asynchronously(file);                                                                     \
    OSStatus status_ = noErr;                                                                      \
    WAIT((status_ = (call)) != noErr);                                                             \
    GIVES(status_, Ours);                                                                          \
    WORKS(call);                                                                                   \
  } while (0)

static void fail_asynchronously(ExtAudioFileRef file) {
  AudioBufferList list = {1, {{2, 8 * Frames, sound}}};
  memory.fault = noErr;
  WORKS(ExtAudioFileWriteAsync(file, 0, NULL));
  memory.fault = Ours;
  WORKS(ExtAudioFileWriteAsync(file, Frames, &list));
}

/// Checks the same for a call that waits until everything is written.
#define TELLS_AT_ONCE(call)                                                                        \
  do {                                                                                             \
    fail_asynchronously(file);                                                                     \
    GIVES(call, Ours);                                                                             \
    memory.fault = noErr;                                                                          \
    WORKS(call);                                                                                   \
  } while (0)

static void asynchronous_writes(void) {
  AudioFileID id = new_file();
  ExtAudioFileRef file = NULL;
  WORKS(ExtAudioFileWrapAudioFileID(id, true, &file));
  AudioStreamBasicDescription client = float_format(RATE, 2);
  set_client(file, client);
  AudioBufferList list = {1, {{2, 8 * Frames, sound}}};
  SInt64 frame = 0;
  UInt32 bytes = 1 << 15, size = sizeof bytes;
  static const ExtAudioFilePropertyID room = kExtAudioFileProperty_IOBufferSizeBytes;
  TELLS_OF_FAILURE(ExtAudioFileTell(file, &frame));
  TELLS_OF_FAILURE(ExtAudioFileGetProperty(file, room, &size, &bytes));
  TELLS_OF_FAILURE(ExtAudioFileGetPropertyInfo(file, room, &size, NULL));
  TELLS_OF_FAILURE(ExtAudioFileWriteAsync(file, 0, NULL));
  TELLS_AT_ONCE(ExtAudioFileWrite(file, Frames, &list));
  TELLS_AT_ONCE(ExtAudioFileSetProperty(file, room, sizeof bytes, &bytes));
  TELLS_AT_ONCE(ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof client,
                                        &client));
  fail_asynchronously(file);
  OSStatus status = noErr;
  WAIT((status = ExtAudioFileSeek(file, 0)) != kExtAudioFileError_InvalidSeek);
  GIVES(status, Ours);
  GIVES(ExtAudioFileSeek(file, 0), kExtAudioFileError_InvalidSeek);
  fail_asynchronously(file);
  GIVES(ExtAudioFileDispose(file), Ours);
  GIVES(ExtAudioFileDispose(file), kAudio_ParamError);
  memory.fault = noErr;
  WORKS(AudioFileClose(id));
  free(memory.bytes);
  passed("asynchronous writes that fail");
}

// MARK: Functions that call back

/// A file whose callbacks use it.
typedef struct {
  Memory memory;
  AudioFileID id;
  ExtAudioFileRef file;
  /// Running calls of its callbacks, and their maximum.
  atomic_int calls, most_calls;
  /// The results of the calls.
  OSStatus got, set, told, closed, disposed;
  int asked;
} Nosy;

static void enter(Nosy *nosy) {
  int calls = atomic_fetch_add(&nosy->calls, 1) + 1;
  if (calls > nosy->most_calls) nosy->most_calls = calls;
}

static OSStatus nosy_read(void *data, SInt64 position, UInt32 count, void *buffer, UInt32 *actual) {
  Nosy *nosy = data;
  enter(nosy);
  if (nosy->id && !nosy->asked++) {
    UInt64 count = 0;
    UInt32 value = 0, size = sizeof count;
    nosy->got =
        AudioFileGetProperty(nosy->id, kAudioFilePropertyAudioDataPacketCount, &size, &count);
    size = sizeof value;
    nosy->set = AudioFileSetProperty(nosy->id, kAudioFilePropertyDeferSizeUpdates, size, &value);
    nosy->closed = AudioFileClose(nosy->id);
    if (nosy->file) {
      SInt64 frame = 0;
      nosy->told = ExtAudioFileTell(nosy->file, &frame);
      nosy->disposed = ExtAudioFileDispose(nosy->file);
    }
  }
  OSStatus status = memory_read(&nosy->memory, position, count, buffer, actual);
  atomic_fetch_sub(&nosy->calls, 1);
  return status;
}

static SInt64 nosy_size(void *data) {
  Nosy *nosy = data;
  enter(nosy);
  SInt64 size = nosy->memory.size;
  atomic_fetch_sub(&nosy->calls, 1);
  return size;
}

/// Returns a file in memory with the frames 0, 1 and so on.
static Memory numbers(void) {
  AudioFileID id = new_file();
  static SInt16 samples[2 * Frames];
  for (int i = 0; i < 2 * Frames; i++)
    samples[i] = (SInt16)i;
  UInt32 bytes = sizeof samples;
  WORKS(AudioFileWriteBytes(id, false, 0, &bytes, samples));
  WORKS(AudioFileClose(id));
  return memory;
}

static void functions_that_call_back(void) {
  Nosy nosy = {.memory = numbers(), .id = NULL};
  AudioFileID id = NULL;
  SInt16 samples[200];
  WORKS(AudioFileOpenWithCallbacks(&nosy, nosy_read, NULL, nosy_size, NULL, 0, &id));
  nosy.id = id;
  UInt32 bytes = sizeof samples;
  WORKS(AudioFileReadBytes(id, false, 40, &bytes, samples));
  CHECK(bytes == sizeof samples && samples[0] == 20 && samples[199] == 219);
  CHECK(nosy.asked > 0);
  GIVES(nosy.got, kAudioFileOperationNotSupportedError);
  GIVES(nosy.set, kAudioFileOperationNotSupportedError);
  GIVES(nosy.closed, kAudioFileOperationNotSupportedError);

  // The same applies to an ExtAudioFile.
  WORKS(ExtAudioFileWrapAudioFileID(id, false, &nosy.file));
  nosy.asked = 0;
  EQUAL(read_some(nosy.file, samples, 100, 2, 4), 100);
  EQUAL(samples[199], 199);
  CHECK(nosy.asked > 0);
  GIVES(nosy.got, kAudioFileOperationNotSupportedError);
  GIVES(nosy.told, kAudioFileOperationNotSupportedError);
  GIVES(nosy.disposed, kAudioFileOperationNotSupportedError);
  EQUAL(position(nosy.file), 100);
  WORKS(ExtAudioFileDispose(nosy.file));
  WORKS(AudioFileClose(id));
  free(nosy.memory.bytes);
  passed("functions that call back");
}

static void *read_everything(void *data) {
  Nosy *nosy = data;
  SInt16 samples[20];
  for (int round = 0; round < 300; round++) {
    SInt64 packet = round * 7 % (Frames - 10);
    UInt32 packets = 10, bytes = sizeof samples, size = sizeof(UInt64);
    UInt64 count = 0;
    WORKS(AudioFileReadPacketData(nosy->id, false, &bytes, NULL, packet, &packets, samples));
    CHECK(packets == 10 && samples[0] == 2 * packet && samples[19] == 2 * packet + 19);
    WORKS(AudioFileGetProperty(nosy->id, kAudioFilePropertyAudioDataPacketCount, &size, &count));
    EQUAL(count, Frames);
  }
  return NULL;
}

/// Two threads use a file. Its callbacks run for one of them at a time.
static void two_threads(void) {
  Nosy nosy = {.memory = numbers(), .id = NULL, .asked = 1};
  AudioFileID id = NULL;
  WORKS(AudioFileOpenWithCallbacks(&nosy, nosy_read, NULL, nosy_size, NULL, 0, &id));
  nosy.id = id;
  pthread_t other;
  CHECK(pthread_create(&other, NULL, read_everything, &nosy) == 0);
  read_everything(&nosy);
  CHECK(pthread_join(other, NULL) == 0);
  EQUAL(nosy.most_calls, 1);
  WORKS(AudioFileClose(id));
  free(nosy.memory.bytes);
  passed("two threads");
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  for (int i = 0; i < 2 * Frames; i++)
    sound[i] = (float)(0.5 * sin(i * 0.01));
  a_last_write();
  asynchronous_writes();
  functions_that_call_back();
  two_threads();
  run("rm -r \"$PWD\"");
  return 0;
}
