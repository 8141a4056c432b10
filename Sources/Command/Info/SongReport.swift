import Files
import Music
import RealTime
import Sessions
import System

/// The report of `cuejack info` on a MIDI file. The property names are the JSON keys, so they must not change.
struct SongReport: Encodable {
  let path: String
  let container = "Standard MIDI File"
  /// 0 for a single track, 1 for tracks that are played together, 2 for tracks that are played by themselves.
  let format: Int
  /// Ticks of a quarter note; absent for time code.
  let ticksPerBeat: Int?
  /// Frames of time code a second, and ticks of one; absent for quarter notes.
  let timeCodeFrames: Double?
  let ticksPerFrame: Int?
  /// Quarter notes, or seconds for time code, up to the last event. Absent for format 2.
  let beats: Double?
  /// Duration in seconds; absent for format 2.
  let duration: Double?
  let size: Int
  let tracks: [Track]
  let tempos: [Tempo]
  let timeSignatures: [Signature]
  let keySignatures: [Signature]
  let markers: [Marker]

  struct Track: Encodable {
    let name: String?
    let instrument: String?
    /// MIDI channels, counted from 1.
    let channels: [Int]
    let notes: Int
    let events: Int
  }
  struct Tempo: Encodable {
    let beat: Double
    let time: Double
    let beatsPerMinute: Double
  }
  struct Signature: Encodable {
    let beat: Double
    let time: Double
    let signature: String
  }
  struct Marker: Encodable {
    let beat: Double
    let time: Double
    let text: String
  }

  /// Returns true if a file begins as a MIDI file.
  static func isMIDI(_ path: String) -> Bool { StandardMIDIFile.isOne(path: path) }

  /// Reads a file.
  init(path: String) throws(MIDIFileError) {
    let bytes = try StandardMIDIFile.bytes(ofFile: path)
    let file = try StandardMIDIFile(bytes, path: path)
    self.path = path
    format = file.format
    size = bytes.count
    let ticks: Double
    switch file.division {
    case .quarter(let count):
      (ticksPerBeat, timeCodeFrames, ticksPerFrame) = (count, nil, nil)
      ticks = Double(count)
    case .timeCode(let frames, let count):
      let rate = frames == 29 ? 30_000.0 / 1001 : Double(frames)
      (ticksPerBeat, timeCodeFrames, ticksPerFrame) = (nil, rate, count)
      ticks = rate * Double(count)
    }
    tracks = file.tracks.map(Track.init)
    let sequence = EventSequence()
    guard (try? sequence.load(file, isByChannel: false)) != nil else {
      (beats, duration, tempos, timeSignatures, keySignatures, markers) = (nil, nil, [], [], [], [])
      return
    }
    let map = sequence.tempoMap
    let end = Double(file.tracks.map(\.end).max() ?? 0) / ticks
    beats = end
    duration = map.seconds(at: end)
    tempos = map.points.map { point in
      Tempo(
        beat: point.beat, time: point.seconds,
        beatsPerMinute: thousandths(60 / point.secondsPerBeat))
    }
    let meta = file.tracks.flatMap(\.events).sorted { $0.tick < $1.tick }.compactMap { event in
      if case .meta(let kind, let bytes) = event.content {
        (Double(event.tick) / ticks, kind, bytes)
      } else {
        nil as (Double, UInt8, [UInt8])?
      }
    }
    func found<Item>(_ kinds: Set<UInt8>, _ make: (Double, Double, [UInt8]) -> Item?) -> [Item] {
      meta.filter { kinds.contains($0.1) }.compactMap { make($0.0, map.seconds(at: $0.0), $0.2) }
    }
    timeSignatures = found([StandardMIDIFile.Meta.timeSignature]) { beat, time, bytes in
      guard bytes.count >= 2, bytes[1] < 16 else { return nil }
      return Signature(beat: beat, time: time, signature: "\(bytes[0])/\(1 << Int(bytes[1]))")
    }
    keySignatures = found([StandardMIDIFile.Meta.keySignature]) { beat, time, bytes in
      Self.key(bytes).map { Signature(beat: beat, time: time, signature: $0) }
    }
    markers = found([StandardMIDIFile.Meta.marker, StandardMIDIFile.Meta.cue]) {
      beat, time, bytes in
      Marker(beat: beat, time: time, text: String(decoding: bytes, as: UTF8.self))
    }
  }

