import Foundation
import TestSupport
import Testing

/// The log of the library in a program that uses the C API.
@Suite(.tags(.program)) struct LogTests {
  /// Runs `nulls.c`, in which many calls fail, and returns what it prints on standard error.
  private func messages(level: String) throws -> [Substring] {
    let binary = try ProgramBuilds.shared.get().build("nulls.c", isSanitized: false)
    let result = try run(
      binary.path, ["without-a-server"],
      environment: [
        "JACK_DEFAULT_SERVER": "cuejack-test-none", "JACK_NO_START_SERVER": "1",
        "LD_LIBRARY_PATH": "", "CUEJACK_LOG": level,
      ])
    expectEqual(result.status, 0, "\(result)")
    return result.errors.split(separator: "\n")
  }

  @Test(arguments: ["", "error"]) func failedCallsAreNotLoggedByDefault(level: String) throws {
    try expectEqual(messages(level: level), [])
  }

  /// An app may ask a queue again and again for what it does not have yet: that is logged for
  /// debugging only.
  @Test(arguments: [("warning", "AudioConverterNew"), ("debug", "AudioQueueEnqueueBuffer")])
  func theReasonsOfFailedCallsAreLogged(level: String, function: String) throws {
    let messages = try messages(level: level)
    expectTrue(messages.contains { $0.hasPrefix("cuejack: \(function): ") }, "\(messages)")
    expectTrue(messages.allSatisfy { $0.hasPrefix("cuejack: ") }, "\(messages)")
  }

  @Test func aLevelThatDoesNotExistIsReported() throws {
    let messages = try messages(level: "loud")
    expectTrue(messages.count == 1 && messages[0].contains("“loud”"), "\(messages)")
  }
}
