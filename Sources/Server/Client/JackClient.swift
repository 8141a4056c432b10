import CJack
import Dispatch
import Glibc
import Logging
import RealTime
import Synchronization
import System
import Timeline

/// A client of a JACK server.
@safe
final class JackClient: ServerClient, @unchecked Sendable {
  let serverName: String
  let name: String
  private let rate: Atomic<UInt64>
  /// Sample rate in Hz, as of the latest `takeSampleRate()`.
  var sampleRate: Double { Double(bitPattern: rate.load(ordering: .relaxed)) }
  let isPipeWire = PipeWire.isLibrary
  /// This client's property `urn:cuejack:connections`; nil until it is set.
  let claim = Mutex<ConnectionClaim?>(nil)
  /// Set while the server freewheels: it runs cycles as fast as it can.
  let isFreewheeling = Atomic<Bool>(false)
  /// Ports whose connections JACK reported as changed.
  let changedPorts = ChangedPorts()
  /// Ports, of any client, that JACK reported as renamed.
  let renamedPorts = ChangedPorts()
  let registeredPorts = ChangedPorts()
  /// Addresses of this client's ports by the names under which it added them.
  let ownPorts = Mutex<[String: UInt]>([:])
  /// Known connections of this client's ports. Event thread only.
  let connectionBook = Mutex(ConnectionBook())
  let handle: OpaquePointer?
  let client: OpaquePointer
  /// Lock of the handle. Calls of JACK share it; closing takes it alone, which waits for them and
  /// keeps later ones out, because the handle is freed then.
  private let gate: UnsafeMutablePointer<pthread_rwlock_t>
  private var isClosed = false
  private let isForgotten = Atomic<Bool>(false)
  /// Set when PipeWire's library reports that its connection to the daemon is broken.
  let isBroken = Atomic<Bool>(false)
  /// Set when the client has given up waiting for its server.
  let hasLeft = Atomic<Bool>(false)
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
  let orders = Atomic<UInt32>(0)
  /// Host time at which JACK last reported that a port of any client had left; 0 before. PipeWire's library lets a
  /// port go after the report: who holds the lock keeps it.
  let latestLeave = Mutex<UInt64>(0)

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
  let retained = Mutex<UInt>(0)
  private let onClose = Mutex<(@Sendable () -> @Sendable () -> Void)?>(nil)
  /// Set once JACK has reported that the client's server has gone.
  private let isLost = Atomic<Bool>(false)
  /// Number of servers of this name that had gone when the client was opened.
  private let generation: UInt64

  /// State of a server name: how many servers of it have gone, and the open clients. The key is how
  /// many had gone when the clients were opened.
  private struct Generations {
    var gone: UInt64 = 0
    var open: [UInt64: [JackClient]] = [:]
    var hasStale: Bool { open.contains { $0.key < gone && !$0.value.isEmpty } }
  }
  private static let generations = Mutex<[String: Generations]>([:])

  /// The clients that are not closed.
  static var open: [JackClient] {
    generations.withLock { all in all.values.flatMap { $0.open.values.joined() } }
  }

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

  func orderChanged() { orders.add(1, ordering: .releasing) }

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
  func awaitOrder(after change: Change?) {
    // PipeWire's library changes its list of ports on one thread only.
    guard let change, !isPipeWire else { return }
    let period = unsafe jack_get_buffer_size(client)
    let deadline = HostTime.now + max(50_000_000, UInt64(held: 4e9 * Double(period) / sampleRate))
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

  func serverLost() {
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
    generation = Self.generations.withLock { $0[serverName, default: Generations()].gone }
    Self.generations.withLock { all in
      all[serverName, default: Generations()].open[generation, default: []].append(self)
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
      let frame = Int64(held: Double(microseconds) * sampleRate / 1e6)
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

  func activate(_ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices)
    throws(ServerError)
  {
    let isActive = asking {
      whileOpen {
        unsafe setCallbacks(engine, notices)
        return unsafe jack_activate(client) == 0
      }
    }
    guard let isActive else { throw .lost(server: serverName) }
    if !isActive { throw .cannotActivate(client: name) }
  }

  /// Seconds to wait for the server's answer when a port or a client is removed. A server in
  /// freewheel rarely answers.
  var patience: Double { isFreewheeling.load(ordering: .relaxed) ? 60 : 5 }

  /// Runs `body`, a request that waits for the server's answer. Breaks the connection off if that takes too
  /// long.
  func asking<R>(_ body: () -> R) -> R {
    limited(to: patience + 2, { [weak self] in self?.breakOff() }, body)
  }

  /// Ends all waiting for the server's answers, if the client's connection is known. The client is lost then:
  /// another one takes its place once the server answers.
  func breakOff() {
    log.warning(
      "the JACK server “\(serverName)” does not answer: the client “\(name)” leaves it")
    guard let connection else { return }
    hasLeft.store(true, ordering: .releasing)
    connection.breakOff()
    retained.withLock { bits in
      let argument = unsafe UnsafeMutableRawPointer(bitPattern: bits)
      unsafe NoticeLink.notify(argument) { $0.notices?.serverLost() }
    }
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
  func closeHandle() {
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
    answered {
      removeManyPorts()
      _ = unsafe jack_client_close(client)
    }
    hasClosed.store(true, ordering: .releasing)
    retained.withLock { bits in
      if let argument = unsafe UnsafeRawPointer(bitPattern: bits) {
        unsafe Unmanaged<NoticeLink>.fromOpaque(argument).release()
      }
      bits = 0
    }
    forget()
  }

  /// Number of ports up to which jackd closes a client with all of them.
  private static let fewPorts = 16

  /// Removes the ports of a client that has many, one after another.
  ///
  /// jackd tells a client that it closes of each of its ports and their metadata, although the client reads
  /// no more notices. When their socket is full, jackd waits and answers nobody.
  private func removeManyPorts() {
    if isPipeWire || isLost.load(ordering: .acquiring) { return }
    let ports = portNames(of: name)
    guard ports.count > Self.fewPorts else { return }
    unsafe jack_deactivate(client)
    for name in ports {
      guard let port = unsafe jack_port_by_name(client, name),
        unsafe jack_port_is_mine(client, port) != 0
      else { continue }
      unsafe jack_port_unregister(client, port)
    }
  }

  /// Runs `body`, a part of closing that depends on the server. Breaks the connection off after
  /// five seconds, or when the server has not read the request for three. After ten, `close()` stops
  /// waiting. All are longer in freewheel.
  private func answered<R>(_ body: () -> R) -> R {
    let end = HostTime.now + UInt64(2e9 * patience)
    closeDeadline.store(end, ordering: .releasing)
    defer { closeDeadline.store(.max, ordering: .releasing) }
    let connections = Set([connection].compactMap { $0 })
    return limited(
      to: patience, unread: patience * 0.6, on: { connections },
      { [weak self] in self?.breakOff() },
      body
    )
  }

  /// Removes the client from the open ones. Only the first call has an effect.
  private func forget() {
    guard !isForgotten.exchange(true, ordering: .acquiringAndReleasing) else { return }
    Self.generations.withLock { all in
      let left = all[serverName]?.open[generation]?.filter { $0 !== self } ?? []
      all[serverName]?.open[generation] = left.isEmpty ? nil : left
    }
  }
}
