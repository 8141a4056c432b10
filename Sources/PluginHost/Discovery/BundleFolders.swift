import FoundationEssentials
import Glibc
import System

/// The folders in which LV2 bundles are installed, in the order in which lilv searches them.
package struct BundleFolders: Hashable, Sendable {
  package let paths: [String]

  #if arch(arm64)
    private static let machine = "aarch64"
  #else
    private static let machine = "x86_64"
  #endif

  /// - Parameter path: The folders, separated by colons; nil for LV2_PATH or, if that is not set, lilv's
  ///   own default.
  package init(_ path: String? = nil) {
    let path =
      path ?? environmentVariable("LV2_PATH")
      ?? "~/.lv2:/usr/lib/\(Self.machine)-linux-gnu/lv2:/usr/lib/lv2:/usr/local/lib/lv2"
    paths = path.split(separator: ":").map {
      $0.hasPrefix("~") ? homeFolder + $0.dropFirst() : String($0)
    }
  }

  /// Paths of all bundles, readable or not, each with a slash at its end.
  package var bundles: [String] {
    paths.flatMap { folder in
      FileFacts.names(inFolder: folder).map { "\(folder)/\($0)/" }.filter(Self.isBundle)
    }
  }

  /// Path of LV2's own bundle, which names the classes of plugins; nil if there is none.
  var vocabulary: String? { paths.map { $0 + "/core.lv2/" }.first(where: Self.isBundle) }

  private static func isBundle(_ path: String) -> Bool {
    unsafe access(path + "manifest.ttl", F_OK) == 0
  }
}

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
