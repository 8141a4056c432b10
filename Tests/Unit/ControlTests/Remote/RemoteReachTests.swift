import Foundation
import Server
import SessionSupport
import Sessions
import TestSupport
import Testing

/// Remote control of a session from another machine, which is a network namespace of its own.
@Suite(
  .tags(.server, .program), .serialized,
  .enabled(if: Namespaces.arePermitted, "needs root, ip and network namespaces"))
struct RemoteReachTests {
  /// The options of a session, and whether it then takes messages of the other machine.
  private static let cases: [(options: [String], isReached: Bool)] = [
    ([], false), (["--remote-host", "10.77.0.3"], false),
    (["--remote-host", Namespaces.second], true), (["--remote-host", "any"], true),
  ]

  @Test func packetsOfAnotherMachineAreDroppedUnlessTheUserNamesIt() throws {
    let jack = try JackDaemon(rate: 48000, period: 1024)
    let cuejack = try builtProduct(named: "cuejack").path
    try Namespaces.with { a, b in
      try withTemporaryFolder { folder in
        let sound = try WaveFile("a.wav", in: folder, frames: 4800)
        let path = folder.appendingPathComponent("song").path
        _ = try SessionStore(creating: path, session([("a", [sound])]))
        for (number, entry) in Self.cases.enumerated() {
          let environment = jack.environment.merging(["XDG_RUNTIME_DIR": folder.path]) { $1 }
          let program = try ManagedProgram(
            [
              "netns", "exec", a, cuejack, "session", "run", path, "--no-connect", "--name",
              "reach",
            ]
              + entry.options,
            environment: environment, executable: "ip")
          defer { program.child.end() }
          let line = try program.value(after: "session: server ")
          let port = try require(line.firstMatch(of: /UDP port (\d+)/)).output.1
          expectEqual(line.contains("10.77.0."), (entry.options.last?.hasPrefix("10") ?? false))
          /// Runs the command on one of the machines.
          func command(_ machine: String, _ words: [String]) throws -> CommandResult {
            try run(
              "ip", ["netns", "exec", machine, cuejack] + words, environment: environment)
          }
          let far = try command(
            b, ["set", "osc.udp://\(Namespaces.first):\(port)/", "tracks/1/gain=\(-6 - number)"])
          expectEqual((far.status == 0), entry.isReached, "\(entry.options): \(far)")
          if !entry.isReached { expectTrue(far.errors.contains("its --remote-host"), "\(far)") }
          let near = try command(a, ["osc", "reach", "tracks/1/gain"])
          expectEqual(near.status, 0, "\(near)")
          expectEqual(
            near.output.contains("gain \(-6 - number)"), entry.isReached,
            "\(entry.options): \(near)")
          try expectEqual(command(a, ["set", "reach", "quit"]).status, 0)
          expectEqual(program.child.wait(seconds: 60), 0, "\(program.lines)")
        }
      }
    }
  }
}
