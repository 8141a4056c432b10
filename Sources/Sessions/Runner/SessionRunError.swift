package import AudioQueue
package import Files
package import Graph
package import Server

/// The reason why a session cannot run, or not do what it was asked.
package enum SessionRunError: Error, Sendable, CustomStringConvertible {
  case session(SessionError)
  case server(ServerError)
  case file(SoundFileError)
  case host(HostError)
  /// A queue refused a call; `name` is the track or recording.
  case queue(name: String, QueueError)
  /// What was asked cannot be done, in words.
  case refused(String)

  package var description: String {
    switch self {
    case .session(let error): "\(error)"
    case .server(let error): "\(error)"
    case .file(let error): "\(error)"
    case .host(let error): "\(error)"
    case .queue(let name, .cannotStart(let error)): "“\(name)”: \(error)"
    case .queue(let name, .invalidated): "“\(name)”: the JACK server is gone"
    case .queue(let name, let error): "“\(name)”: \(error)"
    case .refused(let reason): reason
    }
  }

  /// Runs `body` and wraps its error.
  package static func session<R>(_ body: () throws(SessionError) -> R) throws(SessionRunError) -> R
  {
    do throws(SessionError) { return try body() } catch { throw .session(error) }
  }

  /// Runs `body` and wraps its error.
  package static func host<R>(_ body: () throws(HostError) -> R) throws(SessionRunError) -> R {
    do throws(HostError) { return try body() } catch { throw .host(error) }
  }

  /// Runs `body` and wraps its error.
  package static func server<R>(_ body: () throws(ServerError) -> R) throws(SessionRunError) -> R {
    do throws(ServerError) { return try body() } catch { throw .server(error) }
  }

  /// Runs `body` and wraps its error.
  package static func file<R>(_ body: () throws(SoundFileError) -> R) throws(SessionRunError) -> R {
    do throws(SoundFileError) { return try body() } catch { throw .file(error) }
  }
}
