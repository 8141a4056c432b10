import Foundation
import Glibc

/// A plugin's library, loaded for as long as this lives. Any thread.
///
/// The other libraries that it brings along stay when it goes: several of them (GLib's, Qt's) cannot be
/// loaded a second time in one process, while a plugin's own must go for some plugins to bear another rate.
@safe
final class PluginLibrary {
  private let handle: UnsafeMutableRawPointer

  /// Loads the library at a path.
  ///
  /// - Throws: `HostError.libraryNotLoaded`.
  init(_ path: String, of uri: String) throws(HostError) {
    let before = Self.loaded()
    guard let handle = unsafe dlopen(path, RTLD_NOW) else {
      let reason = unsafe dlerror().map { unsafe String(cString: $0) }
      throw .libraryNotLoaded(uri: uri, reason: reason ?? "\(path) does not load")
    }
    unsafe self.handle = unsafe handle
    let own = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let brought = Self.loaded().subtracting(before).subtracting([own])
    for other in brought where other.contains(".so") {
      // Their own handle is let go of at once: they stay all the same.
      if let kept = unsafe dlopen(other, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) {
        unsafe dlclose(kept)
      }
    }
    if brought.contains(where: { $0.contains("/libQt") }) { Self.tellQtThatThereIsNoScreen() }
  }

  deinit { unsafe dlclose(handle) }

  /// Full paths of the libraries that are loaded now.
  private static func loaded() -> Set<String> {
    guard let maps = unsafe fopen("/proc/self/maps", "r") else { return [] }
    defer { unsafe fclose(maps) }
    var paths: Set<String> = []
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { unsafe free(line) }
    while unsafe getline(&line, &capacity, maps) > 0 {
      guard let path = unsafe line.flatMap({ unsafe strchr($0, CInt(UInt8(ascii: "/"))) }) else {
        continue
      }
      unsafe paths.insert(String(cString: path).trimmingCharacters(in: .newlines))
    }
    return paths
  }

  /// Plugins that use Qt for more than their windows end the process where there is no screen, unless Qt
  /// knows that it needs none.
  private static func tellQtThatThereIsNoScreen() {
    for name in ["DISPLAY", "WAYLAND_DISPLAY"] where unsafe getenv(name) != nil { return }
    unsafe setenv("QT_QPA_PLATFORM", "offscreen", 0)
  }
}
