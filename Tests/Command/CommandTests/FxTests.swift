import Foundation
import TestSupport
import Testing

/// `cuejack fx`: plugins between JACK ports.
@Suite(.tags(.server, .program), .serialized) struct FxTests {
  private static let amp = "http://lv2plug.in/plugins/eg-amp"
  private let environment: [String: String]
  private let folder: OwnFolder

  /// A folder that is removed with the suite.
  private final class OwnFolder {
    let url: URL
    init() throws { url = try makeTemporaryFolder() }
    deinit { try? FileManager.default.removeItem(at: url) }
  }

  init() throws {
    folder = try OwnFolder()
    environment = ["LV2_PATH": "/usr/lib/lv2", "XDG_CACHE_HOME": folder.url.path]
  }

  private func start(_ arguments: [String], on server: JackDaemon) throws -> Playing {
    try Playing(
      "fx", arguments + ["--server", server.name], in: folder.url,
      environment: environment)
  }

  /// Samples of an emitter come out of the chain unchanged, each in the cycle in which it went in.
  @Test(arguments: [1, 2]) func soundPassesBitForBitWithinItsCycle(channels: Int) throws {
    let server = try JackDaemon(period: 256)
    let emitter = try Emitter(on: server, channels: channels)
    let capture = try CaptureClient(on: server, channels: channels, capacity: 1 << 16)
    let player = try start(
      ["--plugin", "eg-amp", "--channels", "\(channels)"]
        + ["--connect-in", "emitter", "--connect-out", "capture", "--name", "amp"], on: server)
    try player.wait(for: "amp:out_\(channels) -> capture:in_\(channels)")
    expectTrue(player.output.contains("plugins: client amp\n"), "\(player.output)")
    expectTrue(player.output.contains("amp:in_1 <- emitter:out_1"), "\(player.output)")
    // No cycle is late in freewheel mode.
    try capture.setFreewheel(true)
    capture.arm()
    try require(capture.wait(untilFrames: 8192))
    capture.disarm()
    try capture.setFreewheel(false)
    expectEqual(capture.gaps, [])
    for channel in 0..<channels {
      let wrong = capture.samples(channel: channel).enumerated().count {
        $0.element
          != Emitter.sample(at: capture.firstFrame &+ UInt32($0.offset), channel: channel)
      }
      expectEqual(wrong, 0)
    }
    let graph = try cuejack("graph", ["amp"])
    expectTrue(graph.status == 0 && graph.output.contains(Self.amp), "\(graph)")
    player.send(signal: SIGINT)
    let result = try player.result()
    expectTrue(result.status == 0 && result.errors == "", "\(result)")
    expectTrue(result.output.contains("amp: processed "), "\(result)")
    withExtendedLifetime(emitter) {}
  }

  /// A controller from `midi_in` moves the gain of a chain that ends by itself.
  @Test func controllersMoveControlsUntilTheTimeIsOver() throws {
    let server = try JackDaemon(period: 256)
    let emitter = try Emitter(on: server, channels: 1)
    let keys = try Keys(on: server)
    let capture = try CaptureClient(on: server, channels: 1, capacity: 1 << 17)
    let player = try start(
      ["--plugin", Self.amp, "--connect-in", "emitter", "--connect-out", "capture"]
        + ["--midi-in", "keys:out", "--map", "cc7=1:gain:-20..20", "--seconds", "4"], on: server)
    try player.wait(for: "cuejack-fx:midi_in <- keys:out")
    try keys.play([Keys.Message(capture.cycleFrame &+ 4096, [0xb0, 7, 0])])
    capture.arm()
    // The gain falls to a tenth.
    try require(capture.wait(untilFrames: 32_000))
    capture.disarm()
    let last = try require(capture.samples(channel: 0).indices.last)
    let sent = Emitter.sample(at: capture.firstFrame &+ UInt32(last), channel: 0)
    expectTrue(abs(capture.samples(channel: 0)[last] - sent * 0.1) < 0.02 * sent)
    let result = try player.result()
    expectTrue(result.status == 0 && result.errors == "", "\(result)")
    expectTrue(result.output.contains("cuejack-fx: processed 192000 frames"), "\(result)")
    withExtendedLifetime(emitter) {}
  }

  /// An instrument has no inputs, and sounds on its note.
  @Test func anInstrumentPlaysWhatArrives() throws {
    let server = try JackDaemon(period: 256)
    let keys = try Keys(on: server)
    let capture = try CaptureClient(on: server, channels: 2, capacity: 6 * server.rate)
    let player = try start(
      ["--plugin", "MDA Piano", "--connect-out", "capture", "--midi-in", "keys"], on: server)
    try player.wait(for: "cuejack-fx:midi_in <- keys:out")
    expectEqual(capture.ports(matching: "cuejack-fx:in", .inputs), [])
    expectTrue(player.output.contains("cuejack-fx:out_2 -> capture:in_2"), "\(player.output)")
    let frame = capture.cycleFrame &+ UInt32(4 * server.rate)
    try keys.play([Keys.Message(frame, [0x90, 60, 100])])
    try capture.setFreewheel(true)
    capture.arm()
    try require(capture.wait(untilFrames: 1))
    let begin = Int(frame &- capture.firstFrame)
    try require((0..<5 * server.rate).contains(begin))
    try require(capture.wait(untilFrames: begin + 9600))
    capture.disarm()
    try capture.setFreewheel(false)
    let heard = capture.samples(channel: 0)
    expectTrue(heard[..<begin].allSatisfy { $0 == 0 })
    expectTrue(heard[begin..<(begin + 4800)].contains { abs($0) > 0.01 })
    player.send(signal: SIGTERM)
    try expectEqual(player.result().status, 0)
  }

  /// A crash of an isolated plugin is told, and the sound passes.
  @Test func aLostPluginIsAFailure() throws {
    let server = try JackDaemon(period: 512)
    let player = try start(
      ["--plugin", "eg-amp:gain=-20", "--isolate", Self.amp, "--no-connect"], on: server)
    try player.wait(for: "512 frames of latency")
    for process in childProcesses(of: player.processIdentifier) { kill(process, SIGKILL) }
    try player.waitForError("“Simple Amplifier” crashed (Killed): its input passes unchanged")
    player.send(signal: SIGINT)
    try expectEqual(player.result().status, 1)
  }

  /// Frames in which no server ran, or counted anew, are not processed.
  @Test func theServersReturnIsAwaited() throws {
    let server = try JackDaemon(period: 256)
    let begin = ContinuousClock.now
    let player = try start(["--plugin", Self.amp, "--no-connect"], on: server)
    try player.wait(for: "plugins: client cuejack-fx")
    // The next server counts its frames from another number.
    let before: UInt32 = 96_000
    do {
      let capture = try CaptureClient(on: server, channels: 1, capacity: 1 << 10)
      let frame = capture.cycleFrame
      try wait(for: "frames of the first server") { capture.cycleFrame &- frame > before }
    }
    server.kill()
    try player.waitForError("waiting until it is back")
    try server.start()
    try player.waitForError("is back: the sound goes on")
    let capture = try CaptureClient(on: server, channels: 1, capacity: 1 << 10)
    expectTrue(capture.waitForPort(named: "cuejack-fx:out_1"))
    player.send(signal: SIGINT)
    let result = try player.result()
    expectEqual(result.status, 0)
    let processed = try require(
      result.output.firstMatch(of: #/processed (\d+) frames/#).flatMap { Int($0.output.1) })
    // A server runs no more frames than its rate gives it.
    let passed = (ContinuousClock.now - begin) / .seconds(1)
    expectTrue(processed >= before, "\(result)")
    expectTrue(Double(processed) <= passed * Double(server.rate), "\(result)")
  }

  /// Gain, bypass and the end by keys, as they are heard.
  @Test func keysChangeTheGainAndBypass() throws {
    let server = try JackDaemon(period: 256)
    let emitter = try Emitter(on: server, channels: 1)
    let capture = try CaptureClient(on: server, channels: 1, capacity: 1 << 20)
    let terminal = try PseudoTerminal(
      builtProduct(named: "cuejack").path,
      ["fx", "--plugin", "\(Self.amp):gain=-20", "--connect-in", "emitter"]
        + ["--connect-out", "capture", "--server", server.name], environment: environment)
    try terminal.wait(for: "cuejack-fx:out_1 -> capture:in_1")
    capture.arm()
    func hears(_ factor: Float) -> Bool {
      let count = capture.capturedFrames
      guard count > 0 else { return false }
      let sent = Emitter.sample(at: capture.firstFrame &+ UInt32(count - 1), channel: 0)
      return abs(capture.samples(channel: 0)[count - 1] - sent * factor) < 0.02 * sent
    }
    try terminal.wait("the plugin") { hears(0.1) }
    terminal.type("b")
    try terminal.wait(for: "bypassed")
    try terminal.wait("the bypass") { hears(1) }
    terminal.type("\u{1B}[B\u{1B}[B")
    try terminal.wait(for: "gain -2 dB")
    try terminal.wait("the gain") { hears(powf(10, -0.1)) }
    terminal.type("?q")
    expectEqual(terminal.wait(seconds: 30), 0)
    expectTrue(terminal.text.contains("b  bypass"))
    withExtendedLifetime(emitter) {}
  }

  @Test(arguments: [
    ([], "name a plugin: --plugin URI"),
    (["--plugin", "eg-amp", "--channels", "0"], "--channels takes a number from 1 to 64"),
    (["--plugin", "eg-amp", "--seconds", "0"], "--seconds takes a time greater than 0"),
    (["--plugin", "eg-amp", "--connect-wait", "1"], "--connect-wait is for --connect-in"),
    (["--plugin", "eg-amp", "--map", "cc7=2:gain"], "--map: there is no plugin 2"),
  ])
  func whatMakesNoSenseIsNamed(options: [String], message: String) throws {
    let result = try cuejack("fx", options)
    expectTrue(result.status == 64 && result.errors.contains(message), "\(result)")
  }

  @Test func whatIsNotThereIsNamed() throws {
    let server = try JackDaemon()
    for (options, message) in [
      (["--plugin", "eg-amp:loud=1"], "no such control as “loud”; its controls are “gain”"),
      (["--plugin", "eg-amq"], "did you mean “eg-amp”"),
      (["--plugin", "eg-amp", "--connect-in", "nobody"], "--connect-in “nobody”: no output port"),
      (["--plugin", "eg-amp", "--connect-out", "nobody"], "--connect-out “nobody”: no input port"),
      (["--plugin", "eg-amp", "--midi-in", "keys"], "--midi-in: no plugin takes MIDI"),
    ] {
      let result = try start(options, on: server).result()
      expectTrue(result.status == 1 && result.errors.contains(message), "\(result)")
    }
  }
}
