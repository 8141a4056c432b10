import CLilv
import CPluginRunner
import CRealTime
import Glibc
import Graph
import Server
import System

/// Owns the memory in which one plugin runs. A cycle accesses nothing else.
///
/// Touched and, where the system permits, locked on creation, so that no cycle causes a page fault.
@safe
final class PluginMemory: @unchecked Sendable {
  /// Size in bytes of each ring (messages, replies, requests, responses), and of each event buffer
  /// whose port does not ask for more.
  static let ringBytes = 1 << 16

  /// The plugin node that a cycle runs. Its address never changes.
  let plugin: UnsafeMutablePointer<cue_plugin>
  /// The ports of the arrays below, in order.
  let ports: PluginPorts
  var inputs: [PluginPort] { ports.inputs }
  var outputs: [PluginPort] { ports.outputs }
  var eventInputs: [PluginPort] { ports.eventInputs }
  var eventOutputs: [PluginPort] { ports.eventOutputs }
  var controls: [PluginPort] { ports.controls }
  var readouts: [PluginPort] { ports.readouts }
  /// Minimum size in bytes of every event buffer.
  var eventBytes: Int { ports.eventBytes }
  /// The value to which controllers set each parameter.
  let movedParameters: UnsafeMutablePointer<cue_moved>
  private var pages: [ArenaPage] = []

  /// Allocates memory for a plugin's ports, except those in `leftOut`, with control defaults at a
  /// sample rate.
  init(_ description: PluginDescription, sampleRate: Double, leftOut: Set<String>) {
    ports = PluginPorts(description, leftOut: leftOut)
    unsafe plugin = Arena.small.allocate(1, of: cue_plugin.self, keptBy: &pages)
    unsafe plugin.initialize(to: cue_plugin())
    unsafe movedParameters = Arena.small.allocate(
      description.parameters.count, of: cue_moved.self, keptBy: &pages)

    unsafe plugin.pointee.inputs = unsafe UnsafePointer(indices(inputs))
    unsafe plugin.pointee.connected_inputs = unsafe planes(inputs.count)
    unsafe plugin.pointee.input_count = UInt32(inputs.count)
    unsafe plugin.pointee.outputs = unsafe UnsafePointer(indices(outputs))
    unsafe plugin.pointee.connected_outputs = unsafe planes(outputs.count)
    unsafe plugin.pointee.output_count = UInt32(outputs.count)
    unsafe plugin.pointee.event_inputs = unsafe events(eventInputs)
    unsafe plugin.pointee.event_input_count = UInt32(eventInputs.count)
    unsafe plugin.pointee.event_outputs = unsafe events(eventOutputs)
    unsafe plugin.pointee.event_output_count = UInt32(eventOutputs.count)

    unsafe plugin.pointee.controls = unsafe allocate(controls.count, of: cue_plugin_control.self)
    unsafe plugin.pointee.has_triggers = controls.contains(where: \.isTrigger)
    unsafe plugin.pointee.control_count = UInt32(controls.count)
    for (i, port) in controls.enumerated() {
      unsafe plugin.pointee.controls[i].usual = port.usualValue(sampleRate: sampleRate)
      unsafe plugin.pointee.controls[i].value = unsafe plugin.pointee.controls[i].usual
      unsafe plugin.pointee.controls[i].is_trigger = port.isTrigger
    }
    unsafe plugin.pointee.readouts = unsafe allocate(readouts.count, of: cue_plugin_readout.self)
    unsafe plugin.pointee.readout_count = UInt32(readouts.count)
    unsafe plugin.pointee.latency_readout = Int32(ports.latencyReadout ?? -1)
    unsafe plugin.pointee.freewheeling_control = Int32(
      controls.firstIndex { $0.designation == LV2.core("freeWheeling") } ?? -1)

    let changes = max(1024, 4 * controls.count)
    unsafe plugin.pointee.changes = unsafe ring(changes * MemoryLayout<cue_control_change>.stride)
    unsafe plugin.pointee.pending = unsafe allocate(changes, of: cue_control_change.self)
    unsafe plugin.pointee.pending_capacity = UInt32(changes)
    unsafe plugin.pointee.messages = unsafe ring(Self.ringBytes)
    unsafe plugin.pointee.replies = unsafe ring(Self.ringBytes)
    // The content of the ring plus the padding of each message.
    unsafe plugin.pointee.staged = unsafe UnsafeMutableRawPointer(
      allocate(2 * Self.ringBytes, of: UInt8.self))
    unsafe plugin.pointee.staged_bytes = UInt32(2 * Self.ringBytes)
    unsafe plugin.pointee.requests = unsafe ring(Self.ringBytes)
    unsafe plugin.pointee.responses = unsafe ring(Self.ringBytes)
    unsafe plugin.pointee.restored = unsafe ring(Self.ringBytes)
    unsafe plugin.pointee.response = unsafe UnsafeMutableRawPointer(
      allocate(Self.ringBytes, of: UInt8.self))
    unsafe plugin.pointee.log = unsafe ring(Self.ringBytes)

    let urids = URIDs.shared
    unsafe plugin.pointee.urid_sequence = urids[LV2.atom("Sequence")]
    unsafe plugin.pointee.urid_chunk = urids[LV2.atom("Chunk")]
    unsafe plugin.pointee.urid_object = urids[LV2.atom("Object")]
    unsafe plugin.pointee.urid_patch_set = urids[LV2.patch("Set")]
    unsafe plugin.pointee.urid_patch_put = urids[LV2.patch("Put")]
    unsafe plugin.pointee.urid_midi = urids[LV2.midi("MidiEvent")]
    unsafe plugin.pointee.urid_float = urids[LV2.atom("Float")]
    unsafe plugin.pointee.urid_double = urids[LV2.atom("Double")]
    unsafe plugin.pointee.urid_move = Graph.controlMove
    unsafe plugin.pointee.position_port = Int32(
      eventInputs.firstIndex { $0.eventTypes.contains(LV2.time("Position")) } ?? -1)
    unsafe cue_position_initialize(&plugin.pointee.position, urids.map.pointee.handle)
  }

