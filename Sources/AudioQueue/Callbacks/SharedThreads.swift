import Dispatch
import Glibc
import Synchronization
import System

/// Delivers on threads that many queues share. Its deliveries never overlap.
final class SharedThreadContext: CallbackContext {
  private struct State {
    /// True if a delivery was asked for that has not begun.
    var isPending = false
    var isDelivering = false
    var isOver = false
  }
  private let state = Mutex(State())
  private let deliver: @Sendable () -> Void
  private let threads: SharedThreads

  init(_ deliver: @escaping @Sendable () -> Void, on threads: SharedThreads = .shared) {
    self.deliver = deliver
    self.threads = threads
  }

  /// Always false: a call from inside a callback is recognized by its thread id.
  var isCurrent: Bool { false }

  func wake() {
    let isNeeded = state.withLock { state in
      if state.isPending || state.isOver { return false }
      state.isPending = true
      return !state.isDelivering
    }
    if isNeeded { threads.submit(self) }
  }

  func invalidate() { state.withLock { $0.isOver = true } }

  /// Makes one delivery. Shared threads only.
  fileprivate func run() {
    let isOver = state.withLock { state in
      state.isPending = false
      state.isDelivering = true
      return state.isOver
    }
    if !isOver { deliver() }
    let isNeeded = state.withLock { state in
      state.isDelivering = false
      return state.isPending
    }
    if isNeeded { threads.submit(self) }
  }
}

/// Threads that make the deliveries of many queues, in the order in which they were asked for.
///
/// Each of the first deliveries gets a thread at once; further ones wait until a thread is through with
/// another one. So a thousand queues whose buffers end together wake a few threads. A callback may block, even
/// until another queue calls back: if no delivery has begun for a while, a standby thread adds a thread.
///
/// libdispatch's queues would start a thread for each of these deliveries, or notice only after a second that
/// all threads block.
final class SharedThreads: Sendable {
  static let shared = SharedThreads()

  /// Deliveries that threads take. Its lock is taken before that of `State`.
  private struct Ready {
    /// Those before `first` have begun.
    var contexts: [SharedThreadContext] = []
    var first = 0
    /// Number of deliveries that have begun.
    var begun: UInt64 = 0

    var isEmpty: Bool { first == contexts.count }

    mutating func next() -> SharedThreadContext? {
      if isEmpty { return nil }
      defer {
        first += 1
        begun += 1
      }
      return contexts[first]
    }
  }

  private struct State {
    /// Deliveries that come after those of `Ready`. The two lists keep the event thread, which adds many one by
    /// one, and the threads, which remove them, from waiting for each other.
    var submitted: [SharedThreadContext] = []
    /// Number of threads that deliver, or that are about to look for a delivery.
    var running = 0
    /// Number of threads that wait for `work`.
    var idle = 0
    /// True while the standby thread waits for `congestion`.
    var isStandbyIdle = false
    var hasStandby = false
  }

  private enum Step { case none, wake, start }

  private let ready = Mutex(Ready())
  private let state = Mutex(State())
  private let work = DispatchSemaphore(value: 0)
  private let congestion = DispatchSemaphore(value: 0)
  /// Number of threads that start without delay.
  private let prompt: Int
  /// Time without a delivery that begins, after which another thread starts, in microseconds.
  private static let patience: UInt32 = 2000
  /// Largest number of threads to keep for later.
  private static let mostIdle = 8

  init(prompt: Int = max(2, sysconf(CInt(_SC_NPROCESSORS_ONLN)))) { self.prompt = prompt }

  func submit(_ context: SharedThreadContext) {
    let (step, standby) = state.withLock { state -> (Step, Step) in
      state.submitted.append(context)
      if state.running < prompt { return (Self.addThread(&state), .none) }
      if state.isStandbyIdle {
        state.isStandbyIdle = false
        return (.none, .wake)
      }
      defer { state.hasStandby = true }
      return (.none, state.hasStandby ? .none : .start)
    }
    take(step)
    switch standby {
    case .none: break
    case .wake: congestion.signal()
    case .start: startThread(named: "cuejack-standby") { [self] in standBy() }
    }
  }

  private static func addThread(_ state: inout State) -> Step {
    state.running += 1
    if state.idle == 0 { return .start }
    state.idle -= 1
    return .wake
  }

  private func take(_ step: Step) {
    switch step {
    case .none: break
    case .wake: work.signal()
    case .start: startThread(named: "cuejack-callback") { [self] in deliver() }
    }
  }

  /// The function of a thread: makes deliveries until there are enough other threads.
  private func deliver() {
    while true {
      switch next() {
      case .deliver(let context): context.run()
      case .wait: work.wait()
      case .end: return
      }
    }
  }

  private enum Turn {
    case deliver(SharedThreadContext)
    case wait, end
  }

  private func next() -> Turn {
    ready.withLock { ready in
      if let context = ready.next() { return .deliver(context) }
      ready.contexts.removeAll(keepingCapacity: true)
      ready.first = 0
      return state.withLock { state in
        swap(&ready.contexts, &state.submitted)
        if let context = ready.next() { return .deliver(context) }
        state.running -= 1
        if state.idle >= Self.mostIdle { return .end }
        state.idle += 1
        return .wait
      }
    }
  }

  /// The function of the standby thread: adds a thread whenever deliveries wait and none begins.
  private func standBy() {
    var begun: UInt64?
    while true {
      let (step, sleeps) = ready.withLock { ready in
        state.withLock { state -> (Step, Bool) in
          if ready.isEmpty && state.submitted.isEmpty {
            state.isStandbyIdle = true
            return (.none, true)
          }
          defer { begun = ready.begun }
          return (begun == ready.begun ? Self.addThread(&state) : .none, false)
        }
      }
      take(step)
      if sleeps {
        begun = nil
        congestion.wait()
      }
      usleep(Self.patience)
    }
  }
}
