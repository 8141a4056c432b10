package import CRealTime
package import Synchronization

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
      if unsafe !cue_rt_are_finite(plane, block.frames) { unsafe clean(plane, block) }
    }
    for i in 0..<eventOutputs {
      if unsafe !cue_rt_is_sequence(eventOutput(i), eventBytes, types.sequence) {
        unsafe cue_rt_clear_events(eventOutput(i), types.sequence)
      }
    }
  }

  /// Replaces the infinite and NaN samples of an output by silence.
  @inline(never)
  @_noLocks private borrowing func clean(_ plane: UnsafeMutablePointer<Float>, _ block: cue_block) {
    var bad: UInt64 = 0
    for frame in unsafe 0..<Int(block.frames) where unsafe !plane[frame].isFinite {
      unsafe plane[frame] = 0
      bad &+= 1
    }
    badSamples.add(bad, ordering: .relaxed)
    if let attention = unsafe block.attention { unsafe attention.pointee = true }
  }
}
