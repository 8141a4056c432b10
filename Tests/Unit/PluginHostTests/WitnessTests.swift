import CRealTime
import Foundation
import Graph
import PluginHost
import Synchronization
import System
import TestSupport
import Testing

/// The host's behaviour as reported by a plugin made for that purpose.
@Suite(.serialized) struct WitnessTests {
  private static let ports: String = {
    let controls: [(String, String, String)] = [
      ("Input", "enabled", "lv2:designation lv2:enabled ; lv2:default 1 ;"),
      ("Input", "freewheeling", "lv2:designation lv2:freeWheeling ; lv2:default 0 ;"),
      ("Input", "trigger", "lv2:portProperty pprop:trigger ; lv2:default 0 ;"),
      ("Input", "wanted", "lv2:default 0 ; lv2:maximum 1e9 ;"),
      ("Output", "latency", "lv2:designation lv2:latency ;"), ("Output", "maximum", ""),
      ("Output", "longest", ""), ("Output", "made", ""),
    ]
    return controls.enumerated().reduce(Fixture.sound) { ports, item in
      let (i, (direction, symbol, facts)) = item
      return ports + ",\n[ a lv2:ControlPort, lv2:\(direction)Port ; \(facts) lv2:index \(i + 2) ; "
        + "lv2:symbol \"\(symbol)\" ; lv2:name \"\(symbol)\" ]"
    }
  }()

