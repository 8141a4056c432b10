import Files
import Glibc
import Server
import Synchronization
import System

/// The handler of the signals that stop the command: SIGINT (Control-C), SIGHUP (closed terminal)
/// and SIGTERM (`kill`).
///
/// The first signal is recorded; a later one ends the process immediately. While keys are read, the
/// terminal is restored before Ctrl-Z (SIGTSTP) stops the process.
final class StopSignals: Sendable {
  private let first = Atomic<CInt>(0)

  /// The first signal received; nil if there is none.
  var received: CInt? {
    let signal = first.load(ordering: .acquiring)
    return signal == 0 ? nil : signal
  }

  /// Takes over the signals for the whole process. `onSignal` is called on a separate thread. Call
  /// before any other thread starts, because threads inherit the signal mask.
  init(_ onSignal: @escaping @Sendable () -> Void) {
    // Exceeding the file size limit must not end the process either: the write fails instead.
    _ = signal(SIGXFSZ, SIG_IGN)
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for each in [SIGINT, SIGTERM, SIGHUP] where each == SIGTERM || !Self.isIgnored(each) {
      unsafe sigaddset(&set, each)
    }
    if !Self.isIgnored(SIGTSTP) {
      unsafe sigaddset(&set, SIGTSTP)
      unsafe sigaddset(&set, SIGCONT)
    }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    let signals = set
    startThread(named: "cuejack-signals") { [self] in
      var set = signals
      var number: CInt = 0
      var firstTime: UInt64 = 0
      while unsafe sigwait(&set, &number) == 0 {
        if number == SIGTSTP || number == SIGCONT {
          Self.pause(number)
          continue
        }
        let now = HostTime.now
        // Some programs signal the process and then its group; both count as one signal.
        if firstTime > 0, now < firstTime + Self.echo { continue }
        firstTime = now
        let isFirst = first.compareExchange(
          expected: 0, desired: number, ordering: .acquiringAndReleasing
        ).exchanged
        if !isFirst {
          TerminalMode.leave()
          _exit(128 + number)
        }
        Screen.shared.hurry()
        PipedFile.stop()
        onSignal()
      }
    }
  }

  /// Stops the process as Ctrl-Z does, or goes on after it.
  private static func pause(_ number: CInt) {
    if number == SIGTSTP {
      Screen.shared.draw([])
      TerminalMode.suspend()
      // Raised on this thread, so that it does not go on before the process stops.
      raise(SIGSTOP)
    }
    TerminalMode.resume()
  }

  /// Time in nanoseconds within which a repeated signal is ignored.
  private static let echo: UInt64 = 100_000_000

  /// Returns true if the parent process set the signal to be ignored, as `nohup` does.
  private static func isIgnored(_ number: CInt) -> Bool {
    var action = sigaction()
    guard unsafe sigaction(number, nil, &action) == 0 else { return false }
    let handler = unsafe action.__sigaction_handler.sa_handler
    return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
