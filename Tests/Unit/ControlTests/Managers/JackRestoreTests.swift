import CJack
import Foundation
import Server
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// A session that JACK's session manager saves and restores sounds the same, sample for sample.
@Suite(.tags(.server, .program), .serialized) struct JackRestoreTests {
  private static let frames = 48000

  /// Writes a session with three tracks, eight plugins, of which two have files in their state, MIDI
  /// controllers and a recording.
  private func make(in folder: URL) throws -> String {
    let path = folder.appendingPathComponent("song").path
    var document = SessionDocument(name: "song")
    let sounds = try (1...3).map {
      try WaveFile("t\($0).wav", in: folder, frames: 96000, seed: UInt64($0))
    }
    let hit = try WaveFile("hit.wav", in: folder, channels: 1, frames: 9600, seed: 9)
    let response = try WaveFile("response.wav", in: folder, frames: 48, seed: 7)
    document.tracks = zip(["drums", "bass", "chords"], sounds).map {
      SessionTrack(name: $0, files: [$1.path])
    }
    for index in 0..<3 { document.tracks[index].volume = -20 - Double(index) }
    let ours = "urn:cuejack:plugins:"
    var rock = SessionPlugin(id: "rock", uri: ours + "preset-eq")
    rock.preset = ours + "preset-eq#rock"
    document.tracks[0].chain = [rock, SessionPlugin(id: "drive", uri: ours + "distortion")]
    var room = SessionPlugin(id: "room", uri: "http://gareus.org/oss/lv2/zeroconvolv#Stereo")
    room.state = "plugins/room.lv2"
    var quiet = SessionPlugin(id: "quiet", uri: "http://lv2plug.in/plugins/eg-amp")
    quiet.parameters = ["gain": -3]
    document.tracks[1].chain = [room, quiet]
    var skipped = SessionPlugin(id: "skipped", uri: "http://lv2plug.in/plugins/eg-amp")
    skipped.bypass = true
    document.tracks[2].chain = [skipped, SessionPlugin(id: "eq", uri: ours + "parametric-eq")]
    document.buses = [SessionBus(name: "main"), SessionBus(name: "keys")]
    document.buses[0].chain = [SessionPlugin(id: "limiter", uri: ours + "limiter")]
    document.buses[1].channels = 1
    var sampler = SessionPlugin(id: "sampler", uri: "http://lv2plug.in/plugins/eg-sampler")
    sampler.state = "plugins/sampler.lv2"
    document.buses[1].chain = [sampler]
    for index in 0..<3 { document.tracks[index].bus = "main" }
    document.buses[0].ports = ["capture:in_1", "capture:in_2"]
    document.connections = [
      SessionConnection(from: "song:keys_1", to: "capture:in_3"),
      SessionConnection(from: "keys:out", to: "song:midi_in"),
    ]
    document.controllers = [
      SessionMapping(try require(SessionController("cc7")), to: "tracks[chords].volume"),
      SessionMapping(
        try require(SessionController("cc20@2")), to: "tracks[bass].chain[quiet].parameters.gain"),
    ]
    document.recordings = [
      SessionRecording(name: "take", ports: ["emitter:out_1"], file: "takes/take.wav")
    ]
    document.recordings[0].format = "f32"
    document.recordings[0].armed = true
    let store = try SessionStore(creating: path, document)
    for (name, uri, key, sound) in [
      ("room", room.uri, "http://gareus.org/oss/lv2/zeroconvolv#ir", response.path),
      ("sampler", sampler.uri, "http://lv2plug.in/plugins/eg-sampler#sample", hit.path),
    ] {
      let state = "\(path)/plugins/\(name).lv2"
      try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
      try FileManager.default.copyItem(atPath: sound, toPath: "\(state)/sound.wav")
      try """
      @prefix atom: <http://lv2plug.in/ns/ext/atom#> .
      @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
      @prefix pset: <http://lv2plug.in/ns/ext/presets#> .
      @prefix state: <http://lv2plug.in/ns/ext/state#> .
      <> a pset:Preset ;
        lv2:appliesTo <\(uri)> ;
        state:state [ <\(key)> <sound.wav> ] .
      """.write(toFile: "\(state)/state.ttl", atomically: true, encoding: .utf8)
    }
    try store.save()
    return path
  }

  /// A running `cuejack session run`.
  private struct Running {
    let program: ManagedProgram
    let client: RemoteClient

    init(_ command: String, _ environment: [String: String]) throws {
      program = try ManagedProgram(
        ["-c", "exec \(command)"], environment: environment, executable: "/bin/sh")
      let line = try program.value(after: "song: server ")
      let port = try require(line.firstMatch(of: /UDP port (\d+)/)).output.1
      client = try RemoteClient(of: OSCAddress(port: try require(UInt16(port))), patience: 60)
    }

    func value(_ address: String) throws -> OSCValue? {
      try client.values(of: "/cuejack/\(address)").first?.arguments.first
    }
  }

  /// Starts the session on a frame, strikes a note of the sampler after the end, and returns what was heard:
  /// a second from the start frame, and a fifth from the note.
  private func hear(_ running: Running, _ jack: JackDaemon, _ capture: CaptureClient) throws
    -> [[Float]]
  {
    let key = try JackPeer.key(offset: 100, on: jack)
    try wait(for: "the connection of the keys") {
      capture.connections(of: "song:midi_in") == ["keys:out"]
    }
    capture.arm()
    // A whole number of blocks, for plugins that convolve in blocks.
    let now = Int64(try require(try running.value("frame")?.number))
    let frame = (now + 24000) / 8192 * 8192 + 8192
    try running.client.send(OSCMessage("/cuejack/start/at", .long(frame)))
    try wait(for: "the end of the tracks") { try running.value("running") == .bool(false) }
    key.strike()
    let done = capture.capturedFrames + 24000
    try require(capture.wait(untilFrames: done, deadline: 60))
    capture.disarm()
    let note = try key.endOfKey()
    func part(_ channel: Int, from counter: UInt32, _ count: Int) throws -> [Float] {
      let samples = capture.samples(channel: channel)
      let start = Int(counter &- capture.firstFrame)
      try require(start >= 0 && start + count <= samples.count, "\(start), \(samples.count)")
      return Array(samples[start..<start + count])
    }
    expectEqual(capture.discontinuities, 0)
    return [
      try part(0, from: UInt32(truncatingIfNeeded: frame), Self.frames),
      try part(1, from: UInt32(truncatingIfNeeded: frame), Self.frames),
      try part(2, from: note, 9600),
    ]
  }

  @Test func itSoundsTheSameAfterSaveAndQuit() throws {
    try withTemporaryFolder { folder in
      let jack = try JackDaemon(rate: 48000, period: 1024)
      let emitter = try Emitter(on: jack)
      defer { withExtendedLifetime(emitter) {} }
      let capture = try CaptureClient(on: jack, channels: 3, capacity: 40 * 48000)
      let path = try make(in: folder)
      var environment = try pluginEnvironment().merging(jack.environment) { $1 }
      environment["PATH"] =
        "\(builtProducts.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
      environment["XDG_RUNTIME_DIR"] = folder.path
      let first = try Running("cuejack session run \(path)", environment)
      expectEqual(first.program.lines.filter { $0.contains("silent") }, [])
      // Edits that nobody has saved are part of what is saved.
      for (address, value) in [
        ("tracks/1/gain", Float(-18)), ("tracks/2/plugins/2/gain", -6), ("tracks/3/pan", 0.25),
        ("buses/1/plugins/1/ceiling", -12),
      ] { try first.client.send(OSCMessage("/cuejack/\(address)", .float(value))) }
      let original = try hear(first, jack, capture)
      for channel in original { expectTrue(channel.contains { abs($0) > 0.01 }) }
      expectTrue(original[0] != original[1])
      // A save lets it run on.
      let saved = folder.appendingPathComponent("saved")
      try FileManager.default.createDirectory(at: saved, withIntermediateDirectories: true)
      let script = try run(
        "jack_session_notify", ["save", saved.path], environment: jack.environment)
      expectTrue(script.status == 0 && script.output.contains("cuejack session run"), "\(script)")
      try expectEqual(first.value("running"), .bool(false))
      // Save and quit.
      let quit = folder.appendingPathComponent("quit")
      try FileManager.default.createDirectory(at: quit, withIntermediateDirectories: true)
      let answers = try JackSessionTests.notify(JackSessionSaveAndQuit, quit, jack)
      try require(answers.count == 1 && !answers[0].hasFailed, "\(answers)")
      expectEqual(first.program.child.wait(seconds: 60), 0, "\(first.program.lines)")

      for (place, command) in [(quit, answers[0].command), (saved, try command(in: script.output))]
      {
        environment["SESSION_DIR"] = "\(place.path)/song-session/"
        let restored = try Running(command, environment)
        try expectEqual(restored.value("dirty"), .bool(false))
        let again = try hear(restored, jack, capture)
        for channel in 0..<3 {
          expectEqual(again[channel], original[channel], "channel \(channel) differs")
        }
        let document = try SessionStore.read("\(place.path)/song-session/session").document
        expectEqual(document.controllers, (try SessionStore.read(path).document.controllers))
        expectEqual(document.plugins.count, 8)
        // The recording was armed: it has what the emitter played.
        let take = "\(place.path)/song-session/session/takes/take.wav"
        expectTrue(FileManager.default.fileExists(atPath: take))
        try restored.client.send(OSCMessage("/cuejack/quit"))
        expectEqual(restored.program.child.wait(seconds: 60), 0)
      }
    }
  }

  /// Returns the command that restores the session, from the script that JACK's tool prints.
  private func command(in script: String) throws -> String {
    let line = try require(
      script.split(separator: "\n").first { $0.contains("cuejack session run") }, "\(script)")
    return line.replacing(/&\s*$/, with: "").trimmingCharacters(in: .whitespaces)
  }
}
