import CJack
import Glibc

/// A file without a name, in memory, for those processes that are given its descriptor. Any thread.
package final class SharedFile: Sendable {
  package let descriptor: CInt

  /// An empty file; nil if the system gives none. Its descriptor's number is above those that a new
  /// process's files have.
  package init?(named name: String) {
    let file = unsafe memfd_create(name, 3)  // MFD_CLOEXEC | MFD_ALLOW_SEALING
    if file < 0 { return nil }
    // Nobody may take memory away from under another process.
    _ = fcntl(file, 1033, 2)  // F_ADD_SEALS, F_SEAL_SHRINK
    descriptor = fcntl(file, F_DUPFD_CLOEXEC, 16)
    close(file)
    if descriptor < 0 { return nil }
  }

  /// A file that we were given.
  package init(descriptor: CInt) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Maps a part of the file, which grows if it ends before, in zeros. `offset` is a multiple of 4096.
  ///
  /// - Returns: Nil if there is not enough memory. `munmap` ends it.
  package func map(bytes: Int, at offset: Int = 0) -> UnsafeMutableRawBufferPointer? {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return nil }
    if status.st_size < offset + bytes, ftruncate(descriptor, offset + bytes) != 0 { return nil }
    let memory = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, offset)
    guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { return nil }
    return unsafe UnsafeMutableRawBufferPointer(start: memory, count: bytes)
  }
}
