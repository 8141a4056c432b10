import Control
import Foundation
import Sessions
import Synchronization
import System
import TestSupport
import Testing

/// A session of a few values, which records all calls.
final class RecordingTarget: RemoteTarget {
  struct Content {
    var values: [String: [OSCValue]] = [
      "/cuejack/tracks/1/gain": [.float(0)], "/cuejack/tracks/2/gain": [.float(0)],
      "/cuejack/tracks/1/mute": [.bool(false)], "/cuejack/title": [.string("take")],
      "/cuejack/count": [.int(3)], "/cuejack/frames": [.long(1 << 40)],
      "/cuejack/load": [.float(12.5)], "/cuejack/peaks": [.float(-6), .float(-12)],
    ]
    var calls: [String] = []
    var version = 1
    var extra: [RemoteNode] = []
    /// What actions go on with.
    var work: RemoteWork?
  }
  let content = Mutex(Content())

  var calls: [String] { content.withLock { $0.calls } }
  var remoteVersion: Int { content.withLock { $0.version } }
  var remoteNodes: [RemoteNode] {
    [
      RemoteNode("start", .action, summary: "starts all tracks"),
      RemoteNode(
        "locate", .action, types: "d", range: 0...3600, unit: "s", summary: "moves the position"),
      RemoteNode(
        "tracks/1/gain", .parameter, types: "f", range: -90...12, unit: "dB", summary: "gain"),
      RemoteNode(
        "tracks/2/gain", .parameter, types: "f", range: -90...12, unit: "dB", summary: "gain"),
      RemoteNode("tracks/1/mute", .parameter, types: "T", summary: "mute"),
      RemoteNode("title", .parameter, types: "s", summary: "title"),
      RemoteNode("count", .parameter, types: "i", range: 0...9, summary: "count"),
      RemoteNode("frames", .parameter, types: "h", summary: "frames"),
      RemoteNode("load", .state, types: "f", unit: "%", summary: "load"),
      RemoteNode("peaks", .meter, types: "ff", unit: "dB", summary: "peaks"),
    ] + content.withLock { $0.extra }
  }
  func remoteValues(at address: String) -> [OSCValue]? {
    content.withLock { $0.values[address] }
  }
  func setRemote(_ address: String, to values: [OSCValue]) throws(RemoteError) -> RemoteWork? {
    if values == [.string("forbidden")] { throw .refused(address, "not that title") }
    content.withLock { content in
      content.values[address] = values
      content.calls.append("\(address)=\(values.map(\.description).joined(separator: ","))")
    }
    return nil
  }
  func perform(_ address: String, _ arguments: [OSCValue]) throws(RemoteError) -> RemoteWork? {
    content.withLock {
      $0.calls.append("\(address)(\(arguments.map(\.description).joined(separator: ",")))")
      return $0.work
    }
  }
}

/// The rules of remote control, without a socket.
@Suite struct RemoteDeskTests {
  private let target = RecordingTarget()
  private let peer = OSCAddress(port: 5000)

  private func ask(_ remote: inout RemoteMessages, _ messages: OSCMessage..., now: UInt64 = 0)
    throws
    -> [OSCMessage]
  {
    let packet =
      messages.count == 1 ? try messages[0].encoded() : try OSCPacket.bundle(of: messages)
    return try remote.receive(packet, from: peer, now: now).flatMap { answer in
      expectEqual(answer.destination, peer)
      return try OSCPacket.messages(in: answer.bytes)
    }
  }

  /// A command that sleeps is woken by the first of many questions, and publishes often from then on.
  @Test func aQuestionIsNoted() {
    let calls = Mutex(0)
    let desk = RemoteDesk { calls.withLock { $0 += 1 } }
    desk.publish(["/cuejack/gain": .values([.float(1)])], [])
    expectTrue(!desk.isRead)
    for _ in 0..<3 { expectEqual(desk.remoteValues(at: "/cuejack/gain"), [.float(1)]) }
    expectTrue(desk.isRead)
    expectEqual(calls.withLock { $0 }, 1)
  }

