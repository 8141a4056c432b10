package import CRealTime
package import RealTime
import Synchronization

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
  /// The ring that copies of the played frames go to; nil until it is opened.
  private let tap = Mutex<TapMemory?>(nil)

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
