import AudioQueue
import Foundation
import TestSupport

/// A log of a queue's callbacks, and the test's own part in them. Any thread.
///
/// `Queue` and `Returned` are the arguments of the callback that returns a buffer.
final class CallLog<Queue, Returned, Call: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var noted: [Call] = []
  private var reported: [QueueChange] = []
  private var onBuffer: ((Queue, Returned) -> Void)?
  private var isInside = false
  private var nested = false

  /// All callbacks so far.
  var calls: [Call] { lock.withLock { noted } }
  /// All property changes so far that were noted as such.
  var changes: [QueueChange] { lock.withLock { reported } }
  /// True if a callback began inside another one.
  var hasNested: Bool { lock.withLock { nested } }

  /// Sets what the test does in the callback that returns a buffer.
  func onBuffer(_ action: @escaping (Queue, Returned) -> Void) {
    lock.withLock { onBuffer = action }
  }

  func note(_ call: Call) { lock.withLock { noted.append(call) } }
  func note(_ change: QueueChange) { lock.withLock { reported.append(change) } }

  /// The callback that returns a buffer: notes `call` and does the test's part.
  func bufferDone(_ queue: Queue, _ returned: Returned, _ call: Call) {
    let action = lock.withLock {
      if isInside { nested = true }
      isInside = true
      noted.append(call)
      return onBuffer
    }
    action?(queue, returned)
    lock.withLock { isInside = false }
  }
}

/// A queue on a server that the test drives by hand.
protocol DrivenQueue {
  var server: HandDrivenServer { get }
  func deliverEvents()
  /// Waits until all callbacks have run.
  func settle()
}

extension DrivenQueue {
  /// Runs cycles and waits after each until all its callbacks have run.
  func cycle(_ count: Int = 1, frames: Int = 64) {
    for _ in 0..<count {
      server.cycle(frames: frames)
      deliverEvents()
      settle()
    }
  }
}
