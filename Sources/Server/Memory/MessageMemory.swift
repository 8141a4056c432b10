package import RealTime

/// Memory of a `MessageQueue`.
@safe
package final class MessageMemory: @unchecked Sendable {
  package let queue: UnsafeMutablePointer<MessageQueue>
  private let slots: UnsafeMutablePointer<QueuedMessage>
  private let bytes: UnsafeMutablePointer<UInt8>

  package init() {
    unsafe slots = .allocate(capacity: MessageQueue.capacity)
    for i in 0..<MessageQueue.capacity { unsafe (slots + i).initialize(to: QueuedMessage(i)) }
    unsafe bytes = .allocate(capacity: MessageQueue.capacity * MessageQueue.slotBytes)
    unsafe bytes.initialize(
      repeating: 0, count: MessageQueue.capacity * MessageQueue.slotBytes)
    unsafe queue = .allocate(capacity: 1)
    unsafe queue.initialize(to: MessageQueue(slots, bytes))
  }

  deinit {
    unsafe queue.deinitialize(count: 1)
    unsafe queue.deallocate()
    unsafe slots.deinitialize(count: MessageQueue.capacity)
    unsafe slots.deallocate()
    unsafe bytes.deallocate()
  }
}

/// Memory of a `PortMessages`.
@safe
final class PortMessageMemory: @unchecked Sendable {
  let messages: PortMessages
  let queue = MessageMemory()
  private let next: UnsafeMutablePointer<PortMessages.Next>
  private let message: UnsafeMutablePointer<UInt8>

  init() {
    unsafe next = .allocate(capacity: 1)
    unsafe next.initialize(to: PortMessages.Next())
    unsafe message = .allocate(capacity: MessageQueue.mostBytes)
    unsafe message.initialize(repeating: 0, count: MessageQueue.mostBytes)
    unsafe messages = PortMessages(queue.queue, next, message)
  }

  deinit {
    unsafe next.deallocate()
    unsafe message.deallocate()
  }
}
