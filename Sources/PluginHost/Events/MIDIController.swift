import Glibc

/// A MIDI controller, identified by its number and its channel.
package struct MIDIController: Hashable, Sendable {
  /// Controller number, 0 to 119. Higher numbers are channel mode messages.
  package let number: Int
  /// Channel, 1 to 16; nil for all channels.
  package let channel: Int?

  /// Returns nil if the number or the channel is out of range.
  package init?(number: Int, channel: Int? = nil) {
    guard (0..<120).contains(number), channel.map({ (1...16).contains($0) }) ?? true else {
      return nil
    }
    self.number = number
    self.channel = channel
  }

  /// Parses `cc7`, or `cc7@2` for channel 2 alone. Returns nil for any other text.
  package init?(_ text: String) {
    guard let parts = text.wholeMatch(of: #/cc(\d{1,3})(?:@(\d{1,2}))?/#), let number = Int(parts.1)
    else { return nil }
    self.init(number: number, channel: parts.2.flatMap { Int($0) })
  }
}

extension MIDIController: CustomStringConvertible {
  package var description: String { "cc\(number)" + (channel.map { "@\($0)" } ?? "") }
}

extension MIDIController: Codable {
  /// Decodes the textual form.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let controller = MIDIController(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "“\(text)” is no MIDI controller, such as cc7 or cc7@2")
    }
    self = controller
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
