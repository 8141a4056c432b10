public import Testing

/// Records an issue unless a condition holds.
///
/// The tests call functions in place of `#expect` and `#require`: the compiler needs a millisecond for a call and some
/// forty for the macro, and most of the gate's time was that. `#expect(throws:)` and `#expect(processExitsWith:)` have
/// no such function.
///
/// - Parameters:
///   - comment: Words for the issue.
///   - sourceLocation: The place of the issue; nil for that of the call.
public func expectTrue(
  _ condition: Bool, _ comment: @autoclosure () -> String = "",
  sourceLocation: SourceLocation? = nil,
  file: String = #fileID, path: String = #filePath, line: Int = #line, column: Int = #column
) {
  if condition { return }
  let here = SourceLocation(fileID: file, filePath: path, line: line, column: column)
  Issue.record("is false\(after(comment()))", sourceLocation: sourceLocation ?? here)
}

/// Records an issue with both values unless they are equal.
public func expectEqual<Value: Equatable>(
  _ value: Value, _ expected: Value, _ comment: @autoclosure () -> String = "",
  sourceLocation: SourceLocation? = nil,
  file: String = #fileID, path: String = #filePath, line: Int = #line, column: Int = #column
) {
  if value == expected { return }
  let here = SourceLocation(fileID: file, filePath: path, line: line, column: column)
  Issue.record(
    "\(value) is not \(expected)\(after(comment()))", sourceLocation: sourceLocation ?? here)
}

/// Records an issue with the value unless it is nil.
public func expectNil<Value>(
  _ value: Value?, _ comment: @autoclosure () -> String = "", sourceLocation: SourceLocation? = nil,
  file: String = #fileID, path: String = #filePath, line: Int = #line, column: Int = #column
) {
  guard let value else { return }
  let here = SourceLocation(fileID: file, filePath: path, line: line, column: column)
  Issue.record("\(value) is not nil\(after(comment()))", sourceLocation: sourceLocation ?? here)
}

/// The value of an optional, without which a test cannot go on.
///
/// - Throws: `Missing` if there is none, which ends the test.
@discardableResult public func require<Value>(
  _ value: Value?, _ comment: @autoclosure () -> String = "", sourceLocation: SourceLocation? = nil,
  file: String = #fileID, path: String = #filePath, line: Int = #line, column: Int = #column
) throws -> Value {
  if let value { return value }
  let here = SourceLocation(fileID: file, filePath: path, line: line, column: column)
  throw Missing(what: "a value\(after(comment()))", location: sourceLocation ?? here)
}

/// Goes on only if a condition holds.
///
/// - Throws: `Missing` if the condition is false, which ends the test.
public func require(
  _ condition: Bool, _ comment: @autoclosure () -> String = "",
  sourceLocation: SourceLocation? = nil,
  file: String = #fileID, path: String = #filePath, line: Int = #line, column: Int = #column
) throws {
  if condition { return }
  let here = SourceLocation(fileID: file, filePath: path, line: line, column: column)
  throw Missing(what: "a condition\(after(comment()))", location: sourceLocation ?? here)
}

private func after(_ comment: String) -> String { comment.isEmpty ? "" : ": \(comment)" }

/// What a test needs, and does not have.
struct Missing: Error, CustomStringConvertible {
  let what: String
  let location: SourceLocation

  var description: String { "\(location) needs \(what)" }
}
