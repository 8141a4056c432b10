/// A source of process cycles: a JACK server, or a test that drives cycles by hand.
package protocol Server: Sendable {
  /// Opens a client. Not real-time safe; may take as long as starting a server.
  ///
  /// - Parameter name: The requested name; the client's own `name` may differ.
  func openClient(named name: String) throws(ServerError) -> any ServerClient
  /// Opens a client to replace one whose server went away. Returns nil if no server answers; starts
  /// none.
  func reopenClient(named name: String) -> (any ServerClient)?
  /// The server for questions of the app, which wait less than a second for a server that does not answer.
  var forQuestions: any Server { get }
}

extension Server {
  package var forQuestions: any Server { self }
}
