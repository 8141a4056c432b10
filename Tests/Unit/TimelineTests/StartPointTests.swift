import TestBase
import Testing
import Timeline

@Suite struct StartPointTests {
  private func frame(
    _ time: StartTime, at cycleFrame: Int64 = 1000, frames: Int = 480, from: UInt64 = 50_000,
    to: UInt64 = 60_000
  ) -> Int64 {
    StartPoint(time).frame(inCycleAt: cycleFrame, frames: frames, from: from, to: to)
  }

  @Test func aFrameIsItself() {
    for time: Int64 in [0, 1, 999, 1_000_000, 1 << 40] { expectEqual(frame(.frame(time)), time) }
    expectTrue(frame(.atOnce) < 0)
    expectTrue(frame(.frame(.min)) < 0)
    expectTrue(frame(.frame(.max)) > 1 << 60)
  }

  @Test func aHostTimeIsTheNearestFrameOfItsCycle() {
    expectEqual(frame(.hostTime(50_000_000)), 1000)
    expectEqual(frame(.hostTime(50_010_000)), 1000)
    expectEqual(frame(.hostTime(50_011_000)), 1001)
    expectEqual(frame(.hostTime(55_000_000)), 1240)
    expectEqual(frame(.hostTime(59_990_000)), 1480)
    // Before the cycle, and after it.
    expectEqual(frame(.hostTime(49_000_000)), 952)
    expectEqual(frame(.hostTime(60_000_000)), 1480)
  }

  @Test func timesFarAwayAreFarAway() {
    expectTrue(frame(.hostTime(0)) < 1000)
    expectTrue(frame(.hostTime(.max)) > 1 << 40)
    expectTrue(frame(.hostTime(1_000_000_000_000_000)) > 1 << 40)
    // A stopped clock gives no answer, so it is checked again in the next cycle.
    expectEqual(frame(.hostTime(50_000_000), from: 0, to: 0), .max)
  }
}
