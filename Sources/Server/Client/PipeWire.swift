import CJack
import Glibc
import Logging
import System

/// PipeWire, whose JACK library and daemon replace JACK's.
package enum PipeWire {
  /// True if the JACK library in use is PipeWire's: the process was started with it, or has joined it.
  package static var isLibrary: Bool { libraryVersion.contains("PipeWire") }

  /// Version of the JACK library in use, such as “3.1.4.2 (using PipeWire 1.4.2)”.
  private static var libraryVersion: String { unsafe String(cString: jack_get_version_string()) }

  /// Path of PipeWire's JACK library, which the dynamic linker completes.
  private static let library = "/usr/$LIB/pipewire-0.3/jack/libjack.so.0"

  /// Uses PipeWire's JACK library from now on, as `pw-jack` does from a program's start. Call it under
  /// `JackLibrary.alone`.
  ///
  /// - Returns: False if a client is open, or the library cannot be used: nothing has changed then.
  static func join() -> Bool {
    guard JackClient.open.isEmpty, unsafe cue_jack_redirect(library) == 1 else { return false }
    JackServer.quietenLibrary()
    // The linker ends this library before ours, which has loaded it.
    atexit { JackLibrary.end() }
    log.info("no jackd is running, but PipeWire is: using PipeWire's JACK library")
    return true
  }

  /// True if the library calls the shutdown callback only when its connection to the daemon is broken.
  /// Versions before 1.0 call it for harmless errors as well.
  static var tellsBrokenConnections: Bool { libraryVersion.contains(#/PipeWire [1-9]/#) }

  /// Path of the daemon's socket, found as PipeWire's library does; nil if no environment variable
  /// tells it.
  static var socketPath: String? {
    let name = environmentVariable("PIPEWIRE_REMOTE") ?? "pipewire-0"
    if name.hasPrefix("/") { return name }
    let folder =
      environmentVariable("PIPEWIRE_RUNTIME_DIR") ?? environmentVariable("XDG_RUNTIME_DIR")
    return folder.map { "\($0)/\(name)" }
  }

  /// True if a daemon of this user accepts connections.
  static var isRunning: Bool {
    socketPath.map { LocalSocket.accepts($0) } ?? false
  }

  /// Path of `pw-jack`, which runs programs with PipeWire's JACK library; nil if it is not
  /// installed.
  static var launcher: String? { findProgram("pw-jack") }

  /// Sets properties of the node of the client that `body` opens. The user's own in PIPEWIRE_PROPS
  /// take precedence.
  ///
  /// The library reads them from the environment only. The variable is never removed, because other
  /// threads may read the environment meanwhile, and only removal moves its entries.
  static func withProperties<R>(_ properties: [(name: String, value: String)], _ body: () -> R) -> R
  {
    guard isLibrary, !properties.isEmpty else { return body() }
    let users = environmentVariable("PIPEWIRE_PROPS") ?? ""
    let text = properties.map { "\($0.name) = \(quoted($0.value))" }.joined(separator: " ")
    unsafe setenv("PIPEWIRE_PROPS", "{ \(text) \(withoutBraces(users)) }", 1)
    defer { unsafe setenv("PIPEWIRE_PROPS", users, 1) }
    return body()
  }

  /// Returns a string quoted for PipeWire's configuration.
  private static func quoted(_ text: String) -> String {
    let characters = text.unicodeScalars.map { scalar in
      switch scalar {
      case "\"", "\\": "\\\(scalar)"
      case _ where scalar.value < 32: " "
      default: "\(scalar)"
      }
    }
    return "\"\(characters.joined())\""
  }

  /// Returns the content of an object, with or without braces around it.
  private static func withoutBraces(_ text: String) -> Substring {
    let trimmed = text.drop { $0.isWhitespace }
    guard trimmed.first == "{", let end = trimmed.lastIndex(of: "}") else { return trimmed }
    return trimmed[..<end].dropFirst()
  }
}
