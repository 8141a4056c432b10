import RealTime

/// The saved settings of a unit: the values of its parameters, and the state of its plugin.
package struct UnitSettings: Sendable {
  package struct Value: Hashable, Sendable {
    package let scope: UInt32
    package let element: UInt32
    package let id: UInt32
    package let value: Float

    package init(scope: UInt32, element: UInt32, id: UInt32, value: Float) {
      self.scope = scope
      self.element = element
      self.id = id
      self.value = value
    }
  }
  package var values: [Value]
  /// The state of a plugin in LV2's format.
  package var pluginState: String?
  package var preset: UnitPreset

  package init(values: [Value], pluginState: String?, preset: UnitPreset) {
    self.values = values
    self.pluginState = pluginState
    self.preset = preset
  }
}

extension Unit {
  /// Returns the settings.
  package func settings() throws(UnitError) -> UnitSettings {
    UnitSettings(
      values: addresses.compactMap { address in
        var value: Float = 0
        let error = unsafe render.pointee.parameter(
          address.id, scope: address.scope, element: address.element, into: &value)
        return error == 0
          ? UnitSettings.Value(
            scope: address.scope, element: address.element, id: address.id, value: value) : nil
      }, pluginState: try pluginState(), preset: preset)
  }

  /// Takes over settings. Values of parameters that the unit does not have are left out.
  package func restore(_ settings: UnitSettings) throws(UnitError) {
    if let text = settings.pluginState { try restore(pluginState: text) }
    for value in settings.values {
      _ = unsafe render.pointee.setParameter(
        value.id, scope: value.scope, element: value.element, to: value.value)
    }
    note(settings.preset)
  }

  /// Takes over one of the unit's presets; notes the name of one that is the app's.
  package func setPreset(_ preset: UnitPreset) throws(UnitError) {
    if preset.number >= 0 {
      guard let known = presets.first(where: { $0.number == preset.number }) else {
        throw .invalidValue("\(name) has \(presets.count) presets, not number \(preset.number)")
      }
      try adopt(preset: Int(preset.number))
      note(known)
    } else {
      note(preset)
    }
  }
}
