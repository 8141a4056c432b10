/// Returns nodes, and all from which their sound comes, each once and behind its sources.
///
/// - Parameter sources: Returns the nodes that supply one.
package func sourcesFirst<Node: Hashable>(_ nodes: [Node], _ sources: (Node) -> [Node]) -> [Node] {
  var order: [Node] = []
  var seen: Set<Node> = []
  for node in nodes where seen.insert(node).inserted {
    var path = [(node: node, left: sources(node)[...])]
    while let last = path.indices.last {
      guard let next = path[last].left.popFirst() else {
        order.append(path.removeLast().node)
        continue
      }
      if seen.insert(next).inserted { path.append((next, sources(next)[...])) }
    }
  }
  return order
}
