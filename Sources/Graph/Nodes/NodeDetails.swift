/// Details of a node for listings, beyond what the graph knows.
package struct NodeDetails: Sendable {
  /// The URI of the plugin.
  package var uri: String?
  /// The names of the ports, in order. A port without a name here is listed by its number.
  package var inputs, outputs, eventInputs, eventOutputs: [String]
  /// The current values of the control inputs, followed by the control outputs.
  package var controls: [GraphReport.Control]
  /// What is shown in the node's place; nil for the node itself.
  var interior: GraphInterior?

  package init(
    uri: String? = nil, inputs: [String] = [], outputs: [String] = [], eventInputs: [String] = [],
    eventOutputs: [String] = [], controls: [GraphReport.Control] = []
  ) {
    self.uri = uri
    self.inputs = inputs
    self.outputs = outputs
    self.eventInputs = eventInputs
    self.eventOutputs = eventOutputs
    self.controls = controls
  }
}
