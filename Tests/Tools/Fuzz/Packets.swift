import Control
import Foundation
import Synchronization

/// OSC packets for the remote control of a session. A case has ten of them, one after another, each behind
/// its size in two bytes.
///
/// A second, plain reader of OSC decides which packets are well formed. The session must understand just
/// these, and the others must change nothing.
struct Packets: Subject {
  private static let perCase = 10

  // MARK: Making packets

  func input(_ dice: inout Dice) -> Corpus.File {
    var bytes: [UInt8] = []
    for _ in 0..<Self.perCase {
      var packet = Self.packet(&dice, depth: 0)
      if dice.once(in: 2) { for _ in 0...dice.roll(4) { Self.damage(&packet, &dice) } }
      packet = Array(packet.prefix(65507))
      bytes += [UInt8(packet.count >> 8), UInt8(packet.count & 0xFF)] + packet
    }
    return Corpus.File(name: "packets.osc", bytes: bytes)
  }

  private static func packet(_ dice: inout Dice, depth: Int) -> [UInt8] {
    switch dice.roll(depth == 0 ? 12 : 8) {
    case 0 where depth < 12:
      var bytes = Array("#bundle\0".utf8) + (0..<8).map { _ in UInt8(dice.roll(256)) }
      for _ in 0..<dice.roll(5) {
        let part = packet(&dice, depth: depth + 1)
        bytes += big(UInt32(part.count)) + part
      }
      return bytes
    case 1 where depth == 0: return (0..<dice.roll(400)).map { _ in UInt8(dice.roll(256)) }
    case 2 where depth == 0:
      // A deep nest, or a long row.
      var bytes = message(&dice)
      for _ in 0..<dice.roll(20) {
        bytes = Array("#bundle\0".utf8) + big(0) + big(1) + big(UInt32(bytes.count)) + bytes
      }
      return bytes
    case 3 where depth == 0 && dice.once(in: 40):
      let part = Array("/cuejack/start\0\0,\0\0\0".utf8)
      return (0..<dice.roll(2000)).reduce(into: Array("#bundle\0".utf8) + big(0) + big(1)) {
        bytes, _ in
        bytes += big(UInt32(part.count)) + part
      }
    case 4 where depth == 0 && dice.once(in: 40):
      return padded(Array("/cuejack/title".utf8)) + padded([0x2C, 0x73])
        + padded([UInt8](repeating: 0x78, count: dice.roll(65000)))
    default: return message(&dice)
    }
  }

  private static func message(_ dice: inout Dice) -> [UInt8] {
    let addresses = [
      "start", "locate", "tracks/1/gain", "tracks/2/gain", "tracks/1/mute", "title", "count",
      "load",
      "peaks", "tracks/*/gain", "*", "[a-z]*", "{start,title}", "tracks/?/[!g]*", "{", "get",
      "list",
      "subscribe", "unsubscribe", "ping", "error", "nothing", "",
    ]
    var bytes = padded(Array("/cuejack/\(addresses[dice.roll(addresses.count)])".utf8))
    var tags: [UInt8] = [0x2C]
    var values: [UInt8] = []
    for _ in 0..<(dice.once(in: 20) ? dice.roll(100) : dice.roll(4)) {
      let tag = Array("ifsbTFNIhdifsfmtcSr[]".utf8)[dice.roll(21)]
      tags.append(tag)
      switch tag {
      case UInt8(ascii: "i"), UInt8(ascii: "m"), UInt8(ascii: "c"), UInt8(ascii: "r"):
        values += big([0, 1, 5, .max, 0x8000_0000, UInt32(dice.roll(10))][dice.roll(6)])
      case UInt8(ascii: "f"):
        let numbers: [Float] = [0, 1, -6, 0.5, 13, -91, .nan, .infinity, 1e30, -.zero]
        values += big(numbers[dice.roll(numbers.count)].bitPattern)
      case UInt8(ascii: "h"), UInt8(ascii: "d"), UInt8(ascii: "t"):
        values += big(UInt32(truncatingIfNeeded: dice.next())) + big(UInt32(dice.roll(3)))
      case UInt8(ascii: "s"), UInt8(ascii: "S"):
        let texts = [
          "", "a", "abc", "take", "/cuejack/*", "/cuejack/peaks", "/cuejack/{load,peaks}", "é",
          "/[", "\u{7F}",
        ]
        values += padded(Array(texts[dice.roll(texts.count)].utf8))
      case UInt8(ascii: "b"):
        let count = dice.roll(20)
        values += big(UInt32(count)) + (0..<count).map { _ in UInt8(dice.roll(256)) }
        values += [UInt8](repeating: 0, count: (4 - count % 4) % 4)
      default: break
      }
    }
    bytes += padded(tags) + values
    return bytes
  }

