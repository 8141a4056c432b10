import Foundation
import TestSupport
import Testing

/// The sessions of the repository, run by `cuejack session run` on a server.
@Suite(.serialized) struct SessionRunTests {
  @Test(arguments: ["duo", "mix", "record"]) func anExampleRuns(name: String) throws {
    try withTemporaryFolder { folder in
      let demo = folder.appendingPathComponent("demo")
      #expect(try run(builtProduct(named: "make-sessions").path, [demo.path]).status == 0)
      let session = folder.appendingPathComponent(name)
      try FileManager.default.copyItem(
        at: repository.appendingPathComponent("sessions/\(name)"), to: session)
      let jack = try JackDaemon(rate: 48000, period: 1024)
      let cuejack = try builtProduct(named: "cuejack").path
      var environment = try pluginEnvironment(folder)
      environment["NSM_URL"] = ""
      let result = try run(
        cuejack,
        [
          "session", "run", session.path, "--server", jack.name, "--play", "--seconds", "2",
          "--threads", "2",
        ],
        environment: environment)
      #expect(
        result.status == 0
          && result.errors.split(separator: "\n").allSatisfy { $0.contains("recorded") },
        "\(result)")
      if name == "record" {
        let info = try run(cuejack, ["info", "\(session.path)/takes/take.wav"])
        #expect(info.output.contains("channels:  2") && info.output.contains("24-bit"), "\(info)")
      }
    }
  }
}
