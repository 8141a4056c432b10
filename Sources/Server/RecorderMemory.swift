package import CRealTime
package import RealTime

/// Owns the memory that a recorder runs in.
///
/// Touched and, where the system allows it, locked when it is made, so that no cycle faults.
@safe
package final class RecorderMemory: CycleMemory, @unchecked Sendable {
  /// Spaces that may be on their way to the cycle at one time.
  package static let spaceCapacity = 1024

  package let recorder: UnsafeMutablePointer<Recorder>
  package let channels: Int
  private let spaces: UnsafeMutableBufferPointer<Space>
  private let events: UnsafeMutableBufferPointer<RecordEvent>
  package let ports: UnsafeMutablePointer<cue_port>
  private let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let meters: UnsafeMutablePointer<MeterCell>
  private let state: UnsafeMutableRawPointer

  package init(channels: Int) {
    self.channels = channels
    unsafe spaces = .allocate(capacity: Self.spaceCapacity)
    unsafe spaces.initialize(repeating: .none)
    // Twice as many: between two spaces there may be none.
    unsafe events = .allocate(capacity: 2 * Self.spaceCapacity)
    unsafe events.initialize(repeating: RecordEvent.none)
    unsafe ports = .allocate(capacity: channels)
    unsafe ports.initialize(repeating: cue_port(), count: channels)
    unsafe planes = .allocate(capacity: channels)
    unsafe meters = .allocate(capacity: channels)
    for channel in 0..<channels { unsafe (meters + channel).initialize(to: MeterCell()) }
    unsafe state = .allocate(byteCount: Recorder.stateBytes, alignment: 16)
    unsafe recorder = .allocate(capacity: 1)
    unsafe recorder.initialize(
      to: Recorder(
        spaces: SpaceRing(slots: spaces), events: RecordEventRing(slots: events),
        channels: channels, ports: ports, planes: planes, meters: meters, state: state))
    unsafe lockIntoMemory(UnsafeRawBufferPointer(spaces))
    unsafe lockIntoMemory(UnsafeRawBufferPointer(events))
  }

  deinit {
    unsafe recorder.deinitialize(count: 1)
    unsafe recorder.deallocate()
    unsafe state.deallocate()
    unsafe meters.deinitialize(count: channels)
    unsafe meters.deallocate()
    unsafe planes.deallocate()
    unsafe ports.deallocate()
    unsafe unlockFromMemory(UnsafeRawBufferPointer(events))
    unsafe unlockFromMemory(UnsafeRawBufferPointer(spaces))
    unsafe events.deallocate()
    unsafe spaces.deallocate()
  }

  package var direction: PortDirection { .input }
  package func hold() { unsafe recorder.pointee.hold() }
  package func release() { unsafe recorder.pointee.release() }
}

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
  /// Keeps cycles that begin from now on out of it.
  func hold()
  /// Lets cycles in again.
  func release()
}

extension VoiceMemory: CycleMemory {
  package var direction: PortDirection { .output }
  package func hold() { unsafe voice.pointee.hold() }
  package func release() { unsafe voice.pointee.release() }
}
