import Logging
import Sessions
import System

/// The rules of remote control without a socket: takes packets and returns the answers to them.
///
/// | message | what it does |
/// | --- | --- |
/// | ADDRESS VALUE… | sets a parameter, or performs an action |
/// | ADDRESS | answers with the address and its values; performs an action without arguments |
/// | `/cuejack/get s` | the same for the address, or all addresses of the pattern, in the text |
/// | `/cuejack/list i` | answers with a bundle of `/cuejack/node`, from the node of this number on |
/// | `/cuejack/subscribe s` or `sf` | sends the values of an address or pattern, with a period in seconds |
/// | `/cuejack/unsubscribe` or `s` | ends all subscriptions of the sender, or one |
/// | `/cuejack/ping i` | answers with `/cuejack/pong i` when all that the sender asked before is done or refused |
/// | `/cuejack/alive` | answers with `/cuejack/alive` at once |
/// | `/cuejack/alive i` | the same while the sender's ping of this number waits; after its pong, the answers once more; with the number if no such ping has come |
///
/// An address may be a pattern, and end with the range of a fader. A pattern that matches values performs no
/// actions. Each refused message is answered with `/cuejack/error ss`: the address
/// and the reason. `/cuejack/remark ss` says what people are to know of a message that was carried out. A
/// malformed packet has no effect and no answer. One thread at a time.
package struct RemoteMessages {
  /// A packet to send.
  package struct Answer {
    package let bytes: [UInt8]
    package let destination: OSCAddress
  }

  private let target: any RemoteTarget
  private var version: Int?
  private var addresses = RemoteAddresses()
  private var subscriptions: [Subscription] = []
  private var pending: [Pending] = []
  private var pings: [Ping] = []
  /// The latest numbered requests, at most one of each sender: UDP may lose the answers.
  private var requests: [Request] = []
  /// Number of the work that was begun last.
  private var latestWork = 0
  /// Messages that were dropped since all work had ended.
  private var dropped = 0

  /// Seconds that a subscription lasts unless it is renewed.
  package static let lifetime = 30.0
  /// Shortest and longest period of a subscription, in seconds.
  package static let periods = 0.02...10.0
  /// Most subscriptions of all senders.
  package static let mostSubscriptions = 64
  /// Most nodes in an answer to `/cuejack/list`.
  static let nodesPerList = 32

  /// Seconds for which messages wait for their own work, so that the next ones find it done.
  private static let patience = 0.5
  /// Seconds of patience that come back in each second: the messages of a flood do not wait.
  private static let recovery = 0.25
  /// Seconds of patience that were left at a host time in nanoseconds.
  private var patience = (seconds: RemoteMessages.patience, hostTime: HostTime.now)
  /// Most messages whose work goes on. A fader sends some hundreds while a plugin is loaded.
  package static let mostPending = 1024
  /// Most pings that wait for such work.
  private static let mostPings = 64
  /// Most requests whose answers are kept.
  private static let mostRequests = 16

  package init(_ target: any RemoteTarget) { self.target = target }

  /// Work that goes on, and the message that asked for it.
  private struct Pending {
    let number: Int
    let work: RemoteWork
    let address: String
    /// The sender; nil if nothing receives there any more.
    var source: OSCAddress?
  }

  /// A ping that waits for the sender's work up to a number.
  private struct Ping {
    let arguments: [OSCValue]
    let source: OSCAddress
    let latestWork: Int
  }

  /// A packet that ended with a ping, and the answers so far.
  private struct Request {
    let source: OSCAddress
    let number: OSCValue
    var answers: [OSCMessage]
  }

  private struct Subscription {
    let pattern: AddressPattern
    let range: FaderRange?
    let subscriber: OSCAddress
    var period: UInt64
    /// Host times in nanoseconds: of the next message, and of the end.
    var due: UInt64
    var end: UInt64
    /// The values sent last, by address.
    var sent: [Name: [OSCValue]] = [:]
    /// The matching nodes, as of a version of the address space.
    var matches: [RemoteNode] = []
    var version: Int?
  }

  /// Returns the answers to a packet.
  ///
  /// - Parameter now: Host time in nanoseconds.
  package mutating func receive(_ bytes: [UInt8], from source: OSCAddress, now: UInt64) -> [Answer]
  {
    guard let messages = try? OSCPacket.messages(in: bytes) else { return [] }
    var answers: [OSCMessage] = []
    for message in messages {
      refresh()
      do throws(RemoteError) {
        try handle(message, source, now, &answers)
      } catch {
        answers.append(Self.error(error, of: message))
      }
    }
    if let last = messages.last, last.address == "/cuejack/ping", last.types == "i" {
      requests.removeAll { $0.source == source }
      if requests.count == Self.mostRequests { requests.removeFirst() }
      requests.append(Request(source: source, number: last.arguments[0], answers: answers))
    }
    return Self.packets(answers, to: source)
  }

  /// Returns the packets of later answers to a sender, and keeps the answers with its request.
  private mutating func later(_ messages: [OSCMessage], to source: OSCAddress) -> [Answer] {
    if let index = requests.firstIndex(where: { $0.source == source }) {
      requests[index].answers += messages
    }
    return Self.packets(messages, to: source)
  }

  /// Answers the question of a sender that has no pong yet.
  private func alive(_ number: OSCValue, _ source: OSCAddress) -> [OSCMessage] {
    guard let request = requests.first(where: { $0.source == source && $0.number == number }) else {
      return [OSCMessage("/cuejack/alive", number)]
    }
    let isDone = request.answers.contains(OSCMessage("/cuejack/pong", number))
    return isDone ? request.answers : [OSCMessage("/cuejack/alive")]
  }

  /// Returns the messages of subscriptions that are due, and the seconds until the next ones; nil for
  /// none.
  package mutating func tick(now: UInt64) -> (answers: [Answer], pause: Double?) {
    var answers = followWork()
    // Work does not tell when it ends.
    let pause = pending.isEmpty ? nil : 0.02
    subscriptions.removeAll { $0.end <= now }
    if subscriptions.isEmpty { return (answers, pause) }
    refresh()
    for index in subscriptions.indices where subscriptions[index].due <= now {
      let messages = due(index)
      answers += Self.packets(messages, to: subscriptions[index].subscriber)
      // Periods that were missed are not made up for.
      let (due, period) = (subscriptions[index].due, subscriptions[index].period)
      subscriptions[index].due = due + period > now ? due + period : now + period
    }
    let next = subscriptions.map { min($0.due, $0.end) }.min() ?? now
    return (answers, min(pause ?? .infinity, Double(next > now ? next - now : 0) / 1e9))
  }

  /// Returns the answers to messages whose work has ended, and to pings that have waited for it.
  private mutating func followWork() -> [Answer] {
    if pending.isEmpty { return [] }
    var answers: [Answer] = []
    let before = pending
    pending = []
    for entry in before {
      guard let outcome = entry.work.outcomeSoFar else {
        pending.append(entry)
        continue
      }
      if let source = entry.source {
        answers += later(Self.answers(to: entry.address, outcome), to: source)
      }
    }
    if dropped > 0, pending.isEmpty {
      log.notice("\(dropped) OSC messages were dropped, because \(Self.mostPending) others waited")
      dropped = 0
    }
    let waiting = pings
    pings = []
    for ping in waiting {
      if pending.contains(where: { $0.source == ping.source && $0.number <= ping.latestWork }) {
        pings.append(ping)
      } else {
        answers += later([OSCMessage("/cuejack/pong", ping.arguments)], to: ping.source)
      }
    }
    return answers
  }

  private static func answers(to address: String, _ outcome: RemoteWork.Outcome) -> [OSCMessage] {
    switch outcome {
    case .success(let remarks):
      remarks.map { OSCMessage("/cuejack/remark", .string(address), .string($0)) }
    case .failure(let error): [Self.error(error, of: OSCMessage(address))]
    }
  }

  /// Begins the work of a message, and answers when it has ended: now if that is soon.
  ///
  /// - Throws: `RemoteError` if the work is refused, or if too much is under way.
  private mutating func follow(
    _ address: String, _ source: OSCAddress, _ answers: inout [OSCMessage],
    _ begin: () throws(RemoteError) -> RemoteWork?
  ) throws(RemoteError) {
    guard pending.count < Self.mostPending else {
      dropped += 1
      throw .refused(address, "\(Self.mostPending) messages wait already: this one is dropped")
    }
    guard let work = try begin() else { return }
    let isBusy = pending.contains { $0.source == source }
    if let outcome = isBusy ? work.outcomeSoFar : wait(for: work) {
      answers += Self.answers(to: address, outcome)
      return
    }
    latestWork += 1
    pending.append(Pending(number: latestWork, work: work, address: address, source: source))
  }

  /// Waits for the end of work as long as there is patience.
  private mutating func wait(for work: RemoteWork) -> RemoteWork.Outcome? {
    let begin = HostTime.now
    let recovered = Double(begin - patience.hostTime) / 1e9 * Self.recovery
    let allowed = min(Self.patience, patience.seconds + recovered)
    let outcome = work.outcome(within: allowed)
    let end = HostTime.now
    patience = (max(0, allowed - Double(end - begin) / 1e9), end)
    return outcome
  }

  private mutating func ping(
    _ arguments: [OSCValue], _ source: OSCAddress, _ answers: inout [OSCMessage]
  ) throws(RemoteError) {
    guard let last = pending.last(where: { $0.source == source }) else {
      answers.append(OSCMessage("/cuejack/pong", arguments))
      return
    }
    guard pings.count < Self.mostPings else {
      throw .refused("/cuejack/ping", "\(Self.mostPings) pings wait already")
    }
    pings.append(Ping(arguments: arguments, source: source, latestWork: last.number))
  }

  /// Ends the subscriptions of a program.
  private mutating func unsubscribe(_ subscriber: OSCAddress) {
    subscriptions.removeAll { $0.subscriber == subscriber }
  }

  /// Forgets a program that no longer receives. Its work goes on.
  package mutating func forget(_ source: OSCAddress) {
    unsubscribe(source)
    for index in pending.indices where pending[index].source == source {
      pending[index].source = nil
    }
    pings.removeAll { $0.source == source }
    requests.removeAll { $0.source == source }
  }

  /// Reads the address space again if it has changed.
  private mutating func refresh() {
    let current = target.remoteVersion
    if version == current { return }
    version = current
    addresses = RemoteAddresses(target.remoteNodes)
  }

  private mutating func due(_ index: Int) -> [OSCMessage] {
    if subscriptions[index].version != version {
      let (pattern, range) = (subscriptions[index].pattern, subscriptions[index].range)
      subscriptions[index].version = version
      subscriptions[index].matches = addresses.readable(pattern, range)
    }
    var messages: [OSCMessage] = []
    for node in subscriptions[index].matches {
      guard let values = target.remoteValues(at: node.address) else { continue }
      if node.kind != .meter {
        if subscriptions[index].sent[Name(node.address)] == values { continue }
        subscriptions[index].sent[Name(node.address)] = values
      }
      messages.append(Self.message(node, subscriptions[index].range, values))
    }
    return messages
  }

  /// Returns messages in packets of at most 8000 bytes, except single messages that are larger.
  private static func packets(_ messages: [OSCMessage], to destination: OSCAddress) -> [Answer] {
    var packets: [Answer] = []
    var rest = messages[...]
    while let first = rest.popFirst() {
      var part = [first]
      var bytes = (try? first.encoded().count) ?? 0
      while let next = rest.first, let more = try? next.encoded().count, bytes + more < 8000 {
        part.append(next)
        bytes += more + 4
        rest.removeFirst()
      }
      let packet = part.count == 1 ? try? first.encoded() : try? OSCPacket.bundle(of: part)
      if let packet { packets.append(Answer(bytes: packet, destination: destination)) }
    }
    return packets
  }

  private static func error(_ error: RemoteError, of message: OSCMessage) -> OSCMessage {
    if case .refused(let address, let reason) = error {
      return OSCMessage("/cuejack/error", .string(address), .string(reason))
    }
    return OSCMessage("/cuejack/error", .string(message.address), .string("\(error)"))
  }
}

