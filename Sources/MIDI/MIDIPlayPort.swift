import Glibc
package import RealTime
package import Server
import Synchronization
import System

/// An output port of a device that renders: what the renders of a cycle play goes out in the same cycle, on its frame.
/// Any thread that is not real time.
package final class MIDIPlayPort: VoiceOwner {
  package let endpoint: MIDIEndpoint
  private let device: Device
  private let memory: MIDIOutputMemory
  private let number: Int
  /// The numbers in the names of ports.
  private static let numbers = Mutex<Set<Int>>([])

  /// Adds a port to a device and connects it to a destination, which takes two cycles.
  package init(to endpoint: MIDIEndpoint, on device: Device) throws(ServerError) {
    self.endpoint = endpoint
    self.device = device
    number = Self.numbers.withLock { numbers in
      let free = (1...).first { !numbers.contains($0) } ?? 1
      numbers.insert(free)
      return free
    }
    let name = "sequence_\(number)\(MIDIClient.privateSuffix)"
    memory = MIDIOutputMemory(named: name, isPlayed: true)
    do throws(ServerError) {
      _ = try device.attach(memory, owner: self)
    } catch {
      releaseNumber()
      throw error
    }
    do throws(ServerError) {
      try device.connect(name, to: endpoint.port)
      try device.awaitHeard(device.connectionMark)
    } catch {
      dispose()
      throw error
    }
  }

  /// The messages of the port, which renders of the device add.
  package var messages: PortMessages? { memory.played }

  /// Removes the port, once all messages that are due were sent.
  package func dispose() {
    let deadline = HostTime.now + 1_000_000_000
    while memory.hasUnplayed, !device.isLost, HostTime.now < deadline { usleep(200) }
    if !device.detach(memory) { keepForGood(memory) }
    releaseNumber()
  }

  private func releaseNumber() { Self.numbers.withLock { _ = $0.remove(number) } }

  // MARK: VoiceOwner

  package func readEvents() -> Bool { false }
  package func wakeCallbacks() {}
  package func deviceLost() {}
}
