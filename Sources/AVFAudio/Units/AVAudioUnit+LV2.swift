import AudioToolbox
import AudioUnits
public import Foundation
import PluginHost

// Units that are LV2 plugins. Apple's class has none of this.

extension AVAudioUnit {
  /// The URI of the LV2 plugin that the unit is; nil for other units, also for those of the library that are made of
  /// plugins.
  public var lv2URI: String? { lv2Plugin?.plugin.uri }

  private var lv2Plugin: LV2Unit? { (core as? LV2Unit).flatMap { $0.isPlugin ? $0 : nil } }

  /// Saves the state of an LV2 plugin to a folder of its own, which is made if necessary, as LV2 hosts keep it: `state.ttl`
  /// and the plugin's files. Any thread that is not real-time.
  ///
  /// - Throws: An error in `NSOSStatusErrorDomain` that names the unit, the folder and the reason: -10879 for a unit that is
  ///   no LV2 plugin.
  public func saveLV2State(to folder: URL) throws {
    try onPlugin("saveLV2State", folder) { (plugin) throws(UnitError) in
      try plugin.saveState(to: folder.path)
    }
  }

  /// Takes over the state in a folder, of the same plugin. The sound fades to it.
  ///
  /// - Throws: As `saveLV2State`.
  public func loadLV2State(from folder: URL) throws {
    try onPlugin("loadLV2State", folder) { (plugin) throws(UnitError) in
      try plugin.restoreState(from: folder.path)
    }
  }

  private func onPlugin(
    _ call: String, _ folder: URL, _ body: (LV2Unit) throws(UnitError) -> Void
  ) throws {
    do throws(UnitError) {
      guard let plugin = lv2Plugin else { throw .unsupported("it is no LV2 plugin") }
      try body(plugin)
    } catch {
      let code = lv2Plugin == nil ? kAudioUnitErr_InvalidProperty : status(of: error)
      throw NSError(
        NSOSStatusErrorDomain, code,
        "AVAudioUnit.\(call): \(name), \(folder.path): \(error.reason)")
    }
  }
}
