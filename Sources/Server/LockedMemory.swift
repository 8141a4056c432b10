import Glibc

/// Keeps `memory` from being paged out, if the system's limits allow it. Not real time.
///
/// Call it on memory that has been written once: then no cycle that touches it faults.
package func lockIntoMemory(_ memory: UnsafeRawBufferPointer) {
  if let base = memory.baseAddress, memory.count > 0 {
    _ = unsafe mlock(base, memory.count)
  }
}

/// Ends what `lockIntoMemory` began, for the pages that lie wholly in `memory`: those at its ends may
/// hold other memory that is to stay locked, and locks are not counted.
package func unlockFromMemory(_ memory: UnsafeRawBufferPointer) {
  guard let base = memory.baseAddress else { return }
  let page = UInt(getpagesize())
  let first = (UInt(bitPattern: base) + page - 1) / page * page
  let end = (UInt(bitPattern: base) + UInt(memory.count)) / page * page
  if first < end { _ = unsafe munlock(UnsafeRawPointer(bitPattern: first)!, Int(end - first)) }
}
