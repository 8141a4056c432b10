import CDispatch
import Glibc

/// An instant as the clock on the wall shows it, in the time zone of the process. Any thread.
package struct LocalTime: Equatable, Sendable {
  /// Seconds since 1970 in UTC, and nanoseconds of the second.
  package let seconds: Int
  package let nanoseconds: Int

  package init(seconds: Int, nanoseconds: Int) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// Converts a host time, in nanoseconds of CLOCK_MONOTONIC, by the difference that the two clocks have
  /// now.
  package init(atHostTime hostTime: UInt64) {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    let time = Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    let then = time - Int64(truncatingIfNeeded: HostTime.now &- hostTime)
    // Rounded down, also before 1970.
    let whole = then >= 0 ? then / 1_000_000_000 : (then - 999_999_999) / 1_000_000_000
    seconds = Int(whole)
    nanoseconds = Int(then - whole * 1_000_000_000)
  }

  /// Calls `body` with date and time of day in the time zone of the process.
  private func withFields<R>(_ body: (UnsafeMutablePointer<tm>) -> R) -> R {
    var time = time_t(seconds)
    var fields = unsafe tm()
    unsafe localtime_r(&time, &fields)
    return unsafe body(&fields)
  }

  /// Formats the time with a format of `strftime`; at most 255 bytes.
  package func formatted(_ format: String) -> String {
    unsafe withFields { fields in
      unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
        guard let first = text.baseAddress,
          unsafe strftime(first, text.count, format, fields) > 0
        else { return "" }
        return unsafe String(cString: first)
      }
    }
  }

  /// Returns the frames at a rate that the clock counts from midnight to this time, rounded down.
  package func framesSinceMidnight(at sampleRate: Double) -> Int64 {
    let seconds = unsafe withFields { fields in
      unsafe Int(fields.pointee.tm_hour) * 3600 + Int(fields.pointee.tm_min) * 60
        + Int(fields.pointee.tm_sec)
    }
    let part = (Double(nanoseconds) * sampleRate / 1e9).rounded(.down)
    return Int64((Double(seconds) * sampleRate + part).rounded(.down))
  }
}
