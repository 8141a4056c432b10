/// The app's callbacks. The queue calls them one at a time, in order, on its callback thread.
package struct QueueHandlers<Queue, Buffer>: Sendable {
  /// Receives a buffer that the queue returns.
  package var bufferDone: @Sendable (Queue, Buffer) -> Void
  package var changed: @Sendable (Queue, QueueChange) -> Void

  package init(
    bufferDone: @escaping @Sendable (Queue, Buffer) -> Void,
    changed: @escaping @Sendable (Queue, QueueChange) -> Void
  ) {
    self.bufferDone = bufferDone
    self.changed = changed
  }
}
