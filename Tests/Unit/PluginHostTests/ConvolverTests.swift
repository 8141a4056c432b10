import CProbe
import Foundation
import Graph
import TestSupport
import Testing

@testable import PluginHost

/// The plugin convolver.lv2, run block by block, against direct convolution.
@Suite(.tags(.program), .serialized) struct ConvolverTests {
  private let world: World

  init() throws {
    let path = try require(pluginEnvironment()["LV2_PATH"])
    world = World(path: path)
  }

  private static let file = "\(ConvolverPlugin.uri)#file"

  private func plugin(
    _ path: String?, _ values: [String: Float] = [:], rate: Double = 48_000
  ) throws -> PluginInstance {
    let instance = try PluginInstance(
      ConvolverPlugin.uri, in: world,
      settings: PluginSettings(sampleRate: rate, maximumFrames: 4096),
      state: PluginState(
        text: PluginFile.state(of: ConvolverPlugin.uri, path: path, controls: values),
        world: world))
    try ConvolverPlugin.check(instance, path: path)
    return instance
  }

  private static func noise(_ count: Int, seed: UInt64, decay: Double = 0) -> [Float] {
    var state = seed
    return (0..<count).map { index in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let value = Double(state >> 11) / Double(UInt64(1) << 53) * 2 - 1
      return Float(value * exp(-decay * Double(index) / Double(count)))
    }
  }

  /// Writes a response as a WAVE file of floats.
  private func write(_ planes: [[Float]], _ name: String, in folder: URL, rate: Int = 48_000)
    throws -> String
  {
    func bytes(_ number: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(number >> (8 * $0) & 0xFF) }
    }
    let samples = planes[0].indices.flatMap { frame in planes.map { $0[frame] } }
    let size = 4 * samples.count
    let frame = 4 * planes.count
    var file = Array("RIFF".utf8) + bytes(36 + size, 4) + Array("WAVEfmt ".utf8) + bytes(16, 4)
    file += bytes(3, 2) + bytes(planes.count, 2) + bytes(rate, 4) + bytes(rate * frame, 4)
    file += bytes(frame, 2) + bytes(32, 2) + Array("data".utf8) + bytes(size, 4)
    file += samples.withUnsafeBytes { Array($0) }
    let path = folder.appendingPathComponent("\(name).wav").path
    try Data(file).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// Returns the exact sum for one output and frame.
  private func direct(_ input: [[Float]], _ response: [[Float]], _ output: Int, _ frame: Int)
    -> Double
  {
    (0..<2).reduce(0.0) { sum, side in
      guard response.count == 4 || side == output else { return sum }
      let taps = response.count == 4 ? response[2 * side + output] : response[side % response.count]
      return (0...min(frame, taps.count - 1)).reduce(sum) {
        $0 + Double(taps[$1]) * Double(input[side][frame - $1])
      }
    }
  }

  @Test(
    "The sound is that of direct convolution, to -120 dB",
    arguments: [1, 2, 4], [1, 64, 65, 2048, 2049, 9000])
  func precision(channels: Int, length: Int) throws {
    try withTemporaryFolder { folder in
      let response = (0..<channels).map { Self.noise(length, seed: UInt64($0 + 9), decay: 3) }
      let path = try write(response, "response", in: folder)
      let input = (0..<2).map { Self.noise(15_000, seed: UInt64($0 + 1)) }
      let sound = HandRun(try plugin(path)).run(input, blocks: [256, 1, 37, 1024]).sound
      var (error, peak) = (0.0, 0.0)
      for output in 0..<2 {
        for frame in stride(from: 0, to: 15_000, by: 331) {
          let expected = direct(input, response, output, frame)
          error = max(error, abs(expected - Double(sound[output][frame])))
          peak = max(peak, abs(expected))
        }
      }
      expectTrue(peak > 0.1 && 20 * log10(error / peak) < -120, "\(20 * log10(error / peak)) dB")
    }
  }

  @Test("The sound is the same however it is divided") func divisions() throws {
    try withTemporaryFolder { folder in
      let path = try write(
        (0..<4).map { Self.noise(30_000, seed: $0 + 3, decay: 4) }, "response", in: folder)
      let input = (0..<2).map { Self.noise(40_000, seed: UInt64($0 + 1)) }
      let expected = HandRun(try plugin(path)).run(input, blocks: [1024]).sound
      for blocks in [[64], [4096], [1, 300, 63, 2]] {
        let found = HandRun(try plugin(path)).run(input, blocks: blocks).sound
        expectTrue(found == expected, "blocks of \(blocks)")
      }
    }
  }

  @Test("A response of another rate keeps its gain and its time") func rates() throws {
    try withTemporaryFolder { folder in
      // A pulse of the width of an eighth of a millisecond.
      let pulse = (0..<4410).map { Float(exp(-pow((Double($0) - 441) / 5.5, 2))) / 10 }
      let path = try write([pulse], "response", in: folder, rate: 44_100)
      let impulse = [Float(1)] + [Float](repeating: 0, count: 6000)
      for rate in [44_100.0, 48_000, 96_000] {
        let sound = HandRun(try plugin(path, rate: rate)).run([impulse, impulse]).sound[1]
        let sums = (pulse.reduce(0, +), sound.reduce(0, +))
        expectTrue(abs(sums.1 / sums.0 - 1) < 1e-4, "\(rate): \(sums)")
        let top = try require(sound.indices.max { sound[$0] < sound[$1] })
        expectEqual(top, Int(rate / 100), "\(rate)")
      }
    }
  }

  @Test("Controls set the gains, the trimmed part and the delay") func controls() throws {
    try withTemporaryFolder { folder in
      let path = try write([[0, 0, 0, 0, 0.5, 0.25]], "response", in: folder)
      let impulse = [Float(1)] + [Float](repeating: 0, count: 999)
      func heard(_ values: [String: Float]) throws -> [Int: Float] {
        let instance = try plugin(path, values)
        let sound = HandRun(instance).run([impulse, impulse]).sound[0]
        return Dictionary(
          uniqueKeysWithValues: sound.enumerated().filter { abs($1) > 1e-6 }.map { ($0, $1) })
      }
      func expectNear(_ found: [Int: Float], _ expected: [Int: Float]) {
        expectEqual(Set(found.keys), Set(expected.keys))
        for (frame, value) in expected {
          expectTrue(abs((found[frame] ?? 9) - value) < 1e-6, "\(frame): \(found)")
        }
      }
      let half = Float(pow(10, -6.0 / 20))
      expectNear(try heard([:]), [4: 0.5, 5: 0.25])
      expectNear(try heard(["wet": -6]), [4: 0.5 * half, 5: 0.25 * half])
      expectNear(try heard(["dry": -6]), [0: half, 4: 0.5, 5: 0.25])
      expectNear(
        try heard(["dry": 0, "gain": -6]), [0: half, 4: 0.5 * half, 5: 0.25 * half])
      expectNear(try heard(["wet": -80, "dry": 0]), [0: 1])
      expectNear(try heard(["enabled": 0]), [0: 1])
      // Four frames at 48 kHz are a twelfth of a millisecond.
      expectNear(try heard(["trim": 4.0 / 48]), [0: 0.5, 1: 0.25])
      expectNear(try heard(["predelay": 2]), [100: 0.5, 101: 0.25])
      expectNear(try heard(["trim": 4.0 / 48, "predelay": 2]), [96: 0.5, 97: 0.25])
    }
  }

  @Test("Without a response the input passes bit by bit") func nothing() throws {
    let input = (0..<2).map { Self.noise(5000, seed: UInt64($0 + 1)) }
    expectEqual(HandRun(try plugin(nil)).run(input, blocks: [100]).sound, input)
  }

  /// Runs a plugin with a constant input until a condition holds, and returns the sound of the left side.
  private func sound(_ run: HandRun, until isDone: () throws -> Bool) throws -> [Float] {
    let ones = [Float](repeating: 1, count: 512)
    var sound: [Float] = []
    let end = Date() + 30
    while try !isDone(), Date() < end {
      sound += run.run([ones, ones]).sound[0]
      usleep(1000)
    }
    for _ in 0..<20 { sound += run.run([ones, ones]).sound[0] }
    return sound
  }

  @Test("A message loads another response, and the sound crosses over to it") func messages() throws
  {
    try withTemporaryFolder { folder in
      let (loud, quiet) = (
        try write([[1]], "loud", in: folder), try write([[0.25]], "quiet", in: folder)
      )
      let instance = try plugin(loud)
      let run = HandRun(instance)
      expectEqual(try sound(run) { true }.allSatisfy { $0 == 1 }, true)
      try instance.setParameter(Self.file, to: .path(quiet))
      let crossed = try sound(run) {
        try instance.capture().text.flatMap { PluginFile.path(inState: $0) } == quiet
      }
      expectTrue(crossed.first == 1 && crossed.last == 0.25, "\(crossed.last ?? 0)")
      // A tenth of a second for three quarters.
      let steps = zip(crossed, crossed.dropFirst()).map { $0 - $1 }
      expectTrue(steps.allSatisfy { (-1e-6...0.75 / 4800 + 1e-6).contains($0) })
      // A file that cannot be loaded leaves the present one in use.
      let text = folder.appendingPathComponent("text.wav")
      try Data("no sound".utf8).write(to: text)
      for path in [text.path, "/nowhere.wav"] {
        try instance.setParameter(Self.file, to: .path(path))
        let kept = try sound(run) { try instance.value(of: "status") == 2 }
        expectTrue(kept.allSatisfy { $0 == 0.25 })
        expectEqual(try instance.value(of: "status"), 2)
        try instance.setParameter(Self.file, to: .path(quiet))
        _ = try sound(run) { try instance.value(of: "status") == 1 }
      }
      // A trim that leaves nothing is refused once, and the present response stays.
      try instance.set("trim", to: 10)
      expectEqual(
        try sound(run) { try instance.value(of: "status") == 2 }.allSatisfy { $0 == 0.25 }, true)
    }
  }

  @Test("Files that are no responses are told") func faults() throws {
    try withTemporaryFolder { folder in
      let three = try write([[1], [1], [1]], "three", in: folder)
      let text = folder.appendingPathComponent("text.wav")
      try Data("no sound".utf8).write(to: text)
      let wild = try write([[.nan]], "wild", in: folder)
      for path in [three, text.path, wild, "/nowhere.wav"] {
        var told = ""
        do { _ = try plugin(path) } catch { told = "\(error)" }
        expectTrue(told.hasPrefix("\(path): the convolver cannot load it"), "\(path): \(told)")
      }
    }
  }

  @Test("A cycle neither allocates nor locks, while a response is replaced, too") func cycles()
    throws
  {
    try require(cue_probe_works())
    try withTemporaryFolder { folder in
      let path = try write(
        (0..<4).map { Self.noise(20_000, seed: $0 + 3) }, "response", in: folder)
      let instance = try plugin(path)
      let run = HandRun(instance)
      let input = (0..<2).map { Self.noise(20_000, seed: UInt64($0 + 1)) }
      var sum = cue_probe_counts()
      for turn in 0..<3 {
        if turn == 1 { try instance.set("predelay", to: 5) }
        run.run(input, blocks: [256]) { cycle in
          cue_probe_enter()
          cycle()
          let cost = cue_probe_leave()
          sum.allocations += cost.allocations
          sum.frees += cost.frees
          sum.locks += cost.locks
        }
        usleep(200_000)
      }
      expectTrue(sum.allocations == 0 && sum.frees == 0 && sum.locks == 0, "\(sum)")
    }
  }

  @Test("The state has the path and the controls") func state() throws {
    try withTemporaryFolder { folder in
      let path = try write([[0, 0.5]], "a response é", in: folder)
      let text = try require(plugin(path, ["predelay": 1]).capture().text)
      expectEqual(PluginFile.path(inState: text), path)
      let other = try PluginInstance(
        ConvolverPlugin.uri, in: world,
        settings: PluginSettings(sampleRate: 48_000, maximumFrames: 4096),
        state: PluginState(text: text, world: world))
      try ConvolverPlugin.check(other, path: path)
      let impulse = [Float(1)] + [Float](repeating: 0, count: 99)
      expectEqual(HandRun(other).run([impulse, impulse]).sound[0].firstIndex { $0 != 0 }, 49)
    }
  }
}
