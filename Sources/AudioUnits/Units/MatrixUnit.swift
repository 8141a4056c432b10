import CRealTime
package import RealTime
import Synchronization

/// A mixer of channels: each output channel adds all input channels.
package final class MatrixUnit: Unit, @unchecked Sendable {
  /// The matrix of the latest setup, whose gains go on where they are.
  private let memory = Mutex<MatrixMemory?>(nil)

  private struct Settings {
    /// Channels of all inputs together, and of all outputs, for which the parameters are.
    var inputs = 0
    var outputs = 0
    /// The channels whose meters are on; those of the outputs are behind those of the inputs.
    var metered: Set<Int> = []
  }
  private let settings = Mutex(Settings())

  init() throws(UnitError) {
    let format = try Self.standardFormat
    unsafe super.init("MatrixMixer", inputs: [format], outputs: [format], Self.makeRender())
    adoptChannels()
  }

  override package func canSetBusCount(_ side: Side) -> Bool { true }

  /// The channels of all inputs together, and of all outputs.
  package var dimensions: (inputs: Int, outputs: Int) {
    func count(_ side: Side) -> Int {
      (0..<busCount(side)).reduce(0) { sum, index in
        sum + ((try? bus(side, UInt32(index)).format.channels) ?? 0)
      }
    }
    return (count(.input), count(.output))
  }

  // MARK: Parameters

  private static var master: UInt32 { 0xFFFF_FFFF }

  override var elements: ParameterElements { .channels }
  override var hasQuality: Bool { true }

  override func elements(_ side: Side?) -> [UInt32] {
    let (inputs, outputs) = settings.withLock { ($0.inputs, $0.outputs) }
    switch side {
    case .input: return (0..<UInt32(inputs)).map { $0 }
    case .output: return (0..<UInt32(outputs)).map { $0 }
    case nil:
      let crossings = (0..<UInt32(inputs)).flatMap { input in
        (0..<UInt32(outputs)).map { input << 16 | $0 }
      }
      return crossings + [Self.master]
    }
  }

  override package func parameters(_ side: Side?, bus: Int) -> [UnitParameter] {
    // A crossing is silent at first.
    let isCrossing = side == nil && bus != Int(Self.master)
    let volume = UnitParameter(
      id: 0, name: "volume", meaning: .linearGain, range: 0...1, standard: isCrossing ? 0 : 1)
    if side == nil { return [volume] }
    return [
      volume,
      UnitParameter(id: 1, name: "enable", meaning: .boolean, range: 0...1, standard: 1),
    ] + UnitParameter.meters(channels: 1)
  }

  /// Makes the parameters for the present channels.
  private func adoptChannels() {
    let (inputs, outputs) = dimensions
    let isNew = settings.withLock { settings in
      let isNew = settings.inputs != inputs || settings.outputs != outputs
      (settings.inputs, settings.outputs) = (inputs, outputs)
      return isNew
    }
    if isNew { makeParameters() }
  }

  override package func setFormat(_ format: BusFormat, _ side: Side, _ index: UInt32)
    throws(UnitError)
  {
    try super.setFormat(format, side, index)
    if !isInitialized { adoptChannels() }
  }

  override func busCountChanged() { adoptChannels() }

  override func prepare(inputs: [BusFormat], outputs: [BusFormat], maximumFrames: Int)
    throws(UnitError)
  { adoptChannels() }

  /// The volumes of all crossings, a row for each input channel, with the volumes of the input channels in
  /// the last column, those of the output channels in the last row, and the master's in the corner.
  package var levels: [[Float]] {
    let (inputs, outputs) = settings.withLock { ($0.inputs, $0.outputs) }
    func volume(_ scope: UInt32, _ element: UInt32) -> Float {
      var value: Float = 0
      _ = unsafe render.pointee.parameter(0, scope: scope, element: element, into: &value)
      return value
    }
    let rows = (0..<UInt32(inputs)).map { input in
      (0..<UInt32(outputs)).map { volume(0, input << 16 | $0) } + [volume(1, input)]
    }
    return rows + [(0..<UInt32(outputs)).map { volume(2, $0) } + [volume(0, Self.master)]]
  }

  // MARK: Meters

  private func meter(_ side: Side, _ channel: Int) -> Int? {
    settings.withLock { settings in
      let count = side == .input ? settings.inputs : settings.outputs
      guard channel < count else { return nil }
      return side == .input ? channel : settings.inputs + channel
    }
  }

  /// - Parameter bus: A channel.
  override package func isMetering(_ side: Side, bus: Int) -> Bool? {
    guard let meter = meter(side, bus) else { return nil }
    return settings.withLock { $0.metered.contains(meter) }
  }

  override package func setMetering(_ on: Bool, _ side: Side, bus: Int) {
    guard let meter = meter(side, bus) else { return }
    settings.withLock { settings in
      if on { settings.metered.insert(meter) } else { settings.metered.remove(meter) }
    }
    memory.withLock { $0?.setMetering(on, meter) }
  }

  // MARK: Renders

  override func kernel(inputs: Int) -> Kernel {
    guard let parameters = latestParameters else { preconditionFailure("no parameters") }
    let memory: MatrixMemory
    if let present = self.memory.withLock({ $0 }), present.parameters === parameters,
      present.buses == inputs
    {
      memory = present
    } else {
      let (channels, metered) = settings.withLock { (($0.inputs, $0.outputs), $0.metered) }
      memory = MatrixMemory(parameters, buses: inputs, inputs: channels.0, outputs: channels.1)
      for meter in metered { memory.setMetering(true, meter) }
      self.memory.withLock { $0 = memory }
    }
    return unsafe Kernel(
      call: cue_unit_kernel(
        run: { unsafe runMatrix($0, $1) }, context: UnsafeMutableRawPointer(memory.matrix)),
      owner: memory)
  }
}

