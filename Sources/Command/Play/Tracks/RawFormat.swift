import ArgumentParser
import Codecs
import Files
import Glibc
import RealTime
import Sessions
import System

/// Samples without a header that come through a pipe.
enum RawInput {
  /// Reads a pipe to its end into a file that describes the samples, in its place. Blocks.
  static func read(_ path: String, as raw: RawFormat) throws(SoundFileError) {
    let store = try FileStore(namelessFor: PipedFile.name(of: path))
    let sound = try MediaFiles.create(store, container: raw.container, format: .pcm(raw.format))
    var position: Int64 = 0
    let arrival = try PipedFile.arrival(path)
    var isOver = false
    while !isOver {
      let end = try arrival.wait(beyond: position)
      isOver = end == position
      while position < end {
        let count = Int(min(1 << 16, end - position))
        guard let bytes = try arrival.store.bytes(at: position, count: count) else { break }
        let written = unsafe bytes.withUnsafeBytes { bytes in
          Result { () throws(SoundFileError) in
            try unsafe sound.writeBytes(at: position, from: bytes)
          }
        }
        try written.get()
        position += Int64(count)
      }
    }
    try sound.close()
    arrival.replace(by: store)
  }
}

/// The value of `--raw`: the format of samples without a header, such as `s16,44100,2`.
struct RawFormat: Sendable {
  let format: PCMFormat

  init(parsing text: String) throws {
    guard let format = Self.format(text) else {
      throw ValidationError(
        "“\(text)” is no FORMAT[,RATE[,CHANNELS]], where FORMAT is one of u8, s8, s16, s24, s32, f32 and "
          + "f64, or has be at its end for big-endian samples, such as s16be")
    }
    self.format = format
  }

  private static func format(_ text: String) -> PCMFormat? {
    let words = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    guard (1...3).contains(words.count) else { return nil }
    let isBigEndian = words[0].hasSuffix("be")
    guard
      case .pcm(let kind, let bits) = SoundCoding(String(words[0].dropLast(isBigEndian ? 2 : 0)))
    else { return nil }
    var format = PCMFormat(
      sampleRate: 48000, channels: 2, kind: kind, bitsPerSample: bits,
      isBigEndian: isBigEndian && bits > 8)
    if words.count > 1 {
      let isThousands = words[1].lowercased().hasSuffix("k")
      guard let rate = Double(isThousands ? String(words[1].dropLast()) : words[1]) else {
        return nil
      }
      format.sampleRate = isThousands ? rate * 1000 : rate
    }
    if words.count > 2 {
      guard let channels = Int(words[2]) else { return nil }
      format.channels = channels
    }
    guard (1000...1_000_000).contains(format.sampleRate),
      (1...PCMFormat.maximumChannels).contains(format.channels)
    else { return nil }
    return format
  }

  /// A container that holds the format as it is.
  fileprivate var container: Container {
    // CAF has no unsigned integers.
    format.kind == .unsignedInteger ? .rf64 : .caf
  }
}
