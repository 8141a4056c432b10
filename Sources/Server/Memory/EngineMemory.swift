import Glibc
import RealTime
import System
import Timeline

/// Owner of a device's engine, and of the process list and the signal that its cycles use.
///
/// A process list is prepared, applied by one atomic store, and freed once no cycle can read it.
/// Threads that are not real time.
@safe
final class EngineMemory: @unchecked Sendable {
  /// The engine, which a client's process callback runs.
  let engine: UnsafeMutablePointer<Engine>
  private let link: ClientLink
  /// Owner of the signal that cycles post.
  private let eventThread: EventThread
  /// The list that cycles read. Replaced under the lock of `Attachments`.
  private var processList: ProcessListMemory

  /// - Parameter anchor: An instant of device time and host time, which the first cycle continues.
  init(_ link: ClientLink, _ eventThread: EventThread, anchor: TimeAnchor) {
    self.link = link
    self.eventThread = eventThread
    let list = unsafe ProcessListMemory()
    processList = list
    let client = link.client
    unsafe engine = .allocate(capacity: 1)
    unsafe engine.initialize(
      to: Engine(
        processList: list.processList, signal: eventThread.signal, client: client.handle,
        timeBase: client.timeBase, anchor: anchor))
    setSampleRate(client.sampleRate)
  }

  deinit {
    unsafe engine.deinitialize(count: 1)
    unsafe engine.deallocate()
  }

  // MARK: Reading cycles

  /// Times of the latest cycle; the anchor before the first one.
  var times: CycleTimes { unsafe engine.pointee.times }
  /// First device frame of the cycle after the latest; nil before the first one.
  var upcomingFrame: Int64? { unsafe engine.pointee.upcomingFrame }
  /// Transport state of the latest cycle that read it; nil if there was none.
  var transport: TransportReading? { unsafe engine.pointee.transport }
  /// Lets cycles read the transport even if they run no graph.
  func watchTransport() { unsafe engine.pointee.watchTransport() }
  /// Number of cycles that have begun.
  var cyclesBegun: UInt64 { unsafe engine.pointee.cyclesBegun }
  /// Number of cycles in a row without a gap or a jump of the counter.
  var cyclesInARow: UInt64 { unsafe engine.pointee.cyclesInARow }
  /// Number of times that the driver's counter restarted.
  var counterJumps: UInt64 { unsafe engine.pointee.counterJumps }
  /// True if the server runs cycles at another rate than the one set.
  var runsAtOtherRate: Bool { unsafe engine.pointee.runsAtOtherRate }

  /// Returns true once the first `count` cycles are over.
  func areOver(_ count: UInt64) -> Bool { unsafe engine.pointee.areOver(count) }

  // MARK: Changing cycles

  func setMuted(_ on: Bool) { unsafe engine.pointee.setMuted(on) }
  func setFreewheeling(_ on: Bool) { unsafe engine.pointee.setFreewheeling(on) }
  /// Sets the rate, in Hz, that the process list is prepared for.
  func setSampleRate(_ rate: Double) { unsafe engine.pointee.setSampleRate(rate) }

  /// Copies the server's present rate to the client and the engine.
  func adoptSampleRate(of client: any ServerClient) {
    client.takeSampleRate()
    setSampleRate(client.sampleRate)
  }

  /// Switches to another client, or to none. Device time continues at `anchor`. Precondition: the old
  /// client is closed.
  func rebase(to client: (any ServerClient)?, anchor: TimeAnchor) {
    unsafe engine.pointee.rebase(client: client?.handle, anchor: anchor)
  }

  /// Replaces the process list, effective with the next cycle, and frees the old one. Call under the
  /// lock of `Attachments`.
  ///
  /// - Returns: False if a cycle that does not end may still read the old list, which is never freed
  ///   then.
  func swap(_ fresh: ProcessListMemory) -> Bool {
    unsafe engine.pointee.swap(fresh.processList)
    let old = processList
    processList = fresh
    let isSettled = settle()
    if !isSettled { keepForGood(old) }
    return isSettled
  }

  /// Waits until every cycle that has begun is over, which takes one cycle at most.
  ///
  /// - Returns: False if a cycle has not ended after five seconds: it never will.
  func settle() -> Bool {
    let count = cyclesBegun
    let deadline = HostTime.now + 5_000_000_000
    while !areOver(count) {
      if link.lifetime == .closed { return !link.isAbandoned }
      if HostTime.now > deadline { return false }
      usleep(50)
    }
    return true
  }
}
