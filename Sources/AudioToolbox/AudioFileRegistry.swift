import Files
import Synchronization

/// The open files by their handles. A handle is a number that is never used twice, so that one which
/// is stale or made up is recognised and never followed. Any thread.
enum AudioFileRegistry {
  private struct Table {
    var lastHandle: UInt = 0
    var files: [UInt: SoundFile] = [:]
  }
  private static let table = Mutex(Table())

  /// A new handle for an open file. Handles are never 0, and look like aligned pointers.
  static func add(_ file: SoundFile) -> UInt {
    table.withLock { table in
      table.lastHandle += 16
      table.files[table.lastHandle] = file
      return table.lastHandle
    }
  }

  /// The file of a handle, or nil if that is not open.
  static func file(_ handle: UInt) -> SoundFile? {
    table.withLock { table in table.files[handle] }
  }

  /// Forgets a handle and returns its file; reads under way on other threads keep it alive.
  static func remove(_ handle: UInt) -> SoundFile? {
    table.withLock { table in table.files.removeValue(forKey: handle) }
  }
}
