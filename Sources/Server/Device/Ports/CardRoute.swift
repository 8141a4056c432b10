/// Ports of the sound card to which ports of this process are connected.
package struct CardRoute: Equatable, Sendable {
  /// Full names of the ports that this process records, and of those that it plays to.
  package var inputs: [String]
  package var outputs: [String]
  package var isEmpty: Bool { inputs.isEmpty && outputs.isEmpty }

  package init(inputs: [String] = [], outputs: [String] = []) {
    self.inputs = inputs
    self.outputs = outputs
  }
}
