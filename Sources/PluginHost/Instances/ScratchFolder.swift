import FoundationEssentials
import Glibc
import System

/// A temporary folder for files of plugins, closed to other users and removed with this object. The
/// first writer creates it.
final class ScratchFolder: Sendable {
  let path: String
  private static let prefix = "cuejack-plugin-"

  init() { path = "\(temporaryFolder)/\(Self.prefix)\(UUID().uuidString)" }

  /// Names a folder inside another, which goes with that at the latest.
  init(in other: ScratchFolder) { path = "\(other.path)/\(UUID().uuidString)" }

  deinit { remove() }

  /// Creates the folder if it does not exist.
  ///
  /// - Returns: `false` if it cannot be created, or other users can access the existing one.
  @discardableResult
  func make() -> Bool {
    unsafe mkdir(path.systemName, 0o700)
    return isPrivateFolder(path) == true
  }

  /// Removes the folder with its contents.
  func remove() { removeTree(path) }

  /// Removes the temporary folder that the parent process gave this one.
  static func removeGiven() {
    let path = temporaryFolder
    if fileName(path).hasPrefix(prefix) { removeTree(path) }
  }
}
