import CRealTime
import Glibc
import Synchronization

/// The thread that a cycle wakes: it calls a function after each post of its signal.
///
/// It holds nothing but itself, so that whoever the function works for can go while it sleeps.
@safe
final class Relay: @unchecked Sendable {
  /// Posted by the cycle.
  let signal: UnsafeMutablePointer<cue_signal>
  private let isOver = Atomic<Bool>(false)
  private let hasEnded = Atomic<Bool>(false)
  private let hasStarted = Atomic<Bool>(false)
  private let thread = Atomic<UInt>(0)

  init() {
    unsafe signal = .allocate(capacity: 1)
    unsafe signal.initialize(to: cue_signal())
    unsafe cue_signal_initialize(signal)
  }

  deinit {
    unsafe cue_signal_destroy(signal)
    unsafe signal.deallocate()
  }

  /// Starts the thread. Once.
  ///
  /// - Parameter body: Returns the seconds after which it is to be called even without a post; nil
  ///   if only a post matters.
  func start(_ body: @escaping @Sendable () -> Double?) {
    hasStarted.store(true, ordering: .relaxed)
    startThread(named: "cuejack-relay") { [self] in
      thread.store(pthread_self(), ordering: .relaxed)
      var patience: Double?
      while true {
        if let patience {
          unsafe cue_signal_wait_for(signal, UInt32(patience * 1000))
        } else {
          unsafe cue_signal_wait(signal)
        }
        if isOver.load(ordering: .acquiring) { break }
        patience = body()
      }
      hasEnded.store(true, ordering: .releasing)
    }
  }

  /// Wakes the thread. Any thread.
  func post() { unsafe cue_rt_signal_post(signal) }

  /// Ends the thread, and waits for that unless it is the caller's own. No body runs afterwards.
  func end() {
    isOver.store(true, ordering: .releasing)
    post()
    guard hasStarted.load(ordering: .relaxed),
      thread.load(ordering: .relaxed) != pthread_self()
    else { return }
    // One that waits for a lock of our caller's ends when it gets it.
    let deadline = HostTime.now + 1_000_000_000
    while !hasEnded.load(ordering: .acquiring) && HostTime.now < deadline { usleep(50) }
  }
}
