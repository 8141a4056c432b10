// Byte order as the kernel's headers spell it. The macros are constant expressions for constant
// arguments.
#ifndef CUEJACK_OSBYTEORDER_H
#define CUEJACK_OSBYTEORDER_H

#include <stdint.h>
#include <string.h>

enum {
  OSUnknownByteOrder,
  OSLittleEndian,
  OSBigEndian
};

#ifdef __cplusplus
extern "C" {
#endif

/// Returns OSLittleEndian. Any thread, real time included.
static inline int32_t OSHostByteOrder(void) {
  return OSLittleEndian;
}

#define OSSwapInt16(value)                  ((uint16_t)__builtin_bswap16((uint16_t)(value)))
#define OSSwapConstInt16(value)             ((uint16_t)__builtin_bswap16((uint16_t)(value)))
#define OSSwapInt32(value)                  ((uint32_t)__builtin_bswap32((uint32_t)(value)))
#define OSSwapConstInt32(value)             ((uint32_t)__builtin_bswap32((uint32_t)(value)))
#define OSSwapInt64(value)                  ((uint64_t)__builtin_bswap64((uint64_t)(value)))
#define OSSwapConstInt64(value)             ((uint64_t)__builtin_bswap64((uint64_t)(value)))
#define OSSwapHostToBigInt16(value)         OSSwapInt16(value)
#define OSSwapBigToHostInt16(value)         OSSwapInt16(value)
#define OSSwapHostToLittleInt16(value)      ((uint16_t)(value))
#define OSSwapLittleToHostInt16(value)      ((uint16_t)(value))
#define OSSwapHostToBigConstInt16(value)    OSSwapInt16(value)
#define OSSwapBigToHostConstInt16(value)    OSSwapInt16(value)
#define OSSwapHostToLittleConstInt16(value) ((uint16_t)(value))
#define OSSwapLittleToHostConstInt16(value) ((uint16_t)(value))
#define OSSwapHostToBigInt32(value)         OSSwapInt32(value)
#define OSSwapBigToHostInt32(value)         OSSwapInt32(value)
#define OSSwapHostToLittleInt32(value)      ((uint32_t)(value))
#define OSSwapLittleToHostInt32(value)      ((uint32_t)(value))
#define OSSwapHostToBigConstInt32(value)    OSSwapInt32(value)
#define OSSwapBigToHostConstInt32(value)    OSSwapInt32(value)
#define OSSwapHostToLittleConstInt32(value) ((uint32_t)(value))
#define OSSwapLittleToHostConstInt32(value) ((uint32_t)(value))
#define OSSwapHostToBigInt64(value)         OSSwapInt64(value)
#define OSSwapBigToHostInt64(value)         OSSwapInt64(value)
#define OSSwapHostToLittleInt64(value)      ((uint64_t)(value))
#define OSSwapLittleToHostInt64(value)      ((uint64_t)(value))
#define OSSwapHostToBigConstInt64(value)    OSSwapInt64(value)
#define OSSwapBigToHostConstInt64(value)    OSSwapInt64(value)
#define OSSwapHostToLittleConstInt64(value) ((uint64_t)(value))
#define OSSwapLittleToHostConstInt64(value) ((uint64_t)(value))

/// Reads a number of 16 bits at an offset in bytes, which need not be aligned. Any thread, real
/// time included.
static inline uint16_t OSReadLittleInt16(const volatile void *base, uintptr_t offset) {
  uint16_t value;
  memcpy(&value, (const char *)(uintptr_t)base + offset, sizeof value);
  return value;
}

/// Reads a big-endian number of 16 bits at an offset in bytes, which need not be aligned. Any
/// thread, real time included.
static inline uint16_t OSReadBigInt16(const volatile void *base, uintptr_t offset) {
  return OSSwapInt16(OSReadLittleInt16(base, offset));
}

/// Writes a number of 16 bits at an offset in bytes, which need not be aligned. Any thread, real
/// time included.
static inline void OSWriteLittleInt16(volatile void *base, uintptr_t offset, uint16_t value) {
  memcpy((char *)(uintptr_t)base + offset, &value, sizeof value);
}

/// Writes a big-endian number of 16 bits at an offset in bytes, which need not be aligned. Any
/// thread, real time included.
static inline void OSWriteBigInt16(volatile void *base, uintptr_t offset, uint16_t value) {
  OSWriteLittleInt16(base, offset, OSSwapInt16(value));
}

/// Reads a number of 32 bits at an offset in bytes, which need not be aligned. Any thread, real
/// time included.
static inline uint32_t OSReadLittleInt32(const volatile void *base, uintptr_t offset) {
  uint32_t value;
  memcpy(&value, (const char *)(uintptr_t)base + offset, sizeof value);
  return value;
}

/// Reads a big-endian number of 32 bits at an offset in bytes, which need not be aligned. Any
/// thread, real time included.
static inline uint32_t OSReadBigInt32(const volatile void *base, uintptr_t offset) {
  return OSSwapInt32(OSReadLittleInt32(base, offset));
}

/// Writes a number of 32 bits at an offset in bytes, which need not be aligned. Any thread, real
/// time included.
static inline void OSWriteLittleInt32(volatile void *base, uintptr_t offset, uint32_t value) {
  memcpy((char *)(uintptr_t)base + offset, &value, sizeof value);
}

/// Writes a big-endian number of 32 bits at an offset in bytes, which need not be aligned. Any
/// thread, real time included.
static inline void OSWriteBigInt32(volatile void *base, uintptr_t offset, uint32_t value) {
  OSWriteLittleInt32(base, offset, OSSwapInt32(value));
}

/// Reads a number of 64 bits at an offset in bytes, which need not be aligned. Any thread, real
/// time included.
static inline uint64_t OSReadLittleInt64(const volatile void *base, uintptr_t offset) {
  uint64_t value;
  memcpy(&value, (const char *)(uintptr_t)base + offset, sizeof value);
  return value;
}

/// Reads a big-endian number of 64 bits at an offset in bytes, which need not be aligned. Any
/// thread, real time included.
static inline uint64_t OSReadBigInt64(const volatile void *base, uintptr_t offset) {
  return OSSwapInt64(OSReadLittleInt64(base, offset));
}

/// Writes a number of 64 bits at an offset in bytes, which need not be aligned. Any thread, real
/// time included.
static inline void OSWriteLittleInt64(volatile void *base, uintptr_t offset, uint64_t value) {
  memcpy((char *)(uintptr_t)base + offset, &value, sizeof value);
}

/// Writes a big-endian number of 64 bits at an offset in bytes, which need not be aligned. Any
/// thread, real time included.
static inline void OSWriteBigInt64(volatile void *base, uintptr_t offset, uint64_t value) {
  OSWriteLittleInt64(base, offset, OSSwapInt64(value));
}

#ifdef __cplusplus
}
#endif

#endif
