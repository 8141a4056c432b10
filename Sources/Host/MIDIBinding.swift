import Foundation

/// A MIDI controller, by its number and its channel.
package struct MIDIController: Hashable, Sendable {
  /// 0 to 119: what comes after switches the mode of a channel.
  package let number: Int
  /// 1 to 16; nil for all of them.
  package let channel: Int?

  /// Nil if there is no such controller or channel.
  package init?(number: Int, channel: Int? = nil) {
    guard (0..<120).contains(number), channel.map({ (1...16).contains($0) }) ?? true else {
      return nil
    }
    self.number = number
    self.channel = channel
  }

  /// The controller that a text names: `cc7`, or `cc7@2` for channel 2 alone; nil if it names none.
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
  /// From its text.
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

/// What a MIDI controller moves, and how far.
package struct MIDIBinding: Codable, Hashable, Sendable {
  package var controller: MIDIController
  package var target: MIDITarget

  package init(_ controller: MIDIController, to target: MIDITarget) {
    self.controller = controller
    self.target = target
  }
}

/// A control of a plugin, or a parameter that is a number, and the part of its range that a controller is to
/// move it over.
package struct MIDITarget: Codable, Hashable, Sendable {
  /// The control's symbol, or the parameter's URI or what comes after the last # in that.
  package var name: String
  /// The values for the controller's 0 and 127, in this order whichever is greater; nil for where the
  /// range begins and ends.
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

/// How the 128 values of a controller become those of what it moves.
struct MIDIScale: Equatable {
  enum Shape: Equatable {
    case linear, logarithmic
    case integer(isLogarithmic: Bool)
    /// The lower half is the one value, the upper half the other.
    case toggle
    /// As much of the controller's range for each, in this order.
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
