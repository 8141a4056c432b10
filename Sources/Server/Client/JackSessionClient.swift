import CJack
import Glibc
import Synchronization
import System

/// A JACK client without ports that receives the events of JACK's session API and replies to them.
///
/// A process with several clients must have one of these only, says JACK's documentation, so this one
/// plays and records nothing. jackd saves its identifier, with which the program opens it again.
@safe
package final class JackSessionClient: Sendable {
  /// What a session manager asks for.
  package enum Request: Sendable {
    case save
    case saveAndQuit
    /// A save without sound and other data.
    case saveTemplate
  }

  /// An event, which must be replied to once. Any thread.
  @safe
  package final class Event: @unchecked Sendable {
    package let request: Request
    /// The folder to save into, with a slash at its end. It exists, and belongs to the client alone.
    package let folder: String
    /// The identifier with which the client must be opened when the session is restored.
    package let clientID: String
    private let event: UnsafeMutablePointer<jack_session_event_t>
    private let client: JackClient
    private let isReplied = Atomic<Bool>(false)

    fileprivate init(_ event: UnsafeMutablePointer<jack_session_event_t>, of client: JackClient) {
      unsafe self.event = unsafe event
      self.client = client
      request =
        switch unsafe event.pointee.type {
        case JackSessionSaveAndQuit: .saveAndQuit
        case JackSessionSaveTemplate: .saveTemplate
        default: .save
        }
      folder = unsafe event.pointee.session_dir.map { unsafe String(systemName: $0) } ?? ""
      clientID = unsafe event.pointee.client_uuid.map { unsafe String(cString: $0) } ?? ""
    }

    /// Most bytes of a command line, without the null character.
    package static let mostBytes = 255

    /// Replies and frees the event. Only the first call has an effect.
    ///
    /// - Parameters:
    ///   - commandLine: The shell command that restores the client, with `${SESSION_DIR}` in place of the
    ///     folder. At most `mostBytes` bytes.
    ///   - hasFailed: True if the client could not save.
    /// - Returns: False if the event was replied to before, or its server has gone.
    @discardableResult
    package func reply(commandLine: String, hasFailed: Bool) -> Bool {
      guard !isReplied.exchange(true, ordering: .acquiringAndReleasing) else { return false }
      unsafe event.pointee.command_line = strdup(commandLine.systemName)
      if hasFailed { unsafe event.pointee.flags = JackSessionSaveError }
      let result = limited(to: client.patience, { [client] in client.breakOff() }) {
        client.requests.withLock { _ in
          client.whileOpen { unsafe cue_jack_session_reply(client.client, event) }
        }
      }
      unsafe cue_jack_session_event_free(event)
      return result == 0
    }

    deinit { if !isReplied.load(ordering: .acquiring) { reply(commandLine: "", hasFailed: true) } }
  }

  private let client: JackClient
  private let link: Link

  /// The name that the server gave the client.
  package var name: String { client.name }
  /// False if the server has no session API, as PipeWire. No events arrive then.
  package let hasSessions: Bool

  /// Opens a client called `name` on `server`.
  ///
  /// - Parameters:
  ///   - sessionID: The identifier of the event with which the client was saved; nil for a new one.
  ///   - onEvent: Takes each event. JACK's notification thread calls it: it must only hand the event on.
  ///   - onLoss: The server has gone. Called on a thread of JACK's, which it must not keep.
  package init(
    named name: String, on server: JackServer, sessionID: String? = nil,
    onEvent: @escaping @Sendable (Event) -> Void, onLoss: @escaping @Sendable () -> Void = {}
  ) throws(ServerError) {
    var server = server
    server.sessionID = sessionID
    guard let client = try server.openClient(named: name) as? JackClient else {
      throw .cannotOpenClient(name: name, server: server.name, reason: "it is no client of JACK")
    }
    self.client = client
    link = Link(client, onEvent, onLoss)
    hasSessions = try link.activate(client)
  }

  deinit { close() }

  /// Closes the client. Events that are not replied to are replied to with an error before.
  package func close() { _ = client.close() }

  /// The argument of the session callback, and the recipient of the client's notices.
  @safe
  private final class Link: Sendable {
    private let onEvent: @Sendable (Event) -> Void
    private let onLoss: @Sendable () -> Void
    private let client: Reference
    private struct Reference: @unchecked Sendable { weak var client: JackClient? }

    init(
      _ client: JackClient, _ onEvent: @escaping @Sendable (Event) -> Void,
      _ onLoss: @escaping @Sendable () -> Void
    ) {
      self.client = Reference(client: client)
      self.onEvent = onEvent
      self.onLoss = onLoss
    }

    /// Sets the callbacks and activates the client: jackd sends events to active clients only.
    ///
    /// - Returns: False if the server has no session API.
    func activate(_ client: JackClient) throws(ServerError) -> Bool {
      unsafe jack_on_shutdown(client.client, { unsafe Link.lose($0) }, unretained)
      unsafe jack_on_info_shutdown(client.client, { unsafe Link.lose($2) }, unretained)
      // The client releases the link after it has closed, when no callback can come.
      let retained = UInt(bitPattern: unsafe Unmanaged.passRetained(self).toOpaque())
      client.whenClosed {
        return {
          guard let link = unsafe UnsafeRawPointer(bitPattern: retained) else { return }
          unsafe Unmanaged<Link>.fromOpaque(link).release()
        }
      }
      let result = unsafe cue_jack_set_session_callback(
        client.client,
        { event, argument in
          guard let event = unsafe event, let argument = unsafe argument else { return }
          withoutCancellation {
            unsafe Unmanaged<Link>.fromOpaque(argument).takeUnretainedValue().take(event)
          }
        }, unretained)
      let isActive = client.whileOpen { unsafe jack_activate(client.client) == 0 }
      guard isActive == true else {
        _ = client.close()
        throw .cannotActivate(client: client.name)
      }
      return result == 0
    }

    private var unretained: UnsafeMutableRawPointer {
      unsafe Unmanaged.passUnretained(self).toOpaque()
    }

    private func take(_ event: UnsafeMutablePointer<jack_session_event_t>) {
      guard let client = client.client else { return unsafe cue_jack_session_event_free(event) }
      onEvent(unsafe Event(event, of: client))
    }

    /// Notes that the server has gone.
    private static func lose(_ argument: UnsafeMutableRawPointer?) {
      guard let argument = unsafe argument else { return }
      withoutCancellation {
        let link = unsafe Unmanaged<Link>.fromOpaque(argument).takeUnretainedValue()
        guard let client = link.client.client else { return }
        if !client.isPipeWire {
          client.serverLost()
        } else if PipeWire.tellsBrokenConnections {
          client.isBroken.store(true, ordering: .releasing)
        }
        link.onLoss()
      }
    }
  }
}
