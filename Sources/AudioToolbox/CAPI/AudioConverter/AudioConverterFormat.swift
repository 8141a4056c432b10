package import CAudioToolbox
package import Codecs
import RealTime

/// The input or output format of a converter, and whether linear PCM has one buffer per channel, or is
/// fixed point.
package struct ConverterFormat: Equatable, Sendable {
  package var stream: StreamFormat
  package let isPlanar: Bool
  /// Bits behind the binary point of a fixed-point sample; 0 if full scale is 1.
  package let fractionBits: Int

  /// Creates a format; nil if the description is contradictory or cannot be converted.
  package init?(_ description: AudioStreamBasicDescription) {
    isPlanar =
      description.mFormatID == kAudioFormatLinearPCM && description.mChannelsPerFrame > 1
      && description.mFormatFlags & kAudioFormatFlagIsNonInterleaved != 0
    var one = description
    if isPlanar {
      one.mFormatFlags &= ~kAudioFormatFlagIsNonInterleaved
      one.mChannelsPerFrame = 1
    }
    var fraction = 0
    if description.mFormatID == kAudioFormatLinearPCM,
      description.mFormatFlags & kAudioFormatFlagIsFloat == 0
    {
      let mask = kLinearPCMFormatFlagsSampleFractionMask
      fraction = Int((one.mFormatFlags & mask) >> kLinearPCMFormatFlagsSampleFractionShift)
      one.mFormatFlags &= ~mask
    }
    fractionBits = fraction
    guard let stream = StreamFormat(one) else { return nil }
    if fraction > 0 {
      guard case .pcm(let pcm) = stream, pcm.takesFractionBits(fraction) else { return nil }
    }
    self.stream = stream
    if isPlanar, case .pcm(var pcm) = stream {
      pcm.channels = Int(description.mChannelsPerFrame)
      guard pcm.layout != nil else { return nil }
      self.stream = .pcm(pcm)
    }
  }

  /// Creates a format that has another one's buffers and samples.
  package init(_ stream: StreamFormat, like other: ConverterFormat? = nil) {
    self.stream = stream
    isPlanar = other?.isPlanar ?? false
    fractionBits = other?.fractionBits ?? 0
  }

  package var streamDescription: AudioStreamBasicDescription {
    guard case .pcm(var pcm) = stream else { return stream.streamDescription }
    let channels = UInt32(pcm.channels)
    if isPlanar { pcm.channels = 1 }
    var description = pcm.streamDescription
    if isPlanar { description.mFormatFlags |= kAudioFormatFlagIsNonInterleaved }
    description.mFormatFlags |= AudioFormatFlags(
      UInt32(fractionBits) << kLinearPCMFormatFlagsSampleFractionShift)
    description.mChannelsPerFrame = channels
    return description
  }

  /// The number of buffers in an AudioBufferList of this format.
  package var buffers: Int { isPlanar ? stream.channels : 1 }

  /// The number of channels in each buffer.
  package var channelsPerBuffer: Int { stream.channels / max(1, buffers) }

  /// The size of a packet in each buffer, in bytes; 0 if packets vary in size.
  package var bytesPerPacket: Int {
    switch stream {
    case .pcm(let pcm): pcm.bytesPerSample * channelsPerBuffer
    case .packets(let packets): packets.bytesPerPacket
    }
  }

  /// Returns the memory for packets; nil if there is not exactly one buffer, or its data pointer is
  /// NULL.
  func packets(_ list: BufferList) -> UnsafeMutableRawBufferPointer? {
    guard list.count == 1, let pointers = unsafe list.pointers else { return nil }
    return unsafe UnsafeMutableRawBufferPointer(start: pointers[0], count: list.leastBytes)
  }

  /// Returns the linear PCM samples in the buffers; nil if the buffer count is wrong or a data
  /// pointer is NULL.
  func samples(_ list: BufferList) -> SampleBuffers? {
    guard list.count == buffers, let pointers = unsafe list.pointers else { return nil }
    return unsafe samples(at: pointers)
  }

  /// Returns linear PCM samples in buffers of the format; nil for packets.
  package func samples(at pointers: [UnsafeMutableRawPointer]) -> SampleBuffers? {
    guard case .pcm(let format) = stream else { return nil }
    return unsafe SampleBuffers(format, fractionBits: fractionBits, at: pointers)
  }
}

/// A view of an AudioBufferList that is owned elsewhere.
@safe
struct BufferList {
  private let list: UnsafeMutableBufferPointer<AudioBuffer>

  init(_ list: UnsafeMutablePointer<AudioBufferList>) {
    let offset = unsafe MemoryLayout<AudioBufferList>.offset(of: \.mBuffers)!
    let first = unsafe (UnsafeMutableRawPointer(list) + offset).assumingMemoryBound(
      to: AudioBuffer.self)
    unsafe self.list = UnsafeMutableBufferPointer(
      start: first, count: Int(list.pointee.mNumberBuffers))
  }

  var count: Int { unsafe list.count }

  /// The size of the smallest buffer in bytes.
  var leastBytes: Int { unsafe list.lazy.map { unsafe Int($0.mDataByteSize) }.min() ?? 0 }

  /// False if the data pointer of a buffer is NULL.
  var hasData: Bool { unsafe list.allSatisfy { unsafe $0.mData != nil } }

  /// The data pointers of the buffers; nil if one of them is NULL.
  var pointers: [UnsafeMutableRawPointer]? {
    let pointers = unsafe list.compactMap { unsafe $0.mData }
    return unsafe pointers.count == list.count ? pointers : nil
  }

  /// Returns the data pointer of a buffer; nil if it is NULL.
  func pointer(_ index: Int) -> UnsafeMutableRawPointer? { unsafe list[index].mData }

  /// Sets the data pointers of all buffers to one address.
  func setPointers(_ pointer: UnsafeMutableRawPointer) {
    for index in unsafe list.indices { unsafe list[index].mData = pointer }
  }

  func setBytes(_ bytes: Int) {
    for index in unsafe list.indices { unsafe list[index].mDataByteSize = UInt32(bytes) }
  }
}

/// An AudioBufferList that this object owns.
@safe
final class OwnedBufferList {
  let list: UnsafeMutablePointer<AudioBufferList>
  private let buffers: Int
  private let channels: Int

  init(buffers: Int, channelsPerBuffer: Int) {
    self.buffers = buffers
    channels = channelsPerBuffer
    let bytes =
      unsafe MemoryLayout<AudioBufferList>.size + (buffers - 1) * MemoryLayout<AudioBuffer>.stride
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: bytes, alignment: MemoryLayout<AudioBufferList>.alignment)
    unsafe list = memory.bindMemory(to: AudioBufferList.self, capacity: 1)
    clear()
  }

  deinit { unsafe UnsafeMutableRawPointer(list).deallocate() }

  /// Sets the data pointers of all buffers to NULL and their sizes to 0.
  func clear() {
    let offset = unsafe MemoryLayout<AudioBufferList>.offset(of: \.mBuffers)!
    unsafe list.pointee.mNumberBuffers = UInt32(buffers)
    let first = unsafe (UnsafeMutableRawPointer(list) + offset).assumingMemoryBound(
      to: AudioBuffer.self)
    for index in 0..<buffers {
      unsafe (first + index).initialize(
        to: AudioBuffer(mNumberChannels: UInt32(channels), mDataByteSize: 0, mData: nil))
    }
  }
}
