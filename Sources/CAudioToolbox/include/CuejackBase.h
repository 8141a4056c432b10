// The types that every header here stands on: Core Foundation, dispatch and the classic scalar
// types. Private to these headers: programs include AudioToolbox/AudioToolbox.h or one of its parts.
#ifndef CUEJACK_BASE_H
#define CUEJACK_BASE_H

#include <features.h>

// Core Foundation's headers use blocks, and lstat, which glibc hides from strict ISO C.
#if !defined(__USE_MISC) || !defined(__BLOCKS__)
#error "Use the toolchain's clang with the flags of the pkg-config file: -fblocks -D_GNU_SOURCE."
#endif

// Core Foundation's headers also use the words major and minor: glibc must define them first.
#include <alloca.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Some programs define __APPLE__ to choose their Core Audio code. The toolchain's headers must not
// see it, or they look for a Mac.
#pragma push_macro("__APPLE__")
#undef __APPLE__
#include <CoreFoundation/CoreFoundation.h>
#include <dispatch/dispatch.h>
#pragma pop_macro("__APPLE__")

/// Opens a region where fixed enum types and nullability are no extension to complain of, and where
/// pointers are never NULL unless they say so.
#define CUE_HEADER_BEGIN                                                                           \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpedantic\"")              \
      CF_ASSUME_NONNULL_BEGIN
/// Closes it.
#define CUE_HEADER_END CF_ASSUME_NONNULL_END _Pragma("clang diagnostic pop")

CUE_HEADER_BEGIN

CF_ENUM(OSStatus) {
  /// Success.
  noErr = 0
};

// The modes of opening a file, under their classic names.
enum { fsCurPerm = 0, fsRdPerm = 1, fsWrPerm = 2, fsRdWrPerm = 3 };

#ifndef nil
#define nil NULL
#endif

typedef UInt32 ItemCount;
typedef UInt32 ByteCount;
typedef UInt32 ByteOffset;
typedef UInt32 OptionBits;
typedef SInt32 Duration;
typedef long Size;
typedef char *Ptr;
typedef Ptr _Nullable *Handle;
typedef void *LogicalAddress;
/// A signed number with 16 bits on each side of the binary point.
typedef SInt32 Fixed;
/// The same without a sign.
typedef UInt32 UnsignedFixed;

CUE_HEADER_END

#endif