  @Test func anAddressWithoutArgumentsIsAQuestion() throws {
    var remote = RemoteMessages(target)
    try expectEqual(
      ask(&remote, OSCMessage("/cuejack/tracks/1/gain")),
      [OSCMessage("/cuejack/tracks/1/gain", .float(0))])
    try expectEqual(
      ask(&remote, OSCMessage("/cuejack/get", .string("/cuejack/peaks"))),
      [OSCMessage("/cuejack/peaks", .float(-6), .float(-12))])
    try expectEqual(
      ask(&remote, OSCMessage("/cuejack/tracks/*/gain")).map(\.address),
      ["/cuejack/tracks/1/gain", "/cuejack/tracks/2/gain"])
    expectEqual(target.calls, [])
  }

  /// A flood is bounded: what is too much is refused, and later messages are taken again.
  @Test func messagesThatAreTooManyAreDropped() throws {
    let work = RemoteWork()
    target.content.withLock { $0.work = work }
    var remote = RemoteMessages(target)
    let most = RemoteMessages.mostPending
    for _ in 0..<most { try expectEqual(ask(&remote, OSCMessage("/cuejack/start")), []) }
    func expectDropped() throws {
      let answers = try ask(&remote, OSCMessage("/cuejack/start"))
      expectEqual(answers.first?.address, "/cuejack/error")
      expectTrue(answers.first?.arguments.last?.text?.contains("dropped") == true, "\(answers)")
    }
    try expectDropped()
    // The work of a program that has gone counts.
    remote.forget(peer)
    try expectDropped()
    expectEqual(target.calls.count, most)
    work.end(.success(["done"]))
    // Nobody is told.
    expectTrue(remote.tick(now: 0).answers.isEmpty)
    try expectEqual(
      ask(&remote, OSCMessage("/cuejack/start")).map(\.address), ["/cuejack/remark"])
  }

  /// Each message of a flood would wait half a second for its work, 50 seconds in all.
  @Test func messagesOfAFloodDoNotWaitForTheirWork() throws {
    target.content.withLock { $0.work = RemoteWork() }
    var remote = RemoteMessages(target)
    let begin = HostTime.now
    let message = try OSCMessage("/cuejack/start").encoded()
    for port in 5001...5100 as ClosedRange<UInt16> {
      _ = remote.receive(message, from: OSCAddress(port: port), now: 0)
    }
    expectTrue(HostTime.now - begin < 25_000_000_000)
  }

  /// A pattern that matches values performs nothing, and none saves or quits.
  @Test(arguments: [
    ("/cuejack/*", ["title", "count", "frames", "load", "peaks"], []),
    ("/cuejack/{start,load}", ["load"], []), ("/cuejack/{quit,load}", ["load"], []),
    ("/cuejack/st*", [], ["/cuejack/start()"]), ("/cuejack/{start,quit}", ["error"], []),
    ("/cuejack/s*", ["error"], []), ("/cuejack/[q]uit", ["error"], []),
    ("/cuejack/quit", [], ["/cuejack/quit()"]), ("/cuejack/save", [], ["/cuejack/save()"]),
  ])
  func aQueryPerformsNothing(pattern: String, answers: [String], calls: [String]) throws {
    target.content.withLock {
      $0.extra = ["quit", "save"].map { RemoteNode($0, .action, summary: "") }
    }
    var remote = RemoteMessages(target)
    let found = try ask(&remote, OSCMessage(pattern))
    expectEqual(found.map(\.address), answers.map { "/cuejack/\($0)" })
    expectEqual(target.calls, calls)
    // The same as a text.
    let read = try ask(&remote, OSCMessage("/cuejack/get", .string(pattern)))
    expectEqual(read.map(\.address), (calls.isEmpty ? answers : ["error"]).map { "/cuejack/\($0)" })
    expectEqual(target.calls, calls)
  }

