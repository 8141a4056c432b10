import CLiblo
import Control
import Foundation
import TestSupport
import Testing

/// A session manager for one test, over a server of liblo: NSM's API 1.1 from the manager's side. It checks
/// the types of each message that it receives, and that all come from one socket. Any thread.
final class NSMServer: @unchecked Sendable {
  /// A message of a client.
  struct Received: Equatable {
    var path: String
    var types: String
    var arguments: [String]
  }

  /// The messages of clients, with their types.
  private static let types: [String: Set<String>] = [
    "/nsm/server/announce": ["sssiii"], "/reply": ["ss"], "/error": ["sis"],
    "/nsm/client/progress": ["f"], "/nsm/client/is_dirty": [""], "/nsm/client/is_clean": [""],
    "/nsm/client/message": ["is"], "/nsm/client/gui_is_hidden": [""],
    "/nsm/client/gui_is_shown": [""],
  ]

  private let server: lo_server
  private let lock = NSCondition()
  private var received: [Received] = []
  private var client: lo_address?
  private var clientURL: String?
  private var faults: [String] = []
  private var isOver = false
  private var hasEnded = false

  let url: String

  init() throws {
    guard
      let server = lo_server_new(
        nil,
        { number, text, _ in print("liblo: \(number) \(text.map { String(cString: $0) } ?? "")") }
      )
    else { throw SupportError("liblo makes no server") }
    self.server = server
    url = "osc.udp://127.0.0.1:\(lo_server_get_port(server))/"
    lo_server_add_method(
      server, nil, nil,
      { path, types, values, count, message, data in
        Unmanaged<NSMServer>.fromOpaque(data!).takeUnretainedValue().take(
          String(cString: path!), String(cString: types!), values, Int(count), message!)
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
    Thread.detachNewThread { [self] in
      while !lock.withLock({ isOver }) { lo_server_recv_noblock(self.server, 10) }
      lock.withLock {
        hasEnded = true
        lock.broadcast()
      }
    }
  }

  /// Ends the server. No program receives at its address afterwards.
  func end() {
    lock.lock()
    let isFirst = !isOver
    isOver = true
    while !hasEnded { lock.wait() }
    lock.unlock()
    if isFirst {
      lo_server_free(server)
      if let client { lo_address_free(client) }
    }
  }

  private func take(
    _ path: String, _ types: String, _ values: UnsafeMutablePointer<UnsafeMutablePointer<lo_arg>?>?,
    _ count: Int, _ message: lo_message
  ) {
    let url = lo_address_get_url(lo_message_get_source(message))!
    defer { free(url) }
    let source = String(cString: url)
    let arguments = zip(types, 0..<count).map { type, index in
      let value = values![index]!
      return switch type {
      case "i": "\(value.pointee.i)"
      case "f": "\(value.pointee.f)"
      case "s": String(cString: UnsafeRawPointer(value).assumingMemoryBound(to: CChar.self))
      default: "\(type)?"
      }
    }
    lock.lock()
    defer { lock.unlock() }
    if Self.types[path]?.contains(types) != true { faults.append("\(path) has types \(types)") }
    if client == nil {
      // The last messages of a client may arrive after it is forgotten.
      if source == clientURL { return }
      client = lo_address_new_from_url(source)
      clientURL = source
      if path != "/nsm/server/announce" { faults.append("\(path) comes before the announcement") }
    }
    if source != clientURL { faults.append("\(path) comes from another socket") }
    received.append(Received(path: path, types: types, arguments: arguments))
    lock.broadcast()
  }

  /// Sends a message to the client. Strings and integers are told apart by their types.
  func send(_ path: String, _ arguments: Any...) {
    let message = lo_message_new()!
    defer { lo_message_free(message) }
    for argument in arguments {
      switch argument {
      case let text as String: lo_message_add_string(message, text)
      case let number as Int: lo_message_add_int32(message, Int32(number))
      default: lo_message_add_float(message, 0)
      }
    }
    let client = lock.withLock { self.client }
    lo_send_message_from(client, server, path, message)
  }

  /// Sends bytes that need not be OSC to the client, from the server's own socket.
  func send(bytes: [UInt8]) throws {
    let port = lock.withLock { UInt16(String(cString: lo_address_get_port(client)))! }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    address.sin_port = port.bigEndian
    let sent = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(
          lo_server_get_socket_fd(server), bytes, bytes.count, 0, $0,
          socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if sent != bytes.count { throw SupportError("the packet is not sent: \(errno)") }
  }

  /// The address of the client.
  func clientAddress() throws -> OSCAddress {
    try OSCAddress(url: lock.withLock { clientURL ?? "" })
  }

  /// Forgets the client, so that another one may announce itself.
  func forget() {
    lock.withLock {
      lo_address_free(client)
      client = nil
      received = []
    }
  }

  /// Returns the next message, in the order of arrival, that is no progress, message or dirtiness unless
  /// `all` is set. Throws if none comes within the protocol's deadline, a minute.
  func next(all: Bool = false) throws -> Received {
    let end = Date(timeIntervalSinceNow: 60)
    lock.lock()
    defer { lock.unlock() }
    while true {
      if !faults.isEmpty { throw SupportError(faults.joined(separator: "\n")) }
      while !received.isEmpty {
        let message = received.removeFirst()
        if all || !message.path.hasPrefix("/nsm/client/") { return message }
      }
      guard lock.wait(until: end) else { throw SupportError("the client sends nothing") }
    }
  }

  /// Whether a message has arrived that nobody has taken.
  var isEmpty: Bool { lock.withLock { received.isEmpty } }

  /// Accepts the announcement that comes next.
  ///
  /// - Returns: Its arguments.
  @discardableResult
  func accept() throws -> [String] {
    let announcement = try next()
    expectEqual(announcement.path, "/nsm/server/announce")
    send(
      "/reply", "/nsm/server/announce", "welcome", "test manager", ":server-control:optional-gui:")
    return announcement.arguments
  }

  /// Sends `open` and returns the answer.
  func open(_ path: String, id: String = "number.nABCD") throws -> Received {
    send("/nsm/client/open", path, "A song", id)
    return try next()
  }

  /// Sends `save` and returns the answer.
  func save() throws -> Received {
    send("/nsm/client/save")
    return try next()
  }
}

extension NSMServer.Received {
  /// The answer of a client that has done what a message asks for.
  static func reply(_ path: String, _ text: String) -> Self {
    Self(path: "/reply", types: "ss", arguments: [path, text])
  }
}
