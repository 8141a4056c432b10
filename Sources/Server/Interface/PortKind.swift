/// The kind of a port.
package enum PortKind: Sendable { case audio, midi }
