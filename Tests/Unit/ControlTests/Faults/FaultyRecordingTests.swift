import Control
import Foundation
import Sessions
import TestSupport
import Testing

/// Recordings of a running session that fail: remote control and the exit code tell it, and what was recorded is kept.
@Suite(.tags(.server), .serialized) struct FaultyRecordingTests {
  private func withRecording(_ body: (FaultyRun, String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let sound = try WaveFile("a.wav", in: folder, frames: 48000 * 60).path
      let run = try FaultyRun(in: folder, isolated: []) { document in
        document.tracks = [SessionTrack(name: "a", files: [sound])]
        for name in ["take", "other"] {
          var recording = SessionRecording(
            name: name, ports: ["emitter:out_1"], file: "takes/\(name).wav")
          recording.armed = true
          document.recordings.append(recording)
        }
      }
      let emitter = try Emitter(on: run.jack)
      defer { withExtendedLifetime(emitter) {} }
      try run.client.send(OSCMessage("/cuejack/start"))
      let take = run.session + "/takes/take.wav"
      try wait(for: "the recording") {
        let size = try? FileManager.default.attributesOfItem(atPath: take)[.size] as? Int
        return size ?? 0 > 50_000
      }
      try expectEqual(run.client.values(of: "/cuejack/recording").first?.arguments, [.bool(true)])
      try body(run, take)
    }
  }

  private func value(_ run: FaultyRun, _ address: String) throws -> OSCValue? {
    try run.client.values(of: "/cuejack/" + address).first?.arguments.first
  }

  @Test func aDeletedFileIsToldAndKept() throws {
    try withRecording { run, take in
      try FileManager.default.removeItem(atPath: take)
      try wait(for: "the end of the recording") {
        try value(run, "recordings/1/armed") == .bool(false)
      }
      let reason = try value(run, "recordings/1/failure")?.text ?? ""
      expectTrue(reason.contains("what was recorded is kept in \(take)"), "\(reason)")
      // The other one goes on.
      try expectEqual(value(run, "recordings/2/armed"), .bool(true))
      try expectEqual(value(run, "recordings/2/failure"), .string(""))
      try expectEqual(value(run, "recording"), .bool(true))
      try expectEqual(value(run, "armed"), .bool(false))
      run.program.child.send(signal: SIGTERM)
      expectEqual(run.program.child.wait(seconds: 60), 1)
      let frames = try SoundReader(path: take).frames
      expectTrue(frames > 10_000)
      expectTrue(
        run.program.lines.contains { $0.contains("\(take): recorded \(frames) frames") },
        "\(run.program.lines)")
    }
  }

  @Test func aFullDiskIsTold() throws {
    try withRecording { run, take in
      run.order(0, ENOSPC, isLasting: true)
      try wait(for: "the end of the recordings") {
        try value(run, "recordings/1/failure")?.text?.contains("no room left") == true
          && value(run, "recordings/2/failure")?.text?.contains("no room left") == true
      }
      try wait(for: "the end") { try value(run, "recording") == .bool(false) }
      run.order(nil)
      // They can be armed again, and go on in other files.
      try run.client.send(OSCMessage("/cuejack/armed", .bool(true)))
      try wait(for: "the next take") {
        FileManager.default.fileExists(atPath: run.session + "/takes/take-2.wav")
      }
      try expectEqual(value(run, "recordings/1/failure"), .string(""))
      run.program.child.send(signal: SIGTERM)
      expectEqual(run.program.child.wait(seconds: 60), 1)
      expectTrue(try SoundReader(path: take).frames > 10_000)
    }
  }
}
