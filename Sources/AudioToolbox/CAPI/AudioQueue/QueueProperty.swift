import AudioQueue
import CAudioToolbox
import Codecs
import CoreFoundation
import RealTime
import System

/// A property of a queue, and what the app passes with it.
struct QueueProperty {
  typealias Entry = PropertyEntry<QueueError>

  let handle: QueueHandle
  let input: PropertyInput<QueueError>

  /// True unless no queue has the property.
  var isKnown: Bool {
    do throws(QueueError) { return try entry() != nil } catch { return true }
  }

  /// Returns the property's entry; nil if no queue has it. Throws for a queue that does not have it.
  func entry() throws(QueueError) -> Entry? {
    let queue = handle.queue
    switch input.id {
    case kAudioQueueProperty_IsRunning: return .flag(queue.isRunning)
    case kAudioQueueDeviceProperty_SampleRate: return .value(try queue.deviceSampleRate())
    case kAudioQueueDeviceProperty_NumberChannels:
      return .value(UInt32(try queue.deviceChannels()))
    case kAudioQueueProperty_CurrentDevice:
      return .string(queue.deviceUID).setting(try setDevice())
    case kAudioQueueProperty_ChannelAssignments:
      let player = try handle.playbackQueue
      let size = unsafe MemoryLayout<AudioQueueChannelAssignment>.stride
      return .copied(bytes: player.format.channels * size, try assignments(of: player)).setting(
        try setAssignments(of: player))
    case kAudioQueueProperty_MagicCookie, kAudioConverterCompressionMagicCookie:
      return .copied(CopiedValue(bytes: queue.cookie)).setting(try queue.setCookie(input.array()))
    case kAudioQueueProperty_MaximumOutputPacketSize:
      return .value(UInt32(clamping: queue.maximumPacketBytes))
    case kAudioQueueProperty_StreamDescription: return .value(handle.description)
    case kAudioQueueProperty_ChannelLayout:
      return .copied(CopiedValue(bytes: handle.channelLayout.bytes)).setting(try setLayout())
    case kAudioQueueProperty_EnableLevelMetering:
      return .flag(queue.isMetering).setting(queue.isMetering = try input.flag())
    case kAudioQueueProperty_CurrentLevelMeter: return levels { $0 }
    case kAudioQueueProperty_CurrentLevelMeterDB: return levels { decibels($0, atLeast: -120) }
    case kAudioQueueProperty_HardwareCodecPolicy:
      return .value(handle.codecPolicy).setting(try handle.setCodecPolicy(input.value()))
    case kAudioQueueProperty_ConverterError:
      return .value(UInt32(bitPattern: try converterError()))
    case kAudioConverterCurrentInputStreamDescription:
      let recorder = try handle.recordingQueue
      return .value(try recorder.portDescription())
    case kAudioConverterCurrentOutputStreamDescription:
      return .copied(CopiedValue(try recordedDescription()))
    case kAudioConverterEncodeBitRate:
      let recorder = try handle.recordingQueue
      guard let rate = recorder.bitRate else { throw .invalidProperty }
      return .value(UInt32(clamping: rate)).setting(try recorder.setBitRate(input.number()))
    case kAudioConverterPrimeInfo:
      return .copied(CopiedValue(try primeInfo()))
    case kAudioQueueProperty_EnableTimePitch:
      let player = try handle.playbackQueue
      return .flag(player.isTimePitchEnabled).setting(
        try player.setTimePitchEnabled(input.flag()))
    case kAudioQueueProperty_TimePitchAlgorithm:
      let player = try handle.playbackQueue
      return .value(player.timePitchAlgorithm.code).setting(try setAlgorithm(of: player))
    case kAudioQueueProperty_TimePitchBypass:
      let player = try handle.playbackQueue
      return .flag(player.isTimePitchBypassed).setting(
        player.isTimePitchBypassed = try input.flag())
    case kAudioQueueProperty_DecodeBufferSizeFrames:
      let player = try handle.playbackQueue
      return .value(UInt32(player.decodeFrames)).setting(
        try player.setDecodeFrames(input.number()))
    default: return nil
    }
  }

  private func setDevice() throws(QueueError) {
    guard let uid = unsafe HardwareRequest.string(try input.value()) else {
      throw .invalidPropertyValue
    }
    try handle.queue.setDeviceUID(uid)
  }

  private func assignments(of player: OutputQueue) throws(QueueError) -> CopiedValue {
    let (assignments, uid) = (try player.assignments(), player.deviceUID)
    let size = unsafe MemoryLayout<AudioQueueChannelAssignment>.stride
    return CopiedValue(byteCount: assignments.count * size) {
      assignments.flatMap { output in
        // An AudioQueueChannelAssignment including its padding.
        let uid = unsafe UInt(bitPattern: Unmanaged.passRetained(uid.cfString).toOpaque())
        return unsafe withUnsafeBytes(of: (uid, UInt32(output), UInt32(0))) { unsafe Array($0) }
      }
    }
  }

