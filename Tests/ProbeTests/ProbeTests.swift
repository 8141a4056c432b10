import CProbe
import Foundation
import Testing

/// The probe's zeros mean something only if it sees what is not zero.
@Suite(.enabled(if: cue_probe_works())) struct ProbeTests {
  @inline(never) private func counts(_ body: () -> Void) -> cue_probe_counts {
    // Twice: what the first call does to find functions and metadata is not the body's own.
    body()
    cue_probe_enter()
    body()
    return cue_probe_leave()
  }

  @Test func nothingIsCountedForNothing() {
    var sum = 0
    let seen = counts { for number in 0..<100 { sum &+= number } }
    #expect(sum == 9900)
    #expect(seen.allocations == 0 && seen.frees == 0 && seen.locks == 0)
    #expect(seen.retains == 0 && seen.releases == 0)
  }

  @Test func everyKindOfAllocationIsSeen() {
    #expect(counts { free(malloc(10)) }.allocations == 1)
    #expect(counts { free(calloc(10, 10)) }.allocations == 1)
    #expect(counts { free(realloc(malloc(10), 10000)) }.allocations == 2)
    #expect(counts { free(aligned_alloc(64, 64)) }.allocations == 1)
    let aligned = counts {
      var memory: UnsafeMutableRawPointer?
      #expect(posix_memalign(&memory, 64, 64) == 0)
      free(memory)
    }
    #expect(aligned.allocations >= 1)
  }

  @Test func aFreeIsSeen() {
    #expect(counts { free(malloc(10)) }.frees == 1)
    #expect(counts { free(nil) }.frees == 0)
  }

  @Test func aLockIsSeen() {
    var mutex = pthread_mutex_t()
    pthread_mutex_init(&mutex, nil)
    let seen = withUnsafeMutablePointer(to: &mutex) { mutex in
      counts {
        pthread_mutex_lock(mutex)
        pthread_mutex_unlock(mutex)
      }
    }
    pthread_mutex_destroy(&mutex)
    #expect(seen.locks == 1)
  }

  @Test func swiftsOwnAllocationsAreSeen() {
    let seen = counts { keep(Thing()) }
    #expect(seen.allocations >= 1 && seen.frees >= 1 && seen.releases >= 1)
  }

  @Test func retainsAndReleasesAreSeen() {
    let thing = Thing()
    let seen = counts {
      let unmanaged = Unmanaged.passUnretained(thing)
      _ = unmanaged.retain()
      _ = unmanaged.retain()
      unmanaged.release()
      unmanaged.release()
    }
    #expect(seen.retains >= 2 && seen.releases >= 2)
    #expect(seen.allocations == 0 && seen.frees == 0)
  }

  @Test func otherThreadsAreNotCounted() {
    cue_probe_enter()
    var thread = pthread_t()
    let started = pthread_create(
      &thread, nil,
      { _ in
        for _ in 0..<1000 { free(malloc(10)) }
        return nil
      }, nil)
    pthread_join(thread, nil)
    let seen = cue_probe_leave()
    #expect(started == 0)
    #expect(seen.allocations < 100)
  }
}

private final class Thing { var number = 1 }
@inline(never) private func keep(_ thing: Thing) { thing.number += 1 }
