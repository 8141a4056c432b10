// Uses Apple's functions and constants that sound programs need besides sound: strings, result
// codes, byte order, atomic operations, versions. C, C++ and Objective-C without a runtime.
#include <CoreServices/CoreServices.h>
#include <AudioToolbox/AudioToolbox.h>
#include <AudioToolbox/CAFFile.h>
#include <libkern/OSAtomic.h>
#include <libkern/OSByteOrder.h>
#include <mach/mach_time.h>
#include <os/availability.h>
#include <pthread/pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#define CHECK(condition) static_assert(condition, #condition)
#else
#define CHECK(condition) _Static_assert(condition, #condition)
#endif

CHECK(COREAUDIOTYPES_VERSION >= 20120000);
CHECK(MAC_OS_X_VERSION_10_4 == 1040 && MAC_OS_X_VERSION_10_10 == 101000);
CHECK(MAC_OS_VERSION_11_0 == 110000);
#ifdef WANTED_MIN
CHECK(MAC_OS_X_VERSION_MIN_REQUIRED == WANTED_MIN && MAC_OS_X_VERSION_MAX_ALLOWED == WANTED_MAX);
#else
CHECK(MAC_OS_X_VERSION_MIN_REQUIRED == 110000 && MAC_OS_X_VERSION_MAX_ALLOWED == 110000);
#endif
CHECK(__MAC_OS_X_VERSION_MIN_REQUIRED == MAC_OS_X_VERSION_MIN_REQUIRED);
CHECK(TARGET_OS_LINUX && !TARGET_OS_MAC);

CHECK(eofErr == -39 && paramErr == -50 && memFullErr == -108 && fnfErr == -43 && permErr == -54);
CHECK(ioErr == -36 && dskFulErr == -34 && unimpErr == -4 && badFormat == -206 && tmfoErr == -42);
CHECK(eofErr == (OSStatus)kAudioFileEndOfFileError && noErr == 0 && userCanceledErr == -128);

// Constant expressions, as initialisers at file scope need them.
static const UInt32 big = EndianU32_NtoB(0x01020304);
CHECK(EndianU16_NtoB(0x0102) == 0x0201 && EndianU32_LtoN(7) == 7 && EndianS16_BtoN(0x00FF) == -256);
CHECK(EndianU64_BtoN(0x0102030405060708) == 0x0807060504030201);
CHECK(OSSwapHostToBigInt32(0x01020304) == 0x04030201 && OSSwapLittleToHostInt16(5) == 5);

CHECK(sizeof(CAFFileHeader) == 8 && sizeof(CAFChunkHeader) == 12);
CHECK(sizeof(CAFAudioDescription) == 32 && sizeof(CAF_UUID_ChunkHeader) == 28);
CHECK(offsetof(CAFPacketTableHeader, mPacketDescriptions) == 24 && sizeof(CAFMarker) == 28);
CHECK(offsetof(CAFDataChunk, mData) == 4 && offsetof(CAFRegion, mMarkers) == 12);
CHECK(sizeof(CAFInstrumentChunk) == 28 && sizeof(CAFPositionPeak) == 12);
CHECK(offsetof(CAFOverviewChunk, mData) == 8 && sizeof(CAFAudioFormatListItem) == 36);
CHECK(sizeof(CAFStringID) == 12 && sizeof(CAFUMIDChunk) == 64 && sizeof(CAF_SMPTE_Time) == 8);
CHECK(kCAF_FileType == 'caff' && kCAF_PacketTableChunkID == 'pakt' &&
      kCAF_FileVersion_Initial == 1);
CHECK(kCAF_StreamDescriptionChunkID == 'desc' && kCAF_AudioDataChunkID == 'data');
CHECK(kCAFLinearPCMFormatFlagIsLittleEndian == 2 && kCAFMarkerType_SavedPlayPosition == 'sply');
CHECK(kCAF_SMPTE_TimeType2398 == 12 && kCAFRegionFlag_PlayBackward == 4);

extern int later(int) API_AVAILABLE(macos(10.13), ios(11.0))
    __OSX_AVAILABLE_STARTING(1, 2) AVAILABLE_MAC_OS_X_VERSION_10_5_AND_LATER;

// A program may declare them itself.
#ifdef __cplusplus
extern "C" {
#endif
size_t strlcpy(char *, const char *, size_t);
const char *getprogname(void);
#ifdef __cplusplus
}
#endif

static int failures = 0;

static void expect(bool holds, int line) {
  if (holds) return;
  printf("line %d\n", line);
  failures++;
}
#define EXPECT(condition) expect(condition, __LINE__)

