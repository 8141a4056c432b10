import Glibc

/// Locks `memory` against being paged out, if the system's limits allow it. Not real-time safe.
///
/// Call it on memory that has been written once: then no cycle that uses it causes a page fault.
package func lockIntoMemory(_ memory: UnsafeRawBufferPointer) {
  if let base = memory.baseAddress, memory.count > 0 {
    _ = unsafe mlock(base, memory.count)
  }
}

/// Unlocks the pages that lie wholly in `memory`. Pages at its ends may also hold memory that must
/// stay locked, because the system does not count locks.
package func unlockFromMemory(_ memory: UnsafeRawBufferPointer) {
  guard let base = memory.baseAddress else { return }
  let page = UInt(getpagesize())
  let first = (UInt(bitPattern: base) + page - 1) / page * page
  let end = (UInt(bitPattern: base) + UInt(memory.count)) / page * page
  if first < end { _ = unsafe munlock(UnsafeRawPointer(bitPattern: first)!, Int(end - first)) }
}
