/// Latency of an output port: its inputs, and the frames from them to the output.
package struct PortLatency: Hashable, Sendable {
  package let output: String
  /// This client's input ports that it is made from; none if the signal is generated here.
  package let inputs: [String]
  /// Latency in frames from the inputs, or from where the signal is generated, to the output.
  package let frames: Int

  package init(output: String, inputs: [String], frames: Int) {
    self.output = output
    self.inputs = inputs
    self.frames = frames
  }
}
