import CRealTime
import Synchronization
import Timeline

/// A note that a unit plays for a sequence.
package struct SoundingNote: BitwiseCopyable {
  let track: Int
  /// The beat of its end.
  let end: Double
  let channel: UInt8
  let number: UInt8
  let velocity: UInt8
}

/// A unit in a player of a sequence: its clock, or one that hears its events. Owns no memory and has a fixed address.
///
/// A unit's renders count its frames, so that each event comes on its frame whatever lies between the unit and the
/// device. Call it between the beginning and the end of a render. The events of a MIDI port follow the clock's unit.
@safe
package struct SequenceFeed: ~Copyable {
  package static var mostNotes: Int { @_noLocks get { 512 } }
  /// Most events of a render: later ones of the render are left out.
  static var mostEvents: Int { @_noLocks get { 4096 } }

  private let unit: UnsafeMutablePointer<RenderUnit>
  private let clock: UnsafeMutablePointer<SequenceClock>
  private let state: UnsafeMutablePointer<SequenceState>
  /// The number of the feed in the setups of its player; nil for the clock.
  private let index: Int?
  /// The rate of a unit of the app, in Hz.
  private let rate: Double
  /// The port that the events go to; nil if the unit hears them.
  private let port: PortMessages?
  private let next: Atomic<UnsafeMutableRawPointer?>
  private let notes: UnsafeMutablePointer<SoundingNote>
  private let place: UnsafeMutablePointer<Place>

  /// How far a feed has come. Changed in renders only.
  package struct Place: BitwiseCopyable {
    fileprivate var serial = 0
    fileprivate var jump = 0
    fileprivate var anchor = 0
    /// Frames since the anchor, and what they are counted from.
    fileprivate var frame: Int64 = 0
    fileprivate var seconds = 0.0
    fileprivate var rate = 0.0
    fileprivate var noteCount = 0
    /// The device frame of the render.
    fileprivate var deviceFrame: Int64 = 0
    package init() {}
  }

  /// - Parameters:
  ///   - port: The port that the events go to; nil if the unit hears them.
  ///   - notes: Memory of `mostNotes`.
  package init(
    _ unit: UnsafeMutablePointer<RenderUnit>, _ clock: UnsafeMutablePointer<SequenceClock>,
    _ state: UnsafeMutablePointer<SequenceState>, index: Int?, rate: Double, port: PortMessages?,
    notes: UnsafeMutablePointer<SoundingNote>, place: UnsafeMutablePointer<Place>
  ) {
    unsafe self.unit = unit
    unsafe self.clock = clock
    unsafe self.state = state
    self.index = index
    self.rate = rate
    self.port = port
    unsafe self.notes = notes
    unsafe self.place = place
    unsafe next = Atomic(nil)
  }

  // MARK: Control side

  /// The feed of the same unit that comes after this one.
  package var following: UnsafeMutableRawPointer? {
    @_noLocks get { unsafe next.load(ordering: .sequentiallyConsistent) }
  }
  package func setFollowing(_ feed: UnsafeMutableRawPointer?) {
    unsafe next.store(feed, ordering: .sequentiallyConsistent)
  }

  /// Ends all notes with the unit's next render. Call it while no render is in progress that calls the feed.
  package func endNotes() {
    for i in unsafe 0..<place.pointee.noteCount { end(unsafe notes[i], offset: 0) }
    unsafe place.pointee.noteCount = 0
  }

  // MARK: Renders

  /// Plays the events of a render of the unit.
  @_noLocks borrowing func run(
    _ time: UnsafePointer<cue_time_stamp>, frames: Int, deviceFrame: Int64?
  ) {
    unsafe place.pointee.deviceFrame = deviceFrame ?? Int64(held: time.pointee.sample_time)
    let known = unsafe unit.pointee.outputRate
    let rate = known > 0 ? known : self.rate
    guard let index else {
      return unsafe clock.pointee.run(state, time, frames: frames, rate: rate)
    }
    // The clock's render, of which this one is a part, has taken a new setup.
    guard let setup = unsafe clock.pointee.present,
      unsafe clock.pointee.isApplied(setup.pointee.serial), unsafe index < setup.pointee.feedCount
    else { return }
    if unsafe place.pointee.serial != setup.pointee.serial || place.pointee.rate != rate {
      unsafe adopt(setup, index, rate)
    }
    if unsafe setup.pointee.isPlaying { unsafe play(setup, index, frames: frames, rate) }
  }

  /// Goes over to a setup: ends notes of tracks that it has not, and finds the next events.
  @_noLocks private borrowing func adopt(
    _ setup: UnsafeMutablePointer<SequenceSetup>, _ index: Int, _ rate: Double
  ) {
    let range = unsafe setup.pointee.tracks(of: index)
    let tracks = unsafe setup.pointee.tracks
    let jumps = unsafe place.pointee.jump != setup.pointee.jump
    var i = 0
    while unsafe i < place.pointee.noteCount {
      let note = unsafe notes[i]
      var isKept = unsafe setup.pointee.isPlaying && !jumps
      if isKept {
        isKept = false
        for track in range where unsafe tracks[track].id == note.track { isKept = true }
      }
      if isKept {
        i &+= 1
      } else {
        end(note, offset: 0)
        drop(i)
      }
    }
    unsafe place.pointee.serial = setup.pointee.serial
    unsafe place.pointee.jump = setup.pointee.jump
    var beat: Double
    if unsafe place.pointee.anchor != state.pointee.anchor || place.pointee.rate != rate {
      unsafe place.pointee.anchor = state.pointee.anchor
      unsafe place.pointee.rate = rate
      unsafe place.pointee.frame = 0
      unsafe place.pointee.seconds = state.pointee.seconds
      beat = unsafe state.pointee.beat
    } else {
      // A little before the frame: what was played is left out by its frame.
      beat = unsafe self.beat(place.pointee.frame &- 2, setup, rate)
    }
    for track in range {
      unsafe tracks[track].seek(beat)
      while unsafe tracks[track].nextBeat < .infinity,
        unsafe frame(tracks[track].nextBeat, setup, rate) < place.pointee.frame
      {
        unsafe tracks[track].advance()
      }
    }
  }

  @_noLocks private borrowing func frame(
    _ beat: Double, _ setup: UnsafeMutablePointer<SequenceSetup>, _ rate: Double
  ) -> Int64 {
    let seconds = unsafe setup.pointee.tempo.seconds(at: beat) - place.pointee.seconds
    let frames = unsafe seconds / setup.pointee.rate * rate + 0.5
    let whole = Int64(held: frames)
    return Double(whole) > frames ? whole &- 1 : whole
  }

  @_noLocks private borrowing func beat(
    _ frame: Int64, _ setup: UnsafeMutablePointer<SequenceSetup>, _ rate: Double
  ) -> Double {
    unsafe setup.pointee.tempo.beat(
      at: place.pointee.seconds + Double(frame) / rate * setup.pointee.rate)
  }

  /// Sends all events of a render, in order of time. A note ends before others begin at the same beat.
  @_noLocks private borrowing func play(
    _ setup: UnsafeMutablePointer<SequenceSetup>, _ index: Int, frames: Int, _ rate: Double
  ) {
    let range = unsafe setup.pointee.tracks(of: index)
    let tracks = unsafe setup.pointee.tracks
    let first = unsafe place.pointee.frame
    let end = first &+ Int64(frames)
    var count = 0
    while true {
      var ending = -1
      var beat = Double.infinity
      for i in unsafe 0..<place.pointee.noteCount where unsafe notes[i].end < beat {
        ending = i
        beat = unsafe notes[i].end
      }
      var present = -1
      for track in range where unsafe tracks[track].nextBeat < beat {
        present = track
        beat = unsafe tracks[track].nextBeat
      }
      if beat == .infinity { break }
      let frame = unsafe self.frame(beat, setup, rate)
      if frame >= end { break }
      let offset = Int(max(0, frame &- first))
      if present < 0 {
        self.end(unsafe notes[ending], offset: offset)
        drop(ending)
        continue
      }
      count &+= 1
      if count > Self.mostEvents {
        unsafe clock.pointee.lose()
        for track in range { unsafe tracks[track].seek(self.beat(end, setup, rate)) }
        break
      }
      if let event = unsafe tracks[present].event {
        unsafe send(event, beat, tracks[present].id, setup.pointee.bytes, offset: offset)
      }
      unsafe tracks[present].advance()
    }
    unsafe place.pointee.frame = end
  }

  @_noLocks private borrowing func send(
    _ event: SequenceEvent, _ beat: Double, _ track: Int, _ bytes: UnsafePointer<UInt8>, offset: Int
  ) {
    switch event.kind {
    case .note:
      guard unsafe place.pointee.noteCount < Self.mostNotes else {
        return unsafe clock.pointee.lose()
      }
      unsafe notes[place.pointee.noteCount] = SoundingNote(
        track: track, end: beat + event.duration, channel: event.channel, number: event.first,
        velocity: event.third)
      unsafe place.pointee.noteCount &+= 1
      send(0x90 | event.channel, event.first, event.second, offset: offset)
    case .message:
      unsafe send(bytes + Int(event.number), count: Int(event.count), offset: offset)
    case .parameter:
      if port != nil { return }
      let status = unsafe unit.pointee.schedule(
        event.number, scope: event.scope, element: event.count, start: offset, frames: 0,
        from: event.value, to: event.value)
      if status != 0 { unsafe clock.pointee.lose() }
    }
  }

  @_noLocks private borrowing func end(_ note: SoundingNote, offset: Int) {
    send(0x80 | note.channel, note.number, note.velocity, offset: offset)
  }

  @_noLocks private borrowing func drop(_ note: Int) {
    unsafe place.pointee.noteCount &-= 1
    unsafe notes[note] = notes[place.pointee.noteCount]
  }

  @_noLocks private borrowing func send(
    _ status: UInt8, _ first: UInt8, _ second: UInt8, offset: Int
  ) {
    var message = (status, first, second)
    unsafe send(&message, count: 3, offset: offset)
  }

  @_noLocks private borrowing func send(_ message: UnsafeRawPointer, count: Int, offset: Int) {
    let isSent: Bool
    if let port {
      let frame = unsafe place.pointee.deviceFrame &+ Int64(offset)
      isSent = unsafe port.add(
        message.assumingMemoryBound(to: UInt8.self), count: count, frame: frame)
    } else {
      isSent = unsafe unit.pointee.send(message, count: count, offset: offset) == 0
    }
    if !isSent { unsafe clock.pointee.lose() }
  }
}
