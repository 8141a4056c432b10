import PluginHost
import RealTime

/// How the audio and CV ports of a plugin become buses of a unit.
///
/// Ports of one group are a bus. Those without a group are in the first bus, with the group of the first
/// audio port. CV ports are in none: they read silence, and what they write is dropped.
struct PluginLayout: Sendable {
  /// The channels of each bus.
  let inputs: [Int]
  let outputs: [Int]
  /// True for a plugin with one audio input and one output: the unit has an instance for each channel.
  let isPerChannel: Bool
  /// True if the plugin writes no sound: the unit passes its input on.
  let passesInput: Bool
  private let inputPlanes: [NodePlane]
  private let outputPlanes: [NodePlane]

  init(_ plugin: PluginDescription) {
    let (into, inputs) = Self.buses(plugin.planes(.input))
    let (from, outputs) = Self.buses(plugin.planes(.output))
    (inputPlanes, outputPlanes) = (into, from)
    self.inputs = inputs
    passesInput = outputs.isEmpty
    self.outputs = outputs.isEmpty ? [inputs.first ?? 2] : outputs
    isPerChannel = inputs == [1] && outputs == [1]
  }

  private static func buses(_ ports: [PluginPort]) -> ([NodePlane], [Int]) {
    let main = ports.first { $0.kind == .audio }?.group
    var groups: [String] = []
    var channels: [Int] = []
    let planes = ports.map { port -> NodePlane in
      guard port.kind == .audio else { return NodePlane(bus: nil, channel: 0) }
      let group = port.group.flatMap { $0 == main ? nil : $0 } ?? ""
      let bus = groups.firstIndex(of: group) ?? groups.count
      if bus == groups.count {
        groups.append(group)
        channels.append(0)
      }
      defer { channels[bus] += 1 }
      return NodePlane(bus: bus, channel: channels[bus])
    }
    return (planes, channels)
  }

  /// Returns the channels of the planes of all instances, those of the first one first.
  func planes(instances: Int) -> (inputs: [NodePlane], outputs: [NodePlane]) {
    if !isPerChannel { return (inputPlanes, outputPlanes) }
    func all(_ planes: [NodePlane]) -> [NodePlane] {
      (0..<instances).flatMap { channel in planes.map { $0.onChannel(channel) } }
    }
    return (all(inputPlanes), all(outputPlanes))
  }
}

extension NodePlane {
  /// Returns this plane for another channel, if it has one.
  fileprivate func onChannel(_ channel: Int) -> NodePlane {
    isConnected ? NodePlane(bus: 0, channel: channel) : self
  }
}
