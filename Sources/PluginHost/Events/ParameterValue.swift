import CLilv
import Glibc

/// A value of a plugin parameter.
package enum ParameterValue: Hashable, Codable, Sendable {
  case int(Int32)
  case long(Int64)
  case float(Float)
  case double(Double)
  case bool(Bool)
  case string(String)
  /// A file's absolute path.
  case path(String)
  case uri(String)

  /// Parses `text` as a value of the type `range`. Returns nil if it is none.
  package init?(_ text: String, range: String?) {
    let value: ParameterValue? =
      switch range {
      case LV2.atom("Int"): Int32(text).map { .int($0) }
      case LV2.atom("Long"): Int64(text).map { .long($0) }
      case LV2.atom("Double"): Double(text).map { .double($0) }
      case LV2.atom("Bool"): ["true": .bool(true), "false": .bool(false)][text]
      case LV2.atom("String"): .string(text)
      case LV2.atom("Path"): .path(text)
      case LV2.atom("URI"), LV2.atom("URID"): .uri(text)
      default: Float(text).map { .float($0) }
      }
    guard let value else { return nil }
    self = value
  }

  /// Converts a number to a value of the type `range`. Returns nil if that type is not numeric, or cannot hold
  /// the number.
  package init?(_ number: Float, range: String?) {
    switch range {
    case LV2.atom("Int"):
      guard let whole = Int32(exactly: number.rounded(.towardZero)) else { return nil }
      self = .int(whole)
    case LV2.atom("Long"):
      guard let whole = Int64(exactly: number.rounded(.towardZero)) else { return nil }
      self = .long(whole)
    case LV2.atom("Float"): self = .float(number)
    case LV2.atom("Double"): self = .double(Double(number))
    case LV2.atom("Bool"): self = .bool(number != 0)
    default: return nil
    }
  }

  /// Reads the value of an atom. Returns nil for an atom of another type.
  @safe init?(_ atom: UnsafePointer<LV2_Atom>) {
    let urids = URIDs.shared
    let bytes = unsafe UnsafeRawBufferPointer(start: atom + 1, count: Int(atom.pointee.size))
    func number<Number: BitwiseCopyable>(_ type: Number.Type) -> Number? {
      unsafe bytes.count >= MemoryLayout<Number>.size ? bytes.loadUnaligned(as: type) : nil
    }
    func text() -> String { unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
    let value: ParameterValue? =
      switch unsafe urids.uri(atom.pointee.type) {
      case LV2.atom("Int"): number(Int32.self).map { .int($0) }
      case LV2.atom("Long"): number(Int64.self).map { .long($0) }
      case LV2.atom("Float"): number(Float.self).map { .float($0) }
      case LV2.atom("Double"): number(Double.self).map { .double($0) }
      case LV2.atom("Bool"): number(Int32.self).map { .bool($0 != 0) }
      case LV2.atom("String"): .string(text())
      case LV2.atom("Path"): .path(text())
      case LV2.atom("URI"): .uri(text())
      case LV2.atom("URID"): number(UInt32.self).flatMap { urids.uri($0) }.map { .uri($0) }
      default: nil
      }
    guard let value else { return nil }
    self = value
  }

  /// The value as a number; nil for types that are not numeric.
  package var number: Float? {
    switch self {
    case .int(let value): Float(value)
    case .long(let value): Float(value)
    case .float(let value): value
    case .double(let value): Float(value)
    case .bool(let value): value ? 1 : 0
    case .string, .path, .uri: nil
    }
  }
}
