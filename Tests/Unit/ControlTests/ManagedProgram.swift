import Foundation
import TestSupport

/// A `managed-session` process. Any thread.
final class ManagedProgram: Sendable {
  let child: Child
  private let output: URL

  /// Starts the program, under the name `executable` if that is not nil.
  init(
    _ arguments: [String] = [], environment: [String: String] = [:], executable: String? = nil
  ) throws {
    output = FileManager.default.temporaryDirectory.appendingPathComponent(
      "managed-\(UUID().uuidString).output")
    var variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    if environment["NSM_URL"] == nil { variables["NSM_URL"] = nil }
    child = try Child(
      executable ?? builtProduct(named: "managed-session").path, arguments,
      environment: variables, output: output)
  }

  deinit {
    child.end()
    try? FileManager.default.removeItem(at: output)
  }

  var lines: [String] { text(of: output).split(separator: "\n").map(String.init) }

  /// Waits until the program has printed a line.
  func wait(for line: String) throws {
    try TestSupport.wait(for: "“\(line)” in:\n\(lines.joined(separator: "\n"))") {
      lines.contains(line)
    }
  }

  /// Waits until the program has printed a line that begins with `start`, and returns the rest.
  func value(after start: String) throws -> String {
    try TestSupport.wait(for: "\(start) in \(lines)") { lines.contains { $0.hasPrefix(start) } }
    return String(lines.first { $0.hasPrefix(start) }!.dropFirst(start.count))
  }

  /// Number of open files, or of threads.
  func count(of things: String) -> Int {
    (try? FileManager.default.contentsOfDirectory(
      atPath: "/proc/\(child.processIdentifier)/\(things)"))?.count ?? 0
  }

  /// Resident memory in KiB.
  var memory: Int {
    let status = text(of: URL(fileURLWithPath: "/proc/\(child.processIdentifier)/status"))
    return status.firstMatch(of: /VmRSS:\s+(\d+) kB/).flatMap { Int($0.output.1) } ?? 0
  }
}
