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
  package var bundles: [String] { entries.filter(Self.isBundle) }
  /// Paths of what has no manifest, each with a slash at its end.
  var unfinished: [String] { entries.filter { !Self.isBundle($0) } }

  private var entries: [String] {
    paths.flatMap { folder in
      FileFacts.names(inFolder: folder).map { "\(folder)/\($0)/" }
    }
  }

  /// Path of LV2's own bundle, which names the classes of plugins; nil if there is none.
  var vocabulary: String? { paths.map { $0 + "/core.lv2/" }.first(where: Self.isBundle) }

  private static func isBundle(_ path: String) -> Bool {
    unsafe access(path + "manifest.ttl", F_OK) == 0
  }
}
