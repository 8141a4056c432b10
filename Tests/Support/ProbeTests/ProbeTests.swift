import CProbe
import Foundation
import TestSupport
import Testing

/// The probe's zeros are meaningful only if it counts other calls.
@Suite(.disabled(if: isSanitized, "a sanitizer defines malloc itself")) struct ProbeTests {
  @Test func itWorks() { expectTrue(cue_probe_works()) }

  @inline(never) private func counts(_ body: () -> Void) -> cue_probe_counts {
    // Twice, because the first call also looks up functions and metadata.
    body()
    cue_probe_enter()
    body()
    return cue_probe_leave()
  }

  @Test func nothingIsCountedForNothing() {
    var sum = 0
    let found = counts { for number in 0..<100 { sum &+= number } }
    expectEqual(sum, 9900)
    expectTrue(found.allocations == 0 && found.frees == 0 && found.locks == 0)
    expectTrue(found.retains == 0 && found.releases == 0)
  }

  @Test func everyKindOfAllocationIsSeen() {
    expectEqual(counts { free(seen(malloc(10))) }.allocations, 1)
    expectEqual(counts { free(seen(calloc(10, 10))) }.allocations, 1)
    expectEqual(counts { free(seen(realloc(seen(malloc(10)), 10000))) }.allocations, 2)
    expectEqual(counts { free(seen(aligned_alloc(64, 64))) }.allocations, 1)
    let aligned = counts {
      var memory: UnsafeMutableRawPointer?
      expectEqual(posix_memalign(&memory, 64, 64), 0)
      free(memory)
    }
    expectTrue(aligned.allocations >= 1)
  }

  @Test func newMemoryCanBeZero() {
    func isZero(_ memory: UnsafeMutableRawPointer?) -> Bool {
      defer { free(memory) }
      let bytes = UnsafeMutableRawBufferPointer(start: memory, count: 1000)
      return bytes.allSatisfy { $0 == 0 }
    }
    for allocate in [{ malloc(1000) }, { aligned_alloc(64, 1024) }] {
      // malloc reuses the memory that was freed last.
      let old = allocate()
      memset(old!, 7, 1000)
      free(seen(old))
      cue_probe_zero_memory(true)
      let new = seen(allocate())
      cue_probe_zero_memory(false)
      expectTrue(isZero(new))
    }
  }

  @Test func aFreeIsSeen() {
    expectEqual(counts { free(seen(malloc(10))) }.frees, 1)
    expectEqual(counts { free(nil) }.frees, 0)
  }

  @Test func aLockIsSeen() {
    var mutex = pthread_mutex_t()
    pthread_mutex_init(&mutex, nil)
    let found = withUnsafeMutablePointer(to: &mutex) { mutex in
      counts {
        pthread_mutex_lock(mutex)
        pthread_mutex_unlock(mutex)
      }
    }
    pthread_mutex_destroy(&mutex)
    expectEqual(found.locks, 1)
  }

  @Test func swiftsOwnAllocationsAreSeen() {
    let found = counts {
      kept = Thing()
      touch()
      kept = nil
    }
    expectTrue(found.allocations >= 1 && found.frees >= 1 && found.releases >= 1)
  }

  @Test func retainsAndReleasesAreSeen() {
    let thing = Thing()
    let found = counts {
      kept = thing
      touch()
      kept = nil
    }
    expectTrue(found.retains >= 1 && found.releases >= 1)
    expectTrue(found.allocations == 0 && found.frees == 0)
  }

  /// Results of the measured thread, and the data that it shares with a waiting thread.
  private final class Watched: @unchecked Sendable {
    let event = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    let isDone = DispatchSemaphore(value: 0)
    var canWatch = false
    var plain = cue_probe_counts()
    var calls = cue_probe_counts()
    var wakes = cue_probe_counts()
    var parent: Int32 = 0
    init() { sem_init(event, 0, 0) }
    deinit { event.deallocate() }
  }

  /// On a separate thread, because measurement cannot be turned off again.
  @Test func systemCallsAreSeenAndMade() throws {
    let watched = Watched()
    Thread.detachNewThread {
      sem_wait(watched.event)
      watched.isDone.signal()
    }
    Thread.detachNewThread {
      watched.canWatch = cue_probe_watch_calls()
      // Reading the clock needs no system call.
      var time = timespec()
      cue_probe_enter()
      clock_gettime(CLOCK_MONOTONIC, &time)
      watched.plain = cue_probe_leave()
      cue_probe_enter()
      for _ in 0..<3 { watched.parent = getppid() }
      watched.calls = cue_probe_leave()
      // The upper half of glibc's semaphore is the number of threads that wait.
      _ = waits {
        UnsafeRawPointer(watched.event).load(fromByteOffset: 4, as: UInt32.self) > 0
      }
      cue_probe_enter()
      sem_post(watched.event)
      watched.wakes = cue_probe_leave()
      watched.isDone.signal()
    }
    for _ in 0..<2 { watched.isDone.wait() }
    try require(watched.canWatch)
    expectTrue(watched.plain.calls == 0 && watched.plain.wakes == 0)
    expectTrue(watched.calls.calls == 3 && watched.calls.wakes == 0)
    expectEqual(watched.parent, getppid())
    expectTrue(watched.wakes.calls == 0 && watched.wakes.wakes == 1)
  }

  @Test func otherThreadsAreNotCounted() {
    cue_probe_enter()
    var thread = pthread_t()
    let started = pthread_create(
      &thread, nil,
      { _ in
        for _ in 0..<1000 { free(seen(malloc(10))) }
        return nil
      }, nil)
    pthread_join(thread, nil)
    let found = cue_probe_leave()
    expectEqual(started, 0)
    expectTrue(found.allocations < 100)
  }
}

// The optimiser must not see through these functions, or it would remove the counted operations.
private final class Thing { var number = 1 }
nonisolated(unsafe) private var kept: Thing?
@inline(never) @_optimize(none) private func touch() { kept?.number += 1 }
@inline(never) @_optimize(none) private func seen(_ memory: UnsafeMutableRawPointer?)
  -> UnsafeMutableRawPointer?
{ memory }
