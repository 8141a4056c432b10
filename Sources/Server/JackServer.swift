import CJack
import CRealTime
import Glibc
import Logging
import RealTime
import Synchronization
import Timeline

let log = Logger(label: "cuejack")

/// A JACK server (jackd, or PipeWire's stand-in).
package struct JackServer: Server {
  /// The name that was asked for; nil for the default server.
  package let requestedName: String?

  /// The server called `name`, which has to run; or, if it is nil, the default server, which is
  /// started if it does not run.
  package init(named name: String? = nil) { requestedName = name }

  /// The name that JACK finds the server by.
  package var name: String {
    if let requestedName { return requestedName }
    return unsafe getenv("JACK_DEFAULT_SERVER").map { unsafe String(cString: $0) } ?? "default"
  }

  /// True if a server of this name answers now.
  package var isRunning: Bool {
    Self.quietLibrary
    return Self.opening.withLock { _ in
      guard let client = try? attempt("cuejack-probe", on: name) else { return false }
      client.close()
      return true
    }
  }

  /// JACK's library is not made for two threads that open clients at once.
  private static let opening = Mutex<Void>(())

  package func openClient(named name: String) throws(ServerError) -> any ServerClient {
    Self.quietLibrary
    let server = self.name
    // On exit a client unlinks the socket of its name, which is the server's if they are the same.
    let name = name == server ? name + "-client" : name
    let result = Self.opening.withLock { _ -> Result<JackClient, ServerError> in
      do throws(ServerError) {
        return .success(try open(name, on: server))
      } catch {
        return .failure(error)
      }
    }
    let client = try result.get()
    if client.name != name {
      log.notice("the client name “\(name)” is taken; JACK made it “\(client.name)”")
    }
    return client
  }

  private func open(_ name: String, on server: String) throws(ServerError) -> JackClient {
    if let client = try attempt(name, on: server) {
      StartedServer.ours(named: server)?.adopt(client)
      return client
    }
    if let requestedName { throw .unknownServer(requestedName) }
    if unsafe getenv("JACK_NO_START_SERVER") != nil { throw .notRunning(server) }
    let started = try StartedServer.start(named: server)
    let deadline = HostTime.now + 20_000_000_000
    while true {
      let isOver = started.isOver
      if let client = try attempt(name, on: server) {
        // If ours gave up because somebody else's was quicker, that one serves as well.
        if !started.isOver { started.adopt(client) }
        return client
      }
      if isOver { throw .jackdFailed(started.lastWords) }
      if HostTime.now > deadline {
        started.end()
        throw .jackdFailed("it does not answer. \(started.lastWords)")
      }
      usleep(20_000)
    }
  }

  /// A client, or nil if no server answers.
  private func attempt(_ name: String, on server: String) throws(ServerError) -> JackClient? {
    var status = jack_status_t(0)
    if let handle = unsafe cue_jack_client_open(name, requestedName, &status) {
      return unsafe JackClient(handle, serverName: server)
    }
    if status.rawValue & JackServerFailed.rawValue != 0 { return nil }
    throw .cannotOpenClient(name: name, server: server, reason: Self.reason(of: status))
  }

  private static func reason(of status: jack_status_t) -> String {
    let reasons: [(JackStatus, String)] = [
      (JackVersionError, "the server speaks another version of the protocol"),
      (JackShmFailure, "its shared memory cannot be reached"),
      (JackInvalidOption, "an option is invalid"),
      (JackInitFailure, "the client could not be initialised"),
      (JackNameNotUnique, "the name is taken"),
      (JackServerError, "the server could not be talked to"),
    ]
    let words = reasons.filter { status.rawValue & $0.0.rawValue != 0 }.map(\.1)
    return (words.isEmpty ? ["the server refused it"] : words).joined(separator: ", ")
  }

  /// Has the JACK library speak through our log instead of writing to standard error.
  private static let quietLibrary: Void = {
    unsafe jack_set_error_function { text in
      if let text = unsafe text { log.debug("libjack: \(unsafe String(cString: text))") }
    }
    unsafe jack_set_info_function { text in
      if let text = unsafe text { log.debug("libjack: \(unsafe String(cString: text))") }
    }
  }()
}

/// A client of a JACK server.
@safe
final class JackClient: ServerClient, @unchecked Sendable {
  let serverName: String
  let name: String
  let sampleRate: Double
  let handle: OpaquePointer?
  private let client: OpaquePointer
  /// Calls of JACK go on side by side; closing waits for them and keeps later ones out, since the
  /// handle is then no more.
  private let gate: UnsafeMutablePointer<pthread_rwlock_t>
  private var isClosed = false
  /// What the callbacks were given; released when the client is closed.
  private let retained = Mutex<UInt>(0)
  private let onClose = Mutex<(@Sendable () -> @Sendable () -> Void)?>(nil)

  init(_ client: OpaquePointer, serverName: String) {
    unsafe self.client = client
    unsafe handle = client
    unsafe gate = .allocate(capacity: 1)
    unsafe gate.initialize(to: pthread_rwlock_t())
    unsafe pthread_rwlock_init(gate, nil)
    self.serverName = serverName
    unsafe name = String(cString: jack_get_client_name(client))
    sampleRate = unsafe Double(jack_get_sample_rate(client))
  }

