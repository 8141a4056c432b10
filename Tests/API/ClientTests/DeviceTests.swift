import Foundation
import TestSupport
import Testing

/// The programs of `Tests/API/Clients` that use the hardware API.
@Suite(.tags(.server, .program), .serialized) struct ClientDeviceTests {
  @Test(arguments: ClientProgram.Language.allCases)
  func theDefaultDeviceIsListed(language: ClientProgram.Language) throws {
    let jack = try JackDaemon(period: 256, playbackPorts: 4)
    let result = try ClientProgram("devices", language).run(["-d"], environment: jack.environment)
    expectTrue(result.status == 0 && result.errors == "", "\(result)")
    let expected = """
      1 devices
      device 1
        name: JACK: \(jack.name)
        made by: JACK
        uid: jack:\(jack.name)
        channels: 2 in, 4 out
        rate: 48000
        possible rates: 48000 to 48000
        buffer: 256 frames
        alive: 1

      """
    expectEqual(result.output, expected)
  }

  @Test func aServerThatGoesAndReturnsIsTold() throws {
    let jack = try JackDaemon(period: 1024)
    try withTemporaryFolder { folder in
      let output = folder.appendingPathComponent("output")
      let errors = folder.appendingPathComponent("errors")
      let child = try Child(
        ClientProgram("devices").built().path, ["-d", "-w"],
        environment: playEnvironment(jack.environment).merging(["LD_LIBRARY_PATH": ""]) { $1 },
        output: output, errors: errors)
      func changes(_ property: String) -> Int {
        text(of: output).components(separatedBy: "changed: \(property)\n").count - 1
      }
      try wait(for: "the program to watch") { text(of: output).contains("watching\n") }
      jack.stop()
      // A busy machine may hold up the cycles of a server, which then is not alive for a moment.
      do {
        try wait(for: "the server's end to be told") {
          changes("livn") % 2 == 1 && changes("dev#") >= 1
        }
        try jack.start()
        try wait(for: "the server's return to be told") {
          changes("livn") >= 2 && changes("livn") % 2 == 0 && changes("dev#") >= 2
        }
      } catch {
        throw SupportError("\(error)\n\(text(of: output))\(text(of: errors))")
      }
      child.send(signal: SIGINT)
      expectEqual(child.wait(seconds: 60), 0, "\(text(of: output))\(text(of: errors))")
      let lists = text(of: output).components(separatedBy: "  alive: 1\n").count - 1
      expectTrue(lists >= 2, "\(text(of: output))")
    }
  }

  /// Otherwise the size is that of the process alone.
  @Test(arguments: [false, true]) func theServersPeriodIsSetIfTheEnvironmentSaysSo(asks: Bool)
    throws
  {
    let jack = try JackDaemon(period: 1024, playbackPorts: 2)
    try withTemporaryFolder { folder in
      let output = folder.appendingPathComponent("output")
      let child = try Child(
        ClientProgram("ioproc").built().path, ["256"],
        environment: playEnvironment(jack.environment).merging([
          "LD_LIBRARY_PATH": "", "CUEJACK_SET_PERIOD": asks ? "1" : "",
        ]) { $1 }, output: output)
      try wait(for: "the program") {
        text(of: output).contains("recording\n") || child.wait(seconds: 0) != nil
      }
      let result = try ClientProgram("devices").run(["-d"], environment: jack.environment)
      expectTrue(result.output.contains("buffer: \(asks ? 256 : 1024) frames\n"), "\(result)")
      child.send(signal: SIGINT)
      expectEqual(child.wait(seconds: 60), 0, "\(text(of: output))")
    }
  }

  /// Calls as long as the period, shorter ones, and ones that need a buffer in between.
  @Test func whatAnIOProcPassesOnIsHeard() throws {
    try withTemporaryFolder { folder in
      let sound = Sounds.samples(rate: 48000)
      let source = folder.appendingPathComponent("source.wav").path
      try writeWave(sound, to: source)
      var cases = ["", "512", "480"].map {
        ClientRecordingTests.Case(program: ClientProgram("ioproc"), file: $0)
      }
      cases.append(ClientRecordingTests.Case(program: ClientProgram("ioproc", .cxx), file: ""))
      let wrong = try onServers(cases) { item, lane in
        let card = try lane.card()
        let result = try ClientRecordingTests.feed(
          item.program, item.file == "" ? [] : [item.file], source, on: lane, in: folder)
        let recording = try card.end()
        guard result.status == 0, result.errors == "" else { return "\(result)" }
        return difference(heard: recording, sound)
      }
      expectTrue(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }
  }
}
