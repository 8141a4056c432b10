import AudioUnits
import MIDI
import RealTime
import Synchronization
import System

/// The audible tracks of a sequence in the form in which renders read them.
struct Program {
  private(set) var tracks: [(feed: Int, track: Compiled)] = []
  private(set) var bytes: [UInt8] = []

  struct Compiled {
    let id: Int
    let events: [SequenceEvent]
    let offset: Double
    let loopStart: Double
    let loopLength: Double
    let passes: Int
  }

  mutating func add(_ track: EventSequence.Track, feed: Int) {
    let compiled = Compiled(track) { event in
      event.content.compiled(at: event.beat, until: track.end, &bytes)
    }
    tracks.append((feed, compiled))
  }
}

extension Program.Compiled {
  /// - Parameter compile: Returns an event for renders; nil for one that they have nothing to do with.
  init(_ track: EventSequence.Track, _ compile: (TrackEvent) -> SequenceEvent?) {
    id = track.id
    offset = track.settings.offset
    let length = track.length
    let loop = track.settings.loop
    loopLength = loop.start == nil ? min(max(0, loop.duration), length) : max(0, loop.duration)
    loopStart = loop.start ?? length - loopLength
    passes = loop.count > 0 ? loop.count : .max
    events = track.events.filter { $0.beat < track.end }.compactMap(compile)
  }

  func renderTrack(_ events: UnsafePointer<SequenceEvent>) -> SequenceTrack {
    unsafe SequenceTrack(
      id: id, events, count: self.events.count, offset: offset, loopStart: loopStart,
      loopLength: loopLength, passes: passes)
  }
}

extension EventSequence.Track {
  /// The beat before which events are played. The last event of a track without a loop or a length of its own may
  /// have no length.
  var end: Double {
    let loop = settings.loop
    if loop.duration > 0 { return loop.start.map { $0 + loop.duration } ?? length }
    return settings.length ?? .infinity
  }
}

extension EventContent {
  /// Returns the event for renders.
  ///
  /// - Parameters:
  ///   - end: The beat at which notes end that are longer.
  ///   - bytes: Gets the bytes of a message.
  fileprivate func compiled(at beat: Double, until end: Double, _ bytes: inout [UInt8])
    -> SequenceEvent?
  {
    func message(_ message: [UInt8]) -> SequenceEvent {
      defer { bytes += message }
      return SequenceEvent(
        .message, beat: beat, number: UInt32(bytes.count), count: UInt32(message.count))
    }
    func note(_ channel: UInt8, _ number: UInt8, _ velocity: UInt8, _ release: UInt8)
      -> SequenceEvent
    {
      // A note-on message of velocity 0 ends a note.
      SequenceEvent(
        .note, beat: beat, duration: min(duration, end - beat), channel: channel, first: number,
        second: max(1, velocity), third: release)
    }
    switch self {
    case .note(let channel, let number, let velocity, let release, _):
      return note(channel, number, velocity, release)
    case .extendedNote(let extended):
      return note(
        UInt8(extended.group), UInt8(extended.pitch.rounded()),
        UInt8(extended.velocity.rounded()), 0)
    case .channel(let status, let first, let second):
      // Program changes and channel pressure have one data byte.
      return message(status & 0xE0 == 0xC0 ? [status, first] : [status, first, second])
    case .system(let bytes): return message(bytes)
    case .parameter(let id, let scope, let element, let value):
      return SequenceEvent(
        .parameter, beat: beat, scope: scope, number: id, count: element, value: value)
    case .meta, .user, .tempo: return nil
    }
  }
}

/// Memory of a `SequenceSetup`.
@safe
final class ProgramMemory: @unchecked Sendable {
  let setup: UnsafeMutablePointer<SequenceSetup>
  private let points: UnsafeMutablePointer<TempoPoint>
  private let events: UnsafeMutablePointer<SequenceEvent>
  private let tracks: UnsafeMutablePointer<SequenceTrack>
  private let firstTracks: UnsafeMutablePointer<Int>
  private let bytes: UnsafeMutablePointer<UInt8>

