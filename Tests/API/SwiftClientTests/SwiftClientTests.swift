import Foundation
import TestSupport
import Testing

/// Swift code written for Apple's systems compiles, and its output is captured.
@Suite(.tags(.server, .program), .serialized) struct SwiftClientTests {
  private let jack: JackDaemon
  private let card: CaptureClient

  init() throws {
    jack = try JackDaemon(period: 4096, playbackPorts: 0)
    card = try CaptureClient(on: jack, name: "card", capacity: 10 * jack.rate, isSoundCard: true)
    card.arm()
  }

  private func client(_ arguments: String...) throws -> CommandResult {
    try run(
      builtProduct(named: "swift-client").path, arguments,
      environment: ["JACK_DEFAULT_SERVER": jack.name, "JACK_NO_START_SERVER": "1"])
  }

  /// Returns the captured sound of both channels, from the first to the last sample.
  private func heard() throws -> [Float] {
    try require(card.wait(untilFrames: card.capturedFrames + 1))
    card.disarm()
    let samples = card.samples(channel: 0)
    expectEqual(card.samples(channel: 1), samples)
    guard let first = samples.firstIndex(where: { $0 != 0 }),
      let last = samples.lastIndex(where: { $0 != 0 })
    else { return [] }
    return Array(samples[first...last])
  }

  private func ramp(_ frames: Int) -> [Int16] { (0..<frames).map { Int16($0 % 30000 + 1) } }

  @Test(arguments: ["ramp", "blocks"]) func whatCallbacksMakeIsHeard(way: String) throws {
    let result = try client(way, "50000")
    expectEqual(result.output, "primed 28800\nruns true\nplayed 50000\n", "\(result)")
    expectEqual(result.status, 0)
    try expectEqual(heard(), ramp(50_000).map { Float($0) / 32768 })
  }

  @Test(arguments: ["io", "io-queue"]) func aClosureOfTheDeviceIsHeard(way: String) throws {
    let result = try client(way, "50000")
    expectTrue(result.output == "played 50000 true true\n" && result.status == 0, "\(result)")
    try expectEqual(heard(), ramp(50_000).map { Float($0) / 32768 })
  }

  @Test func aFileIsHeard() throws {
    let frames = 50_000
    try withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("Größe 1.wav")
      var data = Data("RIFF".utf8)
      func add<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
      }
      add(UInt32(36 + 2 * frames))
      data.append(contentsOf: "WAVEfmt ".utf8)
      add(UInt32(16))
      for field: UInt16 in [1, 1] { add(field) }
      for field: UInt32 in [48000, 96000] { add(field) }
      for field: UInt16 in [2, 16] { add(field) }
      data.append(contentsOf: "data".utf8)
      add(UInt32(2 * frames))
      for sample in ramp(frames) { add(sample) }
      try data.write(to: file)
      let result = try client("file", file.path)
      expectTrue(result.output == "played \(frames) true\n" && result.status == 0, "\(result)")
    }
    try expectEqual(heard(), ramp(frames).map { Float($0) / 32768 })
  }

  @Test func aDeviceIsNamed() throws {
    try expectEqual(client("device", "jack:\(jack.name)").output, "device jack:\(jack.name)\n")
    try expectEqual(client("device", "jack:nobody").output, "no such device\n")
  }
}
