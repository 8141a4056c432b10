import RealTime

/// A parameter of a unit and the controls of its plugin that it moves, by their symbols.
struct ControlledParameter: Sendable {
  let parameter: UnitParameter
  let links: [(control: String, scale: ControlScale)]
}
