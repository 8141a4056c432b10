/// What a node of a graph consists of, as reports show it in the node's place.
package struct GraphInterior: Sendable {
  package struct Node: Sendable {
    let name: String
    let uri: String?
    let inputs, outputs: [String]
    let isBypassed: Bool

    /// - Parameters:
    ///   - inputs: The names of the channels that come in.
    ///   - outputs: The names of those that go out.
    package init(
      name: String, uri: String? = nil, inputs: [String], outputs: [String],
      isBypassed: Bool = false
    ) {
      self.name = name
      self.uri = uri
      self.inputs = inputs
      self.outputs = outputs
      self.isBypassed = isBypassed
    }
  }

  /// A channel from a node to another one, which their places in `nodes` name. Nil stands for what comes into the whole, or
  /// goes out of it.
  package struct Wire: Sendable {
    let from: Int?
    let output: Int
    let to: Int?
    let input: Int
    let gain: Float

    package init(from: Int?, _ output: Int, to: Int?, _ input: Int, gain: Float = 1) {
      self.from = from
      self.output = output
      self.to = to
      self.input = input
      self.gain = gain
    }
  }

  /// In running order.
  package var nodes: [Node] = []
  package var wires: [Wire] = []

  package init() {}

  /// Puts the nodes and wires in the place of a node.
  func open(
    _ whole: Int, in shown: inout [GraphReport.Node], _ wires: inout [GraphReport.Wire]
  ) {
    guard let place = shown.firstIndex(where: { $0.number == whole }) else { return }
    let first = (shown.map(\.number).max() ?? 0) + 1
    shown.replaceSubrange(
      place...place,
      with: nodes.enumerated().map { index, node in
        GraphReport.Node(
          number: first + index, name: node.name, kind: node.uri == nil ? .node : .plugin,
          uri: node.uri, inputs: node.inputs, outputs: node.outputs, eventInputs: [],
          eventOutputs: [], latencyFrames: 0, arrivalFrames: 0, isBypassed: node.isBypassed,
          isUnready: false, connections: [:], controls: [], badSamples: 0, lostEvents: 0)
      })
    let before = wires.filter { $0.to == whole }
    let behind = wires.filter { $0.from == whole }
    wires.removeAll { $0.to == whole || $0.from == whole }
    func add(_ from: Int, _ output: Int, _ to: Int, _ input: Int, _ gain: Float) {
      wires.append(
        GraphReport.Wire(
          from: from, output: output, to: to, input: input, isEvent: false, gain: gain,
          delayFrames: 0))
    }
    for wire in self.wires {
      switch (wire.from, wire.to) {
      case (let from?, let to?):
        add(first + from, wire.output + 1, first + to, wire.input + 1, wire.gain)
      case (nil, let to?):
        for outer in before where outer.input == wire.output + 1 {
          add(outer.from, outer.output, first + to, wire.input + 1, wire.gain)
        }
      case (let from?, nil):
        for outer in behind where outer.output == wire.input + 1 {
          add(first + from, wire.output + 1, outer.to, outer.input, wire.gain)
        }
      case (nil, nil): break
      }
    }
  }
}
