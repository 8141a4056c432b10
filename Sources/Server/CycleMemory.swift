package import CRealTime
import RealTime

/// Which way sound goes through a port, seen from its client.
package enum PortDirection: Sendable {
  case input, output
}

/// The memory of something that runs in a device's cycles.
package protocol CycleMemory: AnyObject, Sendable {
  /// One port for each.
  var channels: Int { get }
  /// Where each channel goes or comes from: set before a cycle sees the memory.
  var ports: UnsafeMutablePointer<cue_port> { get }
  var direction: PortDirection { get }
  /// For each channel its place among the ports; empty if they stand in the channels' order. Set only while
  /// no device has the memory.
  var portOrder: [Int] { get }
  /// Keeps cycles that begin from now on out of it.
  func hold()
  /// Lets cycles in again.
  func release()
}

extension CycleMemory {
  /// The place of a channel's port among the ports.
  package func port(ofChannel channel: Int) -> Int {
    portOrder.isEmpty ? channel : portOrder[channel]
  }
}

/// The slots of a ring.
///
/// Touched and, where the system allows it, locked when they are made, so that no cycle faults.
@safe
final class RingMemory<Slot: BitwiseCopyable> {
  let slots: UnsafeMutableBufferPointer<Slot>

  init(_ count: Int, of slot: Slot) {
    unsafe slots = .allocate(capacity: count)
    unsafe slots.initialize(repeating: slot)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(slots))
  }

  deinit {
    unsafe unlockFromMemory(UnsafeRawBufferPointer(slots))
    unsafe slots.deallocate()
  }
}

/// What a voice or a recorder has for its channels, and its state.
@safe
final class ChannelMemory {
  let channels: Int
  let ports: UnsafeMutablePointer<cue_port>
  let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  let meters: UnsafeMutablePointer<MeterCell>
  let state: UnsafeMutableRawPointer

  /// - Parameter ports: How many there may be; a plane for each.
  init(channels: Int, ports count: Int, stateBytes: Int) {
    self.channels = channels
    unsafe ports = .allocate(capacity: count)
    unsafe ports.initialize(repeating: cue_port(), count: count)
    unsafe planes = .allocate(capacity: count)
    unsafe meters = .allocate(capacity: channels)
    for channel in 0..<channels { unsafe (meters + channel).initialize(to: MeterCell()) }
    unsafe state = .allocate(byteCount: stateBytes, alignment: 16)
  }

  deinit {
    unsafe state.deallocate()
    unsafe meters.deinitialize(count: channels)
    unsafe meters.deallocate()
    unsafe planes.deallocate()
    unsafe ports.deallocate()
  }
}
