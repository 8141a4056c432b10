/// The moment at which a client's connections were made: see `Device.awaitHeard`.
package struct ConnectionMark: Sendable {
  /// Number of the cycle after which jackd has made the connections audible.
  package var cycle: UInt64 = 0
  package var counterJumps: UInt64 = 0
  package var hostTime: UInt64 = 0
  package init() {}
}
