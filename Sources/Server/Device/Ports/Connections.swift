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
    // Noted first: the event thread may see the connection before this returns.
    let wasMade = patchbay.withLock { patchbay in
      defer { patchbay.connected(name, to: other) }
      return patchbay.isMade(name, to: other)
    }
    do throws(ServerError) {
      switch direction {
      case .input: try link.client.connect(other, toOurs: name)
      case .output, nil: try link.client.connect(name, to: other)
      }
    } catch {
      patchbay.withLock { patchbay in
        switch wasMade {
        case nil: patchbay.disconnected(name, from: other)
        case false?: patchbay.interrupted(name, to: other)
        case true?: break
        }
      }
      throw error
    }
  }

  /// Makes the connection once the other port exists.
  func want(_ name: String, to other: String) { patchbay.withLock { $0.want(name, to: other) } }

  /// Connections of the ports that exist, or that are to be made again when the other port or the server
  /// returns.
  var all: [(port: String, other: String)] { patchbay.withLock { $0.all } }

  /// Removes such a connection for good, if it exists.
  func disconnect(_ name: String, from other: String) {
    patchbay.withLock { $0.disconnected(name, from: other) }
    link.client.disconnect(name, from: other)
  }

  /// Connections of the ports, as far as they are known.
  var made: [(port: String, other: String)] { patchbay.withLock { $0.made } }

  /// Returns how other programs have changed connections, which `note` takes. Event thread.
  ///
  /// - Parameter patience: Lowered to the seconds after which to call again in any case.
  func takeChanges(_ patience: inout Double?) -> [ConnectionChange] {
    link.client.takeConnectionChanges(&patience)
  }

  /// Notes how connections have changed. Event thread.
  func note(_ changes: [ConnectionChange]) {
    for change in changes {
      patchbay.withLock { patchbay in
        switch change.kind {
        case .made: patchbay.connected(change.port, to: change.other)
        case .ended: patchbay.disconnected(change.port, from: change.other)
        case .interrupted: patchbay.interrupted(change.port, to: change.other)
        case .renamed(let old): patchbay.renamed(change.port, old, to: change.other)
        }
      }
    }
  }

  /// Makes the connections whose other port exists, and returns them.
  ///
  /// - Parameter direction: Returns the direction of a port of this client.
  @discardableResult
  func makeMissing(_ direction: (String) -> PortDirection?) -> [ConnectionChange] {
    var changes: [ConnectionChange] = []
    for (port, destination) in patchbay.withLock({ $0.missing }) {
      do throws(ServerError) {
        try connect(port, direction(port), to: destination)
        changes.append(ConnectionChange(kind: .made, port: port, other: destination))
      } catch {
        log.debug("not connected yet: \(error)")
      }
    }
    return changes
  }

  /// Forgets ports that no longer exist.
  func forget(_ ports: [String]) { patchbay.withLock { $0.forget(ports) } }

  /// Notes that the server has gone: all connections are to be made again.
  func lose() { patchbay.withLock { $0.lose() } }
}
