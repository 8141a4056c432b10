import FoundationEssentials

/// Prints a value as readable JSON.
func printJSON(_ value: some Encodable) throws {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
  // Values from plugins may be infinite or NaN.
  encoder.nonConformingFloatEncodingStrategy = .convertToString(
    positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
  print(String(decoding: try encoder.encode(value), as: UTF8.self))
}
