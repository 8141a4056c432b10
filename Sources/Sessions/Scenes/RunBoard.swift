import Graph
import RealTime
import Synchronization

/// The groups of a running session. The curves of the graph follow each change of where they are. Any thread.
final class RunBoard: Sendable {
  private let runs: Mutex<[SessionEngine.Run]>
  private let graph: Graph

  init(_ runs: [SessionEngine.Run], _ graph: Graph) {
    self.runs = Mutex(runs)
    self.graph = graph
  }

  /// Reads or changes the groups.
  func withLock<Result>(_ body: (inout [SessionEngine.Run]) -> Result) -> Result {
    runs.withLock { runs in
      defer { graph.setCourses(runs.map(\.course)) }
      return body(&runs)
    }
  }
}