  private static func big(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: 4 - bytes.count % 4)
  }

  private static func damage(_ bytes: inout [UInt8], _ dice: inout Dice) {
    guard !bytes.isEmpty else { return bytes.append(UInt8(dice.roll(256))) }
    let position = dice.roll(bytes.count)
    switch dice.roll(7) {
    case 0: bytes[position] ^= 1 << UInt8(dice.roll(8))
    case 1: bytes[position] = [0, 1, 0x2C, 0x2F, 0x62, 0x7F, 0x80, 0xFF][dice.roll(8)]
    case 2: bytes.removeLast(dice.roll(bytes.count + 1))
    case 3: bytes.removeSubrange(position..<min(bytes.count, position + 1 + dice.roll(8)))
    case 4: bytes.insert(contentsOf: bytes[position...].prefix(dice.roll(64)), at: position)
    case 5:
      let size = [0, 1, 4, 8, UInt32(bytes.count), .max, .max - 3, 0x7FFF_FFFC, 0x8000_0000][
        dice.roll(9)]
      for (index, byte) in big(size).enumerated() where position / 4 * 4 + index < bytes.count {
        bytes[position / 4 * 4 + index] = byte
      }
    default: bytes.append(contentsOf: [UInt8](repeating: 0, count: dice.roll(9)))
    }
  }

  // MARK: Running a case

  func run(_ input: Corpus.File, scratch: String, _ dice: inout Dice) throws {
    let target = Target()
    var remote = RemoteMessages(target)
    var rest = input.bytes[...]
    var now: UInt64 = 0
    while rest.count >= 2 {
      let size = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
      let packet = Array(rest.dropFirst(2).prefix(size))
      rest = rest.dropFirst(2 + size)
      let expected = Self.elements(of: packet[...], depth: 0)
      let read = try? OSCPacket.messages(in: packet)
      let again = try read.map { try $0.map { try $0.encoded() } }
      guard again == (expected?.count ?? 0 > 1024 ? nil : expected) else {
        fatalError("read \(read.map(String.init(describing:)) ?? "nothing") from \(packet)")
      }
      let calls = target.calls.load(ordering: .relaxed)
      let source = OSCAddress(port: UInt16(1 + dice.roll(70)))
      let answers = remote.receive(packet, from: source, now: now)
      if read == nil {
        precondition(answers.isEmpty && target.calls.load(ordering: .relaxed) == calls)
      }
      now += UInt64(dice.roll(2_000_000_000))
      for answer in answers + remote.tick(now: now).answers {
        let messages = try OSCPacket.messages(in: answer.bytes)
        for message in messages { _ = RemoteNode(message) }
      }
      if dice.once(in: 10) { remote.forget(source) }
    }
  }

  /// Returns the bytes of each message of a packet; nil if it is malformed.
  private static func elements(of packet: ArraySlice<UInt8>, depth: Int) -> [[UInt8]]? {
    let bytes = Array(packet)
    guard bytes.count % 4 == 0 else { return nil }
    if bytes.starts(with: "#bundle\0".utf8) {
      guard depth < 8, bytes.count >= 16 else { return nil }
      var all: [[UInt8]] = []
      var position = 16
      while position < bytes.count {
        guard position + 4 <= bytes.count else { return nil }
        let size = Int(number(bytes, position))
        position += 4
        guard size > 0, position + size <= bytes.count,
          let part = elements(of: bytes[position..<position + size], depth: depth + 1)
        else { return nil }
        all += part
        position += size
      }
      return all
    }
    var position = 0
    /// Returns the next text. An argument may be a path, of any bytes.
    func text(isArgument: Bool = false) -> [UInt8]? {
      guard let end = bytes[position...].firstIndex(of: 0) else { return nil }
      let next = (end / 4 + 1) * 4
      guard next <= bytes.count, bytes[end..<next].allSatisfy({ $0 == 0 }) else { return nil }
      defer { position = next }
      let text = Array(bytes[position..<end])
      return isArgument || String(validating: text, as: UTF8.self) != nil ? text : nil
    }
    guard let address = text(), address.first == 0x2F, position < bytes.count, let tags = text(),
      tags.first == 0x2C
    else { return nil }
    for tag in tags.dropFirst() {
      switch tag {
      case UInt8(ascii: "T"), UInt8(ascii: "F"), UInt8(ascii: "N"), UInt8(ascii: "I"): break
      case UInt8(ascii: "i"), UInt8(ascii: "f"): position += 4
      case UInt8(ascii: "h"), UInt8(ascii: "d"): position += 8
      case UInt8(ascii: "s"):
        guard position <= bytes.count, text(isArgument: true) != nil else { return nil }
      case UInt8(ascii: "b"):
        guard position + 4 <= bytes.count else { return nil }
        let end = position + 4 + Int(number(bytes, position))
        let next = (end + 3) / 4 * 4
        guard next <= bytes.count, bytes[end..<next].allSatisfy({ $0 == 0 }) else { return nil }
        position = next
      default: return nil
      }
      if position > bytes.count { return nil }
    }
    return position == bytes.count ? [bytes] : nil
  }

  private static func number(_ bytes: [UInt8], _ position: Int) -> UInt32 {
    bytes[position..<position + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// A session that accepts only what its nodes promise.
  private final class Target: RemoteTarget {
    let calls = Atomic(0)
    let remoteVersion = 1
    let remoteNodes = [
      RemoteNode("start", .action, summary: ""),
      RemoteNode("locate", .action, types: "d", range: 0...3600, unit: "s", summary: ""),
      RemoteNode("tracks/1/gain", .parameter, types: "f", range: -90...12, unit: "dB", summary: ""),
      RemoteNode("tracks/2/gain", .parameter, types: "f", range: -90...12, unit: "dB", summary: ""),
      RemoteNode("tracks/1/mute", .parameter, types: "T", summary: ""),
      RemoteNode("title", .parameter, types: "s", summary: ""),
      RemoteNode("count", .parameter, types: "i", range: 0...9, summary: ""),
      RemoteNode("load", .state, types: "f", summary: ""),
      RemoteNode("peaks", .meter, types: "ff", unit: "dB", summary: ""),
    ]

    func remoteValues(at address: String) -> [OSCValue]? {
      remoteNodes.first { $0.address == address }?.types.map { tag in
        switch tag {
        case "s": .string("take")
        case "T": .bool(true)
        case "i": .int(1)
        default: .float(1)
        }
      }
    }
    func setRemote(_ address: String, to values: [OSCValue]) throws(RemoteError) -> RemoteWork? {
      check(address, values)
      return nil
    }
    func perform(_ address: String, _ arguments: [OSCValue]) throws(RemoteError) -> RemoteWork? {
      check(address, arguments)
      return nil
    }

    private func check(_ address: String, _ values: [OSCValue]) {
      calls.add(1, ordering: .relaxed)
      let node = remoteNodes.first { $0.address == address }!
      precondition(node.types.count == values.count)
      for (type, value) in zip(node.types, values) {
        precondition(value.tag == type || type == "T" && value.tag == "F")
        guard let number = value.number else { continue }
        precondition(number.isFinite && number >= node.lowest ?? -.infinity)
        precondition(number <= node.highest ?? .infinity)
      }
    }
  }
}
