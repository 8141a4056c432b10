package import CRealTime
import Synchronization
package import Timeline

/// What only the process thread uses of a MIDI output.
@safe
struct MIDIOutputState {
  /// The messages that wait for their time.
  var queue: MIDIMessage.Pointer?
  /// A list of messages to hand back.
  var spent: MIDIMessage.Pointer?
  /// The latest flush that a cycle has seen.
  var flush: UInt64 = 0
  @_noLocks init() {
    unsafe queue = nil
    unsafe spent = nil
  }
}

/// A MIDI output port's part of the cycle: sends messages on their frames.
///
/// Threads push heaps of messages to a list, from which each cycle takes all. A message that has no room in a cycle
/// stays first in the queue until the next one. A long one goes out in pieces, in cycles that follow each other.
@safe
package struct MIDIOutput: ~Copyable {
  private let incoming = Atomic<UInt>(0)
  private let returned = Atomic<UInt>(0)
  /// Number of the first message that the latest flush leaves.
  private let flush = Atomic<UInt64>(0)
  /// Messages of earlier times are dropped.
  private let earliest = Atomic<Int64>(.min)
  private let held = Atomic<Bool>(false)
  /// Time of the first message that waits, as the word of a start point; `.max` if none does. `.min` while a cycle runs,
  /// and after one that has sent something: others hear that in the same cycle, if the port is still there.
  private let first = Atomic<Int64>(.max)
  private let port: UnsafeMutablePointer<cue_port>
  private let state: UnsafeMutablePointer<MIDIOutputState>
  /// Messages that renders of the same cycle play; nil for a port that threads push messages to.
  private let played: PortMessages?

  /// Creates an output in memory that the caller owns.
  package init(
    port: UnsafeMutablePointer<cue_port>, state: UnsafeMutableRawPointer, played: PortMessages?
  ) {
    unsafe self.port = port
    self.played = played
    unsafe self.state = state.initializeMemory(as: MIDIOutputState.self, to: MIDIOutputState())
  }

  /// Bytes that `init` needs for `state`.
  package static var stateBytes: Int { MemoryLayout<MIDIOutputState>.size }

  // MARK: Any thread

  /// Hands a heap of messages to the next cycle.
  package func push(_ heap: MIDIMessage.Pointer) {
    var first = incoming.load(ordering: .relaxed)
    while true {
      unsafe heap.pointee.next = MIDIMessage.Pointer(bitPattern: first)
      let (exchanged, original) = incoming.weakCompareExchange(
        expected: first, desired: UInt(bitPattern: heap), ordering: .acquiringAndReleasing)
      if exchanged { return }
      first = original
    }
  }

  /// True if no cycle has taken what was pushed last.
  package var isUntaken: Bool { incoming.load(ordering: .acquiring) != 0 }

  /// True if others may not have heard a message that is due by a host time.
  package func isBehind(_ time: StartPoint) -> Bool {
    isUntaken || first.load(ordering: .acquiring) <= time.word
  }

  /// True if there are messages to take back.
  package var hasReturned: Bool { returned.load(ordering: .acquiring) != 0 }

  /// Removes and returns the messages that are sent or dropped, as a list of heaps. One thread at a time.
  package func takeBack() -> MIDIMessage.Pointer? {
    let list = returned.exchange(0, ordering: .acquiringAndReleasing)
    return unsafe MIDIMessage.Pointer(bitPattern: list)
  }

  /// Drops the messages with numbers below `number` whose time is after the next cycle.
  package func flush(before number: UInt64) { flush.store(number, ordering: .releasing) }

  /// Drops all messages of times before `time`, which is a host time.
  package func drop(before time: StartPoint) {
    earliest.store(time.word, ordering: .releasing)
  }

  /// Excludes the output from cycles that begin from now on: they only empty the port's buffer.
  package func hold() { held.store(true, ordering: .sequentiallyConsistent) }
  package func release() { held.store(false, ordering: .sequentiallyConsistent) }

  /// Calls `body` with all messages, in lists of heaps, which it owns. No cycle may run the output any more.
  package func takeAll(_ body: (MIDIMessage.Pointer?) -> Void) {
    let untaken = incoming.exchange(0, ordering: .acquiringAndReleasing)
    unsafe body(MIDIMessage.Pointer(bitPattern: untaken))
    unsafe body(takeBack())
    unsafe body(state.pointee.queue)
    unsafe body(state.pointee.spent)
    unsafe state.pointee = MIDIOutputState()
  }

  // MARK: The cycle

  /// Sends what is due in a cycle.
  ///
  /// - Returns: True if there are messages to take back.
  @_noLocks borrowing func cycle(_ time: CycleTime) -> Bool {
    guard let samples = unsafe cue_rt_port_buffer(port.pointee, UInt32(time.frames)) else {
      return false
    }
    let buffer = UnsafeMutableRawPointer(samples)
    unsafe cue_rt_clear_midi(buffer)
    if time.isMute || held.load(ordering: .sequentiallyConsistent) { return false }
    first.store(.min, ordering: .relaxed)
    if let played {
      if unsafe played.send(time, to: buffer) { first.store(.max, ordering: .releasing) }
      return false
    }
    take(StartPoint(atMicroseconds: time.nextMicroseconds))
    let earliest = earliest.load(ordering: .acquiring)
    var frame = 0
    var room = Self.cycleBytes
    var hasNone = true
    while let top = unsafe state.pointee.queue {
      if unsafe top.pointee.time.word >= earliest {
        if unsafe !top.pointee.isImmediate {
          let due = unsafe top.pointee.time.frame(
            inCycleAt: 0, frames: time.frames, from: time.microseconds, to: time.nextMicroseconds)
          if due >= Int64(time.frames) { break }
          frame = max(frame, Int(due))
        }
        hasNone = false
        if unsafe !send(top, buffer, UInt32(frame), &room) { break }
      }
      unsafe state.pointee.queue = MIDIMessage.removeTop(of: top)
      unsafe spend(top)
    }
    if hasNone {
      let next = unsafe state.pointee.queue
      unsafe first.store(next?.pointee.time.word ?? .max, ordering: .releasing)
    }
    guard unsafe state.pointee.spent != nil, returned.load(ordering: .acquiring) == 0 else {
      return false
    }
    unsafe returned.store(UInt(bitPattern: state.pointee.spent), ordering: .releasing)
    unsafe state.pointee.spent = nil
    return true
  }

  /// Takes all pushed messages into the queue, and drops those that a flush unschedules.
  ///
  /// - Parameter end: The end of the cycle. Messages before it stay.
  @_noLocks private borrowing func take(_ end: StartPoint) {
    let first = incoming.exchange(0, ordering: .acquiringAndReleasing)
    // Read after the exchange: then each message that is taken here without its flush was sent after it.
    let flush = flush.load(ordering: .acquiring)
    var flushed: MIDIMessage.Pointer?
    let isFlush = unsafe flush != state.pointee.flush
    if isFlush {
      unsafe state.pointee.flush = flush
      unsafe flushed = state.pointee.queue
      unsafe state.pointee.queue = nil
    }
    var list = unsafe MIDIMessage.Pointer(bitPattern: first)
    while let heap = unsafe list {
      unsafe list = heap.pointee.next
      unsafe heap.pointee.next = nil
      if unsafe isFlush && heap.pointee.number < flush {
        unsafe flushed = MIDIMessage.merge(flushed, heap)
      } else {
        unsafe state.pointee.queue = MIDIMessage.merge(state.pointee.queue, heap)
      }
    }
    while let top = unsafe flushed {
      let isDue = unsafe top.pointee.isImmediate || top.pointee.time.word < end.word
      let stays = unsafe isDue || top.pointee.sentCount > 0
      if !stays {
        unsafe spend(top)
        return
      }
      unsafe flushed = MIDIMessage.removeTop(of: top)
      unsafe state.pointee.queue = MIDIMessage.merge(state.pointee.queue, top)
    }
  }

  @_noLocks private borrowing func spend(_ heap: MIDIMessage.Pointer) {
    unsafe heap.pointee.next = state.pointee.spent
    unsafe state.pointee.spent = heap
  }

  /// Bytes of the longest piece, and of all that a cycle sends. PipeWire writes what a buffer of 32 KB holds to another
  /// one of that size, with up to 32 bytes more for each message, and drops what has no room there.
  private static let pieceBytes = 16 << 10
  private static let cycleBytes = 32_000

  /// Sends a message, or a piece of a long one.
  ///
  /// - Parameter room: The bytes that the cycle may still send.
  /// - Returns: False if some of it has to wait for the next cycle.
  @_noLocks private borrowing func send(
    _ message: MIDIMessage.Pointer, _ buffer: UnsafeMutableRawPointer, _ frame: UInt32,
    _ room: inout Int
  ) -> Bool {
    let left = unsafe message.pointee.count &- message.pointee.sentCount
    let count = min(left, Self.pieceBytes)
    let bytes = count &+ 40
    guard bytes <= room, unsafe count <= Int(clamping: cue_rt_message_room(buffer)),
      unsafe cue_rt_add_message(buffer, frame, MIDIMessage.rest(of: message), count)
    else { return false }
    room &-= bytes
    unsafe message.pointee.countSent(count)
    return count == left
  }
}
