import AudioQueue
import CAudioToolbox
import Codecs
import CoreFoundation
import Glibc
import RealTime
import System

/// One property of a queue. `all` is the table that the property functions use: each entry adds a
/// property.
struct QueueProperty: Sendable {
  typealias Get<Value> = @Sendable (QueueHandle) throws(QueueError) -> Value
  typealias Set<Value> = @Sendable (QueueHandle, Value) throws(QueueError) -> Void

  let id: AudioQueuePropertyID
  /// The queue change that notifies the property's listeners; nil if it never changes.
  let change: QueueChange?
  /// Returns the present size of the value in bytes.
  let byteCount: Get<Int>
  /// Returns the bytes of the value.
  private let get: Get<[UInt8]>
  /// Sets the value from the first bytes; nil if the property is read-only.
  private let set: Set<[UInt8]>?
  /// Size of one element of a list that is shortened to the app's room; 0 for other properties.
  private var elementBytes = 0
  /// True for a value of four bytes, which is copied whole whatever size the app passes.
  private var isWord = false

  private static let byID = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })

  /// Returns the property with an ID.
  static func named(_ id: AudioQueuePropertyID) throws(QueueError) -> QueueProperty {
    guard let property = byID[id] else { throw .invalidProperty }
    return property
  }

  /// Copies the value into the app's memory, which may be larger. A list of levels may also be shortened.
  ///
  /// - Parameter size: The size that the app passes: programs that ask for IsRunning have often set none.
  /// - Returns: The size of the value in bytes.
  func read(_ handle: QueueHandle, into data: UnsafeMutableRawPointer, size: UInt32)
    throws(QueueError) -> Int
  {
    let memory = unsafe UnsafeMutableRawBufferPointer(
      start: data, count: isWord ? MemoryLayout<UInt32>.size : Int(size))
    // Checked first: a caller without room must not cause a retained reference, which nobody would
    // release.
    let room = elementBytes > 0 ? memory.count / elementBytes * elementBytes : 0
    let needed = try room > 0 ? room : byteCount(handle)
    guard needed <= memory.count else { throw .invalidPropertySize }
    var bytes = try get(handle)
    if elementBytes > 0 { bytes = Array(bytes.prefix(room)) }
    guard bytes.count <= memory.count else { throw .invalidPropertySize }
    unsafe memory.copyBytes(from: bytes)
    return bytes.count
  }

  /// Sets the value from the app's memory, which may be larger.
  func write(_ handle: QueueHandle, from bytes: [UInt8]) throws(QueueError) {
    guard let set else { throw .readOnly }
    try set(handle, bytes)
  }

  // MARK: Kinds of properties

  /// Creates a property with a single value.
  ///
  /// - Parameter check: Throws for a queue that does not have the property.
  static func value<Value: BitwiseCopyable>(
    _ id: AudioQueuePropertyID, changes change: QueueChange? = nil,
    where check: @escaping Get<Void> = { _ in }, get: @escaping Get<Value>,
    set: Set<Value>? = nil
  ) -> QueueProperty {
    let one: Get<Int> = { (handle) throws(QueueError) in
      try check(handle)
      return 1
    }
    let getOne: Get<[Value]> = { (handle) throws(QueueError) in [try get(handle)] }
    var setOne: Set<[Value]>?
    if let set { setOne = { (handle, values) throws(QueueError) in try set(handle, values[0]) } }
    var property = array(id, changes: change, count: one, get: getOne, set: setOne)
    property.isWord = MemoryLayout<Value>.size == MemoryLayout<UInt32>.size
    return property
  }

  /// Creates a property with an array of `count` values, both for reading and for writing.
  static func array<Value: BitwiseCopyable>(
    _ id: AudioQueuePropertyID, changes change: QueueChange? = nil,
    count: @escaping Get<Int>, get: @escaping Get<[Value]>, set: Set<[Value]>? = nil
  ) -> QueueProperty {
    let stride = MemoryLayout<Value>.stride
    let byteCount: Get<Int> = { (handle) throws(QueueError) in try count(handle) * stride }
    let getBytes: Get<[UInt8]> = { (handle) throws(QueueError) in
      let values = try get(handle)
      return unsafe values.withUnsafeBytes { unsafe Array($0) }
    }
    guard let set else {
      return QueueProperty(id: id, change: change, byteCount: byteCount, get: getBytes, set: nil)
    }
    return QueueProperty(
      id: id, change: change, byteCount: byteCount, get: getBytes,
      set: { (handle, bytes) throws(QueueError) in
        let count = try count(handle)
        guard count * stride <= bytes.count else { throw .invalidPropertySize }
        let values = unsafe bytes.withUnsafeBytes { bytes in
          (0..<count).map {
            unsafe bytes.loadUnaligned(fromByteOffset: $0 * stride, as: Value.self)
          }
        }
        try set(handle, values)
      })
  }

  /// Creates a property whose value is a byte string of any length.
  static func bytes(
    _ id: AudioQueuePropertyID, changes change: QueueChange? = nil, get: @escaping Get<[UInt8]>,
    set: @escaping Set<[UInt8]>
  ) -> QueueProperty {
    QueueProperty(
      id: id, change: change,
      byteCount: { (handle) throws(QueueError) in try get(handle).count }, get: get, set: set)
  }
}

