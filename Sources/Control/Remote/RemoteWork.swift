import System

/// Work that a message has begun and that ends on another thread. Any thread.
package final class RemoteWork: Sendable {
  /// The end of the work: what people are to know of it, or why it is not done.
  package typealias Outcome = Result<[String], RemoteError>
  private let outcome = Monitor<Outcome?>(nil)

  package init() {}

  /// Notes the end of the work.
  package func end(_ outcome: Outcome) { self.outcome.change { $0 = outcome } }

  /// The end; nil as long as the work goes on.
  var outcomeSoFar: Outcome? { outcome.read { $0 } }
  /// Waits for the end, and returns it; nil if the work goes on after `seconds`.
  func outcome(within seconds: Double) -> Outcome? { outcome.wait(seconds: seconds) { $0 } }
}
