import CProbe
import Foundation
import Graph
import PluginHost
import TestSupport
import Testing

/// The host's output must equal that of lv2apply bit for bit, in blocks of any length. The tests cover
/// every plugin of swh-lv2 and mda-lv2 with audio inputs and outputs. lv2apply runs one frame at a
/// time, with all controls at their defaults. New memory is zeroed in both, because some plugins read
/// uninitialised memory.
///
/// A table lists the plugins whose output is not a function of their input, and why. The host must
/// still match them as far as they are deterministic. No expectation requires a plugin or lv2apply to
/// misbehave.
@Suite(.tags(.program), .serialized) struct AgainstLV2ApplyTests {
  static let families = ["http://plugin.org.uk/swh-plugins/", "http://drobilla.net/plugins/mda/"]

  /// The reason why a plugin's output is not a function of its input.
  enum Peculiarity {
    /// The output depends on the ends or lengths of blocks. The host must equal a plain loop with the
    /// same blocks.
    case blocks
    /// The plugin uses random numbers. The host must equal a plain loop with the same seed.
    case chance
    /// The plugin reads uninitialised memory beyond fresh allocations, or divides by the block length
    /// minus one. Its output cannot be checked.
    case rubbish
    /// The plugin uses FFTW plans chosen by measurement, which round differently.
    case plans
  }

  static let peculiar: [String: (Peculiarity, String)] = [
    "Degrade": (.blocks, "forgets everything at the end of a block that is quiet there"),
    "Leslie": (.blocks, "turns its rotors every 32 frames from the beginning of each block"),
    "allpass_n": (.blocks, "slides to its first delay within the first block"),
    "autoPhaser": (.blocks, "keeps less than all of its state from block to block"),
    "comb": (.blocks, "slides to its first offset within the first block"),
    "combSplitter": (.blocks, "slides to its first offset within the first block"),
    "comb_n": (.blocks, "slides to its first delay within the first block"),
    "decay": (.blocks, "keeps less than all of its state from block to block"),
    "delay_n": (.blocks, "slides to its first delay within the first block"),
    "delayorama": (.blocks, "slides to its first delays within the first block"),
    "gverb": (.blocks, "sets its room anew at the beginning of each block"),
    "matrixSpatialiser": (.blocks, "divides by the block's length less one"),
    "BeatBox": (.chance, "its hi-hat is noise"),
    "VocInput": (.chance, "its breath is noise"),
    "retroFlange": (.chance, "its tape slips at random"),
    "vynil": (.chance, "its dust falls at random"),
    "chebstortion": (.rubbish, "its envelope and its counter begin with it"),
    "const": (.rubbish, "slides from it to its first value"),
    "mbeq": (.plans, "filters in the frequency domain"),
    "pitchScaleHQ": (.plans, "shifts in the frequency domain"),
  ]

  /// Debian does not link these plugins to the library that they call, so the host program must load
  /// it.
  static let unlinked = ["mbeq", "pitchScaleHQ"]
  static let missingLibrary = "libfftw3f.so.3"

  static let plugins: [String] = installed.uris.filter { uri in
    guard families.contains(where: uri.hasPrefix),
      let plugin = try? installed.description(of: uri)
    else { return false }
    return !plugin.planes(.input).isEmpty && !plugin.planes(.output).isEmpty
      && plugin.events(.input).isEmpty
      && !plugin.extensionData.contains("http://lv2plug.in/ns/ext/state#interface")
  }

  /// Blocks of constant length, and of random lengths from 1 to 1024 frames.
  static let splits: [[Int]] = {
    var random = SplitMix(state: 22)
    return [[1], [17], [64], [1024]]
      + (0..<2).map { _ in (0..<64).map { _ in Int.random(in: 1...1024, using: &random) } }
  }()

  private func name(_ uri: String) -> String { String(uri[uri.lastIndex(of: "/")!...].dropFirst()) }

  private func bits(_ sound: [[Float]]) -> [[UInt32]] { sound.map { $0.map(\.bitPattern) } }

  /// Returns the host's output for `input`.
  private func hosted(_ uri: String, _ input: [[Float]], _ blocks: [Int]) throws -> [[UInt32]] {
    srand(1)
    cue_probe_zero_memory(true)
    defer { cue_probe_zero_memory(false) }
    return bits(
      HandRun(try PluginInstance(uri, in: installed, settings: usual)).run(input, blocks: blocks)
        .sound)
  }

  /// Returns a plain loop's output for `input`.
  private func looped(_ uri: String, _ input: [[Float]], _ blocks: [Int]) throws -> [[UInt32]] {
    srand(1)
    cue_probe_zero_memory(true)
    defer { cue_probe_zero_memory(false) }
    let bundle = try installed.description(of: uri).bundle
    return bits(try PlainLoop(uri, bundle: bundle).run(input, blocks: blocks))
  }

  /// Calls `body` with a folder in which hosts find only the plugin's bundle.
  private func withBundle(_ uri: String, _ body: (URL) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let bundle = URL(fileURLWithPath: try installed.description(of: uri).bundle)
      let lv2 = folder.appendingPathComponent("lv2")
      try FileManager.default.createDirectory(at: lv2, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        at: lv2.appendingPathComponent(bundle.lastPathComponent), withDestinationURL: bundle)
      try body(folder)
    }
  }

  /// Returns lv2apply's output for `in.wav` in a folder.
  private func applied(_ uri: String, in folder: URL) throws -> [[UInt32]] {
    let out = folder.appendingPathComponent("out.wav").path
    var environment = environment(folder)
    if Self.unlinked.contains(name(uri)) { environment["LD_PRELOAD"] = Self.missingLibrary }
    let result = try TestSupport.run(
      "lv2apply", ["-i", folder.appendingPathComponent("in.wav").path, "-o", out, uri],
      environment: environment)
    try require(result.status == 0, "\(uri): \(result)")
    return bits(try readWave(out))
  }

  /// Returns an environment in which new memory is zeroed: glibc fills it with the complement of the
  /// given value. Reused memory would keep its content, so the thread cache is off.
  private func environment(_ folder: URL) -> [String: String] {
    [
      "LV2_PATH": folder.path + "/lv2", "XDG_CACHE_HOME": folder.path,
      "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.perturb=255",
    ]
  }

  private func input(_ uri: String, frames: Int = 4000) throws -> [[Float]] {
    (0..<(try installed.description(of: uri)).planes(.input).count).map {
      noise(frames, seed: UInt64($0 + 1))
    }
  }

  @Test func allAreThere() {
    expectEqual(Self.plugins.filter { $0.hasPrefix(Self.families[0]) }.count, 104)
    expectEqual(Self.plugins.filter { $0.hasPrefix(Self.families[1]) }.count, 32)
    expectTrue(Set(Self.peculiar.keys).subtracting(Self.plugins.map(name)).isEmpty)
  }

  @Test(arguments: plugins) func theOutputIsThatOfLV2Apply(uri: String) throws {
    if Self.unlinked.contains(name(uri)) {
      try require(dlopen(Self.missingLibrary, RTLD_NOW | RTLD_GLOBAL) != nil)
    }
    let input = try input(uri)
    try withBundle(uri) { folder in
      try writeWave(input, to: folder.appendingPathComponent("in.wav").path)
      let expected = try applied(uri, in: folder)
      switch Self.peculiar[name(uri)]?.0 {
      case nil:
        for blocks in Self.splits {
          try expectEqual(hosted(uri, input, blocks), expected, "blocks of \(blocks)")
        }
      case .blocks:
        try expectEqual(hosted(uri, input, [1]), expected)
        for blocks in Self.splits {
          try expectEqual(
            hosted(uri, input, blocks), looped(uri, input, blocks), "blocks of \(blocks)")
        }
      case .chance:
        for blocks in Self.splits {
          try expectEqual(
            hosted(uri, input, blocks), looped(uri, input, blocks), "blocks of \(blocks)")
        }
        try expectEqual(hosted(uri, input, [1]), expected)
      case .rubbish:
        try expectEqual(hosted(uri, input, [64])[0].count, input[0].count)
      case .plans:
        for blocks in Self.splits {
          let wrong = try zip(hosted(uri, input, blocks)[0], expected[0]).count {
            abs(Float(bitPattern: $0) - Float(bitPattern: $1)) > 2e-3
          }
          expectEqual(wrong, 0, "blocks of \(blocks)")
        }
      }
    }
  }

  /// Returns the output of `cuejack play --render` for `in.wav` in a folder.
  private func rendered(_ uri: String, in folder: URL) throws -> [[UInt32]] {
    let out = folder.appendingPathComponent("rendered.wav").path
    let result = try TestSupport.run(
      builtProduct(named: "cuejack").path,
      [
        "play", folder.appendingPathComponent("in.wav").path, "--plugin", uri, "--render", out,
        "--force",
      ], environment: environment(folder))
    try require(result.status == 0, "\(uri): \(result)")
    return bits(try readWave(out))
  }

  /// From the first frame on: a modulated plugin starts in the same phase as under lv2apply.
  @Test(arguments: [
    "swh-plugins/plate", "swh-plugins/sc4", "swh-plugins/multivoiceChorus", "swh-plugins/lfoPhaser",
    "mda/Overdrive", "mda/ThruZero", "mda/RoundPan", "mda/Ambience",
  ]) func aRenderedFileIsThatOfLV2Apply(name: String) throws {
    let uri = try require(Self.plugins.first { $0.hasSuffix(name) })
    try withBundle(uri) { folder in
      try writeWave(input(uri, frames: 9001), to: folder.appendingPathComponent("in.wav").path)
      try expectEqual(rendered(uri, in: folder), applied(uri, in: folder))
    }
  }

  /// Rendering removes the reported latency, which lv2apply keeps at the start.
  @Test(arguments: ["hilbert", "bodeShifter"])
  func aRenderedFileBeginsAfterTheLatency(name: String) throws {
    let uri = Self.families[0] + name
    let plugin = try PluginInstance(uri, in: installed, settings: usual)
    HandRun(plugin).run(frames: 64)
    let latency = plugin.latencyFrames
    expectTrue(latency > 0)
    try withBundle(uri) { folder in
      try writeWave(input(uri, frames: 9001), to: folder.appendingPathComponent("in.wav").path)
      let expected = try applied(uri, in: folder)
      let written = try rendered(uri, in: folder)
      expectEqual(written.map { $0.prefix(9001 - latency) }, expected.map { $0.dropFirst(latency) })
    }
  }
}
