import AudioUnits
import CAudioToolbox
import CRealTime
import CoreFoundation
import Hardware
import RealTime

/// A property of an audio unit, with its scope and element.
struct UnitProperty {
  typealias Entry = PropertyEntry<AudioUnitError>

  let handle: UnitHandle
  let id: AudioUnitPropertyID
  let scope: AudioUnitScope
  let element: AudioUnitElement
  let input: PropertyInput<AudioUnitError>

  var unit: Unit { handle.unit }

  init(
    _ handle: UnitHandle, _ id: AudioUnitPropertyID, _ scope: AudioUnitScope,
    _ element: AudioUnitElement, _ data: UnsafeRawPointer? = nil, _ size: UInt32 = 0
  ) {
    input = unsafe PropertyInput(id, data, size)
    self.handle = handle
    self.id = id
    self.scope = scope
    self.element = element
  }

  /// True for the properties of an output unit's device, which have four characters.
  private var isOfDevice: Bool { id > 0xFFFF }

  /// The side that the scope names.
  func side() throws(AudioUnitError) -> Unit.Side {
    if let side = Unit.Side(rawValue: scope) { return side }
    throw .unit(.invalidScope(scope))
  }

  // MARK: Entries

  /// Returns what the unit does with the property.
  ///
  /// - Throws: `invalidProperty` if that is nothing; `invalidScope` or `invalidElement` if the unit has the
  ///   property elsewhere.
  func entry() throws(AudioUnitError) -> Entry {
    if isOfDevice { return try deviceEntry() }
    if let output = handle.output, let found = try entry(of: output) { return found }
    if let found = try busEntry() { return found }
    if let found = try sourceEntry() { return found }
    if let found = try parameterEntry() { return found }
    if let found = hostCallbackEntry() { return found }
    if let found = try mixerEntry() { return found }
    if let found = playerEntry() { return found }
    if let found = try instrumentEntry() { return found }
    if let found = settingsEntry() { return found }
    if let found = renderEntry() { return found }
    throw .unit(.invalidProperty(id))
  }

  /// The entry of a property of renders; nil if it is none.
  private func renderEntry() -> Entry? {
    let unit = unit
    switch id {
    case kAudioUnitProperty_MaximumFramesPerSlice:
      return .value(UInt32(unit.maximumFrames)).setting(
        try onUnit(input.number(), unit.setMaximumFrames))
    case kAudioUnitProperty_Latency: return .value(Float64(unit.latencySeconds))
    case kAudioUnitProperty_TailTime: return .value(Float64(unit.tailSeconds))
    case kAudioUnitProperty_SupportedNumChannels:
      let counts = unit.channelCounts ?? (-1, -1)
      return .value(
        AUChannelInfo(inChannels: Int16(counts.inputs), outChannels: Int16(counts.outputs)))
    case kAudioUnitProperty_LastRenderError:
      return .value(OSStatus(unsafe unit.render.pointee.takeError()))
    case kAudioUnitProperty_OfflineRender:
      return .flag(unit.isOffline).setting(unit.setOffline(try input.flag()))
    case kAudioUnitProperty_BypassEffect:
      guard let isBypassed = unit.isBypassed else { return nil }
      return .flag(isBypassed).setting(unit.setBypassed(try input.flag()))
    case kAudioUnitProperty_RenderQuality:
      guard let quality = unit.quality else { return nil }
      return .value(quality).setting(try onUnit(input.value(), unit.setQuality))
    case kAudioUnitProperty_InPlaceProcessing:
      return .flag(false).setting(_ = try input.flag())
    case kAudioUnitProperty_ShouldAllocateBuffer:
      return .flag(true).setting(_ = try input.flag())
    case kAUNBandEQProperty_MaxNumberOfBands:
      return (unit as? LV2Unit)?.bandCount.map { _ in .value(UInt32(LV2Unit.mostBands)) }
    case kAUNBandEQProperty_NumberOfBands:
      guard let equaliser = unit as? LV2Unit, let count = equaliser.bandCount else { return nil }
      return .value(UInt32(count)).setting(try onUnit(input.number(), equaliser.setBandCount))
    default: return nil
    }
  }

  // MARK: Buses

