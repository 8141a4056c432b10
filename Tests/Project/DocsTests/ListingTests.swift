import Foundation
import TestSupport
import Testing

/// The listings of README and the pages for programmers, and the commands of README, must build, run and be heard.
@Suite(.tags(.server, .program), .serialized) struct ListingTests {
  private static let pages = [Page("README.md"), Page("docs/programs.md"), Page("docs/api.md")]

  private static func listings(_ language: String) -> [Page.Block] {
    pages.flatMap(\.blocks).filter { $0.language == language }
  }

  /// The programs at the ends of the two sections of the Swift tutorial, which contain those before them.
  private static let tutorial = [2, 4].map { number in
    let path = "Sources/AudioToolbox/AudioToolbox.docc/Resources/tones-\(number).swift"
    return Page.Block(page: path, language: "swift", text: Page(path).text)
  }

  /// The samples of the pages that `make docs` makes: of the catalogues and of comments.
  private static let samples = ["Sources/AudioToolbox", "Sources/AVFAudio"].flatMap { module in
    let names =
      FileManager.default.enumerator(atPath: repository.appendingPathComponent(module).path)?
      .compactMap { $0 as? String }.sorted() ?? []
    let pages =
      names.filter { $0.hasSuffix(".md") }.map { Page("\(module)/\($0)") }
      + names.filter { $0.hasSuffix(".swift") && !$0.contains(".docc/") }
      .map { Page(commentsOf: "\(module)/\($0)") }
    return pages.flatMap(\.blocks).filter { $0.language == "swift" }
  }

  /// Samples that are complete programs.
  private static let programs = samples.filter { $0.text.contains("import AudioToolbox") }

  @Test func thePagesHaveListings() {
    for page in Self.pages {
      for language in page.path == "docs/api.md" ? ["c", "swift"] : ["c", "swift", "sh"] {
        expectTrue(page.blocks.contains { $0.language == language }, "\(page), \(language)")
      }
    }
  }

  /// Runs `body` with the environment of a server, and expects that something was heard.
  private func expectSound(_ body: ([String: String]) throws -> Void) throws {
    let jack = try JackDaemon(period: 4096, playbackPorts: 0)
    let card = try CaptureClient(
      on: jack, name: "card", capacity: 120 * jack.rate, isSoundCard: true)
    card.arm()
    try body(["JACK_DEFAULT_SERVER": jack.name, "JACK_NO_START_SERVER": "1"])
    try require(card.wait(untilFrames: card.capturedFrames + 1))
    card.disarm()
    for channel in 0..<2 {
      expectTrue(
        card.samples(channel: channel).contains { $0 != 0 }, "channel \(channel) is silent")
    }
  }

  /// C listings are complete programs. They build with the commands that the pages give.
  @Test func theCListingsBuildAgainstAnInstallationAndRun() throws {
    try withTemporaryFolder { folder in
      let prefix = try ProgramBuilds.shared.get().installation
      let clang = try SwiftToolchain().folder.appendingPathComponent("bin").path
      let buildEnvironment = [
        "PKG_CONFIG_PATH": prefix.appendingPathComponent("lib/pkgconfig").path,
        "PATH": "\(clang):\(ProcessInfo.processInfo.environment["PATH"] ?? "")",
      ]
      /// Builds a listing with the page's command, and returns the program.
      func build(_ listing: Page.Block, _ page: String, _ name: String) throws -> String {
        let command = try require(
          Page(page).blocks.filter { $0.language == "sh" }
            .flatMap { $0.text.components(separatedBy: "\n") }
            .first { $0.hasPrefix("clang ") && $0.hasSuffix("-o \(name)") }, "\(page)")
        try Data(listing.text.utf8).write(to: folder.appendingPathComponent("\(name).c"))
        let built = try run(
          "sh", ["-c", "\(command) -Wall -Werror"], environment: buildEnvironment, folder: folder)
        try require(built.status == 0, "\(page): \(built.errors)")
        return folder.appendingPathComponent(name).path
      }
      for (page, name) in [("README.md", "tone"), ("docs/programs.md", "player")] {
        for listing in Page(page).blocks where listing.language == "c" {
          let program = try build(listing, page, name)
          try expectSound { environment in
            let result = try run(
              program, environment: environment.merging(["LD_LIBRARY_PATH": ""]) { $1 })
            expectEqual(result.status, 0, "\(page): \(result)")
          }
        }
      }
      let listing = try require(Page("docs/api.md").blocks.first { $0.language == "c" })
      let program = try build(listing, "docs/programs.md", "player")
      let result = try run(
        program, environment: ["LD_LIBRARY_PATH": "", "LV2_PATH": "/usr/lib/lv2"])
      expectTrue(result.output == "1.000 1.000 0.501 0.501 \n" && result.status == 0, "\(result)")
    }
  }

  /// The other samples have these names from elsewhere.
  private static let names = """
    import AVFAudio
    import AudioToolbox
    import CoreFoundation
    import Foundation

    struct File { func append(_ bytes: [UInt8], _ packets: [AudioStreamPacketDescription]) throws {} }
    struct Names {
      let (queue, drums, bass): (PlaybackQueue, PlaybackQueue, PlaybackQueue)
      let (reference, format): (AudioQueueRef, AudioStreamBasicDescription)
      let (url, file): (URL, File)
      let (cookie, bytes, descriptions): ([UInt8], [UInt8], [AudioStreamPacketDescription])
      let player: AVAudioPlayerNode
      var (samples, sound): ([Int16], [Int16])


    """

  /// Files that import Foundation only use names that it has on Apple's systems. `import AudioToolbox.AudioFile` is
  /// what stays refused.
  @Test func theCuresOfTheSectionFromXcodeToLinuxWork() throws {
    let page = Page("docs/programs.md").text
    let setting = try require(page.firstMatch(of: /\.unsafeFlags\(\[([^\]]*)\]\)/))
    let words = setting.output.1.matches(of: /"([^"]*)"/).map { String($0.output.1) }
    try withTemporaryFolder { folder in
      let source = folder.appendingPathComponent("file.swift")
      func compiles(_ text: String, _ options: [String]) throws -> Bool {
        try Data(text.utf8).write(to: source)
        return try run(
          SwiftToolchain().tool("swiftc"),
          ["-typecheck", source.path] + options
            + ProgramBuilds.shared.get().flags("--cflags", "AudioToolbox-swift")
        ).status == 0
      }
      let file = """
        import Foundation
        func hasWorked(_ status: OSStatus) -> Bool { status == noErr }
        let code = CFSwapInt32HostToBig(1)
        """
      let modules = [
        "AVFAudio", "AVFoundation", "AudioToolbox", "AudioUnit", "CoreAudio", "CoreAudioTypes",
        "CoreFoundation", "CoreMIDI",
      ]
      let imports = modules.map {
        "import \($0)\n#if !canImport(\($0))\n#error(\"\($0)\")\n#endif\n"
      }
      let cast = "let url: CFURL = URL(fileURLWithPath: \"/\") as CFURL\n"
      for (text, options, isAccepted) in [
        (file, words, true), (file, [], false), ("import AudioToolbox.AudioFile\n", [], false),
        (imports.joined() + cast, [], true),
      ] {
        let compiles = try compiles(text, options)
        expectEqual(compiles, isAccepted, "\(text)")
      }
    }
  }

  @Test func theSamplesOfTheSwiftPagesCompile() throws {
    let fragments = Self.samples.filter { !$0.text.contains("import AudioToolbox") }
    expectTrue(fragments.count > 18 && Self.programs.count == 1, "\(fragments.count)")
    let functions = fragments.enumerated().map { number, sample in
      "  // \(sample.page)\n  mutating func sample\(number)() async throws {\n\(sample.text)  }\n"
    }
    try withTemporaryFolder { folder in
      let source = folder.appendingPathComponent("samples.swift")
      try Data((Self.names + functions.joined(separator: "\n") + "}\n").utf8).write(to: source)
      let checked = try run(
        SwiftToolchain().tool("swiftc"),
        ["-swift-version", "6", "-typecheck", source.path]
          + ProgramBuilds.shared.get().flags("--cflags", "--libs", "AudioToolbox-swift"))
      expectEqual(checked.status, 0, "\(checked.errors)")
    }
  }

  @Test(arguments: listings("swift") + tutorial + programs)
  func aSwiftListingBuildsAndRuns(listing: Page.Block) throws {
    try withTemporaryFolder { folder in
      let source = folder.appendingPathComponent("main.swift")
      let program = folder.appendingPathComponent("program").path
      try Data(listing.text.utf8).write(to: source)
      let built = try run(
        SwiftToolchain().tool("swiftc"),
        ["-swift-version", "6", "-warnings-as-errors", source.path, "-o", program]
          + ProgramBuilds.shared.get().flags("--cflags", "--libs", "AudioToolbox-swift"))
      try require(built.status == 0, "\(listing): \(built.errors)")
      _ = try WaveFile("drums.wav", in: folder, frames: 24_000)
      try expectSound { environment in
        let result = try run(program, environment: environment, folder: folder)
        expectEqual(result.status, 0, "\(listing): \(result)")
      }
    }
  }

  /// `make docs` makes the pages of the Swift API without a warning.
  @Test func theSwiftPagesAreMade() throws {
    try withTemporaryFolder { folder in
      let pages = folder.appendingPathComponent("pages").path
      let made = try run(
        "Tests/Tools/Gates/docs", [builtProducts.path, pages], folder: repository)
      try require(made.status == 0, "\(made)")
      for page in [
        "documentation/audiotoolbox/playbackqueue/ramp(to:over:)",
        "documentation/audiotoolbox/startingononeframe", "tutorials/audiotoolbox/twotones",
        "documentation/avfaudio/avaudioengine", "documentation/avfaudio/enginesonjack",
      ] {
        expectTrue(FileManager.default.fileExists(atPath: "\(pages)/data/\(page).json"), "\(page)")
      }
    }
  }

  /// The commands of README run one after another in a folder with the demo's files, here a second
  /// long.
  @Test func theCommandsOfTheReadmeRun() throws {
    let commands = Page("README.md").blocks.filter { $0.language == "sh" }
      .flatMap { $0.text.components(separatedBy: "\n") }.filter { $0.hasPrefix("cuejack ") }
    expectTrue(commands.count >= 5)
    try withTemporaryFolder { folder in
      for name in ["drums.wav", "bass.aiff", "tone.wav"] {
        let made = try run(
          "sox",
          [
            "-n", "-r", "48000", "-b", "16", "-c", "2", name, "synth", "1", "sine", "440", "vol",
            "0.2",
          ],
          folder: folder)
        try require(made.status == 0, "\(made.errors)")
      }
      let cuejack = try builtProduct(named: "cuejack").path
      let converted = try run(cuejack, ["convert", "tone.wav", "chords.caf"], folder: folder)
      try require(converted.status == 0, "\(converted.errors)")
      let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
      var environment = playEnvironment(try pluginEnvironment())
      environment["PATH"] = "\(builtProducts.path):\(path)"
      try expectSound { server in
        for command in commands {
          let result = try run(
            "sh", ["-c", command], environment: environment.merging(server) { $1 }, folder: folder)
          expectEqual(result.status, 0, "\(command): \(result)")
        }
      }
      for name in ["mix.wav", "duo.flac", "take.wav", "take.flac"] {
        let file = folder.appendingPathComponent(name).path
        let info = try run(cuejack, ["info", file])
        expectTrue(info.status == 0 && info.output.contains("48000"), "\(name): \(info)")
      }
    }
  }
}
