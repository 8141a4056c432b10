import Glibc
import System
import Timeline

/// The messages of a Standard MIDI File of format 0 or 1, in order of time. A value.
///
/// Cuejack has a reader of its own: libsmf 1.3 aborts and reads beyond its buffers when files are damaged.
package struct MIDIFile: Sendable {
  /// A message that is sent to instruments.
  package struct Message: Sendable {
    /// Time from the file's beginning, in units of the file.
    package let time: Int
    /// Place of its bytes among `bytes`, complete with a status byte.
    package let offset, count: Int
  }

  package let format: Int
  package let trackCount: Int
  /// The messages of all tracks, those of one time in the order of the tracks.
  package private(set) var messages: [Message] = []
  /// The bytes of all messages.
  package private(set) var bytes: [UInt8] = []
  /// Time of the last event of all tracks, in units of the file.
  package private(set) var end = 0
  /// Units in a second.
  private var unitsPerSecond = 1

  /// Most bytes of a file.
  package static let mostBytes = 1 << 26
  /// Longest duration in seconds: a hundred hours.
  package static let mostSeconds = 360_000

  /// Reads the file at a path.
  ///
  /// - Throws: `MIDIFileError`.
  package init(path: String) throws(MIDIFileError) {
    try self.init(try Self.bytes(ofFile: path), path: path)
  }

  private static func bytes(ofFile path: String) throws(MIDIFileError) -> [UInt8] {
    func failure() -> MIDIFileError {
      MIDIFileError(path: path, unsafe String(cString: strerror(errno)))
    }
    // A pipe that nobody writes to must not hold the command up.
    let file = unsafe open(path.systemName, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw failure() }
    defer { close(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe read(file, &part, part.count)
      guard count >= 0 else { throw failure() }
      if count == 0 { return bytes }
      bytes += part[..<count]
      guard bytes.count <= mostBytes else {
        throw MIDIFileError(path: path, "it has more than \(mostBytes) bytes")
      }
    }
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
    trackCount = try header.number(2)
    let division = try header.number(2)
    guard format < 2 else {
      throw MIDIFileError(path: path, "its format is \(format), and only 0 and 1 can be played")
    }
    let scale = try Self.scale(division, path)
    var events: [MIDITrackEvent] = []
    var tracks = 0
    while !reader.isAtEnd, tracks < trackCount {
      let kind = try reader.take(4)
      var body = try reader.part(try reader.number(4))
      // Chunks of other kinds are to be skipped.
      guard kind.elementsEqual("MTrk".utf8) else { continue }
      try body.readTrack(into: &events, &bytes)
      tracks += 1
    }
    guard tracks == trackCount else {
      throw MIDIFileError(
        path: path, "it ends after \(tracks) of its \(trackCount) tracks")
    }
    try arrange(events, scale, path)
  }

  /// How ticks become units of time.
  private enum Scale {
    /// Ticks of a quarter note. A unit is a microsecond divided by them.
    case quarters(Int)
    /// Units of a tick.
    case time(Int)
  }

  private static func scale(_ division: Int, _ path: String) throws(MIDIFileError)
    -> (scale: Scale, unitsPerSecond: Int)
  {
    if division & 0x8000 == 0 {
      guard division > 0 else { throw MIDIFileError(path: path, "it has 0 ticks a quarter note") }
      return (.quarters(division), division * 1_000_000)
    }
    let (rate, ticks) = (256 - division >> 8, division & 0xff)
    guard ticks > 0, [24, 25, 29, 30].contains(rate) else {
      throw MIDIFileError(
        path: path, "its time code has \(rate) frames a second and \(ticks) ticks a frame")
    }
    // 29 is the 30 frames of drop-frame time code, which are 29.97 a second.
    return rate == 29 ? (.time(1001), 30_000 * ticks) : (.time(1), rate * ticks)
  }

  /// Puts the events of all tracks in order, and computes their times.
  private mutating func arrange(
    _ events: [MIDITrackEvent], _ scale: (scale: Scale, unitsPerSecond: Int), _ path: String
  ) throws(MIDIFileError) {
    unitsPerSecond = scale.unitsPerSecond
    var units: Int
    switch scale.scale {
    // 120 beats a minute, until the file says otherwise.
    case .quarters: units = 500_000
    case .time(let ticks): units = ticks
    }
    let isMusical = if case .quarters = scale.scale { true } else { false }
    let most = Self.mostSeconds * unitsPerSecond
    var (time, tick) = (0, 0)
    // Sorting is stable: events of one tick stay in the order of the file.
    for event in events.sorted(by: { $0.tick < $1.tick }) {
      let (step, overflows) = (event.tick - tick).multipliedReportingOverflow(by: units)
      guard !overflows, step <= most - time else {
        throw MIDIFileError(
          path: path, "it lasts more than \(Self.mostSeconds / 3600) hours")
      }
      time += step
      tick = event.tick
      switch event.content {
      case .message(let offset, let count):
        messages.append(Message(time: time, offset: offset, count: count))
      case .tempo(let microseconds): if isMusical { units = microseconds }
      case .end: break
      }
    }
    end = time
  }

  /// Returns the frame nearest to a time.
  ///
  /// - Parameter time: In units of the file.
  package func frame(at time: Int, sampleRate: Double) -> Int64 {
    let (seconds, rest) = time.quotientAndRemainder(dividingBy: unitsPerSecond)
    let frames = Double(seconds) * sampleRate + Double(rest) * sampleRate / Double(unitsPerSecond)
    return Int64(held: frames.rounded())
  }
}

/// An event of a track.
struct MIDITrackEvent {
  enum Content {
    /// Place of the message among the bytes of all messages.
    case message(offset: Int, count: Int)
    /// Microseconds of a quarter note from here on.
    case tempo(Int)
    case end
  }
  /// Ticks from the track's beginning.
  let tick: Int
  let content: Content
}

/// A reader of bytes that fails at their end.
struct MIDIFileReader {
  private let path: String
  private let bytes: ArraySlice<UInt8>
  private var index: Int

  init(_ bytes: ArraySlice<UInt8>, path: String) {
    self.bytes = bytes
    self.path = path
    index = bytes.startIndex
  }

  var isAtEnd: Bool { index == bytes.endIndex }

  private func error(_ reason: String) -> MIDIFileError {
    MIDIFileError(path: path, "it is damaged at byte \(index): \(reason)")
  }

  mutating func take(_ count: Int) throws(MIDIFileError) -> ArraySlice<UInt8> {
    guard count <= bytes.endIndex - index else {
      throw error("\(count) bytes are missing from the \(bytes.endIndex - index) that follow")
    }
    defer { index += count }
    return bytes[index..<(index + count)]
  }

  /// Takes the next bytes as a reader of their own.
  mutating func part(_ count: Int) throws(MIDIFileError) -> MIDIFileReader {
    MIDIFileReader(try take(count), path: path)
  }

  private mutating func byte() throws(MIDIFileError) -> UInt8 { try take(1).first! }

  /// Takes a number of up to four bytes, the highest first.
  mutating func number(_ count: Int) throws(MIDIFileError) -> Int {
    try take(count).reduce(0) { $0 << 8 | Int($1) }
  }

  /// Takes a number of one to four bytes with seven bits each.
  private mutating func variableNumber() throws(MIDIFileError) -> Int {
    var value = 0
    for _ in 0..<4 {
      let byte = try byte()
      value = value << 7 | Int(byte & 0x7f)
      if byte < 0x80 { return value }
    }
    throw error("a number has more than four bytes")
  }

  // MARK: Tracks

  /// Reads the events of a track to its end, and appends the bytes of its messages to `messages`.
  mutating func readTrack(into events: inout [MIDITrackEvent], _ messages: inout [UInt8])
    throws(MIDIFileError)
  {
    var tick = 0
    var status: UInt8 = 0
    // The beginning of a system exclusive message that comes in several parts.
    var exclusive: [UInt8]?
    func add(_ message: some Collection<UInt8>) {
      events.append(
        MIDITrackEvent(
          tick: tick, content: .message(offset: messages.count, count: message.count)))
      messages += message
    }
    while !isAtEnd {
      tick += try variableNumber()
      var first = try byte()
      switch first {
      case 0xff:
        let kind = try byte()
        let content = try take(try variableNumber())
        if kind == 0x2f {
          events.append(MIDITrackEvent(tick: tick, content: .end))
          return
        }
        // A tempo of 0 would let no time pass at all.
        if kind == 0x51, content.count == 3 {
          let microseconds = content.reduce(0) { $0 << 8 | Int($1) }
          if microseconds > 0 {
            events.append(MIDITrackEvent(tick: tick, content: .tempo(microseconds)))
          }
        }
      case 0xf0, 0xf7:
        let content = try take(try variableNumber())
        if first == 0xf0 { exclusive = [0xf0] }
        guard let begun = exclusive else {
          // An escape: any message but one of a channel, which would upset the running status.
          if let status = content.first, status > 0xf0, status != 0xf7 { add(content) }
          continue
        }
        exclusive = begun + content
        if content.last == 0xf7 {
          add(begun + content)
          exclusive = nil
        }
      case 0xf1...: throw error("a track has the status byte \(first)")
      default:
        var data: [UInt8] = []
        if first < 0x80 {
          guard status > 0 else { throw error("a message has no status byte") }
          data = [first]
          first = status
        }
        status = first
        let wanted = (0xc0..<0xe0).contains(first) ? 1 : 2
        while data.count < wanted { data.append(try byte()) }
        guard data.allSatisfy({ $0 < 0x80 }) else { throw error("a status byte is in a message") }
        add([first] + data)
      }
    }
    // Without an end of its own, the track ends with its last event.
    events.append(MIDITrackEvent(tick: tick, content: .end))
  }
}
