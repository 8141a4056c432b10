// Base types of all headers here: Core Foundation, dispatch and the classic scalar types. Private:
// programs include AudioToolbox/AudioToolbox.h or one of its parts.
#ifndef CUEJACK_BASE_H
#define CUEJACK_BASE_H

// Some programs define __APPLE__ to select their Core Audio code. The headers of the toolchain and of
// the C library must not see it, because they would expect macOS.
#pragma push_macro("__APPLE__")
#undef __APPLE__

#ifdef __clang__
#include <features.h>
#endif

// Core Foundation's headers use blocks, nullability and functions that glibc hides in strict ISO C.
#if !defined(__clang__) || !defined(__BLOCKS__) || !defined(__USE_MISC)
#error "Use the clang of the Swift toolchain (pkg-config --variable=clang AudioToolbox) and its flags (pkg-config --cflags AudioToolbox)."
// The compiler stops here, so that this error is not followed by a thousand others.
#include "cuejack-needs-clang-and-the-flags-of-pkg-config"
#endif

// Core Foundation's headers also use the identifiers major and minor, so glibc must define these
// macros first.
#include <alloca.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <CoreFoundation/CoreFoundation.h>
#include <dispatch/dispatch.h>
#pragma pop_macro("__APPLE__")

#include "Availability.h"
#include "TargetConditionals.h"

/// Opens a region without warnings about fixed enum types and nullability, in which pointers are
/// never NULL unless marked _Nullable.
#define CUE_HEADER_BEGIN                                                                           \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpedantic\"")              \
      CF_ASSUME_NONNULL_BEGIN
/// Closes a region opened by CUE_HEADER_BEGIN.
#define CUE_HEADER_END CF_ASSUME_NONNULL_END _Pragma("clang diagnostic pop")

CUE_HEADER_BEGIN

// A constant string of another layout would crash Core Foundation.
#ifndef __swift__
#ifdef __cplusplus
#define CUE_STATIC_ASSERT static_assert
#else
#define CUE_STATIC_ASSERT _Static_assert
#endif
CUE_STATIC_ASSERT(sizeof(*__builtin___CFStringMakeConstantString("")) == 5 * sizeof(void *),
                  "compile with -fcf-runtime-abi=swift (pkg-config --cflags AudioToolbox)");
#undef CUE_STATIC_ASSERT
#else
// Core Foundation's own classes. In Swift, CFString and the other names stand for Foundation's classes.
typedef CFArrayRef CueArrayRef;
typedef CFDataRef CueDataRef;
typedef CFDictionaryRef CueDictionaryRef;
typedef CFMutableArrayRef CueMutableArrayRef;
typedef CFNumberRef CueNumberRef;
typedef CFStringRef CueStringRef;
typedef CFURLRef CueURLRef;
#endif

CF_ENUM(OSStatus) {
  /// Success.
  noErr = 0
};

// Permissions for opening a file, under their classic names.
enum { fsCurPerm = 0, fsRdPerm = 1, fsWrPerm = 2, fsRdWrPerm = 3 };

#ifndef nil
#define nil NULL
#endif

typedef unsigned long ItemCount;
typedef unsigned long ByteCount;
typedef unsigned long ByteOffset;
typedef UInt32 OptionBits;
typedef SInt32 Duration;
typedef long Size;
typedef char *Ptr;
typedef Ptr _Nullable *Handle;
typedef void *LogicalAddress;
/// A signed fixed-point number with 16 integer and 16 fraction bits.
typedef SInt32 Fixed;
/// An unsigned fixed-point number with 16 integer and 16 fraction bits.
typedef UInt32 UnsignedFixed;

CF_EXTERN_C_BEGIN

// Functions of Apple's C library. The library exports them under a symbol version of its own, so that
// they never take the place of the C library's.

/// Returns the file name of the running program. The string lives as long as the process. Any thread.
extern const char *getprogname(void);

/// Changes the size of allocated memory as realloc does, but frees it if that fails. Any thread that is not real time.
extern void *_Nullable reallocf(void *_Nullable memory, size_t size);

/// Stores the number that the system gives to a thread, which no other thread of the system has; of the calling thread
/// if `thread` is 0. Any thread.
///
/// - Returns: 0; EINVAL if `thread_id` is NULL; ESRCH if the thread has ended.
extern int pthread_threadid_np(pthread_t thread, uint64_t *_Nullable thread_id);

#if !defined(__GLIBC_PREREQ) || !__GLIBC_PREREQ(2, 38)
/// Copies `source` to `destination`, a buffer of `size` bytes, shortened if necessary. The copy ends
/// with a null character unless `size` is 0. Any thread, real time included.
///
/// - Returns: The length of `source`. If it is `size` or more, the copy was shortened.
extern size_t strlcpy(char *destination, const char *source, size_t size);

/// Appends `source` to the string in `destination`, a buffer of `size` bytes, shortened if necessary.
/// Any thread, real time included.
///
/// - Returns: The length of the string before, at most `size`, plus the length of `source`. If it is
///   `size` or more, the result was shortened.
extern size_t strlcat(char *destination, const char *source, size_t size);
#endif

CF_EXTERN_C_END
CUE_HEADER_END

#endif
