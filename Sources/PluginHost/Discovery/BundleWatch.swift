package import Dispatch
import Glibc
import Synchronization
import System

/// Calls a function after bundles have come or gone in folders that were there when the watch began, until it is
/// released. Any thread that is not real time.
@safe
package final class BundleWatch: @unchecked Sendable {
  private let file: Int32
  private let folders: BundleFolders
  private let settle: DispatchTimeInterval
  private let changed: @Sendable () -> Void
  private let queue = DispatchQueue(label: "cuejack bundles")
  private let source: any DispatchSourceRead
  /// How often something has happened in the folders.
  private let happenings = Mutex(0)

  /// - Parameters:
  ///   - folders: The folders.
  ///   - settle: How long nothing happens in the folders before the call: bundles are copied file by file.
  ///   - changed: Called on a thread of the watch.
  package init?(
    _ folders: BundleFolders, settle: DispatchTimeInterval = .seconds(1),
    _ changed: @escaping @Sendable () -> Void
  ) {
    let file = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    if file < 0 { return nil }
    self.file = file
    self.folders = folders
    self.settle = settle
    self.changed = changed
    source = DispatchSource.makeReadSource(fileDescriptor: file, queue: queue)
    source.setEventHandler { [weak self] in self?.hear() }
    source.setCancelHandler { close(file) }
    look()
    source.activate()
  }

  deinit { source.cancel() }

  /// Watches the folders, and what may become a bundle: its files come after its folder.
  private func look() {
    let mask = UInt32(
      IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR)
    for path in folders.paths + folders.unfinished {
      _ = unsafe inotify_add_watch(file, path.systemName, mask)
    }
  }

  private func hear() {
    var events = [UInt8](repeating: 0, count: 4096)
    while unsafe read(file, &events, events.count) > 0 {}
    look()
    let number = happenings.withLock { count in
      count += 1
      return count
    }
    queue.asyncAfter(deadline: .now() + settle) { [weak self] in
      if let self, happenings.withLock({ $0 }) == number { changed() }
    }
  }
}
