/// Notifications of a server to a client, on the server's threads.
///
/// Cycles may wait meanwhile. Conforming types only set flags and wake a thread; they allocate
/// nothing, take no lock and do not call JACK. Only `awaitPreparation` waits.
package protocol ServerNotices: AnyObject, Sendable {
  /// The server has gone.
  func serverLost()
  /// The server reports that it is gone, which may be wrong: if cycles continue, it still runs.
  func serverMayBeLost()
  /// A cycle came too late.
  func xrun()
  /// The server's sample rate may have changed.
  func rateChanged()
  /// Later cycles have `frames` frames. No cycle is running, if the server can arrange that.
  func periodChanged(to frames: Int)
  /// Waits until the graph is prepared for the period that changed, for half a second at most. Call
  /// it where no cycle runs meanwhile, so that none is silent.
  func awaitPreparation()
  /// Freewheel began or ended. In freewheel each cycle follows the one before without waiting for
  /// the clock.
  func freewheels(_ on: Bool)
  /// Connections of this client's ports have changed: `takeConnectionChanges` returns how.
  func connectionsChanged()
  /// A port appeared on the server.
  func portAppeared()
  /// A port disappeared from the server.
  func portDisappeared()
  /// The server asks for this client's port latencies: `updateLatencies` sets them.
  func latenciesChanged()
}
