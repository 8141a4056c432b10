import CTestSupport
import Foundation
import System

/// A child process with output to files, which ends with the test process at the latest. Any thread.
package final class Child: @unchecked Sendable {
  private let child: OpaquePointer

  /// Starts `executable`, found in PATH if its name has no slash. The child inherits the descriptor
  /// `kept`.
  package init(
    _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
    folder: URL? = nil, output: URL, errors: URL? = nil, kept: Int32 = -1
  ) throws {
    let path = try Self.find(executable)
    let words = ([executable] + arguments).map { strdup($0.systemName) } + [nil]
    let settings =
      (environment ?? ProcessInfo.processInfo.environment).map { strdup("\($0)=\($1)") } + [nil]
    defer { for string in words + settings { free(string) } }
    guard
      let child = cue_child_start(
        path, words, settings, folder?.path, output.path, (errors ?? output).path, kept)
    else {
      throw SupportError("\(path) does not start: \(String(cString: strerror(errno)))")
    }
    self.child = child
  }

  deinit { cue_child_free(child) }

  package var processIdentifier: Int32 { cue_child_pid(child) }

  /// Waits for the exit. Returns the exit code, 128 plus the signal number if a signal ended the
  /// process, or nil if it has not ended after `seconds`.
  package func wait(seconds: Double) -> Int32? {
    var status: Int32 = 0
    guard cue_child_wait(child, seconds, &status) else { return nil }
    let signal = status & 0x7f
    return signal == 0 ? (status >> 8) & 0xff : 128 + signal
  }

  /// Processor time of the ended process, user plus system, in seconds; 0 while it runs.
  package var processorSeconds: Double { cue_child_cpu_seconds(child) }

  package func send(signal: Int32) { cue_child_signal(child, signal) }

  /// Sends SIGTERM, and SIGKILL if the process still runs after `seconds`. Returns once it has ended.
  package func end(seconds: Double = 10) {
    send(signal: SIGTERM)
    if wait(seconds: seconds) != nil { return }
    send(signal: SIGKILL)
    _ = wait(seconds: 60)
  }

  private static func find(_ executable: String) throws -> String {
    if executable.contains("/") { return executable }
    guard let path = findProgram(executable) else {
      throw SupportError("there is no \(executable) in PATH")
    }
    return path
  }
}

/// The exit status and the output of a command.
package struct CommandResult: Sendable {
  /// Exit code, or 128 plus the number of the signal that ended it.
  package var status: Int32
  package var output: String
  package var errors: String

  package init(status: Int32, output: String, errors: String) {
    self.status = status
    self.output = output
    self.errors = errors
  }

  /// Whether this is the end of a whole recording, or of one that lacks frames because the machine was too busy.
  package var isRecorded: Bool {
    let mayLack = errors.contains("not recorded")
    if mayLack && output.contains("frames of silence") { return status == 1 }
    return status == 0 || mayLack && status == 1
  }
}

/// Runs a command until it exits. `environment` is added to that of the test. It throws if the command
/// does not start, or does not exit within `timeout` seconds; then it kills the command.
package func run(
  _ command: String, _ arguments: [String] = [], environment: [String: String] = [:],
  folder: URL? = nil, timeout: Double = 120
) throws -> CommandResult {
  try withTemporaryFolder { work in
    let output = work.appendingPathComponent("output")
    let errors = work.appendingPathComponent("errors")
    let child = try Child(
      command, arguments,
      environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
      folder: folder, output: output, errors: errors)
    let status = child.wait(seconds: timeout)
    if status == nil { child.end() }
    let result = CommandResult(
      status: status ?? -1, output: text(of: output), errors: text(of: errors))
    if status == nil {
      throw SupportError(
        "\(command) ran longer than \(timeout) s\n\(result.output)\(result.errors)")
    }
    return result
  }
}

/// An error of the test support.
package struct SupportError: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// Returns the text of a file in any encoding; empty if the file does not exist.
package func text(of file: URL) -> String {
  // Not through Data, which leaks when it reads an empty file or one of /proc. LeakSanitizer reports
  // that.
  guard let stream = fopen(file.path, "rb") else { return "" }
  defer { fclose(stream) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 1 << 16)
  while case let count = fread(&chunk, 1, chunk.count, stream), count > 0 {
    bytes += chunk[..<count]
  }
  return String(decoding: bytes, as: UTF8.self)
}
