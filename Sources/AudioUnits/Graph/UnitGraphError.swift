/// Reason why a graph of audio units refuses something.
package enum UnitGraphError: Error, Sendable {
  case nodeNotFound(Int32)
  case invalidConnection(String)
  case outputNode(String)
  case notOpen
  case disposed
  case unit(UnitError)
}
