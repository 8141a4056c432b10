import Foundation
import SessionSupport
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// The addresses of a running session.
@Suite(.tags(.server, .program), .serialized) struct SessionControlsTests {
  /// Runs `body` with a session that has one of everything, and a client of its remote control.
  private func withSession(
    mode: SessionTransport.Mode = .none,
    _ body: (ManagedProgram, RemoteClient, JackDaemon, URL) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      let stereo = try WaveFile("stereo.wav", in: folder, frames: 480_000)
      let mono = try WaveFile("mono.wav", in: folder, channels: 1, frames: 480_000, seed: 2)
      let jack = try JackDaemon(rate: 48000, period: 256)
      var document = session([("drums", [stereo]), ("voice", [mono]), ("hit", [mono])])
      document.tracks[0].chain = [
        SessionPlugin(id: "amp", uri: "http://lv2plug.in/plugins/eg-amp")
      ]
      document.buses = [SessionBus(name: "main"), SessionBus(name: "keys")]
      document.buses[1].channels = 1
      // It has parameters, which are set by messages.
      document.buses[1].chain = [
        SessionPlugin(id: "sampler", uri: "http://lv2plug.in/plugins/eg-sampler")
      ]
      document.buses[0].chain = [SessionPlugin(id: "amp2", uri: "http://lv2plug.in/plugins/eg-amp")]
      document.tracks[0].bus = "main"
      document.recordings = ["one", "two"].map {
        SessionRecording(name: $0, ports: ["system:capture_1"], file: "\($0).wav")
      }
      document.sends = [SessionSend(name: "far", bus: "main", to: "127.0.0.1:9700")]
      document.groups = [SessionGroup(name: "hits", tracks: ["hit"], trigger: .osc("/hit"))]
      document.scenes = [SessionScene(name: "dry", values: ["tracks[voice].mute": .flag(true)])]
      document.transport.mode = mode
      _ = try SessionStore(creating: folder.path + "/s", document)
      let program = try ManagedProgram(
        ["session", "run", folder.path + "/s", "--no-connect"],
        environment: jack.environment.merging([
          "LV2_PATH": "/usr/lib/lv2", "XDG_RUNTIME_DIR": folder.path,
        ]) { $1 }, executable: builtProduct(named: "cuejack").path)
      let line = try program.value(after: "session: server ")
      let port = try require(line.firstMatch(of: /UDP port (\d+)/)).output.1
      let client = try RemoteClient(
        of: OSCAddress(port: try require(UInt16(port))), patience: 60)
      try body(program, client, jack, folder)
    }
  }

  private func value(_ address: String, _ client: RemoteClient) throws -> OSCValue? {
    try client.values(of: "/cuejack/\(address)").first?.arguments.first
  }

  @Test func namesStandForNumbers() throws {
    try withSession { _, client, _, _ in
      for (target, address) in [
        ("tracks[drums].chain[amp].parameters.gain", "tracks/1/plugins/1/gain"),
        ("tracks/drums/plugins/amp/gain", "tracks/1/plugins/1/gain"),
        ("tracks/1/plugins/amp/gain", "tracks/1/plugins/1/gain"),
        ("tracks[0].chain[0].parameters.gain", "tracks/1/plugins/1/gain"),
        ("buses[keys].chain[sampler].bypass", "buses/2/bypass/1"),
        ("tracks[drums].chain[none].bypass", nil), ("tracks/none/gain", nil),
      ] {
        let found = try client.address(of: target)
        expectEqual(found, address.map { "/cuejack/\($0)" }, "\(target)")
      }
    }
  }

  @Test func theAddressesAreThoseOfTheirPage() throws {
    try withSession { _, client, _, _ in
      let page = text(of: repository.appendingPathComponent("docs/remote.md"))
      let rows = page.split(separator: "\n").filter {
        $0.hasPrefix("| `/cuejack/") && $0.contains(/\| (session|all)\b[^|]*\|/)
      }
      let nodes = try client.nodes()
      var met: Set<String> = []
      for node in nodes where node.address != "/hit" {
        let address = node.address
          .replacing(/(tracks|buses|sends|recordings|groups|scenes)\/\d+/) { "\($0.output.1)/N" }
          .replacing(/plugins\/\d+\/.*/, with: "plugins/M/SYMBOL")
          .replacing(/(bypass|id)\/\d+/) { "\($0.output.1)/M" }
        met.insert(address)
        expectTrue(
          rows.contains {
            $0.contains("`\(address)`") && $0.contains("| \(node.kind.rawValue) |")
          }, "\(address)")
      }
      let listed = rows.flatMap { row in
        row.matches(of: /`(\/cuejack\/[A-Za-z\/]+)`/).map { String($0.output.1) }
      }.filter {
        ![
          "get", "list", "subscribe", "unsubscribe", "ping", "node", "subscribed", "unsubscribed",
          "pong", "alive", "remark",
        ].contains($0.dropFirst(9))
      }
      expectTrue(Set(listed).subtracting(met).isEmpty)
      // Every value has the types of its node.
      for node in nodes where node.kind != .action {
        let values = try require(try client.values(of: node.address).first?.arguments)
        expectEqual(values.count, node.types.count)
        for (tag, value) in zip(node.types, values) {
          expectTrue(value.tag == tag || tag == "T" && value.tag == "F", "\(node.address)")
        }
      }
    }
  }

  @Test func everyParameterIsSetAndRead() throws {
    try withSession { _, client, _, folder in
      for node in try client.nodes() where node.kind == .parameter {
        let old = try require(try client.values(of: node.address).first?.arguments.first)
        let new: OSCValue
        if case .bool(let flag) = old {
          new = .bool(!flag)
        } else if case .string = old {
          new = .string("dry")
        } else {
          let (low, high) = (node.lowest ?? 0, node.highest ?? 1)
          new = .float(Float(low + (high - low) / 4))
        }
        try client.send(OSCMessage(node.address, new))
        // The cycle passes parameters on.
        try wait(for: "\(node.address) \(new)") {
          try client.values(of: node.address).first?.arguments == [new]
        }
      }
      let document = try SessionStore.read(folder.path + "/s").document
      expectTrue(document.tracks[0].mute && document.tracks[1].solo && document.buses[0].mute)
      expectTrue(document.tracks[0].chain.allSatisfy(\.bypass) && document.buses[0].chain[0].bypass)
      expectTrue(document.tracks[0].volume == -84 && document.tracks[0].pan == -0.5)
      expectEqual(document.buses[0].gain, -84)
      expectEqual(document.tracks[0].chain[0].parameters, ["gain": -61.5])
    }
  }

  @Test func theKeysOfTheTerminalHaveAddresses() throws {
    try withSession { program, client, _, folder in
      try client.send(OSCMessage("/cuejack/armed", .bool(true)))
      try expectEqual(value("recordings/2/armed", client), .bool(true))
      try client.send(OSCMessage("/cuejack/recordings/2/armed", .bool(false)))
      try expectEqual(value("armed", client), .bool(false))
      try client.send(OSCMessage("/cuejack/start"))
      try expectEqual(value("running", client), .bool(true))
      try expectEqual(value("recording", client), .bool(true))
      try wait(for: "sound") { try value("position", client)?.number ?? 0 > 0.1 }
      try wait(for: "peaks") { try value("tracks/1/peak", client)?.number ?? -120 > -12 }
      try client.send(OSCMessage("/cuejack/pause"))
      try expectEqual(value("running", client), .bool(false))
      try client.send(OSCMessage("/cuejack/locate", .double(2)))
      try client.send(OSCMessage("/cuejack/move", .double(-0.5)))
      try expectEqual(value("position", client), .double(1.5))
      try client.send(OSCMessage("/cuejack/move", .double(-5)))
      try expectEqual(value("position", client), .double(0))
      try client.send(OSCMessage("/cuejack/stop"))
      try expectEqual(value("recording", client), .bool(false))
      expectTrue(FileManager.default.fileExists(atPath: "\(folder.path)/s/one.wav"))
      expectTrue(!FileManager.default.fileExists(atPath: "\(folder.path)/s/two.wav"))
      // To arm is no edit.
      try expectEqual(value("dirty", client), .bool(false))
      try client.send(OSCMessage("/cuejack/tracks/1/gain", .float(-6)))
      try expectEqual(value("dirty", client), .bool(true))
      try client.send(OSCMessage("/cuejack/save"))
      try expectEqual(value("dirty", client), .bool(false))
      #expect(throws: RemoteError.self) { try client.send(OSCMessage("/cuejack/next")) }
      try client.send(OSCMessage("/cuejack/quit"))
      expectEqual(program.child.wait(seconds: 60), 0)
    }
  }

  @Test func groupsStartByThemselves() throws {
    try withSession { _, client, _, _ in
      try expectEqual(value("groups/1/name", client), .string("hits"))
      try client.send(OSCMessage("/cuejack/start"))
      try expectEqual(value("groups/1/motion", client), .string("stopped"))
      try client.send(OSCMessage("/hit"))
      try expectEqual(value("groups/1/motion", client), .string("playing"))
      try wait(for: "sound") { try value("groups/1/position", client)?.number ?? 0 > 0 }
      try client.send(OSCMessage("/cuejack/groups/1/pause"))
      try expectEqual(value("groups/1/motion", client), .string("paused"))
      try expectEqual(value("running", client), .bool(true))
      try client.send(OSCMessage("/cuejack/groups/1/locate", .double(1)))
      try expectEqual(value("groups/1/position", client), .double(1))
      try client.send(OSCMessage("/cuejack/groups/1/start"))
      try expectEqual(value("groups/1/motion", client), .string("playing"))
      try client.send(OSCMessage("/cuejack/groups/1/stop"))
      try expectEqual(value("groups/1/motion", client), .string("stopped"))
    }
  }

  @Test func aStartOnAFrameIsOnThatFrame() throws {
    try withSession { _, client, jack, _ in
      let capture = try CaptureClient(on: jack, channels: 1, capacity: 48000)
      try capture.connect("session:voice_1", toInput: 1)
      let now = try require(try value("frame", client)?.number)
      #expect(throws: RemoteError.self) {
        try client.send(OSCMessage("/cuejack/start/at", .long(Int64(now) - 1)))
      }
      capture.arm()
      let frame = Int64(try require(try value("frame", client)?.number)) + 24000
      try client.send(OSCMessage("/cuejack/start/at", .long(frame)))
      try require(capture.wait(untilFrames: 36000))
      let samples = capture.samples(channel: 0)
      let first = try require(samples.firstIndex { $0 != 0 })
      expectEqual(capture.firstFrame &+ UInt32(first), UInt32(truncatingIfNeeded: frame))
    }
    try withSession(mode: .follow) { _, client, _, _ in
      #expect(throws: RemoteError.self) {
        try client.send(OSCMessage("/cuejack/start/at", .long(1 << 40)))
      }
    }
  }

  @Test func partsOfAddressesHaveNoPatterns() {
    expectEqual(PluginValue.part("a/b *{}"), "a_b____")
    expectEqual(PluginValue.part("gain-1"), "gain-1")
  }
}
