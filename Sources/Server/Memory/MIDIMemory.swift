package import CRealTime
package import RealTime
package import Synchronization
package import Timeline

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
