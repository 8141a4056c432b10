import AudioQueue
import Dispatch
import Synchronization

/// Calls of a program's functions that wait for a run loop. They are made one after another, in order.
///
/// A run loop gets some time to take a call. If it does not run by then, a thread of the library makes the call: programs
/// run their loops in slices, or never.
final class PendingCalls<Call: Sendable>: Sendable {
  private struct State {
    var calls: [Call] = []
    var isDelivering = false
  }
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "cuejack.pending-calls")

  /// Milliseconds that a run loop gets.
  private static var patience: Int { 100 }

  /// Adds calls.
  ///
  /// - Parameters:
  ///   - context: The run loop; nil for a thread of the library, after the same time.
  ///   - deliver: Makes the pending calls: see `deliver(_:)`. The run loop calls it, too.
  func add(
    _ calls: [Call], context: (any CallbackContext)?, _ deliver: @escaping @Sendable () -> Void
  ) {
    state.withLock { $0.calls += calls }
    context?.wake()
    deliverLater(context, deliver)
  }

  private func deliverLater(
    _ context: (any CallbackContext)?, _ deliver: @escaping @Sendable () -> Void
  ) {
    queue.asyncAfter(deadline: .now() + .milliseconds(Self.patience)) { [weak self] in
      guard let self, state.withLock({ !$0.calls.isEmpty }) else { return }
      if context?.isServed == true { deliverLater(context, deliver) } else { deliver() }
    }
  }

  /// Makes all pending calls, unless another thread makes them.
  func deliver(_ body: (Call) -> Void) {
    let isFree = state.withLock { state in
      defer { state.isDelivering = true }
      return !state.isDelivering
    }
    guard isFree else { return }
    while let call = next() { body(call) }
  }

  /// Takes a call; nil ends the delivery.
  private func next() -> Call? {
    state.withLock { state in
      if state.calls.isEmpty {
        state.isDelivering = false
        return nil
      }
      return state.calls.removeFirst()
    }
  }

  /// Forgets what is pending.
  func removeAll() { state.withLock { $0.calls = [] } }
}
