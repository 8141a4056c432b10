/// An event of a track that a unit hears.
package struct SequenceEvent: BitwiseCopyable, Sendable {
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    /// A note: `first` is its number, `second` its velocity, `third` that of its end.
    case note
    /// A message of `count` bytes at `number` among those of all messages.
    case message
    /// A parameter of the unit: `number`, `scope`, `count` is the element.
    case parameter
  }
  package let kind: Kind
  /// MIDI channel of a note.
  package let channel: UInt8
  package let first, second, third: UInt8
  package let scope: UInt32
  package let number, count: UInt32
  package let value: Float
  /// Beats from the track's beginning.
  package let beat: Double
  /// Beats of a note.
  package let duration: Double

  package init(
    _ kind: Kind, beat: Double, duration: Double = 0, channel: UInt8 = 0, first: UInt8 = 0,
    second: UInt8 = 0, third: UInt8 = 0, scope: UInt32 = 0, number: UInt32 = 0, count: UInt32 = 0,
    value: Float = 0
  ) {
    self.kind = kind
    self.beat = beat
    self.duration = duration
    self.channel = channel
    self.first = first
    self.second = second
    self.third = third
    self.scope = scope
    self.number = number
    self.count = count
    self.value = value
  }
}

/// The events of a track with its loop, and the next one to play. Owns no memory.
@safe
package struct SequenceTrack: BitwiseCopyable {
  /// The number of the track, which other versions of the track have, too.
  package let id: Int
  private let events: UnsafePointer<SequenceEvent>
  private let count: Int
  /// Beats by which all events are later.
  private let offset: Double
  /// The beat at which the loop begins, its length in beats, its first event, and how often it is played.
  private let loopStart: Double
  private let loopLength: Double
  private let loopFirst: Int
  private let passes: Int
  // The next event, and the pass of the loop that it is in.
  private var next = 0
  private var pass = 0

  /// - Parameters:
  ///   - events: In order of time.
  ///   - loopLength: 0 for a track without a loop.
  package init(
    id: Int, _ events: UnsafePointer<SequenceEvent>, count: Int, offset: Double,
    loopStart: Double = 0, loopLength: Double = 0, passes: Int = 1
  ) {
    self.id = id
    unsafe self.events = events
    self.count = count
    self.offset = offset
    self.loopStart = loopStart
    self.loopLength = loopLength
    var first = 0
    while unsafe first < count && events[first].beat < loopStart { first += 1 }
    loopFirst = first
    self.passes = loopLength > 0 && first < count ? passes : 1
  }

  /// The next event; nil after the last one.
  package var event: SequenceEvent? { @_noLocks get { unsafe next < count ? events[next] : nil } }

  /// The beat of the next event; infinite after the last one.
  package var nextBeat: Double {
    @_noLocks get {
      guard next < count else { return .infinity }
      return unsafe events[next].beat + Double(pass) * loopLength + offset
    }
  }

  /// Goes on to the event after the next one.
  @_noLocks package mutating func advance() {
    next &+= 1
    if next >= count && pass &+ 1 < passes {
      pass &+= 1
      next = loopFirst
    }
  }

  /// Goes to the first event that is not before a beat.
  @_noLocks package mutating func seek(_ beat: Double) {
    var local = beat - offset
    pass = 0
    if passes > 1, local >= loopStart + loopLength {
      let passed = (local - loopStart) / loopLength
      pass = passed >= Double(passes) ? passes &- 1 : max(0, Int(passed) &- 1)
      local -= Double(pass) * loopLength
    }
    find(local)
    // The division may have been off by one.
    while next >= count && pass &+ 1 < passes && local < loopStart + 3 * loopLength {
      pass &+= 1
      local -= loopLength
      find(local)
    }
  }

  /// Finds the first event from a beat on: of the loop, in a later pass than the first.
  @_noLocks private mutating func find(_ beat: Double) {
    var (low, high) = (pass > 0 ? loopFirst : 0, count)
    while low < high {
      let middle = (low &+ high) / 2
      if unsafe events[middle].beat < beat { low = middle &+ 1 } else { high = middle }
    }
    next = low
  }
}
