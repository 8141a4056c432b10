import Foundation
import TestSupport
import Testing

/// The recordings of `cuejack record`.
@Suite(.tags(.server, .program), .serialized) struct RecordTests {
  // MARK: Every file type

  /// A file to record to, and its format; nil for the file type's default.
  private struct Kind {
    let name: String
    var format: String?
    /// How many of the 24 played bits are kept.
    var bits = 24
  }

  /// Several recorders record one player from its start frame at the same time. After decoding with
  /// `ffmpeg`, each sample equals the played one in the precision of the format.
  @Test func everyLosslessFormatIsRecordedBitForBit() throws {
    var kinds: [Kind] = []
    for end in ["wav", "aiff", "caf", "w64", "rf64", "au"] {
      for (format, bits) in [("s16", 16), ("s24", 24), ("s32", 24), ("f32", 24)] {
        // A server has room for this many clients: three of four formats.
        if (kinds.count + end.utf8.count) % 4 == 0 { continue }
        kinds.append(Kind(name: "\(format).\(end)", format: format, bits: bits))
      }
    }
    kinds += [
      Kind(name: "alac.m4a", format: "alac"), Kind(name: "alac.caf", format: "alac"),
      Kind(name: "own.flac"), Kind(name: "flac.ogg", format: "flac"), Kind(name: "own.wav"),
    ]
    try withTemporaryFolder { folder in
      let played = try WaveFile("played.wav", in: folder, coding: .s24, frames: 24_100)
      let results = try record(kinds, playing: played, in: folder)
      for (kind, result) in zip(kinds, results) {
        expectSuccess(result, kind.name)
        let samples = try decoded(folder.appendingPathComponent(kind.name))
        let sound = 2 * played.frames
        expectTrue(
          samples.prefix(sound).elementsEqual(expected(played, bits: kind.bits)), "\(kind.name)")
        let told = "\(kind.name): recorded \(samples.count / 2) frames"
        expectTrue(result.output.contains(told), "\(result.output)")
      }
    }
  }

  /// Expects success. In real time, a busy machine may miss a cycle before the end, which is reported.
  private func expectSuccess(
    _ result: CommandResult, _ name: String, _ location: SourceLocation = #_sourceLocation
  ) {
    let errors = result.errors.split(separator: "\n").filter { !$0.contains("were not recorded") }
    expectTrue(result.isRecorded, "\(name): \(result)", sourceLocation: location)
    expectTrue(errors.isEmpty, "\(name): \(errors)", sourceLocation: location)
  }

  /// Returns the played samples, rounded to `bits` bits, in the high bits.
  private func expected(_ played: WaveFile, bits: Int) -> [Int32] {
    (0..<played.frames).flatMap { frame in
      played.samples.map { channel -> Int32 in
        let full = Double(channel[frame]) * 0x1p31
        if bits == 24 { return Int32(full) }
        let short = (full / 65536).rounded(.toNearestOrEven)
        return Int32(min(short, 32767)) << 16
      }
    }
  }

  /// All lossy files have the recorded length. `ffmpeg` keeps some of the last packet's padding.
  @Test func everyLossyFormatHasItsLength() throws {
    let kinds = [
      Kind(name: "aac.m4a"), Kind(name: "aac.caf", format: "aac"), Kind(name: "opus.opus"),
      Kind(name: "mp3.mp3"), Kind(name: "vorbis.ogg", format: "vorbis"),
      Kind(name: "ulaw.wav", format: "ulaw"), Kind(name: "alaw.au", format: "alaw"),
      Kind(name: "ulaw.aifc", format: "ulaw"),
    ]
    try withTemporaryFolder { folder in
      let played = try WaveFile("played.wav", in: folder, coding: .s24, frames: 24_100)
      let results = try record(kinds, playing: played, in: folder)
      for (kind, result) in zip(kinds, results) {
        expectSuccess(result, kind.name)
        let told = try require(
          result.output.firstMatch(of: #/recorded (\d+) frames/#).flatMap { Int($0.output.1) })
        let file = folder.appendingPathComponent(kind.name)
        try expectEqual(shownFrames(file.path), told, "\(kind.name)")
        let decoded = try decoded(file).count / 2
        expectTrue((told...(told + 4096)).contains(decoded), "\(kind.name): \(decoded) of \(told)")
      }
    }
  }

  /// A codec that gives each channel a role may cut off the high ones of some: that is told before the start.
  @Test func rolesThatACodecGivesAreTold() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon()
      func record(_ name: String, channels: Int) throws -> CommandResult {
        try cuejack(
          "record",
          [
            folder.appendingPathComponent(name).path, "--channels", "\(channels)", "--seconds",
            "0.1",
            "--no-connect", "--server", server.name,
          ])
      }
      let told =
        "channels have no roles; in AAC they become left, right, centre, low frequencies, "
      for (name, channels, isTold) in [
        ("a.m4a", 8, true), ("b.m4a", 2, false), ("c.wav", 8, false), ("d.flac", 8, false),
      ] {
        let result = try record(name, channels: channels)
        expectTrue(result.isRecorded, "\(result)")
        expectEqual(result.errors.contains("\(name): the \(told)"), isTold, "\(result)")
      }
    }
  }

  /// Records `played`, which loops, to all `kinds` at once, from its first frame on.
  private func record(_ kinds: [Kind], playing played: WaveFile, in folder: URL) throws
    -> [CommandResult]
  {
    // A short period, because each client takes several cycles to come or go.
    let server = try JackDaemon(period: 256)
    let capture = try CaptureClient(on: server, channels: 1, capacity: 200 * server.rate)
    // Leave enough real time for all to get ready.
    let at = [
      "--at", "\(capture.cycleFrame &+ UInt32(180 * server.rate))", "--server", server.name,
    ]
    let player = try Playing(
      [played.path, "--loop", "--no-connect", "--name", "player"] + at, in: folder)
    try player.wait(for: "start frame")
    // One after the other: jackd may hang when many clients come or go at once.
    let recorders = try kinds.enumerated().map { number, kind in
      let recorder = try Playing(
        "record",
        [folder.appendingPathComponent(kind.name).path]
          + (kind.format.map { ["--format", $0] } ?? []) + [
            "--name", "recorder-\(number)", "--connect", "player:out_1,player:out_2",
          ] + at,
        in: folder)
      try recorder.wait(for: ":in_2")
      return recorder
    }
    // The minutes until the start frame take a sixteenth of the cycles.
    try capture.setPeriod(4096)
    capture.arm()
    try capture.setFreewheel(true)
    try require(capture.wait(untilFrames: 1))
    let start = UInt32(at[1])! &- capture.firstFrame
    try require(start < 190 * server.rate, "the recorders were not ready in time")
    try require(capture.wait(untilFrames: Int(start) + server.rate, deadline: 60))
    // In freewheel mode no client may leave the server.
    try capture.setFreewheel(false)
    let results = try recorders.map { recorder in
      recorder.send(signal: SIGINT)
      return try recorder.result()
    }
    player.send(signal: SIGINT)
    _ = try player.result()
    return results
  }

  // MARK: Ends

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func aSignalEndsARecordingInGoodOrder(signal: Int32) throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      let file = folder.appendingPathComponent("a.wav").path
      let recorder = try recordEmitter(file, on: server, in: folder)
      recorder.send(signal: signal)
      let result = try recorder.result()
      expectTrue(result.isRecorded, "\(result)")
      let (frames, _, wrong) = try emitted(file)
      expectTrue(result.output.contains("a.wav: recorded \(frames) frames"), "\(result.output)")
      if result.output.contains("overruns: 0") { expectEqual(wrong, 0) }
      withExtendedLifetime(emitter) {}
    }
  }

  /// Bits, channels and sample rate are the file type's defaults or the requested ones.
  @Test func theFormatIsTheKindsOrWhatWasAsked() throws {
    let cases = [
      (["a.wav", "--bits", "8"], "8-bit unsigned integer, 2 channels, 48000 Hz"),
      (["b.wav", "--bits", "16"], "16-bit signed integer, little-endian, 2 channels, 48000 Hz"),
      (["a.aiff", "--bits", "32"], "32-bit signed integer, big-endian, 2 channels, 48000 Hz"),
      (["a.au", "--bits", "8"], "8-bit signed integer, 2 channels, 48000 Hz"),
      (["a.caf", "--format", "f64"], "64-bit float, little-endian, 2 channels, 48000 Hz"),
      (["a.flac", "--bits", "16"], "FLAC, 16-bit, 2 channels, 48000 Hz"),
      (["b.caf", "--format", "alac"], "Apple Lossless, 24-bit, 2 channels, 48000 Hz"),
      (["c.wav", "--format", "gsm"], "Microsoft GSM 6.10, 1 channel, 8000 Hz"),
      (
        ["a.mp3", "--connect", "system:capture_1,system:capture_2,system:capture_1"],
        "MPEG Layer 3, 2 channels, 48000 Hz"
      ),
    ]
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      for (words, format) in cases {
        let file = folder.appendingPathComponent(words[0]).path
        let options = words.contains("--connect") ? [] : ["--no-connect"]
        let result = try cuejack(
          "record",
          [file, "--server", server.name, "--seconds", "0.2"] + options + words.dropFirst())
        expectTrue(result.isRecorded, "\(result)")
        expectTrue(result.output.contains(": \(format)\n"), "\(words): \(result)")
        let info = try cuejack("info", [file])
        let coding = format.split(separator: ", ").dropLast(2).joined(separator: ", ")
        expectTrue(info.output.contains("format:    \(coding)\n"), "\(words): \(info)")
      }
      for (words, reason) in [
        (["d.flac", "--bits", "32"], "FLAC keeps 16 or 24 bits of a sample, not 32"),
        (["d.m4a", "--bits", "16"], "AAC has no bits of a sample to choose"),
      ] {
        let file = folder.appendingPathComponent(words[0]).path
        expectFailure(
          try cuejack("record", [file, "--server", server.name] + words.dropFirst()),
          [file, reason])
        expectTrue(!FileManager.default.fileExists(atPath: file))
      }
    }
  }

  /// At another sample rate, the length in seconds stays the same.
  @Test func anotherRateIsConvertedTo() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let file = folder.appendingPathComponent("a.caf").path
      let result = try cuejack(
        "record",
        [file, "--server", server.name, "--rate", "44100", "--seconds", "0.5", "--channels", "3"])
      expectTrue(result.isRecorded, "\(result)")
      expectTrue(result.output.contains("recorded 22050 frames"))
      expectTrue(result.output.contains("not connected -> cuejack-record:in_3"))
      try expectEqual(decoded(URL(fileURLWithPath: file)).count, 3 * 22_050)
    }
  }

  @Test(arguments: [
    [], ["a.wav", "--format", "mp4a"], ["a.wav", "--rate", "10"], ["a.wav", "--channels", "0"],
    ["a.wav", "--channels", "65"], ["a.wav", "--bits", "17"],
    ["a.wav", "--format", "s24", "--bits", "16"], ["a.wav", "--format", "f32", "--bits", "32"],
    ["a.wav", "--bitrate", "much"],
    ["a.wav", "--seconds", "0"], ["a.wav", "--at", "soon"], ["a.wav", "--name", ""],
    ["a.wav", "--no-connect", "--connect", "a:b"], ["a.wav", "b.wav"],
  ])
  func wrongUsageIsExplained(arguments: [String]) throws {
    let result = try cuejack("record", arguments)
    expectTrue(result.status == 64 && result.errors.contains("Usage: cuejack record"), "\(result)")
  }
}
