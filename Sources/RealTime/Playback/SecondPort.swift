import Synchronization

/// The second port of a mono voice. A mono voice has one port, which is heard on both sides, until
/// its balance leaves the centre.
///
/// The port is opened first, and carries silence while connections move to it from the first port.
/// From the cycle on in which these have gone, each port carries its side of the balance.
package struct SecondPort: ~Copyable {
  private static var closed: Int { -2 }
  private static var silent: Int { -1 }
  /// `closed`, `silent`, or the number of connections that stay with the first port.
  private let state = Atomic<Int>(Self.closed)

  /// True if cycles write to the port.
  package var isOpen: Bool {
    @_noLocks get { state.load(ordering: .acquiring) != Self.closed }
  }

  /// Lets cycles write silence to the port. Any thread that is not real-time, once the port is in
  /// the voice's list.
  package func open() { state.store(Self.silent, ordering: .releasing) }

  /// Lets the port carry its side from the first cycle on in which the first port has at most
  /// `connections` connections. Any thread that is not real-time.
  package func use(fromConnections connections: Int) {
    state.store(connections, ordering: .releasing)
  }

  /// Any thread that is not real-time, while no cycle runs the voice.
  func close() { state.store(Self.closed, ordering: .releasing) }

  /// The number of connections that the first port keeps; nil while the second one is silent.
  package var connectionsLeft: Int? {
    @_noLocks get {
      let connections = state.load(ordering: .relaxed)
      return connections >= 0 ? connections : nil
    }
  }
}
