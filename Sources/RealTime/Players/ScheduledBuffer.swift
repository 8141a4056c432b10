package import CRealTime
import Synchronization

/// The moment of a scheduled buffer's first frame.
package enum BufferStart: BitwiseCopyable, Sendable, Equatable {
  /// As early as the buffers before it allow.
  case next
  /// A frame of the player.
  case frame(Int64)
  /// Host time in nanoseconds. A render that has no host time takes it for `next`.
  case host(UInt64)
}

/// How a buffer takes its turn: 0 behind the buffers before it.
package struct BufferTurn: BitwiseCopyable, Sendable, Equatable {
  private let number: UInt8
  /// Behind those before it.
  package static var queued: Self { @_noLocks get { Self(number: 0) } }
  /// Those before it end when it begins.
  package static var interrupts: Self { @_noLocks get { Self(number: 1) } }
  /// The sound that plays ends at the end of its samples, and so do those before it.
  package static var interruptsAtLoop: Self { @_noLocks get { Self(number: 2) } }

  @_noLocks private init(number: UInt8) { self.number = number }
  @_noLocks package static func == (a: Self, b: Self) -> Bool { a.number == b.number }
}

/// A buffer in the list of a `BufferPlayer`. The samples stay until the buffer is over.
@safe
package struct ScheduledBuffer: ~Copyable {
  /// Its place in the order of scheduling.
  package let id: UInt64
  /// How often the player was stopped before.
  let stops: UInt32
  let samples: UnsafeMutablePointer<cue_buffer_list>
  let format: BusFormat
  /// 0 for an entry without sound, from which the list goes on after a stop.
  let frames: Int
  let start: BufferStart
  let loops: Bool
  let turn: BufferTurn
  /// True for a part of a sound that is not the last one.
  let continues: Bool
  private let next: Atomic<UnsafeMutableRawPointer?>
  private let interrupt: Atomic<UnsafeMutableRawPointer?>
  /// Host time of its end in nanoseconds, 1 if that is unknown; 0 while it is not over.
  private let end = Atomic<UInt64>(0)

  package init(
    id: UInt64, stops: UInt32, _ samples: UnsafeMutablePointer<cue_buffer_list>,
    _ format: BusFormat, frames: Int, start: BufferStart, loops: Bool, turn: BufferTurn,
    continues: Bool
  ) {
    self.id = id
    self.stops = stops
    unsafe self.samples = samples
    self.format = format
    self.frames = frames
    self.start = start
    self.loops = loops
    self.turn = turn
    self.continues = continues
    unsafe next = Atomic(nil)
    unsafe interrupt = Atomic(nil)
  }

  /// Lets a buffer follow this one. Control side.
  package func append(_ buffer: UnsafeMutablePointer<ScheduledBuffer>) {
    unsafe next.store(UnsafeMutableRawPointer(buffer), ordering: .releasing)
  }

  /// Lets another list, which begins with a buffer, end the list that begins with this one. Control side.
  package func interrupt(with buffer: UnsafeMutablePointer<ScheduledBuffer>) {
    unsafe interrupt.store(UnsafeMutableRawPointer(buffer), ordering: .releasing)
  }

  /// The buffer behind this one; nil if there is none yet.
  var following: UnsafeMutablePointer<ScheduledBuffer>? {
    @_noLocks get { unsafe Self.buffer(next.load(ordering: .acquiring)) }
  }

  /// The first buffer of the list that ends this one's, which is the first of its own; nil if there is none yet.
  var interrupting: UnsafeMutablePointer<ScheduledBuffer>? {
    @_noLocks get { unsafe Self.buffer(interrupt.load(ordering: .acquiring)) }
  }

  @_noLocks static func buffer(_ pointer: UnsafeMutableRawPointer?)
    -> UnsafeMutablePointer<ScheduledBuffer>?
  { unsafe pointer.map { unsafe $0.assumingMemoryBound(to: ScheduledBuffer.self) } }

  @_noLocks borrowing func finish(at host: UInt64) { end.store(max(1, host), ordering: .releasing) }

  /// The host time in nanoseconds at which its last frame ends, 1 if that is unknown; nil while it is not
  /// over. Any thread.
  package var endTime: UInt64? {
    let end = end.load(ordering: .acquiring)
    return end == 0 ? nil : end
  }
}

/// A request to a player's clock.
@safe
package struct PlayerCommand: BitwiseCopyable, Equatable, Sendable {
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    case none
    /// Plays from the next render on, from a sample time, or from a host time.
    case play, playAtSample, playAtHost
    /// Holds the clock.
    case pause
  }
  let kind: UInt8
  /// Distinguishes a command from the one before.
  let number: UInt32
  /// How often the player was stopped before.
  let stops: UInt32
  /// How often the clock was set to 0 before, of which 8 bits count.
  let halts: UInt8
  /// Bits of a sample time, or a host time in nanoseconds.
  let moment: UInt64

  package init(_ kind: Kind, number: UInt32, stops: UInt32, halts: UInt8, moment: UInt64 = 0) {
    self.kind = kind.rawValue
    self.number = number
    self.stops = stops
    self.halts = halts
    self.moment = moment
  }

  /// Both words of the command, which one store publishes. A number and a count have 24 bits each.
  var words: WordPair {
    @_noLocks get {
      WordPair(
        first: UInt(kind) | UInt(number & 0xFF_FFFF) &<< 8 | UInt(stops & 0xFF_FFFF) &<< 32
          | UInt(halts) &<< 56,
        second: UInt(moment))
    }
  }

  @_noLocks init(_ words: WordPair) {
    kind = UInt8(truncatingIfNeeded: words.first)
    number = UInt32(truncatingIfNeeded: words.first &>> 8) & 0xFF_FFFF
    stops = UInt32(truncatingIfNeeded: words.first &>> 32) & 0xFF_FFFF
    halts = UInt8(truncatingIfNeeded: words.first &>> 56)
    moment = UInt64(words.second)
  }

  /// The moment at which the clock is to run; nil unless the command starts it.
  var start: PlayerStart? {
    @_noLocks get {
      switch kind {
      case 1: .nextRender
      case 2: .sample(Double(bitPattern: moment))
      case 3: .host(moment)
      default: nil
      }
    }
  }
}
