package import CRealTime
import Synchronization
import Timeline

/// Samples to play from a frame on, in memory that stays until the event of their end.
@safe
package struct PlayerSlice: BitwiseCopyable {
  package let id: UInt64
  let list: UnsafeMutablePointer<cue_buffer_list>
  let format: BusFormat
  let frames: Int
  /// The first frame, counted from the start of the player; nil for the end of the slice before.
  let start: Int64?
  /// Resets of the unit before the slice: another one removes it.
  let resets: UInt64

  package init(
    id: UInt64, _ list: UnsafeMutablePointer<cue_buffer_list>, _ format: BusFormat, frames: Int,
    start: Int64?, resets: UInt64
  ) {
    self.id = id
    unsafe self.list = list
    self.format = format
    self.frames = frames
    self.start = start
    self.resets = resets
  }
}

/// State of a player that only renders use.
@safe
package struct PlayerState: BitwiseCopyable {
  var waiting = 0
  var resets: UInt64 = 0
  var start: PlayerStart?
  /// The renders' frame at which the player started; nil before that.
  var origin: Double?
  /// The player's frame after the slices that are known.
  var nextStart: Int64 = 0
  var hasBegun = false
  /// The next frame to render, for time stamps without a sample time.
  var position = 0.0
  package init() {}
}

