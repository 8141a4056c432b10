/// A message that is an event: an error or a warning. Property names are the JSON keys of the events, so they
/// must not change.
struct MessageEvent: Encodable {
  enum Kind: String, Encodable {
    case error, warning
  }
  let event: Kind
  let message: String
}

/// The loss of a server, and its return.
struct ServerEvent: Encodable {
  enum Kind: String, Encodable {
    case lost, back
  }
  let event: Kind
  let server: String
  /// Why it was lost: `gone`, `stalled` or `rate`.
  var reason: String?
}
