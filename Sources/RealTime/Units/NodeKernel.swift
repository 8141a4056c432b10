package import CRealTime
import Synchronization

/// A channel of a unit's bus, for a plane of a graph node.
package struct NodePlane: BitwiseCopyable {
  /// Nil for a plane of silence, or one that nobody reads.
  let bus: Int?
  let channel: Int
  package init(bus: Int?, channel: Int) {
    self.bus = bus
    self.channel = channel
  }
  /// True if it is a channel of a bus.
  package var isConnected: Bool { bus != nil }
}

/// How a unit's parameter becomes the value of a node's control.
package enum ControlScale: BitwiseCopyable, Sendable, Equatable {
  case same
  /// A quality factor, for a bandwidth in octaves.
  case quality
  /// A resonance in decibels, for a bandwidth in octaves.
  case resonance
  /// A multiple of the value, plus a number.
  case line(factor: Float, plus: Float = 0)
  /// A level in decibels, as an amplitude; 0 dB is the factor.
  case amplitude(factor: Float)

  @_noLocks package func control(_ value: Float) -> Float {
    switch self {
    case .same: value
    case .quality: Self.octaves(Double(value))
    case .resonance: Self.octaves(cue_rt_power(10, Double(value) / 20))
    case .line(let factor, let plus): value * factor + plus
    case .amplitude(let factor): factor * Float(cue_rt_power(10, Double(value) / 20))
    }
  }

  /// Returns the bandwidth of a resonance with a quality factor.
  @_noLocks private static func octaves(_ quality: Double) -> Float {
    // 2 / ln 2.
    Float(2.885390081777927 * cue_rt_asinh(1 / (2 * max(quality, 1e-6))))
  }
}

/// A control that follows a parameter of the unit.
package struct ControlLink: BitwiseCopyable {
  /// Index of the parameter.
  let parameter: Int
  /// The number of the control.
  let control: UInt32
  let scale: ControlScale
  /// The parameter's value that the nodes have been told; NaN for none.
  var told: Float

  package init(parameter: Int, control: UInt32, scale: ControlScale, told: Float) {
    self.parameter = parameter
    self.control = control
    self.scale = scale
    self.told = told
  }
}

/// Whether a unit is bypassed, whether its renders may take any time, and whose transport it follows. Any
/// thread.
@safe
package struct NodeSwitches: ~Copyable {
  private let isBypassed = Atomic<Bool>(false)
  private let isOffline = Atomic<Bool>(false)
  /// Functions of the app that tell of its transport: a `cue_host_callbacks`.
  private let host: Atomic<UnsafeMutableRawPointer?>
  /// Hears the unit's MIDI: a `MessageTap`.
  private let tap: Atomic<UnsafeMutableRawPointer?>
  package init() {
    unsafe host = Atomic(nil)
    unsafe tap = Atomic(nil)
  }
  package func bypass(_ on: Bool) { isBypassed.store(on, ordering: .relaxed) }
  package func setOffline(_ on: Bool) { isOffline.store(on, ordering: .relaxed) }
  package var bypass: Bool { @_noLocks get { isBypassed.load(ordering: .relaxed) } }
  package var offline: Bool { @_noLocks get { isOffline.load(ordering: .relaxed) } }
  /// Sets the functions that tell of the app's transport; nil for JACK's. Memory that is replaced is freed
  /// once no render is in progress.
  package func setHost(_ callbacks: UnsafeMutablePointer<cue_host_callbacks>?) {
    unsafe host.store(UnsafeMutableRawPointer(callbacks), ordering: .sequentiallyConsistent)
  }
  package func setTap(_ tap: UnsafeMutablePointer<MessageTap>?) {
    unsafe self.tap.store(UnsafeMutableRawPointer(tap), ordering: .sequentiallyConsistent)
  }
  fileprivate var messageTap: MessageTap? {
    @_noLocks get {
      unsafe tap.load(ordering: .sequentiallyConsistent).map {
        unsafe $0.assumingMemoryBound(to: MessageTap.self).pointee
      }
    }
  }
  @_noLocks fileprivate borrowing func transport(sampleRate: Double) -> cue_transport? {
    guard let callbacks = unsafe host.load(ordering: .sequentiallyConsistent) else { return nil }
    return unsafe cue_rt_ask_host(
      callbacks.assumingMemoryBound(to: cue_host_callbacks.self), sampleRate)
  }
}

