/// A Standard MIDI File with all that it says. A value.
package struct StandardMIDIFile: Sendable, Equatable {
  /// An event of a track.
  package struct Event: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
      /// A message of a channel: its status byte and its data, 0 for a second byte that it has not.
      case channel(UInt8, UInt8, UInt8)
      /// A system message; an exclusive one from 0xF0 to 0xF7.
      case system([UInt8])
      /// A meta event without its length.
      case meta(UInt8, [UInt8])
    }
    /// Ticks from the track's beginning.
    package var tick: Int
    package var content: Content

    package init(tick: Int, _ content: Content) {
      self.tick = tick
      self.content = content
    }
  }

  /// A track.
  package struct Track: Sendable, Equatable {
    /// In order of time, without the meta event of the end.
    package var events: [Event]
    /// Ticks from the beginning to the end.
    package var end: Int

    package init(_ events: [Event] = [], end: Int = 0) {
      self.events = events
      self.end = end
    }
  }

  /// Returns the number of bytes of a channel message: program changes and channel pressure have one data byte.
  package static func byteCount(ofStatus status: UInt8) -> Int { status & 0xE0 == 0xC0 ? 2 : 3 }

  /// The length of a tick.
  package enum Division: Sendable, Equatable {
    /// A share of a quarter note: ticks of one.
    case quarter(ticks: Int)
    /// A share of a frame of time code: 24, 25, 29 for 29.97, or 30 frames a second, and ticks of one.
    case timeCode(frames: Int, ticks: Int)
  }

  /// 0 for a single track, 1 for tracks that are played together, 2 for tracks that are played by themselves.
  package var format: Int
  package var division: Division
  package var tracks: [Track]

  /// Numbers of meta events.
  package enum Meta {
    package static var text: UInt8 { 0x01 }
    package static var copyright: UInt8 { 0x02 }
    package static var trackName: UInt8 { 0x03 }
    package static var instrument: UInt8 { 0x04 }
    package static var lyric: UInt8 { 0x05 }
    package static var marker: UInt8 { 0x06 }
    package static var cue: UInt8 { 0x07 }
    package static var end: UInt8 { 0x2F }
    package static var tempo: UInt8 { 0x51 }
    package static var timeCodeOffset: UInt8 { 0x54 }
    package static var timeSignature: UInt8 { 0x58 }
    package static var keySignature: UInt8 { 0x59 }
  }

  /// Extensions of such files.
  package static let extensions = ["mid", "midi", "smf"]

  /// Most bytes of a file.
  package static let mostBytes = 1 << 26

  package init(format: Int, division: Division, tracks: [Track]) {
    self.format = format
    self.division = division
    self.tracks = tracks
  }

  /// Reads a file.
  ///
  /// - Throws: `MIDIFileError`.
  package init(path: String) throws(MIDIFileError) {
    try self.init(try Self.bytes(ofFile: path), path: path)
  }

  /// Reads a file from memory.
  ///
  /// - Parameter path: For messages.
  /// - Throws: `MIDIFileError`.
  package init(_ file: [UInt8], path: String) throws(MIDIFileError) {
    var reader = MIDIFileReader(file[...], path: path)
    guard file.starts(with: "MThd".utf8) else {
      throw MIDIFileError(path: path, "it is no Standard MIDI File (no MThd at its beginning)")
    }
    _ = try reader.take(4)
    var header = try reader.part(try reader.number(4))
    format = try header.number(2)
    let trackCount = try header.number(2)
    let word = try header.number(2)
    guard format < 3 else { throw MIDIFileError(path: path, "its format is \(format)") }
    division = try Self.division(word, path)
    tracks = []
    while !reader.isAtEnd, tracks.count < trackCount {
      let kind = try reader.take(4)
      var body = try reader.part(try reader.number(4))
      // Chunks of other kinds are to be skipped.
      guard kind.elementsEqual("MTrk".utf8) else { continue }
      tracks.append(try body.readTrack())
    }
    guard tracks.count == trackCount else {
      throw MIDIFileError(
        path: path, "it ends after \(tracks.count) of its \(trackCount) tracks")
    }
  }

  private static func division(_ word: Int, _ path: String) throws(MIDIFileError) -> Division {
    if word & 0x8000 == 0 {
      guard word > 0 else { throw MIDIFileError(path: path, "it has 0 ticks a quarter note") }
      return .quarter(ticks: word)
    }
    let (rate, ticks) = (256 - word >> 8, word & 0xff)
    guard ticks > 0, [24, 25, 29, 30].contains(rate) else {
      throw MIDIFileError(
        path: path, "its time code has \(rate) frames a second and \(ticks) ticks a frame")
    }
    return .timeCode(frames: rate, ticks: ticks)
  }

  // MARK: Writing

  /// The bytes of the file. Every message has its status byte.
  package var bytes: [UInt8] {
    let word =
      switch division {
      case .quarter(let ticks): min(max(ticks, 1), 0x7FFF)
      case .timeCode(let frames, let ticks): (256 - frames) << 8 | ticks
      }
    var bytes =
      Array("MThd".utf8) + Self.number(6, 4) + Self.number(format, 2)
      + Self.number(tracks.count, 2) + Self.number(word, 2)
    for track in tracks {
      let body = Self.bytes(of: track)
      bytes += Array("MTrk".utf8) + Self.number(body.count, 4) + body
    }
    return bytes
  }

  private static func bytes(of track: Track) -> [UInt8] {
    var bytes: [UInt8] = []
    var tick = 0
    /// A track waits for so many ticks at most: longer pauses have empty texts between.
    let longest = 0x0FFF_FFFF
    func wait(until next: Int) {
      while next - tick > longest {
        bytes += variable(longest) + [0xFF, Meta.text, 0]
        tick += longest
      }
      bytes += variable(max(0, next - tick))
      tick = max(tick, next)
    }
    for event in track.events {
      wait(until: event.tick)
      switch event.content {
      case .meta(let kind, let content):
        bytes += [0xFF, kind] + variable(content.count) + content
      case .channel(let status, let first, let second):
        bytes += [status, first, second].prefix(byteCount(ofStatus: status))
      case .system(let message) where message.first == 0xF0:
        bytes += [0xF0] + variable(message.count - 1) + message.dropFirst()
      case .system(let message): bytes += [0xF7] + variable(message.count) + message
      }
    }
    wait(until: track.end)
    return bytes + [0xFF, Meta.end, 0]
  }

  /// Returns a number of several bytes, the highest first.
  private static func number(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
  }

  /// Returns a number of one to four bytes with seven bits each.
  private static func variable(_ value: Int) -> [UInt8] {
    var bytes = [UInt8(value & 0x7f)]
    var rest = value >> 7
    while rest > 0 {
      bytes.insert(UInt8(rest & 0x7f | 0x80), at: 0)
      rest >>= 7
    }
    return bytes
  }
}
