import RealTime
import Synchronization
import TestSupport
import Testing

@testable import Server

/// What the owners of a device's voices and recorders are told after its cycles.
@Suite struct EventTests {
  /// Notes what it is told, in one log for several owners.
  private final class LoggingOwner: VoiceOwner {
    typealias Log = Mutex<[String]>
    private let name: String
    private let hasNews: Bool
    private let log: Shared

    final class Shared: Sendable { let lines = Log([]) }

    init(_ name: String, hasNews: Bool, _ log: Shared) {
      self.name = name
      self.hasNews = hasNews
      self.log = log
    }

    func readEvents() -> Bool {
      log.lines.withLock { $0.append("\(name) reads") }
      return hasNews
    }
    func wakeCallbacks() { log.lines.withLock { $0.append("\(name) calls") } }
    func deviceLost() {}
  }

  /// A thread that makes callbacks starts once, not anew for each of many queues.
  @Test func allEventsAreReadBeforeTheFirstCallback() throws {
    let log = LoggingOwner.Shared()
    let device = try Device(HandDrivenServer(), clientName: "events")
    let owners = [("a", true), ("b", false), ("c", true)].map {
      LoggingOwner($0, hasNews: $1, log)
    }
    let voices = owners.map { _ in VoiceMemory(channels: 1) }
    for (voice, owner) in zip(voices, owners) { _ = try device.attach(voice, owner: owner) }
    defer { for voice in voices { device.detach(voice) } }
    log.lines.withLock { $0 = [] }
    device.deliverEvents()
    #expect(
      log.lines.withLock { $0 } == ["a reads", "b reads", "c reads", "a calls", "c calls"])
  }
}
