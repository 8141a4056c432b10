import Glibc

/// Gives the calling thread a real-time priority (SCHED_FIFO, as JACK's threads have), if the
/// system allows it.
///
/// Does not use libjack: PipeWire's library only does this in processes that have a client.
///
/// - Returns: False if the system does not allow it.
@discardableResult
package func runInRealTime(priority: Int) -> Bool {
  var parameters = sched_param(sched_priority: CInt(clamping: priority))
  return unsafe pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) == 0
}
