import CTestSupport
import Foundation
import TestSupport
import Testing

/// What `cuejack record` records, and what becomes of it when something goes wrong.
@Suite(.serialized) struct RecordTests {
  // MARK: Every kind of file

  /// A file to record to, and the format that it is recorded in; nil for the kind's own.
  private struct Kind {
    let name: String
    var format: String?
    /// How many bits of the 24 that are played stay.
    var bits = 24
  }

  /// Recorded all at once from one player, from the frame on which it starts: each sample is what was
  /// played, as the format has it, after `ffmpeg` has read the file.
  @Test func everyLosslessFormatIsRecordedBitForBit() throws {
    var kinds: [Kind] = []
    for end in ["wav", "aiff", "caf", "w64", "rf64", "au"] {
      for (format, bits) in [("s16", 16), ("s24", 24), ("s32", 24), ("f32", 24)] {
        // Each server has room for so many: three of four.
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
      let results = try record(
        kinds.map { [$0.name] + ($0.format.map { ["--format", $0] } ?? []) }, playing: played,
        in: folder)
      for (kind, result) in zip(kinds, results) {
        expectSuccess(result, kind.name)
        let samples = try decoded(folder.appendingPathComponent(kind.name))
        let sound = 2 * played.frames
        #expect(
          samples.prefix(sound).elementsEqual(expected(played, bits: kind.bits)), "\(kind.name)")
        let told = "\(kind.name): recorded \(samples.count / 2) frames"
        #expect(result.output.contains(told), "\(result.output)")
      }
    }
  }

  /// By the clock, before the end, a busy machine may miss a cycle: that is told.
  private func expectSuccess(
    _ result: CommandResult, _ name: String, _ location: SourceLocation = #_sourceLocation
  ) {
    let errors = result.errors.split(separator: "\n").filter { !$0.contains("were not recorded") }
    #expect(result.status == 0 && errors.isEmpty, "\(name): \(errors)", sourceLocation: location)
  }

  /// What was played, in the high bits, rounded to so many.
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

