import CGlibc
import Glibc
import Logging
import Synchronization

/// The limit of memory that this process may lock: RLIMIT_MEMLOCK.
package enum LockedMemoryLimit {
  /// Bytes that are left for libjack. It locks a page of each own client and one of each client of
  /// the server, of which jackd allows 256, and opens no client without them.
  private static let reserve = 2 << 20
  private static let pageBytes = Int(getpagesize())
  private static let access = Mutex(())

  /// The limit in bytes; nil if there is none for this process.
  private static let bytes: Int? = {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0,
      limit.rlim_cur < 1 << 40
    else { return nil }
    let most = Int(limit.rlim_cur)
    // Privileges lift the limit. More than it can be locked then, here without using memory.
    let block = unsafe mmap(
      nil, most + pageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    guard let block = unsafe block, unsafe block != MAP_FAILED else { return most }
    defer { unsafe munmap(block, most + pageBytes) }
    return unsafe cue_lock(block, UInt(most + pageBytes), 1) == 0 ? nil : most
  }()

  /// Bytes that the process has locked; nil if the system does not tell.
  private static var used: Int? {
    let name = "VmLck:"
    return unsafe text(ofSystemFile: "/proc/self/status")?.withCString { text in
      unsafe strstr(text, name).map { unsafe atol($0 + name.utf8.count) * 1024 }
    }
  }

  /// Calls `body`, which locks `bytes` bytes, if libjack can lock what it needs afterwards.
  fileprivate static func reserving(_ wanted: Int, _ body: () -> Void) {
    guard let bytes else { return body() }
    access.withLock { _ in
      if let used, used + wanted + reserve <= bytes { return body() }
      told
    }
  }

  private static let told: Void = log.warning(
    "buffers are not locked into memory, and cycles may wait for the disk: \(advice)")

  /// The reason why libjack opens no client, if it has no memory left to lock; otherwise nil.
  package static var isReached: String? {
    guard let bytes, let used, used + 2 * pageBytes > bytes else { return nil }
    return advice
  }

  private static var advice: String {
    """
    this user may lock \((bytes ?? 0) / 1024) KiB of memory (“ulimit -l”), and each JACK client \
    needs \(2 * pageBytes / 1024) KiB: raise “memlock” in /etc/security/limits.d, usually for the \
    group “audio”, and become a member of it
    """
  }
}

/// Locks `memory` against being paged out, if the system's limits allow it. Not real-time safe.
///
/// Call it on memory that has been written once: then no cycle that uses it causes a page fault.
/// Under a small limit nothing is locked, so that libjack can lock what it needs.
package func lockIntoMemory(_ memory: UnsafeRawBufferPointer) {
  if let base = memory.baseAddress, memory.count > 0 {
    LockedMemoryLimit.reserving(memory.count) { _ = unsafe mlock(base, memory.count) }
  }
}

/// Unlocks the pages that lie wholly in `memory`. Pages at its ends may also hold memory that must
/// stay locked, because the system does not count locks.
package func unlockFromMemory(_ memory: UnsafeRawBufferPointer) {
  guard let base = memory.baseAddress else { return }
  let page = UInt(getpagesize())
  let first = (UInt(bitPattern: base) + page - 1) / page * page
  let end = (UInt(bitPattern: base) + UInt(memory.count)) / page * page
  if first < end { _ = unsafe munlock(UnsafeRawPointer(bitPattern: first)!, Int(end - first)) }
}