  @Test(arguments: [
    ("/cuejack/tracks/1/gain", [OSCValue.float(-6)], "/cuejack/tracks/1/gain=-6.0"),
    ("/cuejack/tracks/1/gain", [.int(-6)], "/cuejack/tracks/1/gain=-6.0"),
    ("/cuejack/tracks/1/gain", [.double(-6)], "/cuejack/tracks/1/gain=-6.0"),
    ("/cuejack/tracks/1/mute", [.bool(true)], "/cuejack/tracks/1/mute=true"),
    ("/cuejack/tracks/1/mute", [.float(1)], "/cuejack/tracks/1/mute=true"),
    ("/cuejack/tracks/1/mute", [.int(0)], "/cuejack/tracks/1/mute=false"),
    ("/cuejack/title", [.string("é")], "/cuejack/title=é"),
    ("/cuejack/count", [.float(4)], "/cuejack/count=4"),
    ("/cuejack/frames", [.long(.max)], "/cuejack/frames=9223372036854775807"),
    ("/cuejack/start", [], "/cuejack/start()"),
    ("/cuejack/start", [.float(1)], "/cuejack/start()"),
    ("/cuejack/start", [.impulse], "/cuejack/start()"),
    ("/cuejack/locate", [.float(12.5)], "/cuejack/locate(12.5)"),
  ])
  func valuesAreSetInTheTypesOfTheirNodes(address: String, values: [OSCValue], call: String) throws
  {
    var remote = RemoteMessages(target)
    try expectEqual(ask(&remote, OSCMessage(address, values)), [])
    expectEqual(target.calls, [call])
  }

  /// The pong comes when what was asked before is done; other answers come at once.
  @Test(arguments: [
    (RemoteWork.Outcome.success([]), [OSCMessage]()),
    (
      .success(["a plugin kept its state"]),
      [
        OSCMessage("/cuejack/remark", .string("/cuejack/start"), .string("a plugin kept its state"))
      ]
    ),
    (
      .failure(.refused("/cuejack/start", "the disk is full")),
      [
        OSCMessage("/cuejack/error", .string("/cuejack/start"), .string("the disk is full"))
      ]
    ),
  ])
  func aPingWaitsForTheWorkBeforeIt(outcome: RemoteWork.Outcome, answers: [OSCMessage]) throws {
    var remote = RemoteMessages(target)
    let work = RemoteWork()
    target.content.withLock { $0.work = work }
    let ping = OSCMessage("/cuejack/ping", .int(7))
    try expectEqual(ask(&remote, OSCMessage("/cuejack/start"), ping), [])
    try expectEqual(ask(&remote, OSCMessage("/cuejack/alive")), [OSCMessage("/cuejack/alive")])
    try expectEqual(
      ask(&remote, OSCMessage("/cuejack/count")), [OSCMessage("/cuejack/count", .int(3))])
    // Another program does not wait.
    let other = OSCAddress(port: 5001)
    expectEqual(remote.receive(try ping.encoded(), from: other, now: 0).map(\.destination), [other])
    var (told, pause) = remote.tick(now: 0)
    expectTrue(told.isEmpty && pause != nil)
    work.end(outcome)
    (told, pause) = remote.tick(now: 0)
    expectTrue(told.allSatisfy { $0.destination == peer } && pause == nil)
    try expectEqual(
      told.flatMap { try OSCPacket.messages(in: $0.bytes) },
      answers + [OSCMessage("/cuejack/pong", .int(7))])
    // What ends at once is answered at once.
    try expectEqual(
      ask(&remote, OSCMessage("/cuejack/start"), ping),
      answers + [OSCMessage("/cuejack/pong", .int(7))])
  }

