package import Codecs
package import Files
package import RealTime
import System

/// A sample format or codec, as named by `--format` and in sessions.
package enum SoundCoding: Equatable, Sendable {
  case pcm(PCMFormat.Kind, bits: Int)
  case packets(Codec)

  private static let known: [(name: String, coding: SoundCoding)] = [
    ("u8", .pcm(.unsignedInteger, bits: 8)), ("s8", .pcm(.signedInteger, bits: 8)),
    ("s16", .pcm(.signedInteger, bits: 16)), ("s24", .pcm(.signedInteger, bits: 24)),
    ("s32", .pcm(.signedInteger, bits: 32)), ("f32", .pcm(.float, bits: 32)),
    ("f64", .pcm(.float, bits: 64)), ("aac", .packets(.aac)), ("alac", .packets(.alac)),
    ("flac", .packets(.flac)), ("opus", .packets(.opus)), ("vorbis", .packets(.vorbis)),
    ("mp3", .packets(.mp3)), ("mp2", .packets(.mp2)), ("ac3", .packets(.ac3)),
    ("eac3", .packets(.eac3)), ("ima4", .packets(.ima4)), ("ulaw", .packets(.ulaw)),
    ("alaw", .packets(.alaw)), ("amr", .packets(.amrNarrow)), ("gsm", .packets(.gsm)),
    ("msima", .packets(.msIMA)),
  ]

  /// Returns the usual integer format with this many bits for a container.
  package static func integers(bits: Int, in container: Container) -> SoundCoding {
    // Only WAVE files store eight bits unsigned.
    let isWave = [.wave, .rf64, .wave64].contains(container)
    return .pcm(bits <= 8 && isWave ? .unsignedInteger : .signedInteger, bits: max(8, bits))
  }

  /// Creates a coding from its name; nil for other texts.
  package init?(_ name: String) {
    guard let found = Self.known.first(where: { $0.name == name.lowercased() }) else {
      return nil
    }
    self = found.coding
  }

  /// The names of all codings.
  package static var names: [String] { known.map(\.name) }

  package var name: String { Self.known.first { $0.coding == self }?.name ?? "" }
}
