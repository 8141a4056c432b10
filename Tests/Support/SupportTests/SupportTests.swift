import Foundation
import TestSupport
import Testing

@Suite(.tags(.program)) struct CommandTests {
  @Test func aCommandReportsStatusAndBothOutputs() throws {
    let result = try run(
      "sh", ["-c", "echo $WORD; echo err >&2; exit 7"], environment: ["WORD": "out"])
    expectTrue(
      result.status == 7 && result.output == "out\n" && result.errors == "err\n", "\(result)")
  }

  @Test func aCommandThatASignalEndsSaysSo() throws {
    try expectEqual(run("sh", ["-c", "kill -9 $$"]).status, 128 + 9)
  }

  @Test func aCommandThatDoesNotEndIsEnded() {
    #expect(throws: SupportError.self) { try run("sleep", ["60"], timeout: 0.2) }
  }

  @Test func aCommandThatIsNotThereThrows() {
    #expect(throws: SupportError.self) { try run("no-such-command-here") }
    #expect(throws: SupportError.self) { try run("/no/such/command") }
  }

  /// The children of a crashed test process end, too.
  @Test func aChildDoesNotOutliveItsParent() throws {
    let parent = """
      #include "CTestSupport.h"
      #include <signal.h>
      #include <stdio.h>
      int main(void) {
        char *arguments[] = {"sleep", "60", NULL}, *none[] = {NULL};
        cue_child *child = cue_child_start("/bin/sleep", arguments, none, NULL, "/dev/null", "/dev/null", -1);
        printf("%d\\n", child ? cue_child_pid(child) : -1);
        fflush(stdout);
        raise(SIGKILL);
      }

      """
    try withTemporaryFolder { folder in
      let source = folder.appendingPathComponent("parent.c")
      try Data(parent.utf8).write(to: source)
      let support = repository.appendingPathComponent("Tests/Support/CTestSupport").path
      let program = folder.appendingPathComponent("parent").path
      let built = try run(
        SwiftToolchain().clang,
        ["-I\(support)/include", "\(support)/Child.c", source.path, "-pthread", "-o", program])
      try require(built.status == 0, "\(built.errors)")
      let ran = try run(program)
      expectEqual(ran.status, 128 + SIGKILL)
      let child = try require(Int32(ran.output.trimmingCharacters(in: .whitespacesAndNewlines)))
      try require(child > 0)
      // An ended process that nobody has waited for is a zombie, which counts as ended.
      func runs() -> Bool {
        let status = text(of: URL(fileURLWithPath: "/proc/\(child)/status"))
        return !status.isEmpty && !status.contains("State:\tZ")
      }
      let end = Date(timeIntervalSinceNow: 10)
      while runs() && Date() < end { usleep(1000) }
      expectTrue(!runs())
    }
  }

  @Test func theToolchainHasClang() throws {
    let toolchain = try SwiftToolchain()
    try expectEqual(run(toolchain.clang, ["--version"]).status, 0)
    expectTrue(
      FileManager.default.fileExists(atPath: toolchain.swiftLibraries + "/CoreFoundation"))
  }

  @Test func theBuildHasItsProducts() throws {
    _ = try builtProduct(named: "cuejack")
    _ = try builtProduct(named: "libAudioToolbox.so")
    #expect(throws: SupportError.self) { try builtProduct(named: "nothing") }
  }
}

