import AudioUnits
import Graph

// The engine as the graph that `cuejack graph` shows.

extension AVAudioEngine {
  /// The nodes that the device renders, with a wire for each channel of their connections.
  var interior: GraphInterior {
    edit {
      var interior = GraphInterior()
      var places: [ObjectIdentifier: Int] = [:]
      let ends = attachedNodes.filter { $0 is AVAudioOutputNode || $0 is AVAudioSinkNode }
      func inputs(of node: AVAudioNode) -> [Connection] {
        connections(to: node).sorted { $0.input < $1.input }
      }
      let sorted = ends.sorted { $0 is AVAudioOutputNode && !($1 is AVAudioOutputNode) }
      for node in sourcesFirst(sorted, { inputs(of: $0).map(\.source) }) {
        let inputs = inputs(of: node)
        places[ObjectIdentifier(node)] = interior.nodes.count
        interior.nodes.append(shown(node, inputs))
        for wire in wires(to: node, inputs, places) { interior.wires.append(wire) }
      }
      return interior
    }
  }

  private func shown(_ node: AVAudioNode, _ inputs: [Connection]) -> GraphInterior.Node {
    func names(_ count: AVAudioChannelCount) -> [String] { (0..<count).map { "\($0 + 1)" } }
    let outputs = node is AVAudioSinkNode ? 0 : node.outputFormat(forBus: 0).channelCount
    let names =
      node is AVAudioInputNode
      ? names(node.inputFormat(forBus: 0).channelCount)
      : inputs.flatMap { input in
        names(input.format.channelCount).map {
          node.numberOfInputs > 1 ? "\(input.input).\($0)" : $0
        }
      }
    let unit = node as? AVAudioUnit
    return GraphInterior.Node(
      name: unit?.name ?? "\(type(of: node))", inputs: names,
      outputs: (0..<outputs).map { "\($0 + 1)" }, isBypassed: unit?.core.isBypassed ?? false)
  }

  private func wires(
    to node: AVAudioNode, _ inputs: [Connection], _ places: [ObjectIdentifier: Int]
  ) -> [GraphInterior.Wire] {
    let place = places[ObjectIdentifier(node)]
    if node is AVAudioInputNode {
      return (0..<Int(node.inputFormat(forBus: 0).channelCount)).map {
        GraphInterior.Wire(from: nil, $0, to: place, $0)
      }
    }
    var wires: [GraphInterior.Wire] = []
    for connection in inputs {
      let gain = connection.destination is any MixingNode ? connection.settings.volume : 1
      let first = wires.count
      for channel in 0..<Int(connection.format.channelCount) {
        wires.append(
          GraphInterior.Wire(
            from: places[ObjectIdentifier(connection.source)], channel, to: place,
            first + channel, gain: gain))
      }
    }
    if node is AVAudioOutputNode {
      for channel in 0..<Int(node.outputFormat(forBus: 0).channelCount) {
        wires.append(GraphInterior.Wire(from: place, channel, to: nil, channel))
      }
    }
    return wires
  }
}
