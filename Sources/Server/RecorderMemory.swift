package import CRealTime
package import RealTime

/// Owns the memory that a recorder runs in.
@safe
package final class RecorderMemory: CycleMemory, @unchecked Sendable {
  /// Spaces that may be on their way to the cycle at one time.
  package static let spaceCapacity = 1024

  package let recorder: UnsafeMutablePointer<Recorder>
  private let spaces: RingMemory<Space>
  private let events: RingMemory<RecordEvent>
  private let memory: ChannelMemory

  package init(channels: Int) {
    spaces = RingMemory(Self.spaceCapacity, of: .none)
    // Twice as many: between two spaces there may be none.
    events = RingMemory(2 * Self.spaceCapacity, of: .none)
    memory = ChannelMemory(
      channels: channels, ports: channels, stateBytes: Recorder.stateBytes)
    unsafe recorder = .allocate(capacity: 1)
    unsafe recorder.initialize(
      to: Recorder(
        spaces: SpaceRing(slots: spaces.slots), events: RecordEventRing(slots: events.slots),
        channels: channels, ports: memory.ports, planes: memory.planes, meters: memory.meters,
        state: memory.state))
  }

  deinit {
    unsafe recorder.deinitialize(count: 1)
    unsafe recorder.deallocate()
  }

  package var channels: Int { memory.channels }
  package var ports: UnsafeMutablePointer<cue_port> { unsafe memory.ports }
  package var direction: PortDirection { .input }
  package var portOrder: [Int] = []
  package func hold() { unsafe recorder.pointee.hold() }
  package func release() { unsafe recorder.pointee.release() }
}
