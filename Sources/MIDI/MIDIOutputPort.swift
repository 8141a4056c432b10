package import Server
import Synchronization
import System

/// An output port: sends to destinations. Each has a JACK port of its own, because JACK sends what a port gives to all
/// that it is connected to.
package final class MIDIOutputPort: MIDIObject, @unchecked Sendable {
  package let client: MIDIClient
  private let name: String
  /// The JACK port that the first destination gets.
  private let base: MIDISender
  private let senders = Mutex<[UInt32: MIDISender]>([:])
  /// Held while a destination is connected.
  private let connecting = Lock()

  package init(named name: String, of client: MIDIClient) throws(ServerError) {
    self.client = client
    self.name = name
    base = try client.addSender(named: name, isPrivate: true)
    super.init()
    client.adopt(self)
  }

  /// Sends bytes to a destination. The first call for a destination connects it, which takes two cycles.
  package func send(_ packets: [MIDIToSend], to destination: MIDIEndpoint) throws(ServerError) {
    try sender(to: destination).send(packets)
  }

  /// Sends universal packets.
  package func send(
    words packets: [(hostTime: UInt64, words: [UInt32])], to destination: MIDIEndpoint
  ) throws(ServerError) { try sender(to: destination).send(words: packets) }

  /// Sends a message now.
  ///
  /// - Parameter completion: Called on the client's delivery thread once it is sent, or never will be.
  package func send(
    _ message: [UInt8], to destination: MIDIEndpoint,
    completion: @escaping @Sendable (_ isSent: Bool) -> Void
  ) throws(ServerError) { try sender(to: destination).send(message, completion: completion) }

  /// Unschedules what was sent to a destination, or to all, and is not due yet.
  package func flush(_ destination: MIDIEndpoint?) {
    let senders = senders.withLock { $0 }
    for (reference, sender) in senders
    where destination == nil || reference == destination?.reference { sender.flush() }
  }

  /// Connects a destination, if it is not.
  private func sender(to destination: MIDIEndpoint) throws(ServerError) -> MIDISender {
    if let sender = senders.withLock({ $0[destination.reference] }) { return sender }
    connecting.lock()
    defer { connecting.unlock() }
    if let sender = senders.withLock({ $0[destination.reference] }) { return sender }
    let isFirst = senders.withLock { $0.isEmpty }
    let sender = isFirst ? base : try client.addSender(named: name, isPrivate: true)
    do throws(ServerError) {
      try client.device.connect(sender.name, to: destination.port)
      try client.awaitConnections()
    } catch {
      if sender !== base { client.remove(sender) }
      throw error
    }
    senders.withLock { $0[destination.reference] = sender }
    return sender
  }

  package func dispose() {
    client.disown(self)
    let all = senders.withLock { senders in
      defer { senders = [:] }
      return Array(senders.values)
    }
    for sender in all where sender !== base { client.remove(sender) }
    client.remove(base)
  }
}
