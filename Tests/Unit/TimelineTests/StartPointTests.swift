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
    for time: Int64 in [0, 1, 999, 1_000_000, 1 << 40] { #expect(frame(.frame(time)) == time) }
    #expect(frame(.atOnce) < 0)
    #expect(frame(.frame(.min)) < 0)
    #expect(frame(.frame(.max)) > 1 << 60)
  }

  @Test func aHostTimeIsTheNearestFrameOfItsCycle() {
    #expect(frame(.hostTime(50_000_000)) == 1000)
    #expect(frame(.hostTime(50_010_000)) == 1000)
    #expect(frame(.hostTime(50_011_000)) == 1001)
    #expect(frame(.hostTime(55_000_000)) == 1240)
    #expect(frame(.hostTime(59_990_000)) == 1480)
    // Before the cycle, and after it.
    #expect(frame(.hostTime(49_000_000)) == 952)
    #expect(frame(.hostTime(60_000_000)) == 1480)
  }

  @Test func timesFarAwayAreFarAway() {
    #expect(frame(.hostTime(0)) < 1000)
    #expect(frame(.hostTime(.max)) > 1 << 40)
    #expect(frame(.hostTime(1_000_000_000_000_000)) > 1 << 40)
    // A stopped clock gives no answer, so it is checked again in the next cycle.
    #expect(frame(.hostTime(50_000_000), from: 0, to: 0) == .max)
  }
}
