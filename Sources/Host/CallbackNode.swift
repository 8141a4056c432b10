package import CRealTime

/// A node that calls a C function: a render callback, which makes sound, or an effect.
@safe
package final class CallbackNode: GraphNode, @unchecked Sendable {
  package let name: String
  package let inputs, outputs: Int
  package let latencyFrames: Int
  package let processor: cue_node
  /// What the function works on.
  private let owner: AnyObject?

  /// - Parameters:
  ///   - inputs: Channels that the function is given; none for a source.
  ///   - outputs: Channels that it makes.
  ///   - latencyFrames: Frames by which what it makes comes later than what it is given.
  ///   - processor: The function, which is called for each block of each cycle, and its context. It
  ///     allocates nothing, takes no lock and makes no system call.
  ///   - owner: What the context belongs to: it is kept for as long as a cycle may call the function.
  package init(
    named name: String, inputs: Int = 0, outputs: Int, latencyFrames: Int = 0,
    _ processor: cue_node, keeping owner: AnyObject? = nil
  ) {
    self.name = name
    self.inputs = inputs
    self.outputs = outputs
    self.latencyFrames = latencyFrames
    unsafe self.processor = unsafe processor
    self.owner = owner
  }

  package func prepare(sampleRate: Double, maximumFrames: Int) {}
}
