package import RealTime

/// A JACK port that a graph needs.
package struct WantedPort: Sendable {
  package let name: String
  package let direction: PortDirection
  package let isMIDI: Bool
  /// Hands the port to the graph. No cycle uses it yet.
  package let give: @Sendable (ClientPort) -> Void

  package init(
    name: String, direction: PortDirection, isMIDI: Bool,
    give: @escaping @Sendable (ClientPort) -> Void
  ) {
    self.name = name
    self.direction = direction
    self.isMIDI = isMIDI
    self.give = give
  }
}

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

/// A graph that a device runs in its cycles, after the voices and before the recorders.
///
/// Called on threads that are not real time.
package protocol DeviceGraph: AnyObject, Sendable {
  var cycle: UnsafeMutablePointer<GraphCycle> { get }
  /// All ports that the graph needs now.
  var wantedPorts: [WantedPort] { get }
  /// Latencies of its output ports, with the order that cycles run.
  var latencies: [PortLatency] { get }
  /// Prepares the graph for another sample rate. No cycle is running.
  @discardableResult func prepare(sampleRate: Double, blockFrames: Int) -> Bool
  /// Prepares the graph for longer cycles, if that is possible at once. Until then it runs them in
  /// parts.
  ///
  /// - Returns: False if it is not possible now: call again.
  func prepare(blockFrames: Int) -> Bool
  /// Cycles run the graph from now on.
  func begin()
  /// No cycle is running, and none comes until `begin`.
  func halt()
  /// Handles what a cycle reported. Event thread.
  ///
  /// - Returns: The seconds after which to call again in any case.
  func service() -> Double?
}
