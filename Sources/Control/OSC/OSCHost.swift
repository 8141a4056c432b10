import Dispatch
import Logging
import Synchronization
import System

/// A host by its name. The system's resolver may learn its address later, or another one. Any thread.
package final class OSCHost: Hashable, Sendable, CustomStringConvertible {
  package let name: String
  private let resolve: @Sendable (String) -> UInt32?
  private let pause: UInt64
  /// The latest IPv4 address, and the host time at which the resolver may be asked again.
  private let state: Mutex<(address: UInt32?, next: UInt64)>

  /// Creates the host, and asks the resolver, which may take seconds.
  ///
  /// - Parameters:
  ///   - pause: Seconds between two questions to the resolver.
  ///   - resolve: Returns the IPv4 address of a name; nil if it has none.
  package init(
    _ name: String, pause: Double = 5,
    resolve: @escaping @Sendable (String) -> UInt32? = { OSCAddress.find($0) }
  ) {
    self.name = name
    self.resolve = resolve
    self.pause = UInt64(pause * 1e9)
    state = Mutex((resolve(name), HostTime.now + self.pause))
  }

  /// The latest IPv4 address of the name; nil if none is known.
  package var address: UInt32? { state.withLock { $0.address } }

  /// Returns true if packets from `source` are the host's. If not, another thread may ask the resolver again, for the
  /// packets to come.
  func accepts(_ source: OSCAddress) -> Bool {
    let (isKnown, asks) = state.withLock { state in
      if state.address == source.host { return (true, false) }
      let now = HostTime.now
      guard now >= state.next else { return (false, false) }
      state.next = .max
      return (false, true)
    }
    if asks { DispatchQueue.global().async { [self] in askAgain() } }
    return isKnown
  }

  private func askAgain() {
    let found = resolve(name)
    let isNew = state.withLock { state in
      state.next = HostTime.now + pause
      guard let found, found != state.address else { return false }
      state.address = found
      return true
    }
    if isNew { log.notice("OSC packets of \(self) are taken from now on") }
  }

  package var description: String {
    address.map { "\(name) (\(OSCAddress(host: $0, port: 0).hostText))" }
      ?? "\(name) (not known yet)"
  }

  package static func == (a: OSCHost, b: OSCHost) -> Bool { a.name == b.name }

  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
