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
        of: #/(.+?)(?::((?:[A-Za-z_]\w*=[^,=]*,)*(?:file=.+|[A-Za-z_]\w*=[^,=]*)))?/#)
    else { return nil }
    plugin = String(parts.1)
    var values: [String: Float] = [:]
    var file: String?
    var rest = parts.2 ?? ""
    while !rest.hasPrefix("file="), let setting = rest.prefixMatch(of: #/(\w+)=([^,=]*)(?:,|$)/#) {
      guard let value = Self.number(setting.2) else { return nil }
      values[String(setting.1)] = value
      rest = rest[setting.range.upperBound...]
    }
    if rest.hasPrefix("file=") {
      let (path, later) = Self.file(rest.dropFirst("file=".count))
      file = path
      values.merge(later) { $1 }
    }
    self.values = values
    self.file = file
  }

  private static func number(_ text: Substring) -> Float? {
    Float(withoutDecibels(String(text))).flatMap { $0.isFinite ? $0 : nil }
  }

  /// Splits a file's path and the values behind it. The path may have commas and equal signs: it is the longest one at
  /// which there is a file, or else all up to the values.
  private static func file(_ text: Substring) -> (path: String, values: [String: Float]) {
    var path = text
    var values: [String: Float] = [:]
    while unsafe access(String(path).systemName, F_OK) != 0,
      let last = path.wholeMatch(of: #/(.+),([A-Za-z_]\w*)=([^,=]*)/#), let value = number(last.3)
    {
      if values[String(last.2)] == nil { values[String(last.2)] = value }
      path = last.1
    }
    return (String(path), values)
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
