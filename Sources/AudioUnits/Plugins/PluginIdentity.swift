package import PluginHost
import System

/// The numbers by which LV2 plugins are components.
package enum PluginIdentity {
  /// The manufacturer of all of them.
  package static let manufacturer = ComponentDescription.code("LV2 ")

  /// The types that plugins can have.
  static let types = [
    "aufx", "aumf", "aumu", "augn", "aumx", "aupn", "aufc", "aumi",
  ].map(ComponentDescription.code)

  /// Returns the description of a plugin: its type by its class, its subtype by its URI.
  ///
  /// - Parameter attempt: 0 at first; more if another plugin has the description.
  package static func description(of plugin: PluginDescription, attempt: Int = 0)
    -> ComponentDescription
  {
    ComponentDescription(
      type: ComponentDescription.code(type(of: plugin)), subtype: subtype(plugin.uri, attempt),
      manufacturer: manufacturer)
  }

  private static func type(of plugin: PluginDescription) -> String {
    let name = plugin.classURI.split(separator: "#").last.map(String.init) ?? ""
    let hasInputs = plugin.planes(.input).contains { $0.kind == .audio }
    let hasOutputs = plugin.planes(.output).contains { $0.kind == .audio }
    let hearsMIDI = plugin.events(.input).contains { port in
      port.eventTypes.contains { $0.hasSuffix("#MidiEvent") }
    }
    if !hasOutputs && !hasInputs { return "aumi" }
    switch name {
    case "InstrumentPlugin" where hasOutputs: return "aumu"
    case "GeneratorPlugin", "OscillatorPlugin", "ConstantPlugin":
      return hasInputs ? "aufx" : hearsMIDI ? "aumu" : "augn"
    case "MixerPlugin" where hasInputs: return "aumx"
    case "SpatialPlugin" where hasInputs: return "aupn"
    case "ConverterPlugin" where hasInputs: return "aufc"
    default: break
    }
    if !hasInputs { return hearsMIDI ? "aumu" : "augn" }
    return hearsMIDI ? "aumf" : "aufx"
  }

  /// Returns four letters and digits, the same for a URI everywhere and always: they follow from its 64-bit
  /// FNV-1a hash.
  private static func subtype(_ uri: String, _ attempt: Int) -> UInt32 {
    var hash = FNVHash(Array(uri.utf8) + Array(repeating: 0, count: attempt)).value
    let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    var code: UInt32 = 0
    for _ in 0..<4 {
      code = code << 8 | UInt32(characters[Int(hash % UInt64(characters.count))])
      hash /= UInt64(characters.count)
    }
    return code
  }
}