// MARK: Messages

extension RemoteMessages {
  /// Messages that only answers have. They are ignored, so that two sessions cannot answer each other
  /// for ever.
  private static let answers: Set = [
    "/cuejack/error", "/cuejack/node", "/cuejack/pong", "/cuejack/remark", "/cuejack/subscribed",
    "/cuejack/unsubscribed",
  ]

  private mutating func handle(
    _ message: OSCMessage, _ source: OSCAddress, _ now: UInt64, _ answers: inout [OSCMessage]
  ) throws(RemoteError) {
    if Self.answers.contains(message.address) { return }
    let arguments = message.arguments
    switch (message.address, message.types) {
    case ("/cuejack/ping", "i"): try ping(arguments, source, &answers)
    case ("/cuejack/alive", ""): answers.append(message)
    case ("/cuejack/alive", "i"): answers += alive(arguments[0], source)
    case ("/cuejack/get", "s"):
      let (nodes, range) = try addresses.found(arguments[0].text ?? "")
      for node in nodes { answers.append(try value(of: node, range)) }
    case ("/cuejack/list", ""): list(from: 0, &answers)
    case ("/cuejack/list", "i"): list(from: Int(arguments[0].number ?? 0), &answers)
    // The end of a list, which only answers have.
    case ("/cuejack/list", "iii"): return
    case ("/cuejack/subscribe", "s"), ("/cuejack/subscribe", "sf"), ("/cuejack/subscribe", "sd"),
      ("/cuejack/subscribe", "si"):
      answers.append(
        try subscribe(
          arguments[0].text ?? "", period: arguments.dropFirst().first?.number ?? 0.1, source, now))
    case ("/cuejack/unsubscribe", ""):
      unsubscribe(source)
      answers.append(OSCMessage("/cuejack/unsubscribed", .string("*")))
    case ("/cuejack/unsubscribe", "s"):
      let text = arguments[0].text ?? ""
      let (address, range) = addresses.split(text)
      subscriptions.removeAll {
        $0.subscriber == source && $0.pattern.text == address && $0.range == range
      }
      answers.append(OSCMessage("/cuejack/unsubscribed", .string(text)))
    case ("/cuejack/ping", _), ("/cuejack/get", _), ("/cuejack/list", _),
      ("/cuejack/subscribe", _), ("/cuejack/unsubscribe", _):
      throw .refused(message.address, "it does not take the types “\(message.types)”")
    default:
      let (nodes, range) = try addresses.found(message.address)
      // One refusal does not keep the others of a pattern from being set.
      for node in nodes {
        do throws(RemoteError) {
          try apply(arguments, to: node, range, source, &answers)
        } catch {
          answers.append(Self.error(error, of: message))
        }
      }
    }
  }

