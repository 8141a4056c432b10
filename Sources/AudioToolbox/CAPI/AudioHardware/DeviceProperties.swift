import CAudioToolbox
import Glibc
import Hardware
import RealTime
import Server
import System

// Properties of devices and their streams.

extension DeviceObject {
  typealias Entry = HardwareRequest.Entry

  private var facts: HardwareFacts {
    get throws(HardwareError) { try onServer(device.facts) }
  }

  private var bufferFrames: Int {
    get throws(HardwareError) { try onServer(device.bufferFrames) }
  }

  private func channels(_ scope: HardwareScope) throws(HardwareError) -> Int {
    let facts = try facts
    switch scope {
    case .input: return facts.inputs
    case .output: return facts.outputs
    case .global: return facts.outputs > 0 ? facts.outputs : facts.inputs
    }
  }

  /// Returns the number of channels on a side; nil for 0.
  private func channelsIfAny(_ scope: HardwareScope) throws(HardwareError) -> Int? {
    let count = try channels(scope)
    return count == 0 ? nil : count
  }

  private func streams(_ scope: HardwareScope) throws(HardwareError) -> CopiedValue {
    let facts = try facts
    let input = facts.inputs > 0 && scope != .output ? [inputStream] : []
    let output = facts.outputs > 0 && scope != .input ? [outputStream] : []
    return CopiedValue(array: output + input)
  }

  private var isPipeWire: Bool {
    JackServer(named: isDefault ? nil : device.serverName).isPipeWire
  }
  private var name: String { isPipeWire ? "PipeWire" : "JACK: \(device.serverName)" }
  private var manufacturer: String { isPipeWire ? "PipeWire" : "JACK" }

