import System
import TestSupport
import Testing

@Suite struct WallTimeTests {
  /// Milliseconds since 1970.
  private func milliseconds(_ text: String) -> Int64? {
    WallTime(text).map { $0.nanosecondsOfUTC(taiOffset: 37) / 1_000_000 }
  }

  @Test func textsAreInstants() {
    expectEqual(milliseconds("1970-01-01T00:00:00Z"), 0)
    expectEqual(milliseconds("2026-11-28T22:15:00Z"), 1_795_904_100_000)
    expectEqual(milliseconds("2026-11-28T23:15:00.25+01:00"), 1_795_904_100_250)
    expectEqual(milliseconds("2026-11-28T16:45:00.5-05:30"), 1_795_904_100_500)
    expectEqual(milliseconds("2026-11-28T22:15:37TAI"), 1_795_904_100_000)
    expectTrue(milliseconds("2028-02-29T00:00:00Z") != nil)
    let time = WallTime("2026-11-28T22:15:00.123456789Z")
    expectEqual(time?.nanosecondsOfUTC(taiOffset: 0), 1_795_904_100_123_456_789)
    expectEqual(time?.text, "2026-11-28T22:15:00.123456789Z")
  }

  @Test(arguments: [
    "", "now", "2026-11-28", "2026-11-28T22:15:00", "2026-11-28 22:15:00Z", "2026-11-31T00:00:00Z",
    "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-28T24:00:00Z", "2026-11-28T22:60:00Z",
    "2026-11-28T22:15:60Z", "2026-11-28T22:15:00.Z", "2026-11-28T22:15:00.1234567890Z",
    "2026-11-28T22:15:00+1:00", "2026-11-28T22:15:00+01:00Z", "2026-11-28T22:15:00z",
    "26-11-28T22:15:00Z", "9999-11-28T22:15:00Z", "2026-11-28T22:15:00ZZ", "+026-11-28T22:15:00Z",
  ])
  func otherTextsAreNone(text: String) { expectNil(WallTime(text)) }

  @Test func anInstantHasTheHostTimeThatTheClocksHaveNow() throws {
    let clock = WallClock.now
    let time = try require(WallTime("2100-01-01T00:00:00Z"))
    let distance = time.nanosecondsOfUTC(taiOffset: 0) - clock.nanoseconds
    // The clock may be adjusted meanwhile, but not by seconds.
    expectTrue(abs(Int64(time.hostTime) - Int64(clock.hostTime) - distance) < 2_000_000_000)
    expectTrue(try require(WallTime("1970-01-01T00:00:00Z")).hostTime < HostTime.now)
  }

  @Test func aClockThatNobodyKeepsIsTold() throws {
    var clock = WallClock.now
    (clock.isSynchronized, clock.knowsTAI, clock.maximumError) = (true, true, 0.0012)
    let utc = try require(WallTime("2100-01-01T00:00:00Z"))
    let tai = try require(WallTime("2100-01-01T00:00:37TAI"))
    expectTrue(clock.warning(for: utc) == nil && clock.warning(for: tai) == nil)
    expectTrue(clock.words.contains("1.2 ms"))
    clock.knowsTAI = false
    expectNil(clock.warning(for: utc))
    expectEqual(clock.warning(for: tai)?.contains("does not know by how much TAI"), true)
    clock.isSynchronized = false
    expectEqual(clock.warning(for: utc)?.contains("is not synchronised"), true)
    expectEqual(clock.warning(for: tai)?.contains("is not synchronised"), true)
    expectEqual(clock.warning(for: tai)?.contains("does not know by how much TAI"), true)
  }
}
