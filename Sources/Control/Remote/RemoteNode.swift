import Sessions
import System

/// An OSC address of a running session or command, and the value or action behind it.
package struct RemoteNode: Codable, Hashable, Sendable {
  package enum Kind: String, Codable, Sendable, CaseIterable {
    /// A message performs it. It has no value.
    case action
    /// A value that a message sets, and that a message without arguments reads.
    case parameter
    /// A value that a message reads. Subscribers receive it when it changes.
    case state
    /// A value that a message reads. Subscribers receive it in every period.
    case meter
  }

  /// The address, such as `/cuejack/tracks/1/gain`.
  package let address: String
  package let kind: Kind
  /// The type tags of its values or arguments: i, h, f, d, s, or T for true and false.
  package let types: String
  /// Bounds of its numbers, in its unit; nil for none.
  package let lowest: Double?
  package let highest: Double?
  /// The unit of its numbers, such as `dB`; nil if they have none.
  package let unit: String?
  /// A description of the value or action in a few words.
  package let summary: String

  /// The first part of every address.
  package static let root = "/cuejack"

  /// The parts of addresses behind which elements are numbered, and have names.
  package static let named = ["tracks", "buses", "sends", "recordings", "groups", "scenes"]

  /// Creates the node `path`, such as `tracks/1/gain`.
  package init(
    _ path: String, _ kind: Kind, types: String = "", range: ClosedRange<Double>? = nil,
    unit: String? = nil, summary: String
  ) {
    self.init(
      address: "\(Self.root)/\(path)", kind, types: types, lowest: range?.lowerBound,
      highest: range?.upperBound, unit: unit, summary: summary)
  }

  /// Returns the address that a target of `cuejack set` means: with or without the root.
  package static func address(of target: String) -> String {
    target.hasPrefix("/") ? target : "\(root)/\(target)"
  }

  init(
    address: String, _ kind: Kind, types: String, lowest: Double?, highest: Double?,
    unit: String?, summary: String
  ) {
    self.address = address
    self.kind = kind
    self.types = types
    self.lowest = lowest
    self.highest = highest
    self.unit = unit
    self.summary = summary
  }
}

extension RemoteNode {
  /// Returns values in the types of the node. Numbers are converted: controllers often send only floats.
  ///
  /// - Throws: `RemoteError.refused` if the values do not fit the types or the range.
  package func accepted(_ values: [OSCValue]) throws(RemoteError) -> [OSCValue] {
    guard values.count == types.count else {
      throw refusal("it takes \(types.count) arguments, and \(values.count) came")
    }
    var accepted: [OSCValue] = []
    for (tag, value) in zip(types, values) { accepted.append(try self.accepted(value, as: tag)) }
    return accepted
  }

  /// The range in words, behind the bound that a number exceeds; empty if there is only that bound.
  private var rangeWords: String {
    guard let lowest, let highest else { return "" }
    return ": it takes \(lowest) to \(highest)\(unit.map { " \($0)" } ?? "")"
  }

  private func accepted(_ value: OSCValue, as tag: Character) throws(RemoteError) -> OSCValue {
    switch (tag, value) {
    case ("s", .string(let text)):
      if text.utf8.count > 4096 {
        throw refusal("the text has \(text.utf8.count) bytes, at most 4096")
      }
      return value
    case ("T", .bool): return value
    case ("T", _):
      guard let number = value.number, number == 0 || number == 1 else {
        throw refusal("it takes true or false, and \(value) came")
      }
      return .bool(number == 1)
    default: break
    }
    guard let number = value.number, "ihfd".contains(tag) else {
      throw refusal("it takes \(Self.words(for: tag)), and “\(value)” of type \(value.tag) came")
    }
    guard number.isFinite else { throw refusal("\(number) is no number that it takes") }
    if let lowest, number < lowest { throw refusal("\(number) is below \(lowest)\(rangeWords)") }
    if let highest, number > highest { throw refusal("\(number) is above \(highest)\(rangeWords)") }
    switch tag {
    case "f":
      guard Float(number).isFinite else { throw refusal("\(number) is too large") }
      return .float(Float(number))
    case "d": return .double(number)
    case "h":
      if case .long = value { return value }
      guard let whole = Int64(exactly: number) else { throw refusal("\(number) is not whole") }
      return .long(whole)
    default:
      guard let whole = Int32(exactly: number) else {
        throw refusal("\(number) is no whole number of 32 bits")
      }
      return .int(whole)
    }
  }

  /// Returns the values that a text such as `-6` or `on` means, for `cuejack set`. Several values are
  /// separated by commas, unless the node takes one text.
  package func values(from text: String) throws(RemoteError) -> [OSCValue] {
    let parts =
      types.count == 1
      ? [text] : text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == types.count else {
      throw refusal("it takes \(types.count) values, and \(parts.count) were given")
    }
    var values: [OSCValue] = []
    for (tag, part) in zip(types, parts) {
      switch tag {
      case "s": values.append(.string(part))
      case "T":
        let words = ["on": true, "true": true, "1": true, "off": false, "false": false, "0": false]
        guard let isTrue = words[part.lowercased()] else {
          throw refusal("it takes on or off, and “\(part)” was given")
        }
        values.append(.bool(isTrue))
      default:
        if tag == "h", let whole = Int64(part) {
          values.append(.long(whole))
        } else if let number = Double(unit == "dB" ? withoutDecibels(part) : part) {
          values.append(.double(number))
        } else {
          throw refusal("it takes \(Self.words(for: tag)), and “\(part)” was given")
        }
      }
    }
    return try accepted(values)
  }

  func refusal(_ reason: String) -> RemoteError { .refused(address, reason) }

  private static func words(for tag: Character) -> String {
    switch tag {
    case "s": "a text"
    case "T": "true or false"
    case "i", "h": "a whole number"
    default: "a number"
    }
  }
}
