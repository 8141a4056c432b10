import CJack

/// A client that libjack has opened and that nothing else uses yet. Call under `JackLibrary.alone`.
@safe
struct OpenedClient {
  let handle: OpaquePointer

  var name: String { unsafe String(cString: jack_get_client_name(handle)) }

  /// Returns true if a client of that name exists.
  func finds(_ name: String) -> Bool { uuid(of: name) != nil }

  /// Returns true if another client has the name `requested`.
  ///
  /// PipeWire before 0.3.71 gives one name to two clients. Later versions append an object id, which
  /// differs from program to program.
  func shares(_ requested: String) -> Bool {
    let suffix = name.hasPrefix("\(requested)-") ? name.dropFirst(requested.count + 1) : ""
    if PipeWire.isLibrary, !suffix.isEmpty, suffix.allSatisfy(\.isNumber) { return true }
    guard let found = uuid(of: name) else { return false }
    return unsafe found != Self.take(jack_client_get_uuid(handle))
  }

  private func uuid(of name: String) -> String? {
    unsafe Self.take(jack_get_uuid_for_client_name(handle, name))
  }

  private static func take(_ text: UnsafeMutablePointer<CChar>?) -> String? {
    guard let text = unsafe text else { return nil }
    defer { unsafe jack_free(text) }
    return unsafe String(cString: text)
  }

  func close() { _ = unsafe jack_client_close(handle) }
}
