import Glibc
import System
import TestSupport
import Testing

@Suite struct FileLockTests {
  /// A plugin may fork in the session's process.
  @Test func aForkedChildDoesNotKeepTheLock() throws {
    try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("lock").path
      func locked() -> FileLock? {
        let file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        if let lock = FileLock(file) { return lock }
        close(file)
        return nil
      }
      var lock = locked()
      expectTrue(lock != nil && locked() == nil)
      let child = fork()
      if child == 0 { while true { pause() } }
      try require(child > 0)
      defer {
        kill(child, SIGKILL)
        waitpid(child, nil, 0)
      }
      expectNil(locked())
      lock = nil
      // The child closes the file as soon as it runs.
      expectTrue(waits { locked() != nil })
    }
  }
}
