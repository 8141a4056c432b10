import CTestSupport
import Foundation
import TestSupport
import Testing

/// Long recordings lose nothing and do not grow in memory. An hour in `make proof`, thirty seconds in
/// `make test`.
@Suite(.tags(.server, .program), .serialized) struct LongRecordingTests {
  /// The recorded file, for the client that keeps the server from running ahead of the recorder.
  private final class Pace: Sendable {
    let path: String
    let bytesPerFrame: Int
    init(path: String, bytesPerFrame: Int) {
      self.path = path
      self.bytesPerFrame = bytesPerFrame
    }

    /// Returns whether the file contains all but the last two seconds. The recorder's buffers hold four
    /// seconds.
    func hasKeptUp(_ frames: UInt32) -> Bool {
      var status = stat()
      guard stat(path, &status) == 0 else { return true }
      return (Int(frames) - 2 * 48000) * bytesPerFrame <= Int(status.st_size)
    }
  }

  /// Records eight channels of an emitter's frame numbers as fast as they can be written.
  @Test func nothingOfALongRecordingIsLost() throws {
    let seconds = proof == nil ? 30 : 3600
    let channels = 8
    try withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("long.w64")
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server, channels: channels)
      let pace = Pace(path: file.path, bytesPerFrame: 4 * channels)
      var status = JackStatus(rawValue: 0)
      let lockstep = try require(
        cue_lockstep_open(
          server.name, "pace", 0,
          { data, frames in
            Unmanaged<Pace>.fromOpaque(data!).takeUnretainedValue().hasKeptUp(frames)
          }, Unmanaged.passUnretained(pace).toOpaque(), &status))
      defer { cue_lockstep_close(lockstep) }
      let clock = try CaptureClient(on: server, name: "clock", channels: 1, capacity: 1)
      let start = clock.cycleFrame &+ UInt32(10 * server.rate)
      let program =
        if let proof { "\(proof)/cuejack" } else { try builtProduct(named: "cuejack").path }
      let output = folder.appendingPathComponent("output")
      let recorder = try Child(
        program,
        ["record", file.path, "--format", "f32", "--server", server.name, "--at", "\(start)"]
          + (1...channels).flatMap { ["--connect", "emitter:out_\($0)"] },
        environment: playEnvironment(), output: output)
      let ready = Date(timeIntervalSinceNow: 60)
      while !text(of: output).contains(":in_8"), Date() < ready { usleep(5000) }
      cue_lockstep_begin(lockstep, start)
      try clock.setFreewheel(true)
      var sizes: [Int] = []
      let end = Date(timeIntervalSinceNow: proof == nil ? 120 : 3600)
      let frames = seconds * server.rate
      var size = 0
      while size < 4 * channels * (frames + 1024), recorder.wait(seconds: 0) == nil, Date() < end {
        usleep(proof == nil ? 20_000 : 1_000_000)
        var status = stat()
        if stat(file.path, &status) == 0 { size = Int(status.st_size) }
        if let size = residentKilobytes(recorder.processIdentifier) { sizes.append(size) }
      }
      // In freewheel mode no client can leave the server.
      try clock.setFreewheel(false)
      recorder.send(signal: SIGINT)
      expectEqual(recorder.wait(seconds: 60), 0, "\(text(of: output))")
      // Lost frames would be silence.
      try expectEqual(wrongSamples(file, frames: frames, channels: channels, start: start), 0)
      // After its start the recorder allocates no more memory.
      let settled = sizes.dropFirst(sizes.count / 4)
      let first = try require(settled.first)
      let growth = settled.max()! - first
      expectTrue(growth < 4096, "\(growth) kB more of \(first)")
      withExtendedLifetime((emitter, pace)) {}
    }
  }

  private func residentKilobytes(_ process: Int32) -> Int? {
    let status = text(of: URL(fileURLWithPath: "/proc/\(process)/status"))
    return status.firstMatch(of: #/VmRSS:\s+(\d+) kB/#).flatMap { Int($0.output.1) }
  }
}

/// Returns how many samples of the first `frames` frames are wrong or missing in a Wave64 file that
/// recorded an `Emitter` from JACK frame `start` on.
func wrongSamples(_ file: URL, frames: Int, channels: Int, start: UInt32) throws -> Int {
  let handle = try FileHandle(forReadingFrom: file)
  defer { try? handle.close() }
  let head = try require(try handle.read(upToCount: 4096))
  // Chunks of Wave64 have 16-byte names and 8-byte sizes.
  let chunk = try require(
    head.range(of: Data("data\u{F3}".unicodeScalars.map { UInt8($0.value) })))
  try handle.seek(toOffset: UInt64(chunk.lowerBound + 24))
  var wrong = 0
  var frame = 0
  while frame < frames, let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {
    let count = min(frames - frame, piece.count / (4 * channels))
    wrong += piece.withUnsafeBytes {
      Int(
        cue_emitter_wrong(
          $0.bindMemory(to: Float.self).baseAddress, UInt32(count), UInt32(channels),
          start &+ UInt32(frame)))
    }
    frame += count
  }
  return wrong + (frames - frame) * channels
}
