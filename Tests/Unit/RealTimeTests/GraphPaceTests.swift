import TestSupport
import Testing

@testable import RealTime

/// When the threads of a graph are worth their waits.
@Suite struct GraphPaceTests {
  /// Runs blocks whose work takes `work` nanoseconds on one thread, and `shared` with helpers.
  ///
  /// - Returns: The number of blocks with helpers.
  private func run(_ pace: inout GraphPace, _ blocks: Int, work: UInt64, shared: UInt64) -> Int {
    var helped = 0
    for _ in 0..<blocks {
      if pace.usesHelpers {
        helped += 1
        pace.ranShared(shared, work: work)
      } else {
        pace.ranAlone(work)
      }
    }
    return helped
  }

  @Test func aSmallGraphStaysOnOneThread() {
    var pace = GraphPace(leastWork: 80_000)
    expectEqual(run(&pace, 10_000, work: 79_000, shared: 40_000), 0)
  }

  @Test func helpersThatHelpStay() {
    var pace = GraphPace(leastWork: 80_000)
    expectEqual(run(&pace, 10_000, work: 100_000, shared: 55_000), 10_000 - 16)
    // A graph that becomes small leaves them.
    expectTrue(run(&pace, 1000, work: 50_000, shared: 27_000) < 100)
    expectEqual(run(&pace, 1000, work: 50_000, shared: 27_000), 0)
  }

  /// Each try takes 64 blocks; the waits between them double.
  @Test func helpersThatDoNotHelpAreTriedAgainRarely() {
    var pace = GraphPace(leastWork: 80_000)
    expectEqual(run(&pace, 16 + 64 + 1024, work: 100_000, shared: 95_000), 64)
    expectTrue(run(&pace, 64 + 1024, work: 100_000, shared: 95_000) <= 65)
    expectTrue(run(&pace, 2_000_000, work: 100_000, shared: 95_000) < 64 * 40)
    // Later they do help.
    expectTrue(run(&pace, 100_000, work: 100_000, shared: 60_000) > 30_000)
  }

  /// Threads that slow each other down work longer altogether: the time before the try counts.
  @Test func workThatGrowsByTheTryIsNoGain() {
    var pace = GraphPace(leastWork: 80_000)
    for _ in 0..<16 { pace.ranAlone(100_000) }
    expectTrue(pace.usesHelpers)
    for _ in 0..<64 { pace.ranShared(98_000, work: 190_000) }
    expectTrue(!pace.usesHelpers)
  }

  @Test func withoutALeastTheyAlwaysHelp() {
    var pace = GraphPace(leastWork: 0)
    expectEqual(run(&pace, 1000, work: 10, shared: 10_000), 1000)
  }
}
