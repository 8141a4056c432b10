import Glibc
import System

extension StandardMIDIFile {
  /// Returns true if a file can be read and begins as a MIDI file.
  package static func isOne(path: String) -> Bool {
    let file = unsafe open(path.systemName, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return false }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4)
    return unsafe pread(file, &bytes, 4, 0) == 4 && bytes.elementsEqual("MThd".utf8)
  }

  /// Returns the bytes of a file.
  ///
  /// - Throws: `MIDIFileError`.
  package static func bytes(ofFile path: String) throws(MIDIFileError) -> [UInt8] {
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

  /// Reads the events of a track to its end. A system exclusive message in several parts comes with its last one.
  mutating func readTrack() throws(MIDIFileError) -> StandardMIDIFile.Track {
    var track = StandardMIDIFile.Track()
    var status: UInt8 = 0
    // The beginning of a system exclusive message that comes in several parts.
    var exclusive: [UInt8]?
    func add(_ content: StandardMIDIFile.Event.Content) {
      track.events.append(StandardMIDIFile.Event(tick: track.end, content))
    }
    while !isAtEnd {
      track.end += try variableNumber()
      var first = try byte()
      switch first {
      case 0xff:
        let kind = try byte()
        let content = try take(try variableNumber())
        if kind == StandardMIDIFile.Meta.end { return track }
        add(.meta(kind, Array(content)))
      case 0xf0, 0xf7:
        let content = try take(try variableNumber())
        if first == 0xf0 { exclusive = [0xf0] }
        guard let begun = exclusive else {
          // An escape: any message but one of a channel, which would upset the running status.
          if let status = content.first, status > 0xf0, status != 0xf7 {
            add(.system(Array(content)))
          }
          continue
        }
        exclusive = begun + content
        if content.last == 0xf7 {
          add(.system(begun + content))
          exclusive = nil
        }
      case 0xf1...: throw error("a track has the status byte \(first)")
      default:
        var data: UInt8?
        if first < 0x80 {
          guard status > 0 else { throw error("a message has no status byte") }
          data = first
          first = status
        }
        status = first
        let one = if let data { data } else { try byte() }
        let two = StandardMIDIFile.byteCount(ofStatus: first) > 2 ? try byte() : 0
        guard one < 0x80, two < 0x80 else { throw error("a status byte is in a message") }
        add(.channel(first, one, two))
      }
    }
    // Without an end of its own, the track ends with its last event.
    return track
  }
}