  /// The entry of a property of the device; nil if it has none.
  func entry(_ request: HardwareRequest) -> Entry? {
    let (scope, input) = (request.scope, request.input)
    return switch request.selector {
    case kAudioObjectPropertyBaseClass: .value(kAudioObjectClassID)
    case kAudioObjectPropertyClass: .value(kAudioDeviceClassID)
    case kAudioObjectPropertyOwner: .value(AudioObjectID(kAudioObjectSystemObject))
    case kAudioObjectPropertyName, kAudioObjectPropertyModelName: .string(name)
    case kAudioDevicePropertyDeviceName: .copied(CopiedValue(cString: name))
    case kAudioObjectPropertyManufacturer, kAudioDevicePropertyModelUID: .string(manufacturer)
    case kAudioDevicePropertyDeviceManufacturer: .copied(CopiedValue(cString: manufacturer))
    case kAudioDevicePropertyDeviceUID: .string(uid)
    case kAudioDevicePropertyConfigurationApplication: .string("qjackctl")
    case kAudioDevicePropertyTransportType: .value(UInt32(kAudioDeviceTransportTypeUnknown))
    case kAudioDevicePropertyRelatedDevices: .copied(CopiedValue(array: [id]))
    case kAudioDevicePropertyClockDomain, kAudioDevicePropertyIsHidden,
      kAudioDevicePropertyDeviceHasChanged, kAudioDeviceProcessorOverload,
      kAudioDevicePropertyUsesVariableBufferFrameSizes, kAudioDevicePropertySafetyOffset:
      .value(UInt32(0))
    case kAudioDevicePropertyDeviceIsAlive: .flag(isAlive)
    case kAudioDevicePropertyDeviceIsRunning: .flag(device.isRunning)
    case kAudioDevicePropertyDeviceIsRunningSomewhere:
      .flag(try onServer(device.open().client.cardIsInUse))
    case kAudioDevicePropertyDeviceCanBeDefaultDevice,
      kAudioDevicePropertyDeviceCanBeDefaultSystemDevice:
      .flag(isDefault)
    case kAudioDevicePropertyHogMode: .value(device.hogProcess).setting(device.toggleHog())
    case kAudioObjectPropertyControlList: .copied(CopiedValue(array: [AudioObjectID]()))
    case kAudioDevicePropertyDataSource:
      .value(Self.ports).setting(try checkSource(input.value()))
    case kAudioDevicePropertyDataSources: .copied(CopiedValue(array: [Self.ports]))
    case kAudioDevicePropertyDataSourceNameForIDCFString:
      .answer(input, { (asked) throws(HardwareError) in try nameSource(asked, scope) })
    case kAudioDevicePropertySupportsMixing: .flag(true)
    case kAudioDevicePropertyNominalSampleRate:
      .value(try facts.sampleRate).setting(try checkRate(input.value()))
    case kAudioDevicePropertyActualSampleRate: .value(try facts.sampleRate)
    case kAudioDevicePropertyAvailableNominalSampleRates:
      .copied(CopiedValue(array: ranges([try facts.sampleRate])))
    case kAudioDevicePropertyBufferFrameSize:
      .value(UInt32(try bufferFrames)).setting(
        try setBufferFrames(input.number()))
    case kAudioDevicePropertyBufferFrameSizeRange: .value(Self.bufferRange(times: 1))
    case kAudioDevicePropertyBufferSize:
      .value(UInt32(try bufferFrames * 4 * channels(scope))).setting(
        try setBufferFrames(input.number() / (4 * max(1, channels(scope)))))
    case kAudioDevicePropertyBufferSizeRange:
      .value(Self.bufferRange(times: 4 * (try channels(scope))))
    case kAudioDevicePropertyIOCycleUsage: .value(Float32(1))
    case kAudioDevicePropertyIOThreadOSWorkgroup: .value(workgroup(of: device))
    case kAudioDevicePropertyLatency: .value(try latency(scope))
    case kAudioDevicePropertyStreams: .copied(try streams(scope))
    case kAudioObjectPropertyOwnedObjects:
      .copied(
        request.keeps(kAudioStreamClassID)
          ? try streams(.global) : CopiedValue(array: [AudioStreamID]()))
    case kAudioDevicePropertyStreamConfiguration:
      .copied(CopiedValue(bytes: Self.configuration(channels: try channels(scope))))
    case kAudioDevicePropertyPreferredChannelsForStereo:
      .copied(try channelsIfAny(scope).map { CopiedValue(array: [1, UInt32(min(2, $0))]) })
    case kAudioDevicePropertyPreferredChannelLayout:
      .copied(
        try channelsIfAny(scope).map { CopiedValue(bytes: ChannelLayout(channels: $0).bytes) })
    case kAudioObjectPropertyElementName:
      .copied(try portName(request).map { CopiedValue(string: $0) })
    case kAudioDevicePropertyChannelName:
      .copied(try portName(request).map { CopiedValue(cString: $0) })
    case kAudioDevicePropertyIOProcStreamUsage:
      unsafe Entry.answer(input) { (asked) throws(HardwareError) in
        try unsafe usage(asked, scope)
      }.setting(try setUsage(input.value(), scope))
    default: volumeEntry(request) ?? formatEntry(request, scope)
    }
  }

  /// The only data source: the sound card's ports.
  private static let ports: UInt32 = 0x706f_7274  // 'port'

  private func checkSource(_ source: UInt32) throws(HardwareError) {
    guard source == Self.ports else { throw .refused("there is no data source \(source)") }
  }

  private func nameSource(_ translation: Translation, _ scope: HardwareScope)
    throws(HardwareError) -> Translation
  {
    guard let output = unsafe translation.output,
      translation.outputBytes >= MemoryLayout<UInt>.size
    else { throw .badArgument("the translation has no room for its output") }
    let memory = unsafe UnsafeMutableRawBufferPointer(
      start: output, count: Int(translation.outputBytes))
    let text = Self.streamName(isInput: scope == .input)
    _ = unsafe CopiedValue(string: text).write(to: memory)
    return translation
  }

  private static func streamName(isInput: Bool) -> String {
    isInput ? "Capture ports" : "Playback ports"
  }

  private var isAlive: Bool {
    device.isAlive && HardwareObjects.shared.reachable.contains { $0.id == id }
  }

  private func checkRate(_ wanted: Float64) throws(HardwareError) {
    let rate = try facts.sampleRate
    guard wanted == rate else {
      throw .wrongFormat("the server runs at \(rate) Hz, not \(wanted) Hz")
    }
  }

