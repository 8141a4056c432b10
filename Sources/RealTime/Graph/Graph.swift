package import CRealTime
package import Synchronization

/// Copies `count` samples between buffers that do not overlap.
@_noLocks func copy(
  _ source: UnsafeMutablePointer<Float>, to destination: UnsafeMutablePointer<Float>, _ count: Int
) {
  unsafe UnsafeMutableRawPointer(destination).copyMemory(
    from: source, byteCount: count &* MemoryLayout<Float>.size)
}

/// Delay line for samples.
@safe
package struct DelayLine: BitwiseCopyable {
  private let samples: UnsafeMutablePointer<Float>
  private let frames: Int
  private var next = 0

  /// Creates a delay of `frames` frames, at least one, in memory that the caller owns: `frames`
  /// samples.
  package init(_ samples: UnsafeMutablePointer<Float>, frames: Int) {
    unsafe self.samples = samples
    self.frames = frames
  }

  /// Takes `count` samples from `source` and writes those of `frames` frames earlier to
  /// `destination`.
  @_noLocks mutating func pass(
    _ source: UnsafeMutablePointer<Float>, to destination: UnsafeMutablePointer<Float>, _ count: Int
  ) {
    var done = 0
    while done < count {
      let part = min(count &- done, frames &- next)
      unsafe copy(samples + next, to: destination + done, part)
      unsafe copy(source + done, to: samples + next, part)
      done &+= part
      next &+= part
      if next == frames { next = 0 }
    }
  }
}

