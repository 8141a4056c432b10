import CAudioToolbox
import Glibc
import Hardware
import RealTime
import Server
import System

/// Properties of devices and their streams.
struct DeviceProperties {
  let object: DeviceObject
  private var device: HardwareDevice { object.device }

  init(_ object: DeviceObject) { self.object = object }

  private var facts: HardwareFacts {
    get throws(HardwareError) {
      do throws(ServerError) { return try device.facts } catch { throw .server(error) }
    }
  }

  private func translatingErrors<R>(_ body: () throws(ServerError) -> R) throws(HardwareError) -> R
  {
    do throws(ServerError) { return try body() } catch { throw .server(error) }
  }

  private func channels(_ scope: HardwareScope) throws(HardwareError) -> Int {
    let facts = try facts
    switch scope {
    case .input: return facts.inputs
    case .output: return facts.outputs
    case .global: return facts.outputs > 0 ? facts.outputs : facts.inputs
    }
  }

  private func streams(_ scope: HardwareScope) throws(HardwareError) -> [AudioStreamID] {
    let facts = try facts
    let input = facts.inputs > 0 && scope != .output ? [object.inputStream] : []
    let output = facts.outputs > 0 && scope != .input ? [object.outputStream] : []
    return output + input
  }

  // MARK: Reading

  /// Returns the value of a property of the device.
  func value(_ request: HardwareRequest) throws(HardwareError) -> CopiedValue {
    if let value = try identity(request) { return value }
    if let value = try timing(request) { return value }
    if let value = try volume(request) { return value }
    if let value = try layout(request) { return value }
    if let value = try formats(request, scope: request.scope) { return value }
    throw .unknownProperty(request.selector, object.id)
  }

  private var name: String { PipeWire.isLibrary ? "PipeWire" : "JACK: \(device.serverName)" }
  private var manufacturer: String { PipeWire.isLibrary ? "PipeWire" : "JACK" }

  private func identity(_ request: HardwareRequest) throws(HardwareError) -> CopiedValue? {
    switch request.selector {
    case kAudioObjectPropertyBaseClass: CopiedValue(kAudioObjectClassID)
    case kAudioObjectPropertyClass: CopiedValue(kAudioDeviceClassID)
    case kAudioObjectPropertyOwner: CopiedValue(AudioObjectID(kAudioObjectSystemObject))
    case kAudioObjectPropertyName, kAudioObjectPropertyModelName: CopiedValue(string: name)
    case kAudioDevicePropertyDeviceName: CopiedValue(cString: name)
    case kAudioObjectPropertyManufacturer: CopiedValue(string: manufacturer)
    case kAudioDevicePropertyDeviceManufacturer: CopiedValue(cString: manufacturer)
    case kAudioDevicePropertyDeviceUID: CopiedValue(string: object.uid)
    case kAudioDevicePropertyModelUID: CopiedValue(string: manufacturer)
    case kAudioDevicePropertyConfigurationApplication: CopiedValue(string: "qjackctl")
    case kAudioDevicePropertyTransportType:
      CopiedValue(UInt32(kAudioDeviceTransportTypeUnknown))
    case kAudioDevicePropertyRelatedDevices: CopiedValue(array: [object.id])
    case kAudioDevicePropertyClockDomain, kAudioDevicePropertyIsHidden,
      kAudioDevicePropertyDeviceHasChanged, kAudioDeviceProcessorOverload:
      CopiedValue(UInt32(0))
    case kAudioDevicePropertyDeviceIsAlive: CopiedValue(UInt32(isAlive ? 1 : 0))
    case kAudioDevicePropertyDeviceIsRunning: CopiedValue(UInt32(device.isRunning ? 1 : 0))
    case kAudioDevicePropertyDeviceIsRunningSomewhere:
      CopiedValue(
        UInt32(
          try translatingErrors { () throws(ServerError) in try device.open().client.cardIsInUse }
            ? 1 : 0))
    case kAudioDevicePropertyDeviceCanBeDefaultDevice,
      kAudioDevicePropertyDeviceCanBeDefaultSystemDevice:
      CopiedValue(UInt32(object.isDefault ? 1 : 0))
    case kAudioDevicePropertyHogMode: CopiedValue(device.hogProcess)
    case kAudioObjectPropertyControlList: CopiedValue(array: [AudioObjectID]())
    case kAudioDevicePropertyDataSource: CopiedValue(Self.ports)
    case kAudioDevicePropertyDataSources: CopiedValue(array: [Self.ports])
    case kAudioDevicePropertyDataSourceNameForIDCFString: try sourceName(request)
    case kAudioDevicePropertySupportsMixing: CopiedValue(UInt32(1))
    default: nil
    }
  }

