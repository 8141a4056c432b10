import Synchronization

/// Clients that are open although nothing plays or records through them. libjack serves one server at a time:
/// they close when a client of another server is opened. Any thread that is not real time.
package enum IdleClients {
  private static let closers = Mutex<[@Sendable () -> Void]>([])

  /// Adds a function that closes such clients.
  package static func closeThem(by body: @escaping @Sendable () -> Void) {
    closers.withLock { $0.append(body) }
  }

  /// Closes the idle clients if clients of this process are on another server than `name`, unless that would
  /// wait for a server that does not answer.
  static func makeWay(for name: String) {
    if JackClient.serverInUse(otherThan: name) == nil || JackLibrary.isStuck { return }
    for close in closers.withLock({ $0 }) { close() }
  }
}