/// A node's part of the cycle: its ports, input and output planes, and event sequences.
///
/// The same slot serves all running orders. The creator owns the memory.
@safe
package struct GraphSlot: ~Copyable {
  /// Role of a slot in the cycle.
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    /// Reads its outputs from ports.
    case source
    /// Its node computes the outputs from the inputs.
    case node
    /// Passes each input on as the output of the same number.
    case mixer
    /// Writes its inputs to ports.
    case sink
  }
  let kind: Kind
  let node: cue_node?
  let inputs: Int
  let outputs: Int
  let eventInputs: Int
  let eventOutputs: Int
  /// Ports of a source's outputs or of a sink's inputs, followed by MIDI ports.
  let ports: UnsafeMutablePointer<cue_port>?
  /// Set if each cycle clears a source's memory after use: unless its writer fills it before the
  /// next cycle, there is silence.
  let clearsPorts: Bool
  /// A plane for each input and then for each output. A source's outputs and a sink's inputs use
  /// theirs when they have no port. The running order supplies the planes of a node's outputs.
  private let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  /// Address in this block of each input, and then of each output of a source or a mixer.
  private let buffers: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  /// An event sequence for each event input and then for each event output.
  private let sequences: UnsafeMutablePointer<UnsafeMutableRawPointer>
  let eventBytes: UInt32

  /// Samples that were infinite or NaN, and were replaced by silence.
  package let badSamples = Atomic<UInt64>(0)
  /// Events that found no room.
  package let lostEvents = Atomic<UInt64>(0)
  /// Set if a cycle that was given up may still run the node, so that no other cycle does.
  package let isAbandoned = Atomic<Bool>(false)

  /// Creates a slot in memory that the caller owns: see the properties.
  package init(
    kind: Kind, node: cue_node?, inputs: Int, outputs: Int, eventInputs: Int, eventOutputs: Int,
    ports: UnsafeMutablePointer<cue_port>?, clearsPorts: Bool,
    planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    buffers: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    sequences: UnsafeMutablePointer<UnsafeMutableRawPointer>, eventBytes: UInt32
  ) {
    self.kind = kind
    unsafe self.node = node
    self.inputs = inputs
    self.outputs = outputs
    self.eventInputs = eventInputs
    self.eventOutputs = eventOutputs
    unsafe self.ports = ports
    self.clearsPorts = clearsPorts
    unsafe self.planes = planes
    unsafe self.buffers = buffers
    unsafe self.sequences = sequences
    self.eventBytes = eventBytes
  }

  // MARK: Process thread

  /// Prefetches the slot, so that it is in cache when it runs.
  @_noLocks borrowing func prefetch() {
    unsafe withUnsafePointer(to: self) {
      unsafe cue_rt_prefetch($0, MemoryLayout<GraphSlot>.size)
    }
  }
  /// Prefetches the node's state, so that it is in cache when the node runs.
  @_noLocks borrowing func prefetchNode() {
    if let node = unsafe node {
      unsafe cue_rt_prefetch(node.context, node.prefetched_bytes)
    }
  }

  /// Finds the port buffers for the block that begins at frame `first` of a cycle. All blocks but a
  /// cycle's last have `step` frames.
  @_noLocks borrowing func findPorts(_ range: Int, at first: Int, step: Int, cycle frames: Int) {
    guard let ports = unsafe ports else { return }
    for i in 0..<range {
      if first == 0 {
        unsafe buffers[i] = cue_rt_port_buffer(ports[i], UInt32(frames)) ?? planes[i]
      } else if unsafe buffers[i] != planes[i] {
        unsafe buffers[i] += step
      }
    }
  }

  /// Returns the buffer of MIDI port `i`; nil if it has none.
  @_noLocks borrowing func midiBuffer(_ i: Int, _ frames: Int) -> UnsafeMutableRawPointer? {
    guard let ports = unsafe ports else { return nil }
    let port = unsafe ports[inputs &+ outputs &+ i]
    guard let buffer = unsafe cue_rt_port_buffer(port, UInt32(frames)) else { return nil }
    return UnsafeMutableRawPointer(buffer)
  }

  /// Writes silence to the ports of a sink.
  @_noLocks borrowing func silencePorts(_ frames: Int) {
    guard case .sink = kind, let ports = unsafe ports else { return }
    for i in 0..<inputs {
      if let buffer = unsafe cue_rt_port_buffer(ports[i], UInt32(frames)) {
        unsafe buffer.initialize(repeating: 0, count: frames)
      }
    }
    for i in 0..<eventInputs {
      if let buffer = unsafe midiBuffer(i, frames) { unsafe cue_rt_clear_midi(buffer) }
    }
  }

  /// Clears a source's memory, so that it is silent unless its writer fills it again.
  @_noLocks borrowing func clearPorts(_ frames: Int) {
    guard clearsPorts, let ports = unsafe ports else { return }
    for i in 0..<outputs {
      if let buffer = unsafe ports[i].memory {
        unsafe buffer.initialize(repeating: 0, count: frames)
      }
    }
  }

  /// Returns the samples of input `i`.
  @_noLocks borrowing func input(_ i: Int) -> UnsafeMutablePointer<Float> { unsafe buffers[i] }
  /// Returns the plane into which the edges of input `i` are summed.
  @_noLocks borrowing func sum(_ i: Int) -> UnsafeMutablePointer<Float> {
    if case .sink = kind { return unsafe buffers[i] }
    return unsafe planes[i]
  }
  /// Sets the samples that input `i` reads.
  @_noLocks borrowing func setInput(_ i: Int, _ buffer: UnsafeMutablePointer<Float>) {
    unsafe buffers[i] = buffer
    // A mixer's outputs are its inputs.
    if case .mixer = kind { unsafe buffers[inputs &+ i] = buffer }
  }
  @_noLocks borrowing func eventInput(_ i: Int) -> UnsafeMutableRawPointer { unsafe sequences[i] }
  @_noLocks borrowing func eventOutput(_ i: Int) -> UnsafeMutableRawPointer {
    unsafe sequences[eventInputs &+ i]
  }

  /// Runs the node on a block, from its inputs to `outputs`, and replaces infinite and NaN samples
  /// by silence. Sets the node's inputs and outputs in `block`, which all nodes of a cycle share.
  @_noLocks borrowing func run(
    _ block: inout cue_block, to outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    _ types: cue_event_types
  ) {
    guard let node = unsafe node, !isAbandoned.load(ordering: .acquiring) else { return }
    for i in 0..<eventOutputs {
      unsafe cue_rt_offer_events(eventOutput(i), eventBytes, types.chunk)
    }
    unsafe block.inputs = UnsafeRawPointer(buffers).assumingMemoryBound(
      to: UnsafePointer<Float>.self)
    unsafe block.outputs = UnsafePointer(outputs)
    unsafe block.event_inputs = UnsafeRawPointer(sequences).assumingMemoryBound(
      to: UnsafeRawPointer.self)
    unsafe block.event_outputs = UnsafePointer(sequences + eventInputs)
    unsafe cue_rt_run_node(node, &block)
    for i in 0..<self.outputs {
      let plane = unsafe outputs[i]
      if unsafe cue_rt_are_finite(plane, block.frames) { continue }
      var bad: UInt64 = 0
      for frame in unsafe 0..<Int(block.frames) where unsafe !plane[frame].isFinite {
        unsafe plane[frame] = 0
        bad &+= 1
      }
      badSamples.add(bad, ordering: .relaxed)
      if let attention = unsafe block.attention { unsafe attention.pointee = true }
    }
    for i in 0..<eventOutputs {
      if unsafe !cue_rt_is_sequence(eventOutput(i), eventBytes, types.sequence) {
        unsafe cue_rt_clear_events(eventOutput(i), types.sequence)
      }
    }
  }
}

