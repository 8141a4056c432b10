import System

/// A rule for texts.
package struct TextRule: Sendable {
  /// Description of the texts that are allowed, such as "1 to 200 characters without control
  /// characters".
  package let words: String
  /// The rule as a regular expression of JSON schema; nil if it has none.
  package let pattern: String?
  /// The greatest length in bytes of UTF-8.
  let mostBytes: Int
  private let isAllowed: @Sendable (String) -> Bool

  init(
    _ words: String, pattern: String? = nil, upTo mostBytes: Int,
    _ isAllowed: @escaping @Sendable (String) -> Bool
  ) {
    self.words = words
    self.pattern = pattern
    self.mostBytes = mostBytes
    self.isAllowed = isAllowed
  }

  /// Returns whether the rule allows a text.
  package func allows(_ text: String) -> Bool {
    text.utf8.count <= mostBytes && isAllowed(text)
  }
}
