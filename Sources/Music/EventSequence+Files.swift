package import Files
import RealTime

extension EventSequence {
  /// Adds the tracks of a MIDI file behind those of the sequence. Tempos and other events of time go to the tempo track,
  /// in place of those that it has; so do all events of a first track that has no messages.
  ///
  /// - Parameter isByChannel: True for a track for each MIDI channel.
  /// - Throws: `MusicError.invalidType` for a file of format 2.
  package func load(_ file: StandardMIDIFile, isByChannel: Bool) throws(MusicError) {
    guard file.format < 2 else {
      throw .invalidType("a file of format 2 has tracks that are not played together")
    }
    let ticksPerBeat: Double
    let kind: Kind
    switch file.division {
    case .quarter(let ticks): (ticksPerBeat, kind) = (Double(ticks), .beats)
    case .timeCode(let frames, let ticks):
      let rate = frames == 29 ? 30_000.0 / 1001 : Double(frames)
      (ticksPerBeat, kind) = (rate * Double(ticks), .seconds)
    }
    var time: [(beat: Double, content: EventContent)] = []
    var parts: [FilePart] = []
    for (i, track) in file.tracks.enumerated() {
      var part = FilePart(track, ticksPerBeat, hasTempo: kind == .beats)
      let hasMessages = part.events.contains { !$0.content.isMeta && !$0.content.isOfTime }
      let isConductor = i == 0 && file.format == 1 && !hasMessages
      time += part.events.filter { $0.content.isOfTime || isConductor }
      part.events.removeAll { $0.content.isOfTime }
      if !isConductor { parts.append(part) }
    }
    if isByChannel { parts = FilePart.byChannel(parts) }
    if kind == .seconds { time.append((0, .tempo(60))) }
    time.sort { $0.beat < $1.beat }
    try change { [time, parts] state in
      state.kind = kind
      if case .quarter(let ticks) = file.division { state.resolution = ticks }
      state.tempoTrack.events = time.map { state.newEvent($0.beat, $0.content) }
      for case .meta(let kind, let text) in time.map(\.content) + parts.flatMap(\.meta) {
        let key: String? = [0x02: "copyright", 0x03: "title"][kind]
        if let key, state.info[key] == nil {
          state.info[key] = String(decoding: text, as: UTF8.self)
        }
      }
      for part in parts {
        state.lastTrack += 1
        var track = Track(id: state.lastTrack)
        track.events = part.events.map { state.newEvent($0.beat, $0.content) }
        if part.end > track.eventLength { track.settings.length = part.end }
        state.tracks.append(track)
      }
    }
  }

  /// Returns the sequence as a MIDI file of format 1, whose first track is the tempo track. Loops, mutes and the program's
  /// events are left out.
  ///
  /// - Parameter resolution: Ticks of a quarter note; 0 for those of the loaded file, or 480. Sequences in seconds have
  ///   time code of 25 frames a second with 40 ticks.
  package func file(resolution: Int) -> StandardMIDIFile {
    let state = current
    let ticks = resolution > 0 ? min(resolution, 0x7FFF) : state.resolution
    let division: StandardMIDIFile.Division
    let ticksPerBeat: Double
    if state.kind == .beats {
      (division, ticksPerBeat) = (.quarter(ticks: ticks), Double(ticks))
    } else {
      let tempo = TempoMap(state.tempoTrack.events).points[0]
      (division, ticksPerBeat) = (
        .timeCode(frames: 25, ticks: 40), 1000 * tempo.secondsPerBeat
      )
    }
    let tracks = ([state.tempoTrack] + state.tracks).map { track in
      FilePart.track(track, ticksPerBeat, hasTempo: state.kind == .beats)
    }
    return StandardMIDIFile(format: 1, division: division, tracks: tracks)
  }
}

/// The events of a file's track, with notes that have lengths.
private struct FilePart: Sendable {
  var events: [(beat: Double, content: EventContent)] = []
  var end: Double

  var meta: [EventContent] { events.map(\.content) }

  private struct Key: Hashable {
    let channel, number: UInt8
  }