  /// The only data source: the sound card's ports.
  private static let ports: UInt32 = 0x706f_7274  // 'port'

  private func sourceName(_ request: HardwareRequest) throws(HardwareError) -> CopiedValue {
    if unsafe request.data.isEmpty {
      return CopiedValue(bytes: [UInt8](repeating: 0, count: MemoryLayout<Translation>.size))
    }
    let translation = try request.input(Translation.self)
    guard let output = unsafe translation.output,
      translation.outputBytes >= MemoryLayout<UInt>.size
    else { throw .badArgument("the translation has no room for its output") }
    let memory = unsafe UnsafeMutableRawBufferPointer(
      start: output, count: Int(translation.outputBytes))
    let text = request.scope == .input ? "Capture ports" : "Playback ports"
    _ = unsafe CopiedValue(string: text).write(to: memory)
    return CopiedValue(translation)
  }

  private var isAlive: Bool {
    device.isAlive
      && HardwareObjects.shared.reachable.contains { $0.id == object.id }
  }

  private func timing(_ request: HardwareRequest) throws(HardwareError) -> CopiedValue? {
    switch request.selector {
    case kAudioDevicePropertyNominalSampleRate, kAudioDevicePropertyActualSampleRate:
      return CopiedValue(try facts.sampleRate)
    case kAudioDevicePropertyAvailableNominalSampleRates:
      let rate = try facts.sampleRate
      return CopiedValue(array: [AudioValueRange(mMinimum: rate, mMaximum: rate)])
    case kAudioDevicePropertyBufferFrameSize:
      return CopiedValue(
        UInt32(try translatingErrors { () throws(ServerError) in try device.bufferFrames }))
    case kAudioDevicePropertyBufferFrameSizeRange:
      return CopiedValue(Self.range(HardwareDevice.bufferFrameRange, times: 1))
    case kAudioDevicePropertyBufferSize:
      let bytes = 4 * (try channels(request.scope))
      return CopiedValue(
        UInt32(try translatingErrors { () throws(ServerError) in try device.bufferFrames } * bytes))
    case kAudioDevicePropertyBufferSizeRange:
      return CopiedValue(
        Self.range(HardwareDevice.bufferFrameRange, times: 4 * (try channels(request.scope))))
    case kAudioDevicePropertyUsesVariableBufferFrameSizes, kAudioDevicePropertySafetyOffset:
      return CopiedValue(UInt32(0))
    case kAudioDevicePropertyIOCycleUsage: return CopiedValue(Float32(1))
    case kAudioDevicePropertyLatency:
      let facts = try facts
      if request.scope == .input { return CopiedValue(UInt32(facts.inputLatency)) }
      let added = try translatingErrors { () throws(ServerError) in try device.addedLatency }
      return CopiedValue(UInt32(facts.outputLatency + added))
    default: return nil
    }
  }

  private static func range(_ range: ClosedRange<Int>, times factor: Int) -> AudioValueRange {
    AudioValueRange(
      mMinimum: Double(range.lowerBound * factor), mMaximum: Double(range.upperBound * factor))
  }

