import CRealTime
import RealTime
import Server
import Synchronization
import System

/// Owns the memory of one node's slot in the running order.
@safe
final class SlotMemory: @unchecked Sendable {
  /// Unique number of the slot.
  let number: Int
  let name: String
  let kind: GraphSlot.Kind
  let node: (any GraphNode)?
  let inputs: Int
  let outputs: Int
  let eventInputs: Int
  let eventOutputs: Int
  /// The JACK ports, audio first; empty for a source with its own memory.
  let jackPorts: [GraphPort]
  let slot: UnsafeMutablePointer<GraphSlot>
  /// The JACK port of each input or output. Changed only while no cycle uses the slot.
  let ports: UnsafeMutablePointer<cue_port>
  private let planePointers: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let buffers: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let sequences: UnsafeMutablePointer<UnsafeMutableRawPointer>
  private var planes: [Plane] = []
  private let eventPlanes: [EventPlane]
  /// The controllers' sequence, created for the first running order that wires controllers to the
  /// node.
  lazy var controllers = EventPlane(types, bytes: eventBytes)
  private let types: cue_event_types
  /// Size of each of its event sequences, in bytes.
  let eventBytes: Int
  private let sourcePlanes: [Plane]
  private let pages: [ArenaPage]

  init(
    number: Int, name: String, kind: GraphSlot.Kind, node: (any GraphNode)? = nil, inputs: Int,
    outputs: Int, eventInputs: Int = 0, eventOutputs: Int = 0, jackPorts: [GraphPort] = [],
    hasMemory: Bool = false, types: cue_event_types, blockFrames: Int
  ) {
    self.number = number
    self.name = name
    self.kind = kind
    self.node = node
    self.inputs = inputs
    self.outputs = outputs
    self.eventInputs = eventInputs
    self.eventOutputs = eventOutputs
    self.jackPorts = jackPorts
    let audio = inputs + outputs
    let events = eventInputs + eventOutputs
    unsafe ports = .allocate(capacity: max(1, audio + events))
    unsafe ports.initialize(repeating: cue_port(), count: audio + events)
    unsafe planePointers = .allocate(capacity: max(1, audio))
    var pages: [ArenaPage] = []
    unsafe slot = Arena.small.allocate(1, of: GraphSlot.self, keptBy: &pages)
    unsafe buffers = Arena.small.allocate(
      audio, of: UnsafeMutablePointer<Float>.self, keptBy: &pages)
    self.pages = pages
    unsafe sequences = .allocate(capacity: max(1, events))
    let eventBytes = max(EventPlane.usualBytes, node?.eventBytes ?? 0)
    self.types = types
    self.eventBytes = eventBytes
    eventPlanes = (0..<events).map { _ in EventPlane(types, bytes: eventBytes) }
    for i in 0..<events { unsafe (sequences + i).initialize(to: eventPlanes[i].sequence) }
    sourcePlanes =
      hasMemory ? (0..<outputs).map { _ in Plane(frames: GraphCycle.longestCycle) } : []
    for (i, plane) in sourcePlanes.enumerated() {
      unsafe ports[i] = cue_port(port: nil, memory: plane.samples, connections: nil)
    }
    unsafe slot.initialize(
      to: GraphSlot(
        kind: kind, node: node?.processor, inputs: inputs, outputs: outputs,
        eventInputs: eventInputs, eventOutputs: eventOutputs, ports: ports, clearsPorts: hasMemory,
        planes: planePointers, buffers: buffers, sequences: sequences,
        eventBytes: UInt32(eventBytes)))
    resize(blockFrames)
  }

  deinit {
    unsafe slot.deinitialize(count: 1)
    unsafe sequences.deallocate()
    unsafe planePointers.deallocate()
    unsafe ports.deallocate()
  }

  /// Keeps the slot and its current planes forever, and stops all cycles from running its node.
  func abandon() {
    unsafe slot.pointee.isAbandoned.store(true, ordering: .releasing)
    keepForGood(self)
    planes.forEach(keepForGood)
  }

  /// Replaces the planes by silent ones for blocks of `blockFrames` frames. Precondition: no cycle
  /// uses the slot.
  func resize(_ blockFrames: Int) {
    planes = (0..<inputs + outputs).map { _ in Plane(frames: blockFrames) }
    for (i, plane) in planes.enumerated() {
      unsafe (planePointers + i).initialize(to: plane.samples)
      unsafe (buffers + i).initialize(to: plane.samples)
    }
  }

  /// Returns the address at which the cycle finds the plane of an input or an output.
  func bufferPointer(ofInput i: Int) -> UnsafeMutablePointer<UnsafeMutablePointer<Float>> {
    unsafe buffers + i
  }
  func bufferPointer(ofOutput i: Int) -> UnsafeMutablePointer<UnsafeMutablePointer<Float>> {
    unsafe buffers + inputs + i
  }
  /// Returns the plane for an output to which the running order lends no other plane.
  func plane(ofOutput i: Int) -> Plane { planes[inputs + i] }
  func sequence(ofInput i: Int) -> UnsafeMutableRawPointer { unsafe eventPlanes[i].sequence }
  func sequence(ofOutput i: Int) -> UnsafeMutableRawPointer {
    unsafe eventPlanes[eventInputs + i].sequence
  }

  /// The JACK ports to register.
  var wantedPorts: [WantedPort] {
    jackPorts.enumerated().map { i, port in
      WantedPort(name: port.name, direction: port.direction, isMIDI: port.isMIDI) { [self] in
        unsafe ports[i] = $0.handle
      }
    }
  }

  /// Whether the node's result leaves the graph, or the node runs without that.
  var isEnd: Bool { kind == .sink || outputs + eventOutputs == 0 || node?.runsUnheard == true }
}
