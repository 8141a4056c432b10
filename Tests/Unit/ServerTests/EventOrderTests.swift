import RealTime
import Synchronization
import TestSupport
import Testing

@testable import Server

/// The order in which the event thread calls the owners of a device's voices and recorders.
@Suite struct EventOrderTests {
  /// The calls that several owners got, in order.
  private final class CallLog: Sendable {
    private let calls = Mutex<[String]>([])
    func note(_ call: String) { calls.withLock { $0.append(call) } }
    /// Returns the calls since the last time.
    func take() -> [String] {
      calls.withLock { calls in
        defer { calls = [] }
        return calls
      }
    }
  }

  /// An owner that notes its calls.
  private final class NotingOwner: VoiceOwner {
    private let name: String
    private let hasCallbacks: Bool
    private let log: CallLog

    init(_ name: String, hasCallbacks: Bool, _ log: CallLog) {
      self.name = name
      self.hasCallbacks = hasCallbacks
      self.log = log
    }

    func readEvents() -> Bool {
      log.note("\(name) reads")
      return hasCallbacks
    }
    func wakeCallbacks() { log.note("\(name) wakes") }
    func deviceLost() {}
  }

  /// A callback thread that was woken for the first of many queues would fall asleep before the next one.
  @Test func allOwnersReadTheirEventsBeforeOneWakesACallbackThread() throws {
    let log = CallLog()
    let device = try Device(HandDrivenServer(), clientName: "events")
    let owners = [("a", true), ("b", false), ("c", true)].map {
      NotingOwner($0, hasCallbacks: $1, log)
    }
    let voices = owners.map { _ in VoiceMemory(channels: 1) }
    for (voice, owner) in zip(voices, owners) { _ = try device.attach(voice, owner: owner) }
    defer { for voice in voices { device.detach(voice) } }
    _ = log.take()
    device.deliverEvents()
    expectEqual(log.take(), ["a reads", "b reads", "c reads", "a wakes", "c wakes"])
  }
}
