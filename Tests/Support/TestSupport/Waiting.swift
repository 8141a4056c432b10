import Foundation

/// Waits until a condition holds, for `seconds` at most.
///
/// - Returns: True if it holds.
package func waits(seconds: Double = 30, for condition: () throws -> Bool) rethrows -> Bool {
  let end = Date(timeIntervalSinceNow: seconds)
  while try !condition() {
    if Date() >= end { return try condition() }
    usleep(1000)
  }
  return true
}

/// Waits until a condition holds, for half a minute at most.
///
/// - Throws: If it does not hold by then. The error says that the test waited for `what`.
package func wait(for what: String, until condition: () throws -> Bool) throws {
  if try !waits(for: condition) { throw SupportError("waited in vain for \(what)") }
}
