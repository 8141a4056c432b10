import Foundation
import TestSupport
import Testing

/// Keys of `play` and `record`, and the state of the terminal, in a pseudo-terminal.
@Suite(.tags(.server, .program), .serialized) struct KeyTests {
  /// Returns the frame of the file whose sound, at a gain, the samples begin with.
  private func position(of samples: ArraySlice<Float>, in file: [Float], gain: Float = 1) -> Int? {
    let pattern = Array(samples.prefix(64))
    guard pattern.count == 64 else { return nil }
    return file.indices.dropLast(64).first { start in
      (0..<64).allSatisfy { abs(file[start + $0] * gain - pattern[$0]) < 1e-6 }
    }
  }

  private func waitForFrames(_ capture: CaptureClient, _ more: Int) throws {
    try require(capture.wait(untilFrames: capture.capturedFrames + more, deadline: 60))
  }

  /// Starts `cuejack` on a terminal of its own.
  private func start(_ arguments: [String]) throws -> PseudoTerminal {
    try PseudoTerminal(try builtProduct(named: "cuejack").path, arguments)
  }

  /// Pause, moves and gain, as they are heard.
  @Test func keysPauseMoveAndChangeTheGain() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("long.wav", in: folder, channels: 1, frames: 1_440_000)
      let server = try JackDaemon(period: 1024)
      let capture = try CaptureClient(on: server, channels: 1, capacity: 60 * server.rate)
      capture.arm()
      let terminal = try start(
        ["play", file.path, "--connect", "capture", "--server", server.name])
      try terminal.wait(for: "start frame")
      try terminal.wait(for: " 0:01/")
      expectTrue(!terminal.isCooked)
      terminal.type(" ")
      try terminal.wait(for: "paused")
      // What the server still had to play.
      try waitForFrames(capture, 8192)
      let silent = capture.capturedFrames
      terminal.type("\u{1B}[C")
      try waitForFrames(capture, 8192)
      terminal.type(" ")
      try terminal.wait("going on") { capture.samples(channel: 0)[silent...].contains { $0 != 0 } }
      try waitForFrames(capture, 8192)
      let heard = capture.samples(channel: 0)
      let last = try require(heard[..<silent].lastIndex { $0 != 0 })
      let before = try require(
        position(of: heard[(last - 63)...last], in: file.samples[0]))
      let again = try require(heard[silent...].firstIndex { $0 != 0 })
      let after = try require(position(of: heard[again...], in: file.samples[0]))
      // Five seconds, but for what was played until the pause was made.
      expectTrue(abs(after - before - 240_000) < 24_000, "from \(before) to \(after)")
      // Each key is one decibel.
      terminal.type("\u{1B}[B\u{1B}[B\u{1B}OB")
      try terminal.wait(for: "gain -3 dB")
      let gain = Float(pow(10, -0.15))
      try terminal.wait("the gain") {
        let quiet = capture.samples(channel: 0).suffix(64)
        return position(of: quiet, in: file.samples[0], gain: gain) != nil
      }
      terminal.type("m")
      try terminal.wait(for: "muted")
      try waitForFrames(capture, 8192)
      expectTrue(capture.samples(channel: 0).suffix(1024).allSatisfy { $0 == 0 })
      terminal.type("m\u{1B}[1;2C?l")
      try terminal.wait(for: "with shift, 60")
      try terminal.wait(for: "loop")
      terminal.type("q")
      expectTrue(terminal.wait(seconds: 30) == 0 && terminal.isCooked, "\(terminal.text)")
      expectTrue(terminal.text.contains("long.wav: played "), "\(terminal.text)")
    }
  }

  /// The time for which a server was away is no time of playing.
  @Test func aPauseAfterARestartGoesOnWhereItWas() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("long.wav", in: folder, channels: 1, frames: 1_440_000)
      let server = try JackDaemon(period: 1024)
      var watch: CaptureClient? = try CaptureClient(
        on: server, channels: 1, capacity: server.rate)
      try require(watch?.channels == 1)
      let terminal = try start(
        ["play", file.path, "--connect", "capture", "--server", server.name])
      try terminal.wait(for: " 0:01/")
      server.kill()
      try terminal.wait(for: "went away")
      // A client of the killed server must be closed before the next one runs.
      watch = nil
      usleep(3_000_000)
      try server.start()
      try terminal.wait(for: "playing goes on")
      let capture = try CaptureClient(on: server, channels: 1, capacity: 60 * server.rate)
      capture.arm()
      try terminal.wait("sound") { capture.samples(channel: 0).contains { $0 != 0 } }
      try waitForFrames(capture, 8192)
      terminal.type(" ")
      try terminal.wait(for: "paused")
      try waitForFrames(capture, 8192)
      let silent = capture.capturedFrames
      terminal.type(" ")
      try terminal.wait("going on") { capture.samples(channel: 0)[silent...].contains { $0 != 0 } }
      try waitForFrames(capture, 8192)
      let heard = capture.samples(channel: 0)
      let last = try require(heard[..<silent].lastIndex { $0 != 0 })
      let before = try require(position(of: heard[(last - 63)...last], in: file.samples[0]))
      let again = try require(heard[silent...].firstIndex { $0 != 0 })
      let after = try require(position(of: heard[again...], in: file.samples[0]))
      expectTrue(abs(after - before) < 24_000, "from \(before) to \(after)")
      terminal.type("q")
      expectEqual(terminal.wait(seconds: 30), 0)
    }
  }

  @Test func theFilesOfASequenceAreSteppedThrough() throws {
    try withTemporaryFolder { folder in
      let files = try (1...3).map {
        try WaveFile(
          "\($0).wav", in: folder, channels: 1, frames: 480_000, seed: UInt64($0))
      }
      let server = try JackDaemon(period: 1024)
      let capture = try CaptureClient(on: server, channels: 1, capacity: 60 * server.rate)
      capture.arm()
      let terminal = try start(
        ["play", "-q"] + files.map(\.path) + ["--connect", "capture", "--server", server.name])
      /// Presses keys, and returns what is heard first after them.
      func heard(_ keys: String, _ name: String) throws -> [Float] {
        terminal.type(" ")
        try terminal.wait(for: "paused")
        try waitForFrames(capture, 8192)
        let silent = capture.capturedFrames
        terminal.type(keys + " ")
        try terminal.wait("going on") {
          capture.samples(channel: 0)[silent...].contains { $0 != 0 }
        }
        try waitForFrames(capture, 8192)
        try terminal.wait(for: name)
        return Array(capture.samples(channel: 0)[silent...].drop { $0 == 0 }.prefix(1000))
      }
      try terminal.wait(for: " 0:01/")
      try expectEqual(heard("n", "2.wav "), Array(files[1].samples[0].prefix(1000)))
      try expectEqual(heard("n", "3.wav "), Array(files[2].samples[0].prefix(1000)))
      // Right after a file's beginning, the one before is meant.
      try expectEqual(heard("pp", "2.wav "), Array(files[0].samples[0].prefix(1000)))
      terminal.type("q")
      expectEqual(terminal.wait(seconds: 30), 0, "\(terminal.text)")
    }
  }

  /// Files that play together: one is silenced, or all others.
  @Test func aFileIsMutedAndPlaysSolo() throws {
    try withTemporaryFolder { folder in
      let files = try (1...2).map {
        try WaveFile("\($0).wav", in: folder, channels: 1, frames: 960_000, seed: UInt64($0))
      }
      let server = try JackDaemon(period: 1024)
      let capture = try CaptureClient(on: server, channels: 2, capacity: 60 * server.rate)
      let terminal = try start(
        ["play"] + files.map(\.path) + ["--no-connect", "--server", server.name])
      try terminal.wait(for: "0:00/")
      try capture.connect("cuejack-play:out_1", toInput: 1)
      try capture.connect("cuejack-play-2:out_1", toInput: 2)
      capture.arm()
      func areSilent() throws -> [Bool] {
        try waitForFrames(capture, 16_384)
        return (0..<2).map { capture.samples(channel: $0).suffix(1024).allSatisfy { $0 == 0 } }
      }
      try expectEqual(areSilent(), [false, false])
      terminal.type("m")
      try terminal.wait(for: "(mute) 1.wav")
      try expectEqual(areSilent(), [true, false])
      terminal.type("mns")
      try terminal.wait(for: "file 2: 2.wav  solo")
      try expectEqual(areSilent(), [true, false])
      terminal.type("spm")
      try terminal.wait(for: "(mute) 1.wav", times: 2)
      terminal.type("mq")
      expectEqual(terminal.wait(seconds: 30), 0, "\(terminal.text)")
    }
  }

  /// The pause is not in the file, and markers stand where they were set.
  @Test func aRecordingIsPausedAndMarked() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      let file = folder.appendingPathComponent("take.wav").path
      let terminal = try start(
        ["record", file, "--format", "f32", "--connect", "emitter", "--server", server.name])
      try waitForSize(200_000, of: [file])
      terminal.type("m ")
      try terminal.wait(for: "(paused)")
      // A server of a busy machine counts fewer frames meanwhile.
      usleep(2_500_000)
      expectTrue(!terminal.isCooked)
      terminal.type(" ")
      let paused = try Data(contentsOf: URL(fileURLWithPath: file)).count
      try waitForSize(paused + 200_000, of: [file])
      terminal.type("m?")
      try terminal.wait(for: "marker 2 at")
      try terminal.wait(for: "end the recording")
      terminal.type("q")
      expectTrue(terminal.result().isRecorded && terminal.isCooked, "\(terminal.text)")
      let sound = try channels(of: URL(fileURLWithPath: file))[0]
      // Where the frames go on with later numbers.
      let steps = zip(sound, sound.dropFirst()).map { $1 - $0 }.filter { $0 != 1 && $0 > 0 }
      expectTrue(steps.contains { $0 > 48_000 }, "\(steps)")
      // A busy machine may lose frames, which the command counts.
      if terminal.text.contains("overruns: 0, ") {
        expectEqual(steps.count, 1, "\(steps) \(terminal.text)")
        // The emitter's numbers begin anew with 0 now and then.
        expectTrue(sound.count { $0 == 0 } <= 1)
      }
      let info = try cuejack("info", [file])
      expectEqual(info.output.matches(of: #/marker:\s+\d+ \([12]\)/#).count, 2, "\(info)")
      withExtendedLifetime(emitter) {}
    }
  }

  /// Ctrl-Z gives the terminal back, and afterwards the keys work again.
  @Test func theTerminalIsGivenBackWhileTheCommandIsStopped() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("long.wav", in: folder, channels: 1, frames: 1_440_000)
      let server = try JackDaemon(period: 1024)
      let terminal = try start(["play", file.path, "--server", server.name])
      try terminal.wait(for: "0:00/")
      expectTrue(!terminal.isCooked)
      func isStopped() -> Bool { terminal.state == "T" }
      terminal.type("\u{1A}")
      try terminal.wait("stopped") { isStopped() }
      expectTrue(terminal.isCooked)
      terminal.send(signal: SIGCONT)
      try terminal.wait("going on") { !isStopped() && !terminal.isCooked }
      // The display fits another width.
      terminal.resize(columns: 40)
      usleep(300_000)
      let before = terminal.text.count
      try terminal.wait("drawn again") { terminal.text.count > before + 500 }
      let lines = terminal.text.dropFirst(before).components(
        separatedBy: CharacterSet(["\r", "\n"])
      )
      .map { $0.replacing(#/\x1B\[[\d;]*[A-Za-z]/#, with: "") }
      let whole = lines.dropFirst().dropLast()
      expectTrue(!whole.isEmpty && whole.allSatisfy { $0.count < 40 }, "\(lines)")
      terminal.type("q")
      expectTrue(terminal.wait(seconds: 30) == 0 && terminal.isCooked, "\(terminal.text)")
    }
  }

  /// Signals and crashes: the shell finds the terminal as it was.
  @Test(arguments: [SIGTERM, SIGINT, SIGSEGV, SIGABRT, SIGTRAP])
  func theTerminalIsAsBeforeWhateverEndsTheCommand(signal: Int32) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("long.wav", in: folder, channels: 1, frames: 1_440_000)
      let server = try JackDaemon(period: 1024)
      let terminal = try start(["play", file.path, "--server", server.name])
      try terminal.wait(for: "0:00/")
      expectTrue(!terminal.isCooked)
      terminal.send(signal: signal)
      expectTrue(
        terminal.wait(seconds: 30) == 128 + signal && terminal.isCooked, "\(terminal.text)")
    }
  }
}
