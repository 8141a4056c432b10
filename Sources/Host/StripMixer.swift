import Synchronization

/// A stereo mixer of any number of inputs in a graph: each passes through a channel strip of its own (gain,
/// pan of equal power, mute), their sum through one more. Any thread.
///
/// The strips are the LV2 plugins `urn:cuejack:plugins:channel-strip` and `…-mono`, which smooth their
/// controls. Inputs come and go with the graph's fades.
package final class StripMixer: Sendable {
  private let graph: Graph
  private let world: World
  private let bus: NodeID
  /// What the strips of the inputs are, by their nodes.
  private let strips = Mutex<[NodeID: PluginInstance]>([:])
  /// The node whose two outputs are the mix, and its strip.
  package let output: NodeID
  package let master: PluginInstance

  /// A mixer without inputs.
  ///
  /// - Parameter world: Where the strips are looked for.
  /// - Throws: `HostError`: there are no strips.
  package init(named name: String, in graph: Graph, _ world: World) throws(HostError) {
    self.graph = graph
    self.world = world
    master = try Self.strip(named: name, channels: 2, world)
    bus = graph.addMixer(named: "\(name) bus", channels: 2)
    output = try graph.add(master)
    try graph.connect(bus, to: output)
  }

  /// Adds an input.
  ///
  /// - Parameter channels: Of what is to be connected to it: 1 is panned, of 2 the balance is set.
  /// - Returns: The node to connect to: its strip.
  /// - Throws: `HostError`.
  package func addInput(named name: String, channels: Int) throws(HostError) -> NodeID {
    let strip = try Self.strip(named: name, channels: channels, world)
    let id = try graph.add(strip)
    try graph.connect(id, to: bus)
    strips.withLock { $0[id] = strip }
    return id
  }

  /// Takes an input away, with what is connected to it.
  ///
  /// - Throws: `HostError.unknownNode`.
  package func removeInput(_ id: NodeID) throws(HostError) {
    guard strips.withLock({ $0.removeValue(forKey: id) }) != nil else {
      throw .unknownNode(number: id.number)
    }
    try graph.remove(id)
  }

  /// The strip of an input, with the controls `gain` (-90 to 24 dB), `pan` (-1 to 1) and `mute`.
  ///
  /// - Throws: `HostError.unknownNode`.
  package func strip(of id: NodeID) throws(HostError) -> PluginInstance {
    guard let strip = strips.withLock({ $0[id] }) else { throw .unknownNode(number: id.number) }
    return strip
  }

  private static func strip(named name: String, channels: Int, _ world: World) throws(HostError)
    -> PluginInstance
  {
    let uri = "urn:cuejack:plugins:channel-strip" + (channels == 1 ? "-mono" : "")
    // The graph makes it ready for its own rate and blocks.
    let settings = PluginSettings(sampleRate: 48000, maximumFrames: 1024)
    return try PluginInstance(uri, in: world, settings: settings, name: name)
  }
}
