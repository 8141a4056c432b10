import TestBase
import Testing
import Timeline

@Suite struct DeviceTimeTests {
  @Test(
    arguments: [0, 1, 0x8000_0000, 0x1_0000_0000, 0xFFFF_FFFF, 0x5_0000_0000, 0x100_0000_3039]
      as [Int64])
  func aCounterIsWidenedToTheNearestFrame(anchor: Int64) {
    for difference: Int64 in [0, 1, -1, 1000, -1000, 0x7FFF_FFFF, -0x8000_0000] {
      let frame = anchor + difference
      expectEqual(
        DeviceTime.widen(UInt32(truncatingIfNeeded: frame), near: anchor), frame,
        "\(anchor) \(difference)")
    }
  }

  @Test func timeGoesOnAcrossTheWrap() {
    var frame = Int64(1) << 32 - 1024
    var counter = UInt32.max - 1023
    for _ in 0..<8 {
      frame = DeviceTime.widen(counter, near: frame)
      counter &+= 256
    }
    expectEqual(frame, (1 << 32) - 1024 + 7 * 256)
  }

  /// Two processes that look at different times find frames that differ by the elapsed time.
  @Test(arguments: [0, 3600, 259_200, 25_920_000] as [Double])
  func everyProcessFindsTheSameFrame(serverStarted: Double) {
    let rate = 48000.0
    func seen(at seconds: Double) -> Int64 {
      let counter = UInt32(truncatingIfNeeded: Int64(((seconds - serverStarted) * rate).rounded()))
      return DeviceTime.widen(counter, seenAt: UInt64(seconds * 1e6), sampleRate: rate)
    }
    let early = seen(at: serverStarted + 1)
    let late = seen(at: serverStarted + 100_001)
    expectEqual(late - early, 100_000 * 48000)
    expectTrue(early >= 0)
  }

  @Test func framesAreScaledBetweenRates() {
    expectEqual(DeviceTime.frames(48000, atDeviceRate: 48000, toRate: 48000), 48000)
    expectEqual(DeviceTime.frames(48000, atDeviceRate: 48000, toRate: 44100), 44100)
  }
}
