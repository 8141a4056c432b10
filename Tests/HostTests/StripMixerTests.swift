import Foundation
import Host
import TestSupport
import Testing

/// The mixer of channel strips in a hand-driven graph.
@Suite(.serialized) struct StripMixerTests {
  private let graph = Graph(sampleRate: 48000, blockFrames: 1024)
  private let mixer: StripMixer
  private let source: NodeID
  private let voice, piano: NodeID

  init() throws {
    let made = try run("make", ["--no-print-directory", "-C", "Plugins"], folder: repository)
    guard made.status == 0 else { throw SupportError("\(made.output)\(made.errors)") }
    let world = World(path: repository.appendingPathComponent(".build/lv2").path)
    mixer = try StripMixer(named: "desk", in: graph, world)
    source = graph.addSource(named: "source", channels: 3)
    voice = try mixer.addInput(named: "voice", channels: 1)
    piano = try mixer.addInput(named: "piano", channels: 2)
    try graph.connect(Wire(from: source, 0, to: voice))
    try graph.connect(Wire(from: source, 1, to: piano, 0))
    try graph.connect(Wire(from: source, 2, to: piano, 1))
    try graph.connect(mixer.output, to: graph.addOutputs(named: "ports", audio: ["l", "r"]))
  }

  /// Plays 0.5 on the voice, 0.25 and -0.125 on the piano. Returns the last output frame.
  private func play(_ offline: OfflineGraph, frames: Int = 4096) -> [Float] {
    let sound = (0..<frames).flatMap { _ in [0.5, 0.25, -0.125] as [Float] }
    return Array(offline.run(sound[...]).suffix(2))
  }

  private func isNear(_ a: [Float], _ b: [Double]) -> Bool {
    a.count == b.count && zip(a, b).allSatisfy { abs(Double($0) - $1) < 1e-6 }
  }

  @Test func inputsMeetAsTheirStripsSay() throws {
    let offline = try OfflineGraph(graph, source: source)
    #expect(play(offline) == [0.75, 0.375])
    try mixer.strip(of: voice).set("gain", to: -6)
    try mixer.strip(of: voice).set("pan", to: 1)
    try mixer.master.set("gain", to: 6)
    let (down, up) = (pow(10, -0.3), pow(10, 0.3))
    #expect(isNear(play(offline), [0.25 * up, (0.5 * down * 2.squareRoot() - 0.125) * up]))
    try mixer.strip(of: piano).set("mute", to: 1)
    #expect(isNear(play(offline), [0, 0.5 * down * 2.squareRoot() * up]))
  }

  @Test func anInputGoesWithoutAStep() throws {
    let offline = try OfflineGraph(graph, source: source)
    #expect(play(offline) == [0.75, 0.375])
    try mixer.removeInput(voice)
    let sound = (0..<4096).flatMap { _ in [0.5, 0.25, -0.125] as [Float] }
    let heard = offline.run(sound[...])
    let left = stride(from: 0, to: heard.count, by: 2).map { heard[$0] }
    // 10 ms from one level to the other.
    #expect(zip(left, left.dropFirst()).allSatisfy { abs($0 - $1) <= 0.5 / 480 + 1e-6 })
    #expect(left.last == 0.25)
    #expect(throws: HostError.unknownNode(number: voice.number)) { try mixer.strip(of: voice) }
    #expect(throws: HostError.unknownNode(number: voice.number)) { try mixer.removeInput(voice) }
  }

  @Test func withoutStripsThereIsNoMixer() {
    #expect(throws: HostError.unknownPlugin(uri: "urn:cuejack:plugins:channel-strip")) {
      _ = try StripMixer(named: "desk", in: graph, World(path: "/nowhere"))
    }
  }
}
