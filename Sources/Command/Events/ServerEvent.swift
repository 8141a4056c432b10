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
