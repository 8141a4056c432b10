import Foundation
import Glibc
import Server
import Synchronization

/// The signals that ask the command to stop: Control-C, a terminal that goes away, `kill`.
///
/// The first one is noted, a later one ends the process on the spot.
final class StopSignals: Sendable {
  private let first = Atomic<CInt>(0)

  /// The signal that came; nil if none has.
  var received: CInt? {
    let signal = first.load(ordering: .acquiring)
    return signal == 0 ? nil : signal
  }

  /// Takes the signals over, for the whole process; `onSignal` is called on a thread of its own.
  /// Before any other thread is started: they inherit what is blocked.
  init(_ onSignal: @escaping @Sendable () -> Void) {
    // A reader of ours that goes away must not end us in the middle of a note.
    _ = signal(SIGPIPE, SIG_IGN)
    // Nor a file that may not grow: writing it fails.
    _ = signal(SIGXFSZ, SIG_IGN)
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for each in [SIGINT, SIGTERM, SIGHUP] where each == SIGTERM || !Self.isIgnored(each) {
      unsafe sigaddset(&set, each)
    }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    let signals = set
    let thread = Thread { [self] in
      var set = signals
      var number: CInt = 0
      var firstTime: UInt64 = 0
      while unsafe sigwait(&set, &number) == 0 {
        let now = HostTime.now
        // Some programs send a signal to the process and to its group: it is one signal.
        if firstTime > 0, now < firstTime + Self.echo { continue }
        firstTime = now
        let isFirst = first.compareExchange(
          expected: 0, desired: number, ordering: .acquiringAndReleasing
        ).exchanged
        if !isFirst { _exit(128 + number) }
        onSignal()
      }
    }
    thread.name = "cuejack-signals"
    thread.start()
  }

  /// Nanoseconds.
  private static let echo: UInt64 = 100_000_000

  /// True if whoever started us wants the signal ignored, as `nohup` does.
  private static func isIgnored(_ number: CInt) -> Bool {
    var action = sigaction()
    guard unsafe sigaction(number, nil, &action) == 0 else { return false }
    let handler = unsafe action.__sigaction_handler.sa_handler
    return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
