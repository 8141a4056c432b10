import CJack
import Synchronization
import System

/// Argument of JACK's callbacks. Its links are weak, so that a client that is never closed keeps
/// nothing alive. JACK's threads make all calls, which only set flags, push numbers and wake
/// threads.
@safe
final class NoticeLink: Sendable {
  private let links: Links
  private struct Links: @unchecked Sendable {
    weak var notices: (any ServerNotices)?
    weak var client: JackClient?
  }

  var notices: (any ServerNotices)? { links.notices }
  /// Frames of a cycle, as JACK reported them last.
  private let periodFrames: Atomic<Int>

  init(_ notices: any ServerNotices, _ client: JackClient) {
    links = Links(notices: notices, client: client)
    periodFrames = Atomic(unsafe Int(jack_get_buffer_size(client.client)))
  }

  /// Calls `body` with the link that `argument` is. jack_client_close cancels the thread that calls
  /// this, at any instruction.
  static func notify(_ argument: UnsafeMutableRawPointer?, _ body: (NoticeLink) -> Void) {
    guard let argument = unsafe argument else { return }
    withoutCancellation {
      unsafe body(Unmanaged<NoticeLink>.fromOpaque(argument).takeUnretainedValue())
    }
  }

  func serverLost() {
    guard let client = links.client else { return }
    if client.isPipeWire {
      if PipeWire.tellsBrokenConnections { client.isBroken.store(true, ordering: .releasing) }
      notices?.serverMayBeLost()
    } else {
      client.serverLost()
      notices?.serverLost()
    }
  }

  func portLeft() {
    links.client?.latestLeave.withLock { $0 = HostTime.now }
    notices?.portDisappeared()
  }

  /// JACK reports the period when it changes, and also when the client is activated.
  func periodIs(_ frames: Int) {
    if periodFrames.exchange(frames, ordering: .relaxed) == frames { return }
    notices?.periodChanged(to: frames)
    // jackd runs no cycle before this function returns. PipeWire calls it between two cycles.
    if links.client?.isPipeWire == false { notices?.awaitPreparation() }
  }

  func freewheels(_ on: Bool) {
    links.client?.isFreewheeling.store(on, ordering: .relaxed)
    notices?.freewheels(on)
  }

  func orderChanged() { links.client?.orderChanged() }

  /// JACK asks for port latencies. On jackd they are set before this returns.
  func latencyIsWanted(_ mode: jack_latency_callback_mode_t) {
    guard let client = links.client else { return }
    if client.isPipeWire {
      // The library leaves out the process callback while this one runs.
      client.latenciesAreStale.store(true, ordering: .releasing)
      notices?.latenciesChanged()
    } else {
      client.setLatencyRanges(mode)
    }
  }

  func connectionsChanged(_ a: jack_port_id_t, _ b: jack_port_id_t) {
    links.client?.changedPorts.push(a)
    links.client?.changedPorts.push(b)
    notices?.connectionsChanged()
  }

  func portAppeared(_ port: jack_port_id_t) {
    links.client?.registeredPorts.push(port)
    notices?.portAppeared()
  }

  func portRenamed(_ port: jack_port_id_t) {
    links.client?.renamedPorts.push(port)
    // A connection may be waiting for a port of the new name.
    notices?.portAppeared()
  }
}
