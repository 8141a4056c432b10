/// A name or path as the key of a set or dictionary. Swift's strings are equal if their characters look the
/// same; names are equal if their bytes are.
package struct Name: Hashable, Sendable {
  package let text: String
  package init(_ text: some StringProtocol) { self.text = String(text) }

  package static func == (a: Self, b: Self) -> Bool { a.text.isSameName(as: b.text) }
  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
