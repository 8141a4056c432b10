import Foundation
import TestSupport
import Testing

/// `cuejack play --isolate`: plugins in processes of their own.
@Suite(.tags(.server, .program), .serialized) struct IsolateTests {
  private static let amp = "http://lv2plug.in/plugins/eg-amp"
  private static let limiter = "urn:cuejack:plugins:limiter"

  private func wait(_ what: String, _ condition: () throws -> Bool) throws {
    let end = Date() + 30
    while try !condition() {
      if Date() > end { throw SupportError("waited in vain for \(what)") }
      usleep(5000)
    }
  }

  @Test func aFileIsWrittenAsWithoutIt() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, frames: 20_011)
      let chain = ["--plugin", "\(Self.amp):gain=-6", "--plugin", "\(Self.limiter):ceiling=-3"]
      let environment = try pluginEnvironment()
      let sounds = try [[], ["--isolate", "all"], ["--isolate", Self.limiter]].enumerated().map {
        i, isolate in
        let out = folder.appendingPathComponent("out\(i).wav")
        let result = try play(
          [file.path] + chain + isolate + ["--render", out.path], environment: environment)
        expectTrue(result.status == 0 && result.errors == "", "\(result)")
        expectEqual(result.output, "\(out.path): wrote 20011 frames\n")
        return try decoded(out, as: "f32le") as [Float]
      }
      expectTrue(sounds[1] == sounds[0] && sounds[2] == sounds[0])
      expectEqual(sounds[0].count, 40_022)
    }
  }

  @Test func soundIsHeardOnTheFrameThatWasAsked() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, frames: 24_100)
      let recording = try Recording(
        channels: 2, in: folder,
        [
          [file.path, "--volume", "0.25", "--plugin", Self.limiter, "--isolate", Self.limiter]
            + ["--connect", "capture:in_1,capture:in_2"]
        ], environment: pluginEnvironment())
      for channel in 0..<2 { recording.expect(channel, file.samples[channel].map { $0 * 0.25 }) }
      let result = recording.results[0]
      expectEqual(result.status, 0, "\(result)")
      // Before the start the server may have been too busy.
      expectTrue(result.errors.split(separator: "\n").allSatisfy { $0.contains("was late") })
      // One block of the server's cycles, plus the limiter's look-ahead.
      expectTrue(result.output.contains("\(4096 + 240) frames of latency"), "\(result)")
    }
  }

  @Test func aPluginThatNobodyNamedIsAUsageError() throws {
    let result = try play([
      "a.wav", "--plugin", "\(Self.amp)#loud:gain=1", "--isolate", Self.limiter,
    ])
    expectEqual(result.status, 64, "\(result)")
    expectTrue(result.errors.contains("--isolate \(Self.limiter): no --plugin is that one"))
    let none = try play(["a.wav", "--isolate", "all"])
    expectTrue(none.status == 64 && none.errors.contains("--isolate all"), "\(none)")
    let trusted = try play(["a.wav", "--plugin", Self.amp, "--trust", Self.amp])
    expectEqual(trusted.status, 64, "\(trusted)")
    expectTrue(
      trusted.errors.contains("--trust \(Self.amp): no --plugin with --isolate is that one"))
  }

  /// What the kernel holds about the plugin's process, confined and trusted.
  @Test(arguments: [false, true]) func onlyATrustedPluginIsUnconfined(isTrusted: Bool) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, channels: 1, frames: 48_000)
      let server = try JackDaemon(period: 512)
      let player = try Playing(
        [file.path, "--loop", "--plugin", Self.amp, "--isolate", "all"]
          + (isTrusted ? ["--trust", "all"] : []) + ["--server", server.name], in: folder,
        environment: pluginEnvironment())
      try player.wait(for: "start frame")
      let process = try require(childProcesses(of: player.processIdentifier).first)
      let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
      expectTrue(status.contains("NoNewPrivs:\t\(isTrusted ? 0 : 1)\n"))
      expectTrue(status.contains("Seccomp:\t\(isTrusted ? 0 : 2)\n"))
      player.send(signal: SIGTERM)
      let result = try player.result()
      expectTrue(result.errors.isEmpty, "\(result)")
    }
  }

  /// Playback continues without the plugin, and the command also reports it at the end.
  @Test func aKilledPluginIsTold() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, channels: 1, frames: 48_000)
      let server = try JackDaemon(period: 512)
      let capture = try CaptureClient(on: server, channels: 1, capacity: 20 * server.rate)
      let player = try Playing(
        [file.path, "--loop", "--plugin", "\(Self.amp):gain=-20", "--isolate", "all"]
          + ["--server", server.name, "--connect", "capture:in_1"], in: folder,
        environment: pluginEnvironment())
      try player.wait(for: "512 frames of latency")
      capture.arm()
      try require(capture.wait(untilFrames: server.rate))
      let processes = childProcesses(of: player.processIdentifier)
      expectEqual(processes.count, 1)
      for process in processes { kill(process, SIGKILL) }
      let before = capture.capturedFrames
      try player.waitForError("“Simple Amplifier” crashed (Killed): its input passes unchanged")
      try require(capture.wait(untilFrames: capture.capturedFrames + server.rate))
      capture.disarm()
      let heard = capture.samples(channel: 0)
      // A plugin that is late on a busy machine is as loud as its input then.
      let played = heard[..<before].filter { $0 != 0 }
      expectTrue(played.count { abs($0) < 0.0701 } > played.count / 3)
      expectTrue(abs(heard.suffix(server.rate / 2).max()! - 0.7) < 0.01)
      player.send(signal: SIGINT)
      try expectEqual(player.result().status, 130)
    }
  }

  @Test func thePluginGoesWithTheCommandHoweverThatEnds() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 48_000)
      let server = try JackDaemon(period: 512)
      for signal in [SIGINT, SIGKILL] {
        let player = try Playing(
          [file.path, "--loop", "--plugin", Self.amp, "--isolate", "all", "--server", server.name],
          in: folder, environment: pluginEnvironment())
        try player.wait(for: "start frame")
        let processes = childProcesses(of: player.processIdentifier)
        expectEqual(processes.count, 2)
        player.send(signal: signal)
        _ = try player.result()
        try wait("the plugins' end") { processes.allSatisfy(hasEnded) }
      }
    }
  }
}
