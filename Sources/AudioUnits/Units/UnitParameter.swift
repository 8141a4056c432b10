import RealTime

/// A parameter of an audio unit.
package struct UnitParameter: Sendable {
  package enum Meaning: Sendable { case linearGain, pan, boolean }
  package let id: UInt32
  package let name: String
  package let meaning: Meaning
  package let range: ClosedRange<Float>
  package let standard: Float
}

/// Memory of a unit's parameters.
@safe
final class ParameterMemory: @unchecked Sendable {
  let parameters: UnsafeMutablePointer<UnitParameters>
  /// The first parameter.
  let slots: UnsafeMutablePointer<UnitParameterSlot>
  private let count: Int

  /// Takes the values of the parameters that were there before.
  init(
    _ list: [(scope: UInt32, element: UInt32, parameter: UnitParameter)], inputs: Int,
    outputs: Int, ignoresScope: Bool, values: (UInt32, UInt32, UInt32) -> Float?
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
      unsafe (slots + i).initialize(to: UnitParameterSlot(key, item.parameter.range, value))
    }
    unsafe parameters = .allocate(capacity: 1)
    unsafe parameters.initialize(
      to: UnitParameters(
        slots, count: sorted.count, inputs: inputs, outputs: outputs, ignoresScope: ignoresScope))
  }

  deinit {
    unsafe parameters.deallocate()
    unsafe slots.deinitialize(count: count)
    unsafe slots.deallocate()
  }
}

extension Unit {
  /// The parameters of a scope of the C API: 0, or that of a side.
  package func parameters(scope: UInt32, bus: Int) -> [UnitParameter] {
    parametersIgnoreScope ? parameters(nil, bus: 0) : parameters(Side(rawValue: scope), bus: bus)
  }

  /// Makes the parameters for the present buses. Each keeps its value.
  func makeParameters() {
    var list: [(scope: UInt32, element: UInt32, parameter: UnitParameter)] = []
    list += parameters(nil, bus: 0).map { (0, 0, $0) }
    let (inputs, outputs) = (busCount(.input), busCount(.output))
    if !parametersIgnoreScope {
      for bus in 0..<inputs { list += parameters(.input, bus: bus).map { (1, UInt32(bus), $0) } }
      for bus in 0..<outputs { list += parameters(.output, bus: bus).map { (2, UInt32(bus), $0) } }
    }
    let memory = ParameterMemory(
      list, inputs: inputs, outputs: outputs, ignoresScope: parametersIgnoreScope
    ) { id, scope, element in
      var value: Float = 0
      let error = unsafe render.pointee.parameter(
        id, scope: scope, element: element, into: &value)
      return error == 0 ? value : nil
    }
    keep(memory)
    unsafe render.pointee.swap(memory.parameters)
  }
}
