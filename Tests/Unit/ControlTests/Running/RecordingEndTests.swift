import Foundation
import Server
import SessionSupport
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// The ends of several recordings of a session.
@Suite(.tags(.server), .serialized) struct RecordingEndTests {
  private static let count = 8

  /// Returns the first samples and the numbers of frames of a take of all recordings.
  private func take(_ suffix: String, in folder: URL) throws -> [(first: Float, frames: Int64)] {
    try (0..<Self.count).map { number in
      let reader = try SoundReader(path: "\(folder.path)/s/r\(number)\(suffix).wav")
      var sample: Float = 0
      _ = try withUnsafeMutableBytes(of: &sample) {
        try reader.read(startingAt: 0, frames: 1, into: $0)
      }
      return (sample, reader.frames)
    }
  }

  /// A recording of the session's own ports is connected by each take, also when the server returns. No person
  /// has made that connection.
  @Test func ownRecordingsAddNoConnections() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 480_000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      var document = session([("a", [a])])
      document.recordings = [
        SessionRecording(name: "mix", ports: ["{self}:a_1"], file: "mix.wav")
      ]
      document.recordings[0].armed = true
      let running = try openSession(document, in: folder, on: jack)
      defer { running.end() }
      let engine = try require(running.engine)
      try running.perform { session throws(SessionRunError) in try session.start() }
      try wait(for: "the connection") { !engine.device.client.connections(of: "a_1").isEmpty }
      jack.kill()
      try wait(for: "the loss") { engine.device.isLost }
      try jack.start()
      try wait(for: "the connection") {
        !engine.device.isLost && !engine.device.client.connections(of: "a_1").isEmpty
      }
      let later = engine.device.now + 48_000
      try wait(for: "a second") { engine.device.now > later }
      expectEqual(running.store?.document.connections, [])
      try running.save()
      expectEqual(running.store?.document.connections, [])
    }
  }

  /// A take goes on without the microphone, and says so.
  @Test func aLostConnectionIsTold() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 480_000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      var emitter: Emitter? = try Emitter(on: jack, channels: 1)
      var document = session([("a", [a])])
      document.recordings = [
        SessionRecording(name: "mic", ports: ["emitter:out_1"], file: "mic.wav")
      ]
      document.recordings[0].armed = true
      let running = try openSession(document, in: folder, on: jack)
      defer { running.end() }
      let engine = try require(running.engine)
      try running.perform { session throws(SessionRunError) in try session.start() }
      let begun = engine.device.now
      try wait(for: "sound") { engine.device.now > begun + 48_000 }
      expectNil(engine.failure(ofRecording: "mic"))
      withExtendedLifetime(emitter) {}
      emitter = nil
      try wait(for: "the message") {
        engine.failure(ofRecording: "mic")?.contains("lost the connection: records silence") == true
      }
      expectTrue(engine.isRecording)
    }
  }

  /// The emitter's samples tell their frames, so that takes with equal first samples and lengths end on one frame.
  @Test func recordingsThatOneCommandStopsEndOnOneFrame() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 480_000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let emitter = try Emitter(on: jack, channels: 1)
      var document = session([("a", [a])])
      document.recordings = (0..<Self.count).map { number in
        var recording = SessionRecording(
          name: "r\(number)", ports: ["emitter:out_1"], file: "r\(number).wav")
        recording.format = "float"
        recording.armed = true
        return recording
      }
      let running = try openSession(document, in: folder, on: jack)
      defer { running.end() }
      let engine = try require(running.engine)
      func record(_ end: () throws -> Void, _ suffix: String) throws {
        try running.perform { session throws(SessionRunError) in try session.start() }
        let begun = engine.device.now
        try wait(for: "sound") { engine.device.now > begun + 24_000 }
        try end()
        let takes = try take(suffix, in: folder)
        expectTrue(takes.allSatisfy { $0 == takes[0] && $0.frames > 9_600 }, "\(takes)")
      }
      try record(
        { try running.perform { session throws(SessionRunError) in try session.stop() } }, "")
      func arm(_ isArmed: Bool) throws {
        var document = engine.document
        for index in document.recordings.indices { document.recordings[index].armed = isArmed }
        try engine.adopt(document)
      }
      try record({ try arm(false) }, "-2")
      try arm(true)
      try record({ running.end() }, "-3")
      withExtendedLifetime(emitter) {}
    }
  }
}
