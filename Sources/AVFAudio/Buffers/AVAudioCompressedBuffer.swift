public import AudioToolbox
import Codecs
import Foundation

/// A buffer of a codec's packets. One thread at a time.
@safe
open class AVAudioCompressedBuffer: AVAudioBuffer {
  /// The number of packets that fit.
  public let packetCapacity: AVAudioPacketCount
  /// The size in bytes of the largest packet that fits.
  public let maximumPacketSize: Int
  /// The memory of the packets.
  public let data: UnsafeMutableRawPointer
  /// The size of that memory in bytes.
  public let byteCapacity: UInt32
  /// The place of each packet; nil if all packets of the format have one size.
  public let packetDescriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?

  /// Creates a buffer without packets. Ends the program if the format is linear PCM, or the memory is larger than
  /// 4 GiB.
  public init(
    format: AVAudioFormat, packetCapacity: AVAudioPacketCount, maximumPacketSize: Int
  ) {
    guard case .packets(let packets) = format.format?.stream else {
      refuse("AVAudioCompressedBuffer: \(format) is no format of packets")
    }
    let (bytes, isTooLarge) = Int(packetCapacity).multipliedReportingOverflow(
      by: maximumPacketSize)
    guard !isTooLarge, bytes >= 0, bytes <= Int(UInt32.max),
      let memory = unsafe calloc(1, max(1, bytes))
    else {
      refuse(
        "AVAudioCompressedBuffer: there is no memory for \(packetCapacity) packets of \(maximumPacketSize) bytes"
      )
    }
    self.packetCapacity = packetCapacity
    self.maximumPacketSize = maximumPacketSize
    unsafe data = memory
    byteCapacity = UInt32(bytes)
    let isUniform = packets.bytesPerPacket > 0
    unsafe packetDescriptions = isUniform ? nil : .allocate(capacity: max(1, Int(packetCapacity)))
    unsafe packetDescriptions?.initialize(
      repeating: AudioStreamPacketDescription(), count: max(1, Int(packetCapacity)))
    unsafe super.init(
      format, at: [memory], bytes: UInt32(bytes), channels: format.channelCount
    ) { _ in unsafe free(memory) }
    setValidBytes(0)
  }

  /// Creates a buffer without packets. Ends the program if the packets of the format vary in size.
  public convenience init(format: AVAudioFormat, packetCapacity: AVAudioPacketCount) {
    let bytes = unsafe format.streamDescription.pointee.mBytesPerPacket
    guard bytes > 0 else {
      refuse("AVAudioCompressedBuffer: the packets of \(format) vary in size: give their maximum")
    }
    self.init(format: format, packetCapacity: packetCapacity, maximumPacketSize: Int(bytes))
  }

  deinit { unsafe packetDescriptions?.deallocate() }

  /// The number of packets in the buffer, 0 at first. A number above the capacity ends the program.
  public var packetCount: AVAudioPacketCount {
    get { packets }
    set {
      guard newValue <= packetCapacity else {
        refuse(
          "AVAudioCompressedBuffer.packetCount: \(newValue) packets do not fit a capacity of \(packetCapacity)"
        )
      }
      packets = newValue
    }
  }

  /// The bytes of the packets in the buffer, 0 at first. A number above the capacity ends the program.
  public var byteLength: UInt32 {
    get { bytes }
    set {
      guard newValue <= byteCapacity else {
        refuse(
          "AVAudioCompressedBuffer.byteLength: \(newValue) bytes do not fit a capacity of \(byteCapacity)"
        )
      }
      bytes = newValue
      setValidBytes(newValue)
    }
  }

  // Initialisers of programs do not call observers: the two are computed.
  private var packets: AVAudioPacketCount = 0
  private var bytes: UInt32 = 0

  /// The packets in the buffer. They are valid as long as this object is.
  var source: StreamConverter.Source {
    get throws(AudioConverterError) {
      let memory = unsafe UnsafeRawBufferPointer(start: data, count: Int(byteCapacity))
      let size = unsafe Int(format.streamDescription.pointee.mBytesPerPacket)
      guard let descriptions = unsafe packetDescriptions else {
        // Programs set one of the two.
        let bytes = packetCount > 0 ? Int(packetCount) * size : Int(byteLength)
        guard bytes <= memory.count else {
          throw .inputSize("\(packetCount) packets of \(size) bytes are more than the buffer has")
        }
        return unsafe .packets(
          UnsafeRawBufferPointer(rebasing: memory[..<bytes]), bytesPerPacket: size)
      }
      var extents: [PacketExtent] = []
      for index in 0..<Int(packetCount) {
        let packet = unsafe descriptions[index]
        guard packet.mStartOffset >= 0, packet.mStartOffset <= memory.count,
          Int(packet.mDataByteSize) <= memory.count - Int(packet.mStartOffset)
        else { throw .inputSize("packet \(index) does not lie in the buffer") }
        extents.append(
          PacketExtent(
            offset: Int(packet.mStartOffset), bytes: Int(packet.mDataByteSize),
            frames: Int(packet.mVariableFramesInPacket)))
      }
      return unsafe .packets(memory, extents)
    }
  }

  /// Takes over what a converter has written into the memory.
  func show(_ sink: StreamConverter.Sink) {
    packetCount = AVAudioPacketCount(sink.count)
    byteLength = UInt32(sink.bytes)
    guard let descriptions = unsafe packetDescriptions else { return }
    for (index, extent) in sink.extents.enumerated() {
      unsafe descriptions[index] = AudioStreamPacketDescription(
        mStartOffset: Int64(extent.offset), mVariableFramesInPacket: UInt32(extent.frames),
        mDataByteSize: UInt32(extent.bytes))
    }
  }

  override func duplicated() -> AVAudioBuffer {
    let copy = AVAudioCompressedBuffer(
      format: format, packetCapacity: packetCapacity, maximumPacketSize: maximumPacketSize)
    copy.packetCount = packetCount
    copy.byteLength = byteLength
    copy.copyBytes(of: self)
    if let from = unsafe packetDescriptions {
      unsafe copy.packetDescriptions?.update(from: from, count: Int(packetCount))
    }
    return copy
  }
}
