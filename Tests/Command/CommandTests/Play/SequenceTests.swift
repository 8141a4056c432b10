import Foundation
import TestSupport
import Testing

/// Files that follow each other: each joint, bit for bit.
@Suite(.tags(.server, .program), .serialized) struct SequenceTests {
  /// Encodes noise to a file of another format.
  private func encoded(_ name: String, _ arguments: [String], seed: UInt64, in folder: URL) throws
    -> String
  {
    let noise = try WaveFile(
      "noise.wav", in: folder, coding: .s24, frames: 24_100 + Int(seed), seed: seed)
    let file = folder.appendingPathComponent(name).path
    let made = try run("ffmpeg", ["-v", "error", "-y", "-i", noise.path] + arguments + [file])
    try require(made.status == 0, "\(made.errors)")
    return file
  }

  /// AAC, MP3, Opus and FLAC: the joints lie where the sound of each file ends, not its last packet.
  @Test func filesOfCodecsFollowEachOtherOnAServer() throws {
    try withTemporaryFolder { folder in
      let files = try [
        ("a.m4a", ["-c:a", "aac"]), ("b.mp3", ["-c:a", "libmp3lame"]),
        ("c.opus", ["-c:a", "libopus"]), ("d.ogg", ["-c:a", "libvorbis"]),
      ].enumerated().map {
        try encoded($1.0, $1.1, seed: UInt64($0 + 1), in: folder)
      }
      let expected = try joined(files.map { try converted($0, in: folder) })
      expectEqual(expected[0].count, 4 * 24_100 + 10)
      let recording = try Recording(
        channels: 2, in: folder,
        [["-q"] + files + ["--seconds", "0.9s", "--connect", "capture"]])
      for channel in 0..<2 {
        recording.expect(channel, Array(expected[channel].prefix(43_200)))
      }
      // The rest of the row, faster than real time.
      expectNil(difference(try rendered(["--sequence"] + files, in: folder), expected))
    }
  }

  /// Three files of one codec: also where the decoder begins anew at each joint.
  @Test(arguments: [
    ("m4a", ["-c:a", "aac"]), ("mp3", ["-c:a", "libmp3lame"]), ("opus", ["-c:a", "libopus"]),
    ("flac", ["-c:a", "flac"]), ("wav", ["-c:a", "pcm_s24le"]),
  ])
  func filesOfOneCodecFollowEachOther(end: String, arguments: [String]) throws {
    try withTemporaryFolder { folder in
      let files = try (1...3).map {
        try encoded("\($0).\(end)", arguments, seed: UInt64($0), in: folder)
      }
      let expected = try joined(files.map { try converted($0, in: folder) })
      expectEqual(expected[0].count, 3 * 24_100 + 6)
      expectNil(difference(try rendered(["-q"] + files, in: folder), expected))
      // The whole row is repeated without a gap, too.
      let twice = try rendered(["-q", "--repeat", "--seconds", "2"] + files, in: folder)
      let loop = expected.map { Array(($0 + $0).prefix(96_000)) }
      expectNil(difference(twice, loop))
    }
  }

  @Test func aSequenceIsHeardAsItsFilesOnAServer() throws {
    try withTemporaryFolder { folder in
      let files = try (1...3).map {
        try WaveFile("\($0).wav", in: folder, frames: 9001 + $0, seed: UInt64($0))
      }
      let recording = try Recording(
        channels: 2, in: folder, [["-q"] + files.map(\.path) + ["--connect", "capture"]])
      for channel in 0..<2 { recording.expect(channel, files.flatMap { $0.samples[channel] }) }
      let result = recording.results[0]
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      expectTrue(result.output.contains("1.wav and 2 more: played 27009 frames"), "\(result)")
    }
  }

  @Test func filesOfOtherFormatsTakeThoseOfTheFirst() throws {
    try withTemporaryFolder { folder in
      let stereo = try WaveFile("a.wav", in: folder, frames: 4800, seed: 1)
      let mono = try WaveFile("b.wav", in: folder, channels: 1, frames: 4801, seed: 2)
      let other = try WaveFile("c.wav", in: folder, rate: 24_000, frames: 2400, seed: 3)
      let found = try rendered(["-q", stereo.path, mono.path, other.path], in: folder)
      expectEqual(found.map(\.count), [4800 + 4801 + 4800, 4800 + 4801 + 4800])
      for channel in 0..<2 {
        // One channel goes to both.
        expectEqual(Array(found[channel].prefix(9601)), stereo.samples[channel] + mono.samples[0])
      }
    }
  }

  @Test func aFileOfASequenceHasAGainAndAPartOfItsOwn() throws {
    try withTemporaryFolder { folder in
      let files = try (1...3).map {
        try WaveFile("\($0).wav", in: folder, frames: 9600, seed: UInt64($0))
      }
      let found = try rendered(
        [
          "-q", files[0].path + "@gain=0.5", files[1].path + "@start=0.1,end=9000f", files[2].path,
          "--gain", "2",
        ], in: folder)
      // The gain of one file takes the place of that for all.
      let expected = (0..<2).map { channel -> [Float] in
        let first: [Float] = files[0].samples[channel].map { $0 * 0.5 }
        let second: [Float] = files[1].samples[channel][4800..<9000].map { $0 * 2 }
        let third: [Float] = files[2].samples[channel].map { $0 * 2 }
        return first + second + third
      }
      expectNil(difference(found, expected))
    }
  }

  @Test func aShuffledSequenceHasEachFileOnce() throws {
    try withTemporaryFolder { folder in
      let files = try (1...8).map {
        try WaveFile("\($0).wav", in: folder, frames: 480, seed: UInt64($0))
      }
      var orders: Set<[Int]> = []
      for _ in 1...4 {
        let found = try rendered(["-q", "--shuffle"] + files.map(\.path), in: folder)[0]
        let order = stride(from: 0, to: found.count, by: 480).compactMap { start in
          files.firstIndex { $0.samples[0].elementsEqual(found[start..<start + 480]) }
        }
        expectEqual(order.sorted(), Array(0..<8), "\(order)")
        orders.insert(order)
      }
      expectTrue(orders.count > 1)
    }
  }
}
