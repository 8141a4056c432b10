import Glibc
import Server
import System

/// Memory that the app fills and a playback queue plays, or a recording queue fills.
///
/// Initialized and, where the system allows it, locked in RAM on creation. The process thread
/// therefore takes no page fault on it.
@safe
package final class QueueBuffer: @unchecked Sendable {
  /// Identifies the buffer within its queue; never reused.
  package let id: UInt32
  /// Memory for the app's data: `capacity` bytes.
  package let data: UnsafeMutableRawBufferPointer

  /// Size of `data` in bytes.
  package var capacity: Int { unsafe data.count }

  /// The maximum number of packets; 0 for as many as fit.
  let packetCapacity: Int

  init?(id: UInt32, capacity: Int, packetCapacity: Int) {
    self.id = id
    self.packetCapacity = packetCapacity
    // posix_memalign() instead of allocate(): an oversized request must fail and not end the app.
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
