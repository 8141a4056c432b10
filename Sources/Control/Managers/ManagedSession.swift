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
