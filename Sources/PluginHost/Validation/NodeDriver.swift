import CRealTime
import Glibc
import Graph

/// A driver that runs a node by hand, outside any graph and cycle, in order to test it. One thread.
@safe
final class NodeDriver {
  private let node: any GraphNode
  private let inputs, outputs: [UnsafeMutablePointer<Float>]
  private let events: [UnsafeMutableRawPointer]
  private let planes: UnsafeMutablePointer<UnsafePointer<Float>>
  private let written: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let read: UnsafeMutablePointer<UnsafeRawPointer>
  private let given: UnsafeMutablePointer<UnsafeMutableRawPointer>
  private let eventBytes: Int
  private var random: UInt64 = 1
  /// Device frame of the first frame of the next block.
  private(set) var frame: Int64 = 0
  var isFreewheeling = false
  /// Whether all samples that the node wrote so far were finite.
  private(set) var isFinite = true

  init(_ node: any GraphNode, maximumFrames: Int, eventBytes: Int) {
    self.node = node
    self.eventBytes = eventBytes
    func plane(_: Int) -> UnsafeMutablePointer<Float> {
      let plane = UnsafeMutablePointer<Float>.allocate(capacity: maximumFrames)
      unsafe plane.initialize(repeating: 0, count: maximumFrames)
      return unsafe plane
    }
    unsafe inputs = unsafe (0..<node.inputs).map(plane)
    unsafe outputs = unsafe (0..<node.outputs).map(plane)
    unsafe events = unsafe (0..<node.eventInputs + node.eventOutputs).map { _ in
      let sequence = UnsafeMutableRawPointer.allocate(byteCount: eventBytes, alignment: 8)
      unsafe memset(sequence, 0, eventBytes)
      return unsafe sequence
    }
    unsafe planes = unsafe .allocate(capacity: inputs.count + 1)
    unsafe written = unsafe .allocate(capacity: outputs.count + 1)
    unsafe read = .allocate(capacity: node.eventInputs + 1)
    unsafe given = .allocate(capacity: node.eventOutputs + 1)
    for i in unsafe inputs.indices { unsafe planes[i] = unsafe UnsafePointer(inputs[i]) }
    for i in unsafe outputs.indices { unsafe written[i] = unsafe outputs[i] }
    for i in 0..<node.eventInputs {
      // An empty sequence, into which the host's own messages go.
      unsafe events[i].storeBytes(of: 8, as: UInt32.self)
      unsafe events[i].storeBytes(of: urid(LV2.atom("Sequence")), toByteOffset: 4, as: UInt32.self)
      unsafe read[i] = unsafe UnsafeRawPointer(events[i])
    }
    for i in 0..<node.eventOutputs { unsafe given[i] = unsafe events[node.eventInputs + i] }
  }

  deinit {
    unsafe (inputs + outputs).forEach { unsafe $0.deallocate() }
    unsafe events.forEach { unsafe $0.deallocate() }
    unsafe planes.deallocate()
    unsafe written.deallocate()
    unsafe read.deallocate()
    unsafe given.deallocate()
  }

  /// Runs one block of noise.
  func run(frames: Int) {
    for channel in unsafe inputs.indices {
      for i in 0..<frames {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        unsafe inputs[channel][i] = Float(Int32(truncatingIfNeeded: random >> 32)) / 4_294_967_296
      }
    }
    for i in 0..<node.eventOutputs {
      unsafe given[i].storeBytes(of: UInt32(eventBytes - 8), as: UInt32.self)
    }
    var block = unsafe cue_block()
    unsafe block.frames = UInt32(frames)
    unsafe block.is_freewheeling = isFreewheeling
    unsafe block.frame = frame
    unsafe block.inputs = unsafe UnsafePointer(planes)
    unsafe block.outputs = unsafe UnsafePointer(written)
    unsafe block.event_inputs = unsafe UnsafePointer(read)
    unsafe block.event_outputs = unsafe UnsafePointer(given)
    unsafe cue_rt_run_node(node.processor, &block)
    for channel in unsafe outputs.indices {
      for i in 0..<frames where unsafe !outputs[channel][i].isFinite { isFinite = false }
    }
    frame += Int64(frames)
  }
}