  deinit {
    unsafe pthread_rwlock_destroy(gate)
    unsafe gate.deallocate()
  }

  /// Runs `body`, which calls JACK with the handle; nil if the client is closed.
  private func whileOpen<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R? {
    unsafe pthread_rwlock_rdlock(gate)
    defer { unsafe pthread_rwlock_unlock(gate) }
    return isClosed ? nil : try body()
  }

  /// Has `body` run just before the client closes, and what it returns just after.
  func whenClosed(_ body: @escaping @Sendable () -> @Sendable () -> Void) {
    onClose.withLock { $0 = body }
  }

  var counter: UInt32 { whileOpen { unsafe jack_frame_time(client) } ?? 0 }

  var deviceFrame: Int64 {
    let microseconds = jack_get_time()
    let counter = whileOpen { unsafe jack_time_to_frames(client, microseconds) } ?? 0
    return DeviceTime.widen(counter, seenAt: microseconds, sampleRate: sampleRate)
  }

  func hostTime(ofCounter counter: UInt32) -> UInt64 {
    whileOpen { unsafe jack_frames_to_time(client, counter) * 1000 } ?? 0
  }

  func counter(atHostTime hostTime: UInt64) -> UInt32 {
    whileOpen { unsafe jack_time_to_frames(client, hostTime / 1000) } ?? 0
  }

  var physicalOutputs: [String] {
    ports(JackPortIsInput.rawValue | JackPortIsPhysical.rawValue)
  }

  /// The full names of all ports on the server, of any client.
  var allPorts: [String] { ports(0) }

  private func ports(_ flags: UInt32) -> [String] {
    whileOpen {
      guard let names = unsafe jack_get_ports(client, nil, JACK_DEFAULT_AUDIO_TYPE, UInt(flags))
      else { return [] }
      defer { unsafe jack_free(names) }
      var list: [String] = []
      var i = 0
      while let name = unsafe names[i] {
        unsafe list.append(String(cString: name))
        i += 1
      }
      return list
    } ?? []
  }

  func activate(_ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices)
    throws(ServerError)
  {
    unsafe jack_set_process_callback(client, { unsafe process($0, $1) }, engine)
    let link = NoticeLink(notices)
    let argument = unsafe Unmanaged.passRetained(link).toOpaque()
    retained.withLock { $0 = UInt(bitPattern: argument) }
    unsafe jack_on_info_shutdown(
      client, { _, _, argument in unsafe NoticeLink.from(argument)?.serverLost() }, argument)
    unsafe jack_set_xrun_callback(
      client,
      { argument in
        unsafe NoticeLink.from(argument)?.xrun()
        return 0
      }, argument)
    guard unsafe jack_activate(client) == 0 else { throw .cannotActivate(client: name) }
  }

  func addPort(named name: String) throws(ServerError) -> OutputPort {
    let port = unsafe whileOpen {
      unsafe jack_port_register(
        client, name, JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsOutput.rawValue), 0)
    }
    guard let port = unsafe port ?? nil else { throw .cannotAddPort(name: name, client: self.name) }
    return unsafe OutputPort(cue_port(port: port, memory: nil, connections: nil))
  }

  func removePort(_ port: OutputPort) {
    if let port = unsafe port.place.port {
      whileOpen { _ = unsafe jack_port_unregister(client, port) }
    }
  }

  func connect(_ name: String, to destination: String) throws(ServerError) {
    let isConnected: Void? = try whileOpen { () throws(ServerError) in
      guard let port = unsafe jack_port_by_name(client, destination),
        unsafe jack_port_flags(port) & CInt(JackPortIsInput.rawValue) != 0
      else { throw .noSuchPort(name: destination, server: serverName) }
      let source = "\(self.name):\(name)"
      let status = unsafe jack_connect(client, source, destination)
      guard status == 0 || status == EEXIST else {
        throw .cannotConnect(from: source, to: destination)
      }
    }
    guard isConnected != nil else { throw .lost(server: serverName) }
  }

  func disconnect(_ name: String, from destination: String) {
    whileOpen { _ = unsafe jack_disconnect(client, "\(self.name):\(name)", destination) }
  }

  func close() {
    let afterwards = onClose.withLock { body in
      defer { body = nil }
      return body?()
    }
    unsafe pthread_rwlock_wrlock(gate)
    let wasClosed = isClosed
    isClosed = true
    unsafe pthread_rwlock_unlock(gate)
    if wasClosed { return }
    _ = unsafe jack_client_close(client)
    retained.withLock { bits in
      if let argument = unsafe UnsafeRawPointer(bitPattern: bits) {
        unsafe Unmanaged<NoticeLink>.fromOpaque(argument).release()
      }
      bits = 0
    }
    afterwards?()
  }
}

/// What JACK's callbacks hold: a weak link, so that a client that is never closed keeps nothing alive.
private final class NoticeLink: Sendable {
  private let notices: Weak
  private struct Weak: @unchecked Sendable { weak var notices: (any ServerNotices)? }

  init(_ notices: any ServerNotices) { self.notices = Weak(notices: notices) }

  static func from(_ argument: UnsafeMutableRawPointer?) -> (any ServerNotices)? {
    guard let argument = unsafe argument else { return nil }
    return unsafe Unmanaged<NoticeLink>.fromOpaque(argument).takeUnretainedValue().notices.notices
  }
}
