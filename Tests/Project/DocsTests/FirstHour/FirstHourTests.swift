import Foundation
import TestSupport
import Testing

/// The first hours of people who have only the pages: their commands as they stand there, and what is heard then, by
/// its samples.
///
/// Boot and headless machines are those of `HeadlessTests`, first programs on jackd those of `ListingTests`.
@Suite(.tags(.server, .program, .slow), .serialized) struct FirstHourTests {
  /// Makes noise in place of the demo's files: every moment sounds different.
  private func makeSounds(in folder: URL) throws {
    for (number, name) in ["drums.wav", "bass.aiff", "chords.wav"].enumerated() {
      let made = try run(
        "sox",
        ["-R", "-n", "-r", "48000", "-b", "16", "-c", "2", name, "synth", "\(5 - number)"]
          + ["whitenoise", "vol", "0.1"], folder: folder)
      try require(made.status == 0, "\(made.errors)")
    }
    let made = try run(
      builtProduct(named: "cuejack").path, ["convert", "chords.wav", "chords.caf"], folder: folder)
    try require(made.status == 0, "\(made.errors)")
  }

  /// Runs `body` with a server, its sound card, which hears what is played, and somebody who reads the pages.
  private func withReader(_ body: (Story, JackDaemon, CaptureClient) throws -> Void) throws {
    let jack = try JackDaemon(rate: 48000, period: 1024, playbackPorts: 0)
    let card = try CaptureClient(
      on: jack, name: "card", capacity: 60 * 48000, isSoundCard: true)
    try withTemporaryFolder { folder in
      try makeSounds(in: folder)
      let plugins = try pluginEnvironment()
      try body(
        Story(in: folder, environment: plugins.merging(jack.environment) { $1 }), jack, card)
    }
  }

  /// Whether `part` is somewhere in `whole`, to 24 bits.
  private func contains(_ whole: [Float], _ part: ArraySlice<Float>) -> Bool {
    guard let first = part.first, part.count <= whole.count else { return false }
    return (0...whole.count - part.count).contains { start in
      abs(whole[start] - first) < 1e-6
        && zip(whole[start...], part).allSatisfy { abs($0 - $1) < 1e-6 }
    }
  }

  @Test func stemsAreTheSameTomorrow() throws {
    try withReader { story, jack, card in
      let page = "docs/sessions.md"
      let desk = try CaptureClient(on: jack, name: "desk", channels: 1, capacity: 0)
      // Today.
      try story.run(Story.lines(page, below: "Make a session"))
      try story.run(Story.lines(page, below: "Mix, and add plugins"))
      try story.run(Story.lines(page, below: "Run it"))
      // Somebody patches.
      try desk.connect("song:main_1", toInput: 1)
      let control = try Story.lines(page, below: "Control it from another terminal")
      try story.run(control)
      let changed = try story.run("cuejack session show song --json")
      expectTrue(changed.contains("-6"), "\(changed)")
      // Tomorrow.
      let start = try require(control.first { $0.hasSuffix(" start") })
      let quit = try require(control.last { $0.hasSuffix(" quit") })
      try story.run("cuejack session render song --output song.wav --format f32")
      let rendered = try story.samples(of: "song.wav")
      try story.run(try require(Story.lines(page, below: "Next day").first))
      try wait(for: "the desk: \(story.log)") {
        desk.connections(of: "desk:in_1") == ["song:main_1"]
      }
      card.arm()
      try story.run(start)
      try require(card.wait(untilFrames: 8 * 48000))
      card.disarm()
      try story.run(quit)
      for channel in 0..<2 {
        let heard = card.samples(channel: channel)
        let isWhole = contains(heard, rendered[channel][..<(4 * 48000)])
        let begin = heard.firstIndex { $0 != 0 } ?? 0
        let words = "\(heard[begin...].prefix(4)) at \(begin), \(rendered[channel].prefix(4))"
        expectTrue(isWhole, "channel \(channel): \(words), \(card.gaps)")
      }
    }
  }

  /// The recorder of today had the session connected to it. The one of tomorrow has the same name.
  @Test func aMicrophoneAfterTheMixHasNoDrums() throws {
    try withReader { story, _, card in
      let page = "docs/sessions.md"
      try story.run(Story.lines(page, below: "Make a session"))
      try story.run(Story.lines(page, below: "Mix, and add plugins"))
      try story.run("cuejack session render song --output song.wav --format f32")
      let rendered = try story.samples(of: "song.wav")
      try story.run(Story.lines(page, below: "Record the mix"))
      let mix = try story.samples(of: "mix.wav")
      // Some of it, from the middle of the recording.
      let middle = mix[0].count / 2
      let isTheSong = contains(rendered[0], mix[0][middle..<middle + 4800])
      expectTrue(isTheSong && mix.count == 2, "\(mix.count) channels of \(mix[0].count) frames")
      // Tomorrow; the microphone hears nothing.
      try story.run("cuejack session run song --play")
      let record = try require(
        Page("README.md").blocks.filter { $0.language == "sh" }
          .flatMap { $0.text.components(separatedBy: "\n") }
          .first { $0.hasPrefix("cuejack record take.wav ") })
      card.arm()
      try story.run(record)
      card.disarm()
      expectTrue(card.samples(channel: 0).contains { $0 != 0 }, "the session is silent")
      let take = try story.samples(of: "take.wav")
      let isSilent = take.allSatisfy { $0.allSatisfy { $0 == 0 } }
      expectTrue(isSilent && take.count == 2, "\(take.count) channels")
      try story.run("cuejack set song quit")
    }
  }

  /// The rack's sound arrives at the master on the frame of the master's own.
  @Test(.enabled(if: Namespaces.arePermitted)) func twoMachinesPlayOnOneFrame() throws {
    try Namespaces.with { a, b in
      try withTemporaryFolder { folder in
        let jack = try JackDaemon(
          rate: 48000, period: 1024, launcher: ["ip", "netns", "exec", a])
        let ear = try CaptureClient(on: jack, name: "ear", capacity: 60 * 48000)
        try makeSounds(in: folder)
        func reader(_ server: String, on machine: String) -> Story {
          Story(
            in: folder,
            environment: ["JACK_DEFAULT_SERVER": server, "JACK_NO_START_SERVER": "1"],
            launcher: ["ip", "netns", "exec", machine])
        }
        let master = reader(jack.name, on: a)
        let rack = reader("cuejack-rack-\(getpid())", on: b)
        for (story, name) in [(rack, "rack"), (master, "stage")] {
          try story.run("cuejack session new \(name) drums.wav")
        }
        try master.run(
          "cuejack session set stage transport.mode=follow tracks[drums].start.seconds=1")
        let names = [("rack.local", Namespaces.second), ("jackd -d", "jackd -r -d")]
        func commands(_ first: String) throws -> [String] {
          try Story.lines(of: first).map { line in
            names.reduce(line) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
          }
        }
        var (near, far) = (try commands("# on the master"), try commands("# on the rack"))
        // The rack's server answers once the master's program has found it.
        try rack.run(far.removeFirst())
        try master.run(near.removeFirst())
        let isThere = waits {
          (try? rack.run("jack_lsp system")) != nil
            && ear.ports(matching: "rack:playback_2").count == 1
        }
        try require(isThere, "\(master.log)\(rack.log)")
        try rack.run(far)
        let start = try require(near.last)
        try master.run(near.dropLast())
        expectEqual(
          ear.connections(of: "system:playback_1").sorted(), ["rack:capture_1", "stage:drums_1"])
        try ear.connect("stage:drums_1", toInput: 1)
        try ear.connect("rack:capture_1", toInput: 2)
        let drums = try master.samples(of: "drums.wav")[0]
        // On a busy machine, packets of the network come too late now and then.
        var delays: [Int] = []
        for _ in 0..<10 where delays.count < 1 {
          ear.arm()
          try master.run(start)
          try require(ear.wait(untilFrames: 7 * 48000))
          ear.disarm()
          try master.run("cuejack set stage stop")
          let heard = (0..<2).map { ear.samples(channel: $0) }
          let begins = heard.compactMap { $0.firstIndex { $0 != 0 } }
          let isWhole =
            begins.count == 2
            && zip(heard, begins).allSatisfy { $0[$1...].prefix(drums.count).elementsEqual(drums) }
          if isWhole { delays.append(begins[1] - begins[0]) }
        }
        expectEqual(delays, [0], "\(master.log)\(rack.log)")
      }
    }
  }
}