/// The frame counter and the bypass fade of a `NodeKernel`, kept from one render to the next.
package struct NodeState: ~Copyable {
  /// Number of the next render's first frame.
  private let nextFrame = Atomic<Int>(0)
  /// Share of the nodes in the output: 0 while the unit is bypassed.
  fileprivate var share: Float = 1
  fileprivate var wasBypassed = false
  /// The app's transport.
  fileprivate var course = cue_transport_course()
  package init() {}
  /// Frames rendered so far. Any thread.
  package var frame: Int { @_noLocks get { nextFrame.load(ordering: .relaxed) } }
  @_noLocks fileprivate borrowing func advance(_ frames: Int) {
    nextFrame.store(frame &+ frames, ordering: .relaxed)
  }
}

/// Graph nodes that make up a unit: one, or one for each channel. Owns no memory.
///
/// The unit's parameters are the nodes' controls.
@safe
package struct NodeKernel: ~Copyable {
  private let nodes: UnsafeMutablePointer<cue_node>
  private let nodeCount: Int
  private let setter: cue_control_setter
  /// The control by which the nodes bypass themselves; nil if they cannot.
  private let enabling: UInt32?
  /// The channels of all nodes' planes, in order, and memory for their addresses.
  private let inputs: UnsafeMutablePointer<NodePlane>
  private let inputCount: Int
  private let outputs: UnsafeMutablePointer<NodePlane>
  private let outputCount: Int
  /// Planes of each node.
  private let inputsOfNode: Int
  private let outputsOfNode: Int
  private let inputPlanes: UnsafeMutablePointer<UnsafePointer<Float>>
  private let outputPlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  /// A plane that is read where there is no channel, and one that is written.
  private let silence: UnsafeMutablePointer<Float>
  private let waste: UnsafeMutablePointer<Float>
  /// True if the nodes write no sound, and the unit passes its input on.
  private let passesInput: Bool
  private let slots: UnsafeMutablePointer<UnitParameterSlot>
  private let links: UnsafeMutablePointer<ControlLink>
  private let linkCount: Int
  private let switches: UnsafeMutablePointer<NodeSwitches>
  /// The frame counter and the bypass fade.
  private let state: UnsafeMutablePointer<NodeState>
  /// The MIDI messages for the nodes; nil if they hear none.
  private let messages: NodeMessages?
  /// The event outputs of the first node; nil if it writes no MIDI.
  let events: NodeEvents?

  /// - Parameters:
  ///   - inputs: The channels of the first node's inputs, then those of the next.
  package init(
    nodes: UnsafeMutablePointer<cue_node>, count: Int, setter: cue_control_setter,
    enabling: UInt32?, inputs: UnsafeMutablePointer<NodePlane>, inputCount: Int,
    outputs: UnsafeMutablePointer<NodePlane>, outputCount: Int,
    inputPlanes: UnsafeMutablePointer<UnsafePointer<Float>>,
    outputPlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    silence: UnsafeMutablePointer<Float>, waste: UnsafeMutablePointer<Float>, passesInput: Bool,
    slots: UnsafeMutablePointer<UnitParameterSlot>, links: UnsafeMutablePointer<ControlLink>,
    linkCount: Int, switches: UnsafeMutablePointer<NodeSwitches>,
    state: UnsafeMutablePointer<NodeState>, messages: NodeMessages?, events: NodeEvents?
  ) {
    unsafe self.nodes = nodes
    nodeCount = count
    self.setter = setter
    self.enabling = enabling
    unsafe self.inputs = inputs
    self.inputCount = inputCount
    unsafe self.outputs = outputs
    self.outputCount = outputCount
    inputsOfNode = inputCount / count
    outputsOfNode = outputCount / count
    unsafe self.inputPlanes = inputPlanes
    unsafe self.outputPlanes = outputPlanes
    unsafe self.silence = silence
    unsafe self.waste = waste
    self.passesInput = passesInput
    unsafe self.slots = slots
    unsafe self.links = links
    self.linkCount = linkCount
    unsafe self.switches = switches
    unsafe self.state = state
    self.messages = messages
    self.events = events
  }

  @_noLocks borrowing func run(_ call: UnsafePointer<cue_unit_call>) -> Int32 {
    let setup = unsafe call.pointee.setup.assumingMemoryBound(to: UnitSetup.self)
    let frames = unsafe Int(call.pointee.frames)
    for bus in unsafe 0..<setup.pointee.inputCount {
      if unsafe setup.pointee.isUnconnected(bus) && bus > 0 {
        unsafe setup.pointee.inputs[bus].silence(frames: frames)
        continue
      }
      var isSilent = false
      let status = unsafe setup.pointee.pull(
        bus, frames: frames, at: call.pointee.time, isSilent: &isSilent)
      if status != 0 { return status }
    }
    if unsafe !setup.pointee.cache.pointee.hasPlanes { unsafe findPlanes(setup) }
    unsafe moveControls(setup)
    unsafe runNodes(call, setup.pointee.outputs.pointee.format.sampleRate)
    cleanOutputs(frames)
    unsafe blend(setup, frames)
    unsafe state.pointee.advance(frames)
    return 0
  }

  /// Looks up the planes, in the first render with a setup.
  @_noLocks private borrowing func findPlanes(_ setup: UnsafeMutablePointer<UnitSetup>) {
    unsafe setup.pointee.cache.pointee.hasPlanes = true
    for i in 0..<inputCount {
      let plane = unsafe inputs[i]
      unsafe inputPlanes[i] = unsafe UnsafePointer(silence)
      guard let bus = plane.bus, unsafe bus < setup.pointee.inputCount else { continue }
      let input = unsafe setup.pointee.inputs[bus]
      if plane.channel < input.channels {
        unsafe inputPlanes[i] = unsafe UnsafePointer(input.planes[plane.channel])
      }
    }
    for i in 0..<outputCount {
      let plane = unsafe outputs[i]
      unsafe outputPlanes[i] = unsafe waste
      guard let bus = plane.bus, unsafe bus < setup.pointee.outputCount else { continue }
      let output = unsafe setup.pointee.outputs[bus]
      if plane.channel < output.channels {
        unsafe outputPlanes[i] = unsafe output.planes[plane.channel]
      }
    }
  }

  /// Tells the nodes of parameters that were set, and of scheduled changes.
  @inline(__always)
  @_noLocks private borrowing func moveControls(_ setup: UnsafeMutablePointer<UnitSetup>) {
    for i in 0..<linkCount {
      let value = unsafe slots[links[i].parameter].value
      if unsafe value != links[i].told { follow(i, value) }
    }
    if unsafe setup.pointee.changeCount > 0 { unsafe schedule(setup) }
    let isBypassed = unsafe switches.pointee.bypass
    if let enabling, unsafe isBypassed != state.pointee.wasBypassed {
      move(enabling, to: isBypassed ? 0 : 1, at: now, over: 0)
      unsafe state.pointee.wasBypassed = isBypassed
    }
  }

  private var now: Int64 { @_noLocks get { unsafe Int64(state.pointee.frame) } }

  /// Moves the control of a link to the value that its parameter was set to.
  @inline(never)
  @_noLocks private borrowing func follow(_ i: Int, _ value: Float) {
    let link = unsafe links[i]
    unsafe links[i].told = value
    move(link.control, to: link.scale.control(value), at: now, over: 0)
  }

  @inline(never)
  @_noLocks private borrowing func schedule(_ setup: UnsafeMutablePointer<UnitSetup>) {
    let now = now
    for i in unsafe 0..<setup.pointee.changeCount {
      let change = unsafe setup.pointee.changes[i]
      let index = unsafe change.slot - slots
      for j in 0..<linkCount where unsafe links[j].parameter == index {
        schedule(unsafe links[j], change, now)
        unsafe links[j].told = change.to
      }
    }
  }

  @_noLocks private borrowing func schedule(
    _ link: ControlLink, _ change: ScheduledChange, _ now: Int64
  ) {
    let start = now &+ Int64(max(0, change.start))
    if change.frames == 0 {
      move(link.control, to: link.scale.control(change.to), at: start, over: 0)
      return
    }
    let rest = min(change.frames, change.frames &+ change.start)
    let first = link.scale.control(change.value(at: max(0, change.start)))
    move(link.control, to: first, at: start, over: 0)
    move(link.control, to: link.scale.control(change.to), at: start, over: UInt32(max(0, rest)))
  }

  @inline(never)
  @_noLocks private borrowing func move(
    _ control: UInt32, to value: Float, at frame: Int64, over ramp: UInt32
  ) {
    for i in 0..<nodeCount {
      _ = unsafe cue_rt_set_control(setter, nodes[i].context, control, value, frame, ramp)
    }
  }

  @_noLocks private borrowing func runNodes(
    _ call: UnsafePointer<cue_unit_call>, _ sampleRate: Double
  ) {
    var block = unsafe cue_block()
    unsafe block.transport = transport(frames: call.pointee.frames, sampleRate)
    unsafe block.frames = call.pointee.frames
    unsafe block.is_freewheeling = switches.pointee.offline
    unsafe block.frame = Int64(state.pointee.frame)
    if unsafe call.pointee.time.pointee.flags & UInt32(cue_time_has_host) != 0 {
      unsafe block.host_time = call.pointee.time.pointee.host_time
    }
    if messages != nil || events != nil { unsafe prepareEvents(&block) }
    for i in 0..<nodeCount {
      unsafe block.inputs = UnsafePointer(inputPlanes + i &* inputsOfNode)
      unsafe block.outputs = UnsafePointer(outputPlanes + i &* outputsOfNode)
      unsafe cue_rt_run_node(nodes[i], &block)
      unsafe block.event_outputs = nil
    }
    if events != nil { unsafe sendEvents(call) }
  }

  /// Returns the app's transport, or else JACK's.
  @_noLocks private borrowing func transport(frames: UInt32, _ sampleRate: Double)
    -> UnsafePointer<cue_transport>?
  {
    guard var now = unsafe switches.pointee.transport(sampleRate: sampleRate) else {
      return unsafe cue_rt_thread_transport()
    }
    return unsafe cue_rt_follow_transport(&state.pointee.course, &now, frames)
  }

  @inline(never)
  @_noLocks private borrowing func prepareEvents(_ block: inout cue_block) {
    if let messages {
      messages.prepare(frames: unsafe Int(block.frames))
      unsafe block.event_inputs = messages.inputs
    }
    events?.prepare()
    unsafe block.event_outputs = events?.outputs
  }

  /// Sends what the first node has written to the function that hears the unit's MIDI.
  @inline(never)
  @_noLocks private borrowing func sendEvents(_ call: UnsafePointer<cue_unit_call>) {
    if let events, let tap = unsafe switches.pointee.messageTap {
      unsafe events.send(to: tap, at: call.pointee.time.pointee, frames: Int(call.pointee.frames))
    }
  }

  /// Replaces infinite and NaN samples by silence.
  @_noLocks private borrowing func cleanOutputs(_ frames: Int) {
    for i in 0..<outputCount {
      let plane = unsafe outputPlanes[i]
      if unsafe !cue_rt_are_finite(plane, UInt32(truncatingIfNeeded: frames)) {
        unsafe clean(plane, frames)
      }
    }
  }

  @inline(never)
  @_noLocks private borrowing func clean(_ plane: UnsafeMutablePointer<Float>, _ frames: Int) {
    for frame in 0..<frames where unsafe !plane[frame].isFinite { unsafe plane[frame] = 0 }
  }

  /// Puts the input in the place of the output while the unit is bypassed and the nodes cannot do that, and
  /// fades between the two.
  @inline(__always)
  @_noLocks private borrowing func blend(_ setup: UnsafeMutablePointer<UnitSetup>, _ frames: Int) {
    let from = unsafe passesInput ? 0 : state.pointee.share
    let isBypassed = unsafe enabling == nil && switches.pointee.bypass
    let to: Float = passesInput || isBypassed ? 0 : 1
    unsafe state.pointee.share = to
    if from != 1 || to != 1 { unsafe fade(setup, frames, from: from, to: to) }
  }

  /// - Parameters:
  ///   - from: Share of the nodes in the output before the render.
  ///   - to: Their share at its end.
  @inline(never)
  @_noLocks private borrowing func fade(
    _ setup: UnsafeMutablePointer<UnitSetup>, _ frames: Int, from: Float, to: Float
  ) {
    let step = (to - from) / Float(frames)
    for bus in unsafe 0..<setup.pointee.outputCount {
      for channel in unsafe 0..<setup.pointee.outputs[bus].channels {
        let plane = unsafe setup.pointee.outputs[bus].planes[channel]
        let dry = unsafe dryPlane(setup, bus, channel)
        for frame in 0..<frames {
          let share = from + step * Float(frame &+ 1)
          unsafe plane[frame] = plane[frame] * share + dry[frame] * (1 - share)
        }
      }
    }
  }

  /// Returns the input that takes the place of an output.
  @_noLocks private borrowing func dryPlane(
    _ setup: UnsafeMutablePointer<UnitSetup>, _ bus: Int, _ channel: Int
  )
    -> UnsafeMutablePointer<Float>
  {
    guard unsafe bus < setup.pointee.inputCount && setup.pointee.inputs[bus].channels > 0 else {
      return unsafe silence
    }
    let input = unsafe setup.pointee.inputs[bus]
    return unsafe input.planes[min(channel, input.channels &- 1)]
  }
}

/// The kernel of units that run graph nodes: `context` is a `NodeKernel`.
@_noLocks package func runNodes(
  _ context: UnsafeMutableRawPointer, _ call: UnsafePointer<cue_unit_call>
) -> Int32 {
  unsafe context.assumingMemoryBound(to: NodeKernel.self).pointee.run(call)
}
