import Sessions
import System

/// The address space of a session or command: finds the nodes of addresses and patterns.
package struct RemoteAddresses {
  package let nodes: [RemoteNode]
  private let byAddress: [Name: RemoteNode]

  /// Actions whose effect lasts: no pattern performs them.
  private static let singleActions: Set = ["/cuejack/quit", "/cuejack/save"]

  package init(_ nodes: [RemoteNode] = []) {
    self.nodes = nodes
    byAddress = Dictionary(
      nodes.map { (Name($0.address), $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the node of an address, which is no pattern; nil if there is none.
  package subscript(address: String) -> RemoteNode? { byAddress[Name(address)] }

  /// Splits an address or pattern from the range at its end. The address of a node has none.
  package func split(_ text: String) -> (address: String, range: FaderRange?) {
    self[text] == nil ? FaderRange.split(text) : (text, nil)
  }

  /// Returns the node of an address, or the nodes of a pattern, and the range at its end.
  ///
  /// A pattern means actions only if it matches nothing else: a query must perform nothing.
  package func found(_ text: String) throws(RemoteError) -> ([RemoteNode], FaderRange?) {
    let (address, range) = split(text)
    let nodes = try matches(address)
    if let range { for node in nodes { try range.check(node) } }
    return (nodes, range)
  }

  private func matches(_ address: String) throws(RemoteError) -> [RemoteNode] {
    if let node = self[address] { return [node] }
    guard AddressPattern.isPattern(address) else {
      throw .refused(address, unknown(address))
    }
    guard let pattern = AddressPattern(address) else {
      throw .refused(address, "it is malformed, or too long a pattern")
    }
    let matches = nodes.filter { pattern.matches($0.address) }
    if matches.isEmpty { throw .refused(address, "no address matches") }
    let values = matches.filter { $0.kind != .action }
    if !values.isEmpty { return values }
    if let single = matches.first(where: { Self.singleActions.contains($0.address) }) {
      throw .refused(address, "it matches \(single.address), which takes its own address only")
    }
    return matches
  }

  /// Addresses among which those near to an unknown one are looked for. A flood of messages must not keep the server busy.
  private static let mostCompared = 1000

  /// Returns the reason why an address is refused, with the nearest ones.
  package func unknown(_ address: String) -> String {
    let none = "there is no such address"
    let root = "\(RemoteNode.root)/"
    // A controller may send everything that it has: messages for other programs, too.
    guard address.hasPrefix(root) else { return none }
    let near = NearWords.find(
      String(address.dropFirst(root.count)),
      in: nodes.prefix(Self.mostCompared).lazy.map { String($0.address.dropFirst(root.count)) })
    return none + NearWords.question(near.map { root + $0 })
  }

  /// Returns the nodes of a pattern that have values, with a range those that take it.
  func readable(_ pattern: AddressPattern, _ range: FaderRange?) -> [RemoteNode] {
    nodes.filter { node in
      node.kind != .action && pattern.matches(node.address)
        && (range == nil || (try? range?.check(node)) != nil)
    }
  }
}
