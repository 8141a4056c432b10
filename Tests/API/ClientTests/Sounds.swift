import Foundation
import TestSupport

/// A kind of sound file; the raw value is the name of the files.
enum Kind: String, CaseIterable, Sendable {
  case wave = "pcm.wav"
  case aiff = "pcm.aiff"
  case caf = "pcm.caf"
  case aac = "aac.m4a"
  case mp3 = "mp3.mp3"
  case lossless = "alac.m4a"
  case ima4 = "ima4.caf"
  /// AAC without a container that tells its priming.
  case adts = "adts.aac"
  /// IMA4 without a packet table.
  case aifc = "ima4.aifc"
  /// Apple Lossless with the tables before the sound.
  case optimized = "optimized.m4a"

  /// The kinds that a file player is given.
  static let files: [Kind] = [.wave, .aiff, .caf, .aac, .mp3, .lossless, .ima4]
  /// The kinds that can be played while they arrive.
  static let streams: [Kind] = [.wave, .aiff, .caf, .adts, .mp3, .optimized, .aifc]

  var isPCM: Bool { [.wave, .aiff, .caf].contains(self) }

  /// The format as `cuejack convert` names it.
  fileprivate var format: String {
    switch self {
    case .wave, .aiff: "s16"
    case .caf: "f32"
    case .aac, .adts: "aac"
    case .mp3: "mp3"
    case .lossless, .optimized: "alac"
    case .ima4, .aifc: "ima4"
    }
  }
}

/// The device's rate and the one that every queue converts from.
let rates = [48000, 44100]

/// A sound file and what it decodes to.
struct SoundFile: Sendable {
  let path: String
  let rate: Int
  /// The channels of the sound, without a codec's priming and remainder.
  let sound: [[Float]]
  /// The channels of all packets, priming and remainder included, as ffmpeg decodes them.
  let decoded: [[Float]]
}

/// Sound files for the tests of a process, in a folder of their own. Each is made when a test first asks for it. Any
/// thread.
final class Sounds: @unchecked Sendable {
  private static let shared = Result { try Sounds() }

  private let folder: URL
  private let lock = NSLock()
  private var files: [String: SoundFile] = [:]

  /// Duration of the sound: several buffers of each program, the last one partial.
  static let seconds = 0.7

  private init() throws {
    folder = try makeTemporaryFolder()
    atexit {
      if case .success(let sounds) = Sounds.shared {
        try? FileManager.default.removeItem(at: sounds.folder)
      }
    }
  }

  static func file(_ kind: Kind, _ rate: Int) throws -> SoundFile {
    let sounds = try shared.get()
    return try sounds.lock.withLock {
      let name = "\(rate)-\(kind.rawValue)"
      if let file = sounds.files[name] { return file }
      let samples = samples(rate: rate)
      let source = sounds.folder.appendingPathComponent("source.wav").path
      try writeWave(samples, rate: rate, to: source)
      let path = sounds.folder.appendingPathComponent(name).path
      try convert(source, path, ["--format", kind.format])
      if kind == .optimized { try moveTablesToTheFront(path) }
      let file = SoundFile(
        path: path, rate: rate, sound: kind.isPCM ? samples : try sound(of: path),
        decoded: kind.isPCM ? samples : try decoded(path))
      sounds.files[name] = file
      return file
    }
  }

  /// Returns two channels of 16-bit samples, none of them zero, as floats: two tones and noise.
  static func samples(rate: Int) -> [[Float]] {
    var noise = SplitMix(state: UInt64(rate))
    let frames = Int(seconds * Double(rate)) | 1
    return [(440.0, 0.4), (660, 0.3)].map { tone, level in
      (0..<frames).map { frame in
        let phase = 2 * Double.pi * tone * Double(frame) / Double(rate)
        let value = Int16(32767 * level * sin(phase)) + Int16.random(in: -400...400, using: &noise)
        return Float(value | 1) / 32768
      }
    }
  }

  /// Runs `cuejack convert`.
  static func convert(_ source: String, _ destination: String, _ options: [String]) throws {
    let result = try cuejack("convert", ["--force", source, destination] + options)
    guard result.status == 0 else { throw SupportError("\(destination): \(result.errors)") }
  }

  /// Rewrites an MPEG-4 file so that it can be played while it arrives.
  private static func moveTablesToTheFront(_ path: String) throws {
    let other = path + ".m4a"
    let result = try run(
      "ffmpeg", ["-v", "error", "-i", path, "-c", "copy", "-movflags", "+faststart", other])
    guard result.status == 0, rename(other, path) == 0 else {
      throw SupportError("\(path): \(result.errors)")
    }
  }

  /// Returns the channels of a file's sound, as `cuejack convert` decodes it, at a rate.
  static func sound(of path: String, rate: Int? = nil) throws -> [[Float]] {
    try withTemporaryFolder { folder in
      let wave = folder.appendingPathComponent("sound.wav").path
      try convert(path, wave, ["--format", "f32"] + (rate.map { ["--rate", "\($0)"] } ?? []))
      return try readWave(wave)
    }
  }

  /// Returns the channels of all packets of a file, as ffmpeg decodes them.
  private static func decoded(_ path: String) throws -> [[Float]] {
    try withTemporaryFolder { folder in
      let wave = folder.appendingPathComponent("decoded.wav").path
      // The flag keeps ffmpeg from trimming priming and remainder.
      let result = try run(
        "ffmpeg",
        ["-v", "error", "-flags2", "+skip_manual", "-i", path, "-c:a", "pcm_f32le", wave])
      guard result.status == 0 else { throw SupportError("\(path): \(result.errors)") }
      return try readWave(wave)
    }
  }
}

/// Returns channels at the device's rate: themselves, or as `cuejack convert` resamples them.
func atDeviceRate(_ channels: [[Float]], from rate: Int) throws -> [[Float]] {
  guard rate != 48000 else { return channels }
  return try withTemporaryFolder { folder in
    let wave = folder.appendingPathComponent("sound.wav").path
    try writeWave(channels, rate: rate, to: wave)
    let resampled = try Sounds.sound(of: wave, rate: 48000)
    let frames = Int((Double(channels[0].count) * 48000 / Double(rate)).rounded())
    guard resampled[0].count == frames else {
      throw SupportError("\(resampled[0].count) frames at 48 kHz instead of \(frames)")
    }
    return resampled
  }
}

extension [[Float]] {
  /// Returns the channels with each sample multiplied.
  func scaled(by gain: Float) -> [[Float]] { map { $0.map { $0 * gain } } }

  /// Returns the channels rounded to 16 bits, ties to even.
  var roundedTo16Bits: [[Float]] {
    map {
      $0.map { Swift.min(Swift.max(($0 * 32768).rounded(.toNearestOrEven), -32768), 32767) / 32768 }
    }
  }

  func prefix(frames: Int) -> [[Float]] { map { Array<Float>($0.prefix(frames)) } }
}

/// Returns the ratio of the expected sound to its difference from the found one, in decibels, for the
/// channel where it is lowest.
func signalToNoise(_ found: [[Float]], _ expected: [[Float]]) -> Double {
  guard found.map(\.count) == expected.map(\.count) else { return -.infinity }
  return zip(found, expected).map { found, expected in
    var (signal, noise) = (0.0, 0.0)
    for (a, b) in zip(found, expected) {
      signal += Double(b * b)
      noise += Double((a - b) * (a - b))
    }
    return 10 * log10(signal / max(noise, 1e-30))
  }.min() ?? 0
}
