import Graph
import Logging

/// The settings with which a plugin's process starts.
struct IsolatedStart: Codable {
  var uri: String
  /// Folders of bundles; nil for LV2_PATH or lilv's default.
  var path: String?
  var settings: PluginSettings
  var name: String
  var state: StateOrigin?
  /// The files and calls that the process may use; nil if the kernel does not confine it.
  var confinement: Confinement?
  /// Real-time priority of the host's cycles; nil if they are not real-time.
  var priority: Int?
}

/// Answer of a plugin's process.
enum IsolationReply: Codable {
  case done
  case value(Float)
  case enabled(Bool)
  case bindings([MIDIBinding])
  case learning(MIDITarget?)
  case failed(HostError)
}

/// A line of JSON from a plugin's process: an answer or a message in between.
enum IsolationLine: Codable {
  case reply(IsolationReply)
  case log(Logger.Level, String)
  /// Parameter values that the plugin reported.
  case parameters([String: ParameterValue])
  /// The binding of a controller that was learned.
  case learned(MIDIBinding)
}
