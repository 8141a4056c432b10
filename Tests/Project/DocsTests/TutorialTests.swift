import Foundation
import TestSupport
import Testing

/// The commands of docs/sessions.md.
@Suite(.tags(.server, .program), .serialized) struct TutorialTests {
  /// The tutorial's commands in order, without those that build and install.
  private static var commands: [String] {
    Page("docs/sessions.md").blocks.filter { $0.language == "sh" }
      .flatMap { $0.text.components(separatedBy: "\n") }
      .filter { !$0.isEmpty && !$0.hasPrefix("make ") }
  }

  /// Makes five seconds of each of the demo's files.
  private func makeSounds(in folder: URL) throws {
    for (name, hertz) in [("drums.wav", 330), ("bass.aiff", 110), ("chords.wav", 440)] {
      let made = try run(
        "sox",
        [
          "-n", "-r", "48000", "-b", "16", "-c", "2", name, "synth", "5", "sine", "\(hertz)", "vol",
          "0.2",
        ], folder: folder)
      try require(made.status == 0, "\(made.errors)")
    }
    let converted = try run(
      builtProduct(named: "cuejack").path, ["convert", "chords.wav", "chords.caf"], folder: folder)
    try require(converted.status == 0, "\(converted.errors)")
  }

  @Test func itsCommandsRunOneAfterAnother() throws {
    expectTrue(Self.commands.count > 25)
    let jack = try JackDaemon(rate: 48000, period: 1024)
    let card = try CaptureClient(on: jack, capacity: 48000)
    try withTemporaryFolder { folder in
      try makeSounds(in: folder)
      var environment = playEnvironment(try pluginEnvironment()).merging(jack.environment) {
        $1
      }
      environment["PATH"] =
        "\(builtProducts.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
      environment["XDG_RUNTIME_DIR"] = folder.path
      // Sessions are looked for there, too, and other tests have some of the same name.
      environment["TMPDIR"] = folder.path
      environment["NSM_URL"] = ""
      /// The session that runs in the other terminal.
      var session: (child: Child, output: URL)?
      defer { session?.child.end() }
      for command in Self.commands {
        if command.hasPrefix("cuejack session run ") {
          expectNil(session, "\(command): another session runs")
          let output = folder.appendingPathComponent("run-\(UUID().uuidString)")
          let child = try Child(
            "sh", ["-c", "exec \(command)"], environment: environment, folder: folder,
            output: output)
          session = (child, output)
          try wait(for: "\(command): \(text(of: output))") {
            text(of: output).contains(": server \(jack.name)")
          }
          continue
        }
        let result = try run("sh", ["-c", command], environment: environment, folder: folder)
        expectEqual(result.status, 0, "\(command): \(result)")
        if command.hasSuffix(" start") {
          let client = command.contains(" rig ") ? "rig" : "song"
          try wait(for: "sound after \(command)") {
            let position = try run(
              builtProduct(named: "cuejack").path, ["osc", client, "position"],
              environment: environment, folder: folder)
            return position.output.split(separator: " ").last.flatMap {
              Double($0.trimmingCharacters(in: .newlines))
            }.map { $0 > 0.3 } ?? false
          }
        }
        if command.hasSuffix(" quit"), let running = session {
          expectEqual(running.child.wait(seconds: 60), 0, "\(command): \(text(of: running.output))")
          session = nil
        }
      }
      expectNil(session)
      try check(folder)
    }
    withExtendedLifetime(card) {}
  }

  /// Checks what the tutorial leaves.
  private func check(_ folder: URL) throws {
    func file(_ name: String) -> String { folder.appendingPathComponent(name).path }
    let cuejack = try builtProduct(named: "cuejack").path
    let shown = try run(cuejack, ["session", "show", file("song"), "--json"])
    let object = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any]
    let tracks = try require(object?["tracks"] as? [[String: Any]])
    expectEqual(tracks.map { $0["name"] as? String }, ["drums", "bass", "chords"])
    // What `cuejack set` changed was saved, and the files were collected.
    expectTrue(tracks[0]["gain"] as? Double == -3 && tracks[1]["mute"] as? Bool != true)
    expectEqual((tracks[2]["file"] as? String)?.hasPrefix("audio/"), true, "\(tracks)")
    for name in ["song.svg", "song.png", "song.flac", "mix.wav", "song/takes/take.wav"] {
      let size = try FileManager.default.attributesOfItem(atPath: file(name))[.size] as? Int
      expectTrue(size ?? 0 > 1000, "\(name): \(size ?? 0) bytes")
    }
    let info = try run(cuejack, ["info", "--json", file("song.flac")])
    let sounds = try JSONSerialization.jsonObject(with: Data(info.output.utf8)) as? [[String: Any]]
    expectEqual(sounds?.first?["frames"] as? Int, 5 * 48000, "\(info.output)")
    // The mix was heard.
    let mix = try run(cuejack, ["info", "--json", "--loudness", file("mix.wav")])
    let measured = try JSONSerialization.jsonObject(with: Data(mix.output.utf8)) as? [[String: Any]]
    let loudness = measured?.first?["loudness"] as? [String: Any]
    expectTrue(loudness?["samplePeak"] as? Double ?? -100 > -40, "\(mix.output)")
  }

  @Test func READMEAndTheCommandsPageLinkToIt() {
    expectTrue(Page("README.md").links.contains("docs/sessions.md"))
    expectTrue(Page("docs/command.md").links.contains("sessions.md"))
  }
}
