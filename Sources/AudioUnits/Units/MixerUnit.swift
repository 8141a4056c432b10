import CRealTime
import RealTime

/// A mixer: any number of buses, which are added.
final class MixerUnit: Unit, @unchecked Sendable {
  /// The mixer of the latest setup, whose gains go on where they are. Only under the lock of `kernel`'s
  /// callers.
  private var memory: MixerMemory?

  private let kind: UnitKind

  init(_ kind: UnitKind) throws(UnitError) {
    self.kind = kind
    let format = try Self.standardFormat
    unsafe super.init(
      kind.name, inputs: Array(repeating: format, count: kind == .stereoMixer ? 8 : 1),
      outputs: [format], Self.makeRender())
    makeParameters()
  }

  override func canSetBusCount(_ side: Side) -> Bool { side == .input }

  override func parameters(_ side: Side?, bus: Int) -> [UnitParameter] {
    let volume = UnitParameter(
      id: 0, name: "volume", meaning: .linearGain, range: 0...1, standard: 1)
    switch (side, kind) {
    case (nil, _): return []
    case (.output, _): return [volume]
    case (.input, .stereoMixer):
      return [
        volume, UnitParameter(id: 1, name: "pan", meaning: .pan, range: 0...1, standard: 0.5),
      ]
    case (.input, _):
      return [
        volume,
        UnitParameter(id: 1, name: "enable", meaning: .boolean, range: 0...1, standard: 1),
        UnitParameter(id: 2, name: "pan", meaning: .pan, range: -1...1, standard: 0),
      ]
    }
  }

  override func fade(_ bus: Int, out: Bool) -> Bool {
    guard let memory, bus < busCount(.input) else { return false }
    unsafe memory.fades[bus].set(out: out)
    return true
  }

  override func kernel(inputs: Int) -> Kernel {
    guard let parameters = latestParameters else { preconditionFailure("no parameters") }
    let memory: MixerMemory
    if let present = self.memory, present.parameters === parameters {
      memory = present
    } else {
      memory = MixerMemory(parameters, inputs: inputs, hasSwitches: kind != .stereoMixer)
      self.memory = memory
    }
    return unsafe Kernel(
      call: cue_unit_kernel(
        run: { unsafe runMixer($0, $1) }, context: UnsafeMutableRawPointer(memory.mixer)),
      owner: memory)
  }
}

/// Memory of a `Mixer`.
@safe
private final class MixerMemory: @unchecked Sendable {
  let mixer: UnsafeMutablePointer<Mixer>
  private let gains: UnsafeMutablePointer<MixerGains>
  let fades: UnsafeMutablePointer<MixerFade>
  private let inputs: Int
  private let hasRun: UnsafeMutablePointer<Bool>
  let parameters: ParameterMemory

  init(_ parameters: ParameterMemory, inputs: Int, hasSwitches: Bool) {
    self.parameters = parameters
    unsafe gains = .allocate(capacity: inputs + 1)
    unsafe gains.initialize(repeating: MixerGains(0), count: inputs + 1)
    self.inputs = inputs
    unsafe fades = .allocate(capacity: inputs)
    for i in 0..<inputs { unsafe (fades + i).initialize(to: MixerFade()) }
    unsafe hasRun = .allocate(capacity: 1)
    unsafe hasRun.initialize(to: false)
    unsafe mixer = .allocate(capacity: 1)
    unsafe mixer.initialize(
      to: Mixer(
        parameters: parameters.slots, hasSwitches: hasSwitches, gains: gains, fades: fades,
        hasRun: hasRun))
  }

  deinit {
    unsafe mixer.deinitialize(count: 1)
    unsafe mixer.deallocate()
    unsafe hasRun.deallocate()
    unsafe fades.deinitialize(count: inputs)
    unsafe fades.deallocate()
    unsafe gains.deallocate()
  }
}