/// The first programs of README on PipeWire, where no jackd runs.
@Suite(.tags(.pipeWire, .program), .serialized) struct FirstHourOnPipeWireTests {
  /// Runs `body` with a daemon's environment, and returns what its sink hears.
  private func hear(_ body: ([String: String]) throws -> Void) throws -> [[Float]] {
    let daemon = try PipeWireDaemon()
    let capture = try JackPeer.capture(seconds: 20, on: daemon)
    try body(daemon.environment)
    return try capture.end().samples
  }

  @Test func theProgramInCIsHeard() throws {
    let readme = Page("README.md")
    let listing = try require(readme.blocks.first { $0.language == "c" })
    let lines = readme.blocks.filter { $0.language == "sh" }
      .flatMap { $0.text.components(separatedBy: "\n") }
    let build = try require(lines.first { $0.hasPrefix("clang ") })
    let start = try require(lines.first { $0.hasPrefix("./tone") })
    // The page may say that PipeWire takes another command.
    let command = start.contains("pw-jack ./tone") ? "pw-jack ./tone" : "./tone"
    let prefix = try ProgramBuilds.shared.get().installation
    try withTemporaryFolder { folder in
      try Data(listing.text.utf8).write(to: folder.appendingPathComponent("tone.c"))
      let clang = try SwiftToolchain().folder.appendingPathComponent("bin").path
      let built = try run(
        "sh", ["-c", build],
        environment: [
          "PKG_CONFIG_PATH": prefix.appendingPathComponent("lib/pkgconfig").path,
          "PATH": "\(clang):\(ProcessInfo.processInfo.environment["PATH"] ?? "")",
        ], folder: folder)
      try require(built.status == 0, "\(built.errors)")
      let heard = try hear { environment in
        let result = try run(
          "sh", ["-c", command], environment: environment.merging(["LD_LIBRARY_PATH": ""]) { $1 },
          folder: folder)
        expectEqual(result.status, 0, "\(result)")
      }
      // A sawtooth of 100 frames, for two seconds less the time of the start.
      let saw = (0..<4800).map { Float($0 % 100) / 400 }
      for samples in heard {
        let tone = samples.drop { $0 == 0 }
        expectTrue(tone.count > 4800 && tone.dropFirst(99).prefix(4800).elementsEqual(saw))
      }
    }
  }

  @Test func theProgramInSwiftIsHeard() throws {
    let listing = try require(Page("README.md").blocks.first { $0.language == "swift" })
    // The page's command, which programs.md has, too.
    let command = try require(Page("README.md").text.firstMatch(of: /\nswiftc (.*)/)?.output.1)
    expectTrue(Page("docs/programs.md").text.contains("\nswiftc \(command)\n"))
    try withTemporaryFolder { folder in
      try Data(listing.text.utf8).write(to: folder.appendingPathComponent("tone.swift"))
      let program = folder.appendingPathComponent("tone").path
      let installation = try ProgramBuilds.shared.get().installation
      let built = try run(
        "sh", ["-c", "\(SwiftToolchain().tool("swiftc")) \(command)"],
        environment: [
          "PKG_CONFIG_PATH": installation.appendingPathComponent("lib/pkgconfig").path
        ], folder: folder)
      try require(built.status == 0, "\(built.errors)")
      let heard = try hear { environment in
        let result = try run("pw-jack", [program], environment: environment)
        expectEqual(result.status, 0, "\(result)")
      }
      // The first half second of the sine, before the ramp at its end.
      let sine = (1..<24_000).map { sin(Float($0) * 2 * .pi * 440 / 48000) }
      for samples in heard {
        let tone = samples.drop { $0 == 0 }.prefix(sine.count)
        expectTrue(zip(tone, sine).allSatisfy { abs($0 - $1) < 1e-6 } && tone.count == sine.count)
      }
    }
  }
}