  private static func bufferRange(times factor: Int) -> AudioValueRange {
    let range = HardwareDevice.bufferFrameRange
    return AudioValueRange(
      mMinimum: Double(range.lowerBound * factor), mMaximum: Double(range.upperBound * factor))
  }

  private func setBufferFrames(_ frames: Int) throws(HardwareError) {
    let range = HardwareDevice.bufferFrameRange
    guard range.contains(frames) else {
      throw .refused(
        "a buffer has \(range.lowerBound) to \(range.upperBound) frames, not \(frames)")
    }
    let isDone = try onServer(
      device.setBufferFrames(frames, askingServer: HardwareDevice.asksServerForPeriod))
    if !isDone { throw .refused("the server refuses a period of \(frames) frames") }
  }

  private func latency(_ scope: HardwareScope) throws(HardwareError) -> UInt32 {
    let facts = try facts
    if scope == .input { return UInt32(facts.inputLatency) }
    return UInt32(facts.outputLatency + (try onServer(device.addedLatency)))
  }

  /// Returns the bytes of an AudioBufferList: one buffer of `channels` channels, or none.
  private static func configuration(channels: Int) -> [UInt8] {
    let words = channels == 0 ? [UInt32(0), 0] : [1, 0, UInt32(channels), 0, 0, 0]
    return unsafe words.withUnsafeBytes { unsafe Array($0) }
  }

  private func portName(_ request: HardwareRequest) throws(HardwareError) -> String? {
    let client = try onServer(device.open().client)
    let names = request.scope == .input ? client.physicalInputs : client.physicalOutputs
    let index = Int(request.element) - 1
    return names.indices.contains(index) ? names[index] : nil
  }

  private func usage(_ asked: AudioHardwareIOProcStreamUsage, _ scope: HardwareScope)
    throws(HardwareError) -> AudioHardwareIOProcStreamUsage
  {
    let function = try unsafe function(of: asked)
    var usage = unsafe asked
    unsafe usage.mNumberStreams = 1
    unsafe usage.mStreamIsOn = (scope == .input ? function.usesInput : function.usesOutput) ? 1 : 0
    return unsafe usage
  }

  private func setUsage(_ usage: AudioHardwareIOProcStreamUsage, _ scope: HardwareScope)
    throws(HardwareError)
  {
    let (function, isOn) = unsafe (try function(of: usage), usage.mStreamIsOn != 0)
    if scope == .input {
      function.setUse(input: isOn, output: function.usesOutput)
    } else {
      function.setUse(input: function.usesInput, output: isOn)
    }
  }

  private func function(of usage: AudioHardwareIOProcStreamUsage)
    throws(HardwareError) -> IOFunction
  {
    try IOProcs.shared.proc(UInt(bitPattern: unsafe usage.mIOProc), of: self).function
  }

  // MARK: Volume

  /// The entry of a property of the volume; nil if it is none.
  private func volumeEntry(_ request: HardwareRequest) -> Entry? {
    let input = request.input
    return switch request.selector {
    case kAudioDevicePropertyVolumeScalarToDecibels:
      .answer(input, Self.decibels)
    case kAudioDevicePropertyVolumeDecibelsToScalar:
      .answer(input, Self.scalar)
    case kAudioDevicePropertyVolumeScalar, kAudioHardwareServiceDeviceProperty_VirtualMainVolume:
      .copied(try output(request, device.volume)).setting(device.setVolume(try input.value()))
    case kAudioDevicePropertyVolumeDecibels:
      .copied(try output(request, Self.decibels(device.volume))).setting(
        device.setVolume(Self.scalar(try input.value())))
    case kAudioDevicePropertyVolumeRangeDecibels:
      .copied(
        try output(
          request, AudioValueRange(mMinimum: Double(Self.leastDecibels), mMaximum: 0)))
    case kAudioDevicePropertyMute:
      .copied(try output(request, UInt32(device.isMute ? 1 : 0))).setting(
        device.setMute(try input.value(UInt32.self) != 0))
    default: nil
    }
  }

