import CFork
import Glibc

/// A lock on an open file that this process holds alone. A process that a plugin forks does not keep it. It ends
/// with the object, which closes the file, or with the process.
package final class FileLock: Sendable {
  package let descriptor: CInt

  /// Locks a file and takes it over.
  ///
  /// - Returns: Nil if that fails, with the reason in `errno`; `EWOULDBLOCK` if another open file has the
  ///   lock. The file is then still the caller's.
  package init?(_ descriptor: CInt) {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 { if errno != EINTR { return nil } }
    self.descriptor = descriptor
    cue_fork_close(descriptor)
  }

  deinit {
    cue_fork_keep(descriptor)
    close(descriptor)
  }
}