  init(_ track: StandardMIDIFile.Track, _ ticksPerBeat: Double, hasTempo: Bool) {
    end = Double(track.end) / ticksPerBeat
    // Indices of the notes that have begun.
    var sounding: [Key: [Int]] = [:]
    for event in track.events {
      let beat = Double(event.tick) / ticksPerBeat
      switch event.content {
      case .system(let bytes): events.append((beat, .system(bytes)))
      case .meta(let kind, let bytes):
        if let tempo = StandardMIDIFile.tempo(kind, bytes) {
          if hasTempo { events.append((beat, .tempo(60e6 / Double(tempo)))) }
        } else if kind != StandardMIDIFile.Meta.tempo {
          events.append((beat, .meta(kind, bytes)))
        }
      case .channel(let status, let first, let second):
        let key = Key(channel: status & 0xF, number: first)
        switch status & 0xF0 {
        case 0x90 where second > 0:
          sounding[key, default: []].append(events.count)
          events.append((beat, Self.note(key, second, 0, 0)))
        case 0x80, 0x90:
          guard let begun = sounding[key]?.first else { continue }
          sounding[key]?.removeFirst()
          // A note that ends by a note-on message has no velocity of the end.
          set(begun, until: beat, release: status & 0xF0 == 0x80 ? second : 0)
        default: events.append((beat, .channel(status, first, second)))
        }
      }
    }
    for begun in sounding.values.joined() { set(begun, until: end, release: 0) }
  }

  private init(end: Double) { self.end = end }

  private static func note(_ key: Key, _ velocity: UInt8, _ release: UInt8, _ duration: Double)
    -> EventContent
  {
    .note(
      channel: key.channel, number: key.number, velocity: velocity, release: release,
      duration: duration)
  }

  /// Gives a note its end.
  private mutating func set(_ index: Int, until beat: Double, release: UInt8) {
    guard case .note(let channel, let number, let velocity, _, _) = events[index].content else {
      return
    }
    events[index].content = Self.note(
      Key(channel: channel, number: number), velocity, release, max(0, beat - events[index].beat))
  }

  /// Returns a part for each MIDI channel, and a last one for what belongs to none.
  static func byChannel(_ parts: [FilePart]) -> [FilePart] {
    var channels: [Int: FilePart] = [:]
    for part in parts {
      for event in part.events {
        let channel =
          switch event.content {
          case .note(let channel, _, _, _, _): Int(channel)
          case .channel(let status, _, _): Int(status & 0xF)
          default: 16
          }
        channels[channel, default: FilePart(end: 0)].events.append(event)
        let end = max(channels[channel]?.end ?? 0, part.end)
        channels[channel]?.end = end
      }
    }
    return channels.sorted { $0.key < $1.key }.map { _, part in
      var part = part
      part.events.sort { $0.beat < $1.beat }
      return part
    }
  }

  /// Returns a track for a file.
  static func track(_ track: EventSequence.Track, _ ticksPerBeat: Double, hasTempo: Bool)
    -> StandardMIDIFile.Track
  {
    func tick(_ beat: Double) -> Int {
      Int((beat * ticksPerBeat).rounded().clamped(to: 0...1e12))
    }
    // Ends of notes come before what begins at the same tick, except that of a note without a length.
    var events: [(tick: Int, rank: Int, content: StandardMIDIFile.Event.Content)] = []
    func add(
      _ beat: Double, _ duration: Double, _ channel: UInt8, _ number: UInt8, _ velocity: UInt8,
      _ release: UInt8
    ) {
      let (start, end) = (tick(beat), tick(beat + duration))
      events.append((start, 1, .channel(0x90 | channel, number, max(1, velocity))))
      events.append((end, end > start ? 0 : 2, .channel(0x80 | channel, number, release)))
    }
    for event in track.events {
      let start = tick(event.beat)
      switch event.content {
      case .note(let channel, let number, let velocity, let release, let duration):
        add(event.beat, duration, channel, number, velocity, release)
      case .extendedNote(let note):
        add(
          event.beat, note.duration, UInt8(note.group), UInt8(note.pitch.rounded()),
          UInt8(note.velocity.rounded()), 0)
      case .channel(let status, let first, let second):
        events.append((start, 1, .channel(status, first, second)))
      case .system(let bytes): events.append((start, 1, .system(bytes)))
      case .meta(let kind, let bytes): events.append((start, 1, .meta(kind, bytes)))
      case .tempo(let tempo):
        if !hasTempo { continue }
        let microseconds = Int((60e6 / tempo).rounded().clamped(to: 1...Double(0xFFFFFF)))
        events.append(
          (
            start, 1,
            .meta(
              StandardMIDIFile.Meta.tempo, [16, 8, 0].map { UInt8(microseconds >> $0 & 0xFF) })
          ))
      case .user, .parameter: break
      }
    }
    events.sort { ($0.tick, $0.rank) < ($1.tick, $1.rank) }
    let last = events.last?.tick ?? 0
    return StandardMIDIFile.Track(
      events.map { StandardMIDIFile.Event(tick: $0.tick, $0.content) },
      end: max(last, tick(track.length)))
  }
}
