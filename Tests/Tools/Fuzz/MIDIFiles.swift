import Files
import Foundation
import Music

/// Damaged Standard MIDI Files, read as `cuejack play --midi` reads them.
struct MIDIFiles: Subject {
  private let corpus: Corpus

  init(_ corpus: Corpus) { self.corpus = corpus }

  /// Creates files of both formats, with tempo changes, running status, exclusive messages and time code.
  static func make(in folder: String) throws {
    func word(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(value >> (8 * (count - 1 - $0)) & 0xff) }
    }
    func track(_ body: [UInt8]) -> [UInt8] { Array("MTrk".utf8) + word(body.count, 4) + body }
    func file(_ format: Int, _ division: Int, _ tracks: [[UInt8]]) -> [UInt8] {
      Array("MThd".utf8) + word(6, 4) + word(format, 2) + word(tracks.count, 2)
        + word(division, 2) + tracks.flatMap(track)
    }
    let tempo: [UInt8] = [
      0, 0xff, 0x51, 3, 7, 0xa1, 0x20, 0x83, 0x60, 0xff, 0x51, 3, 0x0f, 0x42, 0x40, 0, 0xff, 0x2f,
      0,
    ]
    let notes: [UInt8] = [
      0, 0x90, 60, 100, 0x81, 0x70, 60, 0, 10, 0xc1, 5, 3, 0xb0, 7, 100, 1, 0xe0, 0, 64, 0, 0xf0, 3,
      1, 2,
      0xf7, 0, 0xf0, 1, 9, 5, 0xf7, 2, 8, 0xf7, 0, 0xff, 3, 2, 65, 66, 0, 0xf7, 1, 0xf8, 0, 0xff,
      0x2f, 0,
    ]
    for (name, bytes) in [
      ("one.mid", file(0, 96, [notes])), ("two.mid", file(1, 480, [tempo, notes, notes])),
      ("code.mid", file(1, 0xe728, [tempo, notes])),
    ] {
      try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
  }

  func input(_ dice: inout Dice) -> Corpus.File { corpus.damaged(&dice) }

  func run(_ input: Corpus.File, scratch: String, _ dice: inout Dice) throws {
    if let whole = try? StandardMIDIFile(input.bytes, path: input.name),
      !whole.tracks.contains(where: { $0.end > 0x0FFF_FFFF })
    {
      let again = try? StandardMIDIFile(whole.bytes, path: input.name)
      guard again == whole else { throw FuzzError("the file is not what was written of it") }
      let sequence = EventSequence()
      if (try? sequence.load(whole, isByChannel: true)) != nil {
        _ = sequence.file(resolution: 480).bytes
      }
    }
    guard let file = try? MIDIFile(input.bytes, path: input.name) else { return }
    var last: Int64 = 0
    for message in file.messages {
      let frame = file.frame(at: message.time, sampleRate: 192_000)
      guard frame >= last, message.count > 0, file.bytes[message.offset] >= 0x80,
        message.offset + message.count <= file.bytes.count
      else { throw FuzzError("a message is out of order or not whole") }
      last = frame
    }
    guard file.end >= file.messages.last?.time ?? 0,
      last <= 192_000 * Int64(MIDIFile.mostSeconds)
    else { throw FuzzError("the file lasts \(file.end)") }
  }
}
