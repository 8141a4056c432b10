import Foundation
@_exported public import TestBase

/// The exit status and the output of a program.
package struct Outcome: Sendable {
  package let status: Int32
  package let output: Data
  package let errors: String
  /// The output as text.
  package var text: String { String(decoding: output, as: UTF8.self) }
}

/// An error: a required tool failed or is not installed.
package struct ToolFailure: Error, CustomStringConvertible {
  package let description: String
}

/// Runs a program, found in PATH or by its path, until it exits.
package func run(
  _ program: String, _ arguments: [String], environment: [String: String] = [:]
) throws -> Outcome {
  let scratch = try TemporaryFolder()
  let output = scratch.file("output")
  let errors = scratch.file("errors")
  for path in [output, errors] { try Data().write(to: URL(fileURLWithPath: path)) }
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = [program] + arguments
  process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
  process.standardInput = FileHandle.nullDevice
  process.standardOutput = FileHandle(forWritingAtPath: output)
  process.standardError = FileHandle(forWritingAtPath: errors)
  try process.run()
  process.waitUntilExit()
  return Outcome(
    status: process.terminationStatus, output: try Data(contentsOf: URL(fileURLWithPath: output)),
    errors: String(decoding: try Data(contentsOf: URL(fileURLWithPath: errors)), as: UTF8.self))
}

/// Runs a tool and throws if it fails.
@discardableResult
package func tool(_ program: String, _ arguments: [String]) throws -> Outcome {
  let outcome = try run(program, arguments)
  guard outcome.status == 0 else {
    throw ToolFailure(description: "\(program) \(arguments): \(outcome.errors)")
  }
  return outcome
}

/// A temporary folder, removed with this object.
package final class TemporaryFolder: Sendable {
  package let path: String

  /// Creates a folder that other users can read.
  package init() throws {
    path = NSTemporaryDirectory() + "/cuejack-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Returns the path of a file in the folder.
  package func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file and returns its path.
  package func write(_ data: Data, to name: String) throws -> String {
    try data.write(to: URL(fileURLWithPath: file(name)))
    return file(name)
  }
}

/// Returns the folder of the package's built programs and libraries.
package func buildFolder() throws -> String {
  var folder = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
  // Swift Testing runs in the toolchain's helper or in the test bundle itself.
  for argument in CommandLine.arguments where argument.hasSuffix(".xctest") {
    folder = URL(fileURLWithPath: argument)
  }
  folder = folder.resolvingSymlinksInPath()
  while folder.path != "/" {
    folder.deleteLastPathComponent()
    if FileManager.default.fileExists(atPath: folder.appendingPathComponent("cuejack").path) {
      return folder.path
    }
  }
  throw ToolFailure(description: "the built cuejack was not found")
}

/// Returns the root of the first Swift toolchain in PATH.
package func toolchain() throws -> String {
  for folder in (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") {
    let swift = URL(fileURLWithPath: "\(folder)/swift").resolvingSymlinksInPath()
    let root = swift.deletingLastPathComponent().deletingLastPathComponent().path
    if FileManager.default.fileExists(atPath: "\(root)/lib/swift/CoreFoundation") { return root }
  }
  throw ToolFailure(description: "no Swift toolchain in PATH")
}
