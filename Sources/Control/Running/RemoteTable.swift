import Sessions

/// The address space of a running session.
struct RemoteTable: Sendable {
  /// The `remoteVersion` for which it was made.
  let version: Int
  private(set) var nodes: [RemoteNode] = []
  private var controls: [String: RemoteControl] = [:]

  /// Creates the addresses of an engine; none if no session is open.
  init(version: Int, of engine: SessionEngine? = nil) {
    self.version = version
    for control in engine.map(RemoteControl.all) ?? [] where controls[control.node.address] == nil {
      nodes.append(control.node)
      controls[control.node.address] = control
    }
  }

  subscript(address: String) -> RemoteControl? { controls[address] }
}
