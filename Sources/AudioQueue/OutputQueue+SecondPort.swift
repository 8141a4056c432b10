import Logging
import RealTime
import Server
import Synchronization

// One channel has one port, which is heard on both sides, until its balance leaves the centre.

extension OutputQueue {
  /// Notes that the balance leaves the centre, or will with a buffer. With the queue's state locked.
  func noteBalance(_ changes: ParameterChanges, _ state: inout QueueState) {
    if format.channels == 1, !changes.pan.isNaN, changes.pan != 0 { state.needsSecondPort = true }
  }

  /// Gives the queue the second port that it needs, unless it has one. A queue without a device gets it
  /// with the device.
  func openSecondPortIfNeeded() throws(QueueError) {
    guard state.read({ $0.lacksSecondPort }) else { return }
    try controlled { () throws(QueueError) in
      guard let device = state.read({ $0.device }) else { return }
      try openSecondPort(of: device)
    }
  }

  /// The same for a device that is open. Holding `control`.
  func openSecondPort(of device: Device) throws(QueueError) {
    guard state.read({ $0.lacksSecondPort }) else { return }
    do throws(ServerError) {
      try addSecondPort(
        give: { [memory] port in
          unsafe memory.ports[1] = port.place
          unsafe memory.voice.pointee.openSecondPort()
        },
        willSwitch: { unsafe memory.voice.pointee.useSecondPort(fromConnections: $0) })
    } catch {
      // It is heard all the same, in the middle.
      log.error("\(error)")
      state.change { $0.needsSecondPort = false }
    }
  }

  /// Gives a queue of one channel a second port: see `Device.addSecondPort`. Holding `control`.
  func addSecondPort(
    give: @escaping @Sendable (ClientPort) -> Void, willSwitch: (_ connectionsLeft: Int) -> Void
  ) throws(ServerError) {
    guard let device = state.read({ $0.device }) else { return }
    let name = try device.addSecondPort(to: memory, give: give, willSwitch: willSwitch)
    let connections = (state.read { $0.portNames } + [name]).map {
      device.client.connections(of: $0)
    }
    state.change { state in
      state.portNames.append(name)
      state.connections = connections
    }
  }
}
