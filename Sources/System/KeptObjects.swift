import Synchronization

/// References to the objects that are kept for good. LeakSanitizer finds them here, and reports no leaks.
private let keptObjects = Mutex<[UInt]>([])

/// Keeps an object alive for good, because a cycle that does not end may still read its memory. Any thread, never
/// in a cycle.
package func keepForGood(_ object: AnyObject) {
  let reference = unsafe UInt(bitPattern: Unmanaged.passRetained(object).toOpaque())
  keptObjects.withLock { $0.append(reference) }
}
