import Graph

/// Answer of a plugin's process.
enum IsolationReply: Codable {
  case done
  case value(Float)
  case enabled(Bool)
  case bindings([MIDIBinding])
  case learning(MIDITarget?)
  case failed(HostError)
}
