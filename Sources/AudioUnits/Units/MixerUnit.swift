import CRealTime
package import RealTime
import Synchronization

/// A mixer: any number of buses, which are added.
package final class MixerUnit: Unit, @unchecked Sendable {
  /// The mixer of the latest setup, whose gains go on where they are.
  private let memory = Mutex<MixerMemory?>(nil)
  private let levels = Mutex<MixerLevels?>(nil)

  private let law: MixerLaw
  private struct Settings {
    /// Channels of the buses and of the output for which the parameters are.
    var channels: [Int] = []
    /// The buses whose meters are on; the output's has the number -1.
    var metered: Set<Int> = []
    var distances: [Int: DistanceRange] = [:]
  }
  private let settings = Mutex(Settings())

  init(_ kind: UnitKind, _ law: MixerLaw) throws(UnitError) {
    self.law = law
    let format = try Self.standardFormat
    let buses =
      switch law {
      case .multiChannel: 1
      case .stereo: 8
      case .spatial: 64
      }
    unsafe super.init(
      kind.name, inputs: Array(repeating: format, count: buses), outputs: [format],
      Self.makeRender())
    adoptChannels()
  }

  override package func canSetBusCount(_ side: Side) -> Bool { side == .input }
  override var hasQuality: Bool { true }

  /// True for the mixers that place each bus between left and right.
  package var isStereo: Bool { law != .multiChannel }

  // MARK: Parameters

  override package func parameters(_ side: Side?, bus: Int) -> [UnitParameter] {
    guard let side else { return [] }
    let channels = settings.withLock { settings in
      let count = settings.channels.count
      let index = side == .output ? count - 1 : bus
      return index >= 0 && index < count ? settings.channels[index] : 0
    }
    return own(side) + UnitParameter.meters(channels: channels)
  }

  private func own(_ side: Side) -> [UnitParameter] {
    let volume = UnitParameter(
      id: 0, name: "volume", meaning: .linearGain, range: 0...1, standard: 1)
    switch (law, side) {
    case (.spatial, .output): return []
    case (.spatial, .input):
      return [
        UnitParameter(id: 0, name: "azimuth", meaning: .degrees, range: -180...180, standard: 0),
        UnitParameter(id: 1, name: "elevation", meaning: .degrees, range: -90...90, standard: 0),
        UnitParameter(id: 2, name: "distance", meaning: .metres, range: 0...10_000, standard: 0),
        UnitParameter(id: 3, name: "gain", meaning: .decibels, range: -120...20, standard: 0),
        UnitParameter(id: 5, name: "enable", meaning: .boolean, range: 0...1, standard: 1),
      ]
    case (_, .output): return [volume]
    case (.stereo, .input):
      return [
        volume, UnitParameter(id: 1, name: "pan", meaning: .pan, range: 0...1, standard: 0.5),
      ]
    case (.multiChannel, .input):
      return [
        volume,
        UnitParameter(id: 1, name: "enable", meaning: .boolean, range: 0...1, standard: 1),
        UnitParameter(id: 2, name: "pan", meaning: .pan, range: -1...1, standard: 0),
      ]
    }
  }

  /// Makes the parameters for the present channels: each has its meters.
  private func adoptChannels() {
    var channels: [Int] = []
    for bus in 0..<busCount(.input) {
      channels.append((try? self.bus(.input, UInt32(bus)).format.channels) ?? 0)
    }
    channels.append((try? bus(.output, 0).format.channels) ?? 0)
    let isNew = settings.withLock { settings in
      defer { settings.channels = channels }
      return settings.channels != channels
    }
    if isNew { makeParameters() }
  }

  override func busCountChanged() { adoptChannels() }

  override package func setFormat(_ format: BusFormat, _ side: Side, _ index: UInt32)
    throws(UnitError)
  {
    try super.setFormat(format, side, index)
    if !isInitialized { adoptChannels() }
  }

  override func prepare(inputs: [BusFormat], outputs: [BusFormat], maximumFrames: Int)
    throws(UnitError)
  { adoptChannels() }

  // MARK: Meters

  override package func isMetering(_ side: Side, bus: Int) -> Bool? {
    guard bus < busCount(side) else { return nil }
    return settings.withLock { $0.metered.contains(side == .output ? -1 : bus) }
  }

  override package func setMetering(_ on: Bool, _ side: Side, bus: Int) {
    let bus = side == .output ? -1 : bus
    settings.withLock { settings in
      if on { settings.metered.insert(bus) } else { settings.metered.remove(bus) }
    }
    memory.withLock { $0?.setMetering(on, bus) }
  }

  // MARK: Distances

  /// How the sound of a bus of a spatial mixer gets softer with its distance; nil for other mixers.
  package func distance(ofBus bus: Int) -> DistanceRange? {
    law == .spatial ? settings.withLock { $0.distances[bus] ?? DistanceRange() } : nil
  }

  package func setDistance(_ range: DistanceRange, ofBus bus: Int) {
    settings.withLock { $0.distances[bus] = range }
    memory.withLock { $0?.setDistance(range, bus) }
  }

  // MARK: Renders

  override func fade(_ bus: Int, out: Bool) -> Bool {
    guard let levels = levels.withLock({ $0 }), bus < levels.count - 1 else { return false }
    unsafe levels.levels[bus].fade(out: out)
    return true
  }

  override func kernel(inputs: Int) -> Kernel {
    guard let parameters = latestParameters else { preconditionFailure("no parameters") }
    let memory: MixerMemory
    if let present = self.memory.withLock({ $0 }), present.parameters === parameters {
      memory = present
    } else {
      let (channels, metered, distances) = settings.withLock {
        ($0.channels, $0.metered, $0.distances)
      }
      let levels = levels.withLock { levels in
        if levels?.count != channels.count { levels = MixerLevels(count: channels.count) }
        return levels!
      }
      memory = MixerMemory(
        law, parameters, levels, channels: channels,
        own: [own(.input).count, own(.output).count])
      for bus in metered { memory.setMetering(true, bus) }
      for (bus, range) in distances { memory.setDistance(range, bus) }
      self.memory.withLock { $0 = memory }
    }
    return unsafe Kernel(
      call: cue_unit_kernel(
        run: { unsafe runMixer($0, $1) }, context: UnsafeMutableRawPointer(memory.mixer)),
      owner: memory, switched: UnsafePointer(memory.mixer))
  }
}

