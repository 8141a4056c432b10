public import AudioToolbox
import Codecs
import Foundation

/// A buffer of linear PCM. One thread at a time.
@safe
open class AVAudioPCMBuffer: AVAudioBuffer {
  /// The number of frames that fit.
  public let frameCapacity: AVAudioFrameCount
  /// Samples from a channel's frame to the next.
  public let stride: Int
  /// The first sample of each channel.
  private let channels: UnsafeMutablePointer<UnsafeMutableRawPointer>

  private init(
    _ format: AVAudioFormat, _ converted: ConverterFormat, capacity: AVAudioFrameCount,
    at starts: [UnsafeMutableRawPointer],
    release: @escaping (UnsafePointer<AudioBufferList>) -> Void
  ) {
    frameCapacity = capacity
    stride = converted.channelsPerBuffer
    let count = converted.stream.channels
    let sampleBytes = converted.bytesPerPacket / stride
    unsafe channels = .allocate(capacity: count)
    for channel in 0..<count {
      let (buffer, inside) = channel.quotientAndRemainder(dividingBy: stride)
      unsafe (channels + channel).initialize(to: starts[buffer] + inside * sampleBytes)
    }
    unsafe super.init(
      format, at: starts, bytes: capacity * UInt32(converted.bytesPerPacket),
      channels: UInt32(stride), release: release)
    setValidBytes(0)
  }

  deinit { unsafe channels.deallocate() }

  /// Creates a buffer of silence without valid frames; nil if the format is not linear PCM, or a channel's buffer
  /// would be larger than 4 GiB or than the memory.
  public convenience init?(pcmFormat format: AVAudioFormat, frameCapacity: AVAudioFrameCount) {
    guard let converted = format.format, case .pcm = converted.stream,
      case let bytes = Int(frameCapacity) * converted.bytesPerPacket, bytes <= Int(UInt32.max)
    else { return nil }
    // Each buffer begins with a cache line.
    let each = (bytes + 63) / 64 * 64
    guard let memory = unsafe calloc(1, max(1, converted.buffers * each) + 63) else { return nil }
    let first = unsafe memory.alignedUp(toMultipleOf: 64)
    let starts = unsafe (0..<converted.buffers).map { unsafe first + $0 * each }
    unsafe self.init(format, converted, capacity: frameCapacity, at: starts) { _ in
      unsafe free(memory)
    }
  }

  /// Creates a buffer of frames in the program's memory. All of them are valid. Nil if the list does not fit the
  /// format, or the format is not linear PCM.
  ///
  /// When the buffer is released, `deallocator` gets a list with the same memory.
  public convenience init?(
    pcmFormat format: AVAudioFormat, bufferListNoCopy bufferList: UnsafePointer<AudioBufferList>,
    deallocator: ((UnsafePointer<AudioBufferList>) -> Void)? = nil
  ) {
    let list = unsafe UnsafeMutableAudioBufferListPointer(
      UnsafeMutablePointer(mutating: bufferList))
    let starts = unsafe list.compactMap { unsafe $0.mData }
    guard let converted = format.format, case .pcm = converted.stream,
      case let buffers = converted.buffers, unsafe starts.count == buffers && list.count == buffers,
      case let bytes = unsafe list[0].mDataByteSize, bytes % UInt32(converted.bytesPerPacket) == 0,
      unsafe list.allSatisfy({ unsafe $0.mDataByteSize == bytes })
    else { return nil }
    let frames = bytes / UInt32(converted.bytesPerPacket)
    unsafe self.init(
      format, converted, capacity: frames, at: starts, release: deallocator ?? { _ in })
    frameLength = frames
  }

  /// The number of valid frames, 0 at first. A number above the capacity ends the program.
  public var frameLength: AVAudioFrameCount {
    get { length }
    set {
      guard newValue <= frameCapacity else {
        refuse(
          "AVAudioPCMBuffer.frameLength: \(newValue) frames do not fit a capacity of \(frameCapacity)"
        )
      }
      length = newValue
      unsafe setValidBytes(newValue * format.streamDescription.pointee.mBytesPerFrame)
    }
  }

  /// Initialisers of programs do not call observers: `frameLength` is computed.
  private var length: AVAudioFrameCount = 0

  private func samples<Sample>(
    _ format: AVAudioCommonFormat
  ) -> UnsafePointer<UnsafeMutablePointer<Sample>>? {
    guard self.format.commonFormat == format else { return nil }
    return unsafe UnsafeRawPointer(channels)
      .assumingMemoryBound(to: UnsafeMutablePointer<Sample>.self)
  }

  /// The samples of each channel, `stride` apart, for `pcmFormatFloat32`; otherwise nil.
  public var floatChannelData: UnsafePointer<UnsafeMutablePointer<Float>>? {
    unsafe samples(.pcmFormatFloat32)
  }
  /// The samples of each channel, `stride` apart, for `pcmFormatInt16`; otherwise nil.
  public var int16ChannelData: UnsafePointer<UnsafeMutablePointer<Int16>>? {
    unsafe samples(.pcmFormatInt16)
  }
  /// The samples of each channel, `stride` apart, for `pcmFormatInt32`; otherwise nil.
  public var int32ChannelData: UnsafePointer<UnsafeMutablePointer<Int32>>? {
    unsafe samples(.pcmFormatInt32)
  }

  /// All frames of the memory. They are valid as long as this object is.
  var samples: SampleBuffers? { unsafe format.format?.samples(at: starts) }

  override func duplicated() -> AVAudioBuffer {
    guard let copy = AVAudioPCMBuffer(pcmFormat: format, frameCapacity: frameCapacity) else {
      refuse("AVAudioPCMBuffer.copy: there is no memory for \(frameCapacity) frames")
    }
    copy.frameLength = frameLength
    copy.copyBytes(of: self)
    return copy
  }

  /// The frames and the format.
  open override var description: String {
    "<\(identity): \(frameLength) of \(frameCapacity) frames, \(format)>"
  }
}
