/// A syntax error in a JSON5 text.
package struct JSON5Fault: Error, Equatable {
  /// Line and column, from 1 on. Columns count Unicode characters.
  package let line, column: Int
  /// Description of the error.
  package let reason: String
}
