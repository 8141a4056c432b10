package import CRealTime

/// Something that a graph runs between its sources and its outputs: a plugin, a mixer, a callback.
package protocol GraphNode: AnyObject, Sendable {
  /// What messages and listings call it.
  var name: String { get }
  /// Planes of samples that it reads and that it writes.
  var inputs: Int { get }
  var outputs: Int { get }
  /// Event sequences (LV2 atoms) that it reads and that it writes.
  var eventInputs: Int { get }
  var eventOutputs: Int { get }
  /// Its blocks have controllers, too, if they are wired to it: see `Wiring.connectControllers`.
  var takesControllers: Bool { get }
  /// Bytes that each of its event sequences must have room for.
  var eventBytes: Int { get }
  /// Frames by which what it writes comes later than what it reads. May change while it runs: the
  /// graph asks after each cycle in which the node set its block's `attention`. Any thread.
  var latencyFrames: Int { get }
  /// It may tell of another latency once it has run.
  var reportsLatency: Bool { get }
  /// What listings tell of it. Any thread.
  var details: NodeDetails { get }
  /// It works on one block while the next comes: a cycle in several blocks leaves it no time.
  var needsWholeCycles: Bool { get }
  /// What the cycle calls. It allocates nothing, takes no lock and makes no system call.
  var processor: cue_node { get }
  /// Makes ready for blocks of up to `maximumFrames` frames at `sampleRate` Hz. Called before the
  /// first cycle that runs the node, and again, while none runs it, when one of them changes.
  func prepare(sampleRate: Double, maximumFrames: Int) throws(HostError)
  /// Has the node pass its input on by itself, without a click, or process it again. Any thread.
  ///
  /// - Returns: False if it cannot: the graph then crossfades around it.
  func setEnabled(_ on: Bool) -> Bool
  /// Has `body` called, on any thread, once the node can process nothing any more, or at once if that is
  /// so. The node passes its input on until the graph does.
  func whenGone(_ body: @escaping @Sendable () -> Void)
}

extension GraphNode {
  package var eventInputs: Int { 0 }
  package var eventOutputs: Int { 0 }
  package var takesControllers: Bool { false }
  package var eventBytes: Int { 0 }
  package var latencyFrames: Int { 0 }
  package var reportsLatency: Bool { false }
  package var needsWholeCycles: Bool { false }
  package var details: NodeDetails { NodeDetails() }
  package func setEnabled(_ on: Bool) -> Bool { false }
  package func whenGone(_ body: @escaping @Sendable () -> Void) {}
}

/// What a listing tells of a node, beyond what the graph knows itself.
package struct NodeDetails: Sendable {
  /// The URI of the plugin that it is.
  package var uri: String?
  /// What its ports are called, in order; those that have no names here are called by their numbers.
  package var inputs, outputs, eventInputs, eventOutputs: [String]
  /// The present values of its controls, and then those that it tells.
  package var controls: [GraphReport.Control]

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
