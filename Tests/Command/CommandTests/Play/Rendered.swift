import Foundation
import TestSupport
import Testing

// Helpers for the sound that `cuejack play --render` writes.

/// Renders without a server, where none may be started, and returns the channels of 32-bit floats.
func rendered(
  _ arguments: [String], in folder: URL, _ location: SourceLocation = #_sourceLocation
) throws -> [[Float]] {
  let output = folder.appendingPathComponent("rendered-\(UUID().uuidString).wav")
  defer { try? FileManager.default.removeItem(at: output) }
  let result = try play(
    arguments + ["--render", output.path, "--format", "f32"], environment: withoutServer)
  try require(
    result.status == 0 && result.errors == "", "\(arguments): \(result)", sourceLocation: location)
  return try channels(of: output)
}

/// An environment without a server, in which none may be started.
let withoutServer = [
  "JACK_DEFAULT_SERVER": "cuejack-test-none-\(getuid())", "JACK_NO_START_SERVER": "1",
]

/// Returns the channels of a file, decoded by `cuejack convert`.
func converted(_ path: String, in folder: URL) throws -> [[Float]] {
  let output = folder.appendingPathComponent("converted-\(UUID().uuidString).wav")
  defer { try? FileManager.default.removeItem(at: output) }
  let result = try cuejack("convert", [path, output.path, "--format", "f32"])
  try require(result.status == 0, "\(result)")
  return try channels(of: output)
}

/// Returns the channels of a WAVE file of 32-bit floats.
func channels(of file: URL) throws -> [[Float]] {
  let wave = try Data(contentsOf: file)
  let head = try require(wave.range(of: Data("data".utf8)))
  let format = try require(wave.range(of: Data("fmt ".utf8)))
  let count = Int(wave[format.upperBound + 6])
  try require(count > 0)
  // Chunks may follow.
  let size = (0..<4).reduce(0) { $0 | Int(wave[head.upperBound + $1]) << (8 * $1) }
  let sound = Data(wave[(head.upperBound + 4)...].prefix(size))
  let samples = sound.withUnsafeBytes { bytes in
    (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
  }
  return (0..<count).map { channel in
    stride(from: channel, to: samples.count, by: count).map { samples[$0] }
  }
}

/// Returns sounds one after another.
func joined(_ sounds: [[[Float]]]) -> [[Float]] {
  sounds[0].indices.map { channel in sounds.flatMap { $0[channel] } }
}
