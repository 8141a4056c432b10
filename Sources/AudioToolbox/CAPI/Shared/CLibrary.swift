import Glibc
import System

// Functions of Apple's C library that CuejackBase.h declares. They do not exist in glibc before 2.38 or,
// getprogname, in any. The library always has them: a program that was linked on one system runs on
// another. `AudioToolbox.map` gives them a symbol version of their own, so that they answer no call that was
// linked against glibc's.

/// Returns the file name of the running program.
@c(getprogname)
public func nameOfProgram() -> UnsafePointer<CChar>? { unsafe programName }

/// Copies a string to a buffer of `size` bytes, shortened if necessary, and returns its length.
@c(strlcpy)
public func copyString(
  _ destination: UnsafeMutablePointer<CChar>, _ source: UnsafePointer<CChar>, _ size: Int
) -> Int {
  var length = 0
  while unsafe source[length] != 0 {
    if length + 1 < size { unsafe destination[length] = source[length] }
    length += 1
  }
  if size > 0 { unsafe destination[min(length, size - 1)] = 0 }
  return length
}

/// Appends a string to the one in a buffer of `size` bytes, shortened if necessary, and returns the length
/// of both.
@c(strlcat)
public func appendString(
  _ destination: UnsafeMutablePointer<CChar>, _ source: UnsafePointer<CChar>, _ size: Int
) -> Int {
  var start = 0
  while start < size, unsafe destination[start] != 0 { start += 1 }
  return start + (unsafe copyString(destination + start, source, size - start))
}

/// Changes the size of allocated memory, or frees it.
@c(reallocf)
public func reallocateOrFree(_ memory: UnsafeMutableRawPointer?, _ size: Int)
  -> UnsafeMutableRawPointer?
{
  let moved = unsafe realloc(memory, size)
  // realloc has freed the memory if the size is 0.
  if unsafe moved == nil, size > 0 { unsafe free(memory) }
  return unsafe moved
}

/// Stores the number that the system gives to a thread; of the calling thread if `thread` is 0.
@c(pthread_threadid_np)
public func numberOfThread(_ thread: UInt, _ number: UnsafeMutablePointer<UInt64>?) -> CInt {
  guard let number = unsafe number else { return EINVAL }
  var clock = clockid_t()
  let error = unsafe pthread_getcpuclockid(thread == 0 ? pthread_self() : thread, &clock)
  // The number of a thread's clock is made of the number of the thread (Linux, posix-timers.h).
  if error == 0 { unsafe number.pointee = UInt64(~(clock >> 3)) }
  return error
}