  private func volume(_ request: HardwareRequest) throws(HardwareError) -> CopiedValue? {
    switch request.selector {
    case kAudioDevicePropertyVolumeScalarToDecibels:
      return CopiedValue(
        unsafe request.data.isEmpty ? 0 : Self.decibels(try request.input(Float32.self)))
    case kAudioDevicePropertyVolumeDecibelsToScalar:
      return CopiedValue(
        unsafe request.data.isEmpty ? 0 : Self.scalar(try request.input(Float32.self)))
    default: break
    }
    guard request.scope != .input, try facts.outputs > 0 else { return nil }
    switch request.selector {
    case kAudioDevicePropertyVolumeScalar,
      kAudioHardwareServiceDeviceProperty_VirtualMainVolume:
      return CopiedValue(device.volume)
    case kAudioDevicePropertyVolumeDecibels: return CopiedValue(Self.decibels(device.volume))
    case kAudioDevicePropertyVolumeRangeDecibels:
      return CopiedValue(AudioValueRange(mMinimum: Double(Self.leastDecibels), mMaximum: 0))
    case kAudioDevicePropertyMute: return CopiedValue(UInt32(device.isMute ? 1 : 0))
    default: return nil
    }
  }

  private static let leastDecibels: Float32 = -96

  /// Returns a gain in dB, not less than `leastDecibels`.
  private static func decibels(_ scalar: Float32) -> Float32 {
    min(0, System.decibels(scalar, atLeast: leastDecibels))
  }

  private static func scalar(_ decibels: Float32) -> Float32 {
    decibels <= leastDecibels ? 0 : factor(decibels: Double(min(decibels, 0)))
  }

  private func layout(_ request: HardwareRequest) throws(HardwareError) -> CopiedValue? {
    switch request.selector {
    case kAudioDevicePropertyStreams: return CopiedValue(array: try streams(request.scope))
    case kAudioObjectPropertyOwnedObjects:
      return CopiedValue(array: request.keeps(kAudioStreamClassID) ? try streams(.global) : [])
    case kAudioDevicePropertyStreamConfiguration:
      let count = try channels(request.scope)
      return CopiedValue(bytes: Self.configuration(channels: count))
    case kAudioDevicePropertyPreferredChannelsForStereo:
      let count = try channels(request.scope)
      return count == 0 ? nil : CopiedValue(array: [UInt32(1), UInt32(min(2, count))])
    case kAudioDevicePropertyPreferredChannelLayout:
      let count = try channels(request.scope)
      return count == 0 ? nil : CopiedValue(bytes: ChannelLayout(channels: count).bytes)
    case kAudioObjectPropertyElementName, kAudioDevicePropertyChannelName:
      return try channelName(request)
    case kAudioDevicePropertyIOProcStreamUsage: return try usage(request)
    default: return nil
    }
  }

  /// Returns the bytes of an AudioBufferList: one buffer of `channels` channels, or none.
  private static func configuration(channels: Int) -> [UInt8] {
    let words = channels == 0 ? [UInt32(0), 0] : [1, 0, UInt32(channels), 0, 0, 0]
    return unsafe words.withUnsafeBytes { unsafe Array($0) }
  }

  private func channelName(_ request: HardwareRequest) throws(HardwareError) -> CopiedValue? {
    let client = try translatingErrors { () throws(ServerError) in try device.open().client }
    let names = request.scope == .input ? client.physicalInputs : client.physicalOutputs
    guard names.indices.contains(Int(request.element) - 1) else { return nil }
    let name = names[Int(request.element) - 1]
    return request.selector == kAudioDevicePropertyChannelName
      ? CopiedValue(cString: name) : CopiedValue(string: name)
  }

  private static var usageBytes: Int { unsafe MemoryLayout<AudioHardwareIOProcStreamUsage>.size }

  private func usage(_ request: HardwareRequest) throws(HardwareError) -> CopiedValue {
    if unsafe request.data.isEmpty {
      return CopiedValue(bytes: [UInt8](repeating: 0, count: Self.usageBytes))
    }
    let (proc, _) = try usageProc(request)
    var usage = unsafe try request.input(AudioHardwareIOProcStreamUsage.self)
    unsafe usage.mNumberStreams = 1
    let isOn = request.scope == .input ? proc.function.usesInput : proc.function.usesOutput
    unsafe usage.mStreamIsOn = isOn ? 1 : 0
    return unsafe CopiedValue(usage)
  }

