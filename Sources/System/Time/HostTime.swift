import CDispatch
import Glibc

/// Host time: nanoseconds of CLOCK_MONOTONIC.
package enum HostTime {
  package static var now: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
