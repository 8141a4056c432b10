package import CRealTime

/// A node that calls a C function: a render callback (a source) or an effect.
@safe
package final class CallbackNode: GraphNode, @unchecked Sendable {
  package let name: String
  package let inputs, outputs, eventInputs, eventOutputs: Int
  package let latencyFrames: Int
  package let runsUnheard: Bool
  package let processor: cue_node
  /// The object that owns the function's context.
  private let owner: AnyObject?
  private let interior: (@Sendable () -> GraphInterior?)?

  /// - Parameters:
  ///   - inputs: Channels that the function reads; none for a source.
  ///   - outputs: Channels that it writes.
  ///   - eventInputs: Event sequences that it reads.
  ///   - eventOutputs: Event sequences that it writes.
  ///   - latencyFrames: Latency from input to output, in frames.
  ///   - runsUnheard: True to run the node even if none of its outputs reaches the graph's.
  ///   - processor: The function, called for each block of each cycle, and its context. It must not
  ///     allocate, lock or make a system call.
  ///   - owner: The owner of the context, retained for as long as a cycle may call the function.
  ///   - interior: Returns what reports show in the node's place; nil for the node. Any thread.
  package init(
    named name: String, inputs: Int = 0, outputs: Int, eventInputs: Int = 0, eventOutputs: Int = 0,
    latencyFrames: Int = 0, runsUnheard: Bool = false, _ processor: cue_node,
    keeping owner: AnyObject? = nil,
    showing interior: (@Sendable () -> GraphInterior?)? = nil
  ) {
    self.name = name
    self.inputs = inputs
    self.outputs = outputs
    self.eventInputs = eventInputs
    self.eventOutputs = eventOutputs
    self.latencyFrames = latencyFrames
    self.runsUnheard = runsUnheard
    unsafe self.processor = unsafe processor
    self.owner = owner
    self.interior = interior
  }

  package var details: NodeDetails {
    var details = NodeDetails()
    details.interior = interior?()
    return details
  }

  package func prepare(sampleRate: Double, maximumFrames: Int) {}
}
