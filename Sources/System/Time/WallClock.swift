import CGlibc
import Glibc

/// The state of the system's clock, which chrony, ntpd or PTP keeps. A value.
package struct WallClock: Equatable, Sendable {
  /// CLOCK_REALTIME and the host time, read at one instant, in nanoseconds.
  package var nanoseconds: Int64
  package var hostTime: UInt64
  /// False if nothing keeps the clock.
  package var isSynchronized: Bool
  /// The greatest error of the clock in seconds, as the program that keeps it has told the kernel.
  package var maximumError: Double
  /// Seconds by which TAI is ahead of UTC; `usualTAIOffset` if nobody has told the kernel.
  package var taiOffset: Int
  package var knowsTAI: Bool

  /// The offset since 2017.
  package static let usualTAIOffset = 37

  /// The clock's state now.
  package static var now: WallClock {
    // The two clocks are read one after the other: the closest of some pairs is taken.
    var best: (width: UInt64, wall: Int64, host: UInt64)?
    for _ in 0..<5 {
      var wall = timespec()
      let before = HostTime.now
      unsafe clock_gettime(CLOCK_REALTIME, &wall)
      let width = HostTime.now - before
      if width < best?.width ?? .max {
        let nanoseconds = Int64(wall.tv_sec) * 1_000_000_000 + Int64(wall.tv_nsec)
        best = (width, nanoseconds, before + width / 2)
      }
    }
    // Seconds and microseconds, the greatest and the estimated error in microseconds, and TAI's offset.
    var state: [CLong] = Array(repeating: 0, count: 10)
    let isSynchronized = unsafe cue_clock_state(&state) != timeError
    return WallClock(
      nanoseconds: best?.wall ?? 0, hostTime: best?.host ?? 0, isSynchronized: isSynchronized,
      maximumError: Double(state[2]) / 1e6,
      taiOffset: state[4] > 0 ? Int(state[4]) : usualTAIOffset, knowsTAI: state[4] > 0)
  }

  /// TIME_ERROR: nothing keeps the clock.
  private static let timeError: CInt = 5

  /// A warning to people who start several machines at `time`; nil if all is well.
  package func warning(for time: WallTime) -> String? {
    var reasons: [String] = []
    if !isSynchronized {
      reasons.append(
        "this machine's clock is not synchronised (chrony, ntpd, systemd-timesyncd and PTP do that): other machines may start at another time"
      )
    }
    if time.isTAI, !knowsTAI {
      reasons.append(
        "the kernel does not know by how much TAI is ahead of UTC (chrony's “leapsectz” tells it): \(taiOffset) seconds are assumed"
      )
    }
    return reasons.isEmpty ? nil : "\(time.text): \(reasons.joined(separator: "; "))"
  }

  /// Description of a synchronised clock's greatest error.
  package var words: String {
    isSynchronized
      ? "clock synchronised, greatest error \((maximumError * 1e6).rounded() / 1e3) ms"
      : "clock not synchronised"
  }
}