  /// Connects a plugin's control ports, whose addresses never change, and marks all other ports as
  /// unconnected. Precondition: no cycle runs it.
  func connect() {
    for (i, port) in controls.enumerated() {
      unsafe plugin.pointee.connect_port(
        plugin.pointee.handle, UInt32(port.index), control(i).pointer(to: \.value)!)
    }
    for (i, port) in readouts.enumerated() {
      let readout = unsafe plugin.pointee.readouts + i
      unsafe plugin.pointee.connect_port(
        plugin.pointee.handle, UInt32(port.index), readout.pointer(to: \.value)!)
    }
    for i in inputs.indices { unsafe plugin.pointee.connected_inputs[i] = nil }
    for i in outputs.indices { unsafe plugin.pointee.connected_outputs[i] = nil }
    for i in eventInputs.indices { unsafe plugin.pointee.event_inputs[i].connected = nil }
    for i in eventOutputs.indices { unsafe plugin.pointee.event_outputs[i].connected = nil }
  }

  func control(_ index: Int) -> UnsafeMutablePointer<cue_plugin_control> {
    unsafe plugin.pointee.controls + index
  }

  private func allocate<Element: BitwiseCopyable>(_ count: Int, of type: Element.Type)
    -> UnsafeMutablePointer<Element>
  {
    let arena: Arena = count * MemoryLayout<Element>.stride > 4096 ? .large : .small
    return unsafe arena.allocate(count, of: type, keptBy: &pages)
  }

  private func indices(_ ports: [PluginPort]) -> UnsafeMutablePointer<UInt32> {
    let indices = unsafe allocate(ports.count, of: UInt32.self)
    for (i, port) in ports.enumerated() { unsafe indices[i] = UInt32(port.index) }
    return unsafe indices
  }

  private func planes(_ count: Int) -> UnsafeMutablePointer<UnsafeRawPointer?> {
    unsafe allocate(count, of: UnsafeRawPointer?.self)
  }

  private func events(_ ports: [PluginPort]) -> UnsafeMutablePointer<cue_event_port> {
    let events = unsafe allocate(ports.count, of: cue_event_port.self)
    for (i, port) in ports.enumerated() {
      unsafe events[i].index = UInt32(port.index)
      unsafe events[i].buffer = unsafe UnsafeMutableRawPointer(allocate(eventBytes, of: UInt8.self))
      unsafe events[i].buffer_bytes = UInt32(eventBytes)
    }
    return unsafe events
  }

  private func ring(_ bytes: Int) -> UnsafeMutablePointer<cue_ring> {
    var size = 1
    while size < bytes { size *= 2 }
    let ring = unsafe allocate(1, of: cue_ring.self)
    unsafe ring.initialize(
      to: cue_ring(
        bytes: Arena.large.allocate(size, of: CChar.self, keptBy: &pages), size: UInt32(size),
        written: 0, read: 0))
    return unsafe ring
  }
}

extension PluginPort {
  /// Returns the control's value before it is set.
  func usualValue(sampleRate: Double) -> Float {
    let range = range(sampleRate: sampleRate)
    if let value = range.default { return value }
    return min(
      max(0, range.minimum ?? -.infinity),
      max(range.maximum ?? .infinity, range.minimum ?? -.infinity))
  }
}