/// Memory of a `Matrix`.
@safe
private final class MatrixMemory: @unchecked Sendable {
  let matrix: UnsafeMutablePointer<Matrix>
  let parameters: ParameterMemory
  let buses: Int
  private let gains: UnsafeMutablePointer<Float>
  private let banks: UnsafeMutablePointer<MeterBank>
  private let count: Int
  private let meters: [MeterMemory]
  private let hasRun: UnsafeMutablePointer<Bool>
  private let hasSound: UnsafeMutablePointer<Bool>

  init(_ parameters: ParameterMemory, buses: Int, inputs: Int, outputs: Int) {
    self.parameters = parameters
    self.buses = buses
    count = inputs + outputs
    unsafe gains = .allocate(capacity: max(1, inputs * outputs))
    unsafe gains.initialize(repeating: 0, count: inputs * outputs)
    unsafe banks = .allocate(capacity: max(1, count))
    let width = Matrix.channelParameters
    let slots = inputs * outputs + count * width + 1
    var meters: [MeterMemory] = []
    for channel in 0..<count {
      let memory = MeterMemory(channels: 1)
      meters.append(memory)
      // Behind volume and switch.
      let first = unsafe parameters.slots + inputs * outputs + channel * width + 2
      unsafe (banks + channel).initialize(to: MeterBank(memory.meters, channels: 1, first))
    }
    self.meters = meters
    unsafe hasRun = .allocate(capacity: 1)
    unsafe hasRun.initialize(to: false)
    unsafe hasSound = .allocate(capacity: max(1, buses))
    unsafe hasSound.initialize(repeating: false, count: buses)
    unsafe matrix = .allocate(capacity: 1)
    unsafe matrix.initialize(
      to: Matrix(
        slots: parameters.slots, slotCount: slots, inputChannels: inputs, outputChannels: outputs,
        gains: gains, meters: banks, hasRun: hasRun, hasSound: hasSound))
  }

  deinit {
    unsafe matrix.deinitialize(count: 1)
    unsafe matrix.deallocate()
    unsafe hasSound.deallocate()
    unsafe hasRun.deallocate()
    unsafe banks.deinitialize(count: count)
    unsafe banks.deallocate()
    unsafe gains.deallocate()
  }

  func setMetering(_ on: Bool, _ meter: Int) {
    if meter < count { unsafe banks[meter].setOn(on) }
  }
}