  /// All lossy ones have the length that was recorded; `ffmpeg` leaves some of what fills the last packet.
  @Test func everyLossyFormatHasItsLength() throws {
    let kinds = [
      Kind(name: "aac.m4a"), Kind(name: "aac.caf", format: "aac"), Kind(name: "opus.ogg"),
      Kind(name: "mp3.mp3"), Kind(name: "vorbis.ogg", format: "vorbis"),
      Kind(name: "ulaw.wav", format: "ulaw"), Kind(name: "alaw.au", format: "alaw"),
      Kind(name: "ulaw.aifc", format: "ulaw"),
    ]
    try withTemporaryFolder { folder in
      let played = try WaveFile("played.wav", in: folder, coding: .s24, frames: 24_100)
      let results = try record(
        kinds.map { [$0.name] + ($0.format.map { ["--format", $0] } ?? []) }, playing: played,
        in: folder)
      for (kind, result) in zip(kinds, results) {
        expectSuccess(result, kind.name)
        let told = try #require(
          result.output.firstMatch(of: #/recorded (\d+) frames/#).flatMap { Int($0.output.1) })
        let file = folder.appendingPathComponent(kind.name)
        #expect(try shownFrames(file.path) == told, "\(kind.name)")
        let decoded = try decoded(file).count / 2
        #expect((told...(told + 4096)).contains(decoded), "\(kind.name): \(decoded) of \(told)")
      }
    }
  }

  /// Records what `played` sounds like, again and again, with all `commands` at once, from its first frame on.
  private func record(_ commands: [[String]], playing played: WaveFile, in folder: URL) throws
    -> [CommandResult]
  {
    // Each client comes and goes in so many cycles: short ones.
    let server = try JackDaemon(period: 256)
    let capture = try CaptureClient(on: server, channels: 1, capacity: 200 * server.rate)
    // Far enough away for all to get ready by the clock.
    let at = ["--at", "\(capture.frameTime &+ UInt32(180 * server.rate))", "--server", server.name]
    let player = try Playing(
      [played.path, "--loop", "--no-connect", "--name", "player"] + at, in: folder)
    try player.wait(for: "start frame")
    // One after the other: jackd may wedge when many come or go at once.
    let recorders = try commands.enumerated().map { number, words in
      let recorder = try Playing(
        "record",
        [folder.appendingPathComponent(words[0]).path] + words.dropFirst()
          + ["--name", "recorder-\(number)", "--connect", "player:out_1", "player:out_2"] + at,
        in: folder)
      try recorder.wait(for: ":in_2")
      return recorder
    }
    capture.arm()
    try capture.setFreewheel(true)
    #expect(capture.wait(untilFrames: 1))
    let start = UInt32(at[1])! &- capture.firstFrame
    try #require(start < 190 * server.rate, "the recorders were not ready in time")
    #expect(capture.wait(untilFrames: Int(start) + server.rate, deadline: 60))
    // While the server runs as fast as it can, no client may leave it.
    try capture.setFreewheel(false)
    let results = try recorders.map { recorder in
      recorder.send(signal: SIGINT)
      return try recorder.result()
    }
    player.send(signal: SIGINT)
    _ = try player.result()
    return results
  }

  /// The frames of a file, as `cuejack info` shows them.
  private func shownFrames(_ file: String) throws -> Int {
    let info = try cuejack("info", ["--json", file])
    #expect(info.status == 0 && info.errors == "", "\(info.errors)")
    return try #require(
      info.output.firstMatch(of: #/"frames" : (\d+)/#).flatMap { Int($0.output.1) })
  }

  /// The file's samples, in the high bits.
  private func decoded(_ file: URL) throws -> [Int32] {
    let raw = file.appendingPathExtension("raw")
    let result = try run(
      "ffmpeg", ["-v", "error", "-y", "-i", file.path, "-f", "s32le", raw.path])
    #expect(
      result.status == 0 && result.errors == "", "\(file.lastPathComponent): \(result.errors)")
    return try Data(contentsOf: raw).withUnsafeBytes { Array($0.bindMemory(to: Int32.self)) }
  }

  // MARK: Ends

  /// What is in a recording of an emitter's two channels as floats: the frame of the first, and how many
  /// are not the number of their frame.
  private func emitted(_ file: String) throws -> (frames: Int, first: UInt32, wrong: Int) {
    let wave = try Data(contentsOf: URL(fileURLWithPath: file))
    let head = try #require(wave.range(of: Data("data".utf8)))
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

  /// Starts recording an emitter, and waits until the file holds `bytes`.
  private func recordEmitter(
    _ file: String, on server: JackDaemon, _ arguments: [String] = [], bytes: Int = 100_000,
    in folder: URL
  ) throws -> Playing {
    let recorder = try Playing(
      "record",
      [file, "--format", "f32", "--server", server.name] + arguments
        + ["--connect", "emitter:out_1", "emitter:out_2"], in: folder)
    try recorder.wait(for: "-> cuejack")
    try waitForSize(bytes, of: [file])
    return recorder
  }

  private func size(_ file: String) -> Int {
    (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func aSignalEndsARecordingInGoodOrder(signal: Int32) throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      let file = folder.appendingPathComponent("a.wav").path
      let recorder = try recordEmitter(file, on: server, in: folder)
      recorder.send(signal: signal)
      let result = try recorder.result()
      #expect(result.status == 0, "\(result.errors)")
      let (frames, _, wrong) = try emitted(file)
      #expect(result.output.contains("a.wav: recorded \(frames) frames"), "\(result.output)")
      if result.output.contains("overruns: 0") { #expect(wrong == 0) }
      withExtendedLifetime(emitter) {}
    }
  }

  /// Files as they lie there after a kill: they can be opened, by us and by `ffprobe`, and the last frame of
  /// each is not older than a second.
  @Test func aKillTakesTheLastSecondAtTheMost() throws {
    let ends = ["wav", "aiff", "caf", "w64", "rf64", "au", "m4a", "flac", "ogg", "mp3", "aac"]
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 256)
      let emitter = try Emitter(on: server)
      let clock = try CaptureClient(on: server, name: "clock", channels: 1, capacity: 1)
      var oldest = Int.max
      // A machine may be busy for longer than that: the next time is as good.
      for attempt in 1...3 where oldest > server.rate {
        let start = clock.frameTime &+ UInt32(10 * server.rate)
        let files = ends.map { folder.appendingPathComponent("\(attempt).\($0)").path }
        let recorders = try files.enumerated().map { number, file in
          let recorder = try Playing(
            "record",
            [file, "--server", server.name, "--at", "\(start)", "--name", "recorder-\(number)"]
              + (number < 6 ? ["--format", "f32"] : [])
              + ["--connect", "emitter:out_1", "emitter:out_2"], in: folder)
          try recorder.wait(for: ":in_2")
          return recorder
        }
        try waitForSize(1_000_000, of: Array(files.prefix(6)))
        let killed = clock.frameTime
        for recorder in recorders { recorder.send(signal: SIGKILL) }
        for recorder in recorders { #expect(try recorder.result().status == 128 + SIGKILL) }
        oldest = 0
        for file in files {
          let frames = try openedFrames(file)
          oldest = max(oldest, Int(Int32(bitPattern: killed &- start)) - frames)
        }
        let (found, first, wrong) = try emitted(files[0])
        #expect(try found >= openedFrames(files[0]) && first == start & 0x3f_ffff)
        // Cycles that came too late are silence.
        if !recorders[0].errors.contains("not recorded") { #expect(wrong == 0) }
      }
      #expect(oldest <= server.rate, "the last \(oldest) frames are missing")
      withExtendedLifetime(emitter) {}
    }
  }

  /// The frames of a file as we see them, and `ffprobe` too.
  private func openedFrames(_ file: String) throws -> Int {
    let frames = try shownFrames(file)
    let probe = try run(
      "ffprobe", ["-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", file])
    #expect(probe.status == 0 && probe.output != "" && probe.errors == "", "\(file): \(probe)")
    return frames
  }

  /// Waits until each of the files has so many bytes.
  private func waitForSize(_ bytes: Int, of files: [String]) throws {
    let end = Date(timeIntervalSinceNow: 60)
    while files.contains(where: { size($0) < bytes }) {
      try #require(Date() < end, "\(files) do not grow")
      usleep(5000)
    }
  }

  // MARK: What goes wrong

  /// Expects exit code 1, and a line on the error and one on the result.
  private func expectFailure(
    _ result: CommandResult, _ words: [String], _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(result.status == 1, "\(result.output)\(result.errors)", sourceLocation: location)
    let lines = result.errors.split(separator: "\n").filter { !$0.contains("were not recorded") }
    #expect(
      lines.contains { line in
        line.hasPrefix("cuejack: ") && words.allSatisfy { line.contains($0) }
      }, "\(words) in:\n\(result.errors)", sourceLocation: location)
  }

  /// The disk is full, as far as these processes go. What fitted is there, to the last whole frame.
  @Test func aFullDiskKeepsWhatWasRecorded() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let program = try builtProduct(named: "cuejack").path
      let script =
        "ulimit -f 200; for f in wav aiff caf w64 rf64 au; do"
        + " \"$0\" record a.$f --server \"$1\" --format s16 & done; wait"
      let result = try run("bash", ["-c", script, program, server.name], folder: folder)
      for end in ["wav", "aiff", "caf", "w64", "rf64", "au"] {
        #expect(result.errors.contains("cuejack: a.\(end): the file cannot be written"))
        let line = try Regex("a\\.\(end): recorded (\\d+) frames")
        let told = result.output.firstMatch(of: line)?[1].substring.flatMap { Int($0) } ?? 0
        #expect(told > (204_800 - 4096) / 4 && told <= 204_800 / 4, "\(result.output)")
        let file = folder.appendingPathComponent("a.\(end)")
        #expect(try decoded(file).count == 2 * told)
      }
    }
  }

