import Glibc
package import Graph
import System

/// The library's plugin that plays SoundFonts. Its values are in the source of soundfont.lv2.
package enum SoundFontPlugin {
  package static let uri = "urn:cuejack:plugins:soundfont"
  private static let file = "\(uri)#file"

  /// Returns a world that has the plugin: that of the program's prefix, or the one that every host finds.
  ///
  /// - Throws: `HostError.noSoundFont`.
  package static func world() throws(HostError) -> World {
    for world in [own, everywhere] where (try? world.description(of: uri)) != nil { return world }
    throw .noSoundFont(
      "SoundFonts need the LV2 plugin <\(uri)>, which `make install` puts into lib/lv2 of its prefix"
    )
  }
  private static let everywhere = World()
  private static let own = World(
    path: libraryFolder.map { "\($0)/lv2:\($0)/../lib/lv2" } ?? "/usr/local/lib/lv2")

  /// Returns the text of a state: the SoundFont with a path, the default one if that is nil, and the values of
  /// controls.
  package static func state(path: String?, controls: [String: Float] = [:]) -> String {
    var text = """
      @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
      @prefix pset: <http://lv2plug.in/ns/ext/presets#> .
      @prefix state: <http://lv2plug.in/ns/ext/state#> .
      <urn:cuejack:state> a pset:Preset ; lv2:appliesTo <\(uri)>
      """
    for (symbol, value) in controls.sorted(by: { $0.key < $1.key }) {
      text += " ;\n lv2:port [ lv2:symbol \"\(symbol)\" ; pset:value \"\(value)\"^^<\(float)> ]"
    }
    if let path { text += " ;\n state:state [ <\(file)> <file://\(encoded(path))> ]" }
    return text + " .\n"
  }
  private static let float = "http://www.w3.org/2001/XMLSchema#float"

  /// Returns the path of the SoundFont in the text of a state; nil for the default.
  package static func path(inState text: String) -> String? {
    guard let found = text.firstMatch(of: #/#file>\s+<file://([^>]*)>/#) else { return nil }
    return decoded(String(found.1))
  }

  /// Checks that an instance has its SoundFont. A program that this does not have is no error: the channels keep
  /// theirs, and `status` tells. No cycle may run the instance.
  ///
  /// - Parameter path: The path for messages; nil for the default.
  /// - Throws: `HostError.noSoundFont`.
  package static func check(_ instance: any HostedPlugin, path: String?) throws(HostError) {
    guard instance.description.uri == uri, let instance = instance as? PluginInstance else {
      return
    }
    instance.refreshReadouts()
    switch try instance.value(of: "status") {
    case 0:
      throw .noSoundFont(
        "there is no SoundFont: the Debian package timgm6mb-soundfont brings one, and CUEJACK_SOUNDFONT names one"
      )
    case 2:
      throw .noSoundFont("\(path ?? "the default SoundFont"): FluidSynth cannot load it")
    case 3:
      throw .noSoundFont(
        "SoundFonts need FluidSynth, which the Debian package libfluidsynth3 brings")
    default: break
    }
  }

  private static let plain = Set(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/".utf8)

  private static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = unsafe getcwd(nil, 0) else { return path }
    defer { unsafe free(folder) }
    return "\(unsafe String(systemName: folder))/\(path)"
  }

  private static func encoded(_ path: String) -> String {
    absolute(path).systemName.dropLast().map { UInt8(bitPattern: $0) }.map { byte in
      if plain.contains(byte) { return String(UnicodeScalar(byte)) }
      let digits = String(byte, radix: 16, uppercase: true)
      return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
    }.joined()
  }

  private static func decoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      // serd writes two percent signs for one.
      if byte == UInt8(ascii: "%"), rest.first == byte {
        rest = rest.dropFirst()
        bytes.append(byte)
      } else if byte == UInt8(ascii: "%"), rest.count >= 2,
        let number = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(number)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(systemName: bytes)
  }
}
