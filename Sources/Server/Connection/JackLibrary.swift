import CJack
import Dispatch
import Glibc
import Synchronization
import System

/// Lock for opening and closing clients, one thread at a time: JACK's library cannot open two
/// clients at once.
///
/// Closing needs the same lock. A server may already have given a closing client's number to the
/// next one. Closing then destroys what the process keeps under that number, so no thread may open
/// a client meanwhile.
package enum JackLibrary {
  private static let access = DispatchSemaphore(value: 1)
  /// Number of the process that opened or closed a client last; 0 before that.
  private static let user = Atomic<pid_t>(0)

  /// Seconds after which a thread that waits for a server to read its request counts as stuck.
  static let stuckSeconds = 0.5
  /// Number of such threads.
  static let stuckWaits = Atomic<Int>(0)
  /// True while a thread opens or closes a client on a server that does not read its request.
  package static var isStuck: Bool { stuckWaits.load(ordering: .relaxed) > 0 }

  /// Runs `body`, which opens or closes a client. Returns nil if another thread has done so for 30
  /// seconds because its server does not answer; for a question, as soon as that thread is stuck.
  package static func alone<R>(isQuestion: Bool = false, _ body: () -> R) -> R? {
    let deadline = DispatchTime.now() + .seconds(30)
    while access.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
      if isQuestion && isStuck || DispatchTime.now() > deadline { return nil }
    }
    defer { access.signal() }
    user.store(getpid(), ordering: .relaxed)
    awaitingThreads
    return body()
  }

  /// PipeWire's library waits for its threads itself.
  private static let awaitingThreads: Void = {
    if !PipeWire.isLibrary { cue_jack_await_threads() }
  }()

  /// Closes the open clients when the process ends, for five seconds at most. Later calls of `alone`
  /// wait for the end of the process.
  ///
  /// jackd waits for a client whose process ends without closing it, so that jack_client_open takes
  /// seconds in every other program. PipeWire's library frees its threads and modules when the
  /// process ends, and crashes if a cycle runs or a client opens or closes meanwhile (seen with
  /// 1.4.2).
  static func end() {
    // A forked process has a copy of its parent's memory, but neither its threads nor its clients.
    guard user.exchange(0, ordering: .relaxed) == getpid() else { return }
    LastSounds.shared.wait()
    // If the process thread ends the process, jack_client_close cancels that thread and joins it.
    _ = pthread_setcancelstate(CInt(PTHREAD_CANCEL_DISABLE), nil)
    let closed = DispatchSemaphore(value: 0)
    startThread(named: "cuejack-close") {
      access.wait()
      for client in JackClient.open { client.closeHandle() }
      closed.signal()
    }
    _ = closed.wait(timeout: .now() + .seconds(5))
  }
}

/// The dynamic linker calls this after the process's `atexit` functions and before the functions
/// with which JACK's library ends.
@section(".fini_array") @used
private let atEndOfProcess: @convention(c) () -> Void = { JackLibrary.end() }
