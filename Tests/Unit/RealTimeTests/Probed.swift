import CProbe
import CRealTime
import Foundation
import RealTime
import TestSupport
import Testing

/// Runs eight cycles of 256 frames on the first client, and expects that none of them allocates, frees,
/// locks, retains or releases anything.
///
/// - Parameter skipped: Number of a cycle after which one is left out; nil for none.
func expectRealTimeCycles(of server: HandDrivenServer, skippingAfter skipped: Int? = nil) throws {
  let engine = try require(server.clients[0].bareEngine)
  var counter: UInt32 = 0
  for cycle in 0..<8 {
    cue_probe_enter()
    engine.pointee.cycle(
      256, cue_cycle_time(counter: counter, microseconds: 0, next_microseconds: 0))
    let counts = cue_probe_leave()
    expectTrue(counts.allocations == 0 && counts.frees == 0 && counts.locks == 0)
    expectTrue(counts.retains == 0 && counts.releases == 0)
    counter += cycle == skipped ? 512 : 256
  }
}

/// Runs `body` with a page of memory, behind which a page is not accessible.
func withGuardedPage(_ body: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
  let page = sysconf(Int32(_SC_PAGESIZE))
  let pages = try require(
    mmap(nil, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
  defer { munmap(pages, 2 * page) }
  try require(mprotect(pages + page, page, PROT_NONE) == 0)
  try body(UnsafeMutableRawBufferPointer(start: pages, count: page))
}
