import System

/// The number of a MIDI note or program, on one channel or on all. Written as `60` or `60@10`.
package struct SessionMIDINumber: SessionValue, Hashable, CustomStringConvertible {
  package let number: Int
  /// Channel, 1 to 16; nil for all channels.
  package let channel: Int?

  /// Parses the written form; nil for any other text.
  package init?(_ text: String) {
    guard let parts = text.wholeMatch(of: #/([0-9]{1,3})(?:@([0-9]{1,2}))?/#),
      let number = Int(parts.1), number < 128
    else { return nil }
    channel = parts.2.flatMap { Int($0) }
    guard channel.map({ (1...16).contains($0) }) ?? true else { return nil }
    self.number = number
  }

  package init?(json: JSONValue) {
    guard let text = json.string else { return nil }
    self.init(text)
  }
  package var json: JSONValue { .text(description) }
  package var description: String { "\(number)" + (channel.map { "@\($0)" } ?? "") }
}
