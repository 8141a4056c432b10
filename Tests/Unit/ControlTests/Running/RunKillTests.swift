import FileSupport
import Foundation
import SessionSupport
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// `cuejack session run` is killed at random moments while it plays, records, is edited and saves. `make proof`
/// does that 1,000 times, or as often as CUEJACK_KILLS says: parts of it can run side by side, each with a
/// /dev/shm of its own.
@Suite(.tags(.server, .program), .serialized) struct RunKillTests {
  @Test func aKilledSessionLosesAtMostASecondOfSoundAndItsLastEdit() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 48000 * 60)
      let jack = try JackDaemon(rate: 48000, period: 1024)
      let emitter = try Emitter(on: jack)
      defer { withExtendedLifetime(emitter) {} }
      let clock = try CaptureClient(on: jack, name: "clock", capacity: 1)
      var document = session([("a", [a])])
      document.recordings = [
        SessionRecording(name: "take", ports: ["emitter:out_1"], file: "takes/take.wav")
      ]
      document.recordings[0].armed = true
      document.recordings[0].format = "f32"
      let path = "\(folder.path)/s"
      do { _ = try SessionStore(creating: path, document) }
      var volume = 0.0
      var longest = 0
      var recorded = 0
      for round in 1...rounds {
        let output = folder.appendingPathComponent("output")
        let child = try Child(
          try builtProduct(named: "cuejack").path,
          ["session", "run", path, "--server", jack.name, "--play", "--no-connect"],
          environment: ProcessInfo.processInfo.environment.merging(["NSM_URL": ""]) { $1 },
          output: output)
        defer { child.end() }
        // One in eight is killed before it plays.
        var known = volume
        if round % 8 == 0 {
          usleep(UInt32.random(in: 0...200_000))
          child.send(signal: SIGKILL)
        } else {
          try wait(for: "the session") { text(of: output).contains("UDP port ") }
          let port = try require(
            text(of: output).firstMatch(of: #/UDP port ([0-9]+)/#).flatMap { UInt16($0.1) })
          let client = try RemoteClient(of: OSCAddress(port: port))
          usleep(UInt32.random(in: 0...800_000))
          let edits = Int.random(in: 0...60)
          for number in 0..<edits {
            volume -= 0.25
            if volume < -100 { volume = 0 }
            try client.send(OSCMessage("/cuejack/tracks/1/gain", .float(Float(volume))))
            known = volume
            if number % 9 == 8 { try client.send(OSCMessage("/cuejack/save")) }
          }
          // Killed in the midst of an edit or a save, whose answer nobody waits for.
          let last = volume - 0.25
          Thread.detachNewThread {
            guard let client = try? RemoteClient(of: OSCAddress(port: port)) else { return }
            _ = try? client.send(OSCMessage("/cuejack/tracks/1/gain", .float(Float(last))))
            _ = try? client.send(OSCMessage("/cuejack/save"))
          }
          usleep(UInt32.random(in: 0...30_000))
          child.send(signal: SIGKILL)
        }
        // A server that waits for the killed client runs no cycles, and its clock goes on: sound counts by cycles.
        let killed = clock.cycleFrame
        expectEqual(child.wait(seconds: 60), 128 + SIGKILL)
        // A busy machine lets a killed process run on for a moment. A cycle has the frames up to its end.
        let now = clock.cycleFrame &+ 4096
        let reading = try SessionStore.read(path)
        volume = reading.document.tracks[0].volume
        expectTrue(volume == known || volume == known - 0.25, "round \(round)")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(path)/takes")) ?? []
        for name in names {
          let take = "\(path)/takes/\(name)"
          defer { try? FileManager.default.removeItem(atPath: take) }
          let size = try FileManager.default.attributesOfItem(atPath: take)[.size] as? Int ?? 0
          // Killed before the first buffer was written.
          if size == 0 { continue }
          let reader = try SoundReader(path: take)
          // Killed before the first buffer was written behind the header.
          if reader.frames == 0 { continue }
          var samples = [Float](repeating: 0, count: Int(reader.frames))
          _ = try samples.withUnsafeMutableBytes {
            try reader.read(startingAt: 0, frames: Int(reader.frames), into: $0)
          }
          // It ends less than a second before the kill, and has every frame up to there.
          let end = try require(
            (0..<240_000).map { now &- UInt32($0) }.first {
              Emitter.sample(at: $0, channel: 0) == samples.last
            }, "round \(round): \(samples.count) frames, \(samples.suffix(3)), now \(now)")
          let lost = Int(Int32(bitPattern: killed &- end))
          expectTrue(lost < 48000, "round \(round)")
          let begin = end &- UInt32(samples.count - 1)
          expectTrue(
            samples.indices.allSatisfy {
              samples[$0] == Emitter.sample(at: begin &+ UInt32($0), channel: 0)
            }, "round \(round)")
          longest = max(longest, lost)
          recorded += samples.count
        }
      }
      expectTrue(recorded > 0)
      print("\(rounds) kills: \(recorded) frames were recorded; a kill lost \(longest) at most")
    }
  }

  private var rounds: Int {
    guard proof != nil else { return 4 }
    return ProcessInfo.processInfo.environment["CUEJACK_KILLS"].flatMap(Int.init) ?? 1000
  }
}
