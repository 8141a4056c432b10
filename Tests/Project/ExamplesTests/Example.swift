import Foundation
import TestSupport
import Testing

/// Calls `body` with a program of `Examples/`, built like its users build it.
func withExample(_ folderName: String, program: String, _ body: (String) throws -> Void) throws {
  let installation = try ProgramBuilds.shared.get().installation
  try withTemporaryFolder { folder in
    // A copy, so that the build neither needs nor changes the repository.
    let example = folder.appendingPathComponent(folderName)
    try FileManager.default.copyItem(
      at: repository.appendingPathComponent("Examples/\(folderName)"), to: example)
    let built = try run(
      "make", ["-B"],
      environment: ["PKG_CONFIG_PATH": installation.appendingPathComponent("lib/pkgconfig").path],
      folder: example)
    try require(built.status == 0, "\(built.errors)")
    try body(example.appendingPathComponent(program).path)
  }
}

/// A running program whose commands a test types.
final class TypedProgram {
  private let child: Child
  private let outputFile: URL
  private let errorFile: URL
  /// The writing end of the program's standard input; -1 once it is closed.
  private var input: Int32

  init(_ program: String, _ arguments: [String] = [], on server: JackDaemon, in folder: URL) throws
  {
    let name = UUID().uuidString
    let pipe = folder.appendingPathComponent("\(name).input").path
    outputFile = folder.appendingPathComponent("\(name).output")
    errorFile = folder.appendingPathComponent("\(name).errors")
    guard mkfifo(pipe, 0o600) == 0 else { throw SupportError("mkfifo: \(errno)") }
    // For reading as well, so that neither side waits for the other.
    input = open(pipe, O_RDWR | O_CLOEXEC)
    child = try Child(
      "sh", ["-c", "exec \"$@\" < \"$0\"", pipe, program] + arguments,
      environment: ProcessInfo.processInfo.environment.merging(
        ["JACK_DEFAULT_SERVER": server.name, "LD_LIBRARY_PATH": ""]) { $1 },
      output: outputFile, errors: errorFile)
  }

  deinit {
    if input >= 0 { close(input) }
    child.end()
  }

  var output: String { text(of: outputFile) }

  /// Types lines, each with a line end.
  func type(_ lines: String...) {
    let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
    _ = write(input, bytes, bytes.count)
  }

  /// Ends the input and waits for the exit.
  func end() throws -> CommandResult {
    // Once the shell has opened the pipe: otherwise it would wait for another writer. A program that has ended has no
    // such link.
    try wait(for: "the program") {
      (try? FileManager.default.destinationOfSymbolicLink(
        atPath: "/proc/\(child.processIdentifier)/exe"))?.hasSuffix("sh") != true
    }
    close(input)
    input = -1
    guard let status = child.wait(seconds: 60) else {
      throw SupportError("it does not end:\n\(output)\(text(of: errorFile))")
    }
    return CommandResult(status: status, output: output, errors: text(of: errorFile))
  }
}

extension CaptureClient {
  /// Waits for a number of periods.
  func wait(periods: Int, of server: JackDaemon) throws {
    guard wait(untilFrames: capturedFrames + periods * server.period) else {
      throw SupportError("no cycles come")
    }
  }

  /// The recording of all its channels.
  var recording: [[Float]] { (0..<channels).map { samples(channel: $0) } }
}

/// Says at which frame two sounds differ by more than `tolerance` first; nil if they do not.
func difference(_ found: [Float], _ expected: [Float], tolerance: Float) -> String? {
  guard found.count == expected.count else {
    return "\(found.count) frames instead of \(expected.count)"
  }
  return found.indices.first { !(abs(found[$0] - expected[$0]) <= tolerance) }.map {
    "frame \($0): \(found[$0]) instead of \(expected[$0])"
  }
}

/// Returns the frames from the first to the last that is not silent on all channels.
func sound(_ channels: [[Float]]) -> [[Float]] {
  guard let first = channels.compactMap({ $0.firstIndex { $0 != 0 } }).min(),
    let last = channels.compactMap({ $0.lastIndex { $0 != 0 } }).max()
  else { return channels.map { _ in [] } }
  return channels.map { Array($0[first...last]) }
}