extension QueueProperty {
  private static let playback: Get<Void> = { (handle) throws(QueueError) in
    _ = try handle.playbackQueue
  }
  private static let recording: Get<Void> = { (handle) throws(QueueError) in
    _ = try handle.recordingQueue
  }

  // MARK: The table

  static let all: [QueueProperty] = [
    .value(
      kAudioQueueProperty_IsRunning, changes: .isRunning,
      get: { $0.queue.isRunning ? 1 : 0 as UInt32 }),
    .value(
      kAudioQueueDeviceProperty_SampleRate, changes: .deviceSampleRate,
      get: { (handle) throws(QueueError) in try handle.queue.deviceSampleRate() }),
    .value(
      kAudioQueueDeviceProperty_NumberChannels, changes: .deviceChannels,
      get: { (handle) throws(QueueError) in UInt32(try handle.queue.deviceChannels()) }),
    .value(
      kAudioQueueProperty_CurrentDevice, changes: .device, get: { .retained($0.queue.deviceUID) },
      set: { (handle, uid: StringReference) throws(QueueError) in
        guard let uid = uid.text else { throw .invalidPropertyValue }
        try handle.queue.setDeviceUID(uid)
      }),
    .array(
      kAudioQueueProperty_ChannelAssignments, changes: .channelAssignments,
      count: { (handle) throws(QueueError) in try handle.playbackQueue.format.channels },
      get: { (handle) throws(QueueError) in
        try handle.playbackQueue.assignments().map {
          Assignment(device: .retained(handle.queue.deviceUID), output: UInt32($0))
        }
      },
      set: { (handle, assignments: [Assignment]) throws(QueueError) in
        let queue = try handle.playbackQueue
        for uid in assignments.compactMap(\.device.text) where !queue.isDevice(uid) {
          throw .invalidPropertyValue
        }
        try queue.setAssignments(assignments.map { Int($0.output) })
      }),
    .bytes(
      kAudioQueueProperty_MagicCookie, changes: .magicCookie, get: { $0.queue.cookie },
      set: { (handle, cookie) throws(QueueError) in try handle.queue.setCookie(cookie) }),
    .value(
      kAudioQueueProperty_MaximumOutputPacketSize,
      get: { UInt32(clamping: $0.queue.maximumPacketBytes) }),
    .value(kAudioQueueProperty_StreamDescription, get: { $0.description }),
    .bytes(
      kAudioQueueProperty_ChannelLayout, changes: .channelLayout,
      get: { $0.channelLayout.bytes },
      set: { (handle, bytes) throws(QueueError) in
        guard let layout = ChannelLayout(bytes) else { throw .invalidPropertySize }
        try handle.setChannelLayout(layout)
      }),
    .value(
      kAudioQueueProperty_EnableLevelMetering, changes: .metering,
      get: { $0.queue.isMetering ? 1 : 0 as UInt32 }, set: { $0.queue.isMetering = $1 != 0 }),
    .levels(kAudioQueueProperty_CurrentLevelMeter) { $0 },
    .levels(kAudioQueueProperty_CurrentLevelMeterDB) { decibels($0, atLeast: -120) },
    .value(
      kAudioQueueProperty_HardwareCodecPolicy, changes: .codecPolicy, get: { $0.codecPolicy },
      set: { (handle, policy) throws(QueueError) in try handle.setCodecPolicy(policy) }),
    .value(
      kAudioQueueProperty_ConverterError, changes: .converterError,
      get: { (handle) throws(QueueError) in
        if let queue = handle.queue as? OutputQueue {
          return UInt32(bitPattern: queue.converterFailure?.status ?? noErr)
        }
        return UInt32(bitPattern: try handle.recordingQueue.converterError?.status ?? noErr)
      }),
    .value(
      kAudioConverterCurrentInputStreamDescription, where: recording,
      get: { (handle) throws(QueueError) in try handle.recordingQueue.portDescription() }),
    .value(
      kAudioConverterCurrentOutputStreamDescription, where: recording,
      get: { $0.description }),
    .bytes(
      kAudioConverterCompressionMagicCookie, get: { $0.queue.cookie },
      set: { (handle, cookie) throws(QueueError) in try handle.queue.setCookie(cookie) }),
    .value(
      kAudioConverterEncodeBitRate,
      where: { (handle) throws(QueueError) in
        if try handle.recordingQueue.bitRate == nil { throw .invalidProperty }
      },
      get: { (handle) throws(QueueError) in
        UInt32(clamping: try handle.recordingQueue.bitRate ?? 0)
      },
      set: { (handle, rate: UInt32) throws(QueueError) in
        try handle.recordingQueue.setBitRate(Int(rate))
      }),
    .value(
      kAudioConverterPrimeInfo,
      where: { (handle) throws(QueueError) in
        if try handle.recordingQueue.packetTable == nil { throw .invalidProperty }
      },
      get: { (handle) throws(QueueError) in
        let table = try handle.recordingQueue.packetTable
        return AudioConverterPrimeInfo(
          leadingFrames: UInt32(clamping: table?.primingFrames ?? 0),
          trailingFrames: UInt32(clamping: table?.remainderFrames ?? 0))
      }),
    .value(
      kAudioQueueProperty_EnableTimePitch, changes: .isTimePitchEnabled, where: playback,
      get: { (handle) throws(QueueError) in
        try handle.playbackQueue.isTimePitchEnabled ? 1 : 0 as UInt32
      },
      set: { (handle, value: UInt32) throws(QueueError) in
        try handle.playbackQueue.setTimePitchEnabled(value != 0)
      }),
    .value(
      kAudioQueueProperty_TimePitchAlgorithm, changes: .timePitchAlgorithm, where: playback,
      get: { (handle) throws(QueueError) in
        try handle.playbackQueue.timePitchAlgorithm.code
      },
      set: { (handle, code: UInt32) throws(QueueError) in
        guard let algorithm = TimePitch.Algorithm(code) else { throw .invalidPropertyValue }
        try handle.playbackQueue.setTimePitchAlgorithm(algorithm)
      }),
    .value(
      kAudioQueueProperty_TimePitchBypass, changes: .isTimePitchBypassed, where: playback,
      get: { (handle) throws(QueueError) in
        try handle.playbackQueue.isTimePitchBypassed ? 1 : 0 as UInt32
      },
      set: { (handle, value: UInt32) throws(QueueError) in
        try handle.playbackQueue.isTimePitchBypassed = value != 0
      }),
    .value(
      kAudioQueueProperty_DecodeBufferSizeFrames, changes: .decodeFrames, where: playback,
      get: { (handle) throws(QueueError) in
        UInt32(try handle.playbackQueue.decodeFrames)
      },
      set: { (handle, frames: UInt32) throws(QueueError) in
        try handle.playbackQueue.setDecodeFrames(Int(frames))
      }),
  ]

