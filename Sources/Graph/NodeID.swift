/// Identifier of a node of a graph.
package struct NodeID: Hashable, Comparable, Sendable {
  /// Counted from 1 and never reused.
  package let number: Int
  package static func < (a: NodeID, b: NodeID) -> Bool { a.number < b.number }
}
