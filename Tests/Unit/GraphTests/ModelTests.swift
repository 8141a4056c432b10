import CRealTime
import Graph
import PluginHost
import TestSupport
import Testing

/// Thousands of random edits, compared with a simple model that sums all paths.
@Suite(.serialized) struct ModelTests {
  /// The model's view of a node.
  private enum Kind { case source(Int), gain(Float), delay(Int), mixer, output }

  private struct Model {
    var kinds: [NodeID: Kind] = [:]
    var bypassed: Set<NodeID> = []
    var wires: [NodeID: [NodeID: Float]] = [:]  // by destination, then source

    func reaches(_ a: NodeID, _ b: NodeID) -> Bool {
      a == b || (wires[b] ?? [:]).keys.contains { reaches(a, $0) }
    }

    /// Returns a source's sample at a frame: a small integer, so that sums are exact.
    static func sample(_ source: Int, _ frame: Int64) -> Float {
      frame < 0 ? 0 : Float((Int(frame) &* (source * 2 + 3) &+ source) & 15)
    }

    func latency(into node: NodeID) -> Int {
      (wires[node] ?? [:]).keys.map { latency(outOf: $0) }.max() ?? 0
    }
    func latency(outOf node: NodeID) -> Int {
      if case .delay(let frames) = kinds[node]! { return latency(into: node) + frames }
      return latency(into: node)
    }

    /// Returns a node's output for a source frame, without any latency.
    func value(_ node: NodeID, _ frame: Int64) -> Float {
      if case .source(let number) = kinds[node]! { return Self.sample(number, frame) }
      let sum = (wires[node] ?? [:]).reduce(Float(0)) { $0 + value($1.key, frame) * $1.value }
      if case .gain(let gain) = kinds[node]!, !bypassed.contains(node) { return sum * gain }
      return sum
    }

    mutating func remove(_ node: NodeID) {
      kinds[node] = nil
      bypassed.remove(node)
      wires[node] = nil
      for to in wires.keys { wires[to]![node] = nil }
    }
  }

  @Test(arguments: [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3)])
  func randomEditsSoundAsTheyShould(seed: UInt64, threads: Int) throws {
    var random = SplitMix(state: seed)
    let rig = Rig(fadeSeconds: 0.0005, threads: threads)
    let graph = rig.graph
    var model = Model()
    let output = try graph.addOutputs(named: "out", audio: ["out"])
    model.kinds[output] = .output
    for number in 0..<3 {
      let id = try graph.add(Generator("source \(number)") { Model.sample(number, $0) })
      model.kinds[id] = .source(number)
      try graph.connect(id, to: output)
      model.wires[output, default: [:]][id] = 1
    }
    rig.begin()
    let gains: [Float] = [1, 0.5, 2, -1]
    var refused = 0
    for edit in 0..<400 {
      let nodes = model.kinds.keys.sorted()
      let inner = nodes.filter {
        switch model.kinds[$0]! {
        case .gain, .delay: true
        default: false
        }
      }
      let pick = { (random: inout SplitMix) in nodes.randomElement(using: &random)! }
      switch Int.random(in: 0..<10, using: &random) {
      case 0 where nodes.count < 12:
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
          let gain = gains.randomElement(using: &random)!
          model.kinds[try graph.add(Gain("gain", gain))] = .gain(gain)
        case 1:
          let frames = Int.random(in: 0..<20, using: &random)
          model.kinds[try graph.add(Delay("delay", frames))] = .delay(frames)
        default: model.kinds[graph.addMixer(named: "mixer", channels: 1)] = .mixer
        }
      case 1 where inner.count > 4:
        let id = inner.randomElement(using: &random)!
        try graph.remove(id)
        model.remove(id)
      case 2:
        guard let id = inner.randomElement(using: &random) else { continue }
        let on = Bool.random(using: &random)
        try graph.setBypassed(id, on)
        if on { model.bypassed.insert(id) } else { model.bypassed.remove(id) }
      case 3:
        guard let id = inner.randomElement(using: &random) else { continue }
        let gain = gains.randomElement(using: &random)!
        try graph.replace(id, with: Gain("other", gain))
        model.kinds[id] = .gain(gain)
      case 4, 5:
        let all = model.wires.flatMap { to, from in from.keys.map { (to: to, from: $0) } }
          .sorted { ($0.to, $0.from) < ($1.to, $1.from) }
        guard let wire = all.randomElement(using: &random) else { continue }
        try graph.disconnect(Wire(from: wire.from, to: wire.to))
        model.wires[wire.to]![wire.from] = nil
      default:
        let (from, to) = (pick(&random), pick(&random))
        let gain = gains.randomElement(using: &random)!
        if case .output = model.kinds[from]! { continue }
        if case .source = model.kinds[to]! { continue }
        if model.reaches(to, from) {
          refused += 1
          #expect(throws: HostError.self) { try graph.connect(from, to: to, gain: gain) }
        } else {
          try graph.connect(from, to: to, gain: gain)
          model.wires[to, default: [:]][from] = gain
        }
      }
      // Some edits happen during another one's fade.
      if Int.random(in: 0..<3, using: &random) == 0 {
        rig.run(Int.random(in: 1...20, using: &random), period: 7)
        continue
      }
      rig.settle(period: 16)
      // Paths that were not audible had no fade: wait until their old content has passed.
      rig.run(300, period: 50)
      let begin = rig.frame
      let late = Int64(model.latency(into: output))
      let expected = (begin..<begin + 24).map { model.value(output, $0 - late) }
      let heard = rig.listen(24, period: 8)
      expectEqual(heard, expected, "after edit \(edit) of seed \(seed)")
      if heard != expected { return }
    }
    expectTrue(refused > 8)
  }
}
