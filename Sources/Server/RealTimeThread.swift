import CJack
import Glibc

/// Gives the calling thread a real-time priority, if the system allows it.
///
/// - Returns: False if it does not.
@discardableResult
package func runInRealTime(priority: Int) -> Bool {
  jack_acquire_real_time_scheduling(pthread_self(), CInt(clamping: priority)) == 0
}
