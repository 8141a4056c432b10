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

  var unknown: AudioUnitError { .unit(.invalidProperty(id)) }

  // MARK: Reading

  func byteCount() throws(AudioUnitError) -> Int {
    if isOfDevice {
      let (object, address) = try device()
      do throws(HardwareError) { return try hardwareSize(object, address) } catch {
        throw .hardware(error)
      }
    }
    switch id {
    case kAudioUnitProperty_SetRenderCallback, kAudioOutputUnitProperty_SetInputCallback:
      return unsafe MemoryLayout<AURenderCallbackStruct>.size
    case kAudioUnitProperty_MakeConnection: return unsafe MemoryLayout<AudioUnitConnection>.size
    case kAudioUnitProperty_ScheduleAudioSlice: return unsafe MemoryLayout<ScheduledAudioSlice>.size
    case kAudioUnitProperty_ScheduledFileRegion:
      return unsafe MemoryLayout<ScheduledAudioFileRegion>.size
    case kAudioUnitProperty_ScheduledFilePrime: return MemoryLayout<UInt32>.size
    case kAudioUnitProperty_ElementName, kAudioUnitProperty_ClassInfo:
      return MemoryLayout<UInt>.size
    case kAudioUnitProperty_FactoryPresets:
      guard !unit.presets.isEmpty else { throw unknown }
      return MemoryLayout<UInt>.size
    case kAudioUnitProperty_ParameterStringFromValue:
      return unsafe MemoryLayout<CAudioToolbox.AudioUnitParameterStringFromValue>.size
    case kAudioUnitProperty_ParameterValueFromString:
      return unsafe MemoryLayout<CAudioToolbox.AudioUnitParameterValueFromString>.size
    case kAudioUnitProperty_ParameterClumpName:
      return unsafe MemoryLayout<AudioUnitParameterNameInfo>.size
    default: return try value().byteCount
    }
  }

  /// Returns the value.
  func value() throws(AudioUnitError) -> CopiedValue {
    if isOfDevice { return try deviceValue() }
    if let output = handle.output, let value = try outputValue(output) { return value }
    switch id {
    case kAudioUnitProperty_StreamFormat: return CopiedValue(try bus().format.streamDescription)
    case kAudioUnitProperty_SampleRate: return CopiedValue(try bus().format.sampleRate)
    case kAudioUnitProperty_ElementCount:
      return CopiedValue(UInt32(scope == kAudioUnitScope_Global ? 1 : unit.busCount(try side())))
    case kAudioUnitProperty_MaximumFramesPerSlice: return CopiedValue(UInt32(unit.maximumFrames))
    case kAudioUnitProperty_Latency: return CopiedValue(Float64(unit.latencySeconds))
    case kAudioUnitProperty_TailTime: return CopiedValue(Float64(unit.tailSeconds))
    case kAudioUnitProperty_SupportedNumChannels:
      let counts = unit.channelCounts ?? (-1, -1)
      return CopiedValue(array: [
        AUChannelInfo(inChannels: Int16(counts.inputs), outChannels: Int16(counts.outputs))
      ])
    case kAudioUnitProperty_LastRenderError:
      return CopiedValue(OSStatus(unsafe unit.render.pointee.takeError()))
    case kAudioUnitProperty_OfflineRender: return CopiedValue(UInt32(unit.isOffline ? 1 : 0))
    case kAudioUnitProperty_BypassEffect:
      guard let isBypassed = unit.isBypassed else { throw unknown }
      return CopiedValue(UInt32(isBypassed ? 1 : 0))
    case kAudioUnitProperty_RenderQuality:
      guard let quality = unit.quality else { throw unknown }
      return CopiedValue(quality)
    case kAudioUnitProperty_InPlaceProcessing: return CopiedValue(UInt32(0))
    case kAudioUnitProperty_ShouldAllocateBuffer: return CopiedValue(UInt32(1))
    case kAUNBandEQProperty_NumberOfBands, kAUNBandEQProperty_MaxNumberOfBands:
      guard let count = (unit as? LV2Unit)?.bandCount else { throw unknown }
      return CopiedValue(
        UInt32(id == kAUNBandEQProperty_NumberOfBands ? count : LV2Unit.mostBands))
    case kAudioUnitProperty_ClassInfo: return try classInfo()
    case kAudioUnitProperty_FactoryPresets: return try factoryPresets()
    case kAudioUnitProperty_PresentPreset: return presentPreset()
    case kAudioUnitProperty_CurrentPreset: return currentPreset()
    case kAudioUnitProperty_ParameterValueStrings: return try valueNames()
    case kAudioUnitProperty_ParameterList:
      return CopiedValue(array: unit.parameters(scope: scope, bus: Int(element)).map(\.id))
    case kAudioUnitProperty_ParameterInfo: return try parameterInfo()
    case kAudioUnitProperty_ElementName:
      guard let name = try bus().name else { throw .unit(.notInUse("the bus has no name")) }
      return CopiedValue(string: name)
    case kAudioUnitProperty_AudioChannelLayout:
      let bus = try bus()
      return bus.layout.isEmpty
        ? CopiedValue(bytes: ChannelLayout(channels: bus.format.channels).bytes)
        : CopiedValue(bytes: bus.layout)
    default:
      if let value = hostCallbacks() { return value }
      if let value = try mixerValue() { return value }
      if let value = playerValue() { return value }
      throw unknown
    }
  }

  private func bus() throws(AudioUnitError) -> Unit.Bus {
    // Effects and mixers have a global format, too: that of their output.
    let side = scope == kAudioUnitScope_Global ? .output : try side()
    return try asking { () throws(UnitError) in try unit.bus(side, element) }
  }

  // MARK: Writing

  func isWritable() throws(AudioUnitError) -> Bool {
    if isOfDevice {
      let (object, address) = try device()
      do throws(HardwareError) { return try isHardwareValueSettable(object, address) } catch {
        throw .hardware(error)
      }
    }
    switch id {
    case kAudioUnitProperty_StreamFormat, kAudioUnitProperty_SampleRate:
      // The device's sides of an output unit.
      if handle.output == nil { return true }
      return (scope == kAudioUnitScope_Input) == (element == 0)
    case kAudioUnitProperty_ElementCount:
      return Unit.Side(rawValue: scope).map { unit.canSetBusCount($0) } ?? false
    case kAudioUnitProperty_Latency, kAudioUnitProperty_TailTime,
      kAudioUnitProperty_SupportedNumChannels, kAudioUnitProperty_LastRenderError,
      kAudioUnitProperty_ParameterList, kAudioUnitProperty_ParameterInfo,
      kAudioUnitProperty_FactoryPresets, kAudioUnitProperty_ParameterValueStrings,
      kAudioUnitProperty_ParameterStringFromValue, kAudioUnitProperty_ParameterValueFromString,
      kAudioUnitProperty_ParameterClumpName, kAUNBandEQProperty_MaxNumberOfBands,
      kAudioOutputUnitProperty_IsRunning, kAudioOutputUnitProperty_HasIO,
      kAudioUnitProperty_CPULoad, kAudioUnitProperty_MatrixLevels,
      kAudioUnitProperty_MatrixDimensions, kAudioUnitProperty_CurrentPlayTime,
      kAudioUnitProperty_SupportedChannelLayoutTags:
      return false
    default: return true
    }
  }

  /// Returns a value that the app has passed.
  func input<Value: BitwiseCopyable>(_ data: UnsafeRawBufferPointer, _ type: Value.Type)
    throws(AudioUnitError) -> Value
  {
    guard data.count >= MemoryLayout<Value>.size else {
      throw .badArgument(
        "the property \(id) has \(MemoryLayout<Value>.size) bytes, not \(data.count)")
    }
    return unsafe data.loadUnaligned(as: type)
  }

  func set(_ data: UnsafeRawBufferPointer) throws(AudioUnitError) {
    if isOfDevice { return try unsafe setDeviceValue(data) }
    if let output = handle.output, try unsafe setOutputValue(output, data) { return }
    switch id {
    case kAudioUnitProperty_StreamFormat:
      try set(format: unsafe try input(data, AudioStreamBasicDescription.self))
    case kAudioUnitProperty_SampleRate:
      var format = try bus().format.streamDescription
      format.mSampleRate = unsafe try input(data, Float64.self)
      try set(format: format)
    case kAudioUnitProperty_ElementCount:
      let count = unsafe try input(data, UInt32.self)
      let side = try side()
      try asking { () throws(UnitError) in try unit.setBusCount(Int(count), side) }
    case kAudioUnitProperty_MaximumFramesPerSlice:
      let frames = unsafe try input(data, UInt32.self)
      try asking { () throws(UnitError) in try unit.setMaximumFrames(Int(frames)) }
    case kAudioUnitProperty_SetRenderCallback:
      let callback = unsafe try callback(data)
      try asking { () throws(UnitError) in
        try unsafe unit.setCallback(
          callback.proc, callback.data, handle.output == nil ? element : 0)
      }
    case kAudioUnitProperty_MakeConnection: try unsafe connect(data)
    case kAudioUnitProperty_ShouldAllocateBuffer, kAudioUnitProperty_InPlaceProcessing:
      _ = unsafe try input(data, UInt32.self)
    case kAudioUnitProperty_OfflineRender:
      unit.setOffline(unsafe try input(data, UInt32.self) != 0)
    case kAudioUnitProperty_RenderQuality:
      if unit.quality == nil { throw unknown }
      let quality = unsafe try input(data, UInt32.self)
      try asking { () throws(UnitError) in try unit.setQuality(quality) }
    case kAudioUnitProperty_BypassEffect:
      if unit.isBypassed == nil { throw unknown }
      unit.setBypassed(unsafe try input(data, UInt32.self) != 0)
    case kAUNBandEQProperty_NumberOfBands:
      guard let equaliser = unit as? LV2Unit, equaliser.bandCount != nil else { throw unknown }
      let count = unsafe try input(data, UInt32.self)
      try asking { () throws(UnitError) in try equaliser.setBandCount(Int(count)) }
    case kAudioUnitProperty_ClassInfo: try unsafe setClassInfo(data)
    case kAudioUnitProperty_PresentPreset, kAudioUnitProperty_CurrentPreset:
      try unsafe setPresentPreset(data)
    case kAudioUnitProperty_ElementName:
      let name = unsafe try input(data, UnsafeRawPointer?.self)
      let side = try side()
      try asking { () throws(UnitError) in
        try unit.setName(unsafe HardwareRequest.string(name), side, element)
      }
    case kAudioUnitProperty_AudioChannelLayout:
      let side = try side()
      try asking { () throws(UnitError) in try unit.setLayout(unsafe Array(data), side, element) }
    case kAudioUnitProperty_Latency, kAudioUnitProperty_TailTime,
      kAudioUnitProperty_SupportedNumChannels, kAudioUnitProperty_LastRenderError,
      kAudioUnitProperty_ParameterList, kAudioUnitProperty_ParameterInfo,
      kAudioUnitProperty_FactoryPresets, kAudioUnitProperty_ParameterValueStrings,
      kAudioUnitProperty_ParameterStringFromValue, kAudioUnitProperty_ParameterValueFromString,
      kAudioUnitProperty_ParameterClumpName, kAUNBandEQProperty_MaxNumberOfBands,
      kAudioUnitProperty_CPULoad, kAudioUnitProperty_MatrixLevels,
      kAudioUnitProperty_MatrixDimensions, kAudioUnitProperty_CurrentPlayTime,
      kAudioUnitProperty_SupportedChannelLayoutTags:
      throw .unit(.notWritable("the property \(id) cannot be set"))
    default:
      if try unsafe setHostCallbacks(data) { return }
      if try unsafe setMixerValue(data) { return }
      if try unsafe setPlayerValue(data) { return }
      throw unknown
    }
  }

  private func set(format: AudioStreamBasicDescription) throws(AudioUnitError) {
    guard let wanted = BusFormat(format) else {
      throw .unit(
        .formatNotSupported(
          "'\(fourCharacters(format.mFormatID))', \(format.mBitsPerChannel) bits, "
            + "\(format.mChannelsPerFrame) channels, flags \(format.mFormatFlags), "
            + "\(format.mBytesPerFrame) bytes a frame, \(format.mSampleRate) Hz"))
    }
    let side = scope == kAudioUnitScope_Global ? .output : try side()
    try asking { () throws(UnitError) in try unit.setFormat(wanted, side, element) }
  }

  /// Returns a callback that the app has passed; without a function if it has passed nothing.
  private func callback(_ data: UnsafeRawBufferPointer) throws(AudioUnitError)
    -> (proc: cue_render_proc?, data: UnsafeMutableRawPointer?)
  {
    if unsafe data.isEmpty { return (nil, nil) }
    let value = unsafe try input(data, AURenderCallbackStruct.self)
    return unsafe (
      value.inputProc.map { unsafe unsafeBitCast($0, to: cue_render_proc.self) },
      value.inputProcRefCon
    )
  }

  private func connect(_ data: UnsafeRawBufferPointer) throws(AudioUnitError) {
    var source: UnitHandle?
    var output: UInt32 = 0
    if unsafe !data.isEmpty {
      let connection = unsafe try input(data, AudioUnitConnection.self)
      if unsafe connection.sourceAudioUnit != nil {
        source = unsafe try UnitHandles.shared.unit(connection.sourceAudioUnit)
      }
      output = unsafe connection.sourceOutputNumber
    }
    let bus = handle.output == nil ? element : 0
    try asking { () throws(UnitError) in
      try unit.connect(source?.unit, output: output, to: bus)
    }
  }

  // MARK: Output units

  /// Element 1 records, all others play. The input's scope means recording, too, in EnableIO.
  private func outputValue(_ output: OutputUnit) throws(AudioUnitError) -> CopiedValue? {
    switch id {
    case kAudioOutputUnitProperty_CurrentDevice:
      return CopiedValue(
        HardwareObjects.shared.device(ofServer: output.hardware.serverName).id)
    case kAudioOutputUnitProperty_IsRunning:
      return CopiedValue(UInt32(output.isRunning ? 1 : 0))
    case kAudioUnitProperty_CPULoad: return CopiedValue(Float32(output.load))
    case kAudioOutputUnitProperty_EnableIO:
      return CopiedValue(UInt32((element == 1 ? output.records : output.plays) ? 1 : 0))
    case kAudioOutputUnitProperty_HasIO:
      let side: Unit.Side = element == 1 ? .input : .output
      let has = try asking { () throws(UnitError) in try output.hasDirection(side) }
      return CopiedValue(UInt32(has ? 1 : 0))
    case kAudioOutputUnitProperty_StartTimestampsAtZero:
      return CopiedValue(UInt32(output.countsFromZero ? 1 : 0))
    case kAudioOutputUnitProperty_ChannelMap:
      let bus = element == 1 ? 1 : 0
      if let map = output.channelMap(bus) { return CopiedValue(array: map) }
      let count = try asking { () throws(UnitError) in
        try output.bus(.output, UInt32(bus)).format.channels
      }
      return CopiedValue(array: (0..<Int32(count)).map { $0 })
    default: return nil
    }
  }

  /// - Returns: False if the property is not one of output units.
  private func setOutputValue(_ output: OutputUnit, _ data: UnsafeRawBufferPointer)
    throws(AudioUnitError) -> Bool
  {
    switch id {
    case kAudioOutputUnitProperty_CurrentDevice:
      let number = unsafe try input(data, AudioObjectID.self)
      let device: DeviceObject
      do throws(HardwareError) { device = try HardwareObjects.shared.device(number) } catch {
        throw .unit(.invalidValue(error.reason))
      }
      try asking { () throws(UnitError) in try output.setHardware(device.device) }
    case kAudioOutputUnitProperty_EnableIO:
      let isOn = unsafe try input(data, UInt32.self) != 0
      try asking { () throws(UnitError) in
        if element == 1 { try output.setRecords(isOn) } else { try output.setPlays(isOn) }
      }
    case kAudioOutputUnitProperty_SetInputCallback:
      let callback = unsafe try callback(data)
      unsafe output.setInputProc(callback.proc, callback.data)
    case kAudioOutputUnitProperty_StartTimestampsAtZero:
      output.setCountsFromZero(unsafe try input(data, UInt32.self) != 0)
    case kAudioOutputUnitProperty_ChannelMap:
      // In the global scope it does not say for which side it is.
      if scope == kAudioUnitScope_Global { return true }
      let count = data.count / 4
      let map = (0..<count).map {
        unsafe data.loadUnaligned(fromByteOffset: 4 * $0, as: Int32.self)
      }
      output.setChannelMap(map.isEmpty ? nil : map, element == 1 ? 1 : 0)
    case kAudioOutputUnitProperty_IsRunning, kAudioOutputUnitProperty_HasIO:
      throw .unit(.notWritable("the property \(id) cannot be set"))
    default: return false
    }
    return true
  }

  // MARK: The device's properties

  private func device() throws(AudioUnitError) -> (AudioObjectID, AudioObjectPropertyAddress) {
    guard let output = handle.output else { throw unknown }
    let object = HardwareObjects.shared.device(ofServer: output.hardware.serverName).id
    let direction: AudioObjectPropertyScope =
      switch scope {
      case kAudioUnitScope_Input: kAudioObjectPropertyScopeInput
      case kAudioUnitScope_Output: kAudioObjectPropertyScopeOutput
      default: kAudioObjectPropertyScopeGlobal
      }
    return (
      object,
      AudioObjectPropertyAddress(mSelector: id, mScope: direction, mElement: 0)
    )
  }

  private func deviceValue() throws(AudioUnitError) -> CopiedValue {
    let (object, address) = try device()
    do throws(HardwareError) { return try hardwareValue(object, address) } catch {
      throw .hardware(error)
    }
  }

  private func setDeviceValue(_ data: UnsafeRawBufferPointer) throws(AudioUnitError) {
    let (object, address) = try device()
    handle.note(id, scope: scope, element: element)
    do throws(HardwareError) {
      try unsafe setHardwareValue(object, address, UInt32(data.count), data.baseAddress)
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
