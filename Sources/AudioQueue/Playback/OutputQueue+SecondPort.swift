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
  func noteBalance(_ changes: ParameterChanges, _ state: inout PlaybackState) {
    if format.channels == 1, !changes.pan.isNaN, changes.pan != 0 {
      state.part.needsSecondPort = true
    }
  }

  /// Opens the second port if the queue needs one and has none. Without a device the port is opened
  /// together with the device.
  func openSecondPortIfNeeded() throws(QueueError) {
    guard state.read({ $0.lacksSecondPort }) else { return }
    try core.controlled { () throws(QueueError) in
      guard let device = state.read({ $0.device }) else { return }
      try openSecondPort(of: device)
    }
  }

  /// Opens the second port on an open device, if the queue needs one, and moves every second
  /// connection to it. The caller must hold `control`.
  func openSecondPort(of device: Device) throws(QueueError) {
    guard state.read({ $0.lacksSecondPort }) else { return }
    do throws(ServerError) {
      let name = try device.addSecondPort(to: memory)
      let names = state.read { $0.portNames } + [name]
      let connections = names.map { device.client.connections(of: $0) }
      state.change { state in
        state.portNames = names
        state.connections = connections
      }
    } catch {
      // The sound is still heard, in the centre.
      log.error("\(error)")
      state.change { $0.part.needsSecondPort = false }
    }
  }
}