  private mutating func apply(
    _ arguments: [OSCValue], to node: RemoteNode, _ range: FaderRange?, _ source: OSCAddress,
    _ answers: inout [OSCMessage]
  ) throws(RemoteError) {
    switch node.kind {
    case .action where node.types.isEmpty && arguments.count == 1:
      // Buttons of controllers send 1 when they are pressed, and 0 when they are released.
      let isPressed: Bool
      switch arguments[0] {
      case .bool(let flag): isPressed = flag
      case .impulse: isPressed = true
      default:
        guard let number = arguments[0].number else {
          throw node.refusal("it takes no arguments, or one number")
        }
        isPressed = number != 0
      }
      if isPressed {
        try follow(node.address, source, &answers) { [target] () throws(RemoteError) in
          try target.perform(node.address, [])
        }
      }
    case .action:
      let values = try node.accepted(arguments)
      try follow(node.address, source, &answers) { [target] () throws(RemoteError) in
        try target.perform(node.address, values)
      }
    case _ where arguments.isEmpty: answers.append(try value(of: node, range))
    case .parameter:
      let values =
        if let range { try range.values(at: arguments, of: node) } else {
          try node.accepted(arguments)
        }
      try follow(node.address, source, &answers) { [target] () throws(RemoteError) in
        try target.setRemote(node.address, to: values)
      }
    case .state, .meter: throw node.refusal("it can only be read")
    }
  }

