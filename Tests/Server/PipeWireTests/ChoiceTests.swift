import Foundation
import Server
import TestSupport
import Testing

/// Selection of the server where PipeWire runs or its library is loaded.
@Suite(.tags(.pipeWire, .program), .serialized) struct ChoiceTests {
  /// Whether no other server uses the default name.
  static let isFree = !JackServer(named: "default").isRunning

  @Test(.enabled(if: isFree)) func theCommandUsesPipeWireBeforeItStartsJackd() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let daemon = try PipeWireDaemon()
      var environment = daemon.environment
      environment["LD_LIBRARY_PATH"] = nil
      let result = try play([file.path, "--no-connect"], environment: environment)
      expectEqual(
        result.errors,
        "cuejack: no jackd is running, but PipeWire is: using PipeWire's JACK library\n")
      expectTrue(result.output.contains("server default, client cuejack-play"))
      // It refuses if the user asks for a server of that name.
      let refused = try play([file.path, "--server", "none"], environment: environment)
      expectEqual(refused.status, 1)
      expectEqual(refused.errors, "cuejack: no JACK server named “none” is running\n")
      environment["JACK_NO_START_SERVER"] = "1"
      let alone = try play([file.path], environment: environment)
      expectTrue(alone.status == 1 && alone.errors.contains("JACK_NO_START_SERVER"), "\(alone)")
    }
  }

  @Test(.enabled(if: isFree)) func sessionsUsePipeWireBeforeTheyStartJackd() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let daemon = try PipeWireDaemon()
      var environment = daemon.environment
      environment["LD_LIBRARY_PATH"] = nil
      environment["NSM_URL"] = nil
      let session = folder.appendingPathComponent("take").path
      let made = try cuejack("session", ["new", session, file.path], environment: environment)
      expectEqual(made.status, 0, "\(made)")
      let result = try cuejack(
        "session", ["run", session, "--play", "--once", "--no-connect", "--no-remote"],
        environment: environment)
      expectEqual(result.status, 0, "\(result)")
      expectTrue(
        result.errors.hasPrefix(
          "cuejack: no jackd is running, but PipeWire is: using PipeWire's JACK library\n"))
      expectTrue(result.output.contains("server default, client take"), "\(result)")
    }
  }

  /// Whether the linker binds calls when they are made or at the program's start.
  @Test(.enabled(if: isFree), arguments: ["", "1"])
  func programsUsePipeWireBeforeTheyStartJackd(bindsNow: String) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 48_000)
      let daemon = try PipeWireDaemon()
      var environment = daemon.environment
      environment["LD_LIBRARY_PATH"] = nil
      environment["LD_BIND_NOW"] = bindsNow
      let capture = try JackPeer.capture(PipeWireDaemon.monitors, on: daemon)
      let result = try run(
        builtProduct(named: "player-swift").path, [file.path],
        environment: playEnvironment(environment))
      expectEqual(result.status, 0, "\(result)")
      try capture.end().expect(file.samples)
      // A server that the user asks for is no PipeWire.
      environment["JACK_DEFAULT_SERVER"] = "none"
      environment["JACK_NO_START_SERVER"] = "1"
      let refused = try run(
        builtProduct(named: "player-swift").path, [file.path],
        environment: playEnvironment(environment))
      expectTrue(refused.status != 0, "\(refused)")
    }
  }

  /// The first client loads PipeWire's library: the device has its name before, too.
  @Test(.enabled(if: isFree)) func theDeviceIsNamedAfterPipeWireFromTheBeginning() throws {
    let daemon = try PipeWireDaemon()
    var environment = daemon.environment
    environment["LD_LIBRARY_PATH"] = ""
    let result = try ClientProgram("devices").run(["-d"], environment: environment)
    expectEqual(result.status, 0, "\(result)")
    expectTrue(result.output.contains("  name: PipeWire\n"), "\(result)")
    expectTrue(result.output.contains("  made by: PipeWire\n"), "\(result)")
  }

  @Test func noJackdIsStartedUnderPipeWiresLibrary() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let daemon = try PipeWireDaemon()
      daemon.stop()
      let result = try play([file.path], environment: daemon.environment)
      expectEqual(result.status, 1)
      expectTrue(
        result.errors.hasPrefix("cuejack: PipeWire does not answer (\(daemon.folder.path)/")
          && !result.errors.contains("started"), "\(result)")
    }
  }
}
