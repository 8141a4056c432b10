import Logging

/// What the host asks of the process that a plugin runs in. One line of JSON each, and one answer to each but
/// `end`.
enum IsolationRequest: Codable {
  /// Instantiate the plugin, at first or for other settings; blocks come after the next `attach`.
  case instantiate(IsolatedStart)
  case prepare(sampleRate: Double, maximumFrames: Int)
  /// The memory is ready. `shape` is what the host takes for the plugin's.
  case attach(shape: [UInt32])
  case set(symbol: String, value: Float, frame: Int64?, rampFrames: Int)
  case value(symbol: String)
  case setParameter(uri: String, value: ParameterValue, frame: Int64?)
  case requestParameter(uri: String?)
  case midi([UInt8], frame: Int64?)
  case position(TransportPosition, frame: Int64?)
  /// What controllers move.
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
  /// Let the plugin go, and end.
  case end

  /// What the plugin does meanwhile, in words that follow “while it”; nil if it is as always.
  var phase: String? {
    switch self {
    case .instantiate(let start): "is instantiated at \(Int(start.settings.sampleRate)) Hz"
    case .prepare: "is told of another rate or block length"
    case .save: "saves its state"
    case .restore: "restores a state"
    default: nil
    }
  }
}

/// What a plugin's process has to know to begin.
struct IsolatedStart: Codable {
  var uri: String
  /// Folders of bundles; nil for the environment's.
  var path: String?
  var settings: PluginSettings
  var name: String
  var state: StateOrigin?
  /// Priority of the host's cycles; nil if it is not real-time.
  var priority: Int?
}

/// What a plugin's process answers.
enum IsolationReply: Codable {
  case done
  case value(Float)
  case enabled(Bool)
  case bindings([MIDIBinding])
  case learning(MIDITarget?)
  case failed(HostError)
}

/// What a plugin's process writes, one line of JSON each: answers, and what it has to say meanwhile.
enum IsolationLine: Codable {
  case reply(IsolationReply)
  case log(Logger.Level, String)
  /// What the plugin tells of its parameters.
  case parameters([String: ParameterValue])
  /// What a controller has been learned for.
  case learned(MIDIBinding)
}
