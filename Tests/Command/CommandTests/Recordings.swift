import CTestSupport
import Foundation
import TestSupport
import Testing

// Helpers that inspect files of `cuejack record`.

/// Returns the frame count that `cuejack info` shows.
func shownFrames(_ file: String) throws -> Int {
  let info = try cuejack("info", ["--json", file])
  expectTrue(info.status == 0 && info.errors == "", "\(info.errors)")
  return try require(
    info.output.firstMatch(of: #/"frames" : (\d+)/#).flatMap { Int($0.output.1) })
}

/// Returns the file's samples in the high bits.
func decoded(_ file: URL) throws -> [Int32] { try decoded(file, as: "s32le") }

/// Returns the file's samples, decoded by `ffmpeg`.
func decoded<Sample>(_ file: URL, as format: String) throws -> [Sample] {
  let raw = file.appendingPathExtension("raw")
  let result = try run(
    "ffmpeg", ["-v", "error", "-y", "-i", file.path, "-f", format, raw.path])
  expectTrue(
    result.status == 0 && result.errors == "", "\(file.lastPathComponent): \(result.errors)")
  return try Data(contentsOf: raw).withUnsafeBytes { Array($0.bindMemory(to: Sample.self)) }
}

/// Inspects a float recording of an emitter's two channels. Returns its length, the number of its first
/// frame, and how many samples differ from their frame's number.
func emitted(_ file: String) throws -> (frames: Int, first: UInt32, wrong: Int) {
  let wave = try Data(contentsOf: URL(fileURLWithPath: file))
  let head = try require(wave.range(of: Data("data".utf8)))
  let sound = Data(wave[(head.upperBound + 4)...])
  let samples = sound.withUnsafeBytes { bytes in
    (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
  }
  let first = samples.first.map { UInt32($0) } ?? 0
  var wrong = 0
  for (index, sample) in samples.enumerated() {
    let frame = first &+ UInt32(index / 2)
    if sample != Emitter.sample(at: frame, channel: index % 2) { wrong += 1 }
  }
  return (samples.count / 2, first, wrong)
}

/// Starts recording an emitter and waits until the file holds `bytes` bytes.
func recordEmitter(
  _ file: String, on server: JackDaemon, _ arguments: [String] = [], bytes: Int = 100_000,
  in folder: URL
) throws -> Playing {
  let recorder = try Playing(
    "record",
    [file, "--format", "f32", "--server", server.name] + arguments
      + ["--connect", "emitter:out_1,emitter:out_2"], in: folder)
  try recorder.wait(for: "-> cuejack-record")
  try waitForSize(bytes, of: [file])
  return recorder
}

private func size(_ file: String) -> Int {
  (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
}

/// Returns the frame count of a file, after checking that `ffprobe` opens it as well.
func openedFrames(_ file: String) throws -> Int {
  let frames = try shownFrames(file)
  let probe = try run(
    "ffprobe", ["-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", file])
  expectTrue(probe.status == 0 && probe.output != "" && probe.errors == "", "\(file): \(probe)")
  return frames
}

/// Waits until each of the files has at least `bytes` bytes.
func waitForSize(_ bytes: Int, of files: [String]) throws {
  let end = Date(timeIntervalSinceNow: 60)
  while files.contains(where: { size($0) < bytes }) {
    try require(Date() < end, "\(files) do not grow")
    usleep(5000)
  }
}

/// Expects exit code 1, one line with the error and one with the result.
func expectFailure(
  _ result: CommandResult, _ words: [String], _ location: SourceLocation = #_sourceLocation
) {
  expectEqual(result.status, 1, "\(result.output)\(result.errors)", sourceLocation: location)
  let lines = result.errors.split(separator: "\n").filter { !$0.contains("were not recorded") }
  expectTrue(
    lines.contains { line in
      line.hasPrefix("cuejack: ") && words.allSatisfy { line.contains($0) }
    }, "\(words) in:\n\(result.errors)", sourceLocation: location)
}
