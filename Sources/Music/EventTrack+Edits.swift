extension EventSequence.Track {
  /// Inserts an event behind those of the same beat.
  mutating func insert(_ event: TrackEvent) { events.insert(event, at: index(after: event.beat)) }

  /// Returns the index of the first event behind a beat.
  func index(after beat: Double) -> Int { firstIndex { $0 > beat } }
  /// Returns the index of the first event that is not before a beat.
  func index(from beat: Double) -> Int { firstIndex { $0 >= beat } }

  private func firstIndex(_ isBehind: (Double) -> Bool) -> Int {
    var (low, high) = (0, events.count)
    while low < high {
      let middle = (low + high) / 2
      if isBehind(events[middle].beat) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// The indices of the events of a time.
  func indices(_ time: Range<Double>) -> Range<Int> {
    index(from: time.lowerBound)..<index(from: time.upperBound)
  }

  mutating func sort() { events.sort { $0.beat < $1.beat } }
}

// MARK: Edits

extension EventTrack {
  /// Longest time in beats.
  package static let mostBeats = 1e9

  /// The settings.
  ///
  /// - Throws: `MusicError.trackNotFound`.
  package var settings: EventSequence.Settings {
    get throws(MusicError) {
      try sequence.read { state throws(MusicError) in try state.track(id).settings }
    }
  }

  package func change(_ body: (inout EventSequence.Settings) -> Void) throws(MusicError) {
    try edit { track, _ in body(&track.settings) }
  }

  /// The events in order of time.
  package var events: [TrackEvent] {
    get throws(MusicError) {
      try sequence.read { state throws(MusicError) in try state.track(id).events }
    }
  }

  /// The length in beats: that which was set, or that of the events.
  package var length: Double {
    get throws(MusicError) {
      try sequence.read { state throws(MusicError) in try state.track(id).length }
    }
  }

  /// The place of the track among those of the sequence.
  package var index: Int {
    get throws(MusicError) {
      let index = try sequence.read { state in state.tracks.firstIndex { $0.id == id } }
      guard let index else { throw .trackNotFound }
      return index
    }
  }

  func edit(
    _ body: (inout EventSequence.Track, inout EventSequence.State) throws(MusicError) -> Void
  ) throws(MusicError) {
    try sequence.change { state throws(MusicError) in
      var track = try state.track(id)
      try body(&track, &state)
      state.set(track)
    }
  }

  /// Adds an event.
  ///
  /// - Throws: `MusicError`: a time or a value out of range, a tempo outside the tempo track, or a note in it.
  package func add(_ content: EventContent, at beat: Double) throws(MusicError) {
    try check(beat)
    let content = try checked(content)
    try edit { track, state in track.insert(state.newEvent(beat, content)) }
  }

  func check(_ beats: Double...) throws(MusicError) {
    for beat in beats where !(0...Self.mostBeats).contains(beat) {
      throw .badArgument("\(beat) is no beat from 0 to \(Int(Self.mostBeats))")
    }
  }

  /// Returns an event in the form in which the track keeps it.
  func checked(_ content: EventContent) throws(MusicError) -> EventContent {
    if !(0...Self.mostBeats).contains(content.duration) {
      throw .badArgument("a note has \(content.duration) beats")
    }
    switch content {
    case .tempo(let tempo):
      guard isTempoTrack else { throw .invalidEvent("a tempo belongs in the tempo track") }
      guard TempoMap.tempos.contains(tempo) else {
        throw .badArgument("\(tempo) is no tempo in beats a minute")
      }
    case .meta(0x51, let bytes) where isTempoTrack:
      let microseconds = bytes.reduce(0) { $0 << 8 | Int($1) }
      guard bytes.count == 3, microseconds > 0 else {
        throw .badArgument("\(bytes) is no tempo of a MIDI file")
      }
      return .tempo(60e6 / Double(microseconds))
    case .meta, .user: break
    case .note(let channel, let number, let velocity, let release, _):
      guard channel < 16, number < 128, velocity < 128, release < 128 else {
        throw .badArgument("\(content) is no note")
      }
    case .channel(let status, let first, let second):
      guard (0x80..<0xF0).contains(status), first < 128, second < 128 else {
        throw .badArgument("\(status) \(first) \(second) is no channel message")
      }
    case .system(let bytes):
      guard !bytes.isEmpty, bytes.count <= 1 << 20 else {
        throw .badArgument("a message has \(bytes.count) bytes")
      }
    case .parameter(_, _, _, let value):
      if value.isNaN { throw .badArgument("a parameter is not a number") }
    case .extendedNote(let note):
      guard note.group < 16, (0..<127.5).contains(note.pitch), (0...127).contains(note.velocity)
      else { throw .badArgument("\(note) is no note") }
    }
    switch content {
    case .tempo, .meta, .user: return content
    default:
      if isTempoTrack { throw .illegalDestination("the tempo track has no events for units") }
      return content
    }
  }

  private func range(_ start: Double, _ end: Double) throws(MusicError) -> Range<Double> {
    try check(start)
    guard end >= start else { throw .badArgument("\(end) is before \(start)") }
    return start..<end
  }

  /// Moves the events of a time by a number of beats, to beat 0 at the earliest.
  package func move(from start: Double, to end: Double, by beats: Double) throws(MusicError) {
    let range = try range(start, end)
    guard abs(beats) <= Self.mostBeats else { throw .badArgument("\(beats) are too many beats") }
    try edit { track, _ in
      for i in track.indices(range) {
        track.events[i].beat = min(max(0, track.events[i].beat + beats), Self.mostBeats)
      }
      track.sort()
    }
  }

  /// Removes the events of a time.
  ///
  /// - Parameter closesGap: True if later events come earlier by that time.
  package func remove(from start: Double, to end: Double, closesGap: Bool) throws(MusicError) {
    let range = try range(start, end)
    try edit { track, _ in
      track.events.removeSubrange(track.indices(range))
      if closesGap { track.shift(from: end, by: start - end) }
    }
  }

  /// Copies the events of a time of this track into another one.
  ///
  /// - Parameter makesRoom: True if events of the other track from that beat on come later by the time.
  package func copy(
    from start: Double, to end: Double, into other: EventTrack, at beat: Double, makesRoom: Bool
  ) throws(MusicError) {
    let range = try range(start, end)
    try check(beat)
    if makesRoom, end > Self.mostBeats { throw .badArgument("\(end) is no beat") }
    guard other.sequence === sequence || other.isTempoTrack == isTempoTrack else {
      throw .illegalDestination("only one of the tracks is a tempo track")
    }
    let track = try sequence.read { state throws(MusicError) in try state.track(id) }
    let copied = track.events[track.indices(range)]
    var contents: [(beat: Double, content: EventContent)] = []
    for event in copied {
      let place = beat + event.beat - start
      try check(place)
      contents.append((place, try other.checked(event.content)))
    }
    try other.edit { track, state in
      if makesRoom { track.shift(from: beat, by: end - start) }
      track.events += contents.map { state.newEvent($0.beat, $0.content) }
      track.sort()
    }
  }
}

extension EventSequence.Track {
  /// Moves all events from a beat on.
  fileprivate mutating func shift(from beat: Double, by beats: Double) {
    for i in index(from: beat)..<events.count {
      events[i].beat = min(max(0, events[i].beat + beats), EventTrack.mostBeats)
    }
    sort()
  }
}

// MARK: Single events

extension EventTrack {
  /// Removes an event by its number. Has no effect if the event is gone.
  package func remove(event id: UInt64) throws(MusicError) {
    try edit { track, _ in track.events.removeAll { $0.id == id } }
  }

  /// Replaces an event by its number. Has no effect if the event is gone.
  package func replace(event id: UInt64, _ content: EventContent, at beat: Double)
    throws(MusicError)
  {
    try check(beat)
    let content = try checked(content)
    try edit { track, _ in
      guard let index = track.events.firstIndex(where: { $0.id == id }) else { return }
      var event = track.events.remove(at: index)
      event.beat = beat
      event.content = content
      track.insert(event)
    }
  }
}
