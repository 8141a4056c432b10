import AudioQueue
import CoreFoundation
import Glibc
import Synchronization

/// Calls an app function on a run loop, once for each `call()`.
final class SoundCompletion: Sendable {
  private final class Calls: Sendable {
    let pending = Mutex(0)

    /// Consumes one pending call. Returns false if there is none.
    func take() -> Bool {
      pending.withLock { pending in
        defer { pending = max(0, pending - 1) }
        return pending > 0
      }
    }
  }
  private let calls = Calls()
  private let context: any CallbackContext

  init(_ loop: CFRunLoop, mode: CFString, _ function: @escaping @Sendable () -> Void) {
    context = makeCallbackContext(.runLoop(loop, mode: mode)) { [calls] in
      while calls.take() { function() }
    }
  }

  func call() {
    calls.pending.withLock { $0 += 1 }
    context.wake()
  }

  /// Prevents further calls.
  func cancel() {
    calls.pending.withLock { $0 = 0 }
    context.invalidate()
  }

  deinit { cancel() }
}
