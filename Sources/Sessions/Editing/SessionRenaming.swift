import System

extension SessionDocument {
  /// Carries the new name of the session, a track or a bus to everything that refers to it.
  static func rename(
    _ path: SessionPath, from old: String, to new: String, in tree: inout JSONValue
  ) {
    guard case .key(let list) = path.steps[0], case .table(var members) = tree else { return }
    let name = list == "name" ? old : members["name"]?.string ?? SessionDocument().name
    func rewrite(_ list: String, _ key: String, _ change: (JSONValue) -> JSONValue) {
      guard case .list(let elements) = members[list] else { return }
      members[list] = .list(
        elements.map { element in
          guard case .table(var fields) = element, let value = fields[key] else { return element }
          fields[key] = change(value)
          return .table(fields)
        })
    }
    let renamed = { (value: JSONValue) in value == .text(old) ? .text(new) : value }
    let port = { (value: JSONValue) -> JSONValue in
      .text(Self.port(value.string ?? "", of: name, list, from: old, to: new))
    }
    let ports = { (value: JSONValue) in JSONValue.list((value.elements ?? []).map(port)) }
    switch list {
    case "name":
      rewrite("connections", "from", port)
      rewrite("connections", "to", port)
      rewrite("recordings", "ports", ports)
    case "buses":
      rewrite("connections", "from", port)
      rewrite("recordings", "ports", ports)
      rewrite("tracks", "bus", renamed)
      rewrite("buses", "bus", renamed)
      rewrite("sends", "bus", renamed)
    case "tracks":
      rewrite("connections", "from", port)
      rewrite("recordings", "ports", ports)
      rewrite("groups", "tracks") { .list(($0.elements ?? []).map(renamed)) }
    default: break
    }
    func carried(_ text: String) -> String {
      guard var path = try? SessionPath(text), path.steps.count > 1,
        path.steps[0] == .key(list), path.steps[1] == .name(old)
      else { return text }
      path.steps[1] = .name(new)
      return path.description
    }
    for list in ["controllers", "automation"] {
      rewrite(list, "target") { $0.string.map { .text(carried($0)) } ?? $0 }
    }
    rewrite("scenes", "values") { values in
      .table(
        Dictionary(
          (values.members ?? [:]).map { (carried($0.key), $0.value) },
          uniquingKeysWith: { a, _ in a }
        ))
    }
    tree = .table(members)
  }

  /// Returns the full name of a port after the session, or one of its tracks or buses, has got another name.
  private static func port(
    _ port: String, of session: String, _ list: String, from old: String, to new: String
  ) -> String {
    let clients = [Self.clientName(for: session), SessionEngine.ownClient].map { $0 + ":" }
    guard let client = clients.first(where: port.hasPrefix), let rest = port.bytes(after: client)
    else { return port }
    if list == "name" {
      return client == clients[0] ? "\(Self.clientName(for: new)):\(rest)" : port
    }
    guard let number = rest.bytes(after: Self.portStem(for: old) + "_"), UInt(number) != nil else {
      return port
    }
    return "\(client)\(Self.portStem(for: new))_\(number)"
  }
}