  private static let refused: [(String, [OSCValue], String)] = [
    ("/cuejack/tracks/1/gain", [.float(13)], "above"),
    ("/cuejack/tracks/1/gain", [.float(-91)], "below"),
    ("/cuejack/tracks/1/gain", [.float(.nan)], "nan"),
    ("/cuejack/tracks/1/gain", [.float(.infinity)], "inf"),
    ("/cuejack/tracks/1/gain", [.string("-6")], "a number"),
    ("/cuejack/tracks/1/gain", [.float(1), .float(1)], "1 arguments"),
    ("/cuejack/tracks/1/mute", [.int(2)], "true or false"),
    ("/cuejack/title", [.int(2)], "a text"),
    ("/cuejack/title", [.string("forbidden")], "not that title"),
    ("/cuejack/title", [.string(String(repeating: "x", count: 5000))], "5000"),
    ("/cuejack/count", [.float(4.5)], "whole"),
    ("/cuejack/count", [.long(1 << 40)], "above"),
    ("/cuejack/frames", [.double(1e300)], "whole"),
    ("/cuejack/start", [.string("now")], "no arguments"),
    ("/cuejack/locate", [], "1 arguments"),
    ("/cuejack/load", [.float(1)], "only be read"),
    ("/cuejack/peaks", [.float(1), .float(1)], "only be read"),
    ("/cuejack/nothing", [.float(1)], "no such address"),
    ("/cuejack/tracks/9/*", [.float(1)], "no address"),
    ("/cuejack/[", [], "malformed"),
    ("/nothing", [], "no such address"),
    ("/cuejack/get", [.int(1)], "types"),
    ("/cuejack/subscribe", [], "types"),
    ("/cuejack/subscribe", [.string("/cuejack/nothing")], "no value"),
    ("/cuejack/subscribe", [.string("nothing")], "no address"),
    ("/cuejack/subscribe", [.string("/cuejack/load"), .float(.nan)], "no period"),
    ("/cuejack/get", [.string("/cuejack/start")], "an action"),
  ]

  @Test(arguments: refused)
  func whatDoesNotFitIsRefusedWithTheReason(address: String, values: [OSCValue], words: String)
    throws
  {
    var remote = RemoteMessages(target)
    let answers = try ask(&remote, OSCMessage(address, values))
    try require(answers.count == 1 && answers[0].address == "/cuejack/error", "\(answers)")
    expectEqual(answers[0].types, "ss")
    expectEqual(answers[0].arguments[1].text?.contains(words), true, "\(answers)")
    expectEqual(target.calls, [])
  }

  @Test func aReleasedButtonDoesNothing() throws {
    var remote = RemoteMessages(target)
    try expectEqual(ask(&remote, OSCMessage("/cuejack/start", .float(0))), [])
    try expectEqual(ask(&remote, OSCMessage("/cuejack/start", .bool(false))), [])
    expectEqual(target.calls, [])
  }

  @Test func aPatternSetsAllThatItMatches() throws {
    var remote = RemoteMessages(target)
    try expectEqual(ask(&remote, OSCMessage("/cuejack/tracks/{1,2}/gain", .float(-3))), [])
    expectEqual(target.calls, ["/cuejack/tracks/1/gain=-3.0", "/cuejack/tracks/2/gain=-3.0"])
    // The gains take the number, and the switch does not.
    let answers = try ask(&remote, OSCMessage("/cuejack/tracks/?/*", .float(-4)))
    expectEqual(answers.map(\.arguments[0].text), ["/cuejack/tracks/1/mute"])
    expectEqual(target.calls.count, 4)
  }

  /// Faders send positions from 0 to 1. They are answered with positions, and so are subscribers.
  @Test func anAddressWithARangeTakesThePositionOfAFader() throws {
    var remote = RemoteMessages(target)
    let fader = "/cuejack/tracks/1/gain/-60..6"
    for (position, call) in [(OSCValue.float(0.5), "-27.0"), (.int(0), "-60.0"), (.int(1), "6.0")] {
      try expectEqual(ask(&remote, OSCMessage(fader, position)), [])
      expectEqual(target.calls.last, "/cuejack/tracks/1/gain=\(call)")
    }
    try expectEqual(ask(&remote, OSCMessage(fader)), [OSCMessage(fader, .float(1))])
    _ = try ask(&remote, OSCMessage("/cuejack/count/9..1", .float(0.3)))
    expectEqual(target.calls.last, "/cuejack/count=7")
    _ = try ask(&remote, OSCMessage("/cuejack/tracks/*/gain/-90..10", .float(0.25)))
    expectEqual(target.calls.suffix(2), (1...2).map { "/cuejack/tracks/\($0)/gain=-65.0" })

    let gains = OSCValue.string("/cuejack/tracks/*/gain/-90..10")
    try expectEqual(
      ask(&remote, OSCMessage("/cuejack/subscribe", gains)).first?.address, "/cuejack/subscribed")
    let sent = try remote.tick(now: 1).answers.flatMap { try OSCPacket.messages(in: $0.bytes) }
    expectEqual(
      sent, (1...2).map { OSCMessage("/cuejack/tracks/\($0)/gain/-90..10", .float(0.25)) })
    _ = try ask(&remote, OSCMessage("/cuejack/unsubscribe", gains))
    expectTrue(remote.tick(now: 1_000_000_000).answers.isEmpty)
  }

