import CRealTime
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import AudioUnits
@testable import Hardware
@testable import Server

/// The audio session on a server that is driven by hand. `session.c` has the functions of the C API.
@Suite struct AudioSessionTests {
  /// The events that a session has told, in words.
  final class Events: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func note(_ event: AudioSessionEvent) { list.withLock { $0.append(Self.words(event)) } }
    func take() -> [String] {
      list.withLock { list in
        defer { list = [] }
        return list
      }
    }

    private static func words(_ event: AudioSessionEvent) -> String {
      func names(_ route: CardRoute) -> String {
        (route.inputs + route.outputs).map { String($0.dropFirst("system:".count)) }
          .joined(separator: ",")
      }
      switch event {
      case .interruptionBegan: return "began"
      case .interruptionEnded: return "ended"
      case .routeChanged(let reason, let old, let new):
        return "\(reason): \(names(old)) -> \(names(new))"
      case .inputsChanged(let old, let new): return "inputs \(old) -> \(new)"
      case .outputsChanged(let count): return "outputs \(count)"
      case .volumeChanged(let volume): return "volume \(volume)"
      }
    }
  }

  let server: HandDrivenServer
  let device: HardwareDevice
  let session: AudioSession
  let events = Events()

  init() {
    // Routes are those of all clients on a server of one name.
    let server = HandDrivenServer(name: "session-\(UUID())")
    let device = HardwareDevice(server, named: server.name, clientName: "session")
    self.server = server
    self.device = device
    session = AudioSession(decides: false) { device }
    session.use()
    session.addObserver { [events] in events.note($0) }
  }

  private func end() {
    session.deactivate()
    device.closeIfUnused()
  }

  /// True if no event comes that has not been taken.
  private func isQuiet() -> Bool {
    usleep(100_000)
    return events.all.isEmpty
  }

  @Test("categories decide what may start")
  func categories() throws {
    let table: [(AudioSessionCategory, plays: Bool, records: Bool)] = [
      (.ambient, true, false), (.soloAmbient, true, false), (.playback, true, false),
      (.record, false, true), (.playAndRecord, true, true), (.processing, false, false),
    ]
    expectEqual(session.category, .soloAmbient)
    for (category, plays, records) in table {
      session.setCategory(category)
      expectEqual(((try? session.admit(plays: true, records: false)) != nil), plays)
      expectEqual(((try? session.admit(plays: false, records: true)) != nil), records)
      expectEqual((try? session.admit(plays: true, records: true)), (records ? plays : nil))
    }
    end()
  }

  @Test("a new category resets the options, and a mode that it does not allow")
  func modes() throws {
    try session.setCategory(.playAndRecord, .voiceChat, [.mixWithOthers, .defaultToSpeaker])
    #expect(throws: AudioSessionRefusal.self) {
      try session.setCategory(.playback, .standard, .defaultToSpeaker)
    }
    #expect(throws: AudioSessionRefusal.self) { try session.setCategory(.playback, .voiceChat, []) }
    expectTrue(session.category == .playAndRecord && session.mode == .voiceChat)
    session.setCategory(.playAndRecord)
    expectEqual(session.options, [.mixWithOthers, .defaultToSpeaker])
    session.setCategory(.playback)
    expectTrue(session.mode == .standard && session.options.isEmpty)
    try session.setMode(.measurement)
    session.setCategory(.ambient)
    expectEqual(session.mode, .measurement)
    end()
  }

  @Test("the wanted duration of a call takes effect at once, and follows the rate")
  func durations() throws {
    try session.setPreferredBufferDuration(0.005)
    expectTrue(try device.bufferFrames == 240 && session.bufferDuration == 0.005)
    // A server that returns at another rate.
    try session.activate()
    server.goAway()
    expectTrue(waits { events.all == ["began"] })
    server.comeBack(sampleRate: 96000)
    expectTrue(waits { (try? device.bufferFrames) == 480 })
    try expectEqual(session.bufferDuration, 0.005)
    for (seconds, frames) in [(0, 1024), (1e-9, 16), (100, 4096), (0, 1024)] {
      try session.setPreferredBufferDuration(seconds)
      try expectEqual(device.bufferFrames, frames)
      expectEqual(session.preferredBufferDuration, seconds)
    }
    // Without a wish, the server's period counts.
    server.changePeriod(to: 256)
    expectTrue(waits { (try? device.bufferFrames) == 256 })
    for wrong in [-1, .nan, .infinity] {
      #expect(throws: AudioSessionRefusal.self) { try session.setPreferredBufferDuration(wrong) }
      #expect(throws: AudioSessionRefusal.self) { try session.setPreferredSampleRate(wrong) }
    }
    end()
  }

  @Test("a preference waits for a server that cannot be reached")
  func unreachable() throws {
    server.failure = .unknownServer("nowhere")
    try session.setPreferredBufferDuration(0.01)
    #expect(throws: AudioSessionRefusal.self) { try session.activate() }
    #expect(throws: AudioSessionRefusal.self) { try session.sampleRate }
    expectTrue(!session.isActive)
    server.failure = nil
    try session.activate()
    expectTrue(try session.isActive && device.bufferFrames == 480)
    end()
  }

  @Test("an interruption is the server's absence, while the session is active")
  func interruptions() throws {
    _ = try session.sampleRate
    server.goAway()
    expectTrue(waits { !device.isAlive })
    server.comeBack()
    expectTrue(waits { device.isAlive })
    expectTrue(isQuiet())
    try session.activate()
    // It keeps the client open.
    device.closeIfUnused()
    expectTrue(device.isOpen)
    for isMadeInactive in [false, true] {
      server.goAway()
      expectTrue(waits { events.all == ["began"] })
      expectTrue(!session.isActive)
      #expect(throws: AudioSessionRefusal.self) { try session.activate() }
      try expectEqual(session.outputChannels, 2)
      if isMadeInactive { session.deactivate() }
      server.comeBack()
      expectTrue(waits { events.all == ["began", "ended"] })
      expectTrue(session.isActive != isMadeInactive)
      _ = events.take()
    }
    device.closeIfUnused()
    expectTrue(!device.isOpen)
  }

  @Test("channels and volume are told when they change")
  func changes() throws {
    try session.activate()
    try expectEqual(session.inputChannels, 2)
    server.physicalInputs = []
    server.otherInputs = ["other:in"]
    expectTrue(waits { events.all == ["inputs 2 -> 0"] })
    expectTrue(try session.inputChannels == 0 && device.facts.inputs == 2)
    _ = events.take()
    server.physicalOutputs += ["system:playback_3"]
    server.otherInputs = []
    expectTrue(waits { events.all == ["outputs 3"] })
    _ = events.take()
    device.setVolume(0.5)
    device.setVolume(0.5)
    expectTrue(waits { events.all == ["volume 0.5"] })
    expectEqual(session.volume, 0.5)
    _ = events.take()
    expectTrue(isQuiet())
    end()
  }

  /// Starts a unit in both directions.
  private func start() throws -> OutputUnit {
    let unit = try require(try UnitKind.remoteIO.make { device } as? OutputUnit)
    try unit.setRecords(true)
    try unit.initialize()
    try unit.start()
    return unit
  }

  @Test("a route change is one of connections to the sound card by others")
  func routes() throws {
    session.setCategory(.playAndRecord)
    let all = CardRoute(
      inputs: ["system:capture_1", "system:capture_2"],
      outputs: ["system:playback_1", "system:playback_2"])
    try expectEqual(session.route, all)
    let unit = try start()
    try expectEqual(session.route, all)
    let client = try require(server.clients.last)
    // Own connections are no news.
    expectTrue(isQuiet())
    client.disconnect("out_2", from: "system:playback_2")
    expectTrue(
      waits {
        events.all == [
          "oldDevice: capture_1,capture_2,playback_1,playback_2 -> capture_1,capture_2,playback_1"
        ]
      }, "\(events.all)")
    _ = events.take()
    client.disconnect("in_1", from: "system:capture_1")
    expectTrue(
      waits {
        events.all == ["oldDevice: capture_1,capture_2,playback_1 -> capture_2,playback_1"]
      }, "\(events.all)")
    _ = events.take()
    try client.connect("out_2", to: "system:playback_2")
    expectTrue(
      waits {
        events.all == ["newDevice: capture_2,playback_1 -> capture_2,playback_1,playback_2"]
      }, "\(events.all)")
    _ = events.take()
    // A direction that the category does not allow.
    session.setCategory(.playback)
    expectTrue(
      waits {
        events.all == [
          "categoryChange: capture_2,playback_1,playback_2 -> playback_1,playback_2"
        ]
      }, "\(events.all)")
    _ = events.take()
    try client.connect("system:capture_1", toOurs: "in_1")
    expectTrue(isQuiet())
    // Another port than the card's.
    server.otherInputs = ["other:in"]
    try client.connect("out_1", to: "other:in")
    client.disconnect("out_1", from: "other:in")
    expectTrue(isQuiet())
    unit.dispose()
    expectTrue(isQuiet())
    try expectEqual(session.route, CardRoute(outputs: all.outputs))
    end()
  }

  @Test("a category that records without an input has no suitable route")
  func unsuitable() throws {
    server.physicalInputs = []
    try session.activate()
    session.setCategory(.record)
    expectTrue(waits { events.all == ["noSuitableRoute: playback_1,playback_2 -> "] })
    session.setCategory(.record)
    expectEqual(events.take().count, 1)
    end()
    session.setCategory(.playback)
    // Nobody opens a client to tell that.
    expectTrue(isQuiet() && !device.isOpen)
  }
}
