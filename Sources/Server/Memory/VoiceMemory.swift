package import CRealTime
package import RealTime
package import Synchronization

/// Owner of a voice's memory.
@safe
package final class VoiceMemory: CycleMemory, @unchecked Sendable {
  /// Largest number of entries queued for the process thread.
  package static let entryCapacity = 1024
  /// Entries that a new voice has slots for. It gets the rest when more are queued.
  package static let firstEntryCapacity = 64
  /// Largest number of parameter changes queued for the process thread.
  private static let changeCapacity = 1024

  package let voice: UnsafeMutablePointer<Voice>
  private let entries: RingMemory<Entry>
  private let events: RingMemory<Event>
  private let changes: RingMemory<ParameterChanges>
  private let memory: ChannelMemory
  /// Slots beyond the first ones; nil until they are needed.
  private let moreEntries = Mutex<(RingMemory<Entry>, RingMemory<Event>)?>(nil)
  private let moreChanges = Mutex<RingMemory<ParameterChanges>?>(nil)
  package let followsEveryWake = Atomic<Bool>(true)
  /// The ring that copies of the played frames go to; nil until it is opened.
  private let tap = Mutex<TapMemory?>(nil)

  package init(channels: Int) {
    entries = RingMemory(Self.firstEntryCapacity, of: .end)
    // Twice as many: an entry may also begin or end a run.
    events = RingMemory(2 * Self.firstEntryCapacity, of: .none)
    changes = RingMemory(64, of: ParameterChanges())
    // A mono voice has room for a second port.
    memory = ChannelMemory(
      channels: channels, ports: max(channels, 2), memberBytes: MemoryLayout<Voice>.size,
      stateBytes: Voice.stateBytes)
    unsafe voice = memory.member.bindMemory(to: Voice.self, capacity: 1)
    unsafe voice.initialize(
      to: Voice(
        entries: EntryRing(slots: entries.slots), events: EventRing(slots: events.slots),
        changes: ParameterRing(slots: changes.slots), channels: channels, ports: memory.ports,
        planes: memory.planes, meters: memory.meters, state: memory.state))
  }

  deinit {
    unsafe voice.deinitialize(count: 1)
  }

  package var channels: Int { memory.channels }
  package var ports: UnsafeMutablePointer<cue_port> { unsafe memory.ports }
  package var member: CycleMember { unsafe .voice(voice) }
  package var portOrder: [Int] = []
  package func hold() { unsafe voice.pointee.hold() }
  package func release() { unsafe voice.pointee.release() }

  package var hasEvents: Bool { unsafe !voice.pointee.events.isEmpty }

  /// Queues an entry for the process thread. Call from one thread at a time; may allocate.
  ///
  /// - Parameter queued: Entries queued before whose events nobody has read.
  /// - Returns: False if there is no room: try again after the next event.
  package func push(_ entry: Entry, after queued: Int) -> Bool {
    // The events first: no cycle may find entries whose events have no room.
    if queued >= Self.firstEntryCapacity {
      moreEntries.withLock { more in
        guard more == nil else { return }
        let events = RingMemory(2 * Self.entryCapacity, of: Event.none)
        let entries = RingMemory(Self.entryCapacity, of: Entry.end)
        more = (entries, events)
        unsafe voice.pointee.events.extend(by: events.slots)
        unsafe voice.pointee.entries.extend(by: entries.slots)
      }
    }
    return unsafe voice.pointee.entries.push(entry)
  }

  /// Queues parameter changes for the first frame of the next cycle. Call from one thread at a time;
  /// may allocate.
  ///
  /// - Returns: False if there is no room. Retry after the next cycle or after `applyChanges()`.
  package func change(_ changes: ParameterChanges) -> Bool {
    if unsafe voice.pointee.change(changes) { return true }
    moreChanges.withLock { more in
      guard more == nil else { return }
      let slots = RingMemory(Self.changeCapacity, of: ParameterChanges())
      more = slots
      unsafe voice.pointee.changes.extend(by: slots.slots)
    }
    return unsafe voice.pointee.change(changes)
  }

  /// Lets the voice copy the frames of its runs into a ring with room for at least `frames` frames. Later
  /// calls do nothing. Any thread; allocates.
  package func openTap(frames: Int) {
    tap.withLock { tap in
      guard tap == nil else { return }
      let memory = TapMemory(channels: channels, frames: frames)
      tap = memory
      unsafe voice.pointee.setTap(memory.tap)
    }
  }

  /// Removes the oldest frames of that ring and copies them to `buffer`, interleaved. One thread at a time.
  ///
  /// - Returns: Number of frames.
  package func readTap(into buffer: UnsafeMutableBufferPointer<Float>) -> Int {
    guard let tap = tap.withLock({ $0 }) else { return 0 }
    return unsafe tap.tap.pointee.read(into: buffer)
  }

  /// Frames that found that ring full.
  package var droppedTapFrames: UInt64 {
    tap.withLock { unsafe $0?.tap.pointee.droppedFrames ?? 0 }
  }

  /// Gives a mono voice its second port, which is silent at first.
  package func openSecondPort(_ port: ClientPort) {
    unsafe ports[1] = port.handle
    unsafe voice.pointee.secondPort.open()
  }
}

/// Owner of a sample tap and its ring.
@safe
private final class TapMemory: @unchecked Sendable {
  let tap: UnsafeMutablePointer<SampleTap>
  private let ring: RingMemory<Float>

  init(channels: Int, frames: Int) {
    var capacity = 1
    while capacity < frames { capacity *= 2 }
    ring = RingMemory(capacity * channels, of: 0)
    unsafe tap = .allocate(capacity: 1)
    unsafe tap.initialize(to: SampleTap(channels: channels, samples: ring.slots))
  }

  deinit {
    unsafe tap.deinitialize(count: 1)
    unsafe tap.deallocate()
  }
}