  @Test(arguments: [
    ("tracks/1/gain/-60..6", [OSCValue.float(1.5)], "above 1"),
    ("tracks/1/gain/-60..6", [.string("loud")], "a number"),
    ("tracks/1/gain/-60..60", [.float(0.5)], "not within -90.0 to 12.0"),
    ("tracks/1/mute/0..1", [.float(0.5)], "one number"), ("load/0..1", [], "one number"),
    ("start/0..1", [.float(1)], "one number"), ("tracks/1/gain/6..6", [.float(1)], "no such"),
    ("tracks/1/gain/..6", [.float(1)], "no such"), ("tracks/9/gain/0..6", [.float(1)], "no such"),
  ])
  func aRangeThatDoesNotFitIsRefused(path: String, values: [OSCValue], words: String) throws {
    var remote = RemoteMessages(target)
    let answers = try ask(&remote, OSCMessage("/cuejack/\(path)", values))
    expectEqual(answers.first?.address, "/cuejack/error")
    expectEqual(answers.first?.arguments.last?.text?.contains(words), true, "\(answers)")
    expectEqual(target.calls, [])
  }

  @Test func theListHasTheWholeAddressSpace() throws {
    target.content.withLock { content in
      content.extra = (0..<100).map {
        RemoteNode("more/\($0)", .state, types: "f", summary: "more")
      }
    }
    var remote = RemoteMessages(target)
    var nodes: [RemoteNode] = []
    while nodes.count < 110 {
      let answers = try ask(&remote, OSCMessage("/cuejack/list", .int(Int32(nodes.count))))
      nodes += answers.compactMap { RemoteNode($0) }
      expectEqual(answers.last?.arguments.last, .int(110))
    }
    expectEqual(nodes, target.remoteNodes)
    try expectEqual(ask(&remote, OSCMessage("/cuejack/list", .int(500))).count, 1)
    try expectEqual(ask(&remote, OSCMessage("/cuejack/list", .int(-5))).count, 33)
  }

  @Test func anAddressSpaceMayChange() throws {
    var remote = RemoteMessages(target)
    let address = "/cuejack/new"
    try expectEqual(ask(&remote, OSCMessage(address)).first?.address, "/cuejack/error")
    target.content.withLock { content in
      content.extra = [RemoteNode("new", .state, types: "f", summary: "new")]
      content.values[address] = [.float(1)]
      content.version += 1
    }
    try expectEqual(ask(&remote, OSCMessage(address)), [OSCMessage(address, .float(1))])
  }