/// Plays slices at their frames. Owns no memory.
@safe
package struct SlicePlayer: ~Copyable {
  package static var capacity: Int { 1024 }
  private let requests: UnsafeMutablePointer<PlayerRequestRing>
  private let events: UnsafeMutablePointer<PlayerEventRing>
  private let signal: UnsafeMutablePointer<cue_signal>
  private let state: UnsafeMutablePointer<PlayerState>
  /// The slices that wait, in the order in which they came, and memory for the first frame of each.
  private let slices: UnsafeMutablePointer<PlayerSlice>
  private let reader: SliceReader
  /// Frames from the start, as a bit pattern; NaN before it.
  private let playTime = Atomic<UInt64>(Double.nan.bitPattern)

  package init(
    requests: UnsafeMutablePointer<PlayerRequestRing>,
    events: UnsafeMutablePointer<PlayerEventRing>, signal: UnsafeMutablePointer<cue_signal>,
    state: UnsafeMutablePointer<PlayerState>, slices: UnsafeMutablePointer<PlayerSlice>,
    reader: SliceReader
  ) {
    unsafe self.requests = requests
    unsafe self.events = events
    unsafe self.signal = signal
    unsafe self.state = state
    unsafe self.slices = slices
    self.reader = reader
  }

  /// Frames rendered since the start; NaN before it. Any thread.
  package var playedFrames: Double {
    Double(bitPattern: playTime.load(ordering: .relaxed))
  }

  @_noLocks borrowing func run(_ call: cue_unit_call) -> Int32 {
    let setup = unsafe call.setup.assumingMemoryBound(to: UnitSetup.self).pointee
    let frames = unsafe Int(call.frames)
    let output = unsafe setup.outputs.pointee
    output.silence(frames: frames)
    var hasEvents = false
    if unsafe state.pointee.resets != call.resets {
      unsafe state.pointee.resets = call.resets
      hasEvents = cancelAll()
    }
    if take() { hasEvents = true }
    let hasTime = unsafe call.time.pointee.flags & UInt32(cue_time_has_sample) != 0
    let now = unsafe hasTime ? call.time.pointee.sample_time : state.pointee.position
    unsafe state.pointee.position = now + Double(frames)
    unsafe begin(now, frames, call, output.format.sampleRate)
    guard let origin = unsafe state.pointee.origin else {
      if hasEvents { unsafe cue_rt_signal_post(signal) }
      return 0
    }
    let position = Self.nearest(now - origin)
    playTime.store(Double(position &+ Int64(frames)).bitPattern, ordering: .relaxed)
    if play(output, position, frames) { hasEvents = true }
    if hasEvents { unsafe cue_rt_signal_post(signal) }
    return 0
  }

  @_noLocks private static func nearest(_ value: Double) -> Int64 {
    Int64(held: value < 0 ? value - 0.5 : value + 0.5)
  }

  @_noLocks private borrowing func tell(_ slice: PlayerSlice, _ kind: PlayerEvent.Kind) {
    _ = unsafe events.pointee.push(PlayerEvent(id: slice.id, kind: kind))
  }

  /// Forgets all slices and the start.
  @_noLocks private borrowing func cancelAll() -> Bool {
    let count = unsafe state.pointee.waiting
    for i in 0..<count { tell(unsafe slices[i], .cancelled) }
    unsafe state.pointee.waiting = 0
    unsafe state.pointee.start = nil
    stop()
    return count > 0
  }

  /// Ends the timeline. The slices that wait are played from the next start on.
  @_noLocks private borrowing func stop() {
    unsafe state.pointee.origin = nil
    unsafe state.pointee.nextStart = 0
    unsafe state.pointee.hasBegun = false
    playTime.store(Double.nan.bitPattern, ordering: .relaxed)
  }

  /// Takes over the requests that have come.
  @_noLocks private borrowing func take() -> Bool {
    var hasEvents = false
    while unsafe state.pointee.waiting < Self.capacity, let request = unsafe requests.pointee.pop()
    {
      switch request {
      case .start(let start, let resets):
        if unsafe resets == state.pointee.resets {
          unsafe state.pointee.start = start
          stop()
        }
      case .play(let slice):
        if unsafe slice.resets != state.pointee.resets {
          tell(slice, .cancelled)
          hasEvents = true
        } else {
          unsafe slices[state.pointee.waiting] = slice
          unsafe state.pointee.waiting &+= 1
        }
      }
    }
    return hasEvents
  }

  /// Starts the player if its moment lies in this render or before it.
  @_noLocks private borrowing func begin(
    _ now: Double, _ frames: Int, _ call: cue_unit_call, _ sampleRate: Double
  ) {
    guard let start = unsafe state.pointee.start else { return }
    var frame = now
    switch start {
    case .nextRender: break
    case .sample(let sample): frame = sample
    case .host(let host):
      if unsafe call.time.pointee.flags & UInt32(cue_time_has_host) != 0 {
        let ahead = unsafe Int64(bitPattern: host &- call.time.pointee.host_time)
        frame = now + Double(Self.nearest(Double(ahead) * sampleRate / 1e9))
      }
    }
    if frame >= now + Double(frames) { return }
    unsafe state.pointee.origin = frame
    unsafe state.pointee.start = nil
  }

  /// Plays those parts of slices that lie within a render.
  ///
  /// - Parameter position: The player's frame at its beginning.
  @_noLocks private borrowing func play(_ output: UnitBus, _ position: Int64, _ frames: Int) -> Bool
  {
    let end = position &+ Int64(frames)
    var hasEvents = false
    while unsafe state.pointee.waiting > 0 {
      let slice = unsafe slices[0]
      // A slice that would begin before the one before has ended begins with its end.
      let wanted = unsafe slice.start ?? state.pointee.nextStart
      if wanted >= end { break }
      var from = max(wanted, position)
      if unsafe !state.pointee.hasBegun {
        from = max(from, unsafe state.pointee.nextStart)
        if from >= end { break }
        unsafe state.pointee.hasBegun = true
        tell(slice, from > wanted ? .beganLate : .began)
        hasEvents = true
      }
      let sliceEnd = wanted &+ Int64(slice.frames)
      let to = min(sliceEnd, end)
      if to > from {
        unsafe reader.copy(
          slice.list, slice.format, from: Int(from &- wanted), to: output,
          at: Int(from &- position), frames: Int(to &- from))
      }
      if sliceEnd > end { break }
      unsafe state.pointee.nextStart = max(sliceEnd, unsafe state.pointee.nextStart)
      unsafe state.pointee.hasBegun = false
      tell(slice, .ended)
      hasEvents = true
      unsafe state.pointee.waiting &-= 1
      for i in 0..<(unsafe state.pointee.waiting) { unsafe slices[i] = slices[i &+ 1] }
    }
    return hasEvents
  }
}

/// The kernel of players: `context` is a `SlicePlayer`.
@_noLocks package func runSlices(
  _ context: UnsafeMutableRawPointer, _ call: UnsafePointer<cue_unit_call>
) -> Int32 {
  unsafe context.assumingMemoryBound(to: SlicePlayer.self).pointee.run(call.pointee)
}
