import Graph
import PluginHost
import RealTime
import Synchronization
import System

extension LV2Unit {
  /// True for an instrument that plays SoundFonts.
  package var playsSoundFonts: Bool { plugin.uri == SoundFontPlugin.uri }

  /// Path of the SoundFont; nil for the default.
  package var soundFont: String? { host.withLock { $0.soundFont }?.path }

  /// Takes a SoundFont, nil for the default, and values of the plugin's controls. If the unit is initialised,
  /// the next render uses them. The channels have their first programs again.
  package func setSoundFont(_ choice: SoundFontChoice?, _ controls: [String: Float])
    throws(UnitError)
  {
    let values = self.controls.merging(controls) { $1 }
    let old = host.withLock { $0.soundFont }
    host.withLock { $0.soundFont = choice }
    do throws(UnitError) {
      try restore { world throws(HostError) in
        try PluginState(
          text: SoundFontPlugin.state(path: choice?.path, controls: values), world: world)
      }
    } catch {
      host.withLock { $0.soundFont = old }
      throw error
    }
  }

  /// Moves controls of the plugin that are no parameters.
  package func setControls(_ values: [String: Float]) throws(UnitError) {
    try setSoundFont(host.withLock { $0.soundFont }, values)
  }

  /// The values of the plugin's controls.
  package var controls: [String: Float] {
    let (memory, list, rate) = host.withLock { ($0.memory, $0.list, $0.sampleRate) }
    var values: [String: Float] = [:]
    for port in plugin.ports where port.direction == .input && port.kind == .control {
      let fixed = effect?.fixed.first { $0.symbol == port.symbol }?.value
      values[port.symbol] =
        (try? memory?.instances[0].value(of: port.symbol))
        ?? fixed ?? port.range(sampleRate: rate).default ?? 0
    }
    for item in list {
      var value: Float = 0
      guard
        unsafe render.pointee.parameter(item.parameter.id, scope: 0, element: 0, into: &value) == 0
      else { continue }
      for link in item.links { values[link.control] = link.scale.control(value) }
    }
    return values
  }
}
