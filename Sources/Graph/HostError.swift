package import Server

/// An error in creating or changing a plugin or a graph.
package enum HostError: Error, Hashable, Codable, Sendable {
  /// No plugin with this URI is installed.
  case unknownPlugin(uri: String)
  /// Several plugins have this name, or URIs that end with it.
  case ambiguousPlugin(name: String, uris: [String])
  /// The graph has no node with this number any more, or never had one.
  case unknownNode(number: Int)
  /// A node has no input or output with this number, counted from 1.
  case noSuchPort(node: String, kind: PortKind, number: Int)
  /// The connection would close a feedback loop through these nodes; the last one is the first again.
  case feedback(path: [String])
  /// The connection does not exist.
  case notConnected(from: String, to: String)
  /// The gain of a connection is infinite or not a number.
  case gainIsNoNumber(from: String, to: String, gain: String)
  /// The node cannot be inserted there, because it has too few inputs or outputs.
  case doesNotFit(node: String)
  /// The graph has a JACK port of this name already.
  case portNameTaken(String)
  /// The JACK server refused what the graph needs.
  case server(ServerError)
  /// The plugin's bundle lacks something required.
  case faultyBundle(uri: String, bundle: String, problems: [String])
  /// The plugin crashed, hung or failed when the validator tried it in a separate process.
  case faultyPlugin(uri: String, reason: String)
  /// The plugin requires features that this host does not provide.
  case missingFeatures(uri: String, features: [String])
  /// The dynamic loader refused the plugin's library.
  case libraryNotLoaded(uri: String, reason: String)
  /// The user may not read the plugin's library.
  case notPermitted(uri: String, library: String)
  /// The plugin's instantiate function failed, or its library does not contain the plugin.
  case notInstantiated(uri: String, sampleRate: Double)
  /// The plugin has no port with this symbol that can be used this way.
  case unknownPort(plugin: String, symbol: String)
  /// The value for a control is not a number or outside its range.
  case valueOutOfRange(plugin: String, symbol: String, value: Float, range: ClosedRange<Float>)
  /// Neither the plugin nor the binding gives the range of a control or parameter.
  case noRange(plugin: String, symbol: String)
  /// The parameter is not numeric, or is read-only.
  case notANumber(plugin: String, parameter: String)
  /// The plugin has no parameter with this URI, or it cannot be used this way.
  case unknownParameter(plugin: String, parameter: String)
  /// The plugin has no event input that accepts this type of event.
  case notAccepted(plugin: String, what: String)
  /// The ring to the cycle is full, or the change is too large for it.
  case tooManyChanges(plugin: String)
  /// The plugin has no preset with this URI.
  case unknownPreset(plugin: String, preset: String)
  /// The state belongs to another plugin.
  case stateOfAnother(plugin: String, other: String)
  /// The file contains no readable state.
  case unreadableState(path: String)
  /// A folder of a state has something that is no plain file.
  case unsafeState(path: String)
  /// The state could not be written to this folder.
  case unwritableState(folder: String, reason: String)
  /// A plugin has not loaded its file; the text says why.
  case fileNotLoaded(String)
  /// The plugin itself could not save its state.
  case notSaved(plugin: String, reason: String)
  /// The validator's process could not be started.
  case noProbe(path: String, reason: String)
  /// The plugin's process could not be started.
  case notIsolated(plugin: String, reason: String)
  /// The plugin's process has ended.
  case gone(plugin: String, reason: String)
  /// The plugin's process has not answered in time. It may carry the request out later.
  case busy(plugin: String)

  /// The kind of a node's port.
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
    case .ambiguousPlugin(let name, let uris):
      "“\(name)” is the name of \(uris.count) plugins: "
        + uris.prefix(12).map { "<\($0)>" }.joined(separator: ", ")
        + (uris.count > 12 ? " and \(uris.count - 12) more" : "")
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
    case .notPermitted(let uri, let library):
      "the plugin <\(uri)> cannot be loaded: this user may not read \(library)"
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
    case .unsafeState(let path): "\(path) is no plain file, and is not opened"
    case .unwritableState(let folder, let reason):
      "the plugin's state cannot be written to \(folder): \(reason)"
    case .notSaved(let plugin, let reason): "<\(plugin)> cannot save its state: \(reason)"
    case .fileNotLoaded(let reason): reason
    case .noProbe(let path, let reason): "\(path) cannot be run to try plugins: \(reason)"
    case .notIsolated(let plugin, let reason):
      "<\(plugin)> cannot have a process of its own: \(reason)"
    case .gone(let plugin, let reason): "<\(plugin)> runs no more: it \(reason)"
    case .busy(let plugin): "<\(plugin)> does not answer"
    }
  }
}
