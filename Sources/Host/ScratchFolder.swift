import Foundation
import Glibc

/// A folder for files of plugins, closed to other users, that goes with the last who knows it. Whoever
/// writes the first file makes it.
final class ScratchFolder: Sendable {
  let path: String
  private static let prefix = "cuejack-plugin-"

  init() {
    let temporary = NSTemporaryDirectory()
    let slash = temporary.hasSuffix("/") ? "" : "/"
    path = "\(temporary)\(slash)\(Self.prefix)\(UUID().uuidString)"
  }

  deinit { remove() }

  /// Makes the folder, if it is not there.
  ///
  /// - Returns: False if it cannot be made, or another user can look into what is there.
  @discardableResult
  func make() -> Bool {
    unsafe mkdir(path, 0o700)
    return GraphFolder.isTrusted(path) == true
  }

  /// Removes the folder with all that is in it.
  func remove() { try? FileManager.default.removeItem(atPath: path) }

  /// Removes the folder that the process which started this one gave it for all its temporary files.
  static func removeGiven() {
    let path = NSTemporaryDirectory()
    guard URL(fileURLWithPath: path).lastPathComponent.hasPrefix(prefix) else { return }
    try? FileManager.default.removeItem(atPath: path)
  }
}
