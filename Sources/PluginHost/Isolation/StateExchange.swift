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
    do {
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
    do throws(HostError) {
      try save(saved.path)
    } catch {
      if case .unwritableState(_, let reason) = error {
        throw .unwritableState(folder: folder, reason: reason)
      }
      throw error
    }
    do {
      try copyContents(of: saved.path, to: folder, last: PluginState.file) { target, link in
        let original = original(of: target)
        // The state may refer to a file of the folder that it is saved to.
        return original == link ? nil : relative(original, to: parent(of: link))
      }
    } catch {
      throw .unwritableState(folder: folder, reason: StateFolder.reason(of: error))
    }
    try StateFolder.settle(folder, copiedFrom: saved.path)
  }

  /// Returns the path of a file of the user for one in a copy.
  private func original(of path: String) -> String {
    lent.withLock { lent in
      for (copy, origin) in lent where path.hasPrefix(copy.path + "/") {
        return origin + path.dropFirst(copy.path.count)
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
func copyContents(
  of folder: String, to other: String, last: String? = nil,
  linkingTo target: (String, String) -> String?
) throws {
  let files = FileManager.default
  try files.createDirectory(atPath: other, withIntermediateDirectories: true)
  let names = try files.contentsOfDirectory(atPath: folder)
  for name in names.filter({ $0 != last }) + names.filter({ $0 == last }) {
    let (old, end) = (folder + "/" + name, other + "/" + name)
    let new = "\(other)/.\(name)-\(UUID().uuidString)"
    if let leadsTo = try? files.destinationOfSymbolicLink(atPath: old) {
      guard let leadsTo = target(absolute(leadsTo, from: folder), end) else { continue }
      try files.createSymbolicLink(atPath: new, withDestinationPath: leadsTo)
    } else if try files.attributesOfItem(atPath: old)[.type] as? FileAttributeType
      == .typeDirectory
    {
      try copyContents(of: old, to: end, linkingTo: target)
      continue
    } else {
      try files.copyItem(atPath: old, toPath: new)
    }
    if unsafe rename(new, end) != 0 {
      let reason = unsafe String(cString: strerror(errno))
      try? files.removeItem(atPath: new)
      throw HostError.unwritableState(folder: other, reason: reason)
    }
  }
}

private func parent(of path: String) -> String {
  URL(fileURLWithPath: path).deletingLastPathComponent().path
}

/// Returns the path that a link in `folder` leads to, without following it.
private func absolute(_ path: String, from folder: String) -> String {
  if path.hasPrefix("/") { return path }
  var components = folder.split(separator: "/")
  for component in path.split(separator: "/") where component != "." {
    if component == ".." { _ = components.popLast() } else { components.append(component) }
  }
  return "/" + components.joined(separator: "/")
}

/// Returns a path as seen from a folder, so that both can move together; the path itself if they have only
/// the root in common. lilv writes links in the same way.
private func relative(_ path: String, to folder: String) -> String {
  let (target, start) = (path.split(separator: "/"), folder.split(separator: "/"))
  let common = zip(target, start).prefix { $0 == $1 }.count
  if common == 0 { return path }
  let up = Array(repeating: "..", count: start.count - common)
  return (up + target.dropFirst(common).map(String.init)).joined(separator: "/")
}
