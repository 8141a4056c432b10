import RealTime
import Synchronization

/// Numbers of ports whose connections have changed, from one of JACK's threads to the event thread.
///
/// The producer neither allocates nor waits. If the ring is full, `isIncomplete` makes the consumer
/// check every port.
@safe
final class ChangedPorts: @unchecked Sendable {
  private static var capacity: Int { 1024 }
  private let ring: PortNumberRing
  private let memory: UnsafeMutableBufferPointer<UInt32>
  private let isIncomplete = Atomic<Bool>(false)

  init() {
    unsafe memory = .allocate(capacity: Self.capacity)
    unsafe memory.initialize(repeating: 0)
    ring = unsafe PortNumberRing(slots: memory)
  }

  deinit { unsafe memory.deallocate() }

  /// Appends a number. One of JACK's threads at a time.
  func push(_ number: UInt32) {
    if !ring.push(number) { isIncomplete.store(true, ordering: .releasing) }
  }

  /// Removes and returns all numbers, without duplicates. Event thread.
  func take() -> (numbers: Set<UInt32>, isIncomplete: Bool) {
    let isIncomplete = isIncomplete.exchange(false, ordering: .acquiringAndReleasing)
    var numbers: Set<UInt32> = []
    while let number = ring.pop() { numbers.insert(number) }
    return (numbers, isIncomplete)
  }
}
