import Synchronization

/// Whether a device is open. It only advances.
enum Lifetime: UInt8, AtomicRepresentable {
  case open
  /// The device is being closed: no other client replaces the present one.
  case closing
  case closed
}

/// A device's client on its server. It is opened before the device, replaced after each return of the
/// server, and closed once. Any thread that is not real time.
///
/// Locks: `closing` is taken before the lock of `Attachments`, and that before `link`, under which
/// nothing else is called.
final class ClientLink: Sendable {
  private enum State {
    case open
    case closed
    /// The client could not be closed: its cycles may go on. Memory that they may read is never freed,
    /// and no other client runs the engine.
    case abandoned
  }
  private struct Link {
    var client: any ServerClient
    var state = State.open
  }
  private let link: Mutex<Link>
  private let closing = Mutex<Void>(())
  private let life = Atomic<Lifetime>(.open)

  init(_ client: any ServerClient) { link = Mutex(Link(client: client)) }

  var client: any ServerClient { link.withLock { $0.client } }
  var isAbandoned: Bool { link.withLock { $0.state == .abandoned } }
  var lifetime: Lifetime { life.load(ordering: .acquiring) }

  /// Notes that the device is being closed.
  ///
  /// - Returns: False if it was noted before.
  func beginEnd() -> Bool {
    life.compareExchange(expected: .open, desired: .closing, ordering: .acquiringAndReleasing)
      .exchanged
  }

  /// Notes that the device is closed.
  func end() { life.store(.closed, ordering: .releasing) }

  /// Closes the client if it is open, or waits until another thread has closed it.
  ///
  /// - Parameter keepMemory: Called if the client cannot be closed. Keeps what cycles may read.
  func close(orElse keepMemory: () -> Void) {
    closing.withLock { _ in
      let client = link.withLock { link in
        defer { if link.state == .open { link.state = .closed } }
        return link.state == .open ? link.client : nil
      }
      guard let client, !client.close() else { return }
      link.withLock { $0.state = .abandoned }
      keepMemory()
    }
  }

  /// Replaces the client, which is closed, by `fresh`.
  ///
  /// - Returns: False if the device is being closed: the caller closes `fresh`.
  func replace(with fresh: any ServerClient) -> Bool {
    link.withLock { link in
      if lifetime != .open { return false }
      link = Link(client: fresh)
      return true
    }
  }
}
