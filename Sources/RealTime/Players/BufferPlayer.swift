package import CRealTime
import Synchronization
import Timeline

/// State of a player that only renders use.
@safe
package struct BufferPlayerState: BitwiseCopyable {
  /// The first entry of the list that plays.
  var list: UnsafeMutablePointer<ScheduledBuffer>
  /// The entry of the list that plays, or the last one that was over.
  var current: UnsafeMutablePointer<ScheduledBuffer>
  var isOver = true
  /// True once the first frame of `current` was played, and the next of its frames.
  var hasBegun = false
  var offset = 0
  /// The latest command that was followed, and how often the player was stopped before it.
  var command: UInt32 = 0
  var stops: UInt32 = 0
  var halts: UInt8 = 0
  var isRunning = false
  /// The moment from which the clock runs; nil once it does.
  var start: PlayerStart?
  /// The player's frame at the next frame that the clock runs.
  var position: Int64 = 0
  /// The next frame to render, for time stamps without a sample time.
  var sampleTime = 0.0
  var hasEvents = false

  /// - Parameter first: An entry without sound, before all others.
  package init(_ first: UnsafeMutablePointer<ScheduledBuffer>) {
    unsafe list = first
    unsafe current = first
  }
}

/// Plays lists of buffers that grow at their ends, by a clock of its own. Owns no memory.
///
/// A list plays until the turn of a later one has come, which ends it and the lists between. Entries of a list may be
/// freed if `reached` is past them, the first one if `reached` is past the list; or if the player was stopped after them
/// and no render that began before is in progress.
@safe
package struct BufferPlayer: ~Copyable {
  private let state: UnsafeMutablePointer<BufferPlayerState>
  private let reader: SliceReader
  private let command: Atomic<WordPair>
  /// The first entry of the list that follows a stop; nil once a render has seen it.
  private let restart: Atomic<UnsafeMutableRawPointer?>
  private let reachedID = Atomic<UInt64>(0)
  /// A sample time of renders, and the player's frame then. The time is NaN while the clock is held.
  private let anchor = Atomic<WordPair>(WordPair(first: UInt(Double.nan.bitPattern), second: 0))
  /// The signal of the thread that hears of ends.
  private let signal: Atomic<UnsafeMutableRawPointer?>

  package init(_ state: UnsafeMutablePointer<BufferPlayerState>, reader: SliceReader) {
    unsafe self.state = state
    self.reader = reader
    command = Atomic(WordPair(first: 0, second: 0))
    unsafe restart = Atomic(nil)
    unsafe signal = Atomic(nil)
  }

  // MARK: Control side, one thread at a time

  package func send(_ command: PlayerCommand) {
    self.command.store(command.words, ordering: .releasing)
  }

  /// Stops the player: the next render holds the clock at frame 0 and goes on with the list behind `entry`.
  package func stop(goingOnAt entry: UnsafeMutablePointer<ScheduledBuffer>) {
    unsafe restart.store(UnsafeMutableRawPointer(entry), ordering: .sequentiallyConsistent)
  }

  /// Sets the signal of the thread that hears of ends. The old one is free once no render is in progress.
  package func setSignal(_ signal: UnsafeMutablePointer<cue_signal>?) {
    unsafe self.signal.store(UnsafeMutableRawPointer(signal), ordering: .sequentiallyConsistent)
  }

  /// Forgets what `clock` says, while no render is in progress.
  package func clearClock() {
    anchor.store(WordPair(first: UInt(Double.nan.bitPattern), second: 0), ordering: .relaxed)
  }

  /// The number of the entry that plays, or of the last one that was over. Any thread.
  package var reached: UInt64 { reachedID.load(ordering: .acquiring) }

  /// A sample time of renders and the player's frame then; nil while the clock is held. Any thread.
  package var clock: (sampleTime: Double, frame: Int64)? {
    let words = anchor.load(ordering: .relaxed)
    let sampleTime = Double(bitPattern: UInt64(words.first))
    return sampleTime.isNaN ? nil : (sampleTime, Int64(bitPattern: UInt64(words.second)))
  }

  // MARK: Renders

  /// A render, as the player sees it.
  @safe
  private struct Span: BitwiseCopyable {
    let output: UnitBus
    let frames: Int
    let sampleTime: Double
    /// Host time of the first frame in nanoseconds; nil if it is unknown.
    let host: UInt64?
    let rate: Double

    /// Returns the frames from the first one to a host time; 0 if the render has none.
    @_noLocks func frames(to time: UInt64) -> Int64 {
      guard let host else { return 0 }
      return nearest(Double(Int64(bitPattern: time &- host)) * rate / 1e9)
    }

    @_noLocks func frames(to start: PlayerStart) -> Int64 {
      switch start {
      case .nextRender: 0
      case .sample(let sample): nearest(sample - sampleTime)
      case .host(let time): frames(to: time)
      }
    }

    @_noLocks func hostTime(ofFrame frame: Int) -> UInt64 {
      guard let host else { return 1 }
      return host &+ UInt64(held: Double(frame) * 1e9 / rate)
    }
  }

  @_noLocks borrowing func run(_ call: cue_unit_call) -> Int32 {
    let setup = unsafe call.setup.assumingMemoryBound(to: UnitSetup.self)
    let output = unsafe setup.pointee.outputs.pointee
    let frames = unsafe Int(call.frames)
    output.silence(frames: frames)
    let flags = unsafe call.time.pointee.flags
    let hasTime = flags & UInt32(cue_time_has_sample) != 0
    let sampleTime = unsafe hasTime ? call.time.pointee.sample_time : state.pointee.sampleTime
    unsafe state.pointee.sampleTime = sampleTime + Double(frames)
    let hasHost = flags & UInt32(cue_time_has_host) != 0
    let span = Span(
      output: output, frames: frames, sampleTime: sampleTime,
      host: hasHost ? unsafe call.time.pointee.host_time : nil, rate: output.format.sampleRate)
    follow()
    var hasSound = false
    if unsafe state.pointee.isRunning {
      hasSound = play(span)
    } else {
      publish(.nan, 0)
    }
    if !hasSound { unsafe call.flags.pointee |= UInt32(cue_render_is_silent) }
    if unsafe state.pointee.hasEvents {
      unsafe state.pointee.hasEvents = false
      if let signal = unsafe signal.load(ordering: .acquiring) {
        unsafe cue_rt_signal_post(signal.assumingMemoryBound(to: cue_signal.self))
      }
    }
    return 0
  }

  @_noLocks private borrowing func publish(_ sampleTime: Double, _ frame: Int64) {
    anchor.store(
      WordPair(first: UInt(sampleTime.bitPattern), second: UInt(bitPattern: Int(frame))),
      ordering: .relaxed)
  }

  /// Follows a stop and the latest command.
  ///
  /// A stop that came before a command is seen with it, as the command is read first. One that came after
  /// it makes the command too old.
  @_noLocks private borrowing func follow() {
    let command = PlayerCommand(command.load(ordering: .sequentiallyConsistent))
    let restart = unsafe restart.exchange(nil, ordering: .sequentiallyConsistent)
    if let entry = unsafe ScheduledBuffer.buffer(restart) {
      unsafe state.pointee.isRunning = false
      unsafe state.pointee.position = 0
      unsafe state.pointee.stops = entry.pointee.stops
      unsafe begin(entry)
      unsafe finish(entry, at: 1)
    }
    guard unsafe command.number != state.pointee.command else { return }
    unsafe state.pointee.command = command.number
    guard unsafe command.stops == state.pointee.stops else { return }
    if unsafe command.halts != state.pointee.halts {
      unsafe state.pointee.halts = command.halts
      unsafe state.pointee.isRunning = false
      unsafe state.pointee.position = 0
    }
    guard let start = command.start else {
      unsafe state.pointee.isRunning = false
      return
    }
    // A clock that runs goes on.
    if unsafe state.pointee.isRunning && state.pointee.start == nil { return }
    unsafe state.pointee.isRunning = true
    unsafe state.pointee.start = start
  }

  /// Goes to the first entry of a list. Those before it are over.
  @_noLocks private borrowing func begin(_ list: UnsafeMutablePointer<ScheduledBuffer>) {
    unsafe state.pointee.list = list
    unsafe move(to: list)
  }

  /// Goes to an entry of the list. Those before it are over.
  @_noLocks private borrowing func move(to entry: UnsafeMutablePointer<ScheduledBuffer>) {
    unsafe state.pointee.current = entry
    unsafe state.pointee.isOver = false
    unsafe state.pointee.hasBegun = false
    unsafe state.pointee.offset = 0
    unsafe state.pointee.hasEvents = true
    unsafe reachedID.store(entry.pointee.id, ordering: .releasing)
  }

  @_noLocks private borrowing func finish(
    _ entry: UnsafeMutablePointer<ScheduledBuffer>, at host: UInt64
  ) {
    unsafe state.pointee.isOver = true
    unsafe state.pointee.hasEvents = true
    unsafe entry.pointee.finish(at: host)
  }

  /// The entry that plays, or is next; nil if there is none.
  private var sounding: UnsafeMutablePointer<ScheduledBuffer>? {
    @_noLocks get {
      if unsafe !state.pointee.isOver { return unsafe state.pointee.current }
      guard let next = unsafe state.pointee.current.pointee.following else { return nil }
      unsafe move(to: next)
      return unsafe next
    }
  }

  /// Returns the player's frame at which an entry wants to begin.
  ///
  /// - Parameter at: The present frame of the render, which is the player's `position`.
  @_noLocks private borrowing func wanted(
    _ entry: UnsafeMutablePointer<ScheduledBuffer>, _ at: Int, _ span: Span
  ) -> Int64 {
    let position = unsafe state.pointee.position
    switch unsafe entry.pointee.start {
    case .next: return position
    case .frame(let frame): return max(frame, position)
    case .host(let time): return max(position &+ span.frames(to: time) &- Int64(at), position)
    }
  }

  /// The player's frames at which lists may have their turn.
  private struct Turns: BitwiseCopyable {
    /// Within a sound, and at the end of one.
    var inside = Int64.max
    var atEnd = Int64.max
  }

  /// Returns when the lists that wait may have their turn. Their moments do not change within a render.
  @_noLocks private borrowing func turns(_ at: Int, _ span: Span) -> Turns {
    var turns = Turns()
    var next = unsafe state.pointee.list.pointee.interrupting
    while let list = unsafe next {
      let moment = unsafe wanted(list, at, span)
      turns.atEnd = min(turns.atEnd, moment)
      if unsafe list.pointee.turn == .interrupts { turns.inside = min(turns.inside, moment) }
      unsafe next = list.pointee.interrupting
    }
    return turns
  }

  /// Returns the latest list whose turn has come; nil if there is none.
  ///
  /// - Parameter isInside: True before the end of a sound.
  @_noLocks private borrowing func interruption(_ at: Int, _ span: Span, isInside: Bool)
    -> UnsafeMutablePointer<ScheduledBuffer>?
  {
    var found = unsafe UnsafeMutablePointer<ScheduledBuffer>?.none
    var next = unsafe state.pointee.list.pointee.interrupting
    while let list = unsafe next {
      if unsafe !isInside || list.pointee.turn == .interrupts {
        if unsafe wanted(list, at, span) == state.pointee.position { unsafe found = list }
      }
      unsafe next = list.pointee.interrupting
    }
    return unsafe found
  }

  /// Most entries that a render goes through without playing a frame.
  private static var mostTurns: Int { @_noLocks get { 16_384 } }

  /// Plays what lies within a render.
  ///
  /// - Returns: True if there was sound.
  @_noLocks private borrowing func play(_ span: Span) -> Bool {
    var at = 0
    if let start = unsafe state.pointee.start {
      let ahead = span.frames(to: start)
      if ahead >= Int64(span.frames) {
        unsafe publish(span.sampleTime, state.pointee.position &- ahead)
        return false
      }
      at = max(0, Int(ahead))
      unsafe state.pointee.start = nil
    }
    unsafe publish(span.sampleTime + Double(at), state.pointee.position)
    var hasSound = false
    var turns = turns(at, span)
    var (idle, last) = (0, at)
    while at < span.frames, idle < Self.mostTurns {
      idle = at == last ? idle &+ 1 : 0
      last = at
      let isInside =
        unsafe state.pointee.isOver
        ? unsafe state.pointee.current.pointee.continues : unsafe state.pointee.hasBegun
      let turn = isInside ? turns.inside : turns.atEnd
      if unsafe turn <= state.pointee.position,
        let list = unsafe interruption(at, span, isInside: isInside)
      {
        unsafe begin(list)
        turns = self.turns(at, span)
        continue
      }
      let wait = unsafe max(turn &- state.pointee.position, 1)
      let end = Int(min(Int64(span.frames), Int64(at) &+ min(wait, Int64(span.frames))))
      guard let entry = unsafe sounding else {
        advance(&at, end &- at)
        continue
      }
      if unsafe !state.pointee.hasBegun {
        let wait = unsafe wanted(entry, at, span) &- state.pointee.position
        if wait > 0 {
          advance(&at, Int(min(wait, Int64(end &- at))))
          continue
        }
        unsafe state.pointee.hasBegun = true
      }
      let first = unsafe state.pointee.offset
      let count = unsafe min(end &- at, entry.pointee.frames &- first)
      if count > 0 {
        unsafe reader.copy(
          entry.pointee.samples, entry.pointee.format, from: first, to: span.output, at: at,
          frames: count)
        hasSound = true
        unsafe state.pointee.offset &+= count
        advance(&at, count)
      }
      if unsafe state.pointee.offset < entry.pointee.frames { continue }
      if unsafe !entry.pointee.continues, unsafe turns.atEnd <= state.pointee.position,
        let list = unsafe interruption(at, span, isInside: false)
      {
        unsafe begin(list)
        turns = self.turns(at, span)
      } else if unsafe entry.pointee.loops && entry.pointee.frames > 0 {
        unsafe state.pointee.offset = 0
      } else {
        unsafe finish(entry, at: span.hostTime(ofFrame: at))
      }
    }
    advance(&at, span.frames &- at)
    return hasSound
  }

  @_noLocks private borrowing func advance(_ at: inout Int, _ frames: Int) {
    at &+= frames
    unsafe state.pointee.position &+= Int64(frames)
  }
}

@_noLocks private func nearest(_ value: Double) -> Int64 {
  Int64(held: value < 0 ? value - 0.5 : value + 0.5)
}

/// The kernel of players of buffers: `context` is a `BufferPlayer`.
@_noLocks package func runBuffers(
  _ context: UnsafeMutableRawPointer, _ call: UnsafePointer<cue_unit_call>
) -> Int32 {
  unsafe context.assumingMemoryBound(to: BufferPlayer.self).pointee.run(call.pointee)
}
