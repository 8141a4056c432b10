import Foundation
import TestSupport
import Testing

/// The events of `--json`: lines of real runs.
@Suite(.tags(.server, .program), .serialized) struct EventTests {
  private typealias Object = [String: Any]

  /// Returns the events of an output, each of which is one line.
  private func events(_ output: String) throws -> [Object] {
    try output.split(separator: "\n").map {
      try require(
        try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any], "\($0)")
    }
  }

  private func names(_ events: [Object]) -> [String] {
    events.compactMap { $0["event"] as? String }
  }

  private func files(_ event: Object) throws -> [Object] {
    try require(event["files"] as? [[String: Any]])
  }

  private func event(_ name: String, in events: [Object]) throws -> Object {
    try require(events.first { $0["event"] as? String == name }, "\(names(events))")
  }

  @Test func playTellsOfItsStartPositionsAndEnd() throws {
    try withTemporaryFolder { folder in
      let one = try WaveFile("1.wav", in: folder, frames: 96_000)
      let two = try WaveFile("2.wav", in: folder, channels: 1, frames: 48_000)
      let server = try JackDaemon()
      let result = try play(
        [one.path, two.path, "--server", server.name, "--json", "--loudness", "--at", "+0.5"])
      expectEqual(result.status, 0, "\(result)")
      let events = try events(result.output)
      expectTrue(names(events).first == "started" && names(events).last == "finished")
      let started = try event("started", in: events)
      expectEqual(started["command"] as? String, "play")
      expectEqual(started["server"] as? String, server.name)
      let begun = try files(started)
      expectEqual(begun.map { $0["file"] as? String }, [one.path, two.path])
      expectEqual(begun.map { $0["client"] as? String }, ["cuejack-play", "cuejack-play-2"])
      expectEqual(begun.map { $0["channels"] as? Int }, [2, 1])
      expectEqual(begun.map { $0["duration"] as? Double }, [2, 1])
      let ports = try require(begun[0]["ports"] as? [[String: Any]])
      expectEqual(ports[1]["port"] as? String, "out_2")
      expectEqual(ports[1]["connections"] as? [String], ["system:playback_2"])
      expectTrue(started["hostTime"] as? UInt64 ?? 0 > 0)

      let positions = try events.filter { $0["event"] as? String == "position" }.map(files)
      expectTrue(positions.count >= 2)
      let seconds = positions.compactMap { $0[0]["seconds"] as? Double }
      expectTrue(seconds == seconds.sorted() && seconds.first ?? 1 < 0.5)
      expectEqual((positions.last?[0]["peaks"] as? [Any])?.count, 2)
      expectTrue(positions.last?[0]["loudness"] is Object)

      let finished = try event("finished", in: events)
      expectEqual(finished["exitCode"] as? Int, 0)
      let ends = try files(finished)
      expectEqual(ends.map { $0["frames"] as? Int }, [96_000, 48_000])
      let frame = try require(started["frame"] as? Int)
      expectEqual(ends.map { $0["frame"] as? Int }, [frame, frame])
      // Noise of 16 bits has samples at full scale.
      let clips = try require(ends[0]["clips"] as? Int)
      let full = one.samples.joined().count { abs($0) >= 32767.0 / 32768 }
      expectTrue(clips == full && full > 0)
      let clip = try require(
        events.last { $0["event"] as? String == "clip" && $0["file"] as? String == one.path })
      expectEqual(clip["clips"] as? Int, full)
      expectTrue(ends[0]["peak"] as? Double == 0 && ends[0]["silentFrames"] as? Int == 0)
      let loudness = try require(ends[0]["loudness"] as? Object)
      expectTrue(loudness["integrated"] is Double && loudness["truePeak"] is Double)
    }
  }

  @Test func aServerThatIsLostAndBackIsTold() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 144_000)
      let server = try JackDaemon()
      let take = folder.appendingPathComponent("take.wav").path
      let player = try Playing([file.path, "--server", server.name, "--json"], in: folder)
      let recorder = try Playing(
        "record", [take, "--server", server.name, "--json", "--seconds", "2.5"], in: folder)
      try player.wait(for: "\"seconds\":0.")
      try waitForSize(100_000, of: [take])
      server.kill()
      for command in [player, recorder] { try command.wait(for: "\"event\":\"lost\"") }
      try server.start()
      for command in [player, recorder] { try command.wait(for: "\"event\":\"back\"") }
      for command in [player, recorder] {
        let result = try command.result()
        let events = try events(result.output)
        let lost = try event("lost", in: events)
        expectTrue(lost["server"] as? String == server.name && lost["reason"] as? String == "gone")
        let finished = try event("finished", in: events)
        expectEqual(finished["exitCode"] as? Int32, result.status)
        expectEqual(names(events).last, "finished")
        // The messages for people are on standard error, too.
        expectTrue(result.errors.contains("waiting until it is back"))
      }
      let ends = try files(try event("finished", in: try events(player.output)))
      expectEqual(ends[0]["restarts"] as? Int, 1)
      // What was lost is told when it is known, and in the end.
      let recorded = try events(recorder.output)
      let end = try require(try files(try event("finished", in: recorded)).first)
      expectTrue(end["frames"] as? Int == 120_000 && end["silentFrames"] as? Int ?? 0 > 0)
      let xrun = try require(recorded.last { $0["event"] as? String == "xrun" })
      expectEqual(xrun["silentFrames"] as? Int, end["silentFrames"] as? Int)
    }
  }

  @Test func recordTellsOfItsFile() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon()
      let take = folder.appendingPathComponent("take.flac").path
      let result = try cuejack(
        "record", [take, "--server", server.name, "--json", "--seconds", "1.5"])
      expectTrue(result.isRecorded, "\(result)")
      let events = try events(result.output)
      let started = try files(try event("started", in: events))[0]
      expectEqual((started["format"] as? String)?.hasPrefix("FLAC, 24-bit"), true)
      expectTrue(started["channels"] as? Int == 2 && started["sampleRate"] as? Double == 48000)
      let end = try files(try event("finished", in: events))[0]
      expectTrue(end["frames"] as? Int == 72_000 && end["duration"] as? Double == 1.5)
      expectTrue(end["peak"] == nil && end["clips"] as? Int == 0)
      expectNil(end["loudness"])
      let positions = try events.filter { $0["event"] as? String == "position" }.map(files)
      expectTrue(positions.allSatisfy { $0[0]["bytes"] is Int && $0[0]["frames"] is Int })
      expectTrue((positions.last?[0]["peaks"] as? [Any])?.first is NSNull)
    }
  }

  /// The last file has ended with the recording, so that none is being written at the end.
  @Test func recordNamesItsFilesAndNotTheirTemplate() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon()
      for name in ["take-%n.wav", "%Y-%n.wav"] {
        let take = folder.appendingPathComponent(name).path
        let result = try cuejack(
          "record",
          [take, "--server", server.name, "--json", "--seconds", "1.5", "--split", "500ms"])
        expectTrue(result.isRecorded, "\(result)")
        let events = try events(result.output)
        let parts = events.filter { $0["event"] as? String == "file" }
          .compactMap { $0["file"] as? String }
        expectTrue(parts.count == 3 && parts.allSatisfy { !$0.contains("%") }, "\(parts)")
        let end = try files(try event("finished", in: events))[0]
        expectEqual(end["file"] as? String, parts.last)
        // Before the first frame, the name of a file with a time is not known.
        let named = try events.filter { $0["event"] as? String == "position" }.flatMap(files)
          .filter { $0["frames"] as? Int ?? 0 > 0 }.compactMap { $0["file"] as? String }
        expectTrue(named.allSatisfy { parts.contains($0) }, "\(named)")
      }
    }
  }

  @Test func convertTellsOfEachFile() throws {
    try withTemporaryFolder { folder in
      let files = try (1...2).map { try WaveFile("\($0).wav", in: folder, frames: 1000 * $0) }
      let missing = folder.appendingPathComponent("3.wav").path
      let target = folder.appendingPathComponent("flac").path
      let result = try cuejack(
        "convert", ["--to", "flac", "--json"] + files.map(\.path) + [missing, target])
      expectEqual(result.status, 1)
      let events = try events(result.output)
      try expectEqual(self.files(try event("started", in: events)).count, 3)
      let converted = events.filter { $0["event"] as? String == "converted" }
      expectEqual(
        converted.map { $0["output"] as? String }, ["\(target)/1.flac", "\(target)/2.flac"])
      expectEqual(converted.map { $0["frames"] as? Int }, [1000, 2000])
      let error = try event("error", in: events)
      expectEqual((error["message"] as? String)?.hasPrefix("\(missing): "), true)
      expectEqual(result.errors, "cuejack: \(error["message"] as? String ?? "")\n")
      try expectEqual(event("finished", in: events)["exitCode"] as? Int, 1)
    }
  }

  @Test func errorsBeforeTheStartAreEvents() throws {
    let result = try play(["/nowhere/a.wav", "--json"])
    expectEqual(result.status, 1)
    let events = try events(result.output)
    expectEqual(names(events), ["error"])
    expectEqual((events[0]["message"] as? String)?.contains("/nowhere/a.wav"), true)
    let render = try play(["a.wav", "--json", "--render", "-"])
    expectTrue(
      render.status == 64 && render.errors.contains("--json makes no sense with it"), "\(render)")
  }

  /// The figures are those of the file that is written, after the plugins.
  @Test func aRenderingTellsWhatItWrote() throws {
    try withTemporaryFolder { folder in
      let tone = folder.appendingPathComponent("tone.wav").path
      let made = try run(
        "bash", ["-c", "sox -n -r 48000 -b 24 -c 2 \(tone) synth 5 sine 997 gain -20"])
      expectEqual(made.status, 0)
      let out = folder.appendingPathComponent("out.wav").path
      let arguments = [tone, "--plugin", "eg-amp:gain=-6", "--loudness", "--render", out]
      let environment = try pluginEnvironment()
      let result = try play(arguments + ["--json"], environment: environment)
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      let events = try events(result.output)
      let started = try files(try event("started", in: events))
      expectEqual(started.map { $0["file"] as? String }, [tone])
      expectEqual(started.map { $0["output"] as? String }, [out])
      let finished = try event("finished", in: events)
      expectEqual(finished["exitCode"] as? Int, 0)
      let figures = try require(try files(finished).first)
      expectEqual(figures["file"] as? String, out)
      expectTrue(figures["frames"] as? Int == 240_000 && figures["duration"] as? Double == 5)
      expectTrue(figures["peak"] as? Double == -26 && figures["clips"] as? Int == 0)
      let loudness = try require(figures["loudness"] as? Object)
      let measured = try cuejack("info", [out, "--loudness", "--json"])
      let info = try require(
        try JSONSerialization.jsonObject(with: Data(measured.output.utf8)) as? [Object])
      let expected = try require(info.first?["loudness"] as? Object)
      for key in ["integrated", "truePeak"] {
        try expectEqual(require(loudness[key] as? Double), expected[key] as? Double)
      }
      // In words as well.
      let said = try play(arguments + ["--force"], environment: environment)
      let words = "wrote 240000 frames; loudness -26.0 LUFS, true peak -26.0 dBTP\n"
      expectEqual(said.output, "\(out): \(words)", "\(said)")
    }
  }
}
