package import CRealTime
import Synchronization

/// A MIDI input port's part of the cycle: copies the messages of its buffer into a ring.
@safe
package struct MIDIInput: ~Copyable {
  private let number: UInt32
  private let held = Atomic<Bool>(false)
  private let port: UnsafeMutablePointer<cue_port>
  private let ring: UnsafeMutablePointer<MIDIRing>

  /// Creates an input in memory that the caller owns.
  ///
  /// - Parameters:
  ///   - number: Says in the ring which input a message came in.
  ///   - ring: The ring of all inputs of a client.
  package init(
    _ number: UInt32, port: UnsafeMutablePointer<cue_port>, ring: UnsafeMutablePointer<MIDIRing>
  ) {
    self.number = number
    unsafe self.port = port
    unsafe self.ring = ring
  }

  /// Excludes the input from cycles that begin from now on.
  package func hold() { held.store(true, ordering: .sequentiallyConsistent) }
  package func release() { held.store(false, ordering: .sequentiallyConsistent) }

  /// True if a cycle may find the ring full, although somebody reads it. Process thread.
  @_noLocks borrowing func lacksRoom(givingUp: Bool) -> Bool {
    let lacks = unsafe ring.pointee.lacksRoom
    if lacks && givingUp { unsafe ring.pointee.noteVainWait() }
    return lacks
  }

  /// Copies the messages of a cycle.
  ///
  /// - Returns: True if there are any.
  @_noLocks borrowing func cycle(_ time: CycleTime) -> Bool {
    if time.isMute || held.load(ordering: .sequentiallyConsistent) { return false }
    guard let samples = unsafe cue_rt_port_buffer(port.pointee, UInt32(time.frames)) else {
      return false
    }
    let buffer = UnsafeMutableRawPointer(samples)
    let count = unsafe cue_rt_message_count(buffer)
    for i in 0..<count {
      let message = unsafe cue_rt_message(buffer, i)
      guard let bytes = unsafe message.bytes, unsafe message.count > 0 else { continue }
      let frame = unsafe Int64(message.frame)
      let receipt = unsafe MIDIReceipt(
        frame: time.frame &+ frame, hostTime: time.hostTime(ofFrame: frame), input: number,
        count: message.count)
      unsafe ring.pointee.push(receipt, bytes)
    }
    return count > 0
  }
}

extension CycleTime {
  /// The host time in nanoseconds of a frame, counted from the cycle's first; the present one if the server does not
  /// tell the times of the cycle.
  @_noLocks fileprivate func hostTime(ofFrame frame: Int64) -> UInt64 {
    guard nextMicroseconds > microseconds, frames > 0 else { return cue_rt_nanoseconds() }
    let length = nextMicroseconds &- microseconds
    let count = UInt64(frames)
    return microseconds &* 1000
      &+ (UInt64(max(0, frame)) &* length &* 1000 &+ count / 2) / count
  }
}
