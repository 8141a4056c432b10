import CJack
import Synchronization

/// Metadata of the client and its ports, and aliases of its ports. jackd and PipeWire remove them with the
/// client and its ports.
extension JackClient {
  /// The URIs that jack/metadata.h declares, and our own.
  private enum Key {
    static let connections = "urn:cuejack:connections"
    static let prettyName = "http://jackaudio.org/metadata/pretty-name"
    static let iconName = "http://jackaudio.org/metadata/icon-name"
    static let order = "http://jackaudio.org/metadata/order"
    static let portGroup = "http://jackaudio.org/metadata/port-group"
    static let signalType = "http://jackaudio.org/metadata/signal-type"
    static let eventTypes = "http://jackaudio.org/metadata/event-types"
  }

  private static let text = "text/plain"
  private static let integer = "http://www.w3.org/2001/XMLSchema#int"

  func show(_ appearance: ClientAppearance) {
    if isPipeWire { setClaim() }
    if let subject = ownIdentifier {
      set(Key.prettyName, of: subject, to: appearance.prettyName)
      set(Key.iconName, of: subject, to: appearance.icon)
    }
    for (order, port) in appearance.ports.enumerated() {
      guard let subject = identifier(ofPort: port.name) else { continue }
      set(Key.prettyName, of: subject, to: port.prettyName)
      set(Key.order, of: subject, to: "\(order)", Self.integer)
      if let group = port.group { set(Key.portGroup, of: subject, to: group) }
      switch port.signal {
      case .audio: set(Key.signalType, of: subject, to: "AUDIO")
      case .controlVoltage: set(Key.signalType, of: subject, to: "CV")
      case .midi: set(Key.eventTypes, of: subject, to: "MIDI")
      }
      setAlias(of: port.name, to: port.prettyName)
    }
  }

  /// Sets this client's property `urn:cuejack:connections`, which other programs read.
  func set(_ claim: ConnectionClaim) {
    self.claim.withLock { $0 = claim }
    // While PipeWire tells a new client the properties of all others, it tells nobody what that client sets.
    if !isPipeWire { setClaim() }
  }

  private func setClaim() {
    guard let claim = claim.withLock({ $0 }), let subject = ownIdentifier else { return }
    set(Key.connections, of: subject, to: claim.rawValue)
  }

  func makesOwnConnections(_ port: String) -> Bool {
    whileOpen { claim(ofClientWith: port) == .own } ?? false
  }

  /// Returns the property `urn:cuejack:connections` of a port's client; nil if it has none. Call while this client is open.
  func claim(ofClientWith port: String) -> ConnectionClaim? {
    let name = String(clientName(of: port))
    if isPipeWire { return claims[name] }
    guard let subject = identifier(ofClient: name) else { return nil }
    var value: UnsafeMutablePointer<CChar>?
    var type: UnsafeMutablePointer<CChar>?
    let status = requests.withLock { _ in
      unsafe jack_get_property(subject, Key.connections, &value, &type)
    }
    if status != 0 { return nil }
    defer {
      unsafe jack_free(value)
      unsafe jack_free(type)
    }
    return unsafe value.flatMap { unsafe ConnectionClaim(rawValue: String(cString: $0)) }
  }

  /// The properties `urn:cuejack:connections` of all clients, by the clients' names. PipeWire's library knows clients that are gone for a
  /// while, and finds one of those first by a name.
  private var claims: [String: ConnectionClaim] {
    var list: UnsafeMutablePointer<jack_description_t>?
    let count = Int(unsafe jack_get_all_properties(&list))
    var claims: [String: ConnectionClaim] = [:]
    guard let list = unsafe list else { return claims }
    defer { unsafe jack_free(list) }
    for i in 0..<max(0, count) {
      defer { unsafe jack_free_description(list + i, 0) }
      let property = unsafe UnsafeBufferPointer(
        start: list[i].properties, count: Int(list[i].property_cnt)
      ).first { unsafe String(cString: $0.key) == Key.connections }
      guard
        let claim = unsafe property?.data.flatMap({
          unsafe ConnectionClaim(rawValue: String(cString: $0))
        }),
        let name = unsafe jack_get_client_name_by_uuid(client, "\(list[i].subject)")
      else { continue }
      defer { unsafe jack_free(name) }
      unsafe claims[String(cString: name)] = claim
    }
    return claims
  }

  /// Returns whether a client of that name exists. Call while this client is open.
  func hasClient(named name: String) -> Bool {
    isPipeWire
      ? !portNames(of: name).isEmpty
      : identifier(ofClient: name) != nil
  }

  /// Returns the identifier of a client by its name; nil if there is none. Asks the server. Call while this client
  /// is open.
  func identifier(ofClient name: String) -> jack_uuid_t? {
    requests.withLock { _ in
      guard let text = unsafe jack_get_uuid_for_client_name(client, name) else { return nil }
      defer { unsafe jack_free(text) }
      var subject = jack_uuid_t()
      return unsafe jack_uuid_parse(text, &subject) == 0 ? subject : nil
    }
  }

  /// The client's identifier; nil if it has none, or is closed.
  private var ownIdentifier: jack_uuid_t? {
    let found: jack_uuid_t?? = whileOpen {
      guard let text = unsafe jack_client_get_uuid(client) else { return nil }
      defer { unsafe jack_free(text) }
      var subject = jack_uuid_t()
      return unsafe jack_uuid_parse(text, &subject) == 0 ? subject : nil
    }
    return found ?? nil
  }

  private func identifier(ofPort name: String) -> jack_uuid_t? {
    let found: jack_uuid_t?? = whileOpen {
      guard let port = unsafe ownPort(name) else { return nil }
      return unsafe jack_port_uuid(port)
    }
    return found ?? nil
  }

  /// Sets a property. A server without metadata keeps none.
  private func set(
    _ key: String, of subject: jack_uuid_t, to value: String, _ type: String = text
  ) {
    // JACK refuses empty values.
    if value.isEmpty { return }
    _ = whileOpen {
      requests.withLock { _ in unsafe jack_set_property(client, subject, key, value, type) }
    }
  }

  /// Gives a port the alias `CLIENT:TEXT` in addition to its name, unless it has that already, or another
  /// port is called so.
  private func setAlias(of name: String, to text: String) {
    let alias = "\(self.name):\(text.replacing(":", with: "_"))"
    guard alias.utf8.count < Int(jack_port_name_size()) else { return }
    _ = whileOpen {
      guard unsafe jack_port_by_name(client, alias) == nil,
        let port = unsafe ownPort(name)
      else { return }
      _ = requests.withLock { _ in unsafe jack_port_set_alias(port, alias) }
    }
  }
}
