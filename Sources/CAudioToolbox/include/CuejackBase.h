// Base types of all headers here: Core Foundation, dispatch and the classic scalar types. Private:
// programs include AudioToolbox/AudioToolbox.h or one of its parts.
#ifndef CUEJACK_BASE_H
#define CUEJACK_BASE_H

#include <features.h>

// Core Foundation's headers use blocks and lstat, which glibc hides in strict ISO C.
#if !defined(__USE_MISC) || !defined(__BLOCKS__)
#error "Use the toolchain's clang with the flags of the pkg-config file: -fblocks -D_GNU_SOURCE."
#endif

// Core Foundation's headers also use the identifiers major and minor, so glibc must define these
// macros first.
#include <alloca.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Some programs define __APPLE__ to select their Core Audio code. The toolchain's headers must not
// see it, because they would expect macOS.
#pragma push_macro("__APPLE__")
#undef __APPLE__
#include <CoreFoundation/CoreFoundation.h>
#include <dispatch/dispatch.h>
#pragma pop_macro("__APPLE__")

/// Opens a region without warnings about fixed enum types and nullability, in which pointers are
/// never NULL unless marked _Nullable.
#define CUE_HEADER_BEGIN                                                                           \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpedantic\"")              \
      CF_ASSUME_NONNULL_BEGIN
/// Closes a region opened by CUE_HEADER_BEGIN.
#define CUE_HEADER_END CF_ASSUME_NONNULL_END _Pragma("clang diagnostic pop")

CUE_HEADER_BEGIN

CF_ENUM(OSStatus) {
  /// Success.
  noErr = 0
};

// Permissions for opening a file, under their classic names.
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
/// A signed fixed-point number with 16 integer and 16 fraction bits.
typedef SInt32 Fixed;
/// An unsigned fixed-point number with 16 integer and 16 fraction bits.
typedef UInt32 UnsignedFixed;

CUE_HEADER_END

#endif