/// An audio edge: from one plane to an input, with a delay and a gain.
@safe
package struct GraphEdge: BitwiseCopyable {
  let source: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  let delay: UnsafeMutablePointer<DelayLine>?
  /// Gain before and after the order's fade.
  let from: Float
  let to: Float
  /// Frames from the beginning of the order to this edge's fade.
  let start: Int

  /// - Parameter source: Pointer to the address of the samples, which may change with each block.
  package init(
    source: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    delay: UnsafeMutablePointer<DelayLine>?, from: Float, to: Float, start: Int
  ) {
    unsafe self.source = source
    unsafe self.delay = delay
    self.from = from
    self.to = to
    self.start = start
  }

  /// True if the input reads the source directly: no delay, and a gain of 1.
  var isPlain: Bool { unsafe delay == nil && from == 1 && to == 1 }
}

/// The edges of one input: `count` of the order's edges, from index `first` on.
@safe
package struct GraphInput: BitwiseCopyable {
  let first: Int
  let count: Int
  /// Pointer to the samples that the input reads directly; nil if edges are summed.
  let plainSource: UnsafeMutablePointer<UnsafeMutablePointer<Float>>?
  /// Set if an edge of the order before delivered events here and no longer does: notes that sound
  /// must end.
  let endsNotes: Bool
  package init(first: Int, count: Int, endsNotes: Bool = false) {
    self.first = first
    self.count = count
    unsafe plainSource = nil
    self.endsNotes = endsNotes
  }
  /// Creates an audio input with `count` of the initialized `edges`.
  package init(first: Int, count: Int, of edges: UnsafeMutablePointer<GraphEdge>) {
    self.first = first
    self.count = count
    endsNotes = false
    let isPlain = unsafe count == 1 && edges[first].isPlain
    unsafe plainSource = isPlain ? edges[first].source : nil
  }
}

/// One step of a running order: a slot with its inputs and outputs.
@safe
package struct GraphStep: BitwiseCopyable {
  let slot: UnsafeMutablePointer<GraphSlot>
  /// One for each input of the slot, for each event input, and for its controllers if there are
  /// any.
  let inputs: UnsafeMutablePointer<GraphInput>
  /// Planes that a node writes its outputs to.
  let outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  /// Sequence of the MIDI controllers that move the node's controls; nil if there are none.
  let controllers: UnsafeMutableRawPointer?
  package init(
    _ slot: UnsafeMutablePointer<GraphSlot>, inputs: UnsafeMutablePointer<GraphInput>,
    outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    controllers: UnsafeMutableRawPointer? = nil
  ) {
    unsafe self.slot = slot
    unsafe self.inputs = inputs
    unsafe self.outputs = outputs
    unsafe self.controllers = controllers
  }
}

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
