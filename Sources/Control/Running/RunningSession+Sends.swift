import Server
import Sessions
import Synchronization

/// The programs that send buses of the session to other machines.
extension RunningSession {
  /// Starts the programs of a session's sends.
  ///
  /// - Throws: `SessionRunError.refused` if a program is missing. The engine is closed then.
  func startSenders(of engine: SessionEngine) throws(SessionRunError) -> [NetworkSender] {
    let (device, document) = (engine.device, engine.document)
    var senders: [NetworkSender] = []
    for (index, send) in document.sends.enumerated() {
      guard let receiver = SessionReceiver(send.to) else { continue }
      let program: SendProgram
      do throws(SendError) {
        program = try SendProgram(for: receiver, on: device.client)
      } catch {
        for sender in senders { sender.end() }
        engine.close()
        throw .refused("sends[\(index)]: \(error)")
      }
      let ports = engine.plan.sendPorts[index]
      senders.append(
        NetworkSender(
          "sends[\(index)]", program,
          client: SessionDocument.clientName(for: "\(device.client.name)-\(send.name)"),
          channels: ports.count, on: device,
          connect: { inputs in
            for (port, input) in zip(ports, inputs) { device.connectAgain(port, to: input) }
          }, onMessage: options.onMessage))
    }
    return senders
  }

  /// Waits until the programs send or have failed, so that receivers hear the beginning of what is played.
  package func awaitSenders(isStopped: () -> Bool) {
    for sender in senders ?? [] { _ = sender.awaitState(isStopped: isStopped) }
  }

  /// The programs that send buses to other machines; nil if no session is open.
  package var senders: [NetworkSender]? { opened.withLock { $0?.senders } }
}