  private func value(of node: RemoteNode, _ range: FaderRange?) throws(RemoteError) -> OSCMessage {
    if node.kind == .action { throw node.refusal("it is an action, and has no value") }
    guard let values = target.remoteValues(at: node.address) else {
      throw node.refusal("there is no such address any more")
    }
    return Self.message(node, range, values)
  }

  /// Returns the message with a node's values, or with the position of its fader.
  private static func message(_ node: RemoteNode, _ range: FaderRange?, _ values: [OSCValue])
    -> OSCMessage
  {
    guard let range else { return OSCMessage(node.address, values) }
    return OSCMessage(range.address(of: node), range.position(of: values))
  }

  /// Lists nodes, and tells the number of the first one, how many follow, and how many there are.
  private func list(from first: Int, _ answers: inout [OSCMessage]) {
    let start = min(max(first, 0), addresses.nodes.count)
    let part = addresses.nodes[start...].prefix(Self.nodesPerList)
    answers += part.map(\.message)
    answers.append(
      OSCMessage(
        "/cuejack/list", .int(Int32(start)), .int(Int32(part.count)),
        .int(Int32(addresses.nodes.count))))
  }

  private mutating func subscribe(
    _ address: String, period: Double, _ source: OSCAddress, _ now: UInt64
  ) throws(RemoteError) -> OSCMessage {
    let (path, range) = addresses.split(address)
    guard let pattern = AddressPattern(path) else {
      throw .refused(address, "it is no address, or too long a pattern")
    }
    guard !addresses.readable(pattern, range).isEmpty else {
      throw .refused(address, "no value matches")
    }
    guard period.isFinite else { throw .refused(address, "\(period) is no period") }
    let seconds = min(max(period, Self.periods.lowerBound), Self.periods.upperBound)
    let end = now + UInt64(Self.lifetime * 1e9)
    let same = subscriptions.firstIndex {
      $0.subscriber == source && $0.pattern == pattern && $0.range == range
    }
    if let same {
      subscriptions[same].period = UInt64(seconds * 1e9)
      subscriptions[same].end = end
      subscriptions[same].due = min(subscriptions[same].due, now + UInt64(seconds * 1e9))
    } else {
      guard subscriptions.count < Self.mostSubscriptions else {
        throw .refused(address, "there are \(Self.mostSubscriptions) subscriptions already")
      }
      subscriptions.append(
        Subscription(
          pattern: pattern, range: range, subscriber: source, period: UInt64(seconds * 1e9),
          due: now, end: end))
    }
    return OSCMessage(
      "/cuejack/subscribed", .string(address), .float(Float(seconds)), .float(Float(Self.lifetime)))
  }
}

extension RemoteNode {
  /// The message that lists the node.
  var message: OSCMessage {
    OSCMessage(
      "/cuejack/node", .string(address), .string(kind.rawValue), .string(types),
      lowest.map { .double($0) } ?? .null, highest.map { .double($0) } ?? .null,
      .string(unit ?? ""), .string(summary))
  }

  /// Reads a message that lists a node; nil if it is none.
  package init?(_ message: OSCMessage) {
    let values = message.arguments
    guard message.address == "/cuejack/node", values.count == 7, let address = values[0].text,
      let kind = values[1].text.flatMap({ Kind(rawValue: $0) }), let types = values[2].text,
      let unit = values[5].text, let summary = values[6].text
    else { return nil }
    self.init(
      address: address, kind, types: types, lowest: values[3].number, highest: values[4].number,
      unit: unit.isEmpty ? nil : unit, summary: summary)
  }
}
