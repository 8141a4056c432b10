package import CRealTime
package import RealTime

/// Owner of a recorder's memory.
@safe
package final class RecorderMemory: CycleMemory, @unchecked Sendable {
  /// Largest number of spaces queued for the process thread.
  package static let spaceCapacity = 1024

  package let recorder: UnsafeMutablePointer<Recorder>
  private let spaces: RingMemory<Space>
  private let events: RingMemory<RecordEvent>
  private let memory: ChannelMemory

  package init(channels: Int) {
    spaces = RingMemory(Self.spaceCapacity, of: .none)
    // Twice as many: each space may also bring an event for missed frames or for a lack of spaces.
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
  package var member: CycleMember { unsafe .recorder(recorder) }
  package var portOrder: [Int] = []
  package func hold() { unsafe recorder.pointee.hold() }
  package func release() { unsafe recorder.pointee.release() }
}
