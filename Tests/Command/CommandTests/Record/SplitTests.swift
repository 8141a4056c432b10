import CTestSupport
import Foundation
import TestSupport
import Testing

/// `cuejack record` to several files, and the names of files.
@Suite(.tags(.server, .program), .serialized) struct SplitTests {
  /// Expects that the emitter's frames go on from file to file.
  ///
  /// - Returns: Frames of each file.
  @discardableResult
  private func expectJoined(_ files: [String], isExact: Bool) throws -> [Int] {
    var next: UInt32?
    var counts: [Int] = []
    for file in files {
      let (frames, first, wrong) = try emitted(file)
      counts.append(frames)
      // A busy machine may miss cycles, which are silence.
      if isExact {
        expectEqual(wrong, 0, "\(file)")
        if let next { expectEqual(first, next & 0x3f_ffff, "\(file)") }
      }
      next = first &+ UInt32(frames)
    }
    return counts
  }

  private func paths(_ numbers: ClosedRange<Int>, _ stem: String, in folder: URL) -> [String] {
    numbers.map { folder.appendingPathComponent("\(stem)-00\($0).wav").path }
  }

  @Test func aRecordingGoesOnInAnotherFile() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      defer { withExtendedLifetime(emitter) {} }
      for (name, split, counts) in [
        ("time", "500ms", [24_000, 24_000, 24_000, 4800]),
        ("frames", "30000f", [30_000, 30_000, 16_800]),
        // The header has 748 bytes, and one is kept for padding.
        ("size", "200kB", [24_906, 24_906, 24_906, 2082]),
      ] {
        let result = try cuejack(
          "record",
          [
            folder.appendingPathComponent("\(name).wav").path, "--split", split, "--seconds", "1.6",
            "--format", "f32", "--connect", "emitter", "--server", server.name,
          ])
        let files = paths(1...counts.count, name, in: folder)
        expectTrue(result.isRecorded, "\(result)")
        try expectEqual(
          expectJoined(files, isExact: result.output.contains("overruns: 0")), counts,
          "\(result)")
        for (file, count) in zip(files, counts) {
          expectTrue(result.output.contains("\(file): recorded \(count) frames ("), "\(result)")
        }
        expectTrue(
          result.output.contains("\n\(counts.count) files: recorded 76800 frames (00:01.600)"))
        // What `cuejack info` shows lines up.
        let references = try files.map { file in
          try require(
            try cuejack("info", ["--json", file]).output
              .firstMatch(of: #/"timeReference" : (\d+)/#).flatMap { Int($0.output.1) })
        }
        let sums = counts.dropLast().reduce(into: [0]) { $0.append($0.last! + $1) }
        expectEqual(references.map { $0 - references[0] }, sums)
      }
      let info = try cuejack("info", [paths(1...1, "time", in: folder)[0]]).output
      expectTrue(info.contains("chunks:    fmt , fact, bext, data\n"), "\(info)")
      expectTrue(
        info.contains(#/origin:    Cuejack [\d.]+, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n/#), "\(info)")
      expectTrue(
        info.contains(#/history:   A=PCM,F=48000,W=32,M=stereo,T=Cuejack [\d.]+\n/#), "\(info)")
    }
  }

  /// The gap is silence in the parts that it falls into, and each has its length.
  @Test func aServerThatReturnsLeavesThePartsTheirLengths() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let file = folder.appendingPathComponent("a.wav").path
      let recorder = try Playing(
        "record",
        [
          file, "--server", server.name, "--seconds", "2.5", "--format", "s16", "--split", "48000f",
        ], in: folder)
      let files = paths(1...3, "a", in: folder)
      try waitForSize(50_000, of: [files[0]])
      server.kill()
      try recorder.waitForError("went away: waiting until it is back")
      try server.start()
      try recorder.waitForError("“\(server.name)” is back: recording goes on")
      let result = try recorder.result()
      expectTrue(result.isRecorded, "\(result)")
      try expectEqual(files.map { try shownFrames($0) }, [48_000, 48_000, 24_000])
    }
  }

  /// Earlier parts are whole, and the part being written lacks at most the last second.
  @Test func aKillLeavesWholeParts() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      defer { withExtendedLifetime(emitter) {} }
      let recorders = try [("w.wav", "f32"), ("f.flac", "flac"), ("m.m4a", "aac")].map {
        name, format in
        try Playing(
          "record",
          [
            folder.appendingPathComponent(name).path, "--format", format, "--split", "30000f",
            "--connect", "emitter", "--server", server.name,
          ], in: folder)
      }
      func part(_ number: Int, _ stem: String, _ end: String) -> String {
        folder.appendingPathComponent("\(stem)-00\(number).\(end)").path
      }
      try waitForSize(100_000, of: [part(3, "w", "wav")])
      try waitForSize(1, of: [part(3, "f", "flac"), part(3, "m", "m4a")])
      for recorder in recorders { recorder.send(signal: SIGKILL) }
      for recorder in recorders { try expectEqual(recorder.result().status, 128 + SIGKILL) }
      for (stem, end) in [("w", "wav"), ("f", "flac"), ("m", "m4a")] {
        for number in 1...2 { try expectEqual(shownFrames(part(number, stem, end)), 30_000) }
      }
      let isExact = !recorders[0].errors.contains("not recorded")
      try expectJoined((1...3).map { part($0, "w", "wav") }, isExact: isExact)
    }
  }

  @Test func takesAreNumberedAndTimed() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      func record(_ name: String, _ more: [String] = []) throws -> CommandResult {
        try cuejack(
          "record",
          [
            folder.appendingPathComponent(name).path, "--seconds", "0.1", "--no-connect",
            "--server",
            server.name,
          ] + more)
      }
      for number in 1...2 {
        let result = try record("take-%n.wav")
        expectTrue(
          result.output.contains("/take-00\(number).wav: recorded 4800 frames"), "\(result)")
      }
      let result = try record("%Y%m%d-%H%M%S.wav")
      expectTrue(result.output.contains(#/\d{8}-\d{6}\.wav: recorded 4800 frames/#), "\(result)")
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      expectTrue(
        names.count == 3 && names[0].wholeMatch(of: #/20\d{6}-\d{6}\.wav/#) != nil, "\(names)")
      expectEqual(names[1...], ["take-001.wav", "take-002.wav"])
      // Two parts without a number in the name; the first one exists then.
      expectTrue(try record("take.wav", ["--split", "100ms", "--force"]).isRecorded)
      let refused = try record("take.wav", ["--split", "100ms"])
      expectFailure(refused, ["take-001.wav", "already"])
      expectTrue(refused.errors.contains("--force replaces it"))
      for name in ["none/take.wav", "none/%Y-%n.wav", "%Y-none/take-%n.wav"] {
        let result = try record(name)
        expectTrue(
          result.status == 1 && result.errors.contains("there is no such folder"), "\(result)")
      }
    }
  }

  @Test(arguments: [
    ["50%.wav"], ["a.wav", "--split", "50ms"], ["a.wav", "--split", "10kB"],
    ["a.wav", "--split", "1h", "--split", "2h"], ["a.wav", "--pre-roll", "10"],
    ["a.wav", "--pre-roll", "0", "--transport"], ["a.wav", "--pre-roll", "601", "--transport"],
    ["a.wav", "--start-on-sound", "0dB"], ["a.wav", "--start-on-sound", "loud"],
    ["a.wav", "--transport", "--at", "+1"],
    ["a.wav", "--pre-roll", "1", "--at", "+1", "--transport"],
  ])
  func wrongUsageIsExplained(arguments: [String]) throws {
    let result = try cuejack("record", arguments)
    expectTrue(result.status == 64 && result.errors.contains("Usage: cuejack record"), "\(result)")
  }
}
