package import CRealTime
package import RealTime
package import Synchronization
import System
package import Timeline

/// Owner of the ring of a client's MIDI inputs.
@safe
package final class MIDIRingMemory: @unchecked Sendable {
  /// Bytes of the ring: ten seconds of a MIDI cable at full speed.
  private static let byteCount = 1 << 18

  package let ring: UnsafeMutablePointer<MIDIRing>
  private let memory: RingMemory<UInt64>

  package init() {
    memory = RingMemory(Self.byteCount / MemoryLayout<UInt64>.size, of: 0)
    unsafe ring = .allocate(capacity: 1)
    unsafe ring.initialize(to: MIDIRing(memory: UnsafeMutableRawBufferPointer(memory.slots)))
  }

  deinit {
    unsafe ring.deinitialize(count: 1)
    unsafe ring.deallocate()
  }

  /// Number of messages that found the ring full.
  package var lostCount: UInt64 { unsafe ring.pointee.lostCount }

  /// Removes and returns the oldest message; nil if there is none. One thread at a time.
  package func pop() -> (receipt: MIDIReceipt, bytes: [UInt8])? {
    guard let receipt = unsafe ring.pointee.first() else { return nil }
    let count = Int(receipt.count)
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      unsafe ring.pointee.removeFirst(
        into: UnsafeMutableRawBufferPointer(
          rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count]))
      initialized = count
    }
    return (receipt, bytes)
  }
}

extension MIDIMessage {
  /// Allocates a message.
  package static func make(
    _ bytes: [UInt8], at time: StartPoint, number: UInt64, isImmediate: Bool
  ) -> Pointer {
    let header = MemoryLayout<MIDIMessage>.stride
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: header + bytes.count, alignment: MemoryLayout<MIDIMessage>.alignment)
    unsafe UnsafeMutableRawBufferPointer(start: memory + header, count: bytes.count)
      .copyBytes(from: bytes)
    return unsafe memory.initializeMemory(
      as: MIDIMessage.self,
      to: MIDIMessage(bytes.count, at: time, number: number, isImmediate: isImmediate))
  }

  /// Frees all messages of a list of heaps.
  ///
  /// - Parameter body: Called with each message before.
  package static func free(_ list: Pointer?, _ body: (Pointer) -> Void = { _ in }) {
    var waiting = unsafe [Pointer]()
    var heap = unsafe list
    while let first = unsafe heap {
      unsafe heap = first.pointee.next
      unsafe waiting.append(first)
      while let message = unsafe waiting.popLast() {
        if let left = unsafe message.pointee.left { unsafe waiting.append(left) }
        if let right = unsafe message.pointee.right { unsafe waiting.append(right) }
        unsafe body(message)
        unsafe UnsafeMutableRawPointer(message).deallocate()
      }
    }
  }
}

/// Owner of a MIDI input's memory.
@safe
package final class MIDIInputMemory: CycleMemory, @unchecked Sendable {
  package let ports: UnsafeMutablePointer<cue_port>
  package let followsEveryWake = Atomic<Bool>(false)
  private let input: UnsafeMutablePointer<MIDIInput>
  private let ring: MIDIRingMemory
  private let name: String

  /// - Parameters:
  ///   - name: The short name of the port.
  ///   - number: Says in the ring which input a message came in.
  package init(named name: String, _ number: UInt32, into ring: MIDIRingMemory) {
    self.name = name
    self.ring = ring
    unsafe ports = .allocate(capacity: 1)
    unsafe ports.initialize(to: cue_port())
    unsafe input = .allocate(capacity: 1)
    unsafe input.initialize(to: MIDIInput(number, port: ports, ring: ring.ring))
  }

  deinit {
    unsafe input.deinitialize(count: 1)
    unsafe input.deallocate()
    unsafe ports.deallocate()
  }

  package var channels: Int { 1 }
  package var member: CycleMember { unsafe .midiInput(input) }
  package var portOrder: [Int] { [] }
  package var hasEvents: Bool { unsafe !ring.ring.pointee.isEmpty }
  package func portNames(_ prefix: String) -> [String] { [name] }
  package func hold() { unsafe input.pointee.hold() }
  package func release() { unsafe input.pointee.release() }
}

/// Owner of a MIDI output's memory, and of the messages that it has not handed back.
@safe
package final class MIDIOutputMemory: CycleMemory, @unchecked Sendable {
  package let output: UnsafeMutablePointer<MIDIOutput>
  package let ports: UnsafeMutablePointer<cue_port>
  package let followsEveryWake = Atomic<Bool>(false)
  private let state: UnsafeMutableRawPointer
  private let name: String
  private let playedMemory: PortMessageMemory?

  /// - Parameters:
  ///   - name: The short name of the port.
  ///   - isPlayed: True for a port whose messages come from renders of the same cycle: see `played`.
  package init(named name: String, isPlayed: Bool = false) {
    self.name = name
    playedMemory = isPlayed ? PortMessageMemory() : nil
    unsafe ports = .allocate(capacity: 1)
    unsafe ports.initialize(to: cue_port())
    unsafe state = .allocate(byteCount: MIDIOutput.stateBytes, alignment: 16)
    unsafe output = .allocate(capacity: 1)
    unsafe output.initialize(
      to: MIDIOutput(port: ports, state: state, played: playedMemory?.messages))
  }

  /// The messages that renders play to the port; nil for a port that threads push messages to.
  package var played: PortMessages? { playedMemory?.messages }
  /// True if a message of a render waits for a cycle.
  package var hasUnplayed: Bool {
    guard let playedMemory else { return false }
    return unsafe !playedMemory.queue.queue.pointee.isEmpty
      || output.pointee.isBehind(StartPoint(.atOnce))
  }

  deinit {
    unsafe output.pointee.takeAll { unsafe MIDIMessage.free($0) }
    unsafe output.deinitialize(count: 1)
    unsafe output.deallocate()
    unsafe state.deallocate()
    unsafe ports.deallocate()
  }

  package var channels: Int { 1 }
  package var member: CycleMember { unsafe .midiOutput(output) }
  package var portOrder: [Int] { [] }
  package var hasEvents: Bool { unsafe output.pointee.hasReturned }
  package func portNames(_ prefix: String) -> [String] { [name] }
  package func hold() { unsafe output.pointee.hold() }
  package func release() { unsafe output.pointee.release() }
}
