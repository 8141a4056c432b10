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
