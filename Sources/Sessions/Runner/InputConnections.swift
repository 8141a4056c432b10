package import AudioQueue
import Server
import Synchronization

/// The connections of a recording's input ports, and messages about those that are lost and those that other
/// programs have made. Any thread that is not real time.
package final class InputConnections: Sendable {
  /// The numbers of input ports.
  package struct State: Sendable {
    /// The ports that were reported to have no connection.
    package fileprivate(set) var reported: Set<Int> = []
    /// The ports that had no connection at the latest look. A change is reported if it lasts.
    package fileprivate(set) var bare: Set<Int> = []
    /// The connections of each port at the latest look; nil before.
    fileprivate var sources: [[String]]?
  }

  private let queue: InputQueue
  private let names: [String]
  private let ports: [String]
  private let state = Mutex(State())

  package init(_ queue: InputQueue) {
    self.queue = queue
    let statistics = queue.statistics
    ports = statistics.portNames
    names = ports.map { "\(statistics.clientName):\($0)" }
  }

  package var latest: State { state.withLock { $0 } }

  /// Looks at the connections, which asks the server. Call it a few times per second.
  ///
  /// - Returns: Messages about ports that have lost their connections, and about new connections.
  package func look() -> (lost: String?, found: [String]) {
    // While the server is away, its ports are, too.
    guard let device = queue.runningDevice, queue.loss == nil else { return (nil, []) }
    let present = ports.map { device.client.connections(of: $0) }
    return state.withLock { state in
      let found = present.enumerated().flatMap { number, others in
        others.filter { state.sources?[number].contains($0) == false }.map {
          "\(names[number]): connected to \($0) now"
        }
      }
      let isFirst = state.sources == nil
      state.sources = present
      let bare = Set(present.indices.filter { present[$0].isEmpty })
      let lost = bare.subtracting(state.reported).filter { isFirst || state.bare.contains($0) }
      state.reported = state.reported.intersection(bare).union(lost)
      state.bare = bare
      return (
        words(
          lost, isFirst ? "not connected: records silence" : "lost the connection: records silence"),
        found
      )
    }
  }

  /// Returns a message about input ports; nil if there are none.
  package func words(_ numbers: Set<Int>, _ words: String) -> String? {
    if numbers.isEmpty { return nil }
    return "\(numbers.sorted().map { names[$0] }.joined(separator: ", ")): \(words)"
  }
}
