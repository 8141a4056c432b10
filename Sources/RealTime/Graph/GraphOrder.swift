/// Running order of a graph: its slots in the order in which they run, and the edges between them.
///
/// Never changed once a cycle can read it, except for fields that only cycles use. A change of the
/// graph takes two orders. In the first one, edges fade from one gain to another, all audible ones
/// in step. In the second one, gains are constant.
@safe
package struct GraphOrder: BitwiseCopyable {
  let number: UInt64
  let steps: UnsafeMutablePointer<GraphStep>
  let stepCount: Int
  let edges: UnsafeMutablePointer<GraphEdge>
  let eventEdges: UnsafeMutablePointer<GraphEventEdge>
  /// Frames before the fade, in which delay lines and new nodes fill, and frames of the fade.
  package let fillFrames: Int
  package let fadeFrames: Int
  package let fades: Bool
  /// Set if one of the slots clears its ports after a cycle.
  let clearsPorts: Bool
  /// Frames of the longest block, for which `scratch` has memory.
  let blockFrames: Int
  let scratch: UnsafeMutablePointer<Float>
  /// The steps that several threads may share; nil if the process thread runs all. Those before them are
  /// sources, and those behind them sinks.
  let groups: UnsafeMutablePointer<GraphGroups>?
  let firstGrouped: Int
  let endOfGroups: Int
  /// Frames since cycles began to run the order, until the fade is over.
  var passed = 0
  var hasTold = false
  /// Set once a block of the order has been run.
  var hasBegun = false
  /// Device frame of the first cycle that ran the order; `Int64.min` before it.
  var beganAt = Int64.min

  /// Creates an order in memory that the caller owns. The steps and their slots are initialized.
  package init(
    number: UInt64, steps: UnsafeMutablePointer<GraphStep>, stepCount: Int,
    edges: UnsafeMutablePointer<GraphEdge>, eventEdges: UnsafeMutablePointer<GraphEventEdge>,
    fillFrames: Int, fadeFrames: Int, fades: Bool, blockFrames: Int,
    scratch: UnsafeMutablePointer<Float>, groups: UnsafeMutablePointer<GraphGroups>? = nil,
    groupedSteps: Range<Int> = 0..<0
  ) {
    self.number = number
    unsafe self.steps = steps
    self.stepCount = stepCount
    unsafe self.edges = edges
    unsafe self.eventEdges = eventEdges
    self.fillFrames = fillFrames
    self.fadeFrames = fadeFrames
    self.fades = fades
    var clearsPorts = false
    for i in 0..<stepCount where unsafe steps[i].slot.pointee.clearsPorts { clearsPorts = true }
    self.clearsPorts = clearsPorts
    self.blockFrames = blockFrames
    unsafe self.scratch = scratch
    unsafe self.groups = groups
    firstGrouped = groupedSteps.lowerBound
    endOfGroups = groupedSteps.upperBound
  }

  /// Continues the fade of another order with the same edges, which no cycle reads any more.
  package mutating func goOn(from other: GraphOrder) {
    passed = other.passed
    hasBegun = other.hasBegun
    beganAt = other.beganAt
  }

  /// Returns an edge's gain `frame` frames into the block.
  @_noLocks func gain(_ edge: GraphEdge, at frame: Int) -> Float {
    let at = passed &+ frame &- edge.start
    if at >= fadeFrames { return edge.to }
    if at <= 0 { return edge.from }
    return edge.from + (edge.to - edge.from) * (Float(at) / Float(fadeFrames))
  }

  var isFading: Bool { @_noLocks get { fades && passed < fillFrames &+ fadeFrames } }
}