  private func setAssignments(of player: OutputQueue) throws(QueueError) {
    let count = player.format.channels
    let given = unsafe input.array(of: AudioQueueChannelAssignment.self).prefix(count).map {
      unsafe (uid: $0.mDeviceUID?.takeUnretainedValue().string, output: Int($0.mChannelNumber))
    }
    guard given.count == count else { throw .invalidPropertySize }
    for uid in given.compactMap(\.uid) where !player.isDevice(uid) { throw .invalidPropertyValue }
    try player.setAssignments(given.map(\.output))
  }

  private func setLayout() throws(QueueError) {
    guard let layout = ChannelLayout(input.array()) else { throw .invalidPropertySize }
    try handle.setChannelLayout(layout)
  }

  /// The entry of the level of each channel, mapped from 0...1 by `scale`. The list may be cut.
  private func levels(_ scale: @escaping (Float) -> Float) -> Entry {
    let size = MemoryLayout<AudioQueueLevelMeterState>.stride
    return .copied(
      bytes: handle.queue.format.channels * size, CopiedValue(array: try levelStates(scale)))
  }

  private func levelStates(_ scale: (Float) -> Float)
    throws(QueueError) -> [AudioQueueLevelMeterState]
  {
    guard let levels = handle.queue.levels else { throw .invalidPropertyValue }
    // NaN counts as silence.
    func inRange(_ level: Float) -> Float { scale(level > 0 ? min(level, 1) : 0) }
    return levels.map {
      AudioQueueLevelMeterState(mAveragePower: inRange($0.rms), mPeakPower: inRange($0.peak))
    }
  }

  private func recordedDescription() throws(QueueError) -> AudioStreamBasicDescription {
    _ = try handle.recordingQueue
    return handle.description
  }

  private func primeInfo() throws(QueueError) -> AudioConverterPrimeInfo {
    guard let table = try handle.recordingQueue.packetTable else { throw .invalidProperty }
    return AudioConverterPrimeInfo(
      leadingFrames: UInt32(clamping: table.primingFrames),
      trailingFrames: UInt32(clamping: table.remainderFrames))
  }

  private func converterError() throws(QueueError) -> OSStatus {
    if let queue = handle.queue as? OutputQueue { return queue.converterFailure?.status ?? noErr }
    return try handle.recordingQueue.converterError?.status ?? noErr
  }

  private func setAlgorithm(of player: OutputQueue) throws(QueueError) {
    guard let algorithm = TimePitch.Algorithm(try input.value()) else {
      throw .invalidPropertyValue
    }
    try player.setTimePitchAlgorithm(algorithm)
  }
}

extension QueueChange {
  /// The property whose listeners hear of the change.
  var property: AudioQueuePropertyID {
    switch self {
    case .isRunning: kAudioQueueProperty_IsRunning
    case .device: kAudioQueueProperty_CurrentDevice
    case .deviceSampleRate: kAudioQueueDeviceProperty_SampleRate
    case .deviceChannels: kAudioQueueDeviceProperty_NumberChannels
    case .channelLayout: kAudioQueueProperty_ChannelLayout
    case .channelAssignments: kAudioQueueProperty_ChannelAssignments
    case .magicCookie: kAudioQueueProperty_MagicCookie
    case .metering: kAudioQueueProperty_EnableLevelMetering
    case .codecPolicy: kAudioQueueProperty_HardwareCodecPolicy
    case .converterError: kAudioQueueProperty_ConverterError
    case .isTimePitchEnabled: kAudioQueueProperty_EnableTimePitch
    case .timePitchAlgorithm: kAudioQueueProperty_TimePitchAlgorithm
    case .isTimePitchBypassed: kAudioQueueProperty_TimePitchBypass
    case .decodeFrames: kAudioQueueProperty_DecodeBufferSizeFrames
    }
  }
}

extension TimePitch.Algorithm {
  fileprivate var code: UInt32 {
    switch self {
    case .spectral: kAudioQueueTimePitchAlgorithm_Spectral
    case .timeDomain: kAudioQueueTimePitchAlgorithm_TimeDomain
    case .varispeed: kAudioQueueTimePitchAlgorithm_Varispeed
    }
  }

  fileprivate init?(_ code: UInt32) {
    let all: [TimePitch.Algorithm] = [.spectral, .timeDomain, .varispeed]
    guard let algorithm = all.first(where: { $0.code == code }) else { return nil }
    self = algorithm
  }
}