  @Test func subscribersReceiveChangesAndMeters() throws {
    var remote = RemoteMessages(target)
    expectNil(remote.tick(now: 0).pause)
    let seconds: UInt64 = 1_000_000_000
    let answers = try ask(
      &remote, OSCMessage("/cuejack/subscribe", .string("/cuejack/*"), .float(0.5)))
    expectEqual(
      answers,
      [
        OSCMessage("/cuejack/subscribed", .string("/cuejack/*"), .float(0.5), .float(30))
      ])
    func tick(_ now: UInt64) throws -> [String] {
      let (answers, pause) = remote.tick(now: now)
      expectEqual(pause.map { $0 > 0 && $0 <= 0.5 }, true)
      return try answers.flatMap { try OSCPacket.messages(in: $0.bytes) }.map(\.address)
    }
    let all = ["title", "count", "frames", "load", "peaks"].map { "/cuejack/\($0)" }
    try expectEqual(tick(0), all)
    try expectEqual(tick(seconds / 4), [])
    try expectEqual(tick(seconds / 2), ["/cuejack/peaks"])
    target.content.withLock { $0.values["/cuejack/load"] = [.float(13)] }
    try expectEqual(tick(seconds), ["/cuejack/load", "/cuejack/peaks"])
    // Periods that were missed are not made up for.
    try expectEqual(tick(10 * seconds), ["/cuejack/peaks"])
    try expectEqual(tick(10 * seconds + 1), [])
    // It lasts thirty seconds, unless it is renewed.
    _ = try ask(
      &remote, OSCMessage("/cuejack/subscribe", .string("/cuejack/*"), .float(0.5)),
      now: 20 * seconds)
    try expectEqual(tick(49 * seconds), ["/cuejack/peaks"])
    expectNil(remote.tick(now: 50 * seconds).pause)
  }

  @Test func subscriptionsEnd() throws {
    var remote = RemoteMessages(target)
    let subscribe = OSCMessage("/cuejack/subscribe", .string("/cuejack/peaks"))
    _ = try ask(&remote, subscribe)
    remote.forget(OSCAddress(port: 5001))
    expectTrue(remote.tick(now: 0).pause != nil)
    remote.forget(peer)
    expectNil(remote.tick(now: 0).pause)
    for ending in [
      OSCMessage("/cuejack/unsubscribe"),
      OSCMessage("/cuejack/unsubscribe", .string("/cuejack/peaks")),
    ] {
      _ = try ask(&remote, subscribe)
      try expectEqual(ask(&remote, ending).map(\.address), ["/cuejack/unsubscribed"])
      expectNil(remote.tick(now: 0).pause)
    }
    let packet = try subscribe.encoded()
    for number in 1...64 {
      _ = remote.receive(packet, from: OSCAddress(port: UInt16(number)), now: 0)
    }
    try expectEqual(ask(&remote, subscribe).first?.arguments[1].text?.contains("64"), true)
  }

  @Test func malformedPacketsHaveNeitherEffectNorAnswer() throws {
    var remote = RemoteMessages(target)
    // The bundle's first message is complete, and its second one is not.
    var packet = try OSCPacket.bundle(of: [
      OSCMessage("/cuejack/tracks/1/gain", .float(-3)), OSCMessage("/cuejack/start"),
    ])
    packet.removeLast(4)
    expectTrue(remote.receive(packet, from: peer, now: 0).isEmpty)
    expectEqual(target.calls, [])
  }

  @Test func twoSessionsCannotAnswerEachOtherForEver() throws {
    var remote = RemoteMessages(target)
    let messages = [
      OSCMessage("/cuejack/error", .string("/a"), .string("b")),
      OSCMessage("/cuejack/pong", .int(1)),
      OSCMessage("/cuejack/list", .int(0), .int(0), .int(0)),
    ]
    for message in messages { try expectEqual(ask(&remote, message), []) }
  }

  @Test(arguments: [
    ("/a/*", "/a/b", true), ("/a/*", "/a/b/c", false), ("/*/c", "/a/c", true), ("/a?", "/ab", true),
    ("/a?", "/a/", false), ("/[a-c]", "/b", true), ("/[!a-c]", "/b", false),
    ("/[!a-c]", "/d", true),
    ("/{ab,cd}e", "/cde", true), ("/{ab,cd}", "/abc", false), ("/{a,ab}c", "/abc", true),
    ("/a*b*c", "/axxbyyc", true), ("/a*b*c", "/axxbyy", false), ("/*", "/", true),
    ("/ab", "/a", false),
    ("/{ab}", "/ab", true), ("/[a", "/a", false), ("/a]", "/a", false), ("/a}", "/a", false),
    ("/é?", "/é1", true),
  ])
  func patternsMatch(pattern: String, address: String, matches: Bool) throws {
    let target = RecordingTarget()
    target.content.withLock { content in
      content.extra = [RemoteNode("x" + address, .state, types: "f", summary: "")]
      content.values["/cuejack/x\(address)"] = [.float(1)]
    }
    var remote = RemoteMessages(target)
    let answers = try ask(&remote, OSCMessage("/cuejack/get", .string("/cuejack/x" + pattern)))
    expectEqual((answers.first?.address == "/cuejack/x\(address)"), matches, "\(answers)")
  }

