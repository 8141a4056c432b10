package import CRealTime
package import RealTime

/// Owner of a voice's memory.
@safe
package final class VoiceMemory: CycleMemory, @unchecked Sendable {
  /// Largest number of entries queued for the process thread.
  package static let entryCapacity = 1024

  package let voice: UnsafeMutablePointer<Voice>
  private let entries: RingMemory<Entry>
  private let events: RingMemory<Event>
  private let changes: RingMemory<ParameterChanges>
  private let memory: ChannelMemory

  package init(channels: Int) {
    entries = RingMemory(Self.entryCapacity, of: .end)
    // Twice as many: an entry may also begin or end a run.
    events = RingMemory(2 * Self.entryCapacity, of: .none)
    changes = RingMemory(1024, of: ParameterChanges())
    // A mono voice has room for a second port.
    memory = ChannelMemory(
      channels: channels, ports: max(channels, 2), stateBytes: Voice.stateBytes)
    unsafe voice = .allocate(capacity: 1)
    unsafe voice.initialize(
      to: Voice(
        entries: EntryRing(slots: entries.slots), events: EventRing(slots: events.slots),
        changes: ParameterRing(slots: changes.slots), channels: channels, ports: memory.ports,
        planes: memory.planes, meters: memory.meters, state: memory.state))
  }

  deinit {
    unsafe voice.deinitialize(count: 1)
    unsafe voice.deallocate()
  }

  package var channels: Int { memory.channels }
  package var ports: UnsafeMutablePointer<cue_port> { unsafe memory.ports }
  package var member: CycleMember { unsafe .voice(voice) }
  package var portOrder: [Int] = []
  package func hold() { unsafe voice.pointee.hold() }
  package func release() { unsafe voice.pointee.release() }

  /// Gives a mono voice its second port, which is silent at first.
  package func openSecondPort(_ port: ClientPort) {
    unsafe ports[1] = port.handle
    unsafe voice.pointee.secondPort.open()
  }
}
