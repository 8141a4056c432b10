import Sessions

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

/// A session that session managers open, save, switch and end: what `NSMClient` and `JackSession` call.
///
/// A manager runs one of `open`, `switch` and `save` at a time, on a thread of its own, which may wait.
/// All other members are called on any thread and return at once.
package protocol ManagedSession: AnyObject, Sendable {
  /// Opens the project, or creates a new one if nothing exists at its path. JACK clients may be opened
  /// from now on, under the project's client ID. Connects no port that the project does not connect.
  func open(_ project: ManagedProject, _ report: ManagerReport) throws(ManagerError)
  /// Closes the open project and its JACK clients without saving, and opens another one. If it throws,
  /// no project is open.
  func `switch`(to project: ManagedProject, _ report: ManagerReport) throws(ManagerError)
  /// Saves the open project at its path.
  func save(_ report: ManagerReport) throws(ManagerError)
  /// Asks the process to end soon, without saving.
  func quit()

  /// True if the open project has changes that are not saved. Call `NSMClient.dirtinessChanged()`
  /// whenever it changes.
  var isDirty: Bool { get }
  /// True if `switch` works.
  var canSwitch: Bool { get }
  /// Whether the window is shown; nil if the session has none.
  var isWindowShown: Bool? { get }
  /// Shows or hides the window. Never called if there is none.
  func setWindow(shown: Bool)
  /// All programs of the manager's session have opened their projects.
  func sessionIsLoaded()
}

extension ManagedSession {
  package var canSwitch: Bool { true }
  package var isWindowShown: Bool? { nil }
  package func setWindow(shown: Bool) {}
  package func sessionIsLoaded() {}
}

/// An error that is reported to a session manager.
package struct ManagerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The error codes of NSM's API 1.1.
  package enum Code: Int32, Sendable {
    case general = -1
    case incompatibleAPI = -2
    case blacklisted = -3
    case launchFailed = -4
    case noSuchFile = -5
    case noSessionOpen = -6
    case unsavedChanges = -7
    case notNow = -8
    case badProject = -9
    case createFailed = -10
  }

  package let code: Code
  /// The reason, for people: what failed, at which path, and why.
  package let description: String

  package init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}

/// Functions with which a session tells its manager how far an `open`, `switch` or `save` has come. Any
/// thread.
package struct ManagerReport: Sendable {
  private let tellProgress: @Sendable (Float) -> Void
  private let tellMessage: @Sendable (String, Int32) -> Void

  package init(
    progress: @escaping @Sendable (Float) -> Void = { _ in },
    message: @escaping @Sendable (String, Int32) -> Void = { _, _ in }
  ) {
    tellProgress = progress
    tellMessage = message
  }

  /// Reports the finished part of the work, 0 to 1.
  package func progress(_ part: Float) { tellProgress(min(max(part, 0), 1)) }

  /// Reports what the session does, for people. The priority is 0 (least) to 3.
  package func message(_ text: String, priority: Int32 = 0) {
    tellMessage(text, min(max(priority, 0), 3))
  }
}
