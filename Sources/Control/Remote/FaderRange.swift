/// The range at the end of an address, as in `/cuejack/tracks/1/gain/-60..6`. A message to such an address has the
/// position of a fader: 0 for the first number, 1 for the second one, and in between in proportion.
package struct FaderRange: Hashable, Sendable {
  private let low: Double
  private let high: Double
  private let text: Substring

  /// Returns the address without its range, and the range; nil if the address ends with none.
  static func split(_ address: String) -> (address: String, range: FaderRange?) {
    guard let slash = address.lastIndex(of: "/") else { return (address, nil) }
    let text = address[address.index(after: slash)...]
    guard let dots = text.firstRange(of: ".."), let low = Double(text[..<dots.lowerBound]),
      let high = Double(text[dots.upperBound...]), low.isFinite, high.isFinite, low != high
    else { return (address, nil) }
    return (String(address[..<slash]), FaderRange(low: low, high: high, text: text))
  }

  /// Returns the address of a node with the range.
  package func address(of node: RemoteNode) -> String { "\(node.address)/\(text)" }

  /// Checks that positions can set the node: it is a parameter of one number, whose bounds contain the range.
  package func check(_ node: RemoteNode) throws(RemoteError) {
    guard node.kind == .parameter, ["i", "h", "f", "d"].contains(node.types) else {
      throw .refused(address(of: node), "only a parameter with one number takes a range")
    }
    let bounds = (node.lowest ?? -.infinity)...(node.highest ?? .infinity)
    guard bounds.contains(low), bounds.contains(high) else {
      throw .refused(
        address(of: node),
        "the range is not within \(bounds.lowerBound) to \(bounds.upperBound)")
    }
  }

  /// Returns the fader of a node: one number from 0 to 1.
  package func fader(of node: RemoteNode) -> RemoteNode {
    RemoteNode(
      address: address(of: node), .parameter, types: "d", lowest: 0, highest: 1, unit: nil,
      summary: "the fader: \(node.summary)")
  }

  /// Returns the node's values for the arguments of a message: one position from 0 to 1.
  func values(at position: [OSCValue], of node: RemoteNode) throws(RemoteError) -> [OSCValue] {
    let fraction = try fader(of: node).accepted(position)[0].number ?? 0
    let number = low + (high - low) * fraction
    let isWhole = node.types == "i" || node.types == "h"
    return try node.accepted([.double(isWhole ? number.rounded() : number)])
  }

  /// Returns the position for the node's values, for the fader's own display.
  func position(of values: [OSCValue]) -> [OSCValue] {
    values.map { .float(Float(min(max((($0.number ?? low) - low) / (high - low), 0), 1))) }
  }
}
