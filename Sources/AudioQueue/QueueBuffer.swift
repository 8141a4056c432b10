import Glibc
import Server

/// Memory that an app fills and a queue plays.
///
/// Written once and, where the system allows it, locked when it is made, so that no cycle faults.
@safe
package final class QueueBuffer: @unchecked Sendable {
  /// Names the buffer within its queue; never used again.
  package let id: UInt32
  /// The app's memory: `capacity` bytes.
  package let data: UnsafeMutableRawBufferPointer

  /// Bytes of `data`.
  package var capacity: Int { unsafe data.count }

  /// Packets that it may hold; 0 for as many as fit.
  let packetCapacity: Int

  init?(id: UInt32, capacity: Int, packetCapacity: Int) {
    self.id = id
    self.packetCapacity = packetCapacity
    // malloc's kin rather than allocate(): a size that an app got wrong must not end it.
    var base: UnsafeMutableRawPointer?
    guard unsafe posix_memalign(&base, 64, max(capacity, 1)) == 0, let base = unsafe base else {
      return nil
    }
    unsafe base.initializeMemory(as: UInt8.self, repeating: 0, count: capacity)
    unsafe data = UnsafeMutableRawBufferPointer(start: base, count: capacity)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(data))
  }

  deinit {
    unsafe unlockFromMemory(UnsafeRawBufferPointer(data))
    unsafe free(data.baseAddress)
  }
}
