import Glibc
import System

/// A device's client, the engine that its cycles run, and the losses of its server. Any thread that is not real
/// time.
///
/// Each wait returns at once if the caller drives the cycles, and early if the client is lost or the device is
/// being closed.
final class ClientCycles: Sendable {
  let link: ClientLink
  let engine: EngineMemory
  let losses = Losses()
  var client: any ServerClient { link.client }

  /// - Parameter eventThread: The thread that cycles wake.
  init(_ client: any ServerClient, waking eventThread: EventThread) {
    link = ClientLink(client)
    engine = EngineMemory(link, eventThread, anchor: Self.anchor(for: client))
  }

  /// Waits until `count` more cycles are over, for two seconds at most.
  func awaitCycles(_ count: UInt64) {
    let last = engine.cyclesBegun + count
    guard unsafe client.handle != nil else { return }
    let seen = losses.count
    let deadline = HostTime.now + 2_000_000_000
    while !engine.areOver(last), !isOver(seen), HostTime.now <= deadline { usleep(200) }
  }

  private func isOver(_ seen: UInt64) -> Bool { losses.count != seen || link.lifetime != .open }

  /// The present moment, for `awaitHeard`. Read it once all connections are made.
  var connectionMark: ConnectionMark {
    var mark = ConnectionMark()
    // The next cycle knows of the connections, or the one after if the server was just announcing
    // another change.
    mark.cycle = engine.cyclesBegun + 2
    mark.counterJumps = engine.counterJumps
    mark.hostTime = HostTime.now
    return mark
  }

  /// Nanoseconds that PipeWire may take to move a client to another driver after a connection.
  private static let timeToMove: UInt64 = 100_000_000

  /// Waits until cycles are regular and audible over the connections made by `mark`.
  ///
  /// jackd needs two cycles. PipeWire moves a client to the driver of the port that it is connected
  /// to, without notice. Then the counter jumps, and from the second regular cycle on everything is
  /// audible. A client that is not moved sees no jump.
  ///
  /// - Throws: `ServerError.noCycles` if that takes more than five seconds.
  func awaitHeard(_ mark: ConnectionMark) throws(ServerError) {
    let client = client
    guard unsafe client.handle != nil else { return }
    let seen = losses.count
    let deadline = HostTime.now + 5_000_000_000
    while !isHeard(mark, client) {
      if isOver(seen) { return }
      if HostTime.now > deadline {
        throw .noCycles(client: client.name, server: client.serverName)
      }
      usleep(200)
    }
  }

  /// Returns the first device frame, of those that are yet to come, that is certain to be heard over the connections
  /// made by `mark`; nil if that shows only once it is heard, as on PipeWire. Waits for the first cycle, for two seconds
  /// at most.
  func firstHeardFrame(_ mark: ConnectionMark) -> Int64? {
    guard unsafe client.handle != nil, !client.isPipeWire else { return nil }
    let deadline = HostTime.now + 2_000_000_000
    while HostTime.now < deadline, !losses.isLost {
      let begun = engine.cyclesBegun
      guard let next = engine.upcomingFrame else {
        usleep(200)
        continue
      }
      let period = next - latestFrame
      // A cycle may be about to begin; only the one after that is certain to know of a start.
      let cycles = max(1, Int64(mark.cycle) - Int64(begun))
      if engine.cyclesBegun == begun { return next + cycles * period }
    }
    return nil
  }

  private func isHeard(_ mark: ConnectionMark, _ client: any ServerClient) -> Bool {
    guard engine.areOver(mark.cycle) else { return false }
    guard client.isPipeWire else { return true }
    return engine.cyclesInARow >= 2
      && (engine.counterJumps != mark.counterJumps
        || HostTime.now > mark.hostTime + Self.timeToMove)
  }
}
