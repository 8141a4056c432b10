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
