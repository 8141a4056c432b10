import TestBase
import Testing
import Timeline

/// Conversions of numbers that others have chosen.
@Suite struct HeldNumbersTests {
  private static let most: Int64 = 1 << 60
  private static let signed: [(Double, Int64)] = [
    (.nan, 0), (.infinity, most), (-.infinity, -most), (1e19, most), (-1e300, -most), (1e-300, 0),
    (-0.9, 0), (-7, -7), (0x1p59, most / 2),
  ]
  private static let large: UInt64 = 1 << 63
  private static let unsigned: [(Double, UInt64)] = [
    (.nan, 0), (.infinity, large), (-.infinity, 0), (-1, 0), (1e300, large),
    (4_294_967_296, 4_294_967_296),
  ]

  @Test(arguments: signed)
  func aNumberIsHeldToARange(_ number: Double, _ held: Int64) {
    expectEqual(Int64(held: number), held)
    expectEqual(Int(held: number), Int(held))
  }

  @Test(arguments: unsigned)
  func aNegativeNumberBecomesNone(_ number: Double, _ held: UInt64) {
    expectEqual(UInt64(held: number), held)
    expectEqual(UInt32(held: number), UInt32(clamping: held))
  }

  @Test func noClockReachesTheseTimes() {
    expectTrue([Double.nan, .infinity, -.infinity, 1e19, -1e19].allSatisfy { !$0.isFrameTime })
    expectTrue([0, -1, 1e15, 1e-300].allSatisfy { $0.isFrameTime })
  }
}
