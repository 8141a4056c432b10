package import Server
import System

/// A virtual source: an output port that other programs list.
package final class MIDIVirtualSource: MIDIObject, @unchecked Sendable {
  package let client: MIDIClient
  package let endpoint: MIDIEndpoint
  private let sender: MIDISender

  package init(named name: String, of client: MIDIClient) throws(ServerError) {
    self.client = client
    sender = try client.addSender(named: name, isPrivate: false)
    endpoint = MIDIEndpoint(named: sender.name, isSource: true, of: client)
    super.init()
    client.adopt(self)
    endpoint.virtual.set(self)
    MIDISetup.shared.add(endpoint)
  }

  /// Sends bytes to all that is connected.
  package func send(_ packets: [MIDIToSend]) throws(ServerError) { try sender.send(packets) }

  /// Sends universal packets to all that is connected.
  package func send(words packets: [(hostTime: UInt64, words: [UInt32])]) throws(ServerError) {
    try sender.send(words: packets)
  }

  package func flush() { sender.flush() }

  package func dispose() {
    client.disown(self)
    endpoint.virtual.set(nil)
    MIDISetup.shared.remove(endpoint)
    endpoint.leave()
    client.remove(sender)
  }
}
