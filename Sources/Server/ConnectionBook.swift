import RealTime
import Synchronization

/// The numbers of ports whose connections have changed, from a thread of JACK to the event thread.
///
/// The producer neither allocates nor waits. Where numbers do not fit, every port has to be looked at.
@safe
final class ChangedPorts: @unchecked Sendable {
  private static var capacity: Int { 1024 }
  private let ring: PortNumberRing
  private let memory: UnsafeMutableBufferPointer<UInt32>
  private let isIncomplete = Atomic<Bool>(false)

  init() {
    unsafe memory = .allocate(capacity: Self.capacity)
    unsafe memory.initialize(repeating: 0)
    ring = unsafe PortNumberRing(slots: memory)
  }

  deinit { unsafe memory.deallocate() }

  /// One thread of JACK at a time.
  func push(_ number: UInt32) {
    if !ring.push(number) { isIncomplete.store(true, ordering: .releasing) }
  }

  /// Takes all numbers, each once. The event thread.
  func take() -> (numbers: Set<UInt32>, isIncomplete: Bool) {
    let isIncomplete = isIncomplete.exchange(false, ordering: .acquiringAndReleasing)
    var numbers: Set<UInt32> = []
    while let number = ring.pop() { numbers.insert(number) }
    return (numbers, isIncomplete)
  }
}

/// What our ports are connected to, and what of that has changed. The event thread's.
struct ConnectionBook {
  private var connections: [String: [String]] = [:]
  private var changes: [ConnectionChange] = []
  /// Connections that ended, and when that was seen.
  private var ended: [(port: String, other: String, at: UInt64)] = []

  /// Ports whose connections have changed or may do so soon, each with the time until which that is.
  private var watched: [String: UInt64] = [:]

  /// jackd tells of a change before it can be seen, up to two cycles of 8,192 frames.
  private static let timeToShow: UInt64 = 600_000_000

  /// A server ends the connections of a port before it takes the port away: only later can be told whether
  /// somebody disconnected two ports or one of them is gone.
  private static let timeToJudge: UInt64 = 100_000_000

  /// Our ports that have or had connections.
  var portNames: [String] { Array(connections.keys) }

  /// Adds ports that are to be looked at.
  mutating func watch(_ ports: some Sequence<String>) {
    let end = HostTime.now + Self.timeToShow
    for port in ports { watched[port] = end }
  }

  /// Returns the ports that are to be looked at now. Each is returned once more after its time.
  mutating func takeWatched() -> [String] {
    let now = HostTime.now
    defer { watched = watched.filter { $0.value > now } }
    return Array(watched.keys)
  }

  /// Adds a connection that we made ourselves: it is no change.
  mutating func add(_ port: String, _ other: String) {
    if !connections[port, default: []].contains(other) {
      connections[port, default: []].append(other)
    }
  }

  /// Compares what our port `port` is connected to with what it was connected to before.
  mutating func note(_ port: String, isConnectedTo others: [String]) {
    let before = connections[port] ?? []
    connections[port] = others
    for other in others where !before.contains(other) {
      ended.removeAll { $0.port == port && $0.other == other }
      changes.append(ConnectionChange(kind: .made, port: port, other: other))
    }
    for other in before where !others.contains(other) {
      ended.append((port, other, HostTime.now))
    }
  }

  /// Returns the changes that are certain.
  ///
  /// - Parameters:
  ///   - patience: Takes the seconds after which more of them will be.
  ///   - exists: Tells whether a port of that full name is there.
  mutating func take(_ patience: inout Double?, _ exists: (String) -> Bool) -> [ConnectionChange] {
    defer { changes = [] }
    let now = HostTime.now
    for change in ended where now >= change.at + Self.timeToJudge {
      changes.append(
        ConnectionChange(
          kind: exists(change.other) ? .ended : .interrupted, port: change.port,
          other: change.other))
    }
    ended.removeAll { now >= $0.at + Self.timeToJudge }
    if !ended.isEmpty || !watched.isEmpty { patience = min(patience ?? 0.05, 0.05) }
    return changes
  }
}
