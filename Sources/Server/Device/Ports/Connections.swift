import Logging
import Synchronization
import System

/// Connections of a device's ports, which are made again after each return of the server. Any thread
/// that is not real time.
///
/// Nothing is called under the lock of the patchbay.
final class Connections: Sendable {
  private let link: ClientLink
  private let patchbay = Mutex(Patchbay())

  init(_ link: ClientLink) { self.link = link }

  /// Connects port `name` of this client to the port with the full name `other`.
  ///
  /// - Parameter direction: Direction of the port; nil if it is unknown, which counts as an output.
  func connect(_ name: String, _ direction: PortDirection?, to other: String) throws(ServerError) {
    switch direction {
    case .input: try link.client.connect(other, toOurs: name)
    case .output, nil: try link.client.connect(name, to: other)
    }
    patchbay.withLock { $0.connected(name, to: other) }
  }

  /// Removes such a connection for good, if it exists.
  func disconnect(_ name: String, from other: String) {
    link.client.disconnect(name, from: other)
    patchbay.withLock { $0.disconnected(name, from: other) }
  }

  /// Notes how connections have changed. Event thread.
  ///
  /// - Parameter patience: Lowered to the seconds after which to call again in any case.
  func takeChanges(_ patience: inout Double?) {
    for change in link.client.takeConnectionChanges(&patience) {
      patchbay.withLock { patchbay in
        switch change.kind {
        case .made: patchbay.connected(change.port, to: change.other)
        case .ended: patchbay.disconnected(change.port, from: change.other)
        case .interrupted: patchbay.interrupted(change.port, to: change.other)
        }
      }
    }
  }

  /// Makes the connections whose other port exists.
  ///
  /// - Parameter direction: Returns the direction of a port of this client.
  func makeMissing(_ direction: (String) -> PortDirection?) {
    for (port, destination) in patchbay.withLock({ $0.missing }) {
      do throws(ServerError) {
        try connect(port, direction(port), to: destination)
      } catch {
        log.debug("not connected yet: \(error)")
      }
    }
  }

  /// Forgets ports that no longer exist.
  func forget(_ ports: [String]) { patchbay.withLock { $0.forget(ports) } }

  /// Notes that the server has gone: all connections are to be made again.
  func lose() { patchbay.withLock { $0.lose() } }
}
