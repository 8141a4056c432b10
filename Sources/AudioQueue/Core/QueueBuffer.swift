import Glibc
import Server
import System

/// Memory that the app fills and a playback queue plays, or a recording queue fills.
///
/// Initialized and, where the system allows it, locked in RAM on creation. The process thread
/// therefore takes no page fault on it. A buffer of more than 16 MiB, which holds minutes, gets its
/// memory when the app fills it.
@safe
package final class QueueBuffer: @unchecked Sendable {
  /// Identifies the buffer within its queue; never reused.
  package let id: UInt32
  /// Memory for the app's data: `capacity` bytes.
  package let data: UnsafeMutableRawBufferPointer

  /// Size of `data` in bytes.
  package var capacity: Int { unsafe data.count }

  /// Size in bytes of the largest buffer that is initialized and locked.
  private static var mostLocked: Int { 1 << 24 }

  /// The maximum number of packets; 0 for as many as fit.
  let packetCapacity: Int

  init?(id: UInt32, capacity: Int, packetCapacity: Int) {
    self.id = id
    self.packetCapacity = packetCapacity
    // posix_memalign() instead of allocate(): an oversized request must fail and not end the app.
    var base: UnsafeMutableRawPointer?
    if capacity > Self.mostLocked {
      unsafe base = calloc(capacity, 1)
    } else if unsafe posix_memalign(&base, 64, max(capacity, 1)) != 0 {
      return nil
    }
    guard let base = unsafe base else { return nil }
    unsafe data = UnsafeMutableRawBufferPointer(start: base, count: capacity)
    if capacity > Self.mostLocked { return }
    unsafe base.initializeMemory(as: UInt8.self, repeating: 0, count: capacity)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(data))
  }

  deinit {
    if capacity <= Self.mostLocked { unsafe unlockFromMemory(UnsafeRawBufferPointer(data)) }
    unsafe free(data.baseAddress)
  }
}
