import CTestSupport
import Foundation
import TestSupport
import Testing

/// Recordings that wait for sound, a key or the transport, and warnings about inputs.
@Suite(.tags(.server, .program), .serialized) struct RecordStartTests {
  /// The frame that a recording says it begins with.
  private func start(_ output: String) throws -> UInt32 {
    try require(
      output.firstMatch(of: #/records from frame (\d+) on/#).flatMap {
        Int64($0.output.1).map { UInt32(truncatingIfNeeded: $0) }
      }, "\(output)")
  }

  /// The player's start frame is known, and its first sample is above the level.
  @Test(arguments: [0, 12_000]) func soundStartsTheRecordingOnItsFrame(preRoll: Int) throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let noise = try WaveFile("noise.wav", in: folder, coding: .s24, frames: 96_000)
      let level: Float = 0.5
      let first = try require(
        (0..<noise.frames).first { frame in noise.samples.contains { abs($0[frame]) > level } })
      let clock = try CaptureClient(on: server, name: "clock", channels: 1, capacity: 1)
      let at = clock.cycleFrame &+ UInt32(4 * server.rate)
      let player = try Playing(
        [noise.path, "--no-connect", "--name", "player", "--at", "\(at)", "--server", server.name],
        in: folder)
      try player.wait(for: "start frame")
      let file = folder.appendingPathComponent("take.wav").path
      let recorder = try Playing(
        "record",
        [
          file, "--start-on-sound", "0.5", "--connect", "player", "--seconds", "1", "--format",
          "f32",
          "--server", server.name,
        ] + (preRoll > 0 ? ["--pre-roll", "\(preRoll)f"] : []), in: folder)
      try recorder.wait(for: "waiting for a sample above 0.5")
      try require(Int32(bitPattern: at &- clock.cycleFrame) > 0, "they were not ready in time")
      let result = try recorder.result()
      expectTrue(result.isRecorded, "\(result)")
      let begin = at &+ UInt32(first) &- UInt32(preRoll)
      try expectEqual(start(result.output), begin)
      let found: [Float] = try decoded(URL(fileURLWithPath: file), as: "f32le")
      expectEqual(found.count, 2 * server.rate)
      if !result.errors.contains("not recorded") {
        // The frames of the player before the one that is loud enough are in the pre-roll.
        let wrong = (0..<server.rate).first { frame in
          let played = frame - preRoll + first
          return (0..<2).contains {
            found[2 * frame + $0] != (played < 0 ? 0 : noise.samples[$0][played])
          }
        }
        expectNil(wrong)
      }
      player.send(signal: SIGTERM)
      _ = try player.result()
    }
  }

  @Test func aKeyStartsTheRecordingWithItsPreRoll() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      defer { withExtendedLifetime(emitter) {} }
      let file = folder.appendingPathComponent("take.wav").path
      let terminal = try PseudoTerminal(
        try builtProduct(named: "cuejack").path,
        [
          "record", file, "--pre-roll", "1", "--format", "f32", "--connect", "emitter", "--server",
          server.name,
        ])
      try terminal.wait(for: "waiting for the key space")
      let clock = try CaptureClient(on: server, name: "clock", channels: 1, capacity: 600_000)
      clock.arm()
      try require(clock.wait(untilFrames: 96_000))
      // JACK's clock is not where its frames are on a busy machine: the frames that are there count.
      func frame() -> UInt32 { clock.firstFrame &+ UInt32(clock.capturedFrames) }
      let before = frame()
      terminal.type(" ")
      try terminal.wait(for: "records from frame")
      let after = frame()
      try waitForSize(600_000, of: [file])
      terminal.type("q")
      expectTrue(terminal.result().isRecorded, "\(terminal.text)")
      let begin = try start(terminal.text)
      // The key was pressed a second after the first frame. What the recorder has by then ends up to two
      // periods from what the capture has.
      let key = begin &+ UInt32(server.rate)
      expectTrue(Int32(bitPattern: key &- before) >= -2 * 1024)
      expectTrue(Int32(bitPattern: after &- key) >= -2 * 1024)
      let (frames, first, wrong) = try emitted(file)
      expectTrue(first == begin & 0x3f_ffff && frames > server.rate)
      if terminal.text.contains("overruns: 0, ") { expectEqual(wrong, 0) }
    }
  }

  /// The first frame is that of the transport, and the end comes with its stop.
  @Test func theTransportStartsAndEndsTheRecording() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      defer { withExtendedLifetime(emitter) {} }
      let conductor = try Conductor(on: server, tempo: nil)
      let file = folder.appendingPathComponent("take.wav").path
      let recorder = try Playing(
        "record",
        [file, "--transport", "--format", "f32", "--connect", "emitter", "--server", server.name],
        in: folder)
      try recorder.wait(for: "waiting for the transport")
      let clock = try CaptureClient(on: server, name: "clock", channels: 1, capacity: 600_000)
      clock.arm()
      try require(clock.wait(untilFrames: 20_000))
      // Only the name is reserved.
      expectTrue(try Data(contentsOf: URL(fileURLWithPath: file)).isEmpty)
      conductor.start()
      var zero: Int?
      try wait(for: "the transport") {
        zero = conductor.begin
        return zero != nil
      }
      try waitForSize(400_000, of: [file])
      conductor.stop()
      let result = try recorder.result()
      expectTrue(result.isRecorded, "\(result)")
      let begin = try start(result.output)
      expectEqual(begin, UInt32(truncatingIfNeeded: zero!))
      let (frames, first, wrong) = try emitted(file)
      expectEqual(first, begin & 0x3f_ffff)
      expectTrue(frames > 40_000 && frames % 1024 == 0, "\(frames)")
      if result.output.contains("overruns: 0") { expectEqual(wrong, 0) }
    }
  }

  /// Each is told once, and when it changes back. The recording goes on.
  @Test func inputsWithoutSoundAreTold() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      defer { withExtendedLifetime(emitter) {} }
      let patch = try CaptureClient(on: server, name: "patch", channels: 1, capacity: 1)
      let file = folder.appendingPathComponent("take.wav").path
      let recorder = try Playing(
        "record",
        [
          file, "--channels", "3", "--connect", "emitter:out_1,system:capture_1", "--server",
          server.name,
        ], in: folder)
      try recorder.waitForError("cuejack: cuejack-record:in_3: not connected: records silence\n")
      try patch.disconnect("emitter:out_1", from: "cuejack-record:in_1")
      try recorder.waitForError(
        "cuejack: cuejack-record:in_1: lost the connection: records silence\n")
      try patch.connect("emitter:out_1", to: "cuejack-record:in_1")
      try recorder.waitForError("cuejack: cuejack-record:in_1: connected to emitter:out_1 now\n")
      // Not in freewheel mode, for which jackd disconnects the sound card.
      try recorder.waitForError("cuejack: cuejack-record:in_2: nothing but zeros for 5 seconds\n")
      try patch.connect("emitter:out_2", to: "cuejack-record:in_2")
      try recorder.waitForError("cuejack: cuejack-record:in_2: sound again\n")
      recorder.send(signal: SIGINT)
      let result = try recorder.result()
      expectTrue(result.isRecorded, "\(result)")
      let lines = result.errors.split(separator: "\n").filter {
        $0.contains(": cuejack-record:in_")
      }
      expectEqual(lines.count, 5, "\(result.errors)")
    }
  }
}
