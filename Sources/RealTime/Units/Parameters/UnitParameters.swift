import Synchronization

/// What the elements of a unit's parameters are.
package enum ParameterElements: UInt8, BitwiseCopyable, Sendable {
  /// Buses.
  case buses
  /// Channels of all buses; in the global scope their crossings, and 0xFFFFFFFF for the unit.
  case channels
  /// Every scope and element means the same.
  case ignored
}

/// The parameters of a unit, in the order of their keys. Never changed once a thread can read it.
@safe
package struct UnitParameters: BitwiseCopyable {
  package let slots: UnsafeMutablePointer<UnitParameterSlot>
  let queue: UnsafeMutablePointer<ChangeQueue>
  private let count: Int
  /// The number of elements of each side.
  private let inputs: Int
  private let outputs: Int
  private let elements: ParameterElements

  package init(
    _ slots: UnsafeMutablePointer<UnitParameterSlot>, count: Int, inputs: Int, outputs: Int,
    elements: ParameterElements, queue: UnsafeMutablePointer<ChangeQueue>
  ) {
    unsafe self.slots = slots
    unsafe self.queue = queue
    self.count = count
    self.inputs = inputs
    self.outputs = outputs
    self.elements = elements
  }

  /// Returns the key of a parameter: by scope, then element, then number.
  @_noLocks package static func key(scope: UInt32, element: UInt32, id: UInt32) -> UInt64 {
    UInt64(scope) &<< 62 | UInt64(element) &<< 32 | UInt64(id)
  }

  @_noLocks private func has(scope: UInt32, element: UInt32) -> Bool {
    if elements == .ignored { return true }
    if scope != 0 { return Int(element) < (scope == 1 ? inputs : outputs) }
    if elements == .buses { return element == 0 }
    return element == .max || Int(element &>> 16) < inputs && Int(element & 0xFFFF) < outputs
  }

  /// Returns a parameter; nil with the error if there is none.
  @_noLocks func find(scope: UInt32, element: UInt32, id: UInt32)
    -> (UnsafeMutablePointer<UnitParameterSlot>?, Int32)
  {
    if scope > 2 { return (nil, RenderError.invalidScope) }
    if !has(scope: scope, element: element) { return (nil, RenderError.invalidElement) }
    let key =
      elements == .ignored
      ? Self.key(scope: 0, element: 0, id: id) : Self.key(scope: scope, element: element, id: id)
    var (low, high) = (0, count)
    while low < high {
      let middle = (low &+ high) / 2
      if unsafe slots[middle].key < key { low = middle &+ 1 } else { high = middle }
    }
    guard low < count, unsafe slots[low].key == key else {
      return (nil, RenderError.invalidParameter)
    }
    return (unsafe slots + low, 0)
  }
}