  /// Returns a value that only the output of a device has; nil for its input, or if it has no output.
  private func output<Value: BitwiseCopyable>(_ request: HardwareRequest, _ value: Value)
    throws(HardwareError) -> CopiedValue?
  {
    guard request.scope != .input, try facts.outputs > 0 else { return nil }
    return CopiedValue(value)
  }

  private static let leastDecibels: Float32 = -96

  /// Returns a gain in dB, not less than `leastDecibels`.
  private static func decibels(_ scalar: Float32) -> Float32 {
    min(0, System.decibels(scalar, atLeast: leastDecibels))
  }

  private static func scalar(_ decibels: Float32) -> Float32 {
    decibels <= leastDecibels ? 0 : factor(decibels: Double(min(decibels, 0)))
  }

  // MARK: Formats

  private func format(_ scope: HardwareScope) throws(HardwareError) -> AudioStreamBasicDescription {
    PCMFormat(
      sampleRate: try facts.sampleRate, channels: try channels(scope), kind: .float,
      bitsPerSample: 32
    ).streamDescription
  }

  /// The entry of a property of the formats on one side of the device; nil if it is none.
  private func formatEntry(_ request: HardwareRequest, _ scope: HardwareScope) -> Entry? {
    let input = request.input
    return switch request.selector {
    case kAudioStreamPropertyVirtualFormat, kAudioStreamPropertyPhysicalFormat:
      .copied(try formats(scope) { CopiedValue($0) }).setting(try check(input.value(), scope))
    case kAudioStreamPropertyPhysicalFormatMatch, kAudioDevicePropertyStreamFormatMatch:
      .copied(try formats(scope) { CopiedValue($0) })
    case kAudioStreamPropertyPhysicalFormatSupported, kAudioDevicePropertyStreamFormatSupported:
      .copied(try formats(scope, asked: input) { CopiedValue($0) })
    case kAudioDevicePropertyStreamFormats, kAudioStreamPropertyPhysicalFormats:
      .copied(try formats(scope) { CopiedValue(array: [$0]) })
    case kAudioStreamPropertyAvailableVirtualFormats,
      kAudioStreamPropertyAvailablePhysicalFormats:
      .copied(
        try formats(scope) {
          let range = ranges([$0.mSampleRate])[0]
          return CopiedValue(
            array: [AudioStreamRangedDescription(mFormat: $0, mSampleRateRange: range)])
        })
    default: nil
    }
  }

  /// Makes a value of the only format; nil if that side has no channels.
  ///
  /// - Parameter asked: A format that is to be the same.
  private func formats(
    _ scope: HardwareScope, asked: PropertyInput<HardwareError>? = nil,
    _ make: (AudioStreamBasicDescription) -> CopiedValue
  ) throws(HardwareError) -> CopiedValue? {
    guard try channels(scope) > 0 else { return nil }
    if let asked, !asked.isEmpty { try check(asked.value(), scope) }
    return make(try format(scope))
  }

  /// Throws unless a format means the present one.
  private func check(_ wanted: AudioStreamBasicDescription, _ scope: HardwareScope)
    throws(HardwareError)
  {
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

  /// The entry of a property of one of the device's streams; nil if it has none.
  func streamEntry(_ request: HardwareRequest, isInput: Bool) -> Entry? {
    switch request.selector {
    case kAudioObjectPropertyBaseClass: .value(kAudioObjectClassID)
    case kAudioObjectPropertyClass: .value(kAudioStreamClassID)
    case kAudioObjectPropertyOwner: .value(id)
    case kAudioObjectPropertyOwnedObjects: .copied(CopiedValue(array: [AudioObjectID]()))
    case kAudioObjectPropertyName: .string(Self.streamName(isInput: isInput))
    case kAudioStreamPropertyIsActive, kAudioStreamPropertyStartingChannel: .value(UInt32(1))
    case kAudioStreamPropertyDirection: .flag(isInput)
    case kAudioStreamPropertyTerminalType, kAudioStreamPropertyLatency: .value(UInt32(0))
    default: formatEntry(request, isInput ? .input : .output)
    }
  }
}
