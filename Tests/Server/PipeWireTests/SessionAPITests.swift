import Foundation
import TestSupport
import Testing

/// JACK's session API on PipeWire, which has none.
@Suite(.tags(.pipeWire, .program), .serialized) struct SessionAPITests {
  @Test func aSessionRunsWithoutIt() throws {
    let daemon = try PipeWireDaemon()
    let output = daemon.folder.appendingPathComponent("session")
    let session = try Child(
      builtProduct(named: "managed-session").path, ["--jack-session", "default"],
      environment: ProcessInfo.processInfo.environment.merging(daemon.environment) { $1 },
      output: output)
    try wait(for: "the client") { text(of: output).contains("client number") }
    expectTrue(text(of: output).contains("client number unsupported"))
    session.send(signal: SIGTERM)
    expectEqual(session.wait(seconds: 60), 0, "\(text(of: output))")
    expectTrue(text(of: output).contains("ended"))
  }
}
