import CGlibc
import Glibc
import Synchronization

/// Output that libraries and plugins write to the process's standard output and standard error by themselves.
/// Any thread that is not real time.
///
/// The command silences it. Its own lines go to copies of the two files, which stay open.
package enum ForeignOutput {
  /// The copies, and where the two files lead while nothing may be heard.
  private struct Silence {
    let output, error, nowhere: CInt
    /// Calls of `hushed` that run.
    var calls = 0
  }
  private static let state = Mutex<Silence?>(nil)

  /// Lets `hushed` silence the process from now on. Does nothing if the files cannot be copied.
  package static func silence() {
    state.withLock { silence in
      guard silence == nil else { return }
      let output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 16)
      let error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 16)
      let nowhere = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
      guard output >= 0, error >= 0, nowhere >= 0 else {
        for file in [output, error, nowhere] where file >= 0 { close(file) }
        return
      }
      silence = Silence(output: output, error: error, nowhere: nowhere)
    }
  }

  /// File descriptor for the process's own lines on standard output, and on standard error.
  package static var output: CInt { state.withLock { $0?.output ?? STDOUT_FILENO } }
  package static var error: CInt { state.withLock { $0?.error ?? STDERR_FILENO } }

  /// Calls `body`. If `silence()` was called, nothing that is written to standard output and standard error
  /// meanwhile is seen, on any thread.
  package static func hushed<R, Failure>(_ body: () throws(Failure) -> R) throws(Failure) -> R {
    change(by: 1)
    defer { change(by: -1) }
    return try body()
  }

  /// Writes out what this process has printed to `stdout`.
  ///
  /// - Returns: False if that fails, with the reason in `errno`, or has failed before, with 0 in it.
  package static func flush() -> Bool {
    errno = 0
    return cue_flush_output() == 0
  }

  private static func change(by step: Int) {
    state.withLock { silence in
      guard let before = silence?.calls else { return }
      silence?.calls = before + step
      guard let state = silence, before == 0 || state.calls == 0 else { return }
      // What the process has printed so far is to be seen, what a library has printed is not.
      _ = flush()
      let isOver = state.calls == 0
      dup2(isOver ? state.output : state.nowhere, STDOUT_FILENO)
      dup2(isOver ? state.error : state.nowhere, STDERR_FILENO)
    }
  }
}
