import CRealTime
package import RealTime
import Synchronization

/// A mixer of an engine. Its inputs are added while it renders; each is converted to the rate and the
/// channels of the output.
package final class EngineMixerUnit: Unit, @unchecked Sendable {
  private let levels = Mutex<[EngineLevelMemory]>([])
  private let output = EngineLevelMemory()
  /// The channels of the inputs and of the output, as of the latest setup.
  private let channels = Mutex<(inputs: [Int], output: Int)>(([], 0))

  package init(_ name: String, inputs: Int) throws(UnitError) {
    let format = try Self.standardFormat
    unsafe super.init(
      name, inputs: Array(repeating: format, count: inputs), outputs: [format], Self.makeRender())
    makeLevels(inputs)
  }

  override var hasQuality: Bool { true }

  private func makeLevels(_ count: Int) {
    levels.withLock { levels in
      while levels.count < count { levels.append(EngineLevelMemory()) }
    }
  }

  /// Adds inputs until there is one with a number.
  package func provideInput(_ bus: Int) throws(UnitError) {
    guard bus < Self.mostBuses else {
      throw .invalidValue("a mixer has \(Self.mostBuses) inputs at the most")
    }
    makeLevels(bus + 1)
    if busCount(.input) > bus { return }
    try change { state in
      let format = state.outputs[0].format
      while state.inputs.count <= bus { state.inputs.append(Bus(format: format)) }
    }
  }

  /// Sets the format of the output. Inputs without a source have the same.
  package func setOutputFormat(_ format: BusFormat) throws(UnitError) {
    try change { state in
      state.outputs[0].format = format
      for bus in state.inputs.indices {
        if case .none = state.inputs[bus].source { state.inputs[bus].format = format }
      }
    }
  }

  /// The level of an input. It stays when the input is connected to something else.
  package func level(ofInput bus: Int) -> UnsafeMutablePointer<EngineMixerLevel> {
    makeLevels(bus + 1)
    return unsafe levels.withLock { unsafe $0[bus].level }
  }

  package var outputLevel: UnsafeMutablePointer<EngineMixerLevel> { unsafe output.level }

  override func prepare(inputs: [BusFormat], outputs: [BusFormat], maximumFrames: Int)
    throws(UnitError)
  {
    channels.withLock { $0 = (inputs.map(\.channels), outputs[0].channels) }
  }

  override func kernel(inputs: Int) -> Kernel {
    let channels = channels.withLock { $0 }
    let memory = EngineMixerMemory(
      levels.withLock { Array($0[..<inputs]) } + [output], inputs: channels.inputs,
      output: channels.output)
    return unsafe Kernel(
      call: cue_unit_kernel(
        run: { unsafe runEngineMixer($0, $1) }, context: UnsafeMutableRawPointer(memory.mixer)),
      owner: memory, mixer: UnsafePointer(memory.mixer))
  }
}

/// Memory of an `EngineMixerLevel`.
@safe
private final class EngineLevelMemory: @unchecked Sendable {
  let level: UnsafeMutablePointer<EngineMixerLevel>

  init() {
    unsafe level = .allocate(capacity: 1)
    unsafe level.initialize(to: EngineMixerLevel())
  }

  deinit {
    unsafe level.deinitialize(count: 1)
    unsafe level.deallocate()
  }
}

/// Memory of an `EngineMixer`.
@safe
private final class EngineMixerMemory: @unchecked Sendable {
  let mixer: UnsafeMutablePointer<EngineMixer>
  private let levels: UnsafeMutablePointer<UnsafeMutablePointer<EngineMixerLevel>>
  private let matrices: UnsafeMutablePointer<ChannelMatrix>
  /// The gains of all matrices.
  private let gains: UnsafeMutablePointer<Float>
  private let owners: [EngineLevelMemory]

  init(_ owners: [EngineLevelMemory], inputs: [Int], output: Int) {
    self.owners = owners
    unsafe levels = .allocate(capacity: owners.count)
    for (i, owner) in owners.enumerated() { unsafe (levels + i).initialize(to: unsafe owner.level) }
    unsafe matrices = .allocate(capacity: max(1, inputs.count))
    unsafe gains = .allocate(capacity: max(1, inputs.reduce(0) { $0 + $1 * output }))
    var first = 0
    for (i, count) in inputs.enumerated() {
      let values = count == output ? [] : EngineMixerUnit.gains(from: count, to: output)
      for (j, value) in values.enumerated() {
        unsafe (gains + first + j).initialize(to: value)
      }
      unsafe (matrices + i).initialize(
        to: ChannelMatrix(count == output ? nil : UnsafePointer(gains + first)))
      first += values.count
    }
    unsafe mixer = .allocate(capacity: 1)
    unsafe mixer.initialize(to: EngineMixer(levels: levels, matrices: matrices))
  }

  deinit {
    unsafe mixer.deallocate()
    unsafe matrices.deallocate()
    unsafe levels.deallocate()
    unsafe gains.deallocate()
  }
}

extension EngineMixerUnit {
  /// Returns the gains with which channels of one number become another number, those of the first output
  /// channel first.
  ///
  /// The channels are in the order of WAVE files: left, right, centre, low frequencies, and then pairs of
  /// left and right. More channels than two are mixed by the rules of ITU-R BS.775.
  package static func gains(from inputs: Int, to outputs: Int) -> [Float] {
    var gains = [Float](repeating: 0, count: inputs * outputs)
    func set(_ input: Int, _ output: Int, _ gain: Float) {
      if output < outputs { gains[output * inputs + input] += gain }
    }
    if inputs == 1 {
      set(0, 0, 1)
      set(0, 1, 1)
    } else if outputs >= inputs {
      for channel in 0..<inputs { set(channel, channel, 1) }
    } else if outputs > 2 {
      for channel in 0..<outputs { set(channel, channel, 1) }
    } else {
      let half = Float(0.5).squareRoot()
      // Quadraphony and what has fewer channels has no channel for low frequencies.
      let hasCentre = inputs == 3 || inputs > 4
      for channel in 0..<inputs {
        var sides: [(side: Int, gain: Float)] = [(channel % 2, channel < 2 ? 1 : half)]
        if channel == 2 && hasCentre { sides = [(0, half), (1, half)] }
        if channel == 3 && inputs > 5 { sides = [] }
        if inputs == 5 && channel > 2 { sides = [((channel + 1) % 2, half)] }
        for (side, gain) in sides {
          if outputs == 1 { set(channel, 0, gain * 0.5) } else { set(channel, side, gain) }
        }
      }
    }
    return gains
  }
}
