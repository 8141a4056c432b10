package import Server
import Synchronization
import System

/// An input port: hears the sources that it is connected to, and what other programs connect to its JACK port.
package final class MIDIInputPort: MIDIObject, @unchecked Sendable {
  /// Takes messages of a source, with the tag of the connection; 0 for what other programs have connected.
  package typealias Handler = @Sendable (_ messages: [MIDIReceived], _ tag: UInt) -> Void

  package let client: MIDIClient
  private let name: String
  private let handler: Handler
  private let base: MIDIReceiver

  private struct Connection {
    let source: MIDIEndpoint
    let tag: UInt
    let receiver: MIDIReceiver
  }
  private let connections = Mutex<[UInt32: Connection]>([:])

  package init(named name: String, of client: MIDIClient, _ handler: @escaping Handler)
    throws(ServerError)
  {
    self.client = client
    self.name = name
    self.handler = handler
    base = try client.addReceiver(named: name, isPrivate: true) { handler($0, 0) }
    super.init()
    client.adopt(self)
  }

  /// Connects a source. JACK does not tell which connection of a port a message comes from: a connection with a tag
  /// has a JACK port of its own.
  package func connect(_ source: MIDIEndpoint, tag: UInt = 0) throws(ServerError) {
    if let old = connections.withLock({ $0[source.reference] }) {
      if old.tag == tag { return }
      disconnect(source)
    }
    let handler = handler
    let receiver =
      tag == 0 ? base : try client.addReceiver(named: name, isPrivate: true) { handler($0, tag) }
    do throws(ServerError) {
      try client.device.connect(receiver.name, to: source.port)
      try client.awaitConnections()
    } catch {
      if receiver !== base { client.remove(receiver) }
      throw error
    }
    let connection = Connection(source: source, tag: tag, receiver: receiver)
    connections.withLock { $0[source.reference] = connection }
  }

  /// Disconnects a source.
  ///
  /// - Returns: False if it is not connected.
  @discardableResult
  package func disconnect(_ source: MIDIEndpoint) -> Bool {
    guard let old = connections.withLock({ $0.removeValue(forKey: source.reference) }) else {
      return false
    }
    if old.receiver === base {
      client.device.disconnect(base.name, from: source.port)
    } else {
      client.remove(old.receiver)
    }
    return true
  }

  package func dispose() {
    client.disown(self)
    let all = connections.withLock { connections in
      defer { connections = [:] }
      return Array(connections.values)
    }
    for connection in all where connection.receiver !== base { client.remove(connection.receiver) }
    client.remove(base)
  }
}
