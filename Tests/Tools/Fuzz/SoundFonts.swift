import Files
import Foundation
import Sessions
import TestSupport

/// Damaged SoundFonts, through which a song is rendered as by `cuejack play --soundfont`.
struct SoundFonts: Subject {
  private let corpus: Corpus

  init(_ corpus: Corpus) { self.corpus = corpus }

  /// Creates SoundFonts with a loop, without one, and in another bank, and a song.
  static func make(in folder: String) throws {
    var drums = TinySoundFont.constant
    (drums.bank, drums.loops) = (128, false)
    for (name, font) in [
      ("sine.sf2", TinySoundFont.sine), ("constant.sf2", .constant), ("drums.sf2", drums),
    ] {
      try font.data.write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
  }

  /// A song of three notes on two channels.
  private static let notes: [UInt8] = {
    let track: [UInt8] = [
      0, 0x90, 60, 100, 0, 0x99, 36, 127, 10, 0xE0, 0, 100, 10, 0x90, 100, 90, 20, 0x80, 60, 0, 0,
      0xFF, 0x2F, 0,
    ]
    return Array("MThd".utf8) + [0, 0, 0, 6, 0, 0, 0, 1, 0, 96] + Array("MTrk".utf8)
      + [0, 0, 0, UInt8(track.count)] + track
  }()

  func input(_ dice: inout Dice) -> Corpus.File { corpus.damaged(&dice) }

  func run(_ input: Corpus.File, scratch: String, _ dice: inout Dice) throws {
    let (font, song) = ("\(scratch).sf2", "\(scratch).mid")
    defer { for path in [font, song] { try? FileManager.default.removeItem(atPath: path) } }
    try Data(input.bytes).write(to: URL(fileURLWithPath: font))
    try Data(Self.notes).write(to: URL(fileURLWithPath: song))
    guard let sound = try? MIDISound(path: song, soundFont: font) else { return }
    var memory = [Float](repeating: 0, count: 2 * 24_000)
    let count = try memory.withUnsafeMutableBytes {
      try sound.read(startingAt: 0, frames: 24_000, into: $0)
    }
    guard count == 24_000 else { throw FuzzError("\(count) frames") }
  }
}
