import Graph
import Logging

/// Request of the host to a plugin's process: one line of JSON. Each but `end` receives one answer.
enum IsolationRequest: Codable {
  /// Instantiate the plugin, or instantiate it again with other settings. Blocks follow the next
  /// `attach`.
  case instantiate(IsolatedStart)
  case prepare(sampleRate: Double, maximumFrames: Int)
  /// The shared memory is ready. `shape` is the host's view of the plugin's ports.
  case attach(shape: [UInt32])
  case set(symbol: String, value: Float, frame: Int64?, rampFrames: Int)
  case value(symbol: String)
  case setParameter(uri: String, value: ParameterValue, frame: Int64?)
  case requestParameter(uri: String?)
  case midi([UInt8], frame: Int64?)
  case position(TransportPosition, frame: Int64?)
  /// Requests about controller bindings.
  case check(MIDITarget)
  case bindings
  case bind(MIDIBinding)
  case unbind(String)
  case learn(MIDITarget, passing: MIDIController?)
  case learning
  case cancelLearning
  case save(folder: String)
  case restore(StateOrigin)
  case setEnabled(Bool)
  /// Free the plugin and exit.
  case end

  /// The operation in progress, in words that follow “while it”; nil for a short one.
  var phase: String? {
    switch self {
    case .instantiate(let start): "is instantiated at \(Int(start.settings.sampleRate)) Hz"
    case .prepare: "is told of another rate or block length"
    case .save: "saves its state"
    case .restore: "restores a state"
    default: nil
    }
  }

  /// Whether it is answered at once, unless the plugin hangs.
  var isShort: Bool {
    if case .attach = self { false } else { phase == nil }
  }
}

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
