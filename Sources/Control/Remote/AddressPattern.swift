import Sessions

/// An OSC address pattern: `*` and `?` for characters, `[a-z]` and `[!a-z]` for one of them, `{in,out}`
/// for one of several texts. None of them matches a slash.
///
/// liblo's `lo_pattern_match` reads past the end of patterns such as `[!`, and its `*` matches slashes.
struct AddressPattern: Hashable, Sendable {
  private indirect enum Piece: Hashable, Sendable {
    case byte(UInt8)
    case anyByte
    case anyText
    case oneOf(Set<UInt8>, isNegated: Bool)
    case either([[UInt8]])
  }
  private let pieces: [Piece]
  let text: String

  /// Most bytes of a pattern, and most `*` and `{` in it, which take the most time to match.
  private static let (mostBytes, mostBranches) = (256, 8)

  /// Returns true if an address has a character of patterns.
  static func isPattern(_ address: String) -> Bool {
    address.utf8.contains { "*?[]{}".utf8.contains($0) }
  }

  /// Reads a pattern; nil if it is malformed, or too long.
  init?(_ text: String) {
    guard text.utf8.count <= Self.mostBytes, text.hasPrefix("/") else { return nil }
    var pieces: [Piece] = []
    var rest = Array(text.utf8)[...]
    var branches = 0
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "*"):
        if pieces.last == .anyText { continue }
        branches += 1
        pieces.append(.anyText)
      case UInt8(ascii: "?"): pieces.append(.anyByte)
      case UInt8(ascii: "["):
        guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
        pieces.append(Self.set(rest[..<end]))
        rest = rest[(end + 1)...]
      case UInt8(ascii: "{"):
        guard let end = rest.firstIndex(of: UInt8(ascii: "}")) else { return nil }
        branches += 1
        let texts = rest[..<end].split(
          separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        pieces.append(.either(texts.map(Array.init)))
        rest = rest[(end + 1)...]
      case UInt8(ascii: "]"), UInt8(ascii: "}"): return nil
      default: pieces.append(.byte(byte))
      }
    }
    guard branches <= Self.mostBranches else { return nil }
    self.pieces = pieces
    self.text = text
  }

  /// Returns the piece for the text between `[` and `]`.
  private static func set(_ text: ArraySlice<UInt8>) -> Piece {
    let isNegated = text.first == UInt8(ascii: "!")
    let bytes = Array(isNegated ? text.dropFirst() : text)
    var set: Set<UInt8> = []
    var index = 0
    while index < bytes.count {
      if index + 2 < bytes.count, bytes[index + 1] == UInt8(ascii: "-") {
        let (a, b) = (bytes[index], bytes[index + 2])
        set.formUnion(min(a, b)...max(a, b))
        index += 3
      } else {
        set.insert(bytes[index])
        index += 1
      }
    }
    return .oneOf(set, isNegated: isNegated)
  }

  /// Returns true if the pattern matches the whole address. The set of reached positions grows with each
  /// piece, so the time is at most the product of both lengths.
  func matches(_ address: String) -> Bool {
    let bytes = Array(address.utf8)
    let slash = UInt8(ascii: "/")
    var reached: Set<Int> = [0]
    for piece in pieces {
      var next: Set<Int> = []
      for start in reached {
        switch piece {
        case .byte(let byte):
          if start < bytes.count, bytes[start] == byte { next.insert(start + 1) }
        case .anyByte:
          if start < bytes.count, bytes[start] != slash { next.insert(start + 1) }
        case .oneOf(let set, let isNegated):
          if start < bytes.count, bytes[start] != slash, set.contains(bytes[start]) != isNegated {
            next.insert(start + 1)
          }
        case .anyText:
          var end = start
          next.insert(end)
          while end < bytes.count, bytes[end] != slash {
            end += 1
            next.insert(end)
          }
        case .either(let texts):
          for text in texts where bytes[start...].starts(with: text) {
            next.insert(start + text.count)
          }
        }
      }
      if next.isEmpty { return false }
      reached = next
    }
    return reached.contains(bytes.count)
  }
}