  private func witness(
    interface: Bool = true, settings: PluginSettings = usual,
    _ body: (PluginInstance, HandRun) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      let options =
        interface ? "lv2:extensionData <http://lv2plug.in/ns/ext/options#interface> ;" : ""
      let fixture = try Fixture(
        in: folder, "WITNESS", ports: Self.ports,
        facts: """
          lv2:requiredFeature <http://lv2plug.in/ns/ext/urid#map> ,
            <http://lv2plug.in/ns/ext/options#options> ,
            <http://lv2plug.in/ns/ext/buf-size#boundedBlockLength> ,
            <http://lv2plug.in/ns/ext/log#log> , <http://lv2plug.in/ns/ext/worker#schedule> ;
          lv2:extensionData <http://lv2plug.in/ns/ext/worker#interface> ; \(options)
          """)
      let instance = try PluginInstance(
        Fixture.uri, in: World(path: fixture.path), settings: settings)
      try body(instance, HandRun(instance))
    }
  }

  private let silence = [[Float](repeating: 0, count: 64)]

  @Test func enabledFreewheelingAndTriggersAreTold() throws {
    try witness { plugin, run in
      expectTrue(run.run(silence).sound[0].allSatisfy { $0 == 1 })
      expectTrue(plugin.setEnabled(false))
      expectTrue(run.run(silence).sound[0].allSatisfy { $0 == 0 })
      expectTrue(plugin.setEnabled(true))
      run.isFreewheeling = true
      expectTrue(run.run(silence).sound[0].allSatisfy { $0 == 3 })
      run.isFreewheeling = false
      try plugin.set("trigger", to: 1, at: run.frame + 10)
      // The value applies from its frame to the end of that run and then returns to the default.
      let sound = run.run(silence).sound[0]
      expectTrue(sound[..<10].allSatisfy { $0 == 1 } && sound[10...].allSatisfy { $0 == 5 })
      expectTrue(run.run(silence).sound[0].allSatisfy { $0 == 1 })
    }
    let amp = try PluginInstance(examples + "amp", in: installed, settings: usual)
    expectTrue(!amp.setEnabled(false))
  }

  /// Where a control change splits a run, its events are split as well.
  @Test(arguments: [[1024], [64], [17], [1]])
  func eventsKeepTheirFramesInSplitRuns(blocks: [Int]) throws {
    try withTemporaryFolder { folder in
      let echo = try Fixture.echo(in: folder)
      let run = HandRun(echo)
      run.frame = 7000
      for frame in [5, 100, 101, 640] { try echo.set("x", to: 1, at: 7000 + Int64(frame)) }
      try echo.set("x", to: 0, at: 7000 + 700, over: 200)
      try echo.send(midi: [2, 2, 2], at: 7000 + 100)
      try echo.send(midi: [3, 3, 3], at: 7000 + 641)
      let midi = [0, 4, 5, 6, 99, 100, 102, 639, 640, 732, 1000].map {
        TimedEvent(frame: $0, bytes: [1, 1, 1])
      }
      let out = run.run(frames: 1500, blocks: blocks, midi: midi).events
      expectEqual(out.filter { $0.bytes[0] == 1 }, midi)
      expectEqual(
        out.filter { $0.bytes[0] > 1 },
        [
          TimedEvent(frame: 100, bytes: [2, 2, 2]), TimedEvent(frame: 641, bytes: [3, 3, 3]),
        ])
      expectEqual(out.map(\.frame), out.map(\.frame).sorted())
    }
  }

  /// In any order of sending. Events for one frame arrive at that frame.
  @Test(arguments: [[1024], [64], [17], [1]])
  func theHostsEventsComeOnTheirFrames(blocks: [Int]) throws {
    try withTemporaryFolder { folder in
      let echo = try Fixture.echo(in: folder)
      let run = HandRun(echo)
      let sent: [(UInt8, Int64)] = [
        (0, 900), (1, 100), (2, 100), (3, 1200), (4, 50), (5, 100), (6, 900), (7, 0),
      ]
      for (byte, frame) in sent { try echo.send(midi: [byte, 0, 0], at: frame) }
      var out = run.run(frames: 60, blocks: blocks).events
      // Events sent later are merged with those that wait.
      try echo.send(midi: [8, 0, 0])
      try echo.send(midi: [9, 0, 0], at: 850)
      out += run.run(frames: 1940, blocks: blocks).events.map {
        TimedEvent(frame: $0.frame + 60, bytes: $0.bytes)
      }
      let expected: [(UInt8, Int)] = [
        (7, 0), (4, 50), (8, 60), (1, 100), (2, 100), (5, 100), (9, 850), (0, 900), (6, 900),
        (3, 1200),
      ]
      expectEqual(out, expected.map { TimedEvent(frame: $0.1, bytes: [$0.0, 0, 0]) })
      expectEqual(echo.lostEvents, 0)
    }
  }

  @Test func aLatencyIsFollowedAndAsksForAttention() throws {
    try witness { plugin, run in
      run.run(silence)
      expectEqual(plugin.latencyFrames, 0)
      try plugin.set("wanted", to: 333)
      run.run(silence)
      expectTrue(plugin.latencyFrames == 333 && run.sawAttention)
      run.run(silence)
      expectTrue(plugin.latencyFrames == 333 && !run.sawAttention)
      try plugin.set("wanted", to: 1e9)
      run.run(silence)
      expectTrue(plugin.latencyFrames == 0 && run.sawAttention)
    }
  }

  @Test func blockLengthsAreTold() throws {
    try witness { plugin, run in
      run.run(silence)
      try expectEqual(plugin.value(of: "maximum"), 1024)
      let made = try plugin.value(of: "made")
      try plugin.prepare(sampleRate: 48000, maximumFrames: 2048)
      run.run(silence)
      try expectEqual(plugin.value(of: "maximum"), 2048)
      try expectEqual(plugin.value(of: "made"), made)
      try plugin.set("wanted", to: 5)
      try plugin.prepare(sampleRate: 96000, maximumFrames: 2048)
      run.run(silence)
      expectTrue(try plugin.value(of: "made") == made + 1 && plugin.latencyFrames == 5)
    }
    // A plugin without the options interface is instantiated again.
    try witness(interface: false) { plugin, run in
      run.run(silence)
      let made = try plugin.value(of: "made")
      try plugin.set("wanted", to: 5)
      try plugin.prepare(sampleRate: 48000, maximumFrames: 2048)
      run.run(silence)
      try expectEqual(plugin.value(of: "maximum"), 2048)
      try expectEqual(plugin.value(of: "made"), made + 1)
      expectEqual(plugin.latencyFrames, 5)
    }
  }

  /// Fixed blocks are never split. The host promises them only if that is true.
  @Test func fixedBlocksStayWhole() throws {
    var settings = PluginSettings(sampleRate: 48000, maximumFrames: 64)
    settings.hasFixedBlocks = true
    try witness(settings: settings) { plugin, run in
      try plugin.set("wanted", to: 100, at: 20, over: 100)
      run.run(silence)
      try expectEqual(plugin.value(of: "longest"), 64)
      run.run(silence)
      run.run(silence)
      expectEqual(plugin.latencyFrames, 100)
    }
    try withTemporaryFolder { folder in
      let fixture = try Fixture(
        in: folder,
        facts: """
          lv2:requiredFeature <http://lv2plug.in/ns/ext/buf-size#fixedBlockLength> ,
            <http://lv2plug.in/ns/ext/buf-size#powerOf2BlockLength> ,
            <http://lv2plug.in/ns/lv2core#isLive> ;
          """)
      let world = World(path: fixture.path)
      func missing(_ settings: PluginSettings) -> [String] {
        do {
          _ = try PluginInstance(Fixture.uri, in: world, settings: settings)
          return []
        } catch HostError.missingFeatures(_, let features) {
          return features.map { $0.split(separator: "#").last.map(String.init) ?? "" }
        } catch { return ["\(error)"] }
      }
      expectEqual(missing(usual), ["fixedBlockLength", "powerOf2BlockLength"])
      expectEqual(missing(settings), [])
      settings.maximumFrames = 65
      expectEqual(missing(settings), ["powerOf2BlockLength"])
      // A plugin that requires lv2:isLive still runs offline.
      settings.maximumFrames = 64
      settings.isOffline = true
      expectEqual(missing(settings), [])
    }
  }

  /// Another thread prints what a run logs, and the worker's response arrives in a cycle.
  @Test func theLogAndTheWorkerAnswer() throws {
    try witness { plugin, run in
      let entries = Entries.shared
      entries.clear()
      let thread = pthread_self()
      try plugin.set("trigger", to: 1)
      run.run(silence)
      let end = Date() + 20
      while Date() < end && entries.all.count < 2 { usleep(1000) }
      expectEqual(
        Set(entries.all.map(\.text)),
        [
          "Fixture: triggered in 64 of run", "Fixture: worked outside",
        ])
      expectTrue(entries.all.allSatisfy { $0.thread != thread })
      while Date() < end, try plugin.value(of: "maximum") > 0 {
        run.run(silence)
        usleep(1000)
      }
      try expectEqual(plugin.value(of: "maximum"), -1024)
    }
  }

  /// A bypass by lv2:enabled stays through consecutive changes to longer blocks, even if each one
  /// instantiates the plugin again.
  @Test(arguments: [true, false]) func aBypassOutlivesLongerBlocks(interface: Bool) throws {
    try witness(interface: interface) { plugin, _ in
      let run = try OfflineNode(plugin)
      let (graph, offline) = (run.graph, run.offline)
      // 1 while it is enabled, plus 2 while it runs in freewheel mode.
      let enabled = [Float](repeating: 3, count: 4000)
      expectEqual(offline.run([], silence: 4000), enabled)
      try graph.setBypassed(run.id, true)
      let made = try plugin.value(of: "made")
      for frames in [256, 1024, 8192] { graph.prepare(blockFrames: frames) }
      expectEqual(offline.run([], silence: 4000), enabled.map { $0 - 1 })
      try expectEqual(plugin.value(of: "maximum"), 1024)
      expectTrue(try (plugin.value(of: "made") > made) != interface)
      expectEqual(graph.report.nodes.first { $0.number == run.id.number }?.isBypassed, true)
      try graph.setBypassed(run.id, false)
      expectEqual(offline.run([], silence: 4000), enabled)
    }
  }

  /// Where waiting is allowed, the response arrives in the same block.
  @Test func workOfflineIsDoneWithinItsBlock() throws {
    var settings = usual
    settings.isOffline = true
    try witness(settings: settings) { plugin, run in
      try plugin.set("trigger", to: 1, at: 10)
      try plugin.set("wanted", to: 1, at: 32)
      run.run(silence)
      // The run from frame 32 on came after the response.
      try expectEqual(plugin.value(of: "maximum"), -1024)
    }
  }
}

/// Record of the log's messages.
final class Entries: Sendable {
  struct Entry {
    var text: String
    var thread: pthread_t
  }
  static let shared: Entries = {
    let entries = Entries()
    Log.set(level: .trace) { _, text in
      entries.entries.withLock { $0.append(Entry(text: text, thread: pthread_self())) }
    }
    return entries
  }()
  private let entries = Mutex<[Entry]>([])
  var all: [Entry] { entries.withLock { $0 } }
  func clear() { entries.withLock { $0 = [] } }
}
