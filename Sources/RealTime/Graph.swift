package import CRealTime
package import Synchronization

/// Copies `count` samples between places that do not overlap.
@_noLocks func copy(
  _ source: UnsafeMutablePointer<Float>, to destination: UnsafeMutablePointer<Float>, _ count: Int
) {
  unsafe UnsafeMutableRawPointer(destination).copyMemory(
    from: source, byteCount: count &* MemoryLayout<Float>.size)
}

/// Holds samples back by some frames.
@safe
package struct DelayLine: BitwiseCopyable {
  private let samples: UnsafeMutablePointer<Float>
  private let frames: Int
  private var next = 0

  /// A delay of `frames` frames, at least one, in memory that it does not own: as many samples.
  package init(_ samples: UnsafeMutablePointer<Float>, frames: Int) {
    unsafe self.samples = samples
    self.frames = frames
  }

  /// Takes `count` samples from `source` and writes those of some frames before.
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

/// The part of a graph that one of its nodes is in a cycle.
///
/// Running orders come and go; a cell is the same in all of them. It owns no memory.
@safe
package struct GraphCell: ~Copyable {
  /// What a cycle does with the cell.
  package enum Kind: UInt8, BitwiseCopyable, Sendable {
    /// Its outputs are read from ports.
    case source
    /// Its node makes the outputs of the inputs.
    case node
    /// Each output is the input of the same number.
    case mixer
    /// Its inputs are written to ports.
    case sink
  }
  let kind: Kind
  let node: cue_node?
  let inputs: Int
  let outputs: Int
  let eventInputs: Int
  let eventOutputs: Int
  /// Those of a source's outputs or of a sink's inputs; MIDI ports follow.
  let ports: UnsafeMutablePointer<cue_port>?
  /// Whoever fills a source's memory does so before each cycle, or there is silence.
  let clearsPorts: Bool
  /// A plane for each input and then for each output. A source's outputs and a sink's inputs have one
  /// too, for when there is no port. The planes of nodes' outputs are the order's to lend.
  private let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  /// Where each input, and then each output of a source or a mixer, is in this block.
  private let places: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  /// A sequence for each event input and then for each event output.
  private let sequences: UnsafeMutablePointer<UnsafeMutableRawPointer>
  let eventBytes: UInt32

  /// Samples that were no numbers, and that silence was put in the place of.
  package let badSamples = Atomic<UInt64>(0)
  /// Events that there was no room for.
  package let lostEvents = Atomic<UInt64>(0)
  /// A cycle that was given up may still run the node: no other does.
  package let isAbandoned = Atomic<Bool>(false)

  /// A cell in memory that it does not own: see the properties.
  package init(
    kind: Kind, node: cue_node?, inputs: Int, outputs: Int, eventInputs: Int, eventOutputs: Int,
    ports: UnsafeMutablePointer<cue_port>?, clearsPorts: Bool,
    planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    places: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
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
    unsafe self.places = places
    unsafe self.sequences = sequences
    self.eventBytes = eventBytes
  }

  // MARK: The cycle

  /// Has the cell be at hand when its turn comes.
  @_noLocks borrowing func prefetch() {
    unsafe withUnsafePointer(to: self) {
      unsafe cue_rt_prefetch($0, MemoryLayout<GraphCell>.size)
    }
  }
  /// Has what the node begins with be at hand when its turn comes.
  @_noLocks borrowing func prefetchNode() {
    if let node = unsafe node {
      unsafe cue_plugin_prefetch(node.context)
    }
  }

  /// Says where the ports are, or go on to be, in the block that begins at frame `first` of a cycle;
  /// all blocks but a cycle's last have `step` frames.
  @_noLocks borrowing func findPorts(_ range: Int, at first: Int, step: Int, cycle frames: Int) {
    guard let ports = unsafe ports else { return }
    for i in 0..<range {
      if first == 0 {
        unsafe places[i] = cue_rt_port_buffer(ports[i], UInt32(frames)) ?? planes[i]
      } else if unsafe places[i] != planes[i] {
        unsafe places[i] += step
      }
    }
  }

  /// The memory of MIDI port `i`, if there is one.
  @_noLocks borrowing func midiBuffer(_ i: Int, _ frames: Int) -> UnsafeMutableRawPointer? {
    guard let ports = unsafe ports else { return nil }
    let port = unsafe ports[inputs &+ outputs &+ i]
    guard let buffer = unsafe cue_rt_port_buffer(port, UInt32(frames)) else { return nil }
    return UnsafeMutableRawPointer(buffer)
  }

  /// Leaves silence in the ports of a sink.
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

  /// Leaves silence in the memory of a source, for those that nobody fills.
  @_noLocks borrowing func clearPorts(_ frames: Int) {
    guard clearsPorts, let ports = unsafe ports else { return }
    for i in 0..<outputs {
      if let buffer = unsafe ports[i].memory {
        unsafe buffer.initialize(repeating: 0, count: frames)
      }
    }
  }

  /// Where input `i` is.
  @_noLocks borrowing func input(_ i: Int) -> UnsafeMutablePointer<Float> { unsafe places[i] }
  /// The plane in which edges are added for input `i`.
  @_noLocks borrowing func sum(_ i: Int) -> UnsafeMutablePointer<Float> {
    if case .sink = kind { return unsafe places[i] }
    return unsafe planes[i]
  }
  /// Input `i` is read from there.
  @_noLocks borrowing func setInput(_ i: Int, _ place: UnsafeMutablePointer<Float>) {
    unsafe places[i] = place
    // A mixer's outputs are where its inputs are.
    if case .mixer = kind { unsafe places[inputs &+ i] = place }
  }
  @_noLocks borrowing func eventInput(_ i: Int) -> UnsafeMutableRawPointer { unsafe sequences[i] }
  @_noLocks borrowing func eventOutput(_ i: Int) -> UnsafeMutableRawPointer {
    unsafe sequences[eventInputs &+ i]
  }

  /// Runs the node on a block, from where its inputs are to `outputs`, and puts silence in the place of
  /// samples that are no numbers.
  @_noLocks borrowing func run(
    _ block: cue_block, to outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    _ types: cue_event_types
  ) {
    guard let node = unsafe node, !isAbandoned.load(ordering: .acquiring) else { return }
    for i in 0..<eventOutputs {
      unsafe cue_rt_offer_events(eventOutput(i), eventBytes, types.chunk)
    }
    var block = unsafe block
    unsafe block.inputs = UnsafeRawPointer(places).assumingMemoryBound(
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

/// A way for samples from one plane to an input.
@safe
package struct GraphEdge: BitwiseCopyable {
  let source: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  let delay: UnsafeMutablePointer<DelayLine>?
  /// The gain before the order's fade, and after it.
  let from: Float
  let to: Float
  /// Frames from the order's beginning to its own fade.
  let start: Int

  /// - Parameter source: Says, in each block, where the samples are.
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

  /// The input is just what the source is.
  var isPlain: Bool { @_noLocks get { unsafe delay == nil && from == 1 && to == 1 } }
}

/// The edges of one input: `count` of the order's, from `first` on.
package struct GraphInput: BitwiseCopyable {
  let first: Int
  let count: Int
  /// Events came to it in the order before that come no more: notes that sound are to end.
  let endsNotes: Bool
  package init(first: Int, count: Int, endsNotes: Bool = false) {
    self.first = first
    self.count = count
    self.endsNotes = endsNotes
  }
}

/// The turn of one cell.
@safe
package struct GraphStep: BitwiseCopyable {
  let cell: UnsafeMutablePointer<GraphCell>
  /// One for each input of the cell, for each event input, and for its controllers if there are any.
  let inputs: UnsafeMutablePointer<GraphInput>
  /// Where a node writes its outputs.
  let outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  /// A sequence for the controllers that the host moves the node's controls by; nil if none come.
  let controllers: UnsafeMutableRawPointer?
  package init(
    _ cell: UnsafeMutablePointer<GraphCell>, inputs: UnsafeMutablePointer<GraphInput>,
    outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    controllers: UnsafeMutableRawPointer? = nil
  ) {
    unsafe self.cell = cell
    unsafe self.inputs = inputs
    unsafe self.outputs = outputs
    unsafe self.controllers = controllers
  }
}

/// The cells of a graph in the order in which they run, and the edges between them.
///
/// It is never changed once a cycle can see it, but for what only cycles look at. A change of the
/// graph is an order in which edges fade from one gain to another, all that are heard in step, and after
/// it one in which they stand.
@safe
package struct GraphOrder: BitwiseCopyable {
  let number: UInt64
  let steps: UnsafeMutablePointer<GraphStep>
  let stepCount: Int
  let edges: UnsafeMutablePointer<GraphEdge>
  let eventEdges: UnsafeMutablePointer<GraphEventEdge>
  /// Frames before the fade begins, in which delays and new nodes fill, and of the fade.
  package let fillFrames: Int
  package let fadeFrames: Int
  package let fades: Bool
  /// Frames of a block at most, and memory for as many.
  let blockFrames: Int
  let scratch: UnsafeMutablePointer<Float>
  /// Frames that have passed since cycles saw it, until the fade is over.
  var passed = 0
  var hasTold = false
  /// A block of it has been run.
  var hasBegun = false

  /// An order in memory that it does not own.
  package init(
    number: UInt64, steps: UnsafeMutablePointer<GraphStep>, stepCount: Int,
    edges: UnsafeMutablePointer<GraphEdge>, eventEdges: UnsafeMutablePointer<GraphEventEdge>,
    fillFrames: Int, fadeFrames: Int, fades: Bool, blockFrames: Int,
    scratch: UnsafeMutablePointer<Float>
  ) {
    self.number = number
    unsafe self.steps = steps
    self.stepCount = stepCount
    unsafe self.edges = edges
    unsafe self.eventEdges = eventEdges
    self.fillFrames = fillFrames
    self.fadeFrames = fadeFrames
    self.fades = fades
    self.blockFrames = blockFrames
    unsafe self.scratch = scratch
  }

  /// Begins where another order of the same edges is, which no cycle sees any more.
  package mutating func goOn(from other: GraphOrder) {
    passed = other.passed
    hasBegun = other.hasBegun
  }

  /// An edge's gain `frame` frames into the block.
  @_noLocks func gain(_ edge: GraphEdge, at frame: Int) -> Float {
    let at = passed &+ frame &- edge.start
    if at >= fadeFrames { return edge.to }
    if at <= 0 { return edge.from }
    return edge.from + (edge.to - edge.from) * (Float(at) / Float(fadeFrames))
  }

  var isFading: Bool { @_noLocks get { fades && passed < fillFrames &+ fadeFrames } }
}
