import CJack
import Glibc
import Synchronization
import System

/// A table in shared memory by which this user's clients of one server agree on a common frame to
/// resume on after the server returned. Any thread that is not real time.
///
/// Each client has an entry while it is open. A client that lost its server notes when its last
/// cycle ended. A client that is back waits until all others are back too, or a deadline has
/// passed. The last one to be back decides, and writes the decision into the entries of all.
@safe
final class ReturnTable: @unchecked Sendable {
  enum Phase: UInt32 {
    case free
    /// The client's cycles run.
    case present
    /// The client lost its server.
    case away
    /// The client is connected again and waits for the others.
    case ready
  }

  /// A client's entry: a plain value in memory that several processes share. Only accessed under
  /// the lock.
  struct Entry {
    var phase: UInt32 = 0
    var process: Int32 = 0
    /// Start of the process in clock ticks since boot, because the system reuses process ids.
    var processStart: UInt64 = 0
    /// Distinguishes the clients of one process.
    var client: UInt64 = 0
    /// A hash of the server's name.
    var server: UInt64 = 0
    /// Host times in microseconds: latest change of phase, end of the last cycle, decided time, and
    /// latest end of all clients' last cycles.
    var since: UInt64 = 0
    var loss: UInt64 = 0
    var resumption: UInt64 = 0
    var commonLoss: UInt64 = 0
    /// The decided device frame; `Int64.min` if processes count frames separately.
    var frame = Int64.min
  }

  /// This user's table; nil if the system gives no shared memory for it.
  static let shared = ReturnTable(path: "/dev/shm/cuejack-returns-2-\(getuid())")

  /// Host time now, in microseconds, on the clock that times cycles.
  static var now: UInt64 {
    hasClock.load(ordering: .acquiring) ? jack_get_time() : HostTime.now / 1000
  }

  /// True once a client was opened: before that, JACK's library has no clock.
  static let hasClock = Atomic<Bool>(false)

  /// How long a client that is back waits for the others, in microseconds: longer than an attempt on a
  /// server that runs no cycles for five seconds, and the next attempt.
  static let patienceMicroseconds: UInt64 = 8_000_000
  /// Microseconds from the decision to the first frame, within which all clients must read it.
  static let leadMicroseconds: UInt64 = 250_000

  private static var capacity: Int { 1024 }
  private let entries: UnsafeMutablePointer<Entry>
  private let descriptor: CInt
  private let mutex = Mutex<UInt64>(0)
  private let ownStart: UInt64

  init?(path: String) {
    let bytes = Self.capacity * MemoryLayout<Entry>.stride
    descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if descriptor < 0 { return nil }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_uid == getuid(),
      status.st_size >= bytes || ftruncate(descriptor, bytes) == 0,
      let memory = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
      unsafe memory != MAP_FAILED
    else {
      close(descriptor)
      return nil
    }
    unsafe entries = memory.bindMemory(to: Entry.self, capacity: Self.capacity)
    ownStart = Self.start(of: getpid()) ?? 0
  }

  deinit {
    _ = unsafe munmap(entries, Self.capacity * MemoryLayout<Entry>.stride)
    close(descriptor)
  }

  /// Adds a client of `server` whose cycles run.
  ///
  /// - Returns: Nil if the table is full, or if a process that does not proceed holds its lock.
  func enter(server: String) -> Member? {
    let number = mutex.withLock { number in
      number += 1
      return number
    }
    let index: Int?? = unsafe locked { entries in
      let free = unsafe entries.firstIndex { $0.phase == Phase.free.rawValue || !isAlive($0) }
      guard let free else { return nil }
      unsafe entries[free] = Entry(
        phase: Phase.present.rawValue, process: getpid(), processStart: ownStart, client: number,
        server: FNVHash(server.utf8).value, since: Self.now)
      return free
    }
    guard let index, let index else { return nil }
    return Member(self, index, number)
  }

  /// A client's entry in the table.
  final class Member: Sendable {
    private let table: ReturnTable
    private let index: Int
    private let number: UInt64

    fileprivate init(_ table: ReturnTable, _ index: Int, _ number: UInt64) {
      self.table = table
      self.index = index
      self.number = number
    }

    /// Notes that the client lost its server and that its last cycle ended at `microseconds`.
    func leave(at microseconds: UInt64) {
      change { entry in
        entry.phase = Phase.away.rawValue
        entry.loss = microseconds
        entry.resumption = 0
      }
    }

