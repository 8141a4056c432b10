package import CRealTime
package import RealTime

/// Owns the memory that a voice runs in.
///
/// Touched and, where the system allows it, locked when it is made, so that no cycle faults.
@safe
package final class VoiceMemory: @unchecked Sendable {
  /// Entries that may be on their way to the cycle at one time.
  package static let entryCapacity = 1024

  package let voice: UnsafeMutablePointer<Voice>
  package let channels: Int
  private let entries: UnsafeMutableBufferPointer<Entry>
  private let events: UnsafeMutableBufferPointer<Event>
  private let changes: UnsafeMutableBufferPointer<ParameterChanges>
  /// Where each channel goes: to be set before a cycle sees the voice. One channel has room for a
  /// second port.
  package let ports: UnsafeMutablePointer<cue_port>
  private let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let meters: UnsafeMutablePointer<MeterCell>
  private let state: UnsafeMutableRawPointer

  package init(channels: Int) {
    self.channels = channels
    unsafe entries = .allocate(capacity: Self.entryCapacity)
    unsafe entries.initialize(repeating: .end)
    // Twice as many: each entry may also begin or end a run.
    unsafe events = .allocate(capacity: 2 * Self.entryCapacity)
    unsafe events.initialize(repeating: Event.none)
    unsafe changes = .allocate(capacity: 1024)
    unsafe changes.initialize(repeating: ParameterChanges())
    let outputs = max(channels, 2)
    unsafe ports = .allocate(capacity: outputs)
    unsafe ports.initialize(repeating: cue_port(), count: outputs)
    unsafe planes = .allocate(capacity: outputs)
    unsafe meters = .allocate(capacity: channels)
    for channel in 0..<channels { unsafe (meters + channel).initialize(to: MeterCell()) }
    unsafe state = .allocate(byteCount: Voice.stateBytes, alignment: 16)
    unsafe voice = .allocate(capacity: 1)
    unsafe voice.initialize(
      to: Voice(
        entries: EntryRing(slots: entries), events: EventRing(slots: events),
        changes: ParameterRing(slots: changes), channels: channels, ports: ports, planes: planes,
        meters: meters, state: state))
    unsafe lockIntoMemory(UnsafeRawBufferPointer(entries))
    unsafe lockIntoMemory(UnsafeRawBufferPointer(events))
    unsafe lockIntoMemory(UnsafeRawBufferPointer(changes))
  }

  deinit {
    unsafe voice.deinitialize(count: 1)
    unsafe voice.deallocate()
    unsafe state.deallocate()
    unsafe meters.deinitialize(count: channels)
    unsafe meters.deallocate()
    unsafe planes.deallocate()
    unsafe ports.deallocate()
    unsafe unlockFromMemory(UnsafeRawBufferPointer(changes))
    unsafe unlockFromMemory(UnsafeRawBufferPointer(events))
    unsafe unlockFromMemory(UnsafeRawBufferPointer(entries))
    unsafe changes.deallocate()
    unsafe events.deallocate()
    unsafe entries.deallocate()
  }
}
