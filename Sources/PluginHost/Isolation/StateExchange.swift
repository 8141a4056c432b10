import FoundationEssentials
import Glibc
import Graph
import Synchronization
import System

/// The states that pass between the host and a plugin's process, which cannot use the folders of either
/// sessions or users. They pass through the temporary folder of the process. Any thread.
final class StateExchange: Sendable {
  private let scratch: ScratchFolder
  /// The copies of folders that the plugin may still use, with the folders that they are copies of.
  private let lent = Mutex<[(copy: ScratchFolder, origin: String)]>([])

  /// - Parameter scratch: The temporary folder of the process.
  init(in scratch: ScratchFolder) { self.scratch = scratch }

  /// Returns an origin from which the process can read a state. A folder is copied, with its links as they
  /// are.
  ///
  /// - Throws: `HostError.unreadableState`, `.unwritableState`.
  func lend(_ state: PluginState) throws(HostError) -> StateOrigin {
    let origin = try state.shared()
    guard case .folder(let folder) = origin else { return origin }
    let copy = ScratchFolder(in: scratch)
    guard copy.make() else {
      throw .unwritableState(folder: copy.path, reason: "it cannot be created")
    }
    do throws(HostError) {
      try copyContents(of: folder, to: copy.path) { target, _ in target }
    } catch {
      throw .unreadableState(path: folder)
    }
    lent.withLock { $0.append((copy, folder)) }
    return .folder(copy.path)
  }

  /// Removes all copies but the last: the plugin has been restored from that.
  func keepLast() {
    let old = lent.withLock { lent in
      defer { lent = lent.suffix(1) }
      return lent.dropLast()
    }
    withExtendedLifetime(old) {}
  }

  /// Saves a state to a folder, creating it if necessary, and waits until it is on disk.
  ///
  /// - Parameter save: Has the process save its state to the folder that it is given.
  /// - Throws: The error of `save`, or `HostError.unwritableState`.
  func save(to folder: String, _ save: (String) throws(HostError) -> Void) throws(HostError) {
    let saved = ScratchFolder(in: scratch)
    try save(saved.path)
    try copyContents(of: saved.path, to: folder, last: PluginState.file) { target, link in
      let original = original(of: target)
      // The state may refer to a file of the folder that it is saved to.
      return original.isSameName(as: link) ? nil : relative(original, to: String(link.pathFolder))
    }
    try StateFolder.settle(folder, copiedFrom: saved.path)
  }

  /// Returns the path of a file of the user for one in a copy.
  private func original(of path: String) -> String {
    lent.withLock { lent in
      for (copy, origin) in lent {
        if let rest = path.bytes(after: copy.path + "/") { return "\(origin)/\(rest)" }
      }
      return path
    }
  }
}

/// Copies what is in a folder to another, which is created if necessary. A copy replaces what has its name.
/// No link is followed.
///
/// - Parameters:
///   - last: Name of the file that is copied last: before that, the folder has the old one.
///   - target: Returns where a link shall lead, or nil to leave it out. Called with the absolute path that
///     the original leads to, and the path of the new link.
/// - Throws: `HostError.unwritableState`.
func copyContents(
  of folder: String, to other: String, last: String? = nil,
  linkingTo target: (String, String) -> String?
) throws(HostError) {
  guard makeFolders(other), let names = names(inFolder: folder) else {
    throw StateFolder.failure(other)
  }
  for name in names.filter({ $0 != last }) + names.filter({ $0 == last }) {
    let (old, end) = (folder + "/" + name, other + "/" + name)
    let new = "\(other)/.\(name)-\(UUID().uuidString)"
    let isCopied: Bool
    if let leadsTo = linkTarget(old) {
      guard let leadsTo = target(absolute(leadsTo, from: folder), end) else { continue }
      isCopied = unsafe symlink(leadsTo.systemName, new.systemName) == 0
    } else if fileKind(old) == S_IFDIR {
      try copyContents(of: old, to: end, linkingTo: target)
      continue
    } else {
      isCopied = copyFile(old, to: new)
    }
    if unsafe !isCopied || rename(new.systemName, end.systemName) != 0 {
      let error = StateFolder.failure(other)
      unsafe unlink(new.systemName)
      throw error
    }
  }
}

/// Returns the path that a link in `folder` leads to, without following it.
private func absolute(_ path: String, from folder: String) -> String {
  if path.isAbsolutePath { return path }
  var components = folder.pathNames
  for component in path.pathNames where component != "." {
    if component == ".." { _ = components.popLast() } else { components.append(component) }
  }
  return "/" + components.joined(separator: "/")
}

/// Returns a path as seen from a folder, so that both can move together; the path itself if they have only
/// the root in common. lilv writes links in the same way.
private func relative(_ path: String, to folder: String) -> String {
  let (target, start) = (path.pathNames, folder.pathNames)
  let common = zip(target, start).prefix { $0.isSameName(as: $1) }.count
  if common == 0 { return path }
  let up = Array(repeating: "..", count: start.count - common)
  return (up + target.dropFirst(common).map(String.init)).joined(separator: "/")
}