  /// Creates a property with the level of each channel, mapped from 0...1 by `scale`.
  private static func levels(
    _ id: AudioQueuePropertyID, scale: @escaping @Sendable (Float) -> Float
  ) -> QueueProperty {
    // NaN counts as silence.
    let inRange: @Sendable (Float) -> Float = { scale($0 > 0 ? min($0, 1) : 0) }
    var property = array(
      id, count: { $0.queue.format.channels },
      get: { (handle) throws(QueueError) in
        guard let levels = handle.queue.levels else { throw .invalidPropertyValue }
        return levels.map {
          AudioQueueLevelMeterState(mAveragePower: inRange($0.rms), mPeakPower: inRange($0.peak))
        }
      })
    property.elementBytes = MemoryLayout<AudioQueueLevelMeterState>.stride
    return property
  }
}

/// An AudioQueueChannelAssignment including its padding.
private struct Assignment: BitwiseCopyable {
  let device: StringReference
  let output: UInt32
  private let padding: UInt32 = 0

  init(device: StringReference, output: UInt32) {
    self.device = device
    self.output = output
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

/// A CFStringRef inside a property value.
@safe
struct StringReference: BitwiseCopyable {
  private let bits: UInt

  /// Creates a string that the reader of the property must release.
  static func retained(_ text: String) -> StringReference {
    StringReference(
      bits: UInt(bitPattern: unsafe Unmanaged.passRetained(text.cfString).toOpaque()))
  }

  /// The text of the string; nil if the reference is NULL.
  var text: String? {
    guard let string = unsafe UnsafeRawPointer(bitPattern: bits) else { return nil }
    return unsafe Unmanaged<CFString>.fromOpaque(string).takeUnretainedValue().string
  }
}