  private func usageProc(_ request: HardwareRequest) throws(HardwareError) -> (IOProc, Bool) {
    let usage = unsafe try request.input(AudioHardwareIOProcStreamUsage.self)
    let proc = try IOProcs.shared.proc(UInt(bitPattern: unsafe usage.mIOProc), of: object)
    return (proc, unsafe usage.mStreamIsOn != 0)
  }

  // MARK: Formats

  private func format(_ scope: HardwareScope) throws(HardwareError) -> AudioStreamBasicDescription {
    PCMFormat(
      sampleRate: try facts.sampleRate, channels: try channels(scope), kind: .float,
      bitsPerSample: 32
    ).streamDescription
  }

  private func formats(_ request: HardwareRequest, scope: HardwareScope) throws(HardwareError)
    -> CopiedValue?
  {
    let selectors = [
      kAudioStreamPropertyVirtualFormat, kAudioStreamPropertyAvailableVirtualFormats,
      kAudioStreamPropertyPhysicalFormat, kAudioStreamPropertyAvailablePhysicalFormats,
      kAudioStreamPropertyPhysicalFormats, kAudioDevicePropertyStreamFormats,
      kAudioStreamPropertyPhysicalFormatMatch, kAudioDevicePropertyStreamFormatMatch,
      kAudioStreamPropertyPhysicalFormatSupported, kAudioDevicePropertyStreamFormatSupported,
    ]
    guard selectors.contains(request.selector), try channels(scope) > 0 else { return nil }
    let format = try format(scope)
    switch request.selector {
    case kAudioStreamPropertyAvailableVirtualFormats,
      kAudioStreamPropertyAvailablePhysicalFormats:
      let rate = AudioValueRange(mMinimum: format.mSampleRate, mMaximum: format.mSampleRate)
      return CopiedValue(
        array: [AudioStreamRangedDescription(mFormat: format, mSampleRateRange: rate)])
    case kAudioDevicePropertyStreamFormats, kAudioStreamPropertyPhysicalFormats:
      return CopiedValue(array: [format])
    case kAudioDevicePropertyStreamFormatSupported, kAudioStreamPropertyPhysicalFormatSupported:
      if unsafe !request.data.isEmpty { try check(request, scope) }
      return CopiedValue(format)
    default: return CopiedValue(format)
    }
  }

  /// Throws unless a format means the present one.
  private func check(_ request: HardwareRequest, _ scope: HardwareScope) throws(HardwareError) {
    let wanted = try request.input(AudioStreamBasicDescription.self)
    let present = try format(scope)
    let isNative =
      wanted.mFormatID == 0
      || wanted.mFormatID == kAudioFormatLinearPCM && wanted.mBitsPerChannel == 32
        && wanted.mFormatFlags & kAudioFormatFlagIsFloat != 0
        && wanted.mFormatFlags & kAudioFormatFlagIsBigEndian == 0
    guard isNative, wanted.mSampleRate == 0 || wanted.mSampleRate == present.mSampleRate,
      wanted.mChannelsPerFrame == 0 || wanted.mChannelsPerFrame == present.mChannelsPerFrame
    else {
      throw .wrongFormat(
        """
        the server has \(present.mChannelsPerFrame) channels of native floats at \
        \(present.mSampleRate) Hz, not \(wanted.mChannelsPerFrame) channels of \
        '\(fourCharacters(wanted.mFormatID))' at \(wanted.mSampleRate) Hz
        """)
    }
  }

  // MARK: Streams

