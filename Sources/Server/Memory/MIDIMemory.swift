package import CRealTime
package import RealTime
package import Synchronization
import System

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

  /// - Parameter name: The short name of the port.
  package init(named name: String) {
    self.name = name
    unsafe ports = .allocate(capacity: 1)
    unsafe ports.initialize(to: cue_port())
    unsafe state = .allocate(byteCount: MIDIOutput.stateBytes, alignment: 16)
    unsafe output = .allocate(capacity: 1)
    unsafe output.initialize(to: MIDIOutput(port: ports, state: state))
  }

  deinit {
    unsafe output.pointee.freeAll()
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
