package import Files
import Glibc
import System

/// The outcome for a recording's file that may have been deleted while it was written.
package enum RecordingRescue {
  /// The file is at its path.
  case notNeeded
  /// Its contents were copied to another file; the reason says what happened.
  case copied(to: String, reason: String)
  case lost(reason: String)

  /// Copies a deleted file that is still open back to its path, or else to the temporary folder. Blocks.
  package init(of store: FileStore) {
    let reason: String
    do throws(SoundFileError) {
      try store.checkPresence()
      self = .notNeeded
      return
    } catch {
      reason = "\(error)"
    }
    let name = store.name.split(separator: "/").last.map(String.init) ?? store.name
    let folder = temporaryFolder
    for path in [store.name, "\(folder)/\(name)", "\(folder)/\(getpid())-\(name)"] {
      do throws(SoundFileError) {
        let copy = try FileStore(creating: path, isReplacing: false)
        do throws(SoundFileError) {
          try copy.copyBytes(of: store)
        } catch {
          copy.remove()
          throw error
        }
        self = .copied(to: path, reason: "\(reason); what was recorded is kept in \(path)")
        return
      } catch {
        continue
      }
    }
    self = .lost(reason: "\(reason); what was recorded could not be kept")
  }
}

extension FileStore {
  /// Copies all of another store. Blocks.
  fileprivate func copyBytes(of other: FileStore) throws(SoundFileError) {
    let count = try other.byteCount()
    var offset: Int64 = 0
    while offset < count {
      let size = Int(min(1 << 20, count - offset))
      guard let bytes = try other.bytes(at: offset, count: size) else { break }
      try write(bytes, at: offset)
      offset += Int64(size)
    }
    try synchronize()
  }
}
