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
