import Glibc
import Synchronization
import System

/// The server's reports to a device: xruns, losses and changes. The server's threads set flags and wake
/// the event thread, which reads and clears them.
final class DeviceNotices: ServerNotices {
  /// Number of xruns since the device was opened.
  let xruns = Atomic<UInt64>(0)
  /// Set if the server reports that it is gone, which may be wrong.
  let mayBeLost = Atomic<Bool>(false)
  /// Set if the server's sample rate may have changed.
  let mayHaveOtherRate = Atomic<Bool>(false)
  /// Set if a port has appeared that a connection may be waiting for.
  let portsAppeared = Atomic<Bool>(false)
  /// Number of ports of any client that have appeared or disappeared.
  let portChanges = Atomic<UInt64>(0)
  let isFreewheeling = Atomic<Bool>(false)
  /// Period in frames to prepare the graph for; 0 for none.
  let changedPeriod = Atomic<Int>(0)

  private let cycles: ClientCycles
  private let eventThread: EventThread

  init(_ cycles: ClientCycles, waking eventThread: EventThread) {
    self.cycles = cycles
    self.eventThread = eventThread
  }

  func serverLost() {
    cycles.losses.add(.serverGone)
    eventThread.post()
  }

  func serverMayBeLost() {
    mayBeLost.store(true, ordering: .releasing)
    eventThread.post()
  }

  func xrun() {
    xruns.add(1, ordering: .relaxed)
    eventThread.post()
  }

  func rateChanged() {
    mayHaveOtherRate.store(true, ordering: .releasing)
    eventThread.post()
  }

  /// Leaves the preparation of the graph to the event thread. It takes locks that another thread may
  /// hold while that waits for jackd, and jackd waits for the thread that calls this.
  func periodChanged(to frames: Int) {
    changedPeriod.store(frames, ordering: .releasing)
    eventThread.post()
  }

  func awaitPreparation() {
    let deadline = HostTime.now + 500_000_000
    while changedPeriod.load(ordering: .acquiring) > 0, cycles.link.lifetime == .open,
      HostTime.now < deadline
    { usleep(100) }
  }

  func freewheels(_ on: Bool) {
    isFreewheeling.store(on, ordering: .relaxed)
    cycles.engine.setFreewheeling(on)
  }

  func connectionsChanged() { eventThread.post() }

  func portAppeared() {
    portChanges.add(1, ordering: .releasing)
    portsAppeared.store(true, ordering: .releasing)
    eventThread.post()
  }

  func portDisappeared() {
    portChanges.add(1, ordering: .releasing)
    eventThread.post()
  }

  func latenciesChanged() { eventThread.post() }
}
