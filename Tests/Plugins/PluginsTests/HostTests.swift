import Foundation
import TestSupport
import Testing

extension PluginsTests {
  /// Tests with the hosts of other projects.
  @Suite(.tags(.server, .program)) struct HostTests {
    @Test(arguments: Bundles.plugins + ["convolver", "soundfont"])
    func lv2infoAndLv2benchTakeIt(name: String) throws {
      let bundles = try Bundles.shared
      for command in [["lv2info"], ["lv2bench", "-b", "512", "-n", "50000"]] {
        let result = try run(
          command[0], command.dropFirst() + [Bundles.uri(name)], environment: bundles.environment)
        expectEqual(result.status, 0, "\(result.errors)")
        expectTrue(result.output.contains(Bundles.uri(name)))
        expectTrue(!"\(result.errors)".lowercased().contains("error"), "\(result.errors)")
      }
    }

    /// Stereo noise through hosts that process files must equal the output of a plugin run by the test.
    @Test(arguments: Bundles.plugins) func lv2applyAndEcasoundGiveTheSameSound(name: String) throws
    {
      let bundles = try Bundles.shared
      let settings = CommonTests.busy(name)
      let plugin = try Plugin(name, settings)
      let sound = plugin.noise(6000, amplitude: 0.3)
      let expected = plugin.run(sound)
      try withTemporaryFolder { folder in
        func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
        func sox(_ arguments: [String]) throws {
          let result = try run("sox", arguments)
          guard result.status == 0 else { throw SupportError(result.errors) }
        }
        func raw(_ channels: Int) -> [String] {
          ["-t", "raw", "-e", "floating-point", "-b", "32", "-r", "48000", "-c", "\(channels)"]
        }
        let interleaved = (0..<6000).flatMap { frame in sound.map { $0[frame] } }
        try interleaved.withUnsafeBytes {
          try Data($0).write(to: folder.appendingPathComponent("in.raw"))
        }
        try sox(raw(sound.count) + [path("in.raw"), path("in.wav")])
        func compare(_ command: String, _ arguments: [String]) throws {
          let result = try run(command, arguments, environment: bundles.environment)
          expectEqual(result.status, 0, "\(result.output)\(result.errors)")
          expectTrue(!result.errors.lowercased().contains("error"), "\(result.errors)")
          try sox([path("out.wav")] + raw(expected.count) + [path("out.raw")])
          let bytes = try Data(contentsOf: folder.appendingPathComponent("out.raw"))
          let found = bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
          expectTrue(found.count >= 6000 * expected.count, "\(command)")
          var wrong = 0
          for (i, sample) in found.prefix(6000 * expected.count).enumerated()
          where abs(sample - expected[i % expected.count][i / expected.count]) > 1e-6 { wrong += 1 }
          expectEqual(wrong, 0, "\(command)")
        }
        try compare(
          "lv2apply",
          ["-i", path("in.wav"), "-o", path("out.wav")]
            + settings.flatMap { ["-c", $0.key, "\($0.value)"] } + [Bundles.uri(name)])
        // In the order of the ports.
        let values = plugin.controls.filter { plugin.ranges[$0.key] != nil }
          .sorted { $0.value < $1.value }.map { "\(plugin[$0.key])" }
        let format = "-f:f32_le"
        try compare(
          "ecasound",
          [
            "-q", "-b:256", "\(format),\(sound.count),48000", "-i", path("in.wav"),
            "\(format),\(expected.count),48000", "-o", path("out.wav"),
            "-elv2:\(Bundles.uri(name)),\(values.joined(separator: ","))",
          ])
      }
    }

    /// As a JACK client with connected input and output.
    @Test func jalvRunsEachOfThem() throws {
      let bundles = try Bundles.shared
      let server = try JackDaemon(period: 256)
      let emitter = try Emitter(on: server)
      let capture = try CaptureClient(on: server, capacity: 48000)
      for name in Bundles.plugins {
        let plugin = try Plugin(name)
        try withTemporaryFolder { folder in
          let fifo = folder.appendingPathComponent("input").path
          expectEqual(mkfifo(fifo, 0o600), 0)
          let log = folder.appendingPathComponent("log")
          // jalv exits when its standard input closes, so keep it open.
          let jalv = try Child(
            "bash", ["-c", "exec jalv -x -n hosted \(Bundles.uri(name)) 0<> \(fifo)"],
            environment: ProcessInfo.processInfo.environment
              .merging(bundles.environment) { $1 }
              .merging(["JACK_DEFAULT_SERVER": server.name]) { $1 },
            output: log)
          defer { jalv.end() }
          let mono = plugin.outputs.count == 1
          let output = mono ? "out" : "out_l"
          let input = plugin.inputs.count == 1 ? "in" : "in_l"
          try require(capture.waitForPort(named: "hosted:\(output)"), "\(text(of: log))")
          // Its ports are registered before it is activated, and cannot be connected until then.
          let deadline = Date(timeIntervalSinceNow: 30)
          while (try? capture.connect("emitter:out_1", to: "hosted:\(input)")) == nil {
            try require(Date() < deadline, "\(text(of: log))")
            usleep(1000)
          }
          try capture.connect("hosted:\(output)", toInput: 1)
          capture.arm()
          try require(capture.wait(untilFrames: 8192), "\(text(of: log))")
          capture.disarm()
          expectTrue(capture.samples(channel: 0).contains { $0 != 0 && $0.isFinite }, "\(name)")
          jalv.send(signal: SIGINT)
          expectTrue(jalv.wait(seconds: 20) != nil)
          expectTrue(!text(of: log).lowercased().contains("error"), "\(text(of: log))")
        }
      }
      withExtendedLifetime(emitter) {}
    }
  }
}