  init(
    _ program: Program, feedCount: Int, serial: Int, tempo: TempoMap, tempoNumber: Int,
    isPlaying: Bool, rate: Double, start: Double, jump: Int
  ) {
    func allocate<Item: BitwiseCopyable>(_ items: [Item]) -> UnsafeMutablePointer<Item> {
      let memory = UnsafeMutablePointer<Item>.allocate(capacity: max(1, items.count))
      unsafe memory.initialize(from: items, count: items.count)
      return unsafe memory
    }
    unsafe points = allocate(tempo.points)
    unsafe bytes = allocate(program.bytes)
    let sorted = program.tracks.sorted { $0.feed < $1.feed }
    let events = unsafe allocate(sorted.flatMap(\.track.events))
    unsafe self.events = events
    var first = 0
    let compiled = sorted.map { item in
      defer { first += item.track.events.count }
      return unsafe item.track.renderTrack(events + first)
    }
    unsafe tracks = allocate(compiled)
    let firstTracks = (0...feedCount).map { feed in sorted.count { $0.feed < feed } }
    unsafe self.firstTracks = allocate(firstTracks)
    unsafe setup = .allocate(capacity: 1)
    unsafe setup.initialize(
      to: SequenceSetup(
        serial: serial, tempo: TempoPoints(points, count: tempo.points.count),
        tempoNumber: tempoNumber, isPlaying: isPlaying, rate: rate, start: start, jump: jump,
        tracks: tracks, firstTracks: self.firstTracks, feedCount: feedCount, bytes: bytes))
  }

  deinit {
    unsafe setup.deallocate()
    unsafe points.deallocate()
    unsafe events.deallocate()
    unsafe tracks.deallocate()
    unsafe firstTracks.deallocate()
    unsafe bytes.deallocate()
  }
}

/// Memory of a `SequenceClock`.
@safe
final class ClockMemory: @unchecked Sendable {
  let clock: UnsafeMutablePointer<SequenceClock>
  let state: UnsafeMutablePointer<SequenceState>

  init() {
    unsafe clock = .allocate(capacity: 1)
    unsafe clock.initialize(to: SequenceClock())
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: SequenceState())
  }

  deinit {
    unsafe clock.deinitialize(count: 1)
    unsafe clock.deallocate()
    unsafe state.deallocate()
  }
}

/// Memory of a `SequenceFeed`, which is in its unit's list of feeds from the beginning until `remove`.
@safe
final class FeedMemory: @unchecked Sendable {
  let unit: Unit
  /// The port that the feed plays; nil if the unit hears it.
  let port: MIDIPlayPort?
  private let feed: UnsafeMutablePointer<SequenceFeed>
  private let notes: UnsafeMutablePointer<SoundingNote>
  private let place: UnsafeMutablePointer<SequenceFeed.Place>
  private let clock: ClockMemory
  /// Held while the list of a unit is changed.
  private static let lists = Mutex<Void>(())

  /// - Parameters:
  ///   - index: The number of the feed in setups; nil for the clock.
  ///   - port: A port that the feed plays and disposes of, with the clock's unit; nil if the unit hears it.
  init(_ unit: Unit, _ clock: ClockMemory, index: Int?, port: MIDIPlayPort? = nil) {
    self.unit = unit
    self.port = port
    self.clock = clock
    unsafe notes = .allocate(capacity: SequenceFeed.mostNotes)
    unsafe place = .allocate(capacity: 1)
    unsafe place.initialize(to: SequenceFeed.Place())
    unsafe feed = .allocate(capacity: 1)
    let rate = (try? unit.bus(.output, 0).format.sampleRate) ?? 0
    unsafe feed.initialize(
      to: SequenceFeed(
        unit.render, clock.clock, clock.state, index: index, rate: rate, port: port?.messages,
        notes: notes, place: place)
    )
    // The clock of a unit comes before the ports that follow it.
    Self.lists.withLock { _ in
      guard port != nil, var last = unsafe unit.render.pointee.firstFeed else {
        unsafe feed.pointee.setFollowing(
          unsafe UnsafeMutableRawPointer(unit.render.pointee.firstFeed))
        unsafe unit.render.pointee.setFirstFeed(feed)
        return
      }
      while let next = unsafe last.pointee.following {
        unsafe last = next.assumingMemoryBound(to: SequenceFeed.self)
      }
      unsafe last.pointee.setFollowing(feed)
    }
  }

  deinit {
    unsafe feed.deinitialize(count: 1)
    unsafe feed.deallocate()
    unsafe notes.deallocate()
    unsafe place.deallocate()
  }

  /// Ends the notes that sound, and leaves the unit. Memory that a render may read stays for good.
  func remove() {
    Self.lists.withLock { _ in unlink() }
    if unit.settle() {
      unsafe feed.pointee.endNotes()
      port?.dispose()
    } else {
      keepForGood(self)
    }
  }

  private func unlink() {
    var other = unsafe unit.render.pointee.firstFeed
    if unsafe other == feed {
      let next = unsafe feed.pointee.following
      unsafe unit.render.pointee.setFirstFeed(next?.assumingMemoryBound(to: SequenceFeed.self))
      return
    }
    while let present = unsafe other {
      let next = unsafe present.pointee.following
      if unsafe next == UnsafeMutableRawPointer(feed) {
        unsafe present.pointee.setFollowing(feed.pointee.following)
        return
      }
      unsafe other = unsafe next?.assumingMemoryBound(to: SequenceFeed.self)
    }
  }
}
