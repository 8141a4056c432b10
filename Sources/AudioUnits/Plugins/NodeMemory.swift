import CRealTime
import Glibc
import Graph
import PluginHost
import RealTime
import Server
import Synchronization
import System

/// Functions of the app that tell of its transport, where renders find them.
@safe
final class HostMemory: @unchecked Sendable {
  let callbacks: UnsafeMutablePointer<cue_host_callbacks>

  init(_ callbacks: cue_host_callbacks) {
    unsafe self.callbacks = .allocate(capacity: 1)
    unsafe self.callbacks.initialize(to: callbacks)
  }

  deinit { unsafe callbacks.deallocate() }
}

/// Memory of a `NodeKernel`, and the plugin's instances that it runs.
@safe
final class NodeMemory: @unchecked Sendable {
  let kernel: UnsafeMutablePointer<NodeKernel>
  let instances: [any HostedPlugin]
  let settings: PluginSettings
  let parameters: ParameterMemory
  private let switches: SwitchMemory
  private let messages: MessageMemory?
  private let state: UnsafeMutablePointer<NodeState>
  private var blocks: [UnsafeMutableRawPointer] = unsafe []
  /// Moves the controls of instances in processes of their own.
  private let follower: ControlFollower?

  /// Frames that were rendered. Any thread.
  var frame: Int { unsafe state.pointee.frame }

  init(
    _ instances: [any HostedPlugin], _ layout: PluginLayout, _ settings: PluginSettings,
    _ parameters: ParameterMemory, _ list: [ControlledParameter], _ switches: SwitchMemory,
    _ messages: MessageMemory?
  ) {
    self.instances = instances
    self.settings = settings
    self.parameters = parameters
    self.switches = switches
    self.messages = messages
    var blocks: [UnsafeMutableRawPointer] = unsafe []
    /// Allocates memory that renders write or read.
    func allocate<Item: BitwiseCopyable>(_ items: [Item]) -> UnsafeMutablePointer<Item> {
      let memory = UnsafeMutablePointer<Item>.allocate(capacity: max(1, items.count))
      unsafe memory.initialize(from: items, count: items.count)
      unsafe blocks.append(UnsafeMutableRawPointer(memory))
      return unsafe memory
    }
    let plugin = instances[0].description
    let planes = layout.planes(instances: instances.count)
    let silence = unsafe allocate([Float](repeating: 0, count: settings.maximumFrames))
    let waste = unsafe allocate([Float](repeating: 0, count: settings.maximumFrames))
    let controls = plugin.ports.filter { $0.direction == .input && $0.kind == .control }
    let links = list.enumerated().flatMap { index, item in
      item.links.map { link in
        let value = link.scale == .same ? try? instances[0].value(of: link.control) : nil
        return ControlLink(
          parameter: index,
          control: UInt32(controls.firstIndex { $0.symbol == link.control } ?? 0),
          scale: link.scale, told: value ?? .nan)
      }
    }
    // A plugin in another process has no function that moves controls in a render.
    let areIsolated = instances[0] is IsolatedPlugin
    follower = areIsolated ? ControlFollower(instances, list, parameters) : nil
    let enabling =
      areIsolated ? nil : controls.firstIndex { $0.designation?.hasSuffix("#enabled") == true }
    /// Allocates an atom sequence, whose memory is aligned.
    func sequence(bytes: Int) -> UnsafeMutableRawPointer {
      unsafe UnsafeMutableRawPointer(allocate([UInt64](repeating: 0, count: (bytes + 7) / 8)))
    }
    var heard: NodeMessages?
    if let messages, let input = instances[0].ports.midiInput {
      let bytes = 1 << 16
      let (waiting, due, empty) =
        unsafe (sequence(bytes: bytes), sequence(bytes: bytes), sequence(bytes: 64))
      unsafe cue_rt_clear_events(empty, Graph.eventTypes.sequence)
      let inputs = unsafe (0..<instances[0].eventInputs).map {
        unsafe UnsafeRawPointer($0 == input ? due : empty)
      }
      heard = unsafe NodeMessages(
        messages.queue, types: Graph.eventTypes, waiting: waiting, due: due, capacity: bytes,
        message: allocate([UInt8](repeating: 0, count: MessageQueue.mostBytes)),
        inputs: UnsafePointer(allocate(inputs)))
    }
    let bytes = instances[0].eventBytes
    let events = instances[0].ports.midiOutput.map { output in
      let outputs = unsafe (0..<instances[0].eventOutputs).map { _ in unsafe sequence(bytes: bytes)
      }
      return unsafe NodeEvents(
        UnsafePointer(allocate(outputs)), count: outputs.count, capacity: bytes, midi: output,
        types: Graph.eventTypes)
    }
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: NodeState())
    unsafe kernel = .allocate(capacity: 1)
    unsafe kernel.initialize(
      to: NodeKernel(
        nodes: allocate(instances.map { unsafe $0.processor }), count: instances.count,
        setter: areIsolated ? cue_control_setter() : PluginInstance.controlSetter,
        enabling: enabling.map(UInt32.init),
        inputs: allocate(planes.inputs), inputCount: planes.inputs.count,
        outputs: allocate(planes.outputs), outputCount: planes.outputs.count,
        inputPlanes: allocate(planes.inputs.map { _ in unsafe UnsafePointer(silence) }),
        outputPlanes: allocate(planes.outputs.map { _ in unsafe waste }),
        silence: silence, waste: waste, passesInput: layout.passesInput,
        slots: parameters.slots, links: allocate(links), linkCount: links.count,
        switches: switches.switches, state: state, messages: heard, events: events))
    unsafe self.blocks = unsafe blocks
  }

  deinit {
    follower?.end()
    unsafe kernel.deinitialize(count: 1)
    unsafe kernel.deallocate()
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
    unsafe blocks.forEach { unsafe $0.deallocate() }
  }
}

/// A thread that tells plugins in other processes, every 20 ms, of parameters that were set.
private final class ControlFollower: Sendable {
  private let isOver = Atomic<Bool>(false)
  private let instances: [any HostedPlugin]
  private let list: [ControlledParameter]
  private let parameters: ParameterMemory
  private let told: Mutex<[Float]>

  init(
    _ instances: [any HostedPlugin], _ list: [ControlledParameter], _ parameters: ParameterMemory
  ) {
    self.instances = instances
    self.list = list
    self.parameters = parameters
    told = Mutex(Array(repeating: .nan, count: list.count))
    follow()
    startThread(named: "cuejack-follow") { [self] in
      while !isOver.load(ordering: .relaxed) {
        usleep(20_000)
        follow()
      }
    }
  }

  private func follow() {
    for (index, item) in list.enumerated() {
      let value = unsafe parameters.slots[index].value
      let isOther = told.withLock { told in
        defer { told[index] = value }
        return told[index] != value
      }
      if !isOther { continue }
      for instance in instances {
        for (control, scale) in item.links {
          try? instance.set(control, to: scale.control(value), at: nil, over: 0)
        }
      }
    }
  }

  func end() { isOver.store(true, ordering: .relaxed) }
}
