import Foundation
package import Server
import Synchronization

/// A JACK server to which lost clients return only when the test permits. Otherwise the test's own
/// clients would open at the same time, which JACK's library does not support on two threads.
package final class GatedServer: Server {
  private let server: JackServer
  private let isOpen = Atomic<Bool>(false)
  private let attempts = Atomic<Int>(0)

  package init(_ jack: JackDaemon) { server = JackServer(named: jack.name) }

  package func openClient(named name: String) throws(ServerError) -> any ServerClient {
    try server.openClient(named: name)
  }

  package func reopenClient(named name: String) -> (any ServerClient)? {
    attempts.add(1, ordering: .sequentiallyConsistent)
    return isOpen.load(ordering: .sequentiallyConsistent) ? server.reopenClient(named: name) : nil
  }

  /// Ends `jack`. Waits up to a minute until `isLost` returns true, that is, the clients have left, and
  /// until one of them tries to return.
  package func end(_ jack: JackDaemon, crash: Bool, _ isLost: () -> Bool) {
    isOpen.store(false, ordering: .sequentiallyConsistent)
    attempts.store(0, ordering: .sequentiallyConsistent)
    if crash { jack.kill() } else { jack.stop() }
    let end = Date(timeIntervalSinceNow: 60)
    while !(attempts.load(ordering: .sequentiallyConsistent) > 0 && isLost()), Date() < end {
      usleep(1000)
    }
  }

  /// Lets lost clients return.
  package func open() { isOpen.store(true, ordering: .sequentiallyConsistent) }
}