  /// The entry of a property of a bus; nil if it is none.
  private func busEntry() throws(AudioUnitError) -> Entry? {
    // Effects and mixers have a global format, too: that of their output.
    let side = scope == kAudioUnitScope_Global ? .output : Unit.Side(rawValue: scope)
    func known() throws(AudioUnitError) -> (side: Unit.Side, bus: Unit.Bus) {
      guard let side else { throw .unit(.invalidScope(scope)) }
      return (side, try onUnit(unit.bus(side, element)))
    }
    let (unit, element) = (unit, element)
    switch id {
    case kAudioUnitProperty_ElementCount:
      if scope == kAudioUnitScope_Global { return .value(UInt32(1)) }
      let side = try self.side()
      return .value(UInt32(unit.busCount(side))).setting(
        if: unit.canSetBusCount(side),
        try onUnit(input.number()) { (count) throws(UnitError) in
          try unit.setBusCount(count, side)
        })
    case kAudioUnitProperty_StreamFormat:
      let (side, bus) = try known()
      return .value(bus.format.streamDescription).setting(
        if: canSetFormat, try set(input.value(), side))
    case kAudioUnitProperty_SampleRate:
      let (side, bus) = try known()
      return .value(bus.format.sampleRate).setting(
        if: canSetFormat, try setRate(input.value(), bus, side))
    case kAudioUnitProperty_ElementName:
      let (side, bus) = try known()
      return .string(try name(of: bus)).setting(
        try onUnit(unsafe HardwareRequest.string(input.value())) { (name) throws(UnitError) in
          try unit.setName(name, side, element)
        })
    case kAudioUnitProperty_AudioChannelLayout:
      let (side, bus) = try known()
      let bytes =
        bus.layout.isEmpty ? ChannelLayout(channels: bus.format.channels).bytes : bus.layout
      return .copied(CopiedValue(bytes: bytes)).setting(
        try onUnit(unit.setLayout(input.array(), side, element)))
    default: return nil
    }
  }

  /// False for the sides of an output unit that have the device's format.
  private var canSetFormat: Bool {
    handle.output == nil || (scope == kAudioUnitScope_Input) == (element == 0)
  }

  /// The entry of what supplies an input; nil if the property is none, or the unit has no inputs. Output units
  /// have one that the app supplies, whatever the element.
  private func sourceEntry() throws(AudioUnitError) -> Entry? {
    guard [kAudioUnitProperty_SetRenderCallback, kAudioUnitProperty_MakeConnection].contains(id)
    else { return nil }
    let (unit, bus) = (unit, handle.output == nil ? element : 0)
    let count = unit.busCount(.input)
    if count == 0 { return nil }
    guard bus < count else { throw .unit(.invalidElement(bus)) }
    if id == kAudioUnitProperty_MakeConnection {
      return .unreadable(bytes: unsafe MemoryLayout<AudioUnitConnection>.size).setting(
        try connect(to: bus))
    }
    return unsafe callbackEntry { (proc, data) throws(AudioUnitError) in
      try unsafe onUnit(unit.setCallback(proc, data, bus))
    }
  }

  private func name(of bus: Unit.Bus) throws(AudioUnitError) -> String {
    guard let name = bus.name else { throw .unit(.notInUse("the bus has no name")) }
    return name
  }

  private func setRate(_ rate: Float64, _ bus: Unit.Bus, _ side: Unit.Side) throws(AudioUnitError) {
    var format = bus.format.streamDescription
    format.mSampleRate = rate
    try set(format, side)
  }

  private func set(_ format: AudioStreamBasicDescription, _ side: Unit.Side)
    throws(AudioUnitError)
  {
    guard let wanted = BusFormat(format) else {
      throw .unit(
        .formatNotSupported(
          "'\(fourCharacters(format.mFormatID))', \(format.mBitsPerChannel) bits, "
            + "\(format.mChannelsPerFrame) channels, flags \(format.mFormatFlags), "
            + "\(format.mBytesPerFrame) bytes a frame, \(format.mSampleRate) Hz"))
    }
    try onUnit(unit.setFormat(wanted, side, element))
  }

  /// The entry of a callback, which an app also removes by passing nothing.
  private func callbackEntry(
    _ set: @escaping (cue_render_proc?, UnsafeMutableRawPointer?) throws(AudioUnitError) -> Void
  ) -> Entry {
    .unreadable(bytes: unsafe MemoryLayout<AURenderCallbackStruct>.size).setting(
      try unsafe pass(input.isEmpty ? AURenderCallbackStruct() : input.value(), to: set))
  }

  private func pass(
    _ callback: AURenderCallbackStruct,
    to set: (cue_render_proc?, UnsafeMutableRawPointer?) throws(AudioUnitError) -> Void
  ) throws(AudioUnitError) {
    try unsafe set(
      callback.inputProc.map { unsafe unsafeBitCast($0, to: cue_render_proc.self) },
      callback.inputProcRefCon)
  }

  private func connect(to bus: UInt32) throws(AudioUnitError) {
    let connection =
      unsafe input.isEmpty ? AudioUnitConnection() : try input.value(AudioUnitConnection.self)
    let source =
      unsafe connection.sourceAudioUnit == nil
      ? nil : try UnitHandles.shared.unit(connection.sourceAudioUnit)
    let output = unsafe connection.sourceOutputNumber
    try onUnit(unit.connect(source?.unit, output: output, to: bus))
  }

  // MARK: Output units

