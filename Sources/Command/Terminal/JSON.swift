import FoundationEssentials
import System

/// JSON as the command prints it: with sorted keys.
enum JSONText {
  /// Returns a value in several lines, for people, too.
  static func pretty(_ value: some Encodable) throws -> String { try text(value, [.prettyPrinted]) }

  /// Returns a value in one line, without its end.
  static func line(_ value: some Encodable) throws -> String { try text(value, []) }

  private static func text(
    _ value: some Encodable, _ more: JSONEncoder.OutputFormatting
  ) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = more.union([.sortedKeys, .withoutEscapingSlashes])
    // Values from plugins may be infinite or NaN.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    // A backslash is two in JSON.
    return escaped(String(decoding: try encoder.encode(value), as: UTF8.self), mark: #"\\x"#)
  }
}

/// Prints a value as readable JSON.
func printJSON(_ value: some Encodable) throws { print(try JSONText.pretty(value)) }