  @Test func aPatternCannotTakeLong() throws {
    target.content.withLock { content in
      content.extra = [
        RemoteNode(String(repeating: "a", count: 200), .state, types: "f", summary: "")
      ]
    }
    var remote = RemoteMessages(target)
    for (pattern, words) in [
      (String(repeating: "*a", count: 8) + "b", "no address"),
      (String(repeating: "*a", count: 100), "too long"),
      (String(repeating: "{a,aa}", count: 8) + "b", "no address"),
      (String(repeating: "?", count: 250), "too long"),
      (String(repeating: "x", count: 5000) + "*", "too long"),
    ] {
      let answers = try ask(&remote, OSCMessage("/cuejack/" + pattern))
      expectEqual(answers.first?.address, "/cuejack/error")
      expectEqual(answers.first?.arguments.last?.text?.contains(words), true, "\(answers)")
    }
  }

  @Test func textsAreReadAsValues() throws {
    let nodes = Dictionary(uniqueKeysWithValues: target.remoteNodes.map { ($0.address, $0) })
    func values(_ path: String, _ text: String) -> [OSCValue]? {
      try? nodes["/cuejack/\(path)"]!.values(from: text)
    }
    expectEqual(values("tracks/1/gain", "-6.5"), [.float(-6.5)])
    expectTrue(values("tracks/1/gain", "loud") == nil && values("tracks/1/gain", "99") == nil)
    expectTrue(
      values("tracks/1/mute", "On") == [.bool(true)] && values("tracks/1/mute", "2") == nil)
    expectEqual(values("title", "a, b=c"), [.string("a, b=c")])
    expectTrue(values("count", "4") == [.int(4)] && values("count", "4.5") == nil)
    expectEqual(values("frames", "9007199254740993"), [.long(9_007_199_254_740_993)])
    expectTrue(values("peaks", "1,2") == [.float(1), .float(2)] && values("peaks", "1") == nil)
  }
}

