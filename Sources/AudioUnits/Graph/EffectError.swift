package import Graph
package import Server

/// Reason why a queue cannot play through units.
package enum EffectError: Error, Sendable {
  case unit(UnitError)
  case graph(HostError)
  case server(ServerError)
}
