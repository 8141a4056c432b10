import Foundation
import TestSupport
import Testing

/// The programs of `Tests/API/SwiftPrograms`, which are written as for Apple's systems, compile as they are against an
/// installation. What they play, record and write is compared sample by sample, on jackd and on PipeWire.
@Suite(.tags(.server, .pipeWire, .program), .serialized) struct SwiftProgramTests {
  /// Global callbacks belong to the main actor in mode 6, on Apple's systems, too.
  static let programs =
    ["midi", "recorder", "sine"].map { SwiftProgram($0, modes: [5]) }
    + [
      "converter", "devices", "dictaphone", "engineedits", "extconverter", "graphplayer",
      "listeners", "normalizer", "offline", "player", "streamparser", "tap", "transcoder",
    ].map { SwiftProgram($0) }

  private func run(_ name: String, _ arguments: [String], on server: (any PeerServer)? = nil) throws
    -> CommandResult
  {
    let program = try require(Self.programs.first { $0.name == name })
    // PipeWire's library calls its server so.
    let settings = ["JACK_DEFAULT_SERVER": "pipewire-0", "JACK_NO_START_SERVER": "1"]
    return try program.run(
      arguments, environment: settings.merging(server?.environment ?? [:]) { $1 })
  }

  @Test func everyFileIsAProgramOfTheSuite() throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: SwiftProgram.folder.path)
    expectEqual(files.sorted(), Self.programs.map { "\($0.name).swift" }.sorted())
  }

  /// Another compiler than that of the installation reads the textual interfaces instead of the modules.
  @Test func theInterfacesAloneAreEnough() throws {
    try withTemporaryFolder { folder in
      let headers = folder.appendingPathComponent("headers")
      let installed = try ProgramBuilds.shared.get().installation
        .appendingPathComponent("include/cuejack")
      try FileManager.default.copyItem(at: installed, to: headers)
      let names = try require(FileManager.default.enumerator(atPath: headers.path))
        .compactMap { $0 as? String }
      let modules = names.filter { $0.hasSuffix(".swiftmodule") && $0.contains("/") }
      expectEqual(modules.count, 8)
      for name in modules {
        try FileManager.default.removeItem(at: headers.appendingPathComponent(name))
      }
      let checked = try TestSupport.run(
        SwiftToolchain().tool("swiftc"),
        [
          "-typecheck", SwiftProgram("transcoder").source.path, "-I", headers.path,
          "-module-cache-path", folder.appendingPathComponent("cache").path,
        ])
      expectEqual(checked.status, 0, "\(checked.errors)")
    }
  }

  enum Kind: CaseIterable { case jackd, pipeWire }

  @Test(arguments: Kind.allCases) func midiGoesFromASourceToPorts(kind: Kind) throws {
    let result = try run("midi", [], on: try server(kind))
    expectTrue(
      result.status == 0
        && result.output == "added\nbytes 90 3c 64\nword 20903c64\nKeys M\ntrue true\n",
      "\(result)")
  }

  /// Starts a server whose sound card is a client of the test.
  private func server(_ kind: Kind) throws -> any PeerServer {
    switch kind {
    case .jackd: try JackDaemon(period: 2048, playbackPorts: 0, capturePorts: 0)
    case .pipeWire: try PipeWireDaemon(hasSink: false)
    }
  }

  /// Runs a program and says what is wrong with what is heard of it; nil if nothing is. A busy machine holds up cycles: on
  /// PipeWire, these are left out.
  private func hear(
    _ name: String, _ arguments: [String], on server: any PeerServer,
    _ wrong: (CommandResult, PeerRecording) throws -> String?
  ) throws {
    var found: String?
    for _ in 1...4 {
      let card = try JackPeer.card(on: server)
      let result = try run(name, arguments, on: server)
      let recording = try card.end()
      found =
        result.status == 0 && result.errors == ""
        ? try wrong(result, recording) : "\(result)"
      if found == nil { return }
    }
    Issue.record("\(name): \(found ?? "")")
  }

  /// Calls `body` with a folder, a sound, and the sound as linear PCM and as Apple Lossless in files of the folder.
  private func withSound(
    _ body: (_ folder: URL, _ sound: [[Float]], _ file: String, _ coded: String) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      let sound = Sounds.samples(rate: 48000)
      let file = folder.appendingPathComponent("Größe 1.wav").path
      try writeWave(sound, to: file)
      let coded = folder.appendingPathComponent("sound.m4a").path
      try Sounds.convert(file, coded, ["--format", "alac"])
      try body(folder, sound, file, coded)
    }
  }

  @Test(arguments: Kind.allCases) func whatTheyPlayIsHeard(kind: Kind) throws {
    try withSound { _, sound, file, coded in
      let frames = sound[0].count
      let server = try server(kind)
      try hear("player", [file], on: server) { result, recording in
        result.output == "Playing...\nPlayed \(frames) packets\n"
          ? difference(heard: recording, sound) : "\(result)"
      }
      try hear("player", [coded], on: server) { difference(heard: $1, sound) }
      // The player's format is that of 44.1 kHz, so that the sound is resampled twice. Half a frame of delay is -31 dB.
      try hear("graphplayer", [file], on: server) { result, recording in
        guard result.output == "Playing 0.70 seconds: yes\n" else { return "\(result)" }
        let heard = recording.samples
        guard let first = heard[0].firstIndex(where: { abs($0) > 0.05 }) else { return "silence" }
        let start = (first - 500..<first + 500).max { a, b in
          func likeness(_ start: Int) -> Float {
            (0..<2000).reduce(0) { $0 + heard[0][start + $1] * sound[0][$1] }
          }
          return likeness(a) < likeness(b)
        }!
        let ratio = signalToNoise(heard.map { Array($0[start..<start + frames]) }, sound)
        return ratio > 31 ? nil : "\(ratio) dB from frame \(start)"
      }
      try hear("tap", [file], on: server) { result, recording in
        let peak = sound.joined().map { abs($0) / 2 }.max()!
        return result.output == "status 0, peak \(peak)\n"
          ? difference(heard: recording, sound.scaled(by: 0.5)) : "\(result)"
      }
      try hear("sine", ["1"], on: server) { result, recording in
        guard result.output == "Output: true\nMade frames\n" else { return "\(result)" }
        let heard = recording.samples[0]
        guard recording.samples[1] == heard, let first = heard.firstIndex(where: { $0 != 0 }),
          let last = heard.lastIndex(where: { $0 != 0 }), last - first > 24000
        else { return "too little is heard" }
        // The unit stops somewhere in a wave.
        let tone = heard[(first + 480)...(last - 480)]
        let step = zip(tone, tone.dropFirst()).map { abs($1 - $0) }.max()!
        let crossings = zip(tone, tone.dropFirst()).count { $0 < 0 && $1 >= 0 }
        let hertz = Double(crossings) * 48000 / Double(tone.count)
        let peak = tone.max()!
        return abs(hertz - 880) < 3 && abs(peak - 0.5) < 0.01 && step < 0.06
          ? nil : "\(hertz) Hz, peak \(peak), largest step \(step)"
      }
    }
  }

  @Test(arguments: Kind.allCases) func whatTheyRecordIsWhatWasPlayed(kind: Kind) throws {
    try withTemporaryFolder { folder in
      let server = try server(kind)
      let tone = try JackPeer.tone(hertz: 480, amplitude: 0.5, on: server)
      defer { withExtendedLifetime(tone) {} }
      let path = folder.appendingPathComponent("take.caf").path
      let result = try run("recorder", [path, "1"], on: server)
      expectTrue(
        result.output.wholeMatch(of: /Recording\nRecorded \d+ packets\n/) != nil, "\(result)")
      let take = try Sounds.sound(of: path)
      try require(take.count == 2)
      let first = try require(take[0].firstIndex { $0 != 0 })
      let sound = take.map { $0[first...] }
      expectTrue(sound[0].count > 24000)
      for (channel, peak) in zip(sound, [Float(0.5), 0.25]) {
        let drift = zip(channel, channel.dropFirst(100)).map { abs($1 - $0) }.max()!
        expectTrue(drift <= 1.5 / 32768, "a period of the tone differs by \(drift)")
        expectTrue(abs(channel.max()! - peak) < 0.001)
      }
    }
  }

  @Test(arguments: Kind.allCases) func playersAndRecordersOfTheClassesWork(kind: Kind) throws {
    try withSound { folder, sound, file, _ in
      let server = try server(kind)
      try hear("dictaphone", ["play", file], on: server) { result, recording in
        let words = String(
          format: "Playing %.2f seconds: true\nPlayed: true\n", Double(sound[0].count) / 48000)
        return result.output == words
          ? difference(heard: recording, sound.scaled(by: 0.5)) : "\(result)"
      }
      let tone = try JackPeer.tone(hertz: 480, amplitude: 0.5, on: server)
      defer { withExtendedLifetime(tone) {} }
      func check(_ path: String, _ frames: ClosedRange<Int>) throws {
        let take = try Sounds.sound(of: path)
        expectTrue(take.count == 2 && frames.contains(take[0].count), "\(take.map(\.count))")
        for (channel, peak) in zip(take, [Float(0.5), 0.25]) {
          let heard = channel.dropFirst(12_000).map(abs).max() ?? 0
          expectTrue(abs(heard - peak) < 0.05, "\(path): \(heard) of \(peak)")
        }
      }
      let whole = folder.appendingPathComponent("whole.m4a").path
      let result = try run("dictaphone", ["record", whole, "1"], on: server)
      expectEqual(result.output, "Recording: true\nRecorded: true\n", "\(result)")
      try check(whole, 48_000...48_000)
      // The program stops the recorder, or is killed.
      for (signal, frames) in [(SIGTERM, 72_000...960_000), (SIGKILL, 48_000...960_000)] {
        let path = folder.appendingPathComponent("\(signal).m4a").path
        let output = folder.appendingPathComponent("output")
        let child = try Child(
          ProgramBuilds.shared.get().build(SwiftProgram("dictaphone")).path, ["record", path],
          environment: ProcessInfo.processInfo.environment
            .merging(["LD_LIBRARY_PATH": "", "JACK_NO_START_SERVER": "1"]) { $1 }
            .merging(server.environment) { $1 }, output: output)
        try require(waits { text(of: output).contains("Recording: true") })
        _ = child.wait(seconds: 2.5)
        child.send(signal: signal)
        let status = child.wait(seconds: 20)
        expectTrue(signal == SIGKILL || status == 0, "\(text(of: output))")
        try check(path, frames)
      }
    }
  }

  @Test func whatTheyConvertIsTheSameSound() throws {
    try withSound { folder, sound, wave, coded in
      let frames = sound[0].count
      for (name, source, end, unit) in [
        ("extconverter", coded, "aiff", "Converted \(frames) frames"),
        ("converter", coded, "caf", "Converted \(frames) packets"),
        ("offline", wave, "caf", "Rendered \(frames) frames"),
      ] {
        let file = folder.appendingPathComponent("\(name).\(end)").path
        let result = try run(name, [source, file])
        expectTrue(result.output == unit + "\n" && result.status == 0, "\(name): \(result)")
        try expectNil(difference(Sounds.sound(of: file), sound), "\(name)")
      }
      let parsed = try run("streamparser", [wave])
      expectEqual(
        parsed.output, "\(frames) packets, \(8 * frames) bytes, 48000 Hz, ready: true\n",
        "\(parsed)")
      let missing = try run("streamparser", [folder.appendingPathComponent("none.wav").path])
      expectTrue(missing.output.hasPrefix("Error: ") && missing.status == 1, "\(missing)")
    }
  }

  @Test func theClassesReadAndWriteTheSameSound() throws {
    try withSound { folder, sound, wave, coded in
      let peak = sound.joined().map(abs).max()!
      let file = folder.appendingPathComponent("normalized.wav").path
      for source in [wave, coded] {
        let result = try run("normalizer", [source, file])
        let words = String(
          format: "%.3f seconds, peak %.3f\n", Double(sound[0].count) / 48000, peak)
        expectTrue(result.output == words && result.status == 0, "\(result)")
        let heard = try Sounds.sound(of: file)
        expectNil(difference(heard, sound.scaled(by: 0.5 / peak)))
      }
      let frames = Int((Double(sound[0].count) / 3).rounded())
      let speech = folder.appendingPathComponent("speech.wav").path
      let result = try run("transcoder", [coded, speech])
      expectEqual(result.output, "Transcoded to \(frames) frames\n", "\(result)")
      try expectEqual(Sounds.sound(of: speech).map(\.count), [frames])
      let missing = folder.appendingPathComponent("none.wav").path
      let error = try run("transcoder", [missing, speech])
      expectTrue(error.output.contains(missing) && error.status == 1, "\(error)")
    }
  }

  @Test func devicesAreListedAndWatched() throws {
    let server = try JackDaemon(period: 1024, playbackPorts: 4)
    let list = try run("devices", [], on: server)
    let name = "JACK: \(server.name) [jack:\(server.name)]"
    expectTrue(list.output == "\(name) 2 in, 4 out, 48000 Hz\n" && list.status == 0, "\(list)")
    let events = try run("listeners", [], on: server)
    expectTrue(
      events.output == "queue runs\nqueue stopped\nvolume by block\nvolume by function\n"
        && events.status == 0, "\(events)")
  }

  /// A thousand edits from two threads, of which nothing is heard.
  @Test func editsOfAnEngineAreNotHeard() throws {
    let server = try JackDaemon(period: 256, playbackPorts: 0, capturePorts: 0)
    try hear("engineedits", ["1000", "1"], on: server) { result, recording in
      guard result.output == "1000 edits\n" else { return "\(result)" }
      for channel in recording.samples {
        guard let first = channel.firstIndex(where: { $0 != 0 }),
          let last = channel.lastIndex(where: { $0 != 0 })
        else { return "nothing is heard" }
        if let other = channel[first...last].firstIndex(where: { $0 != 0.25 }) {
          return "frame \(other - first) of \(last - first) is \(channel[other])"
        }
      }
      return nil
    }
  }
}
