import CPluginRunner
import FoundationEssentials
import Glibc
import System

/// What the process of an isolated plugin may read and write. It may reach nothing else: neither other
/// files, nor other processes, nor the network.
struct Confinement: Codable {
  /// Files and folders that may be read.
  private(set) var readable: [String]

  /// The folders that libraries load their code and data from, and the kernel's descriptions of the machine
  /// and of the process.
  private static let ofSystem = [
    "/usr", "/lib", "/lib32", "/lib64", "/opt", "/etc/ld.so.cache", "/etc/ld.so.preload",
    "/etc/fonts", "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd", "/proc/self",
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu", "/dev/random",
    "/dev/urandom",
  ]
  private static let devices = ["/dev/null", "/dev/zero", "/dev/full"]

  /// Allows what a plugin needs to load itself and its presets.
  ///
  /// A plugin that takes paths of files from its user, by a parameter of the type atom:Path, may read all files.
  ///
  /// - Parameter path: Folders of bundles; nil for LV2_PATH or lilv's default.
  init(of plugin: PluginDescription, path: String?) {
    if plugin.parameters.contains(where: { $0.range == LV2.atom("Path") && $0.isWritable }) {
      // The user's files are not in the kernel's folders.
      let kernel: Set = ["dev", "proc", "run", "sys"]
      readable =
        Self.ofSystem + ["/run/media"]
        + FileFacts.names(inFolder: "/").filter { !kernel.contains($0) }.map { "/" + $0 }
      return
    }
    let folders = BundleFolders(path)
    let libraries = environmentVariable("LD_LIBRARY_PATH")?.split(separator: ":").map(String.init)
    readable =
      Self.ofSystem + folders.paths + folders.bundles.filter { isLink($0) }
      + [plugin.bundle, plugin.binary].compactMap { $0 } + (libraries ?? [])
  }

  /// Confines this process, which must have no other thread.
  ///
  /// - Returns: 0, or the system's error number. Part of the confinement may be in effect then.
  func apply() -> CInt {
    let folder = temporaryFolder
    let parent = URL(fileURLWithPath: folder).deletingLastPathComponent().path
    // The program loads libraries of its own when they are needed.
    let program = unsafe realpath("/proc/self/exe", nil)
    defer { unsafe free(program) }
    let own = unsafe program.map { unsafe String(cString: $0) }
      .map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
    return unsafe withCStrings(readable + [own].compactMap { $0 }) { readable in
      unsafe withCStrings([folder]) { writable in
        unsafe withCStrings(Self.devices) { devices in
          unsafe parent.withCString { parent in
            // So that the process can remove its temporary folder.
            var confinement = unsafe cue_confinement(
              readable: readable, writable: writable, devices: devices, emptied: parent)
            return unsafe cue_confine(&confinement)
          }
        }
      }
    }
  }
}

/// Returns whether a path names a symbolic link, whether or not it has a slash at its end.
private func isLink(_ path: String) -> Bool {
  var status = stat()
  let path = path.hasSuffix("/") ? String(path.dropLast()) : path
  return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
}

/// Calls `body` with an array of C strings that ends with nil.
private func withCStrings<Result>(
  _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
  let copies = unsafe texts.map { unsafe UnsafePointer(strdup($0)) } + [nil]
  defer { unsafe copies.forEach { unsafe free(UnsafeMutableRawPointer(mutating: $0)) } }
  return unsafe copies.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
}
