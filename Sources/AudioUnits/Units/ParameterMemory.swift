import RealTime

/// Memory of a unit's parameters.
@safe
final class ParameterMemory: @unchecked Sendable {
  let parameters: UnsafeMutablePointer<UnitParameters>
  /// The first parameter.
  let slots: UnsafeMutablePointer<UnitParameterSlot>
  private let count: Int
  private let queue: UnsafeMutablePointer<ChangeQueue>
  private let changeSlots: UnsafeMutablePointer<QueuedChange>

  /// Takes the values of the parameters that were there before.
  init(
    _ list: [(scope: UInt32, element: UInt32, parameter: UnitParameter)], inputs: Int,
    outputs: Int, elements: ParameterElements, values: (UInt32, UInt32, UInt32) -> Float?
  ) {
    let sorted = list.map { item in
      (
        UnitParameters.key(scope: item.scope, element: item.element, id: item.parameter.id), item
      )
    }.sorted { $0.0 < $1.0 }
    count = sorted.count
    unsafe slots = .allocate(capacity: max(1, sorted.count))
    for (i, (key, item)) in sorted.enumerated() {
      let value = values(item.parameter.id, item.scope, item.element) ?? item.parameter.standard
      let parameter = item.parameter
      unsafe (slots + i).initialize(
        to: UnitParameterSlot(key, parameter.range, value, isMeter: parameter.isMeter))
    }
    unsafe changeSlots = .allocate(capacity: ChangeQueue.capacity)
    for i in 0..<ChangeQueue.capacity { unsafe (changeSlots + i).initialize(to: QueuedChange(i)) }
    unsafe queue = .allocate(capacity: 1)
    unsafe queue.initialize(to: ChangeQueue(changeSlots))
    unsafe parameters = .allocate(capacity: 1)
    unsafe parameters.initialize(
      to: UnitParameters(
        slots, count: sorted.count, inputs: inputs, outputs: outputs, elements: elements,
        queue: queue))
  }

  deinit {
    unsafe parameters.deallocate()
    unsafe queue.deinitialize(count: 1)
    unsafe queue.deallocate()
    unsafe changeSlots.deinitialize(count: ChangeQueue.capacity)
    unsafe changeSlots.deallocate()
    unsafe slots.deinitialize(count: count)
    unsafe slots.deallocate()
  }
}
