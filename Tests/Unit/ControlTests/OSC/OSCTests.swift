import CLiblo
import Control
import Foundation
import Synchronization
import System
import TestSupport
import Testing

/// OSC packets, addresses and sockets.
@Suite struct OSCTests {
  private static let all = OSCMessage(
    "/all/types",
    [
      .int(.min), .float(-0.5), .string("a text — é"), .blob([1, 2, 3, 4, 5]), .bool(true),
      .bool(false), .null, .impulse, .long(.max), .double(.pi), .string(""), .blob([]),
    ])

  @Test func messagesKeepTheirTypesAndValues() throws {
    let bytes = try Self.all.encoded()
    expectEqual(bytes.count % 4, 0)
    expectEqual(Self.all.types, "ifsbTFNIhdsb")
    try expectEqual(OSCPacket.messages(in: bytes), [Self.all])
  }

  /// Bytes from the OSC 1.0 specification's examples.
  @Test func theBytesAreThoseOfTheSpecification() throws {
    let bytes = try OSCMessage(
      "/foo", .int(1000), .int(-1), .string("hello"), .float(1.234), .float(5.678)
    ).encoded()
    expectEqual(
      bytes,
      [
        0x2f, 0x66, 0x6f, 0x6f, 0, 0, 0, 0, 0x2c, 0x69, 0x69, 0x73, 0x66, 0x66, 0, 0,
        0, 0, 3, 0xe8, 0xff, 0xff, 0xff, 0xff, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0, 0, 0,
        0x3f, 0x9d, 0xf3, 0xb6, 0x40, 0xb5, 0xb2, 0x2d,
      ])
  }

