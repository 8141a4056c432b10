import Foundation

/// A running `cuejack play` or other `cuejack` command.
package final class Playing {
  private let child: Child
  private let outputFile: URL
  private let errorFile: URL

  /// Starts `cuejack play`. `environment` is added to that of the test.
  package convenience init(
    _ arguments: [String], in folder: URL, environment: [String: String] = [:]
  ) throws {
    try self.init("play", arguments, in: folder, environment: environment)
  }

  /// Starts a command.
  package init(
    _ command: String, _ arguments: [String], in folder: URL,
    environment: [String: String] = [:]
  ) throws {
    let name = UUID().uuidString
    outputFile = folder.appendingPathComponent("\(name).output")
    errorFile = folder.appendingPathComponent("\(name).errors")
    child = try Child(
      builtProduct(named: "cuejack").path, [command] + arguments,
      environment: playEnvironment(environment), output: outputFile, errors: errorFile)
  }

  package var output: String { text(of: outputFile) }
  package var errors: String { text(of: errorFile) }

  /// Waits until the standard output contains `words`.
  package func wait(for words: String) throws {
    let end = Date(timeIntervalSinceNow: 60)
    while !output.contains(words) {
      if child.wait(seconds: 0.005) != nil, !output.contains(words) {
        throw SupportError("it ended without saying “\(words)”:\n\(output)\(errors)")
      }
      if Date() > end { throw SupportError("it does not say “\(words)”:\n\(output)\(errors)") }
    }
  }

  /// Waits until the standard error contains `words` at least `times` times.
  package func waitForError(_ words: String, times: Int = 1) throws {
    let end = Date(timeIntervalSinceNow: 60)
    while errors.components(separatedBy: words).count <= times {
      if child.wait(seconds: 0.005) != nil || Date() > end {
        throw SupportError("it does not say “\(words)” \(times) times:\n\(output)\(errors)")
      }
    }
  }

  package var processIdentifier: Int32 { child.processIdentifier }

  package func send(signal: Int32) { child.send(signal: signal) }

  /// Waits for the exit and returns the result.
  package func result(seconds: Double = 60) throws -> CommandResult {
    guard let status = child.wait(seconds: seconds) else {
      throw SupportError("it does not end:\n\(output)\(errors)")
    }
    return CommandResult(status: status, output: output, errors: errors)
  }
}

/// Returns the test's environment without variables that change how servers are found.
package func playEnvironment(_ changes: [String: String] = [:]) -> [String: String] {
  var environment = ProcessInfo.processInfo.environment
  environment["JACK_NO_START_SERVER"] = nil
  environment["JACK_DEFAULT_SERVER"] = nil
  environment["XDG_RUNTIME_DIR"] = nil
  environment["PIPEWIRE_RUNTIME_DIR"] = nil
  return environment.merging(changes) { $1 }
}

/// Runs `cuejack play` until it exits.
package func play(_ arguments: [String], environment: [String: String] = [:]) throws
  -> CommandResult
{
  try cuejack("play", arguments, environment: environment)
}

/// Runs a `cuejack` command until it exits.
package func cuejack(
  _ command: String, _ arguments: [String], environment: [String: String] = [:]
) throws -> CommandResult {
  try withTemporaryFolder { folder in
    try Playing(command, arguments, in: folder, environment: environment).result()
  }
}

/// Builds Cuejack's plugins, once, and returns an environment that finds them and Debian's. The tests of a process
/// share a cache of validation results.
package func pluginEnvironment() throws -> [String: String] { try pluginFolders.get() }

private let pluginFolders: Result<[String: String], any Error> = Result {
  let built = repository.appendingPathComponent(".build/lv2").path
  let made = try run("make", ["-C", "Plugins", "OUT=\(built)"], folder: repository)
  guard made.status == 0 else { throw SupportError("\(made.output)\(made.errors)") }
  let cache = try makeTemporaryFolder()
  atexit {
    if case .success(let folders) = pluginFolders {
      try? FileManager.default.removeItem(atPath: folders["XDG_CACHE_HOME"]!)
    }
  }
  return ["LV2_PATH": "\(built):/usr/lib/lv2", "XDG_CACHE_HOME": cache.path]
}
