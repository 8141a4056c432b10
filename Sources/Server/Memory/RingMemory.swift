import System

/// Slots of a ring.
///
/// They are written once and, where the system allows it, locked at creation, so that no cycle
/// causes a page fault.
@safe
final class RingMemory<Slot: BitwiseCopyable> {
  let slots: UnsafeMutableBufferPointer<Slot>

  init(_ count: Int, of slot: Slot) {
    unsafe slots = .allocate(capacity: count)
    unsafe slots.initialize(repeating: slot)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(slots))
  }

  deinit {
    unsafe unlockFromMemory(UnsafeRawBufferPointer(slots))
    unsafe slots.deallocate()
  }
}
