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
      client.close { $0() }
      return true
    }
  }

  /// JACK's library is not made for two threads that open clients at once.
  ///
  /// And closing a client takes down, once the server has given its number to the next one, what the
  /// process keeps under that number: nobody opens one meanwhile.
  fileprivate static let opening = Mutex<Void>(())

  package func openClient(named name: String) throws(ServerError) -> any ServerClient {
    Self.quietLibrary
    let server = self.name
    // On exit a client unlinks the socket of its name, which is the server's if they are the same.
    let name = name == server ? name + "-client" : name
    JackClient.awaitClosingOfLost()
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

  package func reopenClient(named name: String) -> (any ServerClient)? {
    JackClient.awaitClosingOfLost()
    let server = self.name
    let client = Self.opening.withLock { _ in
      let client = try? attempt(name, on: server)
      if let client { StartedServer.ours(named: server)?.adopt(client) }
      return client
    }
    if let client, client.name != name {
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
    if let inUse = JackClient.serverInUse(otherThan: server) {
      throw .otherServer(server, inUse: inUse)
    }
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
  let client: OpaquePointer
  /// Calls of JACK go on side by side; closing waits for them and keeps later ones out, since the
  /// handle is then no more.
  private let gate: UnsafeMutablePointer<pthread_rwlock_t>
  private var isClosed = false
  /// Held by calls that change ports or connections: libjack sends each as a request on the client's one
  /// socket and keeps a list of its ports, both without a lock. The value is the latest of them.
  let requests = Mutex<Change?>(nil)
  /// Our ports' latencies, for JACK's callback.
  let latencies = Mutex<[JackLatency]>([])
  /// How often JACK has told of a new order of the graph.
  private let orders = Atomic<UInt32>(0)

  /// A change of the graph that JACK may not have told of yet.
  struct Change {
    /// The cycle in which it was asked for: the counter at its first frame.
    let cycle: UInt32
    /// How many orders had been told by then.
    let orders: UInt32
  }
  /// What the callbacks were given; released when the client is closed.
  private let retained = Mutex<UInt>(0)
  private let onClose = Mutex<(@Sendable () -> @Sendable () -> Void)?>(nil)
  /// It was told that its server has gone.
  private let isLost = Atomic<Bool>(false)
  /// How many servers of that name had gone when it was opened.
  private let generation: UInt64

  /// What there is of each server name: how many servers have gone, and the clients that are open, by
  /// that number when they were opened.
  private struct Generations {
    var gone: UInt64 = 0
    var open: [UInt64: Int] = [:]
    var hasStale: Bool { open.contains { $0.key < gone && $0.value > 0 } }
  }
  private static let generations = Mutex<[String: Generations]>([:])

  /// A server that clients of this process are on, if it is not `name`.
  static func serverInUse(otherThan name: String) -> String? {
    generations.withLock { all in all.first { $0.key != name && !$0.value.open.isEmpty }?.key }
  }

  /// Waits until every client whose server has gone is closed, for five seconds at most.
  ///
  /// JACK keeps its clients in tables of the process, by numbers that each server gives: closing an
  /// old client would take one of the next server's down.
  static func awaitClosingOfLost() {
    let deadline = HostTime.now + 5_000_000_000
    while generations.withLock({ $0.values.contains { $0.hasStale } }), HostTime.now < deadline {
      usleep(1000)
    }
  }

  fileprivate func orderChanged() { orders.add(1, ordering: .releasing) }

  /// Notes that the graph has been asked to change.
  func note(_ change: inout Change?) {
    change = unsafe Change(
      cycle: jack_last_frame_time(client), orders: orders.load(ordering: .acquiring))
  }

  /// Waits until a port can go, for some cycles at most.
  ///
  /// In the cycle after each change JACK has its thread in this process go through the list of our ports
  /// to set their latencies, without a lock: no port may leave the list meanwhile. What follows a change
  /// in the same cycle comes before that; what comes later waits until JACK has told of the new order,
  /// which is the next thing that it does.
  private func awaitOrder(after change: Change?) {
    guard let change else { return }
    let period = unsafe jack_get_buffer_size(client)
    let deadline = HostTime.now + max(50_000_000, UInt64(4e9 * Double(period) / sampleRate))
    while orders.load(ordering: .acquiring) == change.orders, HostTime.now < deadline,
      !isLost.load(ordering: .acquiring)
    {
      if unsafe jack_last_frame_time(client) == change.cycle,
        unsafe jack_frames_since_cycle_start(client) < period / 4 * 3
      {
        return
      }
      usleep(500)
    }
  }

  fileprivate func serverLost() {
    isLost.store(true, ordering: .releasing)
    Self.generations.withLock { all in
      if all[serverName]?.gone == generation { all[serverName]?.gone += 1 }
    }
  }

  /// Waits, for two seconds at most, until a client whose server has gone has been told so: JACK does
  /// not bear it to be closed before.
  private func awaitNotice() {
    let deadline = HostTime.now + 2_000_000_000
    while !isLost.load(ordering: .acquiring), HostTime.now < deadline,
      Self.generations.withLock({ ($0[serverName]?.gone ?? 0) > generation })
    {
      usleep(1000)
    }
  }

  init(_ client: OpaquePointer, serverName: String) {
    unsafe self.client = client
    unsafe handle = client
    unsafe gate = .allocate(capacity: 1)
    unsafe gate.initialize(to: pthread_rwlock_t())
    unsafe pthread_rwlock_init(gate, nil)
    self.serverName = serverName
    unsafe name = String(cString: jack_get_client_name(client))
    sampleRate = unsafe Double(jack_get_sample_rate(client))
    generation = Self.generations.withLock { all in
      let generation = all[serverName, default: Generations()].gone
      all[serverName, default: Generations()].open[generation, default: 0] += 1
      return generation
    }
  }

  deinit {
    unsafe pthread_rwlock_destroy(gate)
    unsafe gate.deallocate()
  }

  /// Runs `body`, which calls JACK with the handle; nil if the client is closed.
  func whileOpen<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R? {
    unsafe pthread_rwlock_rdlock(gate)
    defer { unsafe pthread_rwlock_unlock(gate) }
    return isClosed ? nil : try body()
  }

  /// Has `body` run just before the client closes, and what it returns just after.
  func whenClosed(_ body: @escaping @Sendable () -> @Sendable () -> Void) {
    onClose.withLock { $0 = body }
  }

  var counter: UInt32 { whileOpen { unsafe jack_frame_time(client) } ?? 0 }

  var periodFrames: Int { Int(whileOpen { unsafe jack_get_buffer_size(client) } ?? 0) }

  var realTimePriority: Int? {
    let priority = whileOpen { unsafe jack_client_real_time_priority(client) } ?? -1
    return priority > 0 ? Int(priority) : nil
  }

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

  var physicalInputs: [String] {
    ports(JackPortIsOutput.rawValue | JackPortIsPhysical.rawValue)
  }

  /// The full names of all ports on the server, of any client.
  var allPorts: [String] { ports(0) }

  private func ports(_ flags: UInt32) -> [String] {
    whileOpen {
      unsafe Self.strings(jack_get_ports(client, nil, JACK_DEFAULT_AUDIO_TYPE, UInt(flags)))
    } ?? []
  }

  func activate(_ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices)
    throws(ServerError)
  {
    let isActive = whileOpen {
      unsafe setCallbacks(engine, notices)
      return unsafe jack_activate(client) == 0
    }
    guard let isActive else { throw .lost(server: serverName) }
    if !isActive { throw .cannotActivate(client: name) }
  }

  private func setCallbacks(
    _ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices
  ) {
    unsafe jack_set_process_callback(client, { unsafe process($0, $1) }, engine)
    let link = NoticeLink(notices, self)
    let argument = unsafe Unmanaged.passRetained(link).toOpaque()
    retained.withLock { $0 = UInt(bitPattern: argument) }
    unsafe jack_on_info_shutdown(
      client, { _, _, argument in unsafe NoticeLink.from(argument)?.serverLost() }, argument)
    unsafe jack_set_xrun_callback(
      client,
      { argument in
        unsafe NoticeLink.from(argument)?.notices?.xrun()
        return 0
      }, argument)
    unsafe jack_set_sample_rate_callback(
      client,
      { rate, argument in
        unsafe NoticeLink.from(argument)?.rate(rate)
        return 0
      }, argument)
    unsafe jack_set_buffer_size_callback(
      client,
      { frames, argument in
        unsafe NoticeLink.from(argument)?.notices?.periodChanged(to: Int(frames))
        return 0
      }, argument)
    unsafe jack_set_freewheel_callback(
      client,
      { isOn, argument in unsafe NoticeLink.from(argument)?.notices?.freewheels(isOn != 0) },
      argument)
    unsafe jack_set_latency_callback(
      client, { mode, argument in unsafe NoticeLink.from(argument)?.tellLatencies(mode) },
      argument)
    unsafe jack_set_graph_order_callback(
      client,
      { argument in
        unsafe NoticeLink.from(argument)?.orderChanged()
        return 0
      }, argument)
    unsafe jack_set_port_connect_callback(
      client,
      { a, b, isConnected, argument in
        unsafe NoticeLink.from(argument)?.port(a, isConnected: isConnected != 0, with: b)
      }, argument)
    unsafe jack_set_port_registration_callback(
      client,
      { _, isThere, argument in
        if isThere != 0 { unsafe NoticeLink.from(argument)?.notices?.portAppeared() }
      }, argument)
  }

  func addPort(named name: String, _ direction: PortDirection) throws(ServerError) -> ClientPort {
    try addPort(named: name, direction, JACK_DEFAULT_AUDIO_TYPE)
  }

  func addMIDIPort(named name: String, _ direction: PortDirection) throws(ServerError)
    -> ClientPort
  { try addPort(named: name, direction, JACK_DEFAULT_MIDI_TYPE) }

  private func addPort(named name: String, _ direction: PortDirection, _ type: String)
    throws(ServerError) -> ClientPort
  {
    let flags = direction == .input ? JackPortIsInput : JackPortIsOutput
    let port = whileOpen {
      requests.withLock { change in
        defer { note(&change) }
        return unsafe UInt(
          bitPattern: jack_port_register(
            client, name, type, UInt(flags.rawValue), 0))
      }
    }
    guard let port else { throw .closed(client: self.name) }
    guard let port = unsafe OpaquePointer(bitPattern: port) else {
      throw .cannotAddPort(name: name, client: self.name)
    }
    return unsafe ClientPort(cue_port(port: port, memory: nil, connections: nil))
  }

  func isolate(_ port: ClientPort) {
    unsafe request(of: port) { unsafe jack_port_disconnect($0, $1) }
  }

  func removePort(_ port: ClientPort) {
    unsafe request(of: port, isRemoval: true) { unsafe jack_port_unregister($0, $1) }
  }

  /// Has `body` call JACK with the client and the port.
  private func request(
    of port: ClientPort, isRemoval: Bool = false, _ body: (OpaquePointer, OpaquePointer) -> CInt
  ) {
    guard let port = unsafe port.place.port else { return }
    let bits = UInt(bitPattern: port)
    whileOpen {
      requests.withLock { change in
        guard let port = unsafe OpaquePointer(bitPattern: bits) else { return }
        if isRemoval { awaitOrder(after: change) }
        defer { note(&change) }
        _ = unsafe body(client, port)
      }
    }
  }

  func connect(_ name: String, to destination: String) throws(ServerError) {
    guard has(destination, JackPortIsInput) else {
      throw .noSuchPort(name: destination, server: serverName)
    }
    try connect("\(self.name):\(name)", destination)
  }

  func connect(_ source: String, toOurs name: String) throws(ServerError) {
    guard has(source, JackPortIsOutput) else {
      throw .noSuchSource(name: source, server: serverName)
    }
    try connect(source, "\(self.name):\(name)")
  }

  /// True if there is a port of that full name and kind, or if nobody can tell any more.
  private func has(_ port: String, _ kind: JackPortFlags) -> Bool {
    whileOpen {
      guard let port = unsafe jack_port_by_name(client, port) else { return false }
      return unsafe jack_port_flags(port) & CInt(kind.rawValue) != 0
    } ?? true
  }

  /// Connects two ports by their full names.
  private func connect(_ source: String, _ destination: String) throws(ServerError) {
    let status = whileOpen {
      requests.withLock { change in
        defer { note(&change) }
        return unsafe jack_connect(client, source, destination)
      }
    }
    guard let status else { throw .lost(server: serverName) }
    guard status == 0 || status == EEXIST else {
      throw .cannotConnect(from: source, to: destination)
    }
  }

  func disconnect(_ name: String, from destination: String) {
    let source = "\(self.name):\(name)"
    whileOpen {
      requests.withLock { change in
        defer { note(&change) }
        _ = unsafe jack_disconnect(client, source, destination)
      }
    }
  }

  func connections(of name: String) -> [String] {
    whileOpen {
      guard let port = unsafe jack_port_by_name(client, "\(self.name):\(name)") else { return [] }
      return unsafe Self.strings(jack_port_get_all_connections(client, port))
    } ?? []
  }

  /// The strings of a list that ends with nil, which is freed.
  private static func strings(_ names: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> [String] {
    guard let names = unsafe names else { return [] }
    defer { unsafe jack_free(names) }
    var list: [String] = []
    while let name = unsafe names[list.count] { unsafe list.append(String(cString: name)) }
    return list
  }

  func close() { close { body in JackServer.opening.withLock { _ in body() } } }

  /// Closes the client, alone among those that open and close, which `alone` sees to.
  fileprivate func close(_ alone: (() -> Void) -> Void) {
    let afterwards = onClose.withLock { body in
      defer { body = nil }
      return body?()
    }
    unsafe pthread_rwlock_wrlock(gate)
    let wasClosed = isClosed
    isClosed = true
    unsafe pthread_rwlock_unlock(gate)
    if wasClosed { return }
    awaitNotice()
    alone { _ = unsafe jack_client_close(client) }
    retained.withLock { bits in
      if let argument = unsafe UnsafeRawPointer(bitPattern: bits) {
        unsafe Unmanaged<NoticeLink>.fromOpaque(argument).release()
      }
      bits = 0
    }
    Self.generations.withLock { all in
      let left = (all[serverName]?.open[generation] ?? 1) - 1
      all[serverName]?.open[generation] = left == 0 ? nil : left
    }
    afterwards?()
  }
}

/// What JACK's callbacks hold: weak links, so that a client that is never closed keeps nothing alive.
/// All calls come from JACK's threads; those that ask JACK something only read what is shared with it.
@safe
private final class NoticeLink: Sendable {
  private let links: Links
  private struct Links: @unchecked Sendable {
    weak var notices: (any ServerNotices)?
    weak var client: JackClient?
  }
  private let handle: UInt
  private let sampleRate: Double
  /// The names of ports that ours are connected to, by JACK's numbers: when a connection ends, the other
  /// port may be gone.
  private let names = Mutex<[jack_port_id_t: String]>([:])

  var notices: (any ServerNotices)? { links.notices }

  init(_ notices: any ServerNotices, _ client: JackClient) {
    links = Links(notices: notices, client: client)
    handle = unsafe UInt(bitPattern: client.handle)
    sampleRate = client.sampleRate
  }

  static func from(_ argument: UnsafeMutableRawPointer?) -> NoticeLink? {
    guard let argument = unsafe argument else { return nil }
    return unsafe Unmanaged<NoticeLink>.fromOpaque(argument).takeUnretainedValue()
  }

  func serverLost() {
    links.client?.serverLost()
    notices?.serverLost()
  }

  func orderChanged() { links.client?.orderChanged() }

  func tellLatencies(_ mode: jack_latency_callback_mode_t) { links.client?.tellLatencies(mode) }

  /// Also told when the client begins.
  func rate(_ rate: jack_nframes_t) {
    if Double(rate) != sampleRate { notices?.rateChanged() }
  }

  func port(_ a: jack_port_id_t, isConnected: Bool, with b: jack_port_id_t) {
    guard let client = unsafe OpaquePointer(bitPattern: handle) else { return }
    for (own, other) in [(a, b), (b, a)] {
      guard let port = unsafe jack_port_by_id(client, own),
        unsafe jack_port_is_mine(client, port) != 0,
        let name = unsafe jack_port_short_name(port)
      else { continue }
      let ours = unsafe String(cString: name)
      if isConnected {
        guard let port = unsafe jack_port_by_id(client, other),
          let name = unsafe jack_port_name(port)
        else { continue }
        let theirs = unsafe String(cString: name)
        names.withLock { $0[other] = theirs }
        notices?.connected(ours, to: theirs)
      } else if let theirs = names.withLock({ $0[other] }) {
        notices?.disconnected(ours, from: theirs)
      }
    }
  }
}
