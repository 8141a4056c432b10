package import CRealTime

/// A unit that a graph runs between its sources and its outputs: a plugin, a mixer or a callback.
package protocol GraphNode: AnyObject, Sendable {
  /// The name in messages and listings.
  var name: String { get }
  /// The numbers of sample planes that the node reads and writes.
  var inputs: Int { get }
  var outputs: Int { get }
  /// The numbers of event sequences (LV2 atoms) that the node reads and writes.
  var eventInputs: Int { get }
  var eventOutputs: Int { get }
  /// Whether the node's blocks also carry controllers wired to it: see `Wiring.connectControllers`.
  var takesControllers: Bool { get }
  /// Minimum size in bytes of each of its event sequences.
  var eventBytes: Int { get }
  /// Latency from input to output, in frames. It may change while the node runs: the graph asks
  /// again after each cycle in which the node set its block's `attention`. Any thread.
  var latencyFrames: Int { get }
  /// Whether the node may report another latency once it has run.
  var reportsLatency: Bool { get }
  /// The details for listings. Any thread.
  var details: NodeDetails { get }
  /// Whether the node processes one block while the next one arrives. Splitting a cycle into
  /// several blocks would leave it no time.
  var needsWholeCycles: Bool { get }
  /// Whether the node runs even if none of its outputs reaches the graph's.
  var runsUnheard: Bool { get }
  /// The function that the cycle calls. It must not allocate, lock or make a system call.
  var processor: cue_node { get }
  /// Prepares the node for blocks of up to `maximumFrames` frames at `sampleRate` Hz. Called before
  /// the first cycle that runs the node, and again when one of them changes, while no cycle runs
  /// it.
  func prepare(sampleRate: Double, maximumFrames: Int) throws(HostError)
  /// Turns the node's own bypass off or on, without a click. Any thread.
  ///
  /// - Returns: `false` if the node has no bypass; the graph then crossfades around it.
  func setEnabled(_ on: Bool) -> Bool
  /// Calls `body`, on any thread, once the node can no longer process, or at once if that is
  /// already so. Until the graph bypasses it, the node passes its input on.
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
  package var runsUnheard: Bool { false }
  package var details: NodeDetails { NodeDetails() }
  package func setEnabled(_ on: Bool) -> Bool { false }
  package func whenGone(_ body: @escaping @Sendable () -> Void) {}
}