static void strings(void) {
  char text[8];
  memset(text, 'x', sizeof text);
  EXPECT(strlcpy(text, "abc", sizeof text) == 3 && strcmp(text, "abc") == 0 && text[4] == 'x');
  EXPECT(strlcat(text, "def", sizeof text) == 6 && strcmp(text, "abcdef") == 0);
  EXPECT(strlcat(text, "ghi", sizeof text) == 9 && strcmp(text, "abcdefg") == 0);
  EXPECT(strlcpy(text, "0123456789", sizeof text) == 10 && strcmp(text, "0123456") == 0);
  EXPECT(strlcpy(text, "abc", 0) == 3 && text[0] == '0');
  EXPECT(strlcpy(text, "abc", 1) == 3 && text[0] == 0);
  memset(text, 'x', sizeof text);
  EXPECT(strlcat(text, "abc", 4) == 7 && text[3] == 'x' && text[4] == 'x');
}

struct element {
  int number;
  void *link;
};

static void atomics(void) {
  volatile int32_t number = 5;
  volatile int64_t large = 5;
  volatile uint32_t bits = 0;
  uint8_t bytes[2] = {0, 0};
  EXPECT(OSAtomicAdd32(3, &number) == 8 && OSAtomicIncrement32Barrier(&number) == 9);
  EXPECT(OSAtomicDecrement32(&number) == 8 && OSAtomicAdd64Barrier(-6, &large) == -1);
  EXPECT(OSAtomicCompareAndSwap32Barrier(8, 1, &number) && number == 1);
  EXPECT(!OSAtomicCompareAndSwap32(8, 2, &number) && number == 1);
  EXPECT(OSAtomicOr32Barrier(6, &bits) == 6 && OSAtomicAnd32Orig(2, &bits) == 6 && bits == 2);
  EXPECT(OSAtomicXor32(3, &bits) == 1);
  EXPECT(!OSAtomicTestAndSet(9, bytes) && bytes[1] == 0x40 && OSAtomicTestAndSet(9, bytes));
  EXPECT(OSAtomicTestAndClearBarrier(9, bytes) && bytes[1] == 0);
  void *volatile pointer = NULL;
  EXPECT(OSAtomicCompareAndSwapPtrBarrier(NULL, &failures, &pointer) && pointer == &failures);
  OSMemoryBarrier();

  OSSpinLock lock = OS_SPINLOCK_INIT;
  OSSpinLockLock(&lock);
  EXPECT(!OSSpinLockTry(&lock));
  OSSpinLockUnlock(&lock);
  EXPECT(OSSpinLockTry(&lock));

  struct element elements[2] = {{1, NULL}, {2, NULL}};
  OSQueueHead stack = OS_ATOMIC_QUEUE_INIT;
  OSFifoQueueHead queue = OS_ATOMIC_FIFO_QUEUE_INIT;
  for (int i = 0; i < 2; i++)
    OSAtomicEnqueue(&stack, &elements[i], offsetof(struct element, link));
  for (int i = 1; i >= 0; i--)
    EXPECT(OSAtomicDequeue(&stack, offsetof(struct element, link)) == &elements[i]);
  EXPECT(OSAtomicDequeue(&stack, offsetof(struct element, link)) == NULL);
  for (int i = 0; i < 2; i++)
    OSAtomicFifoEnqueue(&queue, &elements[i], offsetof(struct element, link));
  for (int i = 0; i < 2; i++)
    EXPECT(OSAtomicFifoDequeue(&queue, offsetof(struct element, link)) == &elements[i]);
  EXPECT(OSAtomicFifoDequeue(&queue, offsetof(struct element, link)) == NULL);
}

static int shared = 0;
static OSSpinLock shared_lock = OS_SPINLOCK_INIT;
static volatile int64_t counted = 0;

static void *count(void *data) {
  for (int i = 0; i < 100000; i++) {
    OSAtomicIncrement64(&counted);
    OSSpinLockLock(&shared_lock);
    shared++;
    OSSpinLockUnlock(&shared_lock);
  }
  return data;
}

static void threads(void) {
  pthread_t all[4];
  for (int i = 0; i < 4; i++)
    pthread_create(&all[i], NULL, count, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join(all[i], NULL);
  EXPECT(shared == 400000 && counted == 400000);
}

int main(void) {
  uint8_t bytes[] = {0, 1, 2, 3, 4};
  strings();
  atomics();
  threads();
  EXPECT(big == 0x04030201 && OSReadBigInt32(bytes, 1) == 0x01020304);
  OSWriteBigInt16(bytes, 3, 0x0506);
  EXPECT(bytes[3] == 5 && bytes[4] == 6 && OSHostByteOrder() == OSLittleEndian);
  uint64_t start = mach_absolute_time();
  EXPECT(mach_wait_until(start + 2000000) == KERN_SUCCESS);
  EXPECT(mach_absolute_time() >= start + 2000000 && mach_approximate_time() > 0);
  EXPECT(mach_continuous_time() >= start);
  printf("%s %d\n", getprogname(), failures);
  return failures != 0;
}