/// Remote control over sockets.
@Suite struct RemoteServerTests {
  @Test func aClientListsReadsAndSets() throws {
    let target = RecordingTarget()
    let server = try RemoteServer(target)
    defer { server.end() }
    let client = try RemoteClient(of: OSCAddress(port: server.port), patience: 60)
    try expectEqual(client.nodes(), target.remoteNodes)
    try client.send(OSCMessage("/cuejack/tracks/1/gain", .float(-6)))
    expectEqual(target.calls, ["/cuejack/tracks/1/gain=-6.0"])
    try expectEqual(
      client.values(of: "/cuejack/tracks/*/gain"),
      [
        OSCMessage("/cuejack/tracks/1/gain", .float(-6)),
        OSCMessage("/cuejack/tracks/2/gain", .float(0)),
      ])
    #expect(
      throws: RemoteError.refused(
        "/cuejack/tracks/1/gain", "13.0 is above 12.0: it takes -90.0 to 12.0 dB")
    ) {
      try client.send(OSCMessage("/cuejack/tracks/1/gain", .float(13)))
    }
  }

  @Test func packetsOfAllKindsDoNotStopTheServer() throws {
    let target = RecordingTarget()
    let server = try RemoteServer(target)
    defer { server.end() }
    let address = OSCAddress(port: server.port)
    let client = try RemoteClient(of: address, patience: 60)
    let socket = try OSCSocket()
    var generator = SystemRandomNumberGenerator()
    let valid = try OSCMessage("/cuejack/tracks/1/gain", .float(-3)).encoded()
    for size in [0, 1, 3, 4, 16, 65507] {
      try socket.send(bytes: [UInt8](repeating: 0x2F, count: size), to: address)
    }
    for round in 0..<5000 {
      var bytes = valid
      let position = Int.random(in: 0..<bytes.count, using: &generator)
      // A damaged address or type makes it another message, or none.
      if position < 28 { bytes[position] = bytes[position] ^ 0x80 } else { bytes.removeLast(4) }
      try socket.send(bytes: bytes, to: address)
      if round % 100 == 0 { try client.send(OSCMessage("/cuejack/start")) }
    }
    expectEqual(target.calls, Array(repeating: "/cuejack/start()", count: 50))
  }

  /// One datagram is lost on its way, to the session or from it.
  @Test(arguments: 0..<3, [true, false])
  func aLostPacketIsSentAgain(number: Int, toSession: Bool) throws {
    let target = RecordingTarget()
    let session = Mutex(RemoteMessages(target))
    let socket = try OSCSocket()
    let counts = Mutex((received: 0, sent: 0))
    let server = try OSCServer(
      on: socket, named: "lossy",
      .init { bytes, source in
        let received = counts.withLock { counts in
          counts.received += 1
          return counts.received
        }
        if toSession && received == number + 1 { return }
        for answer in session.withLock({ $0.receive(bytes, from: source, now: HostTime.now) }) {
          let sent = counts.withLock { counts in
            counts.sent += 1
            return counts.sent
          }
          if toSession || sent != number + 1 {
            try? socket.send(bytes: answer.bytes, to: answer.destination)
          }
        }
      })
    defer { server.end() }
    let client = try RemoteClient(of: OSCAddress(port: socket.port), patience: 60)
    for gain in 1...3 {
      try client.send(OSCMessage("/cuejack/tracks/1/gain", .float(Float(gain))))
    }
    expectEqual(target.calls, (1...3).map { "/cuejack/tracks/1/gain=\($0).0" })
    try expectEqual(client.nodes(), target.remoteNodes)
  }

  @Test func aSessionThatHasGoneIsToldAtOnce() throws {
    let port = try OSCSocket().port
    let client = try RemoteClient(of: OSCAddress(port: port), patience: 600)
    #expect(throws: RemoteError.gone(OSCAddress(port: port))) { try client.nodes() }
  }

  @Test func subscribersThatGoAreForgotten() throws {
    let target = RecordingTarget()
    let server = try RemoteServer(target)
    defer { server.end() }
    let reads = Atomic(0)
    var subscriber: OSCServer? = try OSCServer(
      on: OSCSocket(), named: "test",
      .init { _, _ in reads.add(1, ordering: .relaxed) })
    try subscriber?.socket.send(
      OSCMessage("/cuejack/subscribe", .string("/cuejack/peaks"), .float(0.02)),
      to: OSCAddress(port: server.port))
    try wait(for: "meters") { reads.load(ordering: .relaxed) > 10 }
    subscriber?.end()
    subscriber = nil
    // The thread of a server that serves nobody waits: it no longer uses the processor.
    let client = try RemoteClient(of: OSCAddress(port: server.port), patience: 60)
    try wait(for: "room for all subscriptions") {
      var refusals = 0
      for number in 0..<64 {
        let pattern = "/cuejack/{load,\(number)}"
        do {
          try client.send(OSCMessage("/cuejack/subscribe", .string(pattern), .float(10)))
        } catch { refusals += 1 }
      }
      if refusals > 0 { try client.send(OSCMessage("/cuejack/unsubscribe")) }
      return refusals == 0
    }
  }

  @Test func aPublishedSessionIsFoundUntilItEnds() throws {
    let name = "session \(UUID().uuidString.prefix(8))"
    let origin = RemoteReport.Origin(.fx, client: name, server: "s", path: "/a/b")
    let target = RecordingTarget()
    let service = try require(
      RemoteService(target, origin, port: 0, reach: .loopback) { _ in })
    func found() -> [RemoteReport] {
      RunningRemotes(patience: 60).reports.filter { $0.client == name }
    }
    expectEqual(found(), [RemoteReport(of: target, origin, port: service.port)])
    service.end()
    expectEqual(found(), [])
  }
}
