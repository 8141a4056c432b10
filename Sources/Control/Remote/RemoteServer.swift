import Logging
import Sessions
import Synchronization
import System

/// The OSC server of a running session or command. It answers on one UDP port, from the loopback unless told
/// otherwise; `RemoteMessages` has its messages. It runs until `end()`.
package final class RemoteServer: Sendable {
  private let server: OSCServer

  /// The UDP port.
  package var port: UInt16 { server.socket.port }

  /// Starts serving on a thread of its own, `cuejack-osc`, which calls the target.
  ///
  /// - Parameters:
  ///   - port: The UDP port; 0 for a free one.
  ///   - reach: The hosts whose messages are accepted.
  package init(
    _ target: any RemoteTarget, port: UInt16 = 0, reach: OSCSocket.Reach = .loopback
  ) throws(OSCError) {
    let socket = try OSCSocket(port: port, reach: reach)
    let messages = Mutex(RemoteMessages(target))
    let shared = Shared(messages: messages)
    var handlers = OSCServer.Handlers { bytes, source in
      let answers = shared.messages.withLock {
        $0.receive(bytes, from: source, now: HostTime.now)
      }
      Self.send(answers, on: socket)
    }
    handlers.unreachable = { address in shared.messages.withLock { $0.forget(address) } }
    handlers.tick = {
      let (answers, pause) = shared.messages.withLock { $0.tick(now: HostTime.now) }
      Self.send(answers, on: socket)
      return pause
    }
    server = try OSCServer(on: socket, named: "cuejack-osc", handlers)
  }

  deinit { server.end() }

  /// Stops serving. No call of the target runs afterwards.
  package func end() { server.end() }

  /// The messages, which only the server's thread uses.
  private final class Shared: Sendable {
    let messages: Mutex<RemoteMessages>
    init(messages: consuming Mutex<RemoteMessages>) { self.messages = messages }
  }

  private static func send(_ answers: [RemoteMessages.Answer], on socket: OSCSocket) {
    for answer in answers {
      do throws(OSCError) {
        try socket.send(bytes: answer.bytes, to: answer.destination)
      } catch {
        log.info("\(error)")
      }
    }
  }
}