@Suite(.tags(.server), .serialized) struct JackDaemonTests {
  /// The capture client records every frame with the frame time that JACK gave it.
  @Test func aMinuteOfFreewheelIsCapturedWithoutAGap() throws {
    let server = try JackDaemon()
    let frames = 60 * server.rate
    let capture = try CaptureClient(on: server, capacity: frames)
    let emitter = try Emitter(on: server)
    defer { withExtendedLifetime(emitter) {} }
    for channel in 1...2 { try capture.connect("emitter:out_\(channel)", toInput: channel) }
    try capture.setFreewheel(true)
    capture.arm()
    try require(capture.wait(untilFrames: frames, deadline: 120))
    expectTrue(capture.isFull)
    expectEqual(capture.gaps, [])
    let first = capture.firstFrame
    for channel in 0..<2 {
      let wrong = capture.samples(channel: channel).enumerated().first {
        $1 != Emitter.sample(at: first &+ UInt32($0), channel: channel)
      }
      expectNil(wrong)
    }
    try capture.setFreewheel(false)
  }

  @Test func armingAgainForgetsWhatWasRecorded() throws {
    let server = try JackDaemon(rate: 44100, period: 64)
    let capture = try CaptureClient(on: server, channels: 1, capacity: 44100)
    let emitter = try Emitter(on: server, channels: 1)
    defer { withExtendedLifetime(emitter) {} }
    try capture.setFreewheel(true)
    expectEqual(capture.capturedFrames, 0)
    capture.arm()
    try require(capture.wait(untilFrames: 44100))
    expectTrue(capture.samples(channel: 0).allSatisfy { $0 == 0 })
    let first = capture.firstFrame
    try capture.connect("emitter:out_1", toInput: 1)
    capture.arm()
    try require(capture.wait(untilFrames: 100))
    capture.disarm()
    let again = capture.capturedFrames
    expectTrue(capture.firstFrame != first)
    expectEqual(
      capture.samples(channel: 0).last,
      Emitter.sample(
        at: capture.firstFrame &+ UInt32(again - 1), channel: 0))
    usleep(20_000)
    expectEqual(capture.capturedFrames, again)
  }

  @Test func portsAndConnectionsAreSeen() throws {
    let server = try JackDaemon(playbackPorts: 4, capturePorts: 1)
    let capture = try CaptureClient(on: server, channels: 1, capacity: 0)
    expectEqual(capture.ports(matching: "^system:playback_").count, 4)
    expectEqual(capture.ports(matching: "^system:", .outputs), ["system:capture_1"])
    expectEqual(capture.waitForPort(named: "emitter:out_1", deadline: 0.05), false)
    let emitter = try Emitter(on: server, channels: 1)
    defer { withExtendedLifetime(emitter) {} }
    expectTrue(capture.waitForPort(named: "emitter:out_1"))
    try capture.connect("emitter:out_1", toInput: 1)
    try capture.connect("emitter:out_1", to: "system:playback_3")
    expectEqual(
      capture.connections(of: "emitter:out_1").sorted(), ["capture:in_1", "system:playback_3"])
    try capture.disconnect("emitter:out_1", fromInput: 1)
    expectEqual(capture.connections(of: "emitter:out_1"), ["system:playback_3"])
    #expect(throws: SupportError.self) { try capture.connect("nobody:out", toInput: 1) }
  }

  @Test func aServerStopsAndComesBackUnderItsName() throws {
    let server = try JackDaemon()
    let first = server.processIdentifier
    expectTrue(server.isRunning)
    server.stop()
    expectTrue(!server.isRunning)
    #expect(throws: SupportError.self) { try CaptureClient(on: server, capacity: 0) }
    try server.start()
    server.kill()
    expectTrue(!server.isRunning)
    try server.start()
    expectTrue(server.isRunning && server.processIdentifier != first)
    _ = try CaptureClient(on: server, capacity: 0)
  }

  @Test func aClientLearnsThatItsServerIsGone() throws {
    let server = try JackDaemon()
    let capture = try CaptureClient(on: server, capacity: 0)
    server.stop()
    let end = Date(timeIntervalSinceNow: 10)
    while !capture.wasShutDown && Date() < end { usleep(1000) }
    expectTrue(capture.wasShutDown)
  }

  @Test func threeServersRunBesideOneAnother() throws {
    let servers = try (0..<3).map { _ in try JackDaemon() }
    expectEqual(Set(servers.map(\.name)).count, 3)
    expectTrue(servers.allSatisfy { $0.isRunning })
  }

  @Test func whatJackdRefusesIsToldInItsOwnWords() {
    #expect {
      try JackDaemon(maximumPorts: 100_000)
    } throws: {
      ($0 as? SupportError)?.description.contains("Failed to open server") == true
    }
  }
}
