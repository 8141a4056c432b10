import AudioQueue
import Server
import Synchronization

/// How patchbays show a running session.
extension SessionEngine {
  /// Tells the server the names, groups and order of the session's ports. Call it whenever ports have been
  /// added.
  func showPorts() {
    guard isLive else { return }
    let document = document
    var ports: [ClientAppearance.Port] = []
    for (index, outlet) in plan.trackOutlets.sorted(by: { $0.key < $1.key }) {
      ports += ClientAppearance.channels(outlet.ports, of: document.tracks[index].name)
    }
    for (index, outlet) in plan.busOutlets.sorted(by: { $0.key < $1.key }) {
      ports += ClientAppearance.channels(outlet.ports, of: document.buses[index].name)
    }
    for (send, names) in zip(document.sends, plan.sendPorts) {
      ports += ClientAppearance.channels(names, of: "send \(send.name)")
    }
    for entry in recorders.withLock({ $0 }) {
      ports += ClientAppearance.channels(
        entry.recorder.queue.statistics.portNames, of: "record \(entry.name)")
    }
    if let midi = session.midiInput {
      ports.append(ClientAppearance.Port(midi, prettyName: "MIDI", signal: .midi))
    }
    device.show(ClientAppearance(prettyName: document.name, ports: ports))
  }
}
