import CGlibc
import Files
import Glibc
import System

/// The sound files of a folder.
enum SoundFolder {
  /// Folders within folders.
  private static let mostDepth = 32
  private static let mostFiles = 100_000

  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path.systemName, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Returns the paths of the sound files in a folder and the folders in it, relative to it. The order is
  /// the natural one: 2 comes before 10. Hidden names are left out; links to folders are not followed.
  static func files(in folder: String) throws(SoundFileError) -> [String] {
    var found: [String] = []
    try collect(folder, "", 0, &found)
    return found
  }

  static func emptyError(_ folder: String) -> SoundFileError {
    SoundFileError(.notSupported("there are no sound files in this folder"), path: folder)
  }

  private static func collect(
    _ folder: String, _ prefix: String, _ depth: Int, _ found: inout [String]
  ) throws(SoundFileError) {
    guard let names = System.names(inFolder: folder) else {
      throw SoundFileError(errno: errno, path: folder)
    }
    for name in names.sorted(by: isBefore) where !name.beginsWithBytes(of: ".") {
      var status = stat()
      guard unsafe lstat("\(folder)/\(name)".systemName, &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR {
        guard depth < mostDepth else {
          throw SoundFileError(
            .notSupported("more than \(mostDepth) folders in folders"), path: folder)
        }
        try collect("\(folder)/\(name)", "\(prefix)\(name)/", depth + 1, &found)
      } else if Container.readExtensions.contains(name.pathExtension.dropFirst().lowercased()) {
        guard found.count < mostFiles else {
          throw SoundFileError(.notSupported("more than \(mostFiles) sound files"), path: folder)
        }
        found.append(prefix + name)
      }
    }
  }

  /// Returns true if a name comes before another in natural order; case counts only between equal names.
  private static func isBefore(_ a: String, _ b: String) -> Bool {
    let order = unsafe cue_strverscmp(a.lowercased(), b.lowercased())
    return order == 0 ? a.utf8.lexicographicallyPrecedes(b.utf8) : order < 0
  }
}
