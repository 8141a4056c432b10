import Logging
import RealTime
import Server
import Synchronization
import System

// A one-channel queue has one port, which is heard on both sides, until its balance leaves the
// centre.

extension OutputQueue {
  /// Records that the balance leaves the centre, now or with a buffer. The caller must hold the
  /// state lock.
  func noteBalance(_ changes: ParameterChanges, _ state: inout QueueState) {
    if format.channels == 1, !changes.pan.isNaN, changes.pan != 0 { state.needsSecondPort = true }
  }

  /// Opens the second port if the queue needs one and has none. Without a device the port is opened
  /// together with the device.
  func openSecondPortIfNeeded() throws(QueueError) {
    guard state.read({ $0.lacksSecondPort }) else { return }
    try controlled { () throws(QueueError) in
      guard let device = state.read({ $0.device }) else { return }
      try openSecondPort(of: device)
    }
  }

  /// Opens the second port on an open device, if the queue needs one. The caller must hold
  /// `control`.
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
      // The sound is still heard, in the centre.
      log.error("\(error)")
      state.change { $0.needsSecondPort = false }
    }
  }

  /// Adds a second port to a one-channel queue; see `Device.addSecondPort`. The caller must hold
  /// `control`.
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
