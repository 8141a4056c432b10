package import AudioUnits
import Hardware
package import MIDI
import RealTime
import Synchronization
import System

/// A sequence of musical events: tracks, and a track of tempos. Any thread that is not real time.
package final class EventSequence: Sendable {
  /// What a beat is.
  package enum Kind: Sendable, Equatable {
    /// A quarter note, whose length the tempo says.
    case beats
    /// A share of a second: the tempo is 60 for seconds.
    case seconds
    /// A frame of sound: the tempo is 60 times the rate.
    case samples
  }

  package enum Destination: Sendable {
    case none
    case node(Int32)
    case unit(Unit)
    /// A destination of MIDI messages.
    case endpoint(MIDIEndpoint)
  }

  package struct Loop: Sendable, Equatable {
    /// The beat at which the loop begins, and the track ends with it; nil for a loop that ends where the track does.
    package var start: Double?
    /// Beats of the loop; 0 for none.
    package var duration: Double
    /// How often the loop is played; 0 for no end.
    package var count: Int
    package init(start: Double? = nil, duration: Double, count: Int) {
      self.start = start
      self.duration = duration
      self.count = count
    }
  }

  /// Settings of a track.
  package struct Settings: Sendable {
    package var destination = Destination.none
    package var loop = Loop(duration: 0, count: 1)
    /// Beats by which the events are later.
    package var offset = 0.0
    package var isMuted = false
    package var isSoloed = false
    /// The length in beats; nil for that of the events.
    package var length: Double?
    package var hasAutomation = false

    package init() {}
  }

  struct Track: Sendable {
    let id: Int
    var settings = Settings()
    /// In order of time; those of one beat in the order in which they were added.
    var events: [TrackEvent] = []

    /// The beat at which the last event ends.
    var eventLength: Double { events.reduce(0) { max($0, $1.beat + $1.content.duration) } }
    var length: Double { settings.length ?? eventLength }
  }

  struct State: Sendable {
    var tempoTrack = Track(id: 0)
    var tracks: [Track] = []
    var kind = Kind.beats
    /// Ticks of a quarter note in files.
    var resolution = 480
    var target: (any SequenceTarget)?
    var lastTrack = 0
    var lastEvent: UInt64 = 0
    var players: [Player] = []
    var info: [String: String] = [:]

    mutating func newEvent(_ beat: Double, _ content: EventContent) -> TrackEvent {
      lastEvent += 1
      return TrackEvent(id: lastEvent, beat: beat, content: content)
    }
    func track(_ id: Int) throws(MusicError) -> Track {
      if id == 0 { return tempoTrack }
      guard let track = tracks.first(where: { $0.id == id }) else { throw .trackNotFound }
      return track
    }
    mutating func set(_ track: Track) {
      if track.id == 0 { return tempoTrack = track }
      if let i = tracks.firstIndex(where: { $0.id == track.id }) { tracks[i] = track }
    }
  }
  struct Player: Sendable { weak var player: SequencePlayer? }
  private let state = Mutex(State())
  private let callback = Hook<UserCallback>()
  /// Hears of the program's events on a thread of the library: the track's number, the beat, the data, and the beats
  /// between which it looked for events.
  package typealias UserCallback =
    @Sendable (
      _ track: Int, _ beat: Double, _ data: [UInt8], _ slice: Range<Double>
    ) -> Void

  package init() {}

  func read<Result: Sendable>(_ body: (borrowing State) throws(MusicError) -> Result)
    throws(MusicError) -> Result
  {
    try state.withLock { state throws(MusicError) in try body(state) }
  }

  /// Changes the sequence, which players hear from their next render on.
  func change<Result: Sendable>(_ body: (inout State) throws(MusicError) -> Result)
    throws(MusicError) -> Result
  {
    let (result, players) = try state.withLock { state throws(MusicError) in
      state.players.removeAll { $0.player == nil }
      return (try body(&state), state.players)
    }
    for item in players { item.player?.sequenceChanged() }
    return result
  }

  var current: State { state.withLock { $0 } }

  func add(_ player: SequencePlayer) {
    state.withLock { $0.players.append(Player(player: player)) }
  }
  func remove(_ player: SequencePlayer) {
    state.withLock { $0.players.removeAll { $0.player == nil || $0.player === player } }
  }
  /// True if a player plays the sequence.
  package var isPlaying: Bool { current.players.contains { $0.player?.isPlaying == true } }

  // MARK: Tracks

  package var tempoTrack: EventTrack { EventTrack(self, id: 0) }
  package var tracks: [EventTrack] { current.tracks.map { EventTrack(self, id: $0.id) } }

  package func addTrack() -> EventTrack {
    let id = try? change { state in
      state.lastTrack += 1
      state.tracks.append(Track(id: state.lastTrack))
      return state.lastTrack
    }
    return EventTrack(self, id: id ?? 0)
  }

  /// Removes a track.
  ///
  /// - Throws: `MusicError.trackNotFound`; the tempo track stays.
  package func remove(_ track: EventTrack) throws(MusicError) {
    try change { state throws(MusicError) in
      guard let i = state.tracks.firstIndex(where: { $0.id == track.id }) else {
        throw .trackNotFound
      }
      state.tracks.remove(at: i)
    }
  }

  // MARK: Settings

  package var kind: Kind { current.kind }
  package func setKind(_ kind: Kind) throws(MusicError) { try change { $0.kind = kind } }
  package var resolution: Int { current.resolution }
  package var target: (any SequenceTarget)? { current.target }
  package func setTarget(_ target: (any SequenceTarget)?) throws(MusicError) {
    if isPlaying { throw .invalidState("the sequence is played") }
    try change { $0.target = target }
  }
  /// True if a track has no endpoint: an instrument plays it. So it is without tracks.
  package var needsInstrument: Bool {
    let tracks = current.tracks
    return tracks.isEmpty
      || tracks.contains {
        if case .endpoint = $0.settings.destination { false } else { true }
      }
  }
  /// Lets all tracks have one destination.
  package func setDestination(_ destination: Destination) throws(MusicError) {
    try change { state in
      for i in state.tracks.indices { state.tracks[i].settings.destination = destination }
    }
  }
  /// Sets the function that hears of the program's events.
  package func setUserCallback(_ body: UserCallback?) { callback.set(body) }
  var userCallback: UserCallback? { callback.function }
  /// The title, the copyright and other texts of a loaded file, by the keys of Core Audio's info dictionaries.
  package var info: [String: String] { current.info }

  // MARK: Time

  package var tempoMap: TempoMap { TempoMap(current.tempoTrack.events) }

  /// Lets all events of all tracks come in the opposite order.
  package func reverse() {
    _ = try? change { state in
      let end = (state.tracks + [state.tempoTrack]).map(\.length).max() ?? 0
      for track in state.tracks + [state.tempoTrack] {
        var track = track
        track.events = track.events.map { event in
          var event = event
          event.beat = max(0, end - event.beat - event.content.duration)
          return event
        }.reversed().sorted { $0.beat < $1.beat }
        state.set(track)
      }
      // A tempo holds from its event to the next: reversed, from the end of its stretch.
      let tempos = TempoMap(state.tempoTrack.events).points
      var track = state.tempoTrack
      track.events.removeAll { if case .tempo = $0.content { true } else { false } }
      for (i, point) in tempos.enumerated() {
        let until = i + 1 < tempos.count ? tempos[i + 1].beat : end
        track.insert(state.newEvent(max(0, end - until), .tempo(60 / point.secondsPerBeat)))
      }
      state.tempoTrack = track
    }
  }
}
