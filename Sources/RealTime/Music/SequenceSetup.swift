import CRealTime
import Synchronization

/// What a player of a sequence plays from now on. Only renders change it, in the tracks' places.
@safe
package struct SequenceSetup: BitwiseCopyable {
  /// The number of the setup; each has another.
  package let serial: Int
  package let tempo: TempoPoints
  /// The same for setups whose tempos are the same.
  package let tempoNumber: Int
  package let isPlaying: Bool
  /// How much faster than its tempo the sequence is played.
  package let rate: Double
  /// The beat of the latest jump, and the number of it. The clock's next render begins there, unless it has done so.
  package let start: Double
  package let jump: Int
  /// The tracks of all feeds, and the first one of each feed, with their number at the end.
  let tracks: UnsafeMutablePointer<SequenceTrack>
  private let firstTracks: UnsafePointer<Int>
  let feedCount: Int
  /// The bytes of all messages.
  let bytes: UnsafePointer<UInt8>

  package init(
    serial: Int, tempo: TempoPoints, tempoNumber: Int, isPlaying: Bool, rate: Double, start: Double,
    jump: Int, tracks: UnsafeMutablePointer<SequenceTrack>, firstTracks: UnsafePointer<Int>,
    feedCount: Int,
    bytes: UnsafePointer<UInt8>
  ) {
    self.serial = serial
    self.tempo = tempo
    self.tempoNumber = tempoNumber
    self.isPlaying = isPlaying
    self.rate = rate
    self.start = start
    self.jump = jump
    unsafe self.tracks = tracks
    unsafe self.firstTracks = firstTracks
    self.feedCount = feedCount
    unsafe self.bytes = bytes
  }

  /// Returns the tracks of a feed.
  @_noLocks func tracks(of feed: Int) -> Range<Int> {
    unsafe firstTracks[feed]..<firstTracks[feed &+ 1]
  }
}

/// The clock of a sequence: counts the frames that a unit renders while the sequence is played. Owns no memory and has
/// a fixed address.
@safe
package struct SequenceClock: ~Copyable {
  private let setup: Atomic<UnsafeMutableRawPointer?>
  /// The number of the setup that the clock follows.
  private let applied = Atomic<Int>(0)
  /// The number of the jump that it has followed.
  private let followed = Atomic<Int>(0)
  /// The beat up to which the sequence was rendered.
  private let rendered = Atomic<UInt64>(0)
  /// The time in seconds of the latest render, and its host time in nanoseconds; 0 if that is not known.
  private let latest = Atomic<WordPair>(WordPair(first: 0, second: 0))
  private let lostMessages = Atomic<Int>(0)

  package init() { unsafe setup = Atomic(nil) }

  // MARK: Control side

  /// Replaces the setup, effective with the next render of the clock's unit. The old one stays until no unit of the
  /// player renders.
  package func swap(_ setup: UnsafeMutablePointer<SequenceSetup>?) {
    unsafe self.setup.store(UnsafeMutableRawPointer(setup), ordering: .sequentiallyConsistent)
  }

  /// The beat up to which the sequence was rendered.
  package var beat: Double { Double(bitPattern: rendered.load(ordering: .acquiring)) }
  /// The number of the jump that renders have followed.
  package var appliedJump: Int { followed.load(ordering: .acquiring) }

  /// The time in seconds at which the latest render began, and its host time in nanoseconds; nil if none was known.
  package var reading: (seconds: Double, hostTime: UInt64)? {
    let words = latest.load(ordering: .acquiring)
    if words.second == 0 { return nil }
    return (Double(bitPattern: UInt64(words.first)), UInt64(words.second))
  }

  package func clearReading() { latest.store(WordPair(first: 0, second: 0), ordering: .releasing) }

  /// Events that units did not take.
  package var lost: Int { lostMessages.load(ordering: .relaxed) }
  @_noLocks borrowing func lose() { lostMessages.add(1, ordering: .relaxed) }

  // MARK: Renders

  /// The setup, which stays until the render ends.
  var present: UnsafeMutablePointer<SequenceSetup>? {
    @_noLocks get {
      unsafe setup.load(ordering: .sequentiallyConsistent).map {
        unsafe $0.assumingMemoryBound(to: SequenceSetup.self)
      }
    }
  }

  @_noLocks borrowing func isApplied(_ serial: Int) -> Bool {
    applied.load(ordering: .acquiring) == serial
  }

  /// Counts the frames of a render.
  @_noLocks borrowing func run(
    _ state: UnsafeMutablePointer<SequenceState>, _ time: UnsafePointer<cue_time_stamp>,
    frames: Int, rate: Double
  ) {
    guard let setup = unsafe present, rate > 0 else { return }
    unsafe state.pointee.setFrameRate(rate, setup)
    if !isApplied(unsafe setup.pointee.serial) {
      unsafe state.pointee.adopt(setup, beat: beat)
      rendered.store(unsafe state.pointee.presentBeat(setup).bitPattern, ordering: .releasing)
      followed.store(unsafe setup.pointee.jump, ordering: .releasing)
      applied.store(unsafe setup.pointee.serial, ordering: .releasing)
    }
    if unsafe !setup.pointee.isPlaying { return }
    let seconds = unsafe state.pointee.time
    let hasHost = unsafe time.pointee.flags & UInt32(cue_time_has_host) != 0
    latest.store(
      WordPair(
        first: UInt(seconds.bitPattern), second: hasHost ? unsafe UInt(time.pointee.host_time) : 0),
      ordering: .releasing)
    unsafe state.pointee.frames &+= frames
    rendered.store(unsafe state.pointee.presentBeat(setup).bitPattern, ordering: .releasing)
  }
}

