package import Server

/// Why a plugin or a graph could not be made or changed.
package enum HostError: Error, Hashable, Codable, Sendable {
  /// No plugin with this URI is installed.
  case unknownPlugin(uri: String)
  /// The graph has no node with this number, or no longer.
  case unknownNode(number: Int)
  /// A node has no input or output with this number, counted from 1.
  case noSuchPort(node: String, kind: PortKind, number: Int)
  /// The nodes that a connection would close to a ring, in order; the first is the last again.
  case feedback(path: [String])
  /// There is no such connection.
  case notConnected(from: String, to: String)
  /// The gain of a connection is infinite or not a number.
  case gainIsNoNumber(from: String, to: String, gain: String)
  /// A node cannot stand there, because it has no inputs or no outputs, or too few of them.
  case doesNotFit(node: String)
  /// The graph has a JACK port of this name already.
  case portNameTaken(String)
  /// The JACK server did not give what the graph needs.
  case server(ServerError)
  /// The plugin's bundle lacks something that no plugin can do without.
  case faultyBundle(uri: String, bundle: String, problems: [String])
  /// The plugin crashed, hung or failed when it was tried in a process of its own.
  case faultyPlugin(uri: String, reason: String)
  /// The plugin requires features that we do not have.
  case missingFeatures(uri: String, features: [String])
  /// The system's loader refuses the plugin's library.
  case libraryNotLoaded(uri: String, reason: String)
  /// The plugin's own instantiate function failed, or its library has no such plugin.
  case notInstantiated(uri: String, sampleRate: Double)
  /// The plugin has no port with this symbol that could be used so.
  case unknownPort(plugin: String, symbol: String)
  /// A control's value is not a number or beyond its range.
  case valueOutOfRange(plugin: String, symbol: String, value: Float, range: ClosedRange<Float>)
  /// A control or a parameter does not say from where to where it goes, and nobody else does.
  case noRange(plugin: String, symbol: String)
  /// A parameter is not a number, or may not be set.
  case notANumber(plugin: String, parameter: String)
  /// The plugin has no parameter with this URI, or it may not be used so.
  case unknownParameter(plugin: String, parameter: String)
  /// The plugin has no event input that takes this.
  case notAccepted(plugin: String, what: String)
  /// More changes are on their way to the cycle than there is room for, or one is too large.
  case tooManyChanges(plugin: String)
  /// The plugin has no preset with this URI.
  case unknownPreset(plugin: String, preset: String)
  /// The state is another plugin's.
  case stateOfAnother(plugin: String, other: String)
  /// No state can be read from this file.
  case unreadableState(path: String)
  /// A state could not be written to this folder.
  case unwritableState(folder: String)
  /// The process that was to try plugins does not start.
  case noProbe(path: String, reason: String)
  /// The process that was to run the plugin does not start.
  case notIsolated(plugin: String, reason: String)
  /// The process that the plugin ran in is gone.
  case gone(plugin: String, reason: String)

  /// What a port of a node is.
  package enum PortKind: String, Hashable, Codable, Sendable {
    case input, output
    case eventInput = "event input"
    case eventOutput = "event output"
  }
}

extension HostError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unknownPlugin(let uri): "no plugin <\(uri)> is installed (LV2_PATH tells where to look)"
    case .unknownNode(let number): "the graph has no node \(number)"
    case .noSuchPort(let node, let kind, let number):
      "“\(node)” has no \(kind.rawValue) \(number)"
    case .feedback(let path):
      "that would feed back: \(path.map { "“\($0)”" }.joined(separator: " → "))"
    case .notConnected(let from, let to): "“\(from)” is not connected to “\(to)”"
    case .gainIsNoNumber(let from, let to, let gain):
      "\(gain) is no gain for a connection from “\(from)” to “\(to)”"
    case .doesNotFit(let node): "“\(node)” does not fit there: it has too few inputs or outputs"
    case .portNameTaken(let name): "the graph has a port “\(name)” already"
    case .server(let error): "\(error)"
    case .faultyBundle(let uri, let bundle, let problems):
      "the bundle \(bundle) of <\(uri)> is faulty: \(problems.joined(separator: "; "))"
    case .faultyPlugin(let uri, let reason): "the plugin <\(uri)> is faulty: it \(reason)"
    case .missingFeatures(let uri, let features):
      "the plugin <\(uri)> requires what is not there: \(features.joined(separator: ", "))"
    case .notInstantiated(let uri, let rate):
      "the plugin <\(uri)> cannot be instantiated at \(rate) Hz: it refuses, or its library does not"
        + " have it"
    case .libraryNotLoaded(let uri, let reason):
      "the library of the plugin <\(uri)> cannot be loaded: \(reason)"
    case .unknownPort(let plugin, let symbol): "<\(plugin)> has no such control as “\(symbol)”"
    case .valueOutOfRange(let plugin, let symbol, let value, let range):
      "\(value) is no value for “\(symbol)” of <\(plugin)>: \(range.lowerBound) to \(range.upperBound)"
    case .noRange(let plugin, let symbol):
      "“\(symbol)” of <\(plugin)> does not say from where to where it goes: LOW..HIGH is needed"
    case .notANumber(let plugin, let parameter):
      "the parameter <\(parameter)> of <\(plugin)> is no number that can be set"
    case .unknownParameter(let plugin, let parameter):
      "<\(plugin)> has no such parameter as <\(parameter)>"
    case .notAccepted(let plugin, let what): "<\(plugin)> has no input for \(what)"
    case .tooManyChanges(let plugin):
      "<\(plugin)> was sent more at once than its next cycle can take"
    case .unknownPreset(let plugin, let preset): "<\(plugin)> has no preset <\(preset)>"
    case .stateOfAnother(let plugin, let other):
      "the state is one of <\(other)>, not of <\(plugin)>"
    case .unreadableState(let path): "no plugin's state can be read from \(path)"
    case .unwritableState(let folder): "the plugin's state cannot be written to \(folder)"
    case .noProbe(let path, let reason): "\(path) cannot be run to try plugins: \(reason)"
    case .notIsolated(let plugin, let reason):
      "<\(plugin)> cannot have a process of its own: \(reason)"
    case .gone(let plugin, let reason): "<\(plugin)> runs no more: it \(reason)"
    }
  }
}
