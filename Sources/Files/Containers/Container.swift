import System

/// A container: the file type, independent of the codec of its sound.
package enum Container: String, CaseIterable, CustomStringConvertible, Sendable {
  case aiff, aifc, caf, wave, rf64, wave64, next
  case m4a, mp4, m4b, threeGP, threeGP2, adts, mp3, mp2, mp1, ac3, flac, ogg, amr
  /// Any other file type that libsndfile reads. The open file has its name.
  case other

  /// The containers that Cuejack reads and writes by name.
  package static let allCases: [Container] = [
    .aiff, .aifc, .caf, .wave, .rf64, .wave64, .next, .m4a, .mp4, .m4b, .threeGP, .threeGP2, .adts,
    .mp3, .mp2, .mp1, .ac3, .flac, .ogg, .amr,
  ]

  /// Name of the container.
  package var description: String {
    switch self {
    case .aiff: "AIFF"
    case .aifc: "AIFF-C"
    case .caf: "CAF"
    case .wave: "WAVE"
    case .rf64: "RF64"
    case .wave64: "Wave64"
    case .next: "NeXT/Sun AU"
    case .m4a: "Apple MPEG-4 Audio"
    case .mp4: "MPEG-4"
    case .m4b: "MPEG-4 Audiobook"
    case .threeGP: "3GPP"
    case .threeGP2: "3GPP2"
    case .adts: "AAC ADTS"
    case .mp3: "MPEG Layer 3"
    case .mp2: "MPEG Layer 2"
    case .mp1: "MPEG Layer 1"
    case .ac3: "AC-3"
    case .flac: "FLAC"
    case .ogg: "Ogg"
    case .amr: "AMR"
    case .other: "other"
    }
  }

  /// File name extensions without the dot; the usual one first.
  package var extensions: [String] {
    switch self {
    case .aiff: ["aiff", "aif"]
    case .aifc: ["aifc", "aiff", "aif"]
    case .caf: ["caf"]
    case .wave: ["wav", "wave"]
    case .rf64: ["rf64", "wav"]
    case .wave64: ["w64"]
    case .next: ["au", "snd"]
    case .m4a: ["m4a", "m4r"]
    case .mp4: ["mp4", "mpg4"]
    case .m4b: ["m4b"]
    case .threeGP: ["3gp", "3gpp"]
    case .threeGP2: ["3g2", "3gp2"]
    case .adts: ["aac", "adts"]
    case .mp3: ["mp3", "mpga"]
    case .mp2: ["mp2"]
    case .mp1: ["mp1"]
    case .ac3: ["ac3"]
    case .flac: ["flac"]
    case .ogg: ["ogg", "oga", "opus"]
    case .amr: ["amr"]
    case .other: []
    }
  }

  /// Extensions of the files that can be read, without the dot.
  package static let readExtensions = Set(
    allCases.flatMap(\.extensions) + LibavType.allCases.flatMap(\.extensions) + [
      "voc", "paf", "svx", "8svx", "nist", "sph", "sds", "avr", "xi", "ircam", "sf", "htk",
    ])

  /// Creates the container that matches a path's extension; nil if none does.
  package init?(forPath path: String) {
    let end = path.pathExtension.dropFirst().lowercased()
    let kind =
      Self.allCases.first { $0.extensions.first == end }
      ?? Self.allCases.first { $0.extensions.contains(end) }
    guard let kind else { return nil }
    self = kind
  }

  /// True if linear PCM in this container is usually big-endian.
  package var isBigEndian: Bool {
    switch self {
    case .aiff, .aifc, .next: true
    default: false
    }
  }

  /// True if the container can hold linear PCM.
  package var holdsPCM: Bool {
    switch self {
    case .aiff, .aifc, .caf, .wave, .rf64, .wave64, .next: true
    default: false
    }
  }
}
