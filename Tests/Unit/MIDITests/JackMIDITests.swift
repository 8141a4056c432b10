import CJack
import CProbe
import Foundation
import Server
import Synchronization
import System
import TestSupport
import Testing

@testable import MIDI

/// What a port has heard.
final class Heard: Sendable {
  private let list = Mutex<[MIDIReceived]>([])
  func take(_ messages: [MIDIReceived]) { list.withLock { $0 += messages } }
  func clear() { list.withLock { $0 = [] } }
  var messages: [MIDIReceived] { list.withLock { $0 } }
  var bytes: [[UInt8]] { messages.map(\.bytes) }
}

/// Clients, ports and endpoints on a running JACK server.
@Suite(.tags(.server), .serialized) struct JackMIDITests {
  /// A client with a virtual source, and another one with a port that hears it.
  private final class Stage {
    let jack: JackDaemon
    let sender: MIDIClient
    let receiver: MIDIClient
    let source: MIDIVirtualSource
    let port: MIDIInputPort
    let heard = Heard()

    init(period: Int = 1024, rate: Int = 48000) throws {
      jack = try JackDaemon(rate: rate, period: period)
      let server = JackServer(named: jack.name)
      sender = try MIDIClient(named: "sender", on: server)
      receiver = try MIDIClient(named: "receiver", on: server)
      source = try MIDIVirtualSource(named: "Keys", of: sender)
      let heard = heard
      port = try MIDIInputPort(named: "In", of: receiver) { messages, _ in heard.take(messages) }
      try port.connect(source.endpoint)
    }

    deinit {
      receiver.dispose()
      sender.dispose()
      jack.stop()
    }

    /// A host time some cycles ahead.
    func soon(_ cycles: Int = 8) -> UInt64 {
      sender.device.client.hostTime + UInt64(cycles * jack.period) * 1_000_000_000 / 48000
    }
  }

  /// JACK's times say how long a cycle is: on a busy machine, its frames are longer or shorter than those of the rate.
  @Test(arguments: [64, 1024]) func messagesComeOnTheFrameOfTheirTime(period: Int) throws {
    let stage = try Stage(period: period)
    let listener = try Keys(on: stage.jack, name: "listener")
    try stage.sender.device.connect("Keys", to: "listener:in")
    try stage.sender.awaitConnections()
    let begin = stage.soon(period == 64 ? 120 : 8)
    // Several in one period, in no order.
    let times = (0..<60).map { begin + UInt64(($0 * 37) % 60) * 700_000 + UInt64($0) * 1234 }
    for (i, time) in times.enumerated() {
      try stage.source.send([MIDIToSend([0x90, UInt8(i), 100], at: time)])
    }
    expectTrue(waits { stage.heard.messages.count == 60 && listener.heard.count == 60 })
    let heard = stage.heard.messages
    expectEqual(
      heard.map { $0.bytes[1] }, (0..<60).sorted { times[$0] < times[$1] }.map { UInt8($0) })
    for message in heard {
      let distance = Int64(message.hostTime) - Int64(times[Int(message.bytes[1])])
      // After a late cycle, what fell between two cycles comes with the first frame.
      let isLate = distance > 0 && message.frame % Int64(period) == 0
      expectTrue(abs(distance) <= 20_834 || isLate, "\(distance) ns from its time")
    }
    // Another program sees the same frames.
    expectEqual(
      listener.heard, heard.map { Keys.Message(UInt32(truncatingIfNeeded: $0.frame), $0.bytes) })
  }

  @Test func messagesOfOneTimeKeepTheirOrder() throws {
    let stage = try Stage()
    let time = stage.soon()
    let late = MIDIToSend([0xB0, 1, 1], at: time + 1)
    try stage.source.send([late])
    for i in 0..<50 {
      try stage.source.send([MIDIToSend([0x90, UInt8(i), 1, 0x80, UInt8(i), 2], at: time - 2000)])
    }
    // What is past is now, in the order of the calls.
    for i in 0..<50 {
      try stage.source.send([MIDIToSend([0xA0, UInt8(i), 1], at: UInt64(50 - i))])
    }
    expectTrue(waits { stage.heard.messages.count == 151 })
    let now = (0..<50).map { (i: Int) -> [UInt8] in [0xA0, UInt8(i), 1] }
    let then = (0..<50).flatMap { (i: Int) -> [[UInt8]] in
      [[0x90, UInt8(i), 1], [0x80, UInt8(i), 2]]
    }
    expectEqual(stage.heard.bytes, now + then + [late.bytes])
  }

  /// As many messages as a MIDI cable carries in a minute, as fast as cycles take them.
  @Test(arguments: [false, true]) func aFloodLosesNothing(freewheels: Bool) throws {
    let stage = try Stage(period: 256)
    let wheel = try CaptureClient(on: stage.jack, channels: 1, capacity: 1)
    if freewheels { try wheel.setFreewheel(true) }
    let count = 62_500
    for start in stride(from: 0, to: count, by: 50) {
      let bytes = (start..<start + 50).flatMap { (number: Int) -> [UInt8] in
        [0xE0 | UInt8(number >> 14), UInt8(number & 0x7F), UInt8(number >> 7 & 0x7F)]
      }
      try stage.source.send([MIDIToSend(bytes)])
    }
    expectTrue(waits(seconds: 120) { stage.heard.messages.count >= count })
    let numbers = stage.heard.bytes.map { (bytes: [UInt8]) -> Int in
      Int(bytes[0] & 15) << 14 | Int(bytes[2]) << 7 | Int(bytes[1])
    }
    expectTrue(numbers == Array(0..<count), "\(numbers.count) messages")
    if freewheels { try wheel.setFreewheel(false) }
  }

  /// Up to one that is longer than the buffer of a port.
  @Test func systemExclusiveMessagesOfAnyLengthArrive() throws {
    let stage = try Stage(period: 256)
    for count in [0, 1, 5, 3000, 16_000, 30_000, 100_000] {
      stage.heard.clear()
      let message = [0xF0] + (0..<count).map { UInt8($0 % 128) } + [0xF7]
      // In packets of 1,000 bytes, with messages before and behind.
      try stage.source.send([MIDIToSend([0x90, 1, 1])])
      for start in stride(from: 0, to: message.count, by: 1000) {
        try stage.source.send([
          MIDIToSend(Array(message[start..<min(start + 1000, message.count)]))
        ])
      }
      try stage.source.send([MIDIToSend([0x80, 1, 1])])
      let all = [0x90, 1, 1] + message + [0x80, 1, 1]
      expectTrue(waits { stage.heard.bytes.joined().count >= all.count })
      expectTrue(Array(stage.heard.bytes.joined()) == all)
      if count <= 16_000 { expectEqual(stage.heard.messages.count, 3) }
    }
  }

  @Test func aFlushUnschedulesWhatIsNotDue() throws {
    let stage = try Stage()
    let completed = Heard()
    let destination = try MIDIVirtualDestination(named: "Sink", of: stage.receiver) {
      completed.take($0)
    }
    let output = try MIDIOutputPort(named: "Out", of: stage.sender)
    try output.send([], to: destination.endpoint)
    let time = stage.soon(12)
    for i in 0..<20 {
      try output.send([MIDIToSend([0x90, UInt8(i), 1], at: time)], to: destination.endpoint)
    }
    try output.send([MIDIToSend([0xB0, 1, 1])], to: destination.endpoint)
    output.flush(destination.endpoint)
    try output.send([MIDIToSend([0x80, 2, 2], at: time)], to: destination.endpoint)
    try output.send([MIDIToSend([0x80, 3, 3], at: time + 1_000_000)], to: destination.endpoint)
    expectTrue(waits { completed.messages.count >= 3 })
    expectEqual(completed.bytes, [[0xB0, 1, 1], [0x80, 2, 2], [0x80, 3, 3]])
  }

  @Test func sourcesAreToldApartByTheirTags() throws {
    let stage = try Stage()
    let tags = Mutex<[(UInt, [UInt8])]>([])
    let port = try MIDIInputPort(named: "Tagged", of: stage.receiver) { messages, tag in
      tags.withLock { $0 += messages.map { (tag, $0.bytes) } }
    }
    let other = try MIDIVirtualSource(named: "Pads", of: stage.sender)
    try port.connect(stage.source.endpoint, tag: 1)
    try port.connect(other.endpoint, tag: 2)
    try stage.source.send([MIDIToSend([0x90, 1, 1])])
    try other.send([MIDIToSend([0x90, 2, 2])])
    expectTrue(waits { tags.withLock { $0.count } == 2 })
    expectEqual(
      tags.withLock { $0.sorted { $0.0 < $1.0 }.map(\.1) }, [[0x90, 1, 1], [0x90, 2, 2]])
    expectTrue(port.disconnect(other.endpoint))
    expectTrue(!port.disconnect(other.endpoint))
    try other.send([MIDIToSend([0x90, 2, 2])])
    try stage.source.send([MIDIToSend([0x90, 1, 1])])
    expectTrue(waits { tags.withLock { $0.count } == 3 })
    expectEqual(tags.withLock { $0[2].0 }, 1)
    // The same source with another tag.
    try port.connect(stage.source.endpoint, tag: 7)
    try stage.source.send([MIDIToSend([0x90, 1, 1])])
    expectTrue(waits { tags.withLock { $0.count } == 4 })
    expectEqual(tags.withLock { $0[3].0 }, 7)
  }

  /// Another program's ports come, are heard, go and come back.
  @Test func portsComeAndGo() throws {
    let jack = try JackDaemon(period: 256)
    defer { jack.stop() }
    let changes = Mutex<[String]>([])
    let client = try MIDIClient(named: "hotplug", on: JackServer(named: jack.name)) { list in
      changes.withLock { $0 += list.map(Self.text) }
    }
    defer { client.dispose() }
    let heard = Heard()
    let port = try MIDIInputPort(named: "In", of: client) { messages, _ in heard.take(messages) }
    expectTrue(!MIDISetup.shared.sources.contains { $0.port == "keys:out" })
    var keys: Keys? = try Keys(on: jack)
    expectTrue(waits { MIDISetup.shared.sources.contains { $0.port == "keys:out" } })
    let source = try require(MIDISetup.shared.sources.first { $0.port == "keys:out" })
    expectTrue(source.isPresent)
    expectEqual(source.property("name"), .string("out"))
    expectEqual(source.property("displayName"), .string("keys out"))
    expectEqual(source.property("model"), .string("keys"))
    let id = source.property("uniqueID")
    try port.connect(source)
    keys = nil
    expectTrue(waits { !source.isPresent })
    expectTrue(!MIDISetup.shared.sources.contains { $0 === source })
    expectEqual(source.property("offline"), .integer(1))
    keys = try Keys(on: jack)
    expectTrue(waits { source.isPresent })
    // The same object, with the same ID, connected as before.
    expectTrue(MIDISetup.shared.sources.contains { $0 === source })
    expectEqual(source.property("uniqueID"), id)
    expectTrue(waits { client.device.client.connections(of: "In (Core MIDI)") == ["keys:out"] })
    let frame = UInt32(truncatingIfNeeded: client.device.latestFrame) &+ 40 * 256
    try keys?.play([Keys.Message(frame, [0x90, 60, 1])])
    expectTrue(waits { heard.messages.count == 1 })
    expectEqual(UInt32(truncatingIfNeeded: try require(heard.messages.first).frame), frame)
    _ = keys
    expectTrue(waits { changes.withLock { $0.filter { $0 == "setup" }.count } >= 3 })
    let all = changes.withLock { $0 }
    // Its ports may appear one after another.
    let added = all.prefix { !$0.hasPrefix("removed") }.filter { $0 != "setup" }
    expectEqual(added.prefix(2), ["added keys to none", "added keys to keys"])
    expectEqual(Set(added.dropFirst(2)), ["added in to keys", "added out to keys"])
    expectTrue(all.contains("removed out from keys"))
  }

  private static func text(_ change: MIDIChange) -> String {
    func name(_ object: MIDIObject?) -> String {
      guard let object, case .string(let name)? = object.property("name") else { return "none" }
      return name
    }
    switch change {
    case .added(let child, let parent): return "added \(name(child)) to \(name(parent))"
    case .removed(let child, let parent): return "removed \(name(child)) from \(name(parent))"
    case .property(let object, let key): return "\(key) of \(name(object))"
    case .setup: return "setup"
    case .thruConnections: return "thru"
    }
  }

  /// Only endpoints are listed, the program's own last, and not the ports that carry them.
  @Test func portsOfClientsAreNoEndpoints() throws {
    let stage = try Stage()
    let names = MIDISetup.shared.sources.map(\.port) + MIDISetup.shared.destinations.map(\.port)
    expectTrue(names.contains("sender:Keys"), "\(names)")
    expectTrue(!names.contains { $0.hasSuffix("(Core MIDI)") }, "\(names)")
    let ports = stage.sender.device.client.midiPorts.map(\.name)
    expectTrue(ports.contains("receiver:In (Core MIDI)"), "\(ports)")
    let other = try MIDIVirtualSource(named: "Keys", of: stage.sender)
    expectEqual(other.endpoint.name, "Keys 2")
    expectTrue(MIDISetup.shared.sources.contains { $0 === other.endpoint })
    other.dispose()
    expectTrue(!MIDISetup.shared.sources.contains { $0 === other.endpoint })
  }

  @Test func aClientSendsToItsOwnDestination() throws {
    let stage = try Stage()
    let heard = Heard()
    let destination = try MIDIVirtualDestination(named: "Own", of: stage.sender) { heard.take($0) }
    let output = try MIDIOutputPort(named: "Out", of: stage.sender)
    let time = stage.soon()
    try output.send([MIDIToSend([0x90, 1, 2], at: time)], to: destination.endpoint)
    expectTrue(waits { heard.messages.count == 1 })
    let message = try require(heard.messages.first)
    let distance = Int64(message.hostTime) - Int64(time)
    let isLate = distance > 0 && message.frame % 1024 == 0
    expectTrue(abs(distance) <= 20_834 || isLate, "\(distance) ns")
  }

  @Test func aThruConnectionPassesMessages() throws {
    let stage = try Stage()
    let heard = Heard()
    let destination = try MIDIVirtualDestination(named: "End", of: stage.receiver) {
      heard.take($0)
    }
    var rules = MIDIThruRules()
    rules.note = .add(12)
    rules.channels[3] = 0xFF
    let thru = try MIDIThru(
      from: [stage.source.endpoint], to: [destination.endpoint], rules, of: stage.receiver)
    let time = stage.soon()
    try stage.source.send([
      MIDIToSend([0x90, 60, 1], at: time), MIDIToSend([0x93, 60, 1], at: time),
      MIDIToSend([0x90, 61, 1], at: time + 3_000_000),
    ])
    expectTrue(waits { heard.messages.count == 2 })
    expectEqual(heard.bytes, [[0x90, 72, 1], [0x90, 73, 1]])
    let frames = heard.messages.map(\.frame)
    expectTrue(abs(frames[1] - frames[0] - 144) <= 1, "\(frames)")
    thru.dispose()
    try stage.source.send([MIDIToSend([0x90, 60, 1])])
    expectTrue(waits { stage.heard.messages.count == 4 })
    expectEqual(heard.messages.count, 2)
  }

  /// Ports and connections return; what fell due meanwhile is dropped, what comes later is sent.
  @Test func aServerThatIsKilledAndStartedAgainIsJoined() throws {
    let stage = try Stage(period: 256)
    try stage.source.send([MIDIToSend([0x90, 1, 1])])
    expectTrue(waits { stage.heard.messages.count == 1 })
    let isLost = stage.sender.device
    let now = stage.sender.device.client.hostTime
    try stage.source.send([MIDIToSend([0x90, 2, 2], at: now + 60_000_000)])
    try stage.source.send([MIDIToSend([0x90, 3, 3], at: now + 3_600_000_000_000)])
    stage.jack.kill()
    expectTrue(waits { isLost.isLost && stage.receiver.device.isLost })
    expectEqual(throwing { try stage.source.send([MIDIToSend([0x90, 4, 4])]) }, true)
    try stage.jack.start()
    expectTrue(waits(seconds: 60) { !isLost.isLost && !stage.receiver.device.isLost })
    expectTrue(waits { stage.sender.device.client.connections(of: "Keys").count == 1 })
    try stage.sender.awaitConnections()
    try stage.receiver.awaitConnections()
    try stage.source.send([MIDIToSend([0x90, 5, 5])])
    expectTrue(waits { stage.heard.messages.contains { $0.bytes == [0x90, 5, 5] } })
    expectTrue(!stage.heard.bytes.contains([0x90, 2, 2]))
    expectTrue(!stage.heard.bytes.contains([0x90, 3, 3]))
  }

  private func throwing(_ body: () throws -> Void) -> Bool {
    do { try body() } catch { return true }
    return false
  }

  /// No cycle allocates, locks or makes a system call.
  @Test func cyclesCostNothingThatMayWait() throws {
    try require(cue_probe_works() || isSanitized)
    cue_probe_watch_cycles(true)
    let stage = try Stage(period: 256)
    cue_probe_watch_cycles(false)
    _ = cue_probe_take_cycles()
    for i in 0..<200 {
      try stage.source.send([
        MIDIToSend([0x90, UInt8(i % 128), 1], at: stage.soon(i % 5)), MIDIToSend([0xF8]),
      ])
      if i % 20 == 0 { usleep(5000) }
    }
    expectTrue(waits { stage.heard.messages.count == 400 })
    let seen = cue_probe_take_cycles()
    expectTrue(seen.cycles > 0 || isSanitized)
    let counts = seen.counts
    expectEqual(
      [counts.allocations, counts.frees, counts.locks, counts.retains, counts.releases],
      [0, 0, 0, 0, 0])
    if seen.has_watched_calls { expectEqual(counts.calls, 0) }
  }

  /// A port that is removed calls nothing any more, even from its own function.
  @Test func portsAreRemovedWhileTheyHear() throws {
    let stage = try Stage(period: 64)
    let calls = Atomic<Int>(0)
    let own = Mutex<MIDIInputPort?>(nil)
    let port = try MIDIInputPort(named: "Once", of: stage.receiver) { _, _ in
      calls.add(1, ordering: .relaxed)
      own.withLock { $0 }?.dispose()
    }
    own.withLock { $0 = port }
    try port.connect(stage.source.endpoint, tag: 9)
    for _ in 0..<50 { try stage.source.send([MIDIToSend([0xF8])]) }
    // The ports of a client are called one after the other.
    for count in [50, 51] {
      expectTrue(
        waits {
          stage.heard.messages.count == count && calls.load(ordering: .relaxed) > 0
        })
      expectEqual(calls.load(ordering: .relaxed), 1)
      try stage.source.send([MIDIToSend([0xF8])])
    }
    expectNil(MIDIObject.find(port.reference))
  }

  /// What a program sends just before it removes a port is heard.
  @Test(arguments: [0, 3000]) func portsSendWhatIsDueBeforeTheyGo(count: Int) throws {
    let stage = try Stage()
    for i in 0..<count { try stage.source.send([MIDIToSend([0x80, UInt8(i % 128), 1])]) }
    try stage.source.send([MIDIToSend([0x80, 1, 2], at: stage.soon(2))])
    stage.source.dispose()
    expectTrue(waits { stage.heard.messages.count == count + 1 })
  }

  @Test func withoutAServerThereIsNoClient() {
    do {
      _ = try MIDIClient(named: "nobody", on: JackServer(named: "no such server"))
      expectTrue(false, "there is a client")
    } catch {
      expectEqual(error, .unknownServer("no such server"))
    }
  }
}
