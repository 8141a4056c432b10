import Files
import Foundation
import TestSupport
import Testing

@testable import Music

/// MIDI files that other programs read and write: mido in Python, midicsv and csvmidi.
@Suite(.tags(.program)) struct FileExchangeTests {
  /// Lines of `TRACK TICK BYTES…` for channel messages, system exclusive messages and meta events, and the lengths of tracks.
  private func lines(of file: StandardMIDIFile) -> [String] {
    file.tracks.enumerated().flatMap { number, track in
      track.events.map { event in
        let bytes: [UInt8] =
          switch event.content {
          case .channel(let status, let first, let second):
            Array([status, first, second].prefix(StandardMIDIFile.byteCount(ofStatus: status)))
          case .system(let bytes): bytes
          case .meta(let kind, let data): [0xFF, kind, UInt8(data.count)] + data
          }
        return line(number, event.tick, bytes)
      } + [line(number, track.end, [0xFF, 0x2F, 0])]
    }
  }

  private func line(_ track: Int, _ tick: Int, _ bytes: [UInt8]) -> String {
    ([track, tick] + bytes.map(Int.init)).map(String.init).joined(separator: " ")
  }

  /// A sequence with events of all kinds, which differ by the seed.
  private func sequence(_ seed: Int) throws -> EventSequence {
    var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
    func roll(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    let sequence = EventSequence()
    for i in 0..<roll(5) {
      try sequence.tempoTrack.add(.tempo(Double(40 + roll(200))), at: Double(i * 4 + roll(4)))
    }
    try sequence.tempoTrack.add(.meta(0x58, [UInt8(2 + roll(6)), 2, 24, 8]), at: 0)
    for number in 0..<1 + roll(4) {
      let track = sequence.addTrack()
      try track.add(.meta(0x03, Array("track \(number)".utf8)), at: 0)
      for _ in 0..<roll(200) {
        let beat = Double(roll(4000)) / 96
        let channel = UInt8(roll(16))
        let event: EventContent =
          switch roll(8) {
          case 0: .channel(0xB0 | channel, UInt8(roll(128)), UInt8(roll(128)))
          case 1: .channel(0xC0 | channel, UInt8(roll(128)), 0)
          case 2: .channel(0xE0 | channel, UInt8(roll(128)), UInt8(roll(128)))
          case 3: .channel(0xD0 | channel, UInt8(roll(128)), 0)
          case 4: .system([0xF0] + (0..<roll(300)).map { _ in UInt8(roll(128)) } + [0xF7])
          default:
            .note(
              channel: channel, number: UInt8(roll(128)), velocity: UInt8(1 + roll(127)),
              release: UInt8(roll(128)), duration: Double(roll(400)) / 96)
          }
        try track.add(event, at: beat)
      }
    }
    return sequence
  }

  /// Prints the events of a file as this test does.
  private static let reader = """
    import mido, sys
    for number, track in enumerate(mido.MidiFile(sys.argv[1]).tracks):
        tick = 0
        for message in track:
            tick += message.time
            print(number, tick, *message.bytes())
    """

  /// Writes such lines as a file of format 1.
  private static let writer = """
    import mido, sys
    file = mido.MidiFile(type=1, ticks_per_beat=int(sys.argv[2]))
    tracks = {}
    for line in sys.stdin:
        number, tick, *data = map(int, line.split())
        if number not in tracks:
            tracks[number] = (file.add_track(), [0])
        track, last = tracks[number]
        if data[0] == 0xFF:
            message = mido.midifiles.meta.build_meta_message(data[1], data[3:])
        else:
            message = mido.Message.from_bytes(data)
        track.append(message.copy(time=tick - last[0]))
        last[0] = tick
    file.save(sys.argv[1])
    """

  private func python(_ program: String, _ arguments: [String], input: String? = nil) throws
    -> String
  {
    let script = ["-c", program] + arguments
    let result =
      if let input {
        try run("sh", ["-c", "exec /usr/bin/python3 \"$@\" < \"$0\"", input] + script)
      } else { try run("/usr/bin/python3", script) }
    try require(result.status == 0 && result.errors == "", "\(result)")
    return result.output
  }

  @Test func midoReadsAndWritesTheSameEvents() throws {
    try withTemporaryFolder { folder in
      for seed in 1...12 {
        let sequence = try sequence(seed)
        let file = sequence.file(resolution: 96)
        let path = folder.appendingPathComponent("ours.mid")
        try Data(file.bytes).write(to: path)
        let wanted = lines(of: file)
        let read = try python(Self.reader, [path.path])
        expectEqual(read.split(separator: "\n").map(String.init), wanted, "seed \(seed)")
        // The file that mido writes with these events.
        let text = folder.appendingPathComponent("lines.txt")
        try Data((wanted.joined(separator: "\n") + "\n").utf8).write(to: text)
        let theirs = folder.appendingPathComponent("theirs.mid").path
        _ = try python(Self.writer, [theirs, "96"], input: text.path)
        let again = try StandardMIDIFile(path: theirs)
        expectEqual(again, file, "seed \(seed)")
        let loaded = EventSequence()
        try loaded.load(again, isByChannel: false)
        expectEqual(lines(of: loaded.file(resolution: 0)), wanted, "seed \(seed)")
      }
    }
  }

  @Test func midicsvReadsAndWritesTheSameEvents() throws {
    try withTemporaryFolder { folder in
      for seed in 1...12 {
        let file = try sequence(seed).file(resolution: 96)
        let path = folder.appendingPathComponent("ours.mid")
        try Data(file.bytes).write(to: path)
        let table = folder.appendingPathComponent("table.csv").path
        let read = try run("midicsv", [path.path, table])
        try require(read.status == 0 && read.errors == "", "\(read)")
        let rows = text(of: URL(fileURLWithPath: table)).split(separator: "\n").map { row in
          row.components(separatedBy: ", ")
        }
        // Notes and controllers, in order.
        let wanted = lines(of: file).compactMap { line -> String? in
          let words = line.split(separator: " ").compactMap { Int($0) }
          guard words[2] < 0xF0, words[2] >> 4 != 0xE else { return nil }
          return words.map(String.init).joined(separator: " ")
        }
        let statuses = [
          "Note_off_c": 0x80, "Note_on_c": 0x90, "Poly_aftertouch_c": 0xA0, "Control_c": 0xB0,
          "Program_c": 0xC0, "Channel_aftertouch_c": 0xD0,
        ]
        let found = rows.compactMap { row -> String? in
          guard row.count > 4, let status = statuses[row[2]], let track = Int(row[0]),
            let channel = Int(row[3])
          else { return nil }
          return ["\(track - 1)", row[1], "\(status | channel)"].joined(separator: " ") + " "
            + row[4...].joined(separator: " ")
        }
        expectEqual(found, wanted, "seed \(seed)")
        let theirs = folder.appendingPathComponent("theirs.mid").path
        let written = try run("csvmidi", [table, theirs])
        try require(written.status == 0 && written.errors == "", "\(written)")
        expectEqual(try StandardMIDIFile(path: theirs), file, "seed \(seed)")
      }
    }
  }
}
