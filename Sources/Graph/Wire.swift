/// A connection for samples or events from a node's output to a node's input; both count from 0.
package struct Wire: Hashable, Sendable {
  package let from: NodeID
  package let output: Int
  package let to: NodeID
  package let input: Int
  package let isEvent: Bool
  package init(
    from: NodeID, _ output: Int = 0, to: NodeID, _ input: Int = 0, isEvent: Bool = false
  ) {
    self.from = from
    self.output = output
    self.to = to
    self.input = input
    self.isEvent = isEvent
  }
}
