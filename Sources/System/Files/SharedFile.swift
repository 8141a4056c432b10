import CGlibc
import Glibc

/// An unnamed file in memory, for processes that receive its descriptor. Any thread.
package final class SharedFile: Sendable {
  package let descriptor: CInt

  /// Creates an empty file; nil if the system refuses. Its descriptor is 16 or more, above those of
  /// a new process's files.
  package init?(named name: String) {
    let file = unsafe cue_memfd_create(name, 3)  // MFD_CLOEXEC | MFD_ALLOW_SEALING
    if file < 0 { return nil }
    // Seal against shrinking: no process may remove memory that another one uses.
    _ = fcntl(file, 1033, 2)  // F_ADD_SEALS, F_SEAL_SHRINK
    descriptor = fcntl(file, F_DUPFD_CLOEXEC, 16)
    close(file)
    if descriptor < 0 { return nil }
  }

  /// Takes over a descriptor that this process received.
  package init(descriptor: CInt) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Maps a part of the file, and extends the file with zeros if needed. `offset` is a multiple of
  /// 4096.
  ///
  /// - Returns: The mapping, which the caller ends with `munmap`; nil if there is not enough
  ///   memory.
  package func map(bytes: Int, at offset: Int = 0) -> UnsafeMutableRawBufferPointer? {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return nil }
    if status.st_size < offset + bytes, ftruncate(descriptor, offset + bytes) != 0 { return nil }
    let memory = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, offset)
    guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { return nil }
    return unsafe UnsafeMutableRawBufferPointer(start: memory, count: bytes)
  }
}
