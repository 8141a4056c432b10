import Synchronization

/// A pool of items that tasks wait for in first-come, first-served order. May be used on any
/// thread.
final class Pool<Item: Sendable>: Sendable {
  private struct State {
    var items: [Item] = []
    var waiters: [(id: UInt64, continuation: CheckedContinuation<Item?, Never>)] = []
    var lastID: UInt64 = 0
  }
  private let state = Mutex(State())

  /// Returns an item to the pool, or passes it to the task that has waited longest.
  func give(_ item: Item) {
    let waiter = state.withLock { state in
      if state.waiters.isEmpty {
        state.items.append(item)
        return nil as CheckedContinuation<Item?, Never>?
      }
      return state.waiters.removeFirst().continuation
    }
    waiter?.resume(returning: item)
  }

  /// Takes the oldest item; nil if there is none.
  func takeIfAny() -> Item? {
    state.withLock { $0.items.isEmpty ? nil : $0.items.removeFirst() }
  }

  /// Takes the oldest item, and waits until there is one. Nil if the task is cancelled.
  func take() async -> Item? {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // Checked here: the cancellation handler may have run before the waiter was added.
        let isOver = state.withLock { state -> Item?? in
          if Task.isCancelled { return .some(nil) }
          if !state.items.isEmpty { return state.items.removeFirst() }
          state.waiters.append((id, continuation))
          return nil
        }
        if let item = isOver { continuation.resume(returning: item) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: nil)
    }
  }
}
