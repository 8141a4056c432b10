package import CRealTime
import Graph
package import PluginHost
package import RealTime
import Server
import Synchronization
import System
import Timeline

/// An LV2 plugin as an audio unit: with its own parameters, or in the part of an effect that programs know
/// by other ones. Any thread that is not real time.
@safe
package final class LV2Unit: Unit, @unchecked Sendable {
  package let plugin: PluginDescription
  private let world: World
  private let layout: PluginLayout
  let effect: Effect?
  let switches = SwitchMemory()
  /// The MIDI messages that wait; nil for a plugin that hears none.
  private let messages: MessageMemory?

  struct Host {
    var memory: NodeMemory?
    /// The state for the next instances; nil for that of the present ones.
    var wanted: PluginState?
    /// The rate for which the parameters' ranges are.
    var sampleRate = 0.0
    /// In the order of their numbers.
    var list: [ControlledParameter] = []
    /// The effect's preset, for the next instances; nil for none.
    var preset: EffectPreset?
    /// The program that runs the next instances; nil for this process.
    var program: IsolationProgram?
    /// Bands of an equaliser.
    var bands = Effect.mostBands
    var callbacks: HostMemory?
    /// The SoundFont of an instrument; nil for the default.
    var soundFont: SoundFontChoice?
    /// Hears the plugin's MIDI.
    var messageTap: MessageTapMemory?
  }
  let host = Mutex(Host())

  /// - Throws: `UnitError.formatNotSupported` if the plugin has more channels than a bus can have.
  package convenience init(_ plugin: PluginDescription, in world: World) throws(UnitError) {
    try self.init(plugin, in: world, as: nil)
  }

  init(_ plugin: PluginDescription, in world: World, as effect: Effect?) throws(UnitError) {
    self.effect = effect
    self.plugin = plugin
    self.world = world
    let layout = PluginLayout(plugin)
    self.layout = layout
    messages = UnitComponent.hasMIDI(plugin.events(.input)) ? MessageMemory() : nil
    func formats(_ channels: [Int]) throws(UnitError) -> [BusFormat] {
      var formats: [BusFormat] = []
      for count in channels {
        let wanted = layout.isPerChannel ? 2 : count
        guard let format = BusFormat.planar(channels: wanted, sampleRate: 44_100) else {
          throw .formatNotSupported("\(plugin.name) has \(count) channels")
        }
        formats.append(format)
      }
      return formats
    }
    unsafe super.init(
      effect?.name ?? plugin.name, inputs: try formats(layout.inputs),
      outputs: try formats(layout.outputs),
      Self.makeRender())
    if let messages { unsafe render.pointee.hear(messages.queue) }
    adopt(sampleRate: 44_100)
  }

  /// Makes the parameters for a sample rate: their ranges may depend on it.
  private func adopt(sampleRate: Double) {
    let isNew = host.withLock { host in
      let isFirst = host.list.isEmpty
      let depends = effect != nil || plugin.ports.contains { $0.isSampleRate }
      if host.sampleRate == sampleRate || !isFirst && !depends { return false }
      host.sampleRate = sampleRate
      host.list = list(sampleRate: sampleRate, bands: host.bands)
      return true
    }
    if isNew { makeParameters() }
  }

  /// Returns the parameters in the order of their numbers.
  private func list(sampleRate: Double, bands: Int) -> [ControlledParameter] {
    let list =
      effect?.parameters(plugin, sampleRate: sampleRate, bands: bands)
      ?? plugin.ports.filter { $0.direction == .input && $0.kind == .control }.compactMap { port in
        UnitParameter(port, of: plugin, sampleRate: sampleRate).map {
          ControlledParameter(parameter: $0, links: [(port.symbol, .same)])
        }
      }
    return list.sorted { $0.parameter.id < $1.parameter.id }
  }

  override package func parameters(_ side: Side?, bus: Int) -> [UnitParameter] {
    side == nil ? host.withLock { $0.list.map(\.parameter) } : []
  }

  /// The number of bands of an equaliser; nil if the unit is none.
  package var bandCount: Int? { effect?.isBanded == true ? host.withLock { $0.bands } : nil }

  package static var mostBands: Int { Effect.mostBands }

  package func setBandCount(_ count: Int) throws(UnitError) {
    guard (1...Effect.mostBands).contains(count) else {
      throw .invalidValue("an equaliser has 1 to \(Effect.mostBands) bands, not \(count)")
    }
    if isInitialized { throw .initialized }
    host.withLock { host in
      host.bands = count
      host.list = list(sampleRate: host.sampleRate, bands: count)
      host.memory = nil
    }
    makeParameters()
  }

  /// Runs the plugin in a process of its own, with a latency of the longest render. Its parameters follow within 20 ms.
  package func isolate(by program: IsolationProgram) { host.withLock { $0.program = program } }

  override package func groupName(_ id: UInt32) -> String? {
    let index = Int(id) - 1
    guard plugin.groups.indices.contains(index) else { return nil }
    return plugin.groups[index].name ?? plugin.groups[index].symbol
  }

  // MARK: Formats

  /// For each number of a bus's channels that the unit can have: inputs and outputs; nil if it can have
  /// any, as many of one as of the other.
  override package var channelCounts: (inputs: Int, outputs: Int)? {
    layout.isPerChannel ? nil : (layout.inputs.first ?? 0, layout.outputs[0])
  }

  override func check(_ format: BusFormat, _ side: Side, _ bus: Int, _ state: borrowing State)
    throws(UnitError)
  {
    if layout.isPerChannel { return }
    let wanted = (side == .input ? layout.inputs : layout.outputs)[bus]
    if format.channels != wanted {
      throw .formatNotSupported(
        "\(plugin.name) has \(wanted) channels there, not \(format.channels)")
    }
  }

  /// Sets the format of a bus. The first output takes the rate of the first input and, if there is an
  /// instance for each channel, its channels.
  override package func setFormat(_ format: BusFormat, _ side: Side, _ index: UInt32)
    throws(UnitError)
  {
    try super.setFormat(format, side, index)
    if index != 0 || side == .output && !layout.isPerChannel { return }
    let otherSide: Side = side == .input ? .output : .input
    guard let other = try? bus(otherSide, 0).format else { return }
    let channels = layout.isPerChannel ? format.channels : other.channels
    let rate = side == .input ? format.sampleRate : other.sampleRate
    if channels == other.channels && rate == other.sampleRate { return }
    guard let following = BusFormat.planar(channels: channels, sampleRate: rate) else { return }
    try super.setFormat(following, otherSide, 0)
  }

  // MARK: Instances

  override func prepare(inputs: [BusFormat], outputs: [BusFormat], maximumFrames: Int)
    throws(UnitError)
  {
    let settings = PluginSettings(
      sampleRate: outputs[0].sampleRate, maximumFrames: maximumFrames)
    let count = layout.isPerChannel ? outputs[0].channels : 1
    let (old, wanted, preset, program) = host.withLock {
      ($0.memory, $0.wanted, $0.preset, $0.program)
    }
    if let old, wanted == nil, old.settings == settings, old.instances.count == count { return }
    adopt(sampleRate: settings.sampleRate)
    do throws(HostError) {
      var state = wanted
      if state == nil, let old { state = try old.instances[0].capture() }
      var instances: [any HostedPlugin] = []
      for _ in 0..<count {
        // A SoundFont that is not wanted would be loaded in vain.
        let first = playsSoundFonts && program == nil ? state : nil
        let instance: any HostedPlugin =
          if let program {
            try IsolatedPlugin(plugin.uri, in: world, settings: settings, program: program)
          } else {
            try PluginInstance(plugin.uri, in: world, settings: settings, state: first)
          }
        if first == nil {
          let fixed = (effect?.fixed ?? []) + (preset?.controls ?? [:]).map { ($0.key, $0.value) }
          for (symbol, value) in fixed { try instance.set(symbol, to: value, at: nil, over: 0) }
          if let state { try instance.restore(state) }
        }
        try instance.prepare(
          sampleRate: settings.sampleRate, maximumFrames: settings.maximumFrames)
        try SoundFontPlugin.check(instance, path: soundFont)
        instances.append(instance)
      }
      guard let parameters = latestParameters else { preconditionFailure("no parameters") }
      let list = host.withLock { $0.list }
      let memory = NodeMemory(
        instances, layout, settings, parameters, list, switches, messages)
      if wanted != nil { adoptValues(of: instances[0], list) }
      host.withLock { host in
        host.memory = memory
        host.wanted = nil
      }
    } catch {
      if case .notPermitted = error { throw .unauthorized("\(error)") }
      throw .failedInitialization("\(error)")
    }
  }

  /// Sets the parameters to the values that an instance's controls have.
  private func adoptValues(of instance: any HostedPlugin, _ list: [ControlledParameter]) {
    for item in list {
      guard let link = item.links.first, link.scale == .same,
        let value = try? instance.value(of: link.control)
      else { continue }
      _ = unsafe render.pointee.setParameter(item.parameter.id, scope: 0, element: 0, to: value)
    }
  }

  override func kernel(inputs: Int) -> Kernel {
    guard let memory = host.withLock({ $0.memory }) else { preconditionFailure("no instances") }
    return unsafe Kernel(
      call: cue_unit_kernel(
        run: { unsafe runNodes($0, $1) }, context: UnsafeMutableRawPointer(memory.kernel)),
      owner: memory)
  }

  override package var latencySeconds: Double {
    guard let memory = host.withLock({ $0.memory }), isInitialized else { return 0 }
    return super.latencySeconds
      + Double(memory.instances[0].latencyFrames) / memory.settings.sampleRate
  }

  override package var tailSeconds: Double {
    effect?.tail?({ id in
      var value: Float = 0
      _ = unsafe render.pointee.parameter(id, scope: 0, element: 0, into: &value)
      return Double(value)
    }) ?? 0
  }

  /// Takes new instances, which have the state of the present ones and none of their sound.
  override package func forget() {
    guard let memory = host.withLock({ $0.memory }), let state = try? memory.instances[0].capture()
    else { return }
    try? restore(state)
  }

  // MARK: Switches

  override package var isBypassed: Bool? { unsafe switches.switches.pointee.bypass }
  override package func setBypassed(_ on: Bool) { unsafe switches.switches.pointee.bypass(on) }
  override package var isOffline: Bool { unsafe switches.switches.pointee.offline }
  override package func setOffline(_ on: Bool) { unsafe switches.switches.pointee.setOffline(on) }

  // MARK: Transport

  /// Sets the functions that tell of the app's beat and transport; nil for JACK's.
  package func setHostCallbacks(_ callbacks: cue_host_callbacks?) {
    let memory = unsafe callbacks.map { unsafe HostMemory($0) }
    let old = host.withLock { host in
      defer { host.callbacks = memory }
      return host.callbacks
    }
    unsafe switches.switches.pointee.setHost(memory?.callbacks)
    if let old, !settle() { keepForGood(old) }
  }

  /// The functions that were set; nil if there are none.
  package var hostCallbacks: cue_host_callbacks? {
    unsafe host.withLock { $0.callbacks }?.callbacks.pointee
  }

  // MARK: State

  override package var presets: [UnitPreset] {
    if let effect {
      guard let control = effect.presetControl, let port = plugin.port(control) else {
        return effect.presets.list.enumerated().map { UnitPreset(number: Int32($0), name: $1.name) }
      }
      return port.scalePoints.map {
        UnitPreset(number: Int32(clamping: Int(held: Double($0.value))), name: $0.label)
      }
    }
    return plugin.presets.enumerated().map { UnitPreset(number: Int32($0), name: $1.label) }
  }

  override func adopt(preset number: Int) throws(UnitError) {
    if let effect {
      if !effect.presets.list.isEmpty { return adopt(effect.presets.list[number], effect) }
      // The control for presets is the first parameter.
      _ = unsafe render.pointee.setParameter(0, scope: 0, element: 0, to: Float(number))
      return
    }
    let state: PluginState
    do throws(HostError) {
      state = try world.preset(plugin.presets[number].uri, of: plugin.uri)
    } catch {
      throw .invalidValue("\(error)")
    }
    try restore(state)
  }

  private func adopt(_ preset: EffectPreset, _ effect: Effect) {
    let (memory, list) = host.withLock { host in
      host.preset = preset
      return (host.memory, host.list)
    }
    for instance in memory?.instances ?? [] {
      for (symbol, value) in preset.controls {
        try? instance.set(symbol, to: value, at: nil, over: 0)
      }
    }
    for parameter in list.map(\.parameter) where !effect.presets.spared.contains(parameter.id) {
      _ = unsafe render.pointee.setParameter(
        parameter.id, scope: 0, element: 0, to: preset.values[parameter.id] ?? parameter.standard)
    }
  }

  /// The plugin's state in LV2's format.
  override package func pluginState() throws(UnitError) -> String? {
    try withPlugin { plugin throws(HostError) in try plugin.capture().text }
  }

  override package func restore(pluginState text: String) throws(UnitError) {
    try restore { world throws(HostError) in try PluginState(text: text, world: world) }
    if playsSoundFonts {
      let path = PluginFile.path(inState: text)
      host.withLock { $0.soundFont = path.map { SoundFontChoice($0) } }
    }
  }

  /// True if the unit is the plugin itself, not an effect that programs know by other parameters.
  package var isPlugin: Bool { effect == nil }

  /// Saves the plugin's state in LV2's format to a folder of its own, with the files that it has.
  package func saveState(to folder: String) throws(UnitError) {
    try withPlugin { plugin throws(HostError) in
      // Renders tell the plugin of values, which may be later.
      for item in host.withLock({ $0.list }) {
        var value: Float = 0
        let isKnown =
          unsafe render.pointee.parameter(
            item.parameter.id, scope: 0, element: 0, into: &value) == 0
        for link in item.links where isKnown {
          try plugin.set(link.control, to: link.scale.control(value), at: nil, over: 0)
        }
      }
      try plugin.save(to: folder)
    }
  }

  /// Takes over the state in a folder.
  package func restoreState(from folder: String) throws(UnitError) {
    try restore { world throws(HostError) in try PluginState(folder: folder, world: world) }
  }

  private func withPlugin<Result>(_ body: (any HostedPlugin) throws(HostError) -> Result)
    throws(UnitError) -> Result
  {
    if host.withLock({ $0.memory == nil }) { try makeInstances() }
    guard let memory = host.withLock({ $0.memory }) else {
      preconditionFailure("makeInstances makes them")
    }
    do throws(HostError) { return try body(memory.instances[0]) } catch {
      throw .invalidValue("\(error)")
    }
  }

  func restore(_ read: (World) throws(HostError) -> PluginState) throws(UnitError) {
    let state: PluginState
    do throws(HostError) {
      state = try read(world)
      guard state.plugin == plugin.uri else {
        throw .stateOfAnother(plugin: plugin.uri, other: state.plugin)
      }
    } catch {
      throw .invalidValue("\(error)")
    }
    try restore(state)
  }

  /// Makes instances with a state. If the unit is initialised, the next render uses them.
  private func restore(_ state: PluginState) throws(UnitError) {
    host.withLock { $0.wanted = state }
    do throws(UnitError) {
      try makeInstances()
    } catch {
      host.withLock { $0.wanted = nil }
      throw error
    }
  }
}
