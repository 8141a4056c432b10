import Synchronization

/// A stereo mixer in a graph for any number of inputs. Each input passes through its own channel strip
/// (gain, equal-power pan, mute), and the mix through one more. Any thread.
///
/// The strips are the LV2 plugins `urn:cuejack:plugins:channel-strip` and `…-mono`, which smooth their
/// controls. The graph crossfades when inputs are added or removed.
package final class StripMixer: Sendable {
  private let graph: Graph
  private let world: World
  private let bus: NodeID
  /// The strips of the inputs, by node.
  private let strips = Mutex<[NodeID: PluginInstance]>([:])
  /// The node whose two outputs are the mix, and its strip.
  package let output: NodeID
  package let master: PluginInstance

  /// Creates a mixer without inputs.
  ///
  /// - Parameter world: The world that contains the strip plugins.
  /// - Throws: `HostError`: the strip plugins are not installed.
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
  /// - Parameter channels: Channels of the input: 1 (`pan` pans it) or 2 (`pan` sets the balance).
  /// - Returns: The node to connect to, which is the input's strip.
  /// - Throws: `HostError`.
  package func addInput(named name: String, channels: Int) throws(HostError) -> NodeID {
    let strip = try Self.strip(named: name, channels: channels, world)
    let id = try graph.add(strip)
    try graph.connect(id, to: bus)
    strips.withLock { $0[id] = strip }
    return id
  }

  /// Removes an input and its connections.
  ///
  /// - Throws: `HostError.unknownNode`.
  package func removeInput(_ id: NodeID) throws(HostError) {
    guard strips.withLock({ $0.removeValue(forKey: id) }) != nil else {
      throw .unknownNode(number: id.number)
    }
    try graph.remove(id)
  }

  /// Returns the strip of an input, with the controls `gain` (-90 to 24 dB), `pan` (-1 to 1) and
  /// `mute`.
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
    // The graph prepares it for its own sample rate and block length.
    let settings = PluginSettings(sampleRate: 48000, maximumFrames: 1024)
    return try PluginInstance(uri, in: world, settings: settings, name: name)
  }
}