  /// Returns the value of a property of one of the device's streams.
  func streamValue(_ request: HardwareRequest, isInput: Bool) throws(HardwareError)
    -> CopiedValue
  {
    let id = isInput ? object.inputStream : object.outputStream
    switch request.selector {
    case kAudioObjectPropertyBaseClass: return CopiedValue(kAudioObjectClassID)
    case kAudioObjectPropertyClass: return CopiedValue(kAudioStreamClassID)
    case kAudioObjectPropertyOwner: return CopiedValue(object.id)
    case kAudioObjectPropertyOwnedObjects: return CopiedValue(array: [AudioObjectID]())
    case kAudioObjectPropertyName:
      return CopiedValue(string: isInput ? "Capture ports" : "Playback ports")
    case kAudioStreamPropertyIsActive, kAudioStreamPropertyStartingChannel:
      return CopiedValue(UInt32(1))
    case kAudioStreamPropertyDirection: return CopiedValue(UInt32(isInput ? 1 : 0))
    case kAudioStreamPropertyTerminalType, kAudioStreamPropertyLatency:
      return CopiedValue(UInt32(0))
    default: break
    }
    if let value = try formats(request, scope: isInput ? .input : .output) { return value }
    throw .unknownProperty(request.selector, id)
  }

  // MARK: Setting

  static func isSettable(_ selector: AudioObjectPropertySelector) -> Bool {
    [
      kAudioDevicePropertyNominalSampleRate, kAudioDevicePropertyBufferFrameSize,
      kAudioDevicePropertyBufferSize, kAudioDevicePropertyHogMode,
      kAudioDevicePropertyVolumeScalar, kAudioDevicePropertyVolumeDecibels,
      kAudioHardwareServiceDeviceProperty_VirtualMainVolume, kAudioDevicePropertyMute,
      kAudioDevicePropertyIOProcStreamUsage, kAudioDevicePropertyDataSource,
    ].contains(selector) || isStreamPropertySettable(selector)
  }

  static func isStreamPropertySettable(_ selector: AudioObjectPropertySelector) -> Bool {
    [kAudioStreamPropertyVirtualFormat, kAudioStreamPropertyPhysicalFormat].contains(selector)
  }

  /// Sets a property of the device that `isSettable`.
  func set(_ request: HardwareRequest) throws(HardwareError) {
    switch request.selector {
    case kAudioDevicePropertyNominalSampleRate:
      let (wanted, rate) = (try request.input(Float64.self), try facts.sampleRate)
      guard wanted == rate else {
        throw .wrongFormat("the server runs at \(rate) Hz, not \(wanted) Hz")
      }
    case kAudioDevicePropertyBufferFrameSize:
      try setBufferFrames(Int(try request.input(UInt32.self)))
    case kAudioDevicePropertyBufferSize:
      let bytes = 4 * max(1, try channels(request.scope))
      try setBufferFrames(Int(try request.input(UInt32.self)) / bytes)
    case kAudioDevicePropertyHogMode: device.toggleHog()
    case kAudioDevicePropertyVolumeScalar,
      kAudioHardwareServiceDeviceProperty_VirtualMainVolume:
      device.setVolume(try request.input(Float32.self))
    case kAudioDevicePropertyVolumeDecibels:
      device.setVolume(Self.scalar(try request.input(Float32.self)))
    case kAudioDevicePropertyMute: device.setMute(try request.input(UInt32.self) != 0)
    case kAudioDevicePropertyIOProcStreamUsage:
      let (proc, isOn) = try usageProc(request)
      let function = proc.function
      if request.scope == .input {
        function.setUse(input: isOn, output: function.usesOutput)
      } else {
        function.setUse(input: function.usesInput, output: isOn)
      }
    case kAudioDevicePropertyDataSource:
      let source = try request.input(UInt32.self)
      guard source == Self.ports else { throw .refused("there is no data source \(source)") }
    default: try setFormat(request, scope: request.scope)
    }
  }

  /// Sets a format of the device or of one of its streams.
  func setFormat(_ request: HardwareRequest, scope: HardwareScope) throws(HardwareError) {
    try check(request, scope)
  }

  private func setBufferFrames(_ frames: Int) throws(HardwareError) {
    let range = HardwareDevice.bufferFrameRange
    guard range.contains(frames) else {
      throw .refused(
        "a buffer has \(range.lowerBound) to \(range.upperBound) frames, not \(frames)")
    }
    let isDone = try translatingErrors { () throws(ServerError) in
      try device.setBufferFrames(frames, askingServer: HardwareDevice.asksServerForPeriod)
    }
    if !isDone { throw .refused("the server refuses a period of \(frames) frames") }
  }
}
