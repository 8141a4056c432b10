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
  case currentValue(output: String)
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
