import RealTime

/// The list of functions that cycles read.
@safe
final class IOListMemory: @unchecked Sendable {
  let list: UnsafeMutablePointer<IOList>
  private let slots: UnsafeMutablePointer<UnsafeMutablePointer<IOSlot>>
  private let functions: [IOFunction]

  init(_ functions: [IOFunction]) {
    self.functions = functions
    unsafe slots = .allocate(capacity: max(functions.count, 1))
    for (i, function) in functions.enumerated() {
      unsafe (slots + i).initialize(to: function.slot)
    }
    unsafe list = .allocate(capacity: 1)
    unsafe list.initialize(to: IOList(slots: slots, count: functions.count))
  }

  deinit {
    unsafe list.deallocate()
    unsafe slots.deallocate()
  }
}
