package import Server
import System

/// A virtual destination: an input port that other programs list.
package final class MIDIVirtualDestination: MIDIObject, @unchecked Sendable {
  package let client: MIDIClient
  package let endpoint: MIDIEndpoint
  private let receiver: MIDIReceiver

  package init(
    named name: String, of client: MIDIClient,
    _ handler: @escaping @Sendable ([MIDIReceived]) -> Void
  ) throws(ServerError) {
    self.client = client
    receiver = try client.addReceiver(named: name, isPrivate: false, handler)
    endpoint = MIDIEndpoint(named: receiver.name, isSource: false, of: client)
    super.init()
    client.adopt(self)
    endpoint.virtual.set(self)
    MIDISetup.shared.add(endpoint)
  }

  package func dispose() {
    client.disown(self)
    endpoint.virtual.set(nil)
    MIDISetup.shared.remove(endpoint)
    endpoint.leave()
    client.remove(receiver)
  }
}
