import Foundation
package import Server
import Synchronization

/// A JACK server on which lost clients are opened again only when the test says so: it has its own
/// clients to open before, and JACK's library is not made for two threads that do that at once.
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

  /// Ends `jack` and waits, for a minute at most, until `isLost` says that its clients have left it, and
  /// one of them asks for it again.
  package func end(_ jack: JackDaemon, crash: Bool, _ isLost: () -> Bool) {
    isOpen.store(false, ordering: .sequentiallyConsistent)
    attempts.store(0, ordering: .sequentiallyConsistent)
    if crash { jack.kill() } else { jack.stop() }
    let end = Date(timeIntervalSinceNow: 60)
    while !(attempts.load(ordering: .sequentiallyConsistent) > 0 && isLost()), Date() < end {
      usleep(1000)
    }
  }

  /// Lost clients may return.
  package func open() { isOpen.store(true, ordering: .sequentiallyConsistent) }
}
