/// Direction of a port, seen from its client.
package enum PortDirection: Sendable {
  case input, output
}
