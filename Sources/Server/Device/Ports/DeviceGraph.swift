package import RealTime

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
