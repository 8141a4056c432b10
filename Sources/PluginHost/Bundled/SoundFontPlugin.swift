import Glibc
package import Graph
import System

/// The library's plugin that plays SoundFonts. Its values are in the source of soundfont.lv2.
package enum SoundFontPlugin {
  package static let uri = "urn:cuejack:plugins:soundfont"

  /// Returns a world that has the plugin: that of the program's prefix, or the one that every host finds.
  ///
  /// - Throws: `HostError.fileNotLoaded`.
  package static func world() throws(HostError) -> World {
    for world in [own, everywhere] where (try? world.description(of: uri)) != nil { return world }
    throw .fileNotLoaded(
      "SoundFonts need the LV2 plugin <\(uri)>, which `make install` puts into lib/lv2 of its prefix"
    )
  }
  private static let everywhere = World()
  private static let own = World(
    path: libraryFolder.map { "\($0)/lv2:\($0)/../lib/lv2" } ?? "/usr/local/lib/lv2")

  /// Returns the text of a state: the SoundFont with a path, the default one if that is nil, and the values of
  /// controls.
  package static func state(path: String?, controls: [String: Float] = [:]) -> String {
    PluginFile.state(of: uri, path: path, controls: controls)
  }

  /// Checks that an instance has its SoundFont. A program that this does not have is no error: the channels keep
  /// theirs, and `status` tells. No cycle may run the instance.
  ///
  /// - Parameter path: The path for messages; nil for the default.
  /// - Throws: `HostError.fileNotLoaded`.
  package static func check(_ instance: any HostedPlugin, path: String?) throws(HostError) {
    guard instance.description.uri == uri else { return }
    switch try instance.currentValue(of: "status") {
    case 0:
      throw .fileNotLoaded(
        "there is no SoundFont: the Debian package timgm6mb-soundfont brings one, and CUEJACK_SOUNDFONT names one"
      )
    case 2:
      throw .fileNotLoaded("\(path ?? "the default SoundFont"): FluidSynth cannot load it")
    case 3:
      throw .fileNotLoaded(
        "SoundFonts need FluidSynth, which the Debian package libfluidsynth3 brings")
    default: break
    }
  }
}
