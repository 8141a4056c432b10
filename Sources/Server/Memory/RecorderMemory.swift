package import CRealTime
package import RealTime
package import Synchronization

/// Owner of a recorder's memory.
@safe
package final class RecorderMemory: CycleMemory, @unchecked Sendable {
  /// Largest number of spaces queued for the process thread.
  package static let spaceCapacity = 1024
  /// Spaces that a new recorder has slots for. It gets the rest when more are queued.
  package static let firstSpaceCapacity = 64

  package let recorder: UnsafeMutablePointer<Recorder>
  private let spaces: RingMemory<Space>
  private let events: RingMemory<RecordEvent>
  private let memory: ChannelMemory
  /// Slots beyond the first ones; nil until they are needed.
  private let more = Mutex<(RingMemory<Space>, RingMemory<RecordEvent>)?>(nil)
  package let followsEveryWake = Atomic<Bool>(true)

  package init(channels: Int) {
    spaces = RingMemory(Self.firstSpaceCapacity, of: .none)
    // Far more: there are also events for missed frames and for a lack of spaces.
    events = RingMemory(4 * Self.firstSpaceCapacity, of: .none)
    memory = ChannelMemory(
      channels: channels, ports: channels, memberBytes: MemoryLayout<Recorder>.size,
      stateBytes: Recorder.stateBytes)
    unsafe recorder = memory.member.bindMemory(to: Recorder.self, capacity: 1)
    unsafe recorder.initialize(
      to: Recorder(
        spaces: SpaceRing(slots: spaces.slots), events: RecordEventRing(slots: events.slots),
        channels: channels, ports: memory.ports, planes: memory.planes, meters: memory.meters,
        state: memory.state))
  }

  deinit {
    unsafe recorder.deinitialize(count: 1)
  }

  package var channels: Int { memory.channels }
  package var ports: UnsafeMutablePointer<cue_port> { unsafe memory.ports }
  package var member: CycleMember { unsafe .recorder(recorder) }
  package var portOrder: [Int] = []
  package var hasEvents: Bool { unsafe !recorder.pointee.events.isEmpty }

  /// Queues a space for the process thread. Call from one thread at a time; may allocate.
  ///
  /// - Parameter queued: Spaces queued before whose events nobody has read.
  /// - Returns: False if there is no room: try again after the next event.
  package func push(_ space: Space, after queued: Int) -> Bool {
    // The events first: no cycle may find spaces whose events have no room.
    if queued >= Self.firstSpaceCapacity {
      more.withLock { more in
        guard more == nil else { return }
        let events = RingMemory(2 * Self.spaceCapacity, of: RecordEvent.none)
        let spaces = RingMemory(Self.spaceCapacity, of: Space.none)
        more = (spaces, events)
        unsafe recorder.pointee.events.extend(by: events.slots)
        unsafe recorder.pointee.spaces.extend(by: spaces.slots)
      }
    }
    return unsafe recorder.pointee.spaces.push(space)
  }

  package func hold() { unsafe recorder.pointee.hold() }
  package func release() { unsafe recorder.pointee.release() }
}
