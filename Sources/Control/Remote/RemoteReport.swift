import FoundationEssentials
import Glibc
import Graph

/// The report of a running session or command to other processes of its user. `cuejack list`, `cuejack osc` and
/// `cuejack set` find it by that.
package struct RemoteReport: Codable, Hashable, Sendable {
  /// The subcommands that can be controlled.
  package enum Command: String, Codable, Sendable, CaseIterable {
    case session, play, fx, record
  }

  /// The part of the report that stays the same while the program runs.
  package struct Origin: Hashable, Sendable {
    package var command: Command
    package var client: String
    package var server: String
    package var path: String

    package init(_ command: Command, client: String, server: String, path: String) {
      self.command = command
      self.client = client
      self.server = server
      self.path = path
    }
  }

  /// The name of the JACK client, by which people choose it.
  package let client: String
  package let command: Command
  /// The name of the JACK server.
  package let server: String
  /// The process identifier.
  package let process: Int32
  /// The UDP port of its `RemoteServer`.
  package let port: UInt16
  /// The path of the session's folder, or of the file that is played or recorded.
  package let path: String
  /// Whether it is stopped, waits, plays, records or is paused, in one word.
  package let motion: String?
  /// The position in seconds.
  package let position: Double?
  /// The start that it waits for, as `--at` takes it; nil if it waits for none.
  package let start: String?

  /// Creates the report of the target, as it is now.
  package init(of target: any RemoteTarget, _ origin: Origin, port: UInt16) {
    client = origin.client
    command = origin.command
    server = origin.server
    path = origin.path
    process = getpid()
    self.port = port
    motion = target.remoteValues(at: "\(RemoteNode.root)/motion")?.first?.text
    position = target.remoteValues(at: "\(RemoteNode.root)/position")?.first?.number
    let start = target.remoteValues(at: "\(RemoteNode.root)/start/time")?.first?.text
    self.start = start == "" ? nil : start
  }
}
