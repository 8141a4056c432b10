import CRealTime
import RealTime
import Server
import TestSupport
import Testing
import Timeline

/// 28, 35: device time where the frame counter belongs to a driver, as on PipeWire.
@Suite struct TimeBaseTests {
  /// A client without voices whose cycles the test simulates.
  private final class Client {
    private let signal = UnsafeMutablePointer<cue_signal>.allocate(capacity: 1)
    private let processList = UnsafeMutablePointer<ProcessList>.allocate(capacity: 1)
    private let voices = UnsafeMutablePointer<UnsafeMutablePointer<Voice>>.allocate(capacity: 1)
    let engine = UnsafeMutablePointer<Engine>.allocate(capacity: 1)

    init(_ base: UnsafeMutablePointer<TimeBase>, frame: Int64, microseconds: UInt64) {
      cue_signal_initialize(signal)
      processList.initialize(to: ProcessList(voices: voices, count: 0))
      engine.initialize(
        to: Engine(
          processList: processList, signal: signal, client: nil, timeBase: base,
          anchor: TimeAnchor(frame: frame, microseconds: microseconds)))
      engine.pointee.setSampleRate(48000)
    }

    deinit {
      engine.deinitialize(count: 1)
      engine.deallocate()
      processList.deallocate()
      voices.deallocate()
      cue_signal_destroy(signal)
      signal.deallocate()
    }

    /// Runs a cycle whose first frame has the driver's count `counter` and the time `microseconds`.
    @discardableResult
    func cycle(_ frames: UInt32 = 480, counter: UInt32, at microseconds: UInt64) -> Int64 {
      engine.pointee.cycle(
        frames,
        cue_cycle_time(
          counter: counter, microseconds: microseconds,
          next_microseconds: microseconds + UInt64(frames) * 1_000_000 / 48000))
      return engine.pointee.times.frame
    }
  }

  private func withBase(_ body: (UnsafeMutablePointer<TimeBase>) -> Void) {
    let base = UnsafeMutablePointer<TimeBase>.allocate(capacity: 1)
    base.initialize(to: TimeBase())
    body(base)
    base.deinitialize(count: 1)
    base.deallocate()
  }

  @Test func anotherDriverContinuesDeviceTime() {
    withBase { base in
      let client = Client(base, frame: 1_000_000, microseconds: 20_000_000)
      // 10 ms after the anchor, with a driver that counts from elsewhere.
      expectEqual(client.cycle(counter: 137_339_263, at: 20_010_000), 1_000_480)
      expectEqual(client.cycle(counter: 137_339_743, at: 20_020_000), 1_000_960)
      expectTrue(client.engine.pointee.cyclesInARow == 1 && client.engine.pointee.counterJumps == 0)
      // 30 ms later, the client moves to a driver with a low count.
      expectEqual(client.cycle(counter: 5825, at: 20_060_000), 1_002_880)
      expectTrue(client.engine.pointee.cyclesInARow == 0 && client.engine.pointee.counterJumps == 1)
      expectEqual(client.cycle(counter: 6305, at: 20_070_000), 1_003_360)
      expectEqual(client.cycle(counter: 6785, at: 20_080_000), 1_003_840)
      expectTrue(client.engine.pointee.cyclesInARow == 2 && client.engine.pointee.counterJumps == 1)
    }
  }

  @Test func cyclesThatWereSkippedAreMissedAndNoJump() {
    withBase { base in
      let client = Client(base, frame: 1_000_000, microseconds: 1_000_000)
      client.cycle(counter: 4_294_967_000, at: 1_000_000)
      // Two cycles passed without the client, and the counter wraps.
      expectEqual(client.cycle(counter: 4_294_967_000 &+ 1440, at: 1_030_000), 1_001_440)
      expectTrue(client.engine.pointee.counterJumps == 0 && client.engine.pointee.cyclesInARow == 0)
      // PipeWire counts the cycle before a new quantum with its old length.
      expectEqual(
        client.cycle(960, counter: 4_294_967_000 &+ 1920, at: 1_040_000), 1_001_920)
      expectEqual(
        client.cycle(960, counter: 4_294_967_000 &+ 2880, at: 1_060_000), 1_002_880)
      expectTrue(client.engine.pointee.counterJumps == 0 && client.engine.pointee.cyclesInARow == 2)
    }
  }

  @Test func aCycleThatIsRepeatedHasItsFramesAgain() {
    withBase { base in
      let client = Client(base, frame: 1_000_000, microseconds: 1_000_000)
      client.cycle(counter: 77, at: 1_000_000)
      expectEqual(client.cycle(counter: 77, at: 1_000_000), 1_000_000)
      expectEqual(client.cycle(counter: 557, at: 1_010_000), 1_000_480)
    }
  }

  @Test func clientsOfOneProcessHaveOneDeviceTime() {
    withBase { base in
      let first = Client(base, frame: 5_000_000, microseconds: 1_000_000)
      // Another client's estimate of the time differs by less than two cycles.
      let second = Client(base, frame: 5_000_100, microseconds: 1_000_000)
      expectEqual(
        first.cycle(counter: 3000, at: 1_010_000), second.cycle(counter: 3000, at: 1_010_000))
      // Both move; the second one meets the new driver a cycle later.
      let moved = first.cycle(counter: 900_000, at: 1_050_003)
      first.cycle(counter: 900_480, at: 1_060_003)
      expectEqual(second.cycle(counter: 900_480, at: 1_060_003), moved + 480)
      expectEqual(second.engine.pointee.counterJumps, 1)
    }
  }

  /// On jackd, the counter is device time, and a cycle before a new period counts with the new length.
  @Test func timesConvertBothWays() {
    let times = CycleTimes(
      frame: 10_000, nextFrame: 10_480, microseconds: 2_000_000, nextMicroseconds: 2_010_000)
    expectEqual(times.hostTime(ofFrame: 10_480, sampleRate: 48000), 2_010_000_000)
    expectEqual(times.hostTime(ofFrame: 58_480, sampleRate: 48000), 3_010_000_000)
    expectEqual(times.hostTime(ofFrame: -1_000_000_000, sampleRate: 48000), 0)
    expectEqual(times.frame(atHostTime: 3_010_000_000, sampleRate: 48000), 58_480)
    for frame in [0, 9_999, 10_001, 1 << 40] as [Int64] {
      let time = times.hostTime(ofFrame: frame, sampleRate: 44100)
      expectEqual(times.frame(atHostTime: time, sampleRate: 44100), frame)
    }
  }
}
