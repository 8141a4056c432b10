import CJack
import CRealTime
import Dispatch
import Glibc
import Logging
import RealTime
import Synchronization
import System
import Timeline

let log = Logger(label: "cuejack")

/// A JACK server: jackd, or PipeWire in its place.
package struct JackServer: Server {
  /// The requested name; nil for the default server.
  package let requestedName: String?
  /// Name of the media that the clients play or record, such as a file name; nil if unknown.
  private let mediaName: String?

  /// Creates a reference to the server called `name`, which must be running. Nil is the default
  /// server, which is started if it does not run.
  package init(named name: String? = nil, for mediaName: String? = nil) {
    requestedName = name
    self.mediaName = mediaName
  }

  /// The name by which JACK finds the server.
  package var name: String {
    if let requestedName { return requestedName }
    return unsafe getenv("JACK_DEFAULT_SERVER").map { unsafe String(cString: $0) } ?? "default"
  }

  /// True if a server of this name answers now.
  package var isRunning: Bool {
    Self.quietLibrary
    let client = JackLibrary.alone { try? attempt(ClientName("cuejack-probe"), on: name) }
    guard let client, let client else { return false }
    return client.close()
  }

  package func openClient(named name: String) throws(ServerError) -> any ServerClient {
    Self.quietLibrary
    let server = self.name
    // A client that exits unlinks the socket of its name, which is the server's socket if the names
    // are equal.
    let wanted = ClientName(name == server ? name + "-client" : name)
    JackClient.awaitClosingOfLost()
    let result = JackLibrary.alone { () -> Result<JackClient, ServerError> in
      do throws(ServerError) {
        return .success(try open(wanted, on: server))
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw .libraryWaits }
    let client = try result.get()
    tell(name, client)
    return client
  }

  package func reopenClient(named name: String) -> (any ServerClient)? {
    JackClient.awaitClosingOfLost()
    let server = self.name
    let client = JackLibrary.alone {
      let client = try? attempt(ClientName(name), on: server)
      if let client { StartedServer.ours(named: server)?.adopt(client) }
      return client
    }
    guard let client, let client else { return nil }
    tell(name, client)
    return client
  }

  /// Logs a notice if a client's name differs from the requested one.
  private func tell(_ name: String, _ client: JackClient) {
    if client.name == name { return }
    log.notice(
      "the client name “\(name)” is taken or too long: the client is called “\(client.name)”")
  }

  private func open(_ name: ClientName, on server: String) throws(ServerError) -> JackClient {
    if let client = try attempt(name, on: server) {
      StartedServer.ours(named: server)?.adopt(client)
      return client
    }
    if let requestedName { throw .unknownServer(requestedName) }
    if unsafe getenv("JACK_NO_START_SERVER") != nil { throw .notRunning(server) }
    if PipeWire.isLibrary { throw .pipeWireNotRunning(socket: PipeWire.socketPath) }
    if isPipeWireInstead { throw .pipeWireRuns }
    let started = try StartedServer.start(named: server)
    let deadline = HostTime.now + 20_000_000_000
    while true {
      let isOver = started.isOver
      if let client = try attempt(name, on: server) {
        // If this jackd exited because another process started one first, that one serves as well.
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

  /// True if PipeWire should be used instead of starting a jackd. Its daemon runs, its JACK library
  /// is installed, this process uses another library, and no jackd was requested.
  private var isPipeWireInstead: Bool {
    if PipeWire.isLibrary || requestedName != nil || variable("JACK_DEFAULT_SERVER") != nil
      || variable("JACK_NO_START_SERVER") != nil
    {
      return false
    }
    return PipeWire.isRunning && PipeWire.launcher != nil
  }

  /// The program that must run this one so that it reaches PipeWire; nil if a jackd runs or will be
  /// started.
  package var launcher: String? { isPipeWireInstead && !isRunning ? PipeWire.launcher : nil }

  /// Opens a client; returns nil if no server answers. Call under `JackLibrary.alone`.
  private func attempt(_ name: ClientName, on server: String) throws(ServerError) -> JackClient? {
    if let inUse = JackClient.serverInUse(otherThan: server) {
      throw .otherServer(server, inUse: inUse)
    }
    let others = JackConnection.all(to: server)
    var (opened, status) = open(name.text, others, on: server)
    if status.rawValue & JackServerFailed.rawValue != 0 { return nil }
    let refusal = status
    // jackd numbers names up to 99, and PipeWire does not number them.
    for _ in 0..<10 {
      if let opened, !opened.sharesItsName { break }
      // A refused client needs a probe client that asks which names are free.
      guard let asked = opened ?? open("cuejack-probe", others, on: server).client else { break }
      let free = opened != nil || asked.finds(name.text) ? name.free(by: asked) : nil
      asked.close()
      opened = nil
      guard let free else { break }
      (opened, status) = open(free, others, on: server)
    }
    guard let opened else {
      throw .cannotOpenClient(name: name.text, server: server, reason: Self.reason(of: refusal))
    }
    let own = JackConnection.all(to: server).subtracting(others)
    return JackClient(
      opened, serverName: server, connection: own.count == 1 ? own.first : nil)
  }

  /// Opens a client. Gives up after 20 seconds if the server does not answer.
  ///
  /// - Parameter others: Connections that existed before.
  private func open(_ name: String, _ others: Set<JackConnection>, on server: String)
    -> (client: OpenedClient?, status: jack_status_t)
  {
    var status = jack_status_t(0)
    let client = limited(to: 20) {
      log.warning("the JACK server “\(server)” does not answer: no client is opened there")
      for connection in JackConnection.all(to: server).subtracting(others) { connection.breakOff() }
    } _: {
      PipeWire.withProperties(mediaName.map { [("media.name", $0)] } ?? []) {
        unsafe cue_jack_client_open(name, requestedName, &status).map {
          unsafe OpenedClient(handle: $0)
        }
      }
    }
    return (client, status)
  }

  /// Device time base that all PipeWire clients of this process share. Never freed.
  nonisolated(unsafe) static let timeBase: UnsafeMutablePointer<TimeBase> = {
    let base = UnsafeMutablePointer<TimeBase>.allocate(capacity: 1)
    unsafe base.initialize(to: TimeBase())
    return unsafe base
  }()

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

  /// Routes the JACK library's messages to the log instead of standard error.
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
  private let rate: Atomic<UInt64>
  /// Sample rate in Hz, as of the latest `takeSampleRate()`.
  var sampleRate: Double { Double(bitPattern: rate.load(ordering: .relaxed)) }
  let isPipeWire = PipeWire.isLibrary
  /// Set while the server freewheels: it runs cycles as fast as it can.
  fileprivate let isFreewheeling = Atomic<Bool>(false)
  /// Ports whose connections JACK reported as changed.
  fileprivate let changedPorts = ChangedPorts()
  /// Known connections of this client's ports. Event thread only.
  private let connectionBook = Mutex(ConnectionBook())
  let handle: OpaquePointer?
  let client: OpaquePointer
  /// Lock of the handle. Calls of JACK share it; closing takes it alone, which waits for them and
  /// keeps later ones out, because the handle is freed then.
  private let gate: UnsafeMutablePointer<pthread_rwlock_t>
  private var isClosed = false
  private let isForgotten = Atomic<Bool>(false)
  /// Set when PipeWire's library reports that its connection to the daemon is broken.
  fileprivate let isBroken = Atomic<Bool>(false)
  /// Host time, in nanoseconds, at which `close()` gives up; `UInt64.max` while no part of it
  /// depends on the server.
  private let closeDeadline = Atomic<UInt64>(.max)
  private let hasClosed = Atomic<Bool>(false)
  /// Lock for calls that change ports or connections. libjack sends each as a request on the
  /// client's only socket and keeps a list of its ports, both without a lock. The value is the
  /// latest change.
  let requests = Mutex<Change?>(nil)
  /// Latencies of this client's ports, for JACK's latency callback.
  let latencies = Mutex<[JackLatency]>([])
  /// PipeWire has asked for the port latencies, and the event thread has not set them yet.
  let latenciesAreStale = Atomic<Bool>(false)
  /// Number of graph orders that JACK has reported.
  private let orders = Atomic<UInt32>(0)

  /// A graph change that JACK may not have reported yet.
  struct Change {
    /// Cycle in which the change was requested: the counter at its first frame.
    let cycle: UInt32
    /// Number of graph orders reported by then.
    let orders: UInt32
  }
  /// Socket of the client's requests; nil if unknown.
  private let connection: JackConnection?
  /// Address of the callbacks' argument; released when the client is closed.
  private let retained = Mutex<UInt>(0)
  private let onClose = Mutex<(@Sendable () -> @Sendable () -> Void)?>(nil)
  /// Set once JACK has reported that the client's server has gone.
  private let isLost = Atomic<Bool>(false)
  /// Number of servers of this name that had gone when the client was opened.
  private let generation: UInt64

  /// State of a server name: how many servers of it have gone, and the open clients. The key is how
  /// many had gone when the clients were opened.
  private struct Generations {
    var gone: UInt64 = 0
    var open: [UInt64: Int] = [:]
    var hasStale: Bool { open.contains { $0.key < gone && $0.value > 0 } }
  }
  private static let generations = Mutex<[String: Generations]>([:])

  /// Returns the name of a server that clients of this process are on, other than `name`; nil if
  /// there is none.
  static func serverInUse(otherThan name: String) -> String? {
    generations.withLock { all in all.first { $0.key != name && !$0.value.open.isEmpty }?.key }
  }

  /// Waits until every client whose server has gone is closed, for five seconds at most.
  ///
  /// JACK keeps its clients in process-wide tables, by numbers that each server assigns. Closing an
  /// old client could destroy one of the next server.
  static func awaitClosingOfLost() {
    let deadline = HostTime.now + 5_000_000_000
    while generations.withLock({ $0.values.contains { $0.hasStale } }), HostTime.now < deadline {
      usleep(1000)
    }
  }

  fileprivate func orderChanged() { orders.add(1, ordering: .releasing) }

  /// Notes that a graph change was requested.
  func note(_ change: inout Change?) {
    change = unsafe Change(
      cycle: jack_last_frame_time(client), orders: orders.load(ordering: .acquiring))
  }

  /// Waits until a port can be removed safely, for some cycles at most.
  ///
  /// In the cycle after each change, JACK's thread in this process iterates over this client's
  /// ports without a lock, to set their latencies. No port may leave the list meanwhile. A removal
  /// in the same cycle as the change comes before that. A later one must wait until JACK has
  /// reported the new graph order, which is the next thing that it does.
  private func awaitOrder(after change: Change?) {
    // PipeWire's library changes its list of ports on one thread only.
    guard let change, !isPipeWire else { return }
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

  /// Waits until JACK has reported the loss of a server that has gone, for two seconds at most. The
  /// client must not be closed before.
  private func awaitNotice() {
    let deadline = HostTime.now + 2_000_000_000
    while !isLost.load(ordering: .acquiring), HostTime.now < deadline,
      Self.generations.withLock({ ($0[serverName]?.gone ?? 0) > generation })
    {
      usleep(1000)
    }
  }

  init(_ opened: OpenedClient, serverName: String, connection: JackConnection?) {
    let client = unsafe opened.handle
    unsafe self.client = client
    unsafe handle = client
    self.connection = connection
    unsafe gate = .allocate(capacity: 1)
    unsafe gate.initialize(to: pthread_rwlock_t())
    unsafe pthread_rwlock_init(gate, nil)
    self.serverName = serverName
    ReturnTable.hasClock.store(true, ordering: .releasing)
    unsafe name = String(cString: jack_get_client_name(client))
    rate = Atomic(unsafe Double(jack_get_sample_rate(client)).bitPattern)
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

  /// Sets a function to call just before the client closes. The function that it returns is called
  /// just after.
  func whenClosed(_ body: @escaping @Sendable () -> @Sendable () -> Void) {
    onClose.withLock { $0 = body }
  }

  var liveSampleRate: Double {
    whileOpen { unsafe Double(jack_get_sample_rate(client)) } ?? sampleRate
  }

  func takeSampleRate() {
    // PipeWire returns 0 until a driver has run the client.
    let live = liveSampleRate
    if live > 0 { rate.store(live.bitPattern, ordering: .relaxed) }
  }

  var timeBase: UnsafeMutablePointer<TimeBase>? { unsafe isPipeWire ? JackServer.timeBase : nil }

  var periodFrames: Int { Int(whileOpen { unsafe jack_get_buffer_size(client) } ?? 0) }

  var realTimePriority: Int? {
    let priority = whileOpen { unsafe jack_client_real_time_priority(client) } ?? -1
    return priority > 0 ? Int(priority) : nil
  }

  /// JACK's own clock: jackd's is CLOCK_MONOTONIC_RAW, from which an adjusted CLOCK_MONOTONIC
  /// drifts away.
  var hostTime: UInt64 { jack_get_time() * 1000 }

  var anchor: TimeAnchor {
    let microseconds = jack_get_time()
    // On PipeWire the frame counter is the driver's, and there may be none yet.
    if isPipeWire {
      let frame = Int64(Double(microseconds) * sampleRate / 1e6)
      return TimeAnchor(frame: frame, microseconds: microseconds)
    }
    let counter = whileOpen { unsafe jack_frame_time(client) } ?? 0
    return TimeAnchor(
      frame: DeviceTime.widen(counter, seenAt: microseconds, sampleRate: sampleRate),
      microseconds: microseconds)
  }

  /// Key that all clients of one server share, in every process of this user.
  var returnKey: String {
    guard isPipeWire else { return serverName }
    let folder = unsafe getenv("PIPEWIRE_RUNTIME_DIR") ?? getenv("XDG_RUNTIME_DIR")
    return "PipeWire:\(unsafe folder.map { unsafe String(cString: $0) } ?? ""):\(serverName)"
  }

  var physicalOutputs: [String] { physicalPorts(JackPortIsInput, named: "playback_") }

  var physicalInputs: [String] { physicalPorts(JackPortIsOutput, named: "capture_") }

  /// Returns the physical ports of a direction. PipeWire from 1.0 on does not call ports of virtual
  /// devices physical, such as those of a null sink. If there are no others, the ports of the first one
  /// are returned: PipeWire lists its default devices first.
  private func physicalPorts(_ direction: JackPortFlags, named stem: String) -> [String] {
    let physical = ports(direction.rawValue | JackPortIsPhysical.rawValue)
    guard isPipeWire, physical.isEmpty else { return physical }
    let virtual = ports(direction.rawValue).compactMap {
      port -> (device: Substring, port: String)? in
      guard let colon = port.lastIndex(of: ":"), port[colon...].dropFirst().hasPrefix(stem)
      else { return nil }
      return (port[..<colon], port)
    }
    return virtual.filter { $0.device == virtual[0].device }.map(\.port)
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
    unsafe jack_set_process_callback(client, { unsafe processAfterRefills($0, $1) }, engine)
    let link = NoticeLink(notices, self)
    let argument = unsafe Unmanaged.passRetained(link).toOpaque()
    retained.withLock { $0 = UInt(bitPattern: argument) }
    // jackd's library calls the second one; PipeWire's calls one of the two, depending on its
    // version.
    unsafe jack_on_shutdown(
      client, { argument in unsafe NoticeLink.from(argument)?.serverLost() }, argument)
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
      { _, argument in
        // JACK also calls it when the client starts.
        unsafe NoticeLink.from(argument)?.notices?.rateChanged()
        return 0
      }, argument)
    unsafe jack_set_buffer_size_callback(
      client,
      { frames, argument in
        unsafe NoticeLink.from(argument)?.periodIs(Int(frames))
        return 0
      }, argument)
    unsafe jack_set_freewheel_callback(
      client,
      { isOn, argument in unsafe NoticeLink.from(argument)?.freewheels(isOn != 0) },
      argument)
    unsafe jack_set_latency_callback(
      client, { mode, argument in unsafe NoticeLink.from(argument)?.latencyIsWanted(mode) },
      argument)
    unsafe jack_set_graph_order_callback(
      client,
      { argument in
        unsafe NoticeLink.from(argument)?.orderChanged()
        return 0
      }, argument)
    unsafe jack_set_port_connect_callback(
      client,
      { a, b, _, argument in unsafe NoticeLink.from(argument)?.connectionsChanged(a, b) }, argument)
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

  /// Calls `body` with the client and the port, under the locks that a change needs.
  private func request(
    of port: ClientPort, isRemoval: Bool = false, _ body: (OpaquePointer, OpaquePointer) -> CInt
  ) {
    guard let port = unsafe port.place.port else { return }
    let bits = UInt(bitPattern: port)
    limited(to: patience, { [weak self] in self?.breakOff() }) {
      whileOpen {
        requests.withLock { change in
          guard let port = unsafe OpaquePointer(bitPattern: bits) else { return }
          if isRemoval { awaitOrder(after: change) }
          defer { note(&change) }
          _ = unsafe body(client, port)
        }
      }
    }
  }

  func connect(_ name: String, to destination: String) throws(ServerError) {
    guard has(destination, JackPortIsInput) else {
      throw .noSuchPort(name: destination, server: serverName)
    }
    try connect("\(self.name):\(name)", destination)
    connectionBook.withLock { $0.add(name, destination) }
  }

  func connect(_ source: String, toOurs name: String) throws(ServerError) {
    guard has(source, JackPortIsOutput) else {
      throw .noSuchSource(name: source, server: serverName)
    }
    try connect(source, "\(self.name):\(name)")
    connectionBook.withLock { $0.add(name, source) }
  }

  /// Returns true if a port of that full name and kind exists, or if the client is closed and
  /// cannot tell.
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

  func takeConnectionChanges(_ patience: inout Double?) -> [ConnectionChange] {
    let changed = changedPorts.take()
    return connectionBook.withLock { book in
      let found: [ConnectionChange]? = whileOpen {
        var names: Set<String> = []
        if changed.isIncomplete { names.formUnion(book.portNames) }
        for number in changed.numbers {
          if let port = unsafe jack_port_by_id(client, number),
            unsafe jack_port_is_mine(client, port) != 0,
            let name = unsafe jack_port_short_name(port)
          {
            names.insert(unsafe String(cString: name))
          }
        }
        book.watch(names)
        for name in book.takeWatched() {
          guard let port = unsafe jack_port_by_name(client, "\(self.name):\(name)") else {
            continue
          }
          let others = unsafe Self.strings(jack_port_get_all_connections(client, port))
          book.note(name, isConnectedTo: others)
        }
        return book.take(&patience) { unsafe jack_port_by_name(client, $0) != nil }
      }
      return found ?? []
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

  /// Returns the strings of a nil-terminated list, and frees the list.
  private static func strings(_ names: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> [String] {
    guard let names = unsafe names else { return [] }
    defer { unsafe jack_free(names) }
    var list: [String] = []
    while let name = unsafe names[list.count] { unsafe list.append(String(cString: name)) }
    return list
  }

  /// Seconds to wait for the server's answer when a port or a client is removed. A server in
  /// freewheel rarely answers.
  private var patience: Int { isFreewheeling.load(ordering: .relaxed) ? 60 : 5 }

  /// Ends all waiting for the server's answers, if the client's connection is known.
  private func breakOff() {
    log.warning(
      """
      the JACK server “\(serverName)” has not answered for \(patience) seconds: the client “\(name)” \
      leaves it
      """)
    connection?.breakOff()
  }

  func close() -> Bool {
    // Close on another thread, because it may wait for a server that does not answer or a cycle
    // that does not end.
    let end = DispatchSemaphore(value: 0)
    startThread(named: "cuejack-close") { [self] in
      // A server that loses its last client ends here too: no client may be opened on a server that
      // is about to end.
      _ = JackLibrary.alone {
        let afterwards = onClose.withLock { body in
          defer { body = nil }
          return body?()
        }
        closeHandle()
        afterwards?()
      }
      end.signal()
    }
    while end.wait(timeout: .now() + .milliseconds(100)) == .timedOut,
      HostTime.now < closeDeadline.load(ordering: .acquiring)
    {}
    if hasClosed.load(ordering: .acquiring) { return true }
    log.error(
      "the client “\(name)” cannot be closed: its cycles may go on, and their memory is kept")
    forget()
    return false
  }

  /// Closes the handle. Call under `JackLibrary.alone`.
  private func closeHandle() {
    let wasClosed = answered { () -> Bool in
      unsafe pthread_rwlock_wrlock(gate)
      defer { unsafe pthread_rwlock_unlock(gate) }
      defer { isClosed = true }
      return isClosed
    }
    if wasClosed { return hasClosed.store(true, ordering: .releasing) }
    awaitNotice()
    if isBroken.load(ordering: .acquiring) {
      // jack_client_close of PipeWire 1.4.2 frees memory twice once the daemon has gone: the client
      // ends its cycles, and its memory is kept.
      answered { _ = unsafe jack_deactivate(client) }
      hasClosed.store(true, ordering: .releasing)
      return forget()
    }
    answered { _ = unsafe jack_client_close(client) }
    hasClosed.store(true, ordering: .releasing)
    retained.withLock { bits in
      if let argument = unsafe UnsafeRawPointer(bitPattern: bits) {
        unsafe Unmanaged<NoticeLink>.fromOpaque(argument).release()
      }
      bits = 0
    }
    forget()
  }

  /// Runs `body`, a part of closing that depends on the server. Breaks the connection off after
  /// five seconds. After ten, `close()` stops waiting. Both are longer in freewheel.
  private func answered<R>(_ body: () -> R) -> R {
    let end = HostTime.now + UInt64(2 * patience) * 1_000_000_000
    closeDeadline.store(end, ordering: .releasing)
    defer { closeDeadline.store(.max, ordering: .releasing) }
    return limited(to: patience, { [weak self] in self?.breakOff() }, body)
  }

  /// Removes the client from the open ones. Only the first call has an effect.
  private func forget() {
    guard !isForgotten.exchange(true, ordering: .acquiringAndReleasing) else { return }
    Self.generations.withLock { all in
      let left = (all[serverName]?.open[generation] ?? 1) - 1
      all[serverName]?.open[generation] = left == 0 ? nil : left
    }
  }
}

/// Argument of JACK's callbacks. Its links are weak, so that a client that is never closed keeps
/// nothing alive. JACK's threads make all calls, which only set flags, push numbers and wake
/// threads.
@safe
private final class NoticeLink: Sendable {
  private let links: Links
  private struct Links: @unchecked Sendable {
    weak var notices: (any ServerNotices)?
    weak var client: JackClient?
  }

  var notices: (any ServerNotices)? { links.notices }
  /// Frames of a cycle, as JACK reported them last.
  private let periodFrames: Atomic<Int>

  init(_ notices: any ServerNotices, _ client: JackClient) {
    links = Links(notices: notices, client: client)
    periodFrames = Atomic(unsafe Int(jack_get_buffer_size(client.client)))
  }

  static func from(_ argument: UnsafeMutableRawPointer?) -> NoticeLink? {
    guard let argument = unsafe argument else { return nil }
    return unsafe Unmanaged<NoticeLink>.fromOpaque(argument).takeUnretainedValue()
  }

  func serverLost() {
    guard let client = links.client else { return }
    if client.isPipeWire {
      if PipeWire.tellsBrokenConnections { client.isBroken.store(true, ordering: .releasing) }
      notices?.serverMayBeLost()
    } else {
      client.serverLost()
      notices?.serverLost()
    }
  }

  /// JACK reports the period when it changes, and also when the client is activated.
  func periodIs(_ frames: Int) {
    if periodFrames.exchange(frames, ordering: .relaxed) == frames { return }
    notices?.periodChanged(to: frames)
    // jackd runs no cycle before this function returns. PipeWire calls it between two cycles.
    if links.client?.isPipeWire == false { notices?.awaitPreparation() }
  }

  func freewheels(_ on: Bool) {
    links.client?.isFreewheeling.store(on, ordering: .relaxed)
    notices?.freewheels(on)
  }

  func orderChanged() { links.client?.orderChanged() }

  /// JACK asks for port latencies. On jackd they are set before this returns.
  func latencyIsWanted(_ mode: jack_latency_callback_mode_t) {
    guard let client = links.client else { return }
    if client.isPipeWire {
      // The library leaves out the process callback while this one runs.
      client.latenciesAreStale.store(true, ordering: .releasing)
      notices?.latenciesChanged()
    } else {
      client.setLatencyRanges(mode)
    }
  }

  func connectionsChanged(_ a: jack_port_id_t, _ b: jack_port_id_t) {
    links.client?.changedPorts.push(a)
    links.client?.changedPorts.push(b)
    notices?.connectionsChanged()
  }
}