  /// The file or its whole folder is deleted: what was recorded is written anew, here or there.
  @Test(arguments: [false, true]) func aFileThatIsDeletedIsRescued(withFolder: Bool) throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      let inner = folder.appendingPathComponent("inner")
      try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
      let name = "\(UUID().uuidString).wav"
      let file = inner.appendingPathComponent(name)
      let recorder = try recordEmitter(file.path, on: server, in: folder)
      try FileManager.default.removeItem(at: withFolder ? inner : file)
      let result = try recorder.result()
      expectFailure(result, [file.path, "deleted"])
      let kept =
        withFolder
        ? FileManager.default.temporaryDirectory.appendingPathComponent(name).path : file.path
      expectFailure(result, ["kept in \(kept)"])
      let (frames, _, wrong) = try emitted(kept)
      #expect(frames > 10_000 && result.output.contains("\(kept): recorded \(frames) frames"))
      if result.output.contains("overruns: 0") { #expect(wrong == 0) }
      if withFolder { try FileManager.default.removeItem(atPath: kept) }
      withExtendedLifetime(emitter) {}
    }
  }

  /// Nothing of a server is needed to find these out, and nothing is left behind.
  @Test func whatCannotBeWrittenIsSaidAtOnce() throws {
    try withTemporaryFolder { folder in
      let noServer = [
        "JACK_DEFAULT_SERVER": "cuejack-test-none-\(getuid())", "JACK_NO_START_SERVER": "1",
      ]
      func expect(_ path: String, _ words: String) throws {
        expectFailure(try cuejack("record", [path], environment: noServer), [path, words])
      }
      let old = folder.appendingPathComponent("old.wav")
      try Data("old".utf8).write(to: old)
      try expect(old.path, "already")
      try expect(folder.path + "/missing/a.wav", "no such folder")
      try expect(folder.path + "/a.txt", "has to end in one of .aiff")
      try expect("/dev/null.wav/a.wav", "no such folder")
      try expect("/proc/a.wav", "cannot be written")
      // Neither is an old file lost nor an empty one left if there is no server.
      let new = folder.appendingPathComponent("new.wav").path
      for arguments in [[new], [old.path, "--force"]] {
        let result = try cuejack("record", arguments + ["--server", "no-such-server"])
        expectFailure(result, ["“no-such-server”"])
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["old.wav"])
      #expect(try Data(contentsOf: old) == Data("old".utf8))
    }
  }

  /// Opus has rates of its own, MP3 two channels at the most.
  @Test func whatCannotBeEncodedEmptiesNoOldFile() throws {
    let server = try JackDaemon()
    try withTemporaryFolder { folder in
      for (name, options) in [
        ("old.opus", ["--rate", "44100"]), ("old.mp3", ["--channels", "3"]),
      ] {
        let old = folder.appendingPathComponent(name)
        try Data("old".utf8).write(to: old)
        let result = try cuejack(
          "record",
          [old.path, "--force", "--seconds", "1", "--no-connect", "--server", server.name] + options
        )
        expectFailure(result, [old.path])
        #expect(try Data(contentsOf: old) == Data("old".utf8))
      }
    }
  }

  /// As somebody who may not write there.
  @Test(.enabled(if: mayBecomeNobody)) func aFolderThatIsReadOnlyIsNamed() throws {
    try withTemporaryFolder { folder in
      chmod(folder.path, 0o555)
      let file = folder.appendingPathComponent("a.wav").path
      let command =
        geteuid() == 0
        ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : ["env"]
      let program = try builtProduct(named: "cuejack").path
      let result = try run(command[0], command.dropFirst() + [program, "record", file])
      expectFailure(result, [file, "may not write"])
    }
  }

  /// True if the command can be run as somebody who may not write everywhere.
  private static var mayBecomeNobody: Bool {
    guard geteuid() == 0, let program = try? builtProduct(named: "cuejack").path else {
      return geteuid() != 0
    }
    let words = ["--reuid=65534", "--regid=65534", "--clear-groups", program, "--help"]
    return (try? run("setpriv", words).status) == 0
  }

  /// The recording goes on when the server is back, and is as long as was asked for.
  @Test func recordingGoesOnWhenTheServerIsBack() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let file = folder.appendingPathComponent("a.wav").path
      let recorder = try Playing(
        "record", [file, "--server", server.name, "--seconds", "3", "--format", "s16"], in: folder)
      try waitForSize(100_000, of: [file])
      server.kill()
      try recorder.waitForError("went away: waiting until it is back")
      try server.start()
      try recorder.waitForError("“\(server.name)” is back: recording goes on")
      let result = try recorder.result()
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.output.contains("recorded 144000 frames"), "\(result.output)")
      #expect(try decoded(URL(fileURLWithPath: file)).count == 2 * 144_000)
    }
  }

  /// It ends with what it has if it is told to meanwhile.
  @Test func aSignalEndsARecordingWhoseServerIsGone() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let file = folder.appendingPathComponent("a.wav").path
      let recorder = try Playing("record", [file, "--server", server.name], in: folder)
      try waitForSize(100_000, of: [file])
      server.stop()
      try recorder.waitForError("went away: waiting until it is back")
      recorder.send(signal: SIGTERM)
      let result = try recorder.result()
      #expect(result.status == 0, "\(result.errors)")
      let frames = try decoded(URL(fileURLWithPath: file)).count / 2
      #expect(frames > 10_000 && result.output.contains("recorded \(frames) frames"))
    }
  }

  @Test func aSignalBeforeTheStartLeavesNothing() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon()
      let file = folder.appendingPathComponent("a.wav").path
      let recorder = try Playing(
        "record", [file, "--server", server.name, "--at", "+60"], in: folder)
      try recorder.wait(for: "-> cuejack:in_2")
      recorder.send(signal: SIGINT)
      let result = try recorder.result()
      #expect(result.status == 130 && result.output.hasSuffix("a.wav: nothing was recorded\n"))
      #expect(!FileManager.default.fileExists(atPath: file))
    }
  }

  /// At another rate than the server's, the length is that of the seconds.
  @Test func anotherRateIsConvertedTo() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let file = folder.appendingPathComponent("a.caf").path
      let result = try cuejack(
        "record",
        [file, "--server", server.name, "--rate", "44100", "--seconds", "0.5", "--channels", "3"])
      #expect(result.status == 0 && result.output.contains("recorded 22050 frames"))
      #expect(result.output.contains("not connected -> cuejack:in_3"))
      #expect(try decoded(URL(fileURLWithPath: file)).count == 3 * 22_050)
    }
  }

  @Test(arguments: [
    [], ["a.wav", "--format", "mp4a"], ["a.wav", "--rate", "10"], ["a.wav", "--channels", "0"],
    ["a.wav", "--channels", "65"], ["a.wav", "--bits", "17"], ["a.wav", "--bitrate", "much"],
    ["a.wav", "--seconds", "0"], ["a.wav", "--at", "soon"], ["a.wav", "--name", ""],
    ["a.wav", "--no-connect", "--connect", "a:b"], ["a.wav", "b.wav"],
  ])
  func wrongUsageIsExplained(arguments: [String]) throws {
    let result = try cuejack("record", arguments)
    #expect(result.status == 64 && result.errors.contains("Usage: cuejack record"))
  }
}
