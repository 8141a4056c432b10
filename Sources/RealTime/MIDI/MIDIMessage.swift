package import Timeline

/// A MIDI message on its way to an output port: a node of a heap, with the message's bytes behind it in memory.
///
/// The sender allocates it. Cycles only link it, and hand it back once it is sent or dropped.
@safe
package struct MIDIMessage {
  package typealias Pointer = UnsafeMutablePointer<MIDIMessage>

  /// The time to send it at. Messages of one time are sent in the order of their numbers.
  package let time: StartPoint
  package let number: UInt64
  /// Set for a message that the next cycle sends, whatever the time of that cycle is.
  package let isImmediate: Bool
  package let count: Int
  /// Bytes that cycles have sent.
  package fileprivate(set) var sentCount = 0

  /// The two heaps below it in the heap, and the length of the shortest way down to a missing one.
  package fileprivate(set) var left: Pointer?
  package fileprivate(set) var right: Pointer?
  fileprivate var rank = 1
  /// The next heap in a list of heaps.
  package var next: Pointer?

  /// Creates the header of a message whose `count` bytes lie behind it.
  package init(_ count: Int, at time: StartPoint, number: UInt64, isImmediate: Bool) {
    self.time = time
    self.number = number
    self.isImmediate = isImmediate
    self.count = count
    unsafe left = nil
    unsafe right = nil
    unsafe next = nil
  }

  /// True once cycles have sent all of it.
  package var isSent: Bool { sentCount == count }

  /// The bytes that have not been sent.
  @_noLocks static func rest(of message: Pointer) -> UnsafePointer<UInt8> {
    let bytes = unsafe UnsafeRawPointer(message) + MemoryLayout<MIDIMessage>.stride
    return unsafe bytes.assumingMemoryBound(to: UInt8.self) + message.pointee.sentCount
  }

  @_noLocks mutating func countSent(_ bytes: Int) { sentCount &+= bytes }

  // MARK: The heap

  /// Merges two heaps, whose tops are their first messages. Takes as long as the logarithm of their size.
  @_noLocks package static func merge(_ a: Pointer?, _ b: Pointer?) -> Pointer? {
    guard let a = unsafe a else { return unsafe b }
    guard let b = unsafe b else { return unsafe a }
    let isFirst = unsafe !b.pointee.isBefore(a.pointee)
    let top = unsafe isFirst ? a : b
    unsafe top.pointee.right = merge(top.pointee.right, isFirst ? b : a)
    let (left, right) = unsafe (rank(top.pointee.left), rank(top.pointee.right))
    if left < right {
      let lower = unsafe top.pointee.left
      unsafe top.pointee.left = top.pointee.right
      unsafe top.pointee.right = lower
    }
    unsafe top.pointee.rank = min(left, right) &+ 1
    return unsafe top
  }

  /// Removes the first message of a heap and returns the rest.
  @_noLocks static func removeTop(of heap: Pointer) -> Pointer? {
    let rest = unsafe merge(heap.pointee.left, heap.pointee.right)
    unsafe heap.pointee.left = nil
    unsafe heap.pointee.right = nil
    unsafe heap.pointee.rank = 1
    return unsafe rest
  }

  @_noLocks private static func rank(_ heap: Pointer?) -> Int {
    guard let heap = unsafe heap else { return 0 }
    return unsafe heap.pointee.rank
  }

  @_noLocks private func isBefore(_ other: MIDIMessage) -> Bool {
    time.word != other.time.word ? time.word < other.time.word : number < other.number
  }
}