  @Test func bundlesHoldMessagesAndBundles() throws {
    let other = OSCMessage("/b", .int(2))
    let inner = try OSCPacket.bundle(of: [Self.all, other])
    try expectEqual(OSCPacket.messages(in: inner), [Self.all, other])
    func wrap(_ bytes: [UInt8]) -> [UInt8] {
      let size = bytes.count
      return Array("#bundle\0".utf8) + [0, 0, 0, 0, 0, 0, 0, 1]
        + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: size >> $0) } + bytes
    }
    var packet = inner
    for _ in 2...8 { packet = wrap(packet) }
    try expectEqual(OSCPacket.messages(in: packet), [Self.all, other])
    #expect(throws: OSCError.self) { try OSCPacket.messages(in: wrap(packet)) }
    try expectEqual(OSCPacket.messages(in: OSCPacket.bundle(of: [])), [])
  }

  @Test(arguments: [
    "", "/", "/a", "/a\0\0", "a\0\0\0,\0\0\0", "/a\0\0i\0\0\0", "/a\0\0,i\0\0",
    "/a\0\0,i\0\0\0\0\0",
    "/a\0\0,s\0\0abcd", "/a\0\0,b\0\0", "/a\0\0,b\0\0\0\0\0\u{5}abcd", "/a\0\0,x\0\0",
    "/a\0\0,m\0\0abcd",
    "/a\0\0,\0\0\0\0\0\0\0", "/a\0\0,[]\0", "#bundle\0", "#bundle\0\0\0\0\0\0\0\0",
    "#bundle\0\0\0\0\0\0\0\0\u{1}\0\0\0", "#bundle\0\0\0\0\0\0\0\0\u{1}\0\0\0\0",
    "#bundle\0\0\0\0\0\0\0\0\u{1}\0\0\0\u{8}/a\0\0", "#bundle\0\0\0\0\0\0\0\0\u{1}\u{7f}\0\0\0",
    "#bundlE\0\0\0\0\0\0\0\0\u{1}", "/a\0x,\0\0\0", "/a\0\0,s\0\0a\0\0x",
  ])
  func malformedPacketsAreRefused(packet: String) {
    #expect(throws: OSCError.self) { try OSCPacket.messages(in: Array(packet.utf8)) }
  }

  /// A text may be a path, whose bytes are kept.
  @Test func textsThatAreNotUTF8AreKept() throws {
    let bytes = Array("/a\0\0,s\0\0".utf8) + [0x63, 0xE9, 0, 0]
    let message = try require(try OSCPacket.messages(in: bytes).first)
    expectEqual(message.arguments, [.string(String(systemName: [0x63, 0xE9]))])
    try expectEqual(message.encoded(), bytes)
    let address = [0x2f, 0xff, 0, 0] + Array(",\0\0\0".utf8)
    #expect(throws: OSCError.self) { try OSCPacket.messages(in: address) }
  }

  @Test func whatCannotTravelIsNotSent() {
    for message in [
      OSCMessage("a"), OSCMessage("/a\0b"), OSCMessage("/a", .string("\0")),
      OSCMessage("/a", .blob([UInt8](repeating: 0, count: 70000))),
      OSCMessage("/a", .string(String(repeating: "x", count: 65507))),
    ] {
      #expect(throws: OSCError.self) { try message.encoded() }
    }
  }

  @Test func addressesAreReadFromURLs() throws {
    let address = try OSCAddress(url: "osc.udp://127.0.0.1:13000/")
    expectTrue(address == OSCAddress(port: 13000) && address.isLoopback)
    expectEqual(address.url, "osc.udp://127.0.0.1:13000/")
    expectTrue(try OSCAddress(url: "osc.udp://localhost:13000/").isLoopback)
    expectEqual(OSCAddress(host: 0xC0A8_0105, port: 9).description, "192.168.1.5:9")
    for url in ["", "udp", "osc.udp://", "osc.udp://localhost/", "http://localhost:80/"] {
      #expect(throws: OSCError.self) { try OSCAddress(url: url) }
    }
  }

  /// What a server has received.
  private final class Box: @unchecked Sendable {
    private let lock = NSLock()
    private var items: [(messages: [OSCMessage], source: OSCAddress)] = []
    private var lost: [OSCAddress] = []
    func add(_ bytes: [UInt8], _ source: OSCAddress) {
      let messages = (try? OSCPacket.messages(in: bytes)) ?? []
      lock.withLock { items.append((messages, source)) }
    }
    func lose(_ address: OSCAddress) { lock.withLock { lost.append(address) } }
    var received: [(messages: [OSCMessage], source: OSCAddress)] { lock.withLock { items } }
    var unreachable: [OSCAddress] { lock.withLock { lost } }
  }

  @Test func libloUnderstandsUsAndWeUnderstandIt() throws {
    let box = Box()
    let socket = try OSCSocket()
    let server = try OSCServer(on: socket, named: "test", .init { box.add($0, $1) })
    defer { server.end() }
    let port = "\(socket.port)"
    let address = lo_address_new("127.0.0.1", port)
    defer { lo_address_free(address) }
    let message = lo_message_new()!
    defer { lo_message_free(message) }
    lo_message_add_int32(message, 7)
    lo_message_add_string(message, "seven")
    lo_message_add_double(message, 7.5)
    lo_message_add_true(message)
    expectTrue(lo_send_message(address, "/from/liblo", message) > 0)
    try wait(for: "the message") { !box.received.isEmpty }
    expectEqual(
      box.received[0].messages,
      [
        OSCMessage("/from/liblo", .int(7), .string("seven"), .double(7.5), .bool(true))
      ])
    expectTrue(box.received[0].source.isLoopback)
  }

  /// The reason for a socket of our own.
  @Test func libloBindsToAllAddresses() throws {
    let server = try require(lo_server_new(nil, nil))
    defer { lo_server_free(server) }
    let port = String(lo_server_get_port(server), radix: 16, uppercase: true)
    let sockets =
      text(of: URL(fileURLWithPath: "/proc/net/udp"))
      + text(of: URL(fileURLWithPath: "/proc/net/udp6"))
    expectTrue(sockets.split(separator: "\n").contains { $0.contains(": 00000000:\(port) ") })
  }

  /// The reasons for patterns of our own.
  @Test func libloReadsPastTheEndOfPatternsAndMatchesSlashes() {
    // The pattern ends before the bracket or the zero, and has one meaning.
    let results = ["[!\0]\0", "[!\0\0\0"].map { pattern in
      Array(pattern.utf8CString).withUnsafeBufferPointer { lo_pattern_match("a", $0.baseAddress) }
    }
    expectTrue(results[0] != results[1])
    expectEqual(lo_pattern_match("/a/b/c", "/a/*"), 1)
  }

  @Test func aSocketIsBoundToTheLoopback() throws {
    let socket = try OSCSocket()
    let port = String(socket.port, radix: 16, uppercase: true)
    let line = text(of: URL(fileURLWithPath: "/proc/net/udp")).split(separator: "\n").first {
      $0.contains(":\(String(repeating: "0", count: 4 - port.count))\(port) ")
    }
    expectEqual(line?.contains(" 0100007F:"), true, "\(line ?? "")")
    #expect(throws: OSCError.self) { try OSCSocket(port: socket.port) }
  }

  /// An address of this machine that others can reach; nil if it has none.
  static let outside: UInt32? = {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return nil }
    defer { freeifaddrs(list) }
    var next = list
    while let entry = next {
      next = entry.pointee.ifa_next
      guard let address = entry.pointee.ifa_addr, address.pointee.sa_family == AF_INET else {
        continue
      }
      let host = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        UInt32(bigEndian: $0.pointee.sin_addr.s_addr)
      }
      if host >> 24 != 127 { return host }
    }
    return nil
  }()

  @Test func onlyThisMachineIsAcceptedByDefault() {
    let (near, far) = (
      OSCAddress(host: 0x7F01_0203, port: 1), OSCAddress(host: 0x0A00_0001, port: 1)
    )
    let other = OSCAddress(host: 0x0A00_0002, port: 1)
    expectTrue(OSCSocket.Reach.loopback.accepts(near) && !OSCSocket.Reach.loopback.accepts(far))
    let one = OSCSocket.Reach.host(0x0A00_0001)
    expectTrue(one.accepts(near) && one.accepts(far) && !one.accepts(other))
    expectTrue(OSCSocket.Reach.everywhere.accepts(other))
  }

  /// A name that is known later, and changes its address.
  @Test func aNameIsLookedUpAgain() throws {
    let addresses = Mutex<[UInt32?]>([nil, 0x0A00_0001, nil, 0x0A00_0002])
    let host = OSCHost("phone.local", pause: 0) { _ in
      addresses.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    }
    let reach = OSCSocket.Reach.named(host)
    let (first, second) = (
      OSCAddress(host: 0x0A00_0001, port: 1), OSCAddress(host: 0x0A00_0002, port: 1)
    )
    expectTrue(reach.unknownName == "phone.local" && reach.description.contains("not known yet"))
    expectTrue(!reach.accepts(first) && reach.accepts(OSCAddress(port: 1)))
    try wait(for: "the address") { reach.accepts(first) }
    expectTrue(reach.unknownName == nil && reach.description.contains("phone.local (10.0.0.1)"))
    try wait(for: "another address") { reach.accepts(second) }
    expectTrue(!reach.accepts(first))
    // No question follows at once.
    let questions = Mutex(0)
    let patient = OSCSocket.Reach.named(
      OSCHost("desk.local", pause: 3600) { _ in
        questions.withLock { $0 += 1 }
        return nil
      })
    for _ in 0..<10 { expectTrue(!patient.accepts(first)) }
    expectEqual(questions.withLock { $0 }, 1)
    expectEqual(OSCSocket.Reach(host: "localhost"), .loopback)
    expectTrue(OSCSocket.Reach(host: "10.0.0.1").accepts(first))
  }

  /// Packets with a source that is not the loopback stand for packets of other hosts.
  @Test(.enabled(if: outside != nil, "this machine has no address but the loopback"))
  func packetsOfOtherHostsAreDropped() throws {
    let outside = Self.outside!
    expectTrue(OSCSocket.isLocal(OSCAddress(host: outside, port: 1)))
    let stranger = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(stranger) }
    func send(_ bytes: [UInt8], to host: UInt32, _ port: UInt16) -> Int {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = host.bigEndian
      address.sin_port = port.bigEndian
      return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(stranger, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    var own = sockaddr_in()
    own.sin_family = sa_family_t(AF_INET)
    own.sin_addr.s_addr = outside.bigEndian
    let bound = withUnsafePointer(to: &own) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(stranger, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    expectEqual(bound, 0)
    let packet = try OSCMessage("/stranger").encoded()
    for reach in [OSCSocket.Reach.loopback, .host(outside + 1), .host(outside), .everywhere] {
      let box = Box()
      let socket = try OSCSocket(reach: reach)
      let server = try OSCServer(on: socket, named: "test", .init { box.add($0, $1) })
      defer { server.end() }
      let isOpen = reach == .everywhere || reach == .host(outside)
      for host in [OSCAddress.loopback, outside] { _ = send(packet, to: host, socket.port) }
      let friend = try OSCSocket()
      try friend.send(OSCMessage("/friend"), to: OSCAddress(port: socket.port))
      try wait(for: "the friend") { box.received.contains { $0.messages[0].address == "/friend" } }
      let strangers = box.received.filter { $0.messages[0].address == "/stranger" }
      expectTrue(strangers.isEmpty != isOpen, "\(reach)")
    }
  }

  @Test func packetsThatNobodyReceivesAreReported() throws {
    let gone = OSCAddress(port: try OSCSocket().port)
    let box = Box()
    let socket = try OSCSocket()
    var handlers = OSCServer.Handlers { box.add($0, $1) }
    handlers.unreachable = { box.lose($0) }
    let server = try OSCServer(on: socket, named: "test", handlers)
    defer { server.end() }
    try socket.send(OSCMessage("/a"), to: gone)
    try wait(for: "the report") { box.unreachable == [gone] }
    // The socket still works.
    let other = try OSCSocket()
    for _ in 0..<10 {
      try socket.send(OSCMessage("/a"), to: gone)
      try other.send(OSCMessage("/b"), to: OSCAddress(port: socket.port))
    }
    try wait(for: "the messages") { box.received.count == 10 }
  }

  @Test func aServerEndsAtOnceAndWithNothingLeft() throws {
    func files() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
    let before = try files()
    for _ in 0..<200 {
      let box = Box()
      let server = try OSCServer(on: OSCSocket(), named: "test", .init { box.add($0, $1) })
      server.end()
      server.end()
    }
    try wait(for: "the files to be closed") { try files() <= before + 1 }
  }
}
