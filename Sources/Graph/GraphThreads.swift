/// The threads on which a graph runs its nodes.
package struct GraphThreads: Sendable {
  /// Number of threads, with the process thread.
  package var count: Int
  /// Real-time priority of cycles; nil if they are not real-time.
  package var priority: Int?
  /// Work in a block, in seconds, from which several threads are tried. With 0 they always run.
  package var leastWork: Double

  /// The process thread alone.
  package static let one = GraphThreads(1)

  package init(_ count: Int, priority: Int? = nil, leastWork: Double = 80e-6) {
    self.count = count
    self.priority = priority
    self.leastWork = leastWork
  }
}
