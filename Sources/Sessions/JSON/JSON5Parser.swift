/// A parser for JSON5 (json5.org), a superset of JSON with comments, unquoted keys and trailing
/// commas.
///
/// Foundation's decoder reads JSON5 too, but on Linux its errors name neither line nor column, it
/// silently keeps the first of two equal keys, and it finds faults inside strings and numbers only
/// when these are decoded. The tests compare this parser with it.
package struct JSON5Parser {
  private let bytes: [UInt8]
  private var position = 0
  private var depth = 0

  /// Nesting depth that is accepted. A session has seven levels.
  package static let mostLevels = 32

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// An error at a byte offset.
  private struct Failure: Error {
    let offset: Int
    let reason: String
  }

  /// Parses a text in UTF-8.
  package static func parse(_ bytes: [UInt8]) throws(JSON5Fault) -> JSONValue {
    do throws(Failure) {
      try checkUTF8(bytes)
      var parser = JSON5Parser(bytes)
      try parser.skipSpace()
      let value = try parser.value()
      try parser.skipSpace()
      if parser.position < bytes.count { throw parser.failure("there is more text after the end") }
      return value
    } catch {
      throw fault(error, in: bytes)
    }
  }

  private static func checkUTF8(_ bytes: [UInt8]) throws(Failure) {
    if String(validating: bytes, as: UTF8.self) != nil { return }
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    var offset = 0
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let scalar): offset += scalar.count
      case .emptyInput: return
      case .error: throw Failure(offset: offset, reason: "the text is not UTF-8")
      }
    }
  }

  /// Converts a byte offset to line and column.
  private static func fault(_ failure: Failure, in bytes: [UInt8]) -> JSON5Fault {
    var (line, column) = (1, 1)
    for index in 0..<min(failure.offset, bytes.count) {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\n")
        || byte == UInt8(ascii: "\r")
          && !(index + 1 < bytes.count && bytes[index + 1] == UInt8(ascii: "\n"))
      {
        (line, column) = (line + 1, 1)
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
    return JSON5Fault(line: line, column: column, reason: failure.reason)
  }

  private func failure(_ reason: String) -> Failure { Failure(offset: position, reason: reason) }

  // MARK: Characters

  private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func holds(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard position + count <= bytes.count else { return false }
    return text.withUTF8Buffer { other in
      for index in 0..<count where unsafe other[index] != bytes[position + index] { return false }
      return true
    }
  }

  /// The Unicode character at the position; the text is known to be UTF-8.
  private var scalar: Unicode.Scalar? {
    guard let first = byte else { return nil }
    let count = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    return String(decoding: bytes[position..<min(bytes.count, position + count)], as: UTF8.self)
      .unicodeScalars.first
  }

  /// Description of the character at the position, for messages.
  private var found: String {
    guard let scalar else { return "the end of the text" }
    let isVisible = scalar.value > 0x20 && !(0x7F..<0xA0).contains(scalar.value)
    return isVisible ? "“\(scalar)”" : "the character \(scalar.value)"
  }

  /// Skips white space and comments.
  private mutating func skipSpace() throws(Failure) {
    while let byte {
      switch byte {
      case 0x09...0x0D, 0x20: position += 1
      case UInt8(ascii: "/"):
        if holds("//") {
          while let byte = self.byte, byte != 0x0A, byte != 0x0D { _ = byte; position += 1 }
        } else if holds("/*") {
          let start = position
          position += 2
          while !holds("*/") {
            if position >= bytes.count {
              throw Failure(offset: start, reason: "this comment does not end")
            }
            position += 1
          }
          position += 2
        } else {
          return
        }
      case 0x80...:
        guard let scalar,
          [0x2028, 0x2029, 0xFEFF].contains(scalar.value)
            || scalar.properties.generalCategory == .spaceSeparator
        else { return }
        position += scalar.utf8.count
      default: return
      }
    }
  }

  // MARK: Values

  private mutating func value() throws(Failure) -> JSONValue {
    switch byte {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return .text(try quoted())
    case .some(0x30...0x39), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "I"), UInt8(ascii: "N"):
      return try number()
    default:
      for (word, value) in [
        ("true", JSONValue.flag(true)), ("false", .flag(false)), ("null", .null),
      ] {
        let end = position + word.utf8.count
        if end <= bytes.count, bytes[position..<end].elementsEqual(word.utf8),
          !continuesName(at: end)
        {
          position = end
          return value
        }
      }
      throw failure("a value is missing; found \(found)")
    }
  }

  private mutating func enter() throws(Failure) {
    depth += 1
    if depth > Self.mostLevels {
      throw failure("objects and lists are nested more than \(Self.mostLevels) levels deep")
    }
    position += 1
    try skipSpace()
  }

  private mutating func object() throws(Failure) -> JSONValue {
    let start = position
    try enter()
    var members: [String: JSONValue] = [:]
    while byte != UInt8(ascii: "}") {
      if byte == nil {
        throw Failure(offset: start, reason: "this object does not end: “}” is missing")
      }
      let offset = position
      let key = try key()
      try skipSpace()
      guard byte == UInt8(ascii: ":") else {
        throw failure("“:” is missing after the key “\(key)”; found \(found)")
      }
      position += 1
      try skipSpace()
      let value = try value()
      guard members.updateValue(value, forKey: key) == nil else {
        throw Failure(offset: offset, reason: "the key “\(key)” is there twice")
      }
      try separate("}", start)
    }
    position += 1
    depth -= 1
    return .table(members)
  }

  private mutating func array() throws(Failure) -> JSONValue {
    let start = position
    try enter()
    var elements: [JSONValue] = []
    while byte != UInt8(ascii: "]") {
      if byte == nil {
        throw Failure(offset: start, reason: "this list does not end: “]” is missing")
      }
      elements.append(try value())
      try separate("]", start)
    }
    position += 1
    depth -= 1
    return .list(elements)
  }

  /// Skips the comma after a member or an element. None is needed before `end`.
  private mutating func separate(_ end: Unicode.Scalar, _ start: Int) throws(Failure) {
    try skipSpace()
    if byte == UInt8(ascii: ",") {
      position += 1
      try skipSpace()
    } else if byte == nil {
      throw Failure(offset: start, reason: "this does not end: “\(end)” is missing")
    } else if byte != UInt8(ascii: end) {
      throw failure("“,” or “\(end)” is missing; found \(found)")
    }
  }

  private mutating func key() throws(Failure) -> String {
    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { return try quoted() }
    let start = position
    while continuesName(at: position) {
      position += bytes[position] < 0x80 ? 1 : scalar?.utf8.count ?? 1
    }
    guard position > start, !(0x30...0x39).contains(bytes[start]) else {
      position = start
      throw failure("a key is missing; found \(found)")
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  /// Returns whether the character at an offset can belong to an unquoted key or word.
  private func continuesName(at offset: Int) -> Bool {
    guard offset < bytes.count else { return false }
    switch bytes[offset] {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "$"): return true
    case 0x80...:
      var other = self
      other.position = offset
      return other.scalar?.properties.isIDContinue ?? false
    default: return false
    }
  }

  // MARK: Strings

  private mutating func quoted() throws(Failure) -> String {
    let start = position
    let quote = bytes[position]
    position += 1
    var text: [UInt8] = []
    while let byte {
      switch byte {
      case quote:
        position += 1
        return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"): try escape(&text)
      case 0x0A, 0x0D: throw failure("this text does not end before the line does")
      default:
        text.append(byte)
        position += 1
      }
    }
    throw Failure(offset: start, reason: "this text does not end: the closing quote is missing")
  }

  private mutating func escape(_ text: inout [UInt8]) throws(Failure) {
    let start = position
    position += 1
    guard let byte else { throw failure("this text does not end") }
    position += 1
    switch byte {
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "v"): text.append(0x0B)
    case UInt8(ascii: "0"):
      if let next = self.byte, (0x30...0x39).contains(next) {
        throw Failure(offset: start, reason: "octal escapes are not allowed")
      }
      text.append(0)
    case UInt8(ascii: "x"): try append(try hexadecimal(2, start), to: &text, start)
    case UInt8(ascii: "u"):
      var code = try hexadecimal(4, start)
      if (0xD800..<0xDC00).contains(code), holds("\\u") {
        position += 2
        let low = try hexadecimal(4, start)
        guard (0xDC00..<0xE000).contains(low) else {
          throw Failure(offset: start, reason: "half a surrogate pair")
        }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      try append(code, to: &text, start)
    case 0x0D: if self.byte == 0x0A { position += 1 }
    case 0x0A: break
    case 0x31...0x39:
      throw Failure(offset: start, reason: "there is no escape “\\\(Unicode.Scalar(byte))”")
    default:
      position -= 1
      // U+2028 and U+2029 continue the line, too.
      guard let scalar else { return }
      position += scalar.utf8.count
      if scalar.value != 0x2028, scalar.value != 0x2029 { text += Array(String(scalar).utf8) }
    }
  }

  private func append(_ code: UInt32, to text: inout [UInt8], _ start: Int) throws(Failure) {
    guard let scalar = Unicode.Scalar(code) else {
      throw Failure(offset: start, reason: "half a surrogate pair")
    }
    text += Array(String(scalar).utf8)
  }

  private mutating func hexadecimal(_ digits: Int, _ start: Int) throws(Failure) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<digits {
      guard let byte, let digit = Self.hexadecimalDigit(byte) else {
        throw Failure(offset: start, reason: "this escape needs \(digits) hexadecimal digits")
      }
      value = value << 4 | digit
      position += 1
    }
    return value
  }

  private static func hexadecimalDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case 0x30...0x39: UInt32(byte - 0x30)
    case 0x41...0x46: UInt32(byte - 0x41 + 10)
    case 0x61...0x66: UInt32(byte - 0x61 + 10)
    default: nil
    }
  }

  // MARK: Numbers

  private mutating func number() throws(Failure) -> JSONValue {
    let start = position
    var isNegative = false
    if byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") {
      isNegative = byte == UInt8(ascii: "-")
      position += 1
    }
    let value = try magnitude(start, isNegative)
    if continuesName(at: position) || byte == UInt8(ascii: ".") {
      throw Failure(offset: start, reason: "this is no number")
    }
    return value
  }

  private mutating func magnitude(_ start: Int, _ isNegative: Bool) throws(Failure) -> JSONValue {
    for (word, value) in [("Infinity", Double.infinity), ("NaN", .nan)] {
      let end = position + word.utf8.count
      if end <= bytes.count, bytes[position..<end].elementsEqual(word.utf8) {
        position = end
        return .number(isNegative ? -value : value)
      }
    }
    if holds("0x") || holds("0X") {
      position += 2
      let digits = skip { Self.hexadecimalDigit($0) != nil }
      guard let value = Int64(digits, radix: 16) else {
        throw Failure(
          offset: start, reason: "this is no hexadecimal number up to 0x7FFFFFFFFFFFFFFF")
      }
      return .integer(isNegative ? -value : value)
    }
    let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
    let whole = skip(isDigit)
    var fraction: String?
    if byte == UInt8(ascii: ".") {
      position += 1
      fraction = skip(isDigit)
    }
    guard !whole.isEmpty || fraction?.isEmpty == false else {
      throw Failure(offset: start, reason: "this is no number")
    }
    if whole.utf8.count > 1, whole.hasPrefix("0") {
      throw Failure(offset: start, reason: "a number does not begin with 0 before other digits")
    }
    var exponent: String?
    if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
      position += 1
      var sign = ""
      if byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") {
        sign = byte == UInt8(ascii: "-") ? "-" : ""
        position += 1
      }
      let digits = skip(isDigit)
      if digits.isEmpty { throw Failure(offset: start, reason: "the exponent has no digits") }
      exponent = sign + digits
    }
    let sign = isNegative ? "-" : ""
    if fraction == nil, exponent == nil, let integer = Int64(sign + whole) {
      return .integer(integer)
    }
    let text =
      "\(sign)\(whole.isEmpty ? "0" : whole).\(fraction.flatMap { $0.isEmpty ? nil : $0 } ?? "0")e\(exponent ?? "0")"
    guard let value = Double(text) else {
      throw Failure(offset: start, reason: "this number is out of range")
    }
    return .number(value)
  }

  /// Skips bytes that satisfy a condition, and returns them.
  private mutating func skip(_ matches: (UInt8) -> Bool) -> String {
    let start = position
    while let byte, matches(byte) { position += 1 }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }
}
