import RealTime

/// A parameter of an audio unit.
package struct UnitParameter: Sendable {
  package enum Meaning: Hashable, Sendable {
    case generic, indexed, boolean, percent, seconds, frames, hertz, cents, semitones, midiNote
    case decibels, linearGain, degrees, pan, metres, octaves, beatsPerMinute, beats, milliseconds
    case ratio
    /// Another unit, by its symbol.
    case custom(String)
  }
  package let id: UInt32
  package let name: String
  package let meaning: Meaning
  package let range: ClosedRange<Float>
  package let standard: Float
  /// Names of the whole numbers from the least to the most; empty if they have none.
  package let valueNames: [String]
  /// The group that the parameter belongs to, counted from 1.
  package let group: UInt32?
  package let isLogarithmic: Bool
  /// True if a user interface should not show it.
  package let isHidden: Bool
  /// True if the unit sets the value, and programs only read it.
  package let isMeter: Bool

  init(
    id: UInt32, name: String, meaning: Meaning, range: ClosedRange<Float>, standard: Float,
    valueNames: [String] = [], group: UInt32? = nil, isLogarithmic: Bool = false,
    isHidden: Bool = false, isMeter: Bool = false
  ) {
    self.id = id
    self.name = name
    self.meaning = meaning
    self.range = range
    self.standard = standard
    self.valueNames = valueNames
    self.group = group
    self.isLogarithmic = isLogarithmic
    self.isHidden = isHidden
    self.isMeter = isMeter
  }
}

extension Unit {
  /// The parameters of a scope of the C API: 0, or that of a side.
  package func parameters(scope: UInt32, bus: Int) -> [UnitParameter] {
    elements == .ignored
      ? parameters(nil, bus: 0) : parameters(Side(rawValue: scope), bus: bus)
  }

  /// All parameters with their scopes and elements.
  private var all: [(scope: UInt32, element: UInt32, parameter: UnitParameter)] {
    if elements == .ignored { return parameters(nil, bus: 0).map { (0, 0, $0) } }
    return [nil, Side.input, .output].flatMap { side in
      elements(side).flatMap { element in
        parameters(side, bus: Int(element)).map { (side?.rawValue ?? 0, element, $0) }
      }
    }
  }

  /// Scope, element and number of each parameter that programs set.
  var addresses: [(scope: UInt32, element: UInt32, id: UInt32)] {
    all.filter { !$0.parameter.isMeter }.map { ($0.scope, $0.element, $0.parameter.id) }
  }

  /// Makes the parameters for the present buses. Each keeps its value.
  func makeParameters() {
    let memory = ParameterMemory(
      all, inputs: elements(.input).count, outputs: elements(.output).count, elements: elements
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
