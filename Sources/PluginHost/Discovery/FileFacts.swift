import Glibc
import System

/// Names, times, sizes and inodes of the files of a bundle, from the file system alone.
enum FileFacts {
  /// Returns the names in a folder, sorted; none if it cannot be read.
  static func names(inFolder path: String) -> [String] {
    System.names(inFolder: path)?.sorted() ?? []
  }

  /// Returns a number that changes when a file below `folder` is added, removed, replaced or written: a
  /// hash of the names, modification times, sizes and inodes.
  static func stamp(ofBundle folder: String) -> String {
    var hash = FNVHash()
    var status = stat()
    if unsafe stat(folder, &status) == 0 { hash.add(UInt64(status.st_ino)) }
    add(folder.hasSuffix("/") ? String(folder.dropLast()) : folder, &hash)
    return hash.text
  }

  private static func add(_ folder: String, _ hash: inout FNVHash) {
    for name in names(inFolder: folder) {
      let path = folder + "/" + name
      var status = stat()
      guard unsafe stat(path, &status) == 0 else { continue }
      hash.add(name.utf8)
      hash.add(UInt64(bitPattern: Int64(status.st_mtim.tv_sec)))
      hash.add(UInt64(status.st_mtim.tv_nsec))
      hash.add(UInt64(status.st_size))
      hash.add(UInt64(status.st_ino))
      // A link to a folder may lead back into the bundle.
      if status.st_mode & S_IFMT == S_IFDIR, unsafe lstat(path, &status) == 0,
        status.st_mode & S_IFMT == S_IFDIR
      {
        add(path, &hash)
      }
    }
  }
}
