import RealTime

/// Sounds of a player that play one behind the other, until another list ends them.
struct SoundList: Sendable {
  /// An entry of the list.
  @safe
  struct Entry: @unchecked Sendable {
    let buffer: UnsafeMutablePointer<ScheduledBuffer>
    let isHeard: Bool
    /// Nil once it was called, or for none.
    fileprivate(set) var handler: (@Sendable () -> Void)?
    /// Keeps the samples; nil once the player reads them no more.
    fileprivate var owner: AnyObject?
    /// True for a part of a file, which was read ahead.
    fileprivate let isPart: Bool

    init(
      _ buffer: UnsafeMutablePointer<ScheduledBuffer>, of sound: ScheduledSound?,
      owner: AnyObject?, isPart: Bool
    ) {
      unsafe self.buffer = buffer
      isHeard = sound?.isHeard ?? false
      handler = sound?.handler
      self.owner = owner
      self.isPart = isPart
    }

    /// The host time in nanoseconds at which it was over; nil if it is not.
    var endTime: UInt64? { unsafe buffer.pointee.endTime }

    func free() {
      unsafe buffer.deinitialize(count: 1)
      unsafe buffer.deallocate()
    }
  }

  /// Its place in the order of the lists.
  let number: UInt64
  /// The first entry, by which the player knows the list; nil if it has none.
  private(set) var head: Entry?
  /// The entries behind the head that the player may still read, from the `first`-th on.
  private var entries: [Entry] = []
  private var first = 0
  /// True if the head is in `entries` no more, or before the `first`-th.
  private var isHeadOver = false
  private var count: UInt64 = 0
  /// Sounds that wait for a part of a file before them, or for the list before.
  var waiting: [ScheduledSound] = []
  /// Parts of files that the player may still read.
  private(set) var parts = 0

  init(number: UInt64) { self.number = number }

  /// The number of the next entry: lists count in the upper half.
  var nextID: UInt64 { number << 32 | count }

  /// Returns the number of the list that has an entry.
  static func number(ofEntry id: UInt64) -> UInt64 { id >> 32 }

  /// The entries that the player may still read, but for a head that is over.
  var left: ArraySlice<Entry> { entries[first...] }

  /// All entries that have memory.
  var all: [Entry] { (isHeadOver ? head.map { [$0] } ?? [] : []) + left }

  mutating func append(_ entry: Entry) {
    if let last = entries.last { unsafe last.buffer.pointee.append(entry.buffer) }
    if head == nil { head = unsafe Entry(entry.buffer, of: nil, owner: nil, isPart: false) }
    entries.append(entry)
    count += 1
    if entry.isPart { parts += 1 }
  }

  /// Returns the next end of a sound; nil if there is none. Frees entries that are over.
  ///
  /// - Parameter id: The number of the entry that the player has reached.
  mutating func nextEnd(reached id: UInt64) -> SoundEnd? {
    guard first < entries.count else { return nil }
    let entry = entries[first]
    let end = SoundEnd(entry.handler, isHeard: entry.isHeard, time: entry.endTime)
    let isOver = unsafe entry.buffer.pointee.id < id
    if !isOver, unsafe end.handler == nil || end.time == nil || entry.buffer.pointee.id > id {
      return nil
    }
    entries[first].handler = nil
    if isOver {
      // The list keeps the place of the entry, not what the app gave.
      entries[first].owner = nil
      if entry.isPart { parts -= 1 }
      if isHeadOver { entry.free() }
      isHeadOver = true
      first += 1
      if first > 64 && first > entries.count / 2 {
        entries.removeFirst(first)
        first = 0
      }
    }
    return end
  }
}

/// The end of a sound.
struct SoundEnd: Sendable {
  let handler: (@Sendable () -> Void)?
  let isHeard: Bool
  /// Its host time in nanoseconds, 1 if that is unknown; nil for a sound that was ended before.
  let time: UInt64?

  init(_ handler: (@Sendable () -> Void)?, isHeard: Bool, time: UInt64?) {
    self.handler = handler
    self.isHeard = isHeard
    self.time = time
  }
}
