import System

/// A session or command that OSC messages control: what `RemoteServer` calls, on its thread. All calls return soon.
package protocol RemoteTarget: AnyObject, Sendable {
  /// The address space. No two nodes have one address.
  var remoteNodes: [RemoteNode] { get }
  /// A number that changes whenever `remoteNodes` does.
  var remoteVersion: Int { get }
  /// Returns the values of a parameter, state or meter, with the types of its node; nil if it has gone.
  func remoteValues(at address: String) -> [OSCValue]?
  /// Sets a parameter. The values have the types of its node and lie in its range.
  ///
  /// - Returns: The work if it goes on; nil if it is done.
  func setRemote(_ address: String, to values: [OSCValue]) throws(RemoteError) -> RemoteWork?
  /// Performs an action. The arguments have the types of its node and lie in its range.
  ///
  /// - Returns: The work if it goes on; nil if it is done.
  func perform(_ address: String, _ arguments: [OSCValue]) throws(RemoteError) -> RemoteWork?
}

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
