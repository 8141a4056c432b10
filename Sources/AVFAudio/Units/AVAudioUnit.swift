public import AudioToolbox
import AudioUnits
import CRealTime
import Foundation
import PluginHost
import RealTime

/// A node that is an audio unit: one of the library, an LV2 plugin, or one that the program has registered.
///
/// It takes any format, which it converts to what the unit can have. The unit renders at the rate of the output.
@safe
open class AVAudioUnit: AVAudioNode, @unchecked Sendable {
  let component: UnitComponent
  /// The audio unit. It gets its inputs from `entries`, and the node's own unit converts its output.
  let core: AudioUnits.Unit
  private let entries: [EngineMixerUnit]
  var exit: EngineMixerUnit { unsafe unsafeDowncast(unit, to: EngineMixerUnit.self) }
  /// The audio unit as the C functions take it, as long as the node exists. Its formats and connections are the engine's.
  public let audioUnit: AudioUnit

  init(_ made: MadeUnit) {
    component = made.component
    core = made.unit
    unsafe audioUnit = unsafe made.reference
    let name = made.component.names.name
    entries = (0..<made.unit.busCount(.input)).map { _ in
      Self.make { try EngineMixerUnit(name, inputs: 1) }
    }
    super.init(unit: Self.make { try EngineMixerUnit(name, inputs: 1) })
    // What the unit cannot have is known when it is connected.
    if let format = AVAudioFormat.fallback.bus { try? applyOutput(format) }
  }

  deinit {
    core.disposeWithReference()
    for entry in entries { entry.dispose() }
  }

  // MARK: The component

  /// Type, subtype and manufacturer of the component.
  public var audioComponentDescription: AudioComponentDescription {
    AudioToolbox.description(component)
  }
  /// The name of the unit, without the manufacturer's.
  open var name: String { component.names.name }
  /// The name of the manufacturer; of an LV2 plugin, its author.
  open var manufacturerName: String { component.names.manufacturer }
  /// The version of the component.
  open var version: Int { Int(component.version) }

  // MARK: Formats

  /// Stereo; a node without inputs has the rate of the engine's output, which then converts nothing.
  override var standardFormat: AVAudioFormat {
    let rate = numberOfInputs == 0 ? engine?.standardFormat.sampleRate : nil
    return rate.flatMap { AVAudioFormat(rate: $0, channels: 2) } ?? .fallback
  }

  /// The inputs of the unit.
  open override var numberOfInputs: Int { entries.count }

  override func inlet(_ bus: AVAudioNodeBus) -> (unit: AudioUnits.Unit, bus: UInt32) {
    (entries[bus], 0)
  }

  /// Sets the format of an input. The output gets the same unless it is connected.
  override func setInput(_ format: AVAudioFormat, bus: AVAudioNodeBus) {
    // An input that is connected to nothing follows the output of its converter.
    if let format = format.bus { try? entries[bus].setOutputFormat(format) }
    super.setInput(format, bus: bus)
    guard bus == 0, let engine,
      engine.outputConnectionPoints(for: self, outputBus: 0).isEmpty
    else { return }
    setOutput(format)
  }

  /// Gives the output a format, and the unit the rate and the channels of it, as far as it can have them.
  override func applyOutput(_ format: BusFormat) throws {
    func own(_ count: Int) throws -> BusFormat {
      let channels = count > 0 ? count : format.channels
      guard let own = BusFormat.planar(channels: channels, sampleRate: format.sampleRate) else {
        throw UnitError.formatNotSupported("\(channels) channels at \(format.sampleRate) Hz")
      }
      return own
    }
    let counts = core.channelCounts ?? (0, 0)
    let output = try own(counts.outputs)
    var inputs: [BusFormat] = []
    for bus in entries.indices {
      let count =
        bus == 0 ? counts.inputs : try core.bus(.input, UInt32(bus)).format.channels
      inputs.append(try own(count))
    }
    var isSame = try core.bus(.output, 0).format == output && exit.bus(.input, 0).format == output
    for (bus, input) in inputs.enumerated() {
      isSame =
        try isSame && core.bus(.input, UInt32(bus)).format == input
        && entries[bus].bus(.output, 0).format == input
    }
    if !isSame || !isConnected { try adopt(inputs, output) }
    try exit.setOutputFormat(format)
  }

  /// True once the unit is connected with the converters before and behind it.
  private var isConnected = false

  /// Gives the unit formats; one that it refuses leaves it those that it has. While they change, it renders silence.
  private func adopt(_ inputs: [BusFormat], _ output: BusFormat) throws {
    try unsafe exit.setCallback(nil, nil, 0)
    for bus in inputs.indices { try unsafe core.setCallback(nil, nil, UInt32(bus)) }
    // A unit of the program may refuse formats while it is initialised.
    let wasInitialized = core.isInitialized
    if core is ForeignUnit { core.uninitialize() }
    for (bus, format) in inputs.enumerated() { try? core.setFormat(format, .input, UInt32(bus)) }
    try? core.setFormat(output, .output, 0)
    if wasInitialized { try core.initialize() }
    for (bus, entry) in entries.enumerated() {
      try entry.setOutputFormat(core.bus(.input, UInt32(bus)).format)
      if core is ForeignUnit {
        try unsafe core.setCallback(Self.renderEntry, entry.render, UInt32(bus))
      } else {
        try core.connect(entry, output: 0, to: UInt32(bus))
      }
    }
    try exit.setFormat(core.bus(.output, 0).format, .input, 0)
    try exit.connect(core, output: 0, to: 0)
    isConnected = true
  }

  /// Renders the converter before a unit of the program.
  private static let renderEntry: cue_render_proc = { entry, flags, time, _, frames, list in
    guard let entry = unsafe entry, let list = unsafe list else { return kAudio_ParamError }
    return unsafe entry.assumingMemoryBound(to: RenderUnit.self).pointee.render(
      flags, time, bus: 0, frames: Int(frames), list)
  }

  // MARK: Rendering

  /// The units in the order in which sound goes through them.
  private var all: [AudioUnits.Unit] { entries + [core, exit] }

  override func prepare(for setup: ManualRenderer.Setup) {
    let frames = Int(setup.maximumFrames)
    for unit in all where unit.maximumFrames != frames || unit is ForeignUnit {
      try? unit.setMaximumFrames(frames)
    }
    core.setOffline(setup.isOn && setup.isOffline)
  }

  override func initialize() throws {
    for unit in all { try unit.initialize() }
  }

  /// Seconds from the node's input to its output, with the conversion of formats.
  public override var latency: TimeInterval {
    (entries.first?.latencySeconds ?? 0) + core.latencySeconds + exit.latencySeconds
  }

  /// Forgets earlier sound: of filters, echoes and converters.
  open override func reset() {
    for unit in all { unit.forget() }
  }

  /// True if the unit changes sound that goes through it.
  var isEffect: Bool { false }

  // MARK: Parameters

  /// Returns a parameter of the unit.
  func parameter(_ id: AudioUnitParameterID) -> Float {
    var value: Float = 0
    _ = unsafe core.render.pointee.parameter(id, scope: 0, element: 0, into: &value)
    return value
  }

  /// Sets a parameter of the unit, within its range. NaN has no effect.
  func set(_ id: AudioUnitParameterID, to value: Float) {
    _ = unsafe core.render.pointee.setParameter(id, scope: 0, element: 0, to: value)
  }
}
