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
  private let unitsPerSecond: Int

  /// Longest duration in seconds: a hundred hours.
  package static let mostSeconds = 360_000

  /// Reads the file at a path.
  ///
  /// - Throws: `MIDIFileError`.
  package init(path: String) throws(MIDIFileError) {
    try self.init(try StandardMIDIFile(path: path), path: path)
  }

  /// Reads a file from memory.
  ///
  /// - Parameter path: For messages.
  /// - Throws: `MIDIFileError`.
  package init(_ file: [UInt8], path: String) throws(MIDIFileError) {
    try self.init(try StandardMIDIFile(file, path: path), path: path)
  }

  /// Puts the messages of a file in order, and computes their times.
  ///
  /// - Parameter path: For messages.
  /// - Throws: `MIDIFileError`.
  package init(_ file: StandardMIDIFile, path: String) throws(MIDIFileError) {
    format = file.format
    trackCount = file.tracks.count
    guard format < 2 else {
      throw MIDIFileError(path: path, "its format is \(format), and only 0 and 1 can be played")
    }
    // A unit is a microsecond divided by the ticks of a quarter note, or a part of a tick of time code. 29 stands for
    // the 30 frames of drop-frame time code, which are 29.97 a second.
    var units: Int
    let hasTempo: Bool
    switch file.division {
    // 120 beats a minute, until the file says otherwise.
    case .quarter(let ticks): (unitsPerSecond, units, hasTempo) = (ticks * 1_000_000, 500_000, true)
    case .timeCode(29, let ticks): (unitsPerSecond, units, hasTempo) = (30_000 * ticks, 1001, false)
    case .timeCode(let rate, let ticks):
      (unitsPerSecond, units, hasTempo) = (rate * ticks, 1, false)
    }
    let most = Self.mostSeconds * unitsPerSecond
    var (time, tick) = (0, 0)
    func advance(to next: Int) throws(MIDIFileError) {
      let (step, overflows) = (next - tick).multipliedReportingOverflow(by: units)
      guard !overflows, step <= most - time else {
        throw MIDIFileError(path: path, "it lasts more than \(Self.mostSeconds / 3600) hours")
      }
      time += step
      tick = next
    }
    func add(_ message: ArraySlice<UInt8>) {
      messages.append(Message(time: time, offset: bytes.count, count: message.count))
      bytes += message
    }
    // Sorting is stable: events of one tick stay in the order of the file.
    for event in file.tracks.flatMap(\.events).sorted(by: { $0.tick < $1.tick }) {
      try advance(to: event.tick)
      switch event.content {
      case .channel(let status, let first, let second):
        add([status, first, second].prefix(StandardMIDIFile.byteCount(ofStatus: status)))
      case .system(let message): add(message[...])
      case .meta(let kind, let content):
        if hasTempo, let tempo = StandardMIDIFile.tempo(kind, content) { units = tempo }
      }
    }
    try advance(to: max(tick, file.tracks.map(\.end).max() ?? 0))
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

extension StandardMIDIFile {
  /// Returns the microseconds of a quarter note that a meta event sets; nil if the event sets none. A tempo of 0, which
  /// would let no time pass at all, is none.
  package static func tempo(_ kind: UInt8, _ content: [UInt8]) -> Int? {
    guard kind == Meta.tempo, content.count == 3 else { return nil }
    let microseconds = content.reduce(0) { $0 << 8 | Int($1) }
    return microseconds > 0 ? microseconds : nil
  }
}
