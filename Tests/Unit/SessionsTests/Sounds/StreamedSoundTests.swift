import FileSupport
import Files
import Foundation
import RealTime
import Testing

@testable import Sessions

/// Sound of pipes that plays while it arrives.
@Suite struct StreamedSoundTests {
  /// A pipe that gives frame after frame of 16-bit samples, which count from 1 on.
  private func pipe(in folder: TemporaryFolder, frames: Int) throws -> String {
    let path = folder.file("pipe")
    try require(mkfifo(path, 0o600) == 0)
    let writer = Thread {
      let samples = (0..<frames).map { Int16(truncatingIfNeeded: $0 | 1) }
      let bytes = samples.withUnsafeBytes { Data($0) }
      try? FileHandle(forWritingAtPath: path)?.write(contentsOf: bytes)
    }
    writer.start()
    return path
  }

  @Test(arguments: [Int64(1 << 20), 1 << 30])
  func earlierSoundThatIsNotKeptIsSilent(kept: Int64) throws {
    let folder = try TemporaryFolder()
    let frames = 3 << 20
    let format = PCMFormat(sampleRate: 48000, channels: 1, kind: .signedInteger, bitsPerSample: 16)
    let sound = try require(
      try StreamedSound(pipe: pipe(in: folder, frames: frames), raw: format, keeping: kept))
    var samples = [Int16](repeating: 0, count: 1 << 14)
    func read(at frame: Int64) throws -> Int {
      try samples.withUnsafeMutableBytes { memory in
        try sound.read(startingAt: frame, frames: 1 << 14, into: memory)
      }
    }
    var position: Int64 = 0
    while case let count = try read(at: position), count > 0 {
      expectEqual(samples[0], Int16(truncatingIfNeeded: position | 1))
      position += Int64(count)
    }
    expectEqual(position, Int64(frames))
    samples[1] = 77
    expectTrue(try read(at: 0) > 1)
    expectEqual(samples[1], (kept > 1 << 20 ? 1 : 0))
  }
}
