import FoundationEssentials
import Glibc
import Graph
import System

/// A plugin's shared library, loaded for the lifetime of this object. Any thread.
///
/// Its dependencies stay loaded afterwards: some of them (GLib, Qt) cannot be loaded twice in one
/// process. The plugin's own library must be unloaded, because some plugins support a new sample rate
/// only then.
@safe
final class PluginLibrary {
  private let handle: UnsafeMutableRawPointer

  /// Loads the library at a path.
  ///
  /// - Throws: `HostError`: `.notPermitted`, `.libraryNotLoaded`.
  init(_ path: String, of uri: String) throws(HostError) {
    if unsafe faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0, errno == EACCES {
      throw .notPermitted(uri: uri, library: path)
    }
    // Another instance has loaded it, with its dependencies.
    if let handle = unsafe dlopen(path, RTLD_NOW | RTLD_NOLOAD) {
      unsafe self.handle = unsafe handle
      return
    }
    let before = Self.loaded()
    guard let handle = unsafe dlopen(path, RTLD_NOW) else {
      let reason = unsafe dlerror().map { unsafe String(cString: $0) }
      throw .libraryNotLoaded(uri: uri, reason: reason ?? "\(path) does not load")
    }
    unsafe self.handle = unsafe handle
    let own = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let brought = Self.loaded().subtracting(before).subtracting([own])
    for other in brought where other.contains(".so") {
      // Close the extra handle at once: `RTLD_NODELETE` keeps the library loaded.
      if let kept = unsafe dlopen(other, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) {
        unsafe dlclose(kept)
      }
    }
    if brought.contains(where: { $0.contains("/libQt") }) { Self.tellQtThatThereIsNoScreen() }
  }

  deinit { unsafe dlclose(handle) }

  /// Returns the absolute paths of all loaded libraries.
  private static func loaded() -> Set<String> {
    var paths: Set<String> = []
    for line in text(ofSystemFile: "/proc/self/maps")?.split(separator: "\n") ?? [] {
      if let start = line.firstIndex(of: "/") { paths.insert(String(line[start...])) }
    }
    return paths
  }

  /// Tells Qt to run without a display if there is none. Otherwise it ends the process in plugins that
  /// use Qt for more than their windows.
  private static func tellQtThatThereIsNoScreen() {
    for name in ["DISPLAY", "WAYLAND_DISPLAY"] where unsafe getenv(name) != nil { return }
    unsafe setenv("QT_QPA_PLATFORM", "offscreen", 0)
  }
}
