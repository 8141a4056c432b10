import CJack
import Glibc

/// Gives the calling thread a real-time priority (SCHED_FIFO, as JACK's threads have), if the system
/// allows it.
///
/// Not by libjack: PipeWire's does so in processes that have a client only.
///
/// - Returns: False if it does not.
@discardableResult
package func runInRealTime(priority: Int) -> Bool {
  var parameters = sched_param(sched_priority: CInt(clamping: priority))
  return unsafe pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) == 0
}
