/// A message that is an event: an error or a warning. Property names are the JSON keys of the events, so they
/// must not change.
struct MessageEvent: Encodable {
  enum Kind: String, Encodable {
    case error, warning
  }
  let event: Kind
  let message: String
}
