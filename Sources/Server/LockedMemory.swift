import Glibc

/// Keeps `memory` from being paged out, if the system's limits allow it. Not real time.
///
/// Call it on memory that has been written once: then no cycle that touches it faults.
package func lockIntoMemory(_ memory: UnsafeRawBufferPointer) {
  if let base = memory.baseAddress, memory.count > 0 {
    _ = unsafe mlock(base, memory.count)
  }
}

/// Ends what `lockIntoMemory` began.
package func unlockFromMemory(_ memory: UnsafeRawBufferPointer) {
  if let base = memory.baseAddress, memory.count > 0 {
    _ = unsafe munlock(base, memory.count)
  }
}
