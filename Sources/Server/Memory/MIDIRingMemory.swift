import CRealTime
package import RealTime

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