/// The place of a sequence's clock in time. Changed in renders only.
package struct SequenceState: BitwiseCopyable {
  /// The beat from which frames are counted, its time in seconds, and the frames since.
  var beat = 0.0
  var seconds = 0.0
  var frames = 0
  /// How often the count began anew.
  var anchor = 0
  /// Frames of a second.
  private var frameRate = 1.0
  private var tempoNumber = 0
  private var rate = 1.0
  private var jump = 0

  package init() {}

  /// The time of the next frame in seconds.
  var time: Double { @_noLocks get { seconds + Double(frames) / frameRate * rate } }

  /// Returns the beat of the next frame.
  @_noLocks func presentBeat(_ setup: UnsafePointer<SequenceSetup>) -> Double {
    frames == 0 ? beat : unsafe setup.pointee.tempo.beat(at: time)
  }

  /// Sets the frames of a second. If it had others, the count begins anew.
  @_noLocks mutating func setFrameRate(_ frameRate: Double, _ setup: UnsafePointer<SequenceSetup>) {
    if frameRate == self.frameRate { return }
    if frames > 0 {
      beat = unsafe presentBeat(setup)
      seconds = time
      frames = 0
      anchor &+= 1
    }
    self.frameRate = frameRate
  }

  /// Lets the count begin anew if a setup has a jump that was not followed, or another tempo or rate.
  ///
  /// - Parameter beat: The beat of the next frame, if there is no jump.
  @_noLocks mutating func adopt(_ setup: UnsafePointer<SequenceSetup>, beat: Double) {
    let jumps = unsafe jump != setup.pointee.jump
    let isSame = unsafe tempoNumber == setup.pointee.tempoNumber && rate == setup.pointee.rate
    if !jumps && isSame { return }
    self.beat = jumps ? unsafe setup.pointee.start : beat
    seconds = unsafe setup.pointee.tempo.seconds(at: self.beat)
    frames = 0
    anchor &+= 1
    jump = unsafe setup.pointee.jump
    tempoNumber = unsafe setup.pointee.tempoNumber
    rate = unsafe setup.pointee.rate
  }
}