  /// Returns the name of a key: of its fifths from C, and whether it is minor.
  private static func key(_ bytes: [UInt8]) -> String? {
    guard bytes.count >= 2 else { return nil }
    let fifths = Int(Int8(bitPattern: bytes[0]))
    guard (-7...7).contains(fifths) else { return nil }
    let names = [
      "F♭", "C♭", "G♭", "D♭", "A♭", "E♭", "B♭", "F", "C", "G", "D", "A", "E", "B", "F♯", "C♯", "G♯",
      "D♯", "A♯",
    ]
    return bytes[1] == 0 ? "\(names[fifths + 8]) major" : "\(names[fifths + 11]) minor"
  }

  /// The report as lines of text.
  var words: String {
    var rows = [("container", "\(container), format \(format)")]
    if let ticksPerBeat { rows.append(("ticks", "\(ticksPerBeat) a quarter note")) }
    if let timeCodeFrames, let ticksPerFrame {
      rows.append(("ticks", "\(ticksPerFrame) a frame of time code, \(shown(timeCodeFrames)) fps"))
    }
    if let beats, let duration {
      let unit = ticksPerBeat == nil ? "" : " (\(shown(beats)) quarter notes)"
      rows.append(("duration", "\(exactClock(duration))\(unit)"))
    }
    rows.append(("size", "\(size) bytes"))
    rows += tempos.map {
      ("tempo", "\(shown($0.beatsPerMinute)) a minute\(place($0.beat, $0.time))")
    }
    rows += timeSignatures.map { ("time", $0.signature + place($0.beat, $0.time)) }
    rows += keySignatures.map { ("key", $0.signature + place($0.beat, $0.time)) }
    rows += markers.map { ("marker", $0.text + place($0.beat, $0.time)) }
    for (i, track) in tracks.enumerated() {
      let channels = track.channels.map(String.init).joined(separator: ", ")
      let names = [track.name, track.instrument].compactMap { $0 }.joined(separator: ", ")
      rows.append(
        (
          "track \(i + 1)",
          (names.isEmpty ? "" : "\(names): ") + "\(track.notes) notes, \(track.events) events"
            + (channels.isEmpty ? "" : ", channels \(channels)")
        ))
    }
    let lines = rows.map { name, value in
      "  \(name):\(String(repeating: " ", count: max(1, 10 - name.count)))\(printable(value))"
    }
    return ([printable(path)] + lines).joined(separator: "\n")
  }

  private func shown(_ value: Double) -> String {
    let value = thousandths(value)
    return value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
  }

  private func place(_ beat: Double, _ time: Double) -> String {
    beat == 0 ? "" : " at \(exactClock(time)) (beat \(shown(beat)))"
  }
}

/// Rounds to three decimals.
private func thousandths(_ value: Double) -> Double { (value * 1000).rounded() / 1000 + 0 }

extension SongReport.Track {
  init(_ track: StandardMIDIFile.Track) {
    var channels: Set<Int> = []
    var notes = 0
    var texts: [UInt8: String] = [:]
    for event in track.events {
      switch event.content {
      case .channel(let status, _, let second):
        channels.insert(Int(status & 0xF) + 1)
        if status & 0xF0 == 0x90 && second > 0 { notes += 1 }
      case .meta(let kind, let bytes) where texts[kind] == nil:
        texts[kind] = String(decoding: bytes, as: UTF8.self)
      case .meta, .system: break
      }
    }
    name = texts[StandardMIDIFile.Meta.trackName]
    instrument = texts[StandardMIDIFile.Meta.instrument]
    self.channels = channels.sorted()
    self.notes = notes
    events = track.events.count
  }
}
