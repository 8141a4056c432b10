import System

/// A MIDI controller: a continuous controller or a non-registered parameter number. Written as
/// `cc7`, `cc7@2` for channel 2 alone, or `nrpn300@1`.
package struct SessionController: SessionValue, Hashable, CustomStringConvertible {
  /// Kind of MIDI message.
  package enum Kind: String, Sendable {
    /// A continuous controller, 0 to 119.
    case controller = "cc"
    /// A non-registered parameter number, 0 to 16383.
    case nrpn
  }
  package let kind: Kind
  package let number: Int
  /// Channel, 1 to 16; nil for all channels.
  package let channel: Int?

  /// Parses the written form; nil for any other text.
  package init?(_ text: String) {
    guard let parts = text.wholeMatch(of: #/(cc|nrpn)([0-9]{1,5})(?:@([0-9]{1,2}))?/#),
      let kind = Kind(rawValue: String(parts.1)), let number = Int(parts.2)
    else { return nil }
    channel = parts.3.flatMap { Int($0) }
    guard number <= (kind == .nrpn ? 16383 : 119), channel.map({ (1...16).contains($0) }) ?? true
    else { return nil }
    self.kind = kind
    self.number = number
  }

  package init?(json: JSONValue) {
    guard let text = json.string else { return nil }
    self.init(text)
  }
  package var json: JSONValue { .text(description) }
  package var description: String {
    "\(kind.rawValue)\(number)" + (channel.map { "@\($0)" } ?? "")
  }
}
