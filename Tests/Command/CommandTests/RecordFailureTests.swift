import CTestSupport
import Foundation
import TestSupport
import Testing

/// Recordings in which an error occurs.
@Suite(.tags(.server, .program), .serialized) struct RecordFailureTests {
  /// Cuejack and `ffprobe` can open the files that a killed recorder leaves. Each misses one second at
  /// most.
  @Test func aKillTakesTheLastSecondAtTheMost() throws {
    let ends = ["wav", "aiff", "caf", "w64", "rf64", "au", "m4a", "flac", "ogg", "mp3", "aac"]
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 256)
      let emitter = try Emitter(on: server)
      let clock = try CaptureClient(on: server, name: "clock", channels: 1, capacity: 1)
      var oldest = Int.max
      // A busy machine may stall for longer, so try up to three times.
      for attempt in 1...3 where oldest > server.rate {
        let start = clock.cycleFrame &+ UInt32(10 * server.rate)
        let files = ends.map { folder.appendingPathComponent("\(attempt).\($0)").path }
        let recorders = try files.enumerated().map { number, file in
          let recorder = try Playing(
            "record",
            [file, "--server", server.name, "--at", "\(start)", "--name", "recorder-\(number)"]
              + (number < 6 ? ["--format", "f32"] : [])
              + ["--connect", "emitter:out_1,emitter:out_2"], in: folder)
          try recorder.wait(for: ":in_2")
          return recorder
        }
        try waitForSize(1_000_000, of: Array(files.prefix(6)))
        let killed = clock.cycleFrame
        for recorder in recorders { recorder.send(signal: SIGKILL) }
        for recorder in recorders { try expectEqual(recorder.result().status, 128 + SIGKILL) }
        oldest = 0
        for file in files {
          let frames = try openedFrames(file)
          oldest = max(oldest, Int(Int32(bitPattern: killed &- start)) - frames)
        }
        let (found, first, wrong) = try emitted(files[0])
        expectTrue(try found >= openedFrames(files[0]) && first == start & 0x3f_ffff)
        // Late cycles are recorded as silence.
        if !recorders[0].errors.contains("not recorded") { expectEqual(wrong, 0) }
      }
      expectTrue(oldest <= server.rate, "the last \(oldest) frames are missing")
      withExtendedLifetime(emitter) {}
    }
  }

  /// In the files that a killed recorder leaves, each frame is in its place from the first one on.
  @Test func whatAKillLeavesIsAligned() throws {
    /// The maximum number of priming frames that the file cannot declare, since ADTS has no field for
    /// them. Nil if each sample must be exact.
    let kinds: [(name: String, format: String, untold: Int?)] = [
      ("a.flac", "flac", nil), ("alac.m4a", "alac", nil), ("alac.caf", "alac", nil),
      ("flac.ogg", "flac", nil), ("aac.m4a", "aac", 0), ("aac.caf", "aac", 0),
      ("a.aac", "aac", 1024), ("a.mp3", "mp3", 0), ("a.opus", "opus", 0),
    ]
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let noise = try WaveFile("noise.wav", in: folder, coding: .s16, frames: 60_000)
      let clock = try CaptureClient(on: server, name: "clock", channels: 1, capacity: 1)
      let start = clock.cycleFrame &+ UInt32(10 * server.rate)
      let at = ["--at", "\(start)", "--server", server.name]
      let player = try Playing(
        [noise.path, "--loop", "--no-connect", "--name", "player"] + at, in: folder)
      try player.wait(for: "start frame")
      let recorders = try kinds.enumerated().map { number, kind in
        let recorder = try Playing(
          "record",
          [folder.appendingPathComponent(kind.name).path, "--format", kind.format]
            + ["--name", "recorder-\(number)", "--connect", "player:out_1,player:out_2"] + at,
          in: folder)
        try recorder.wait(for: ":in_2")
        return recorder
      }
      try require(Int32(bitPattern: start &- clock.cycleFrame) > 0, "they were not ready in time")
      let end = Date(timeIntervalSinceNow: 60)
      while Int32(bitPattern: clock.cycleFrame &- start) < 3 * server.rate, Date() < end {
        usleep(5000)
      }
      for recorder in recorders { recorder.send(signal: SIGKILL) }
      for recorder in recorders { try expectEqual(recorder.result().status, 128 + SIGKILL) }
      player.send(signal: SIGTERM)
      _ = try player.result()
      for (kind, recorder) in zip(kinds, recorders) {
        let file = folder.appendingPathComponent(kind.name)
        let frames = try openedFrames(file.path)
        try require(frames >= server.rate, "\(kind.name): \(frames)")
        let back = folder.appendingPathComponent("back.wav")
        let converted = try cuejack(
          "convert", [file.path, back.path, "--format", "f32", "--force"])
        expectEqual(converted.status, 0, "\(kind.name): \(converted)")
        let found: [Float] = try decoded(back, as: "f32le")
        expectEqual(found.count, 2 * frames)
        if let untold = kind.untold {
          let offset = offset(of: found, in: noise, most: untold)
          expectTrue([0, untold].contains(offset), "\(kind.name): \(offset)")
          continue
        }
        // Late cycles are recorded as silence.
        if recorder.errors.contains("not recorded") { continue }
        let wrong = found.indices.first {
          found[$0] != noise.samples[$0 % 2][$0 / 2 % noise.frames]
        }
        expectNil(wrong, "\(kind.name)")
      }
    }
  }

  /// Returns by how many frames a stereo sound lags behind `noise`, which repeats.
  private func offset(of sound: [Float], in noise: WaveFile, most: Int) -> Int {
    let first = 20_000
    func likeness(_ offset: Int) -> Float {
      (first..<first + 500).reduce(0) { sum, frame in
        sum + sound[2 * (frame + offset)] * noise.samples[0][frame % noise.frames]
      }
    }
    return (-200...most + 200).max { likeness($0) < likeness($1) } ?? 0
  }

  /// Two recordings to one file would mix: the second one is refused, under each of the file's names.
  @Test func aFileIsRecordedOnlyOnceAtATime() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let file = folder.appendingPathComponent("a.wav").path
      let link = folder.appendingPathComponent("link.wav").path
      symlink("a.wav", link)
      let first = try Playing(
        "record", [file, "--force", "--server", server.name, "--name", "first"], in: folder)
      try first.wait(for: ":in_2")
      try waitForSize(1000, of: [file])
      for path in [file, link] {
        let second = try cuejack(
          "record", [path, "--force", "--seconds", "0.1", "--server", server.name])
        expectEqual(second.status, 1, "\(second)")
        expectTrue(second.errors.contains("another recording is being written to it"), "\(second)")
      }
      first.send(signal: SIGTERM)
      expectTrue(try first.result().isRecorded)
      expectTrue(try openedFrames(file) > 0)
      // Nothing holds the file any more.
      let third = try cuejack(
        "record", [link, "--force", "--seconds", "0.1", "--server", server.name])
      expectTrue(third.isRecorded, "\(third)")
      try expectEqual(openedFrames(file), server.rate / 10)
    }
  }

  /// A file size limit simulates a full disk. The file contains all complete frames that fitted.
  @Test func aFullDiskKeepsWhatWasRecorded() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let program = try builtProduct(named: "cuejack").path
      let script =
        "ulimit -f 200; for f in wav aiff caf w64 rf64 au; do"
        + " \"$0\" record a.$f --server \"$1\" --format s16 & done; wait"
      let result = try run("bash", ["-c", script, program, server.name], folder: folder)
      for end in ["wav", "aiff", "caf", "w64", "rf64", "au"] {
        expectTrue(result.errors.contains("cuejack: a.\(end): the file cannot be written"))
        let line = try Regex("a\\.\(end): recorded (\\d+) frames")
        let told = result.output.firstMatch(of: line)?[1].substring.flatMap { Int($0) } ?? 0
        expectTrue(told > (204_800 - 4096) / 4 && told <= 204_800 / 4, "\(result.output)")
        let file = folder.appendingPathComponent("a.\(end)")
        try expectEqual(decoded(file).count, 2 * told)
      }
    }
  }

  /// If the file or its folder is deleted, the recorder writes the recording again, there or elsewhere.
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
      expectTrue(frames > 10_000 && result.output.contains("\(kept): recorded \(frames) frames"))
      if result.output.contains("overruns: 0") { expectEqual(wrong, 0) }
      if withFolder { try FileManager.default.removeItem(atPath: kept) }
      withExtendedLifetime(emitter) {}
    }
  }

  /// If it cannot be written anywhere, the command fails and does not claim that a file exists.
  @Test func aFileThatCannotBeRescuedIsTold() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let inner = folder.appendingPathComponent("inner")
      try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
      let file = inner.appendingPathComponent("a.wav").path
      let recorder = try Playing(
        "record", [file, "--server", server.name], in: folder,
        environment: ["TMPDIR": folder.path + "/none"])
      try waitForSize(10_000, of: [file])
      try FileManager.default.removeItem(at: inner)
      let result = try recorder.result()
      expectFailure(result, [file, "deleted"])
      expectFailure(result, [file, "could not be kept"])
      expectTrue(!result.output.contains("recorded"))
    }
  }

  /// On a full disk, the packets that fitted are readable and counted.
  @Test func aFullDiskKeepsThePacketsThatFitted() throws {
    // The size limit, and the space that may stay unused: room for a table that no longer fits, and one
    // second of packets. In kilobytes.
    let kinds = [
      (name: "aac.m4a", words: "--bitrate 256k", room: 60, lost: 40),
      (name: "alac.caf", words: "--format alac", room: 400, lost: 300),
      (name: "alac.m4a", words: "--format alac", room: 800, lost: 300),
      (name: "own.flac", words: "", room: 400, lost: 300),
      (name: "a.opus", words: "--bitrate 256k", room: 60, lost: 40),
      (name: "mp3.mp3", words: "--bitrate 256k", room: 60, lost: 40),
    ]
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let noise = try WaveFile("noise.wav", in: folder, coding: .s24, frames: 48_000)
      let player = try Playing(
        [noise.path, "--loop", "--no-connect", "--name", "player", "--server", server.name],
        in: folder)
      try player.wait(for: "start frame")
      let script =
        kinds.map {
          "(ulimit -f \($0.room); exec \"$0\" record \($0.name) \($0.words) --server \"$1\""
            + " --connect player:out_1,player:out_2) & "
        }.joined() + "wait"
      let program = try builtProduct(named: "cuejack").path
      let result = try run("bash", ["-c", script, program, server.name], folder: folder)
      for kind in kinds {
        expectTrue(
          result.errors.contains("cuejack: \(kind.name): the file cannot be written"),
          "\(kind.name): \(result.errors)")
        let line = try Regex("\(kind.name): recorded (\\d+) frames")
        let told = result.output.firstMatch(of: line)?[1].substring.flatMap { Int($0) } ?? 0
        let file = folder.appendingPathComponent(kind.name)
        expectTrue(told > 0, "\(kind.name): \(result.output)")
        try expectEqual(shownFrames(file.path), told, "\(kind.name)")
        let info = try cuejack("info", ["--json", file.path]).output
        let bytes = info.firstMatch(of: #/"soundBytes" : (\d+)/#).flatMap { Int($0.output.1) } ?? 0
        expectTrue(bytes >= 1024 * (kind.room - kind.lost), "\(kind.name): \(bytes)")
        // The packets can be decoded.
        let back = folder.appendingPathComponent("back.wav").path
        let converted = try cuejack("convert", [file.path, back, "--format", "f32", "--force"])
        expectTrue(
          converted.status == 0 && converted.output.contains(" \(told) frames"),
          "\(kind.name): \(converted)")
      }
      player.send(signal: SIGTERM)
      _ = try player.result()
    }
  }

  /// These errors are reported without a server and leave nothing behind.
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
      // Without a server, an old file stays, and no empty file remains.
      let new = folder.appendingPathComponent("new.wav").path
      for arguments in [[new], [old.path, "--force"]] {
        let result = try cuejack("record", arguments + ["--server", "no-such-server"])
        expectFailure(result, ["“no-such-server”"])
      }
      try expectEqual(FileManager.default.contentsOfDirectory(atPath: folder.path), ["old.wav"])
      try expectEqual(Data(contentsOf: old), Data("old".utf8))
    }
  }

  /// Opus supports only certain sample rates, and MP3 two channels at most.
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
        try expectEqual(Data(contentsOf: old), Data("old".utf8))
      }
    }
  }

  /// Runs as a user without write permission.
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

  /// Whether the command can run as a user without write permission.
  private static var mayBecomeNobody: Bool {
    guard geteuid() == 0, let program = try? builtProduct(named: "cuejack").path else {
      return geteuid() != 0
    }
    let words = ["--reuid=65534", "--regid=65534", "--clear-groups", program, "--help"]
    return (try? run("setpriv", words).status) == 0
  }

  /// The cycles that a recorder misses are silence in the file, and its exit code is 1.
  @Test func lateCyclesAreTold() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 256, synchronous: false)
      let emitter = try Emitter(on: server)
      defer { withExtendedLifetime(emitter) {} }
      let file = folder.appendingPathComponent("a.wav").path
      let recorder = try recordEmitter(file, on: server, ["--seconds", "3"], in: folder)
      recorder.send(signal: SIGSTOP)
      usleep(100_000)
      recorder.send(signal: SIGCONT)
      let result = try recorder.result()
      expectEqual(result.status, 1, "\(result)")
      let words = try require(
        result.output.firstMatch(of: /\((\d+) frames of silence\)/), "\(result)")
      let silence = try require(Int(words.output.1))
      let (frames, _, wrong) = try emitted(file)
      expectTrue(silence > 0 && frames == 144_000 && wrong >= 2 * silence)
    }
  }

  /// The recording continues when the server is back, and has the requested length.
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
      expectTrue(result.isRecorded, "\(result)")
      expectTrue(result.output.contains("recorded 144000 frames"), "\(result.output)")
      try expectEqual(decoded(URL(fileURLWithPath: file)).count, 2 * 144_000)
    }
  }

  /// A signal meanwhile ends it with what was recorded.
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
      expectTrue(result.isRecorded, "\(result)")
      let frames = try decoded(URL(fileURLWithPath: file)).count / 2
      expectTrue(frames > 10_000 && result.output.contains("recorded \(frames) frames"))
    }
  }

  /// No new file is created, and an old one is not changed.
  @Test(arguments: [false, true]) func aSignalBeforeTheStartLeavesNothing(serverGoes: Bool) throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon()
      let new = folder.appendingPathComponent("new.wav").path
      let old = folder.appendingPathComponent("old.wav")
      try Data("old".utf8).write(to: old)
      let recorders = try [[new], [old.path, "--force"]].map { words in
        let recorder = try Playing(
          "record", words + ["--server", server.name, "--at", "+60"], in: folder)
        try recorder.wait(for: ":in_2")
        return recorder
      }
      if serverGoes {
        server.kill()
        for recorder in recorders { try recorder.waitForError("waiting until it is back") }
      }
      let results = try recorders.map { recorder in
        recorder.send(signal: SIGINT)
        return try recorder.result()
      }
      expectEqual(results.map(\.status), [130, 130])
      expectTrue(results[0].output.hasSuffix("new.wav: nothing was recorded\n"))
      expectTrue(
        results[1].output.hasSuffix("old.wav: nothing was recorded; the old file is as it was\n"))
      expectTrue(!FileManager.default.fileExists(atPath: new))
      try expectEqual(Data(contentsOf: old), Data("old".utf8))
    }
  }

  @Test func lessThanAFrameIsNothingToRecord() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon()
      let old = folder.appendingPathComponent("old.wav")
      try Data("old".utf8).write(to: old)
      let result = try cuejack(
        "record", [old.path, "--force", "--server", server.name, "--seconds", "0.00001"])
      expectFailure(result, [old.path, "--seconds is shorter than a frame"])
      try expectEqual(Data(contentsOf: old), Data("old".utf8))
    }
  }

  /// The folder is removed while the recording waits for its start.
  @Test func aFolderThatIsGoneAtTheStartIsTold() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon()
      let inner = folder.appendingPathComponent("inner")
      try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
      let file = inner.appendingPathComponent("a.wav").path
      let recorder = try Playing(
        "record", [file, "--server", server.name, "--at", "+8"], in: folder)
      try recorder.wait(for: ":in_2")
      try FileManager.default.removeItem(at: inner)
      let result = try recorder.result()
      expectFailure(result, [file, "no such folder"])
      expectTrue(result.output.hasSuffix("a.wav: nothing was recorded\n"))
    }
  }
}
