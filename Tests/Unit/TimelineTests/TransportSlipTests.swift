import TestBase
import Testing
import Timeline

@Suite struct TransportSlipTests {
  private let rate = 48000.0
  private let period = 1024

  /// A machine whose cycles another one drives. Host times are microseconds.
  private struct Machine {
    var frame: Int64 = 5000
    var microseconds = 1e9
    /// Seconds by which cycles begin later than they should, one after another.
    var lateness = [0.0, 0.0004, 0, 0.021, 0.0001, 0.003, 0]
    private var cycle = 0

    /// Runs a period that takes `seconds`, and returns how it begins.
    mutating func run(_ frames: Int64, seconds: Double) -> TransportMoment {
      let late = lateness[cycle % lateness.count]
      defer {
        cycle += 1
        frame += frames
        microseconds += seconds * 1e6
      }
      return TransportMoment(frame: frame, microseconds: UInt64(microseconds + late * 1e6))
    }
  }

  /// Looks at every third cycle for `seconds`, and returns what was missed.
  private func look(
    _ slip: inout TransportSlip, _ machine: inout Machine, seconds: Double, clock: Double = 1
  ) -> [Int64] {
    let length = Double(period) / rate
    return (0..<Int(seconds / length)).compactMap { number in
      let moment = machine.run(Int64(period), seconds: length * clock)
      guard number % 3 == 0 else { return nil }
      let missed = slip.note(moment, sampleRate: rate, periodFrames: period)
      return missed == 0 ? nil : missed
    }
  }

  @Test func aSteadyServerMissesNothing() {
    var (slip, machine) = (TransportSlip(), Machine())
    // Cards are off by some parts of 100,000.
    expectTrue(look(&slip, &machine, seconds: 600, clock: 1.0002).isEmpty)
    expectTrue(look(&slip, &machine, seconds: 600, clock: 0.9998).isEmpty)
  }

  @Test(arguments: [1, 22, -3]) func whatWasMissedIsToldOnceInWholePeriods(periods: Int) {
    var (slip, machine) = (TransportSlip(), Machine())
    expectTrue(look(&slip, &machine, seconds: 5).isEmpty)
    machine.microseconds += Double(periods * period) / rate * 1e6 + 40
    expectEqual(look(&slip, &machine, seconds: 10), [Int64(periods * period)])
    expectTrue(look(&slip, &machine, seconds: 10).isEmpty)
  }

  /// The server was away for seven seconds, and counts from 0. The master's transport had been located to a frame
  /// within a period.
  @Test func aServerThatReturnsHasMissedAllFramesMeanwhile() {
    var (slip, machine) = (TransportSlip(), Machine())
    expectTrue(look(&slip, &machine, seconds: 5).isEmpty)
    let frames = Int64(330 * period)
    let expected = machine.frame + frames
    machine.microseconds += Double(frames) / rate * 1e6 + 40
    machine.frame = 0
    let first = machine.run(Int64(period), seconds: Double(period) / rate)
    var missed = slip.resume(at: first, sampleRate: rate, periodFrames: period)
    missed += look(&slip, &machine, seconds: 5).reduce(0, +)
    expectEqual(missed, expected)
    expectTrue(look(&slip, &machine, seconds: 10).isEmpty)
  }

  /// While the link is down, cycles come at their timeouts: every second is later than the one before.
  @Test func nothingIsToldBeforeCyclesAreRegularAgain() {
    var (slip, machine) = (TransportSlip(), Machine())
    expectTrue(look(&slip, &machine, seconds: 5).isEmpty)
    expectTrue(look(&slip, &machine, seconds: 5, clock: 4).isEmpty)
    // Fifteen seconds more than were counted.
    let count = Int(5 * rate / Double(period))
    expectEqual(look(&slip, &machine, seconds: 5), [Int64(3 * count * period)])
  }

  @Test func timesOfOthersDoNotOverflow() {
    var slip = TransportSlip()
    for (frame, time): (Int64, UInt64) in [(0, 0), (.max, .max), (0, .max), (1 << 40, 5), (7, 8)] {
      for _ in 0..<20 {
        _ = slip.note(
          TransportMoment(frame: frame, microseconds: time), sampleRate: 1e9, periodFrames: 0)
      }
    }
  }
}
