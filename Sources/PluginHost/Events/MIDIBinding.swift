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

/// The binding of a MIDI controller to a target.
package struct MIDIBinding: Codable, Hashable, Sendable {
  package var controller: MIDIController
  package var target: MIDITarget

  package init(_ controller: MIDIController, to target: MIDITarget) {
    self.controller = controller
    self.target = target
  }
}

/// A control, or a numeric parameter, of a plugin, and the part of its range that a controller covers.
package struct MIDITarget: Codable, Hashable, Sendable {
  /// The control's symbol, the parameter's URI, or the part of that URI after its last `#`.
  package var name: String
  /// The values at controller positions 0 and 127; `low` may exceed `high`. Nil for the ends of the
  /// range.
  package var low, high: Float?

  package init(_ name: String, low: Float? = nil, high: Float? = nil) {
    self.name = name
    self.low = low
    self.high = high
  }
}

extension MIDITarget: CustomStringConvertible {
  /// `NAME` or `NAME:LOW..HIGH`.
  package var description: String {
    guard let low, let high else { return name }
    return "\(name):\(low)..\(high)"
  }
}

/// The mapping of a controller's 128 positions to values of the target.
struct MIDIScale: Equatable {
  enum Shape: Equatable {
    case linear, logarithmic
    case integer(isLogarithmic: Bool)
    /// Positions 0 to 63 give `low`, the others `high`.
    case toggle
    /// Divides the positions evenly among the values, in this order.
    case points([Float])
  }
  let shape: Shape
  let low, high: Float

  var values: [Float] { (0..<128).map(value) }

  private func value(_ data: Int) -> Float {
    switch shape {
    case .linear: return between(data)
    case .logarithmic: return betweenLogarithms(data)
    case .integer(let isLogarithmic):
      return (isLogarithmic ? betweenLogarithms(data) : between(data)).rounded()
    case .toggle: return data < 64 ? low : high
    case .points(let points): return points[data * points.count / 128]
    }
  }

  private func between(_ data: Int) -> Float {
    data == 127 ? high : low + (high - low) * (Float(data) / 127)
  }

  private func betweenLogarithms(_ data: Int) -> Float {
    if data == 0 { return low }
    return data == 127 ? high : Float(Double(low) * ratio(Double(data) / 127))
  }

  private func ratio(_ part: Double) -> Double { pow(Double(high) / Double(low), part) }
}
