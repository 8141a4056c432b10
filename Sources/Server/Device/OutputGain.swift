import RealTime
import Synchronization

/// The volume of servers in this process: the gain of all voices on a server, beside their own. Any thread
/// that is not real time.
package enum OutputGain {
  private static let gains = Mutex<[String: Float]>([:])

  /// Sets the gain of a server, from 0 to 1. Queues that play offline ignore it.
  package static func set(_ gain: Float, ofServer name: String) {
    gains.withLock { $0[name] = gain }
    for device in DeviceRegistry.shared.all where device.client.serverName == name {
      device.attachments.withLock { state in
        for entry in state.entries { apply(to: entry.memory, ofServer: name) }
      }
    }
  }

  /// Gives a voice the gain of its server.
  static func apply(to memory: any CycleMemory, ofServer name: String) {
    guard case .voice(let voice) = memory.member else { return }
    unsafe voice.pointee.setDeviceGain(gains.withLock { $0[name] } ?? 1)
  }
}
