import Glibc
import Sessions
import System

/// The handler of SIGUSR1, with which LADISH and scripts ask a program to save (LADISH level 1).
package struct SaveSignal: Sendable {
  /// Takes over the signal for the whole process. `onSignal` is called on a separate thread for each
  /// signal; signals that arrive meanwhile count as one. Call before any other thread starts, because
  /// threads inherit the signal mask.
  package init(_ onSignal: @escaping @Sendable () -> Void) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, SIGUSR1)
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    let signals = set
    startThread(named: "cuejack-save") {
      var set = signals
      var number: CInt = 0
      while unsafe sigwait(&set, &number) == 0 { onSignal() }
    }
  }
}