    /// Notes that the client is back and can resume.
    func beReady() {
      change { entry in
        entry.phase = Phase.ready.rawValue
        entry.resumption = 0
      }
    }

    /// Returns the decision, and makes it if this client is the last; nil while clients are still
    /// missing.
    ///
    /// - Parameter frame: Returns the device frame at a host time in microseconds; nil if frames
    ///   differ between processes.
    func decision(_ frame: (UInt64) -> Int64? = { _ in nil }) -> ReturnTime? {
      let now = ReturnTable.now
      let found: ReturnTime?? = unsafe table.locked { entries -> ReturnTime? in
        let own = unsafe entries[index]
        guard own.client == number, own.process == getpid() else { return nil }
        if own.resumption == 0 { unsafe table.decide(entries, own, now, frame) }
        let decided = unsafe entries[index]
        if decided.resumption == 0 { return nil }
        unsafe entries[index].phase = Phase.present.rawValue
        unsafe entries[index].since = now
        return ReturnTime(
          microseconds: decided.resumption, lossMicroseconds: decided.commonLoss,
          frame: decided.frame == .min ? nil : decided.frame)
      }
      return found ?? nil
    }

    /// Notes that the client's cycles run, regardless of a decision.
    func stay() { change { $0.phase = Phase.present.rawValue } }

    /// Removes the entry.
    func end() { change { $0 = Entry() } }

    private func change(_ body: (inout Entry) -> Void) {
      _ = unsafe table.locked { entries in
        guard unsafe entries[index].client == number, unsafe entries[index].process == getpid()
        else { return }
        unsafe body(&entries[index])
        unsafe entries[index].since = ReturnTable.now
      }
    }
  }

  /// Decides for all clients that are ready, unless one of the server of `own` is still missing.
  private func decide(
    _ entries: UnsafeMutableBufferPointer<Entry>, _ own: Entry, _ now: UInt64,
    _ frame: (UInt64) -> Int64?
  ) {
    let isPatient = now < own.since + Self.patienceMicroseconds
    var loss = own.loss
    for i in entries.indices {
      let other = unsafe entries[i]
      guard other.phase != Phase.free.rawValue, other.server == own.server else { continue }
      switch Phase(rawValue: other.phase) {
      case .ready: loss = max(loss, other.loss)
      // A client that was there before this one lost the server has not noticed the loss yet.
      case .present where other.since > own.loss: continue
      case .present, .away: if isPatient && isAlive(other) { return }
      case .free, nil: continue
      }
    }
    let resumption = now + Self.leadMicroseconds
    let resumptionFrame = frame(resumption) ?? .min
    for i in entries.indices {
      let other = unsafe entries[i]
      guard other.phase == Phase.ready.rawValue, other.server == own.server else { continue }
      unsafe entries[i].resumption = resumption
      unsafe entries[i].frame = resumptionFrame
      unsafe entries[i].commonLoss = loss
    }
  }

  /// Runs `body` while no other thread or process uses the table. Returns nil if the lock is not
  /// free within half a second.
  private func locked<R>(_ body: (UnsafeMutableBufferPointer<Entry>) -> R) -> R? {
    mutex.withLock { _ in
      let deadline = HostTime.now + 500_000_000
      while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
        if errno != EINTR && errno != EWOULDBLOCK || HostTime.now > deadline { return nil }
        usleep(500)
      }
      defer { flock(descriptor, LOCK_UN) }
      return unsafe body(UnsafeMutableBufferPointer(start: entries, count: Self.capacity))
    }
  }

  private func isAlive(_ entry: Entry) -> Bool {
    if entry.process == getpid() { return entry.processStart == ownStart }
    return Self.start(of: entry.process) == entry.processStart
  }

  /// Returns the start of a process in clock ticks since boot; nil if there is no process of that
  /// number.
  private static func start(of process: Int32) -> UInt64? {
    let file = unsafe fopen("/proc/\(process)/stat", "re")
    guard let file = unsafe file else { return nil }
    defer { unsafe fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = unsafe fread(&bytes, 1, bytes.count, file)
    // The program's name is in parentheses and may hold anything; the start is the 20th field after it.
    guard let end = bytes[..<count].lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = bytes[(end + 1)..<count].split(separator: UInt8(ascii: " "))
    return fields.count > 19 ? UInt64(String(decoding: fields[19], as: UTF8.self)) : nil
  }
}