  /// The entry of a property of output units; nil if it is none. Element 1 records, all others play.
  private func entry(of output: OutputUnit) throws(AudioUnitError) -> Entry? {
    let isInput = element == 1
    switch id {
    case kAudioOutputUnitProperty_CurrentDevice:
      return .value(HardwareObjects.shared.device(ofServer: output.hardware.serverName).id).setting(
        try setDevice(input.value(), output))
    case kAudioOutputUnitProperty_IsRunning: return .flag(output.isRunning)
    case kAudioUnitProperty_CPULoad: return .value(Float32(output.load))
    case kAudioOutputUnitProperty_EnableIO:
      return .flag(isInput ? output.records : output.plays).setting(
        try onUnit(input.flag(), isInput ? output.setRecords : output.setPlays))
    case kAudioOutputUnitProperty_HasIO:
      let hasIO = try onUnit(output.hasDirection(isInput ? .input : .output))
      return .flag(hasIO)
    case kAudioOutputUnitProperty_SetInputCallback:
      return unsafe callbackEntry { proc, data in unsafe output.setInputProc(proc, data) }
    case kAudioOutputUnitProperty_StartTimestampsAtZero:
      return .flag(output.countsFromZero).setting(output.setCountsFromZero(try input.flag()))
    case kAudioOutputUnitProperty_ChannelMap:
      let bus = isInput ? 1 : 0
      let count = try onUnit(output.bus(.output, UInt32(bus)).format.channels)
      let map = output.channelMap(bus) ?? (0..<Int32(count)).map { $0 }
      return .copied(CopiedValue(array: map)).setting(setChannelMap(input.array(), output, bus))
    default: return nil
    }
  }

  private func setDevice(_ number: AudioObjectID, _ output: OutputUnit) throws(AudioUnitError) {
    let device: DeviceObject
    do throws(HardwareError) { device = try HardwareObjects.shared.device(number) } catch {
      throw .unit(.invalidValue(error.reason))
    }
    try onUnit(output.setHardware(device.device))
  }

  private func setChannelMap(_ map: [Int32], _ output: OutputUnit, _ bus: Int) {
    // In the global scope it does not say for which side it is.
    if scope == kAudioUnitScope_Global { return }
    output.setChannelMap(map.isEmpty ? nil : map, bus)
  }

  // MARK: The device's properties

  /// The entry of a property of an output unit's device.
  private func deviceEntry() throws(AudioUnitError) -> Entry {
    guard let output = handle.output else { throw .unit(.invalidProperty(id)) }
    let object = HardwareObjects.shared.device(ofServer: output.hardware.serverName).id
    let direction: AudioObjectPropertyScope =
      switch scope {
      case kAudioUnitScope_Input: kAudioObjectPropertyScopeInput
      case kAudioUnitScope_Output: kAudioObjectPropertyScopeOutput
      default: kAudioObjectPropertyScopeGlobal
      }
    let address = AudioObjectPropertyAddress(mSelector: id, mScope: direction, mElement: 0)
    do throws(HardwareError) {
      let request = unsafe HardwareRequest(object, address)
      let value = try request.value()
      return .copied(value).setting(if: try request.isSettable, try setOfDevice(object, address))
    } catch {
      if case .unknownProperty = error { throw .unit(.invalidProperty(id)) }
      throw .hardware(error)
    }
  }

  private func setOfDevice(_ object: AudioObjectID, _ address: AudioObjectPropertyAddress)
    throws(AudioUnitError)
  {
    handle.note(id, scope: scope, element: element)
    do throws(HardwareError) {
      try unsafe HardwareRequest(
        object, address, data: input.bytes.baseAddress, dataBytes: UInt32(input.byteCount)
      ).set()
    } catch {
      throw .hardware(error)
    }
  }
}

extension BusFormat {
  /// The Core Audio description.
  var streamDescription: AudioStreamBasicDescription {
    var description: AudioStreamBasicDescription
    if isInterleaved {
      description = pcm.streamDescription
    } else {
      var one = pcm
      one.channels = 1
      description = one.streamDescription
      description.mChannelsPerFrame = UInt32(pcm.channels)
      description.mFormatFlags |= kAudioFormatFlagIsNonInterleaved
    }
    description.mFormatFlags |= AudioFormatFlags(
      UInt32(fractionBits) << kLinearPCMFormatFlagsSampleFractionShift)
    return description
  }

  /// Nil if the description is not linear PCM that a unit can convert.
  init?(_ description: AudioStreamBasicDescription) {
    var buffer = description
    let flags = description.mFormatFlags
    let isInterleaved =
      flags & kAudioFormatFlagIsNonInterleaved == 0 || description.mChannelsPerFrame == 1
    if !isInterleaved { buffer.mChannelsPerFrame = 1 }
    let fraction =
      (flags & kLinearPCMFormatFlagsSampleFractionMask) >> kLinearPCMFormatFlagsSampleFractionShift
    buffer.mFormatFlags &=
      ~(kAudioFormatFlagIsNonInterleaved | kLinearPCMFormatFlagsSampleFractionMask)
    // A flag on floats of older programs.
    if flags & kAudioFormatFlagIsFloat != 0 {
      buffer.mFormatFlags &= ~kAudioFormatFlagIsSignedInteger
    }
    guard var pcm = PCMFormat(buffer) else { return nil }
    pcm.channels = Int(description.mChannelsPerFrame)
    // One channel is the same either way, and is told as it was set.
    self.init(
      pcm, isInterleaved: flags & kAudioFormatFlagIsNonInterleaved == 0,
      fractionBits: Int(fraction))
  }
}
