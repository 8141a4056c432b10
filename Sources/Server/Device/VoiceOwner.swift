package import Timeline

/// The queue that a voice or a recorder belongs to, as its device sees it.
package protocol VoiceOwner: AnyObject, Sendable {
  /// Reads the events that cycles pushed. Event thread, never in a cycle. Called if there are any, if the
  /// period has changed, or if `CycleMemory.followsEveryWake` is set.
  ///
  /// - Returns: True if one of them calls for a callback to the app.
  func readEvents() -> Bool
  /// Wakes the thread that makes the callbacks for these events. The event thread calls this after all owners
  /// have read their events, so that the callbacks of many queues wake few threads.
  func wakeCallbacks()
  /// Cycles will have `frames` frames. Event thread; the server waits for this, if it can.
  func deviceWillChangePeriod(to frames: Int)
  /// The server has gone: no cycle comes until `deviceReturned`. Event thread, while the device's
  /// clock can still be read.
  func deviceLost()
  /// The server is back, and its sample rate has changed from `oldRate` to `newRate`, in Hz. Cycles
  /// follow once this returns.
  func deviceWillReturn(from oldRate: Double, to newRate: Double)
  /// The server is back, but refuses the ports of this owner. No cycle runs its voice or recorder
  /// any more.
  func deviceCannotReturn()
  /// Runs resume at `start`, `skip` device frames after the position at which they stopped. No
  /// cycle runs a voice or a recorder until this returns. Not called where the caller drives
  /// cycles: there, runs resume in the next cycle.
  ///
  /// - Parameter hostTime: The same moment as a host time. Pending starts must not be before it.
  func deviceWillResume(at start: StartPoint, or hostTime: StartPoint, skipping skip: Int)
  /// Cycles run again.
  func deviceReturned()
}

extension VoiceOwner {
  /// Reads the events, and wakes the thread that makes their callbacks.
  package func deliverEvents() { if readEvents() { wakeCallbacks() } }

  package func deviceWillChangePeriod(to frames: Int) {}
  package func deviceWillReturn(from oldRate: Double, to newRate: Double) {}
  package func deviceCannotReturn() {}
  package func deviceWillResume(at start: StartPoint, or hostTime: StartPoint, skipping skip: Int) {
  }
  package func deviceReturned() {}
}
