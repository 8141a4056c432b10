import ArgumentParser
import Codecs
import Files
import Glibc
import Graph
import PluginHost
import RealTime
import Server
import Sessions
import System

/// The value of `--plugin`: a plugin, optionally a preset, and control values.
struct PluginOption: ExpressibleByArgument {
  static var defaultCompletionKind: CompletionKind { .plugins }

  /// Everything before the control values.
  let plugin: String
  let values: [String: Float]
  /// Path of the plugin's file; nil for none.
  let file: String?
  /// True if the plugin runs in its own process.
  var isIsolated = false
  /// True if that process is not confined.
  var isTrusted = false

  /// Returns true if `--isolate name` or `--trust name` selects this plugin: as given, without its preset, by another of its
  /// names, or with "all".
  ///
  /// - Parameter names: The names of the installed plugins; called if the texts differ.
  func isMeant(by name: String, in names: () -> PluginCatalog?) -> Bool {
    if name == "all" || name == plugin || plugin.hasPrefix(name + "#") { return true }
    guard let names = names(), let wanted = try? names.uri(named: name) else { return false }
    let starts = plugin.indices.filter { plugin[$0] == "#" }.map { String(plugin[..<$0]) }
    return ([plugin] + starts).contains { (try? names.uri(named: $0)) == wanted }
  }

  /// Returns the plugin among the installed ones, with its settings.
  func choice(in world: World) throws(HostError) -> PluginChoice {
    var choice = try PluginChoice(plugin, values: values, in: world)
    choice.file = file
    if let file, choice.uri == ConvolverPlugin.uri { try Self.checkResponse(file) }
    choice.isIsolated = isIsolated
    choice.isTrusted = isTrusted
    return choice
  }

  /// Checks that a file can be an impulse response.
  private static func checkResponse(_ path: String) throws(HostError) {
    do throws(SoundFileError) {
      let channels = try MediaFiles.openAny(path: path).format.channels
      if ![1, 2, 4].contains(channels) {
        throw SoundFileError(
          .notSupported("it has \(channels) channels, and an impulse response has 1, 2 or 4"),
          path: path)
      }
    } catch {
      throw .fileNotLoaded("\(error)")
    }
  }

  init?(argument: String) {
    guard
      let parts = argument.wholeMatch(
        of: #/(.+?)(?::([A-Za-z_]\w*=[^,=]*(?:,[A-Za-z_]\w*=[^,=]*)*))?/#)
    else { return nil }
    plugin = String(parts.1)
    var values: [String: Float] = [:]
    var file: String?
    for setting in parts.2?.split(separator: ",") ?? [] {
      let sides = setting.split(separator: "=")
      guard sides.count == 2 else { return nil }
      if sides[0] == "file" {
        file = String(sides[1])
        continue
      }
      guard let value = Float(withoutDecibels(String(sides[1]))), value.isFinite else { return nil }
      values[String(sides[0])] = value
    }
    self.values = values
    self.file = file
  }
}

extension PluginChain {
  /// Creates the chain of plugins. Prints an error and ends the command on failure.
  ///
  /// - Parameters:
  ///   - client: The client whose cycles run the chain; nil if there is none.
  ///   - hearsControllers: True if MIDI controllers control plugin controls.
  ///   - track: MIDI messages to be played to the plugins; nil for none.
  init(
    _ plugins: ChosenPlugins, channels: Int, sampleRate: Double, isOffline: Bool = false,
    on client: (any ServerClient)? = nil, hearsControllers: Bool = false,
    playing track: MIDITrack? = nil
  ) throws {
    do throws(HostError) {
      let period = plugins.choices.contains { $0.isIsolated } ? client?.periodFrames : nil
      try self.init(
        plugins.choices, in: plugins.world, channels: channels, sampleRate: sampleRate,
        isOffline: isOffline, priority: client?.realTimePriority,
        blockFrames: max(1, period ?? 1024), hearsControllers: hearsControllers, playing: track,
        threads: plugins.threads)
    } catch {
      Screen.shared.complain(plugins.world.words(for: error))
      throw ExitCode.failure
    }
  }
}
