import Foundation
import Server
import Synchronization
import System
import TestSupport
import Testing

/// Servers that Cuejack starts because none is running.
@Suite(.serialized) struct StartedServerTests {
  @Test func aServerDoesNotEndUnderAClientThatIsOpenedMeanwhile() throws {
    try withStartedServers { server in
      for round in 0..<10 {
        let first = try server.openClient(named: "first")
        let isClosed = DispatchSemaphore(value: 0)
        startThread(named: "closing") {
          first.close()
          isClosed.signal()
        }
        usleep(UInt32(200 * round))
        let second = try server.openClient(named: "second")
        isClosed.wait()
        // Registering a port would fail if the server had ended.
        let port = try second.addPort(named: "out", .output)
        second.removePort(port)
        second.close()
      }
      expectTrue(!server.isRunning)
    }
  }

  /// jackd refuses clients before its first cycle, and a second jackd of its name from its first moment.
  @Test func aServerThatAnotherProgramHasJustStartedIsAwaited() throws {
    try withStartedServers { server in
      for round in 0..<5 {
        let jackd = Process()
        jackd.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        jackd.arguments = ["jackd", "-n", server.name, "-r", "-d", "dummy"]
        (jackd.standardOutput, jackd.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try jackd.run()
        usleep(UInt32(40_000 * round))
        let client = try server.openClient(named: "a")
        client.close()
        jackd.terminate()
        jackd.waitUntilExit()
      }
    }
  }

  @Test func theCommandLineOfTheUsersConfigurationIsUsed() throws {
    try withStartedServers(configuration: "jackd -r\n -d dummy -r44100   -p 256\n") { server in
      let client = try server.openClient(named: "a")
      defer { client.close() }
      expectTrue(client.sampleRate == 44100 && client.periodFrames == 256)
    }
  }

  @Test(arguments: [
    ("/no/such/jackd -d dummy", "“/no/such/jackd”, which is no program"),
    ("jackd -d no-such-driver", "its command line is from"),
  ]) func aConfigurationThatDoesNotWorkIsNamed(command: String, words: String) throws {
    try withStartedServers(configuration: command) { server in
      let error = try #require(throws: ServerError.self) { _ = try server.openClient(named: "a") }
      expectTrue(error.description.contains(words), "\(error)")
      expectTrue(error.description.contains("/.jackdrc"), "\(error)")
    }
  }

  /// Runs `body` with an unused default server name and with `configuration` as ~/.jackdrc.
  private func withStartedServers(
    configuration: String? = nil, _ body: (JackServer) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      if let configuration {
        try Data(configuration.utf8).write(to: folder.appendingPathComponent(".jackdrc"))
      }
      let changes = ["HOME": folder.path, "JACK_DEFAULT_SERVER": "cuejack-test-own-\(getuid())"]
      let old = changes.keys.map { ($0, ProcessInfo.processInfo.environment[$0]) }
      for (name, value) in changes { setenv(name, value, 1) }
      defer {
        for (name, value) in old {
          if let value { setenv(name, value, 1) } else { unsetenv(name) }
        }
      }
      try body(JackServer())
    }
  }
}