/// How a sound gets softer with its distance.
package struct DistanceRange: Equatable, Sendable {
  /// Metres up to which the sound is as loud as it is.
  package var reference: Float
  /// Metres from which on it gets no softer.
  package var most: Float
  /// Decibels by which it gets softer at the most.
  package var attenuation: Float

  package init(reference: Float = 1, most: Float = 10_000, attenuation: Float = 60) {
    self.reference = reference
    self.most = most
    self.attenuation = attenuation
  }
}

extension UnitParameter {
  /// The meters of channels, in the order of their numbers: average power before the gains from 1000 on,
  /// held peak from 2000 on, and both after the gains from 3000 and 4000 on.
  static func meters(channels: Int) -> [UnitParameter] {
    [
      (1000, "pre average power"), (2000, "pre peak hold level"), (3000, "post average power"),
      (4000, "post peak hold level"),
    ].flatMap { first, name in
      (0..<channels).map { channel in
        UnitParameter(
          id: UInt32(first + channel), name: channels == 1 ? name : "\(name) \(channel + 1)",
          meaning: .decibels, range: -120...40, standard: -120, isMeter: true)
      }
    }
  }
}

/// Memory of the meters of a bus.
@safe
final class MeterMemory: @unchecked Sendable {
  let meters: UnsafeMutablePointer<MixerMeter>

  init(channels: Int) {
    unsafe meters = .allocate(capacity: max(1, 2 * channels))
    unsafe meters.initialize(repeating: MixerMeter(), count: 2 * channels)
  }

  deinit { unsafe meters.deallocate() }
}

/// The levels of a mixer's buses, and last that of its output.
@safe
private final class MixerLevels: @unchecked Sendable {
  let levels: UnsafeMutablePointer<MixerBusLevel>
  let count: Int

  init(count: Int) {
    self.count = count
    unsafe levels = .allocate(capacity: count)
    for i in 0..<count { unsafe (levels + i).initialize(to: MixerBusLevel()) }
  }

  deinit {
    unsafe levels.deinitialize(count: count)
    unsafe levels.deallocate()
  }
}

/// Memory of a `Mixer`.
@safe
private final class MixerMemory: @unchecked Sendable {
  let mixer: UnsafeMutablePointer<Mixer>
  private let buses: UnsafeMutablePointer<MixerBus>
  private let count: Int
  private let levels: MixerLevels
  private let meters: [MeterMemory]
  let parameters: ParameterMemory

  /// - Parameters:
  ///   - channels: Those of each bus, and last those of the output.
  ///   - own: Parameters of a bus, and of the output, before those of the meters.
  init(
    _ law: MixerLaw, _ parameters: ParameterMemory, _ levels: MixerLevels, channels: [Int],
    own: [Int]
  ) {
    self.parameters = parameters
    self.levels = levels
    count = channels.count
    unsafe buses = .allocate(capacity: count)
    var first = 0
    var meters: [MeterMemory] = []
    for (i, width) in channels.enumerated() {
      let memory = MeterMemory(channels: width)
      meters.append(memory)
      let ownCount = i == channels.count - 1 ? own[1] : own[0]
      let slots = unsafe parameters.slots + first
      unsafe (buses + i).initialize(
        to: MixerBus(
          slots, levels.levels + i, MeterBank(memory.meters, channels: width, slots + ownCount)))
      first += ownCount + 4 * width
    }
    self.meters = meters
    unsafe mixer = .allocate(capacity: 1)
    unsafe mixer.initialize(to: Mixer(law, buses: buses))
  }

  deinit {
    unsafe mixer.deinitialize(count: 1)
    unsafe mixer.deallocate()
    unsafe buses.deinitialize(count: count)
    unsafe buses.deallocate()
  }

  /// - Parameter bus: -1 for the output.
  func setMetering(_ on: Bool, _ bus: Int) {
    let index = bus < 0 ? count - 1 : bus
    if index < count { unsafe buses[index].meters.setOn(on) }
  }

  func setDistance(_ range: DistanceRange, _ bus: Int) {
    guard bus < count - 1 else { return }
    unsafe buses[bus].distance.set(
      reference: range.reference, most: range.most, decibels: range.attenuation)
  }
}
