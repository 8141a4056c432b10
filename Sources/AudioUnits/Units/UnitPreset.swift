/// A preset that a unit brings, or the name of one that the app has.
package struct UnitPreset: Hashable, Sendable {
  /// Index in the list of the unit's presets; negative for one of the app's.
  package let number: Int32
  package let name: String

  package init(number: Int32, name: String) {
    self.number = number
    self.name = name
  }
}
