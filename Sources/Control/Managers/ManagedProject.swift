/// A project that a session manager tells a session to open.
package struct ManagedProject: Hashable, Sendable {
  /// The absolute path for all that the session keeps: a file or folder of this name, or a file of this
  /// name with an extension. Nothing exists there if the project is new.
  package let path: String
  /// The name to show to people.
  package let displayName: String
  /// The name for the JACK client. A session with several clients names them `clientID/NAME`.
  package let clientID: String

  package init(path: String, displayName: String, clientID: String) {
    self.path = path
    self.displayName = displayName
    self.clientID = clientID
  }
}
