import CRealTime

/// MIDI messages that renders play to an output port, each for a device frame. Owns no memory.
///
/// The renders of a cycle add them in order of time. The port sends them in the same cycle, or in the one that has their
/// frame.
@safe
package struct PortMessages: BitwiseCopyable {
  /// A message that was taken from the queue and waits for its cycle; no bytes for none.
  package struct Next: BitwiseCopyable {
    fileprivate var frame = 0
    fileprivate var count = 0
    package init() {}
  }
  private let queue: UnsafeMutablePointer<MessageQueue>
  private let next: UnsafeMutablePointer<Next>
  private let message: UnsafeMutablePointer<UInt8>

  /// - Parameter message: Memory of `MessageQueue.mostBytes`.
  package init(
    _ queue: UnsafeMutablePointer<MessageQueue>, _ next: UnsafeMutablePointer<Next>,
    _ message: UnsafeMutablePointer<UInt8>
  ) {
    unsafe self.queue = queue
    unsafe self.next = next
    unsafe self.message = message
  }

  /// Adds a message. Any thread, real time included.
  ///
  /// - Returns: False if there is no room for it.
  @_noLocks func add(_ message: UnsafePointer<UInt8>, count: Int, frame: Int64) -> Bool {
    unsafe queue.pointee.add(message, count: count, offset: Int(frame))
  }

  /// Writes the messages of a cycle into the buffer of the port. Process thread.
  ///
  /// - Returns: True if the cycle has no messages.
  @_noLocks func send(_ time: CycleTime, to buffer: UnsafeMutableRawPointer) -> Bool {
    var least = 0
    var hasNone = true
    while true {
      if unsafe next.pointee.count == 0 {
        guard let (frame, count) = unsafe queue.pointee.take(message) else { return hasNone }
        unsafe next.pointee.frame = frame
        unsafe next.pointee.count = count
      }
      let offset = unsafe next.pointee.frame &- Int(time.frame)
      if offset >= time.frames { return hasNone }
      hasNone = false
      least = max(least, offset)
      let count = unsafe next.pointee.count
      guard unsafe count <= Int(clamping: cue_rt_message_room(buffer)),
        unsafe cue_rt_add_message(buffer, UInt32(least), message, count)
      else { return false }
      unsafe next.pointee.count = 0
    }
  }
}
