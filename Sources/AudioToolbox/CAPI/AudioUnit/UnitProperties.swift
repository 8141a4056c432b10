import AudioUnits
import CAudioToolbox
import CRealTime
import CoreFoundation
import Hardware
import RealTime

/// A property of an audio unit, with its scope and element.
struct UnitProperty {
  let handle: UnitHandle
  let id: AudioUnitPropertyID
  let scope: AudioUnitScope
  let element: AudioUnitElement

  var unit: Unit { handle.unit }

  init(
    _ handle: UnitHandle, _ id: AudioUnitPropertyID, _ scope: AudioUnitScope,
    _ element: AudioUnitElement
  ) {
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
  func entry() throws(AudioUnitError) -> PropertyEntry {
    if isOfDevice { return try deviceEntry() }
    if let output = handle.output, let found = try entry(of: output) { return found }
    if let found = try busEntry() { return found }
    if let found = try sourceEntry() { return found }
    if let found = try parameterEntry() { return found }
    if let found = hostCallbackEntry() { return found }
    if let found = try mixerEntry() { return found }
    if let found = playerEntry() { return found }
    if let found = settingsEntry() { return found }
    if let found = renderEntry() { return found }
    throw .unit(.invalidProperty(id))
  }

  /// The entry of a property of renders; nil if it is none.
  private func renderEntry() -> PropertyEntry? {
    let unit = unit
    switch id {
    case kAudioUnitProperty_MaximumFramesPerSlice:
      return entry(get: { UInt32(unit.maximumFrames) }) { (frames) throws(AudioUnitError) in
        try translatingErrors { () throws(UnitError) in try unit.setMaximumFrames(Int(frames)) }
      }
    case kAudioUnitProperty_Latency: return entry(get: { Float64(unit.latencySeconds) })
    case kAudioUnitProperty_TailTime: return entry(get: { Float64(unit.tailSeconds) })
    case kAudioUnitProperty_SupportedNumChannels:
      let counts = unit.channelCounts ?? (-1, -1)
      return entry(get: {
        AUChannelInfo(inChannels: Int16(counts.inputs), outChannels: Int16(counts.outputs))
      })
    case kAudioUnitProperty_LastRenderError:
      return entry(get: { OSStatus(unsafe unit.render.pointee.takeError()) })
    case kAudioUnitProperty_OfflineRender:
      return entry(flag: unit.isOffline) { unit.setOffline($0) }
    case kAudioUnitProperty_BypassEffect:
      return unit.isBypassed.map { entry(flag: $0) { unit.setBypassed($0) } }
    case kAudioUnitProperty_RenderQuality:
      guard let quality = unit.quality else { return nil }
      return entry(get: { quality }) { (quality) throws(AudioUnitError) in
        try translatingErrors { () throws(UnitError) in try unit.setQuality(quality) }
      }
    case kAudioUnitProperty_InPlaceProcessing: return entry(flag: false) { _ in }
    case kAudioUnitProperty_ShouldAllocateBuffer: return entry(flag: true) { _ in }
    case kAUNBandEQProperty_NumberOfBands, kAUNBandEQProperty_MaxNumberOfBands:
      guard let equaliser = unit as? LV2Unit, let count = equaliser.bandCount else { return nil }
      if id == kAUNBandEQProperty_MaxNumberOfBands {
        return entry(get: { UInt32(LV2Unit.mostBands) })
      }
      return entry(get: { UInt32(count) }) { (count) throws(AudioUnitError) in
        try translatingErrors { () throws(UnitError) in try equaliser.setBandCount(Int(count)) }
      }
    default: return nil
    }
  }

  // MARK: Buses

  /// The entry of a property of a bus; nil if it is none.
  private func busEntry() throws(AudioUnitError) -> PropertyEntry? {
    // Effects and mixers have a global format, too: that of their output.
    let side = scope == kAudioUnitScope_Global ? .output : Unit.Side(rawValue: scope)
    func known() throws(AudioUnitError) -> (side: Unit.Side, bus: Unit.Bus) {
      guard let side else { throw .unit(.invalidScope(scope)) }
      return (side, try translatingErrors { () throws(UnitError) in try unit.bus(side, element) })
    }
    let (unit, element) = (unit, element)
    switch id {
    case kAudioUnitProperty_ElementCount:
      if scope == kAudioUnitScope_Global { return entry(get: { UInt32(1) }) }
      let side = try self.side()
      let get = { UInt32(unit.busCount(side)) }
      guard unit.canSetBusCount(side) else { return entry(get: get) }
      return entry(get: get) { (count) throws(AudioUnitError) in
        try translatingErrors { () throws(UnitError) in try unit.setBusCount(Int(count), side) }
      }
    case kAudioUnitProperty_StreamFormat:
      let (side, bus) = try known()
      let get = { bus.format.streamDescription }
      guard canSetFormat else { return entry(get: get) }
      return entry(get: get) { (format) throws(AudioUnitError) in try set(format, side) }
    case kAudioUnitProperty_SampleRate:
      let (side, bus) = try known()
      guard canSetFormat else { return entry(get: { bus.format.sampleRate }) }
      return entry(get: { bus.format.sampleRate }) { (rate) throws(AudioUnitError) in
        var format = bus.format.streamDescription
        format.mSampleRate = rate
        try set(format, side)
      }
    case kAudioUnitProperty_ElementName:
      let (side, bus) = try known()
      return unsafe entry(
        bytes: MemoryLayout<UInt>.size,
        get: { () throws(AudioUnitError) in
          guard let name = bus.name else { throw .unit(.notInUse("the bus has no name")) }
          return CopiedValue(string: name)
        },
        set: { (data) throws(AudioUnitError) in
          let name = unsafe try input(data, UnsafeRawPointer?.self)
          try translatingErrors { () throws(UnitError) in
            try unit.setName(unsafe HardwareRequest.string(name), side, element)
          }
        })
    case kAudioUnitProperty_AudioChannelLayout:
      let (side, bus) = try known()
      let bytes =
        bus.layout.isEmpty ? ChannelLayout(channels: bus.format.channels).bytes : bus.layout
      return unsafe entry(CopiedValue(bytes: bytes)) { (data) throws(AudioUnitError) in
        try translatingErrors { () throws(UnitError) in
          try unit.setLayout(unsafe Array(data), side, element)
        }
      }
    default: return nil
    }
  }

  /// False for the sides of an output unit that have the device's format.
  private var canSetFormat: Bool {
    handle.output == nil || (scope == kAudioUnitScope_Input) == (element == 0)
  }

  /// The entry of what supplies an input; nil if the property is none, or the unit has no inputs. Output units
  /// have one that the app supplies, whatever the element.
  private func sourceEntry() throws(AudioUnitError) -> PropertyEntry? {
    guard [kAudioUnitProperty_SetRenderCallback, kAudioUnitProperty_MakeConnection].contains(id)
    else { return nil }
    let (unit, bus) = (unit, handle.output == nil ? element : 0)
    let count = unit.busCount(.input)
    if count == 0 { return nil }
    guard bus < count else { throw .unit(.invalidElement(bus)) }
    if id == kAudioUnitProperty_MakeConnection {
      return unsafe entry(bytes: MemoryLayout<AudioUnitConnection>.size) {
        (data) throws(AudioUnitError) in try unsafe connect(data, to: bus)
      }
    }
    return unsafe callbackEntry { (proc, data) throws(AudioUnitError) in
      try translatingErrors { () throws(UnitError) in try unsafe unit.setCallback(proc, data, bus) }
    }
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
    try translatingErrors { () throws(UnitError) in try unit.setFormat(wanted, side, element) }
  }

  /// The entry of a callback, which an app also removes by passing nothing.
  private func callbackEntry(
    _ set: @escaping (cue_render_proc?, UnsafeMutableRawPointer?) throws(AudioUnitError) -> Void
  ) -> PropertyEntry {
    unsafe entry(bytes: MemoryLayout<AURenderCallbackStruct>.size) {
      (data) throws(AudioUnitError) in
      if unsafe data.isEmpty { return try set(nil, nil) }
      let value = unsafe try input(data, AURenderCallbackStruct.self)
      try unsafe set(
        value.inputProc.map { unsafe unsafeBitCast($0, to: cue_render_proc.self) },
        value.inputProcRefCon)
    }
  }

  private func connect(_ data: UnsafeRawBufferPointer, to bus: UInt32) throws(AudioUnitError) {
    var source: UnitHandle?
    var output: UInt32 = 0
    if unsafe !data.isEmpty {
      let connection = unsafe try input(data, AudioUnitConnection.self)
      if unsafe connection.sourceAudioUnit != nil {
        source = unsafe try UnitHandles.shared.unit(connection.sourceAudioUnit)
      }
      output = unsafe connection.sourceOutputNumber
    }
    try translatingErrors { () throws(UnitError) in
      try unit.connect(source?.unit, output: output, to: bus)
    }
  }

  // MARK: Output units

  /// The entry of a property of output units; nil if it is none. Element 1 records, all others play.
  private func entry(of output: OutputUnit) throws(AudioUnitError) -> PropertyEntry? {
    let isInput = element == 1
    switch id {
    case kAudioOutputUnitProperty_CurrentDevice:
      return entry(get: {
        HardwareObjects.shared.device(ofServer: output.hardware.serverName).id
      }) { (number) throws(AudioUnitError) in
        let device: DeviceObject
        do throws(HardwareError) { device = try HardwareObjects.shared.device(number) } catch {
          throw .unit(.invalidValue(error.reason))
        }
        try translatingErrors { () throws(UnitError) in try output.setHardware(device.device) }
      }
    case kAudioOutputUnitProperty_IsRunning: return entry(flag: output.isRunning)
    case kAudioUnitProperty_CPULoad: return entry(get: { Float32(output.load) })
    case kAudioOutputUnitProperty_EnableIO:
      return entry(flag: isInput ? output.records : output.plays) {
        (isOn) throws(AudioUnitError) in
        try translatingErrors { () throws(UnitError) in
          if isInput { try output.setRecords(isOn) } else { try output.setPlays(isOn) }
        }
      }
    case kAudioOutputUnitProperty_HasIO:
      return entry(
        flag: try translatingErrors { () throws(UnitError) in
          try output.hasDirection(isInput ? .input : .output)
        })
    case kAudioOutputUnitProperty_SetInputCallback:
      return unsafe callbackEntry { proc, data in unsafe output.setInputProc(proc, data) }
    case kAudioOutputUnitProperty_StartTimestampsAtZero:
      return entry(flag: output.countsFromZero) { output.setCountsFromZero($0) }
    case kAudioOutputUnitProperty_ChannelMap:
      let bus = isInput ? 1 : 0
      let count = try translatingErrors { () throws(UnitError) in
        try output.bus(.output, UInt32(bus)).format.channels
      }
      let map = output.channelMap(bus) ?? (0..<Int32(count)).map { $0 }
      return unsafe entry(CopiedValue(array: map)) { data in
        // In the global scope it does not say for which side it is.
        if scope == kAudioUnitScope_Global { return }
        let map = (0..<data.count / 4).map {
          unsafe data.loadUnaligned(fromByteOffset: 4 * $0, as: Int32.self)
        }
        output.setChannelMap(map.isEmpty ? nil : map, bus)
      }
    default: return nil
    }
  }

  // MARK: The device's properties

  /// The entry of a property of an output unit's device.
  private func deviceEntry() throws(AudioUnitError) -> PropertyEntry {
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
      let value = try hardwareValue(object, address)
      guard try isHardwareValueSettable(object, address) else { return entry(value) }
      return unsafe entry(value) { (data) throws(AudioUnitError) in
        handle.note(id, scope: scope, element: element)
        do throws(HardwareError) {
          try unsafe setHardwareValue(object, address, UInt32(data.count), data.baseAddress)
        } catch {
          throw .hardware(error)
        }
      }
    } catch {
      if case .unknownProperty = error { throw .unit(.invalidProperty(id)) }
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
