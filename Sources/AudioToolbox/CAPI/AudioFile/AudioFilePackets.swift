public import CAudioToolbox
import Codecs
import Files
import RealTime

// MARK: Bytes

/// See AudioFileReadBytes in AudioFile.h.
@c @implementation
public func AudioFileReadBytes(
  _ inAudioFile: AudioFileID, _ inUseCache: Bool, _ inStartingByte: Int64,
  _ ioNumBytes: UnsafeMutablePointer<UInt32>, _ outBuffer: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe answer("AudioFileReadBytes", needs: ioNumBytes) { () throws(AudioFileFailure) in
    let wanted = unsafe takeCount(ioNumBytes)
    let media = try unsafe OpenFile.readable(inAudioFile)
    guard inStartingByte >= 0 else { throw .negativePosition(inStartingByte) }
    guard wanted > 0 else { return }
    guard let outBuffer = unsafe outBuffer else { throw .badArgument("the buffer is NULL") }
    let count = try unsafe onFile(
      media.readBytes(
        at: inStartingByte, into: .init(start: outBuffer, count: Int(wanted))))
    unsafe ioNumBytes.pointee = UInt32(count)
    if count < wanted { throw .endOfFile }
  }
}

/// See AudioFileWriteBytes in AudioFile.h.
@c @implementation
public func AudioFileWriteBytes(
  _ inAudioFile: AudioFileID, _ inUseCache: Bool, _ inStartingByte: Int64,
  _ ioNumBytes: UnsafeMutablePointer<UInt32>, _ inBuffer: UnsafeRawPointer?
) -> OSStatus {
  unsafe answer("AudioFileWriteBytes", needs: ioNumBytes) { () throws(AudioFileFailure) in
    let count = unsafe takeCount(ioNumBytes)
    let media = try unsafe OpenFile.find(inAudioFile).media
    guard inStartingByte >= 0 else { throw .negativePosition(inStartingByte) }
    guard count > 0 else { return }
    guard let inBuffer = unsafe inBuffer else { throw .badArgument("the buffer is NULL") }
    try unsafe onFile(
      media.writeBytes(
        at: inStartingByte, from: .init(start: inBuffer, count: Int(count))))
    unsafe ioNumBytes.pointee = count
  }
}

/// Returns a count and sets it to 0 until something is read or written.
private func takeCount(_ count: UnsafeMutablePointer<UInt32>) -> UInt32 {
  let value = unsafe count.pointee
  unsafe count.pointee = 0
  return value
}

// MARK: Packets

/// See AudioFileReadPackets in AudioFile.h.
@c @implementation
public func AudioFileReadPackets(
  _ inAudioFile: AudioFileID, _ inUseCache: Bool, _ outNumBytes: UnsafeMutablePointer<UInt32>,
  _ outPacketDescriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?,
  _ inStartingPacket: Int64, _ ioNumPackets: UnsafeMutablePointer<UInt32>,
  _ outBuffer: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe readPackets(
    "AudioFileReadPackets", inAudioFile, hasRoom: false, bytes: outNumBytes,
    descriptions: outPacketDescriptions, from: inStartingPacket, packets: ioNumPackets,
    into: outBuffer)
}

/// See AudioFileReadPacketData in AudioFile.h.
@c @implementation
public func AudioFileReadPacketData(
  _ inAudioFile: AudioFileID, _ inUseCache: Bool, _ ioNumBytes: UnsafeMutablePointer<UInt32>,
  _ outPacketDescriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?,
  _ inStartingPacket: Int64, _ ioNumPackets: UnsafeMutablePointer<UInt32>,
  _ outBuffer: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe readPackets(
    "AudioFileReadPacketData", inAudioFile, hasRoom: true, bytes: ioNumBytes,
    descriptions: outPacketDescriptions, from: inStartingPacket, packets: ioNumPackets,
    into: outBuffer)
}

/// Reads packets. With `hasRoom`, `bytes` holds the size of the buffer on entry.
private func readPackets(
  _ function: String, _ handle: AudioFileID, hasRoom: Bool,
  bytes: UnsafeMutablePointer<UInt32>,
  descriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?, from start: Int64,
  packets: UnsafeMutablePointer<UInt32>, into buffer: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe answer(function, needs: bytes, packets) { () throws(AudioFileFailure) in
    let room = unsafe takeCount(bytes)
    let wanted = unsafe Int(takeCount(packets))
    let media = try unsafe OpenFile.readable(handle)
    guard start >= 0 else { throw .negativePosition(start) }
    guard wanted > 0 else { return }
    guard let buffer = unsafe buffer else { throw .badArgument("the buffer is NULL") }

    var extents: [PacketExtent] = []
    // Without a given size the buffer must hold packets of the maximum size.
    let all = hasRoom ? 0 : try onFile(media.maximumPacketBytes)
    let size = min(
      hasRoom ? Int(room) : wanted.multipliedReportingOverflow(by: all).partialValue,
      Int(UInt32.max))
    let memory = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: size)
    let read = try unsafe onFile(
      media.readPackets(from: start, count: wanted, into: memory, extents: &extents))
    switch media.format {
    case .pcm(let format):
      let bytesPerFrame = format.bytesPerFrame
      guard size >= bytesPerFrame else {
        throw .badArgument("the buffer has no room for a packet")
      }
      if let descriptions = unsafe descriptions {
        for packet in 0..<read {
          unsafe descriptions[packet] = AudioStreamPacketDescription(
            mStartOffset: Int64(packet * bytesPerFrame), mVariableFramesInPacket: 0,
            mDataByteSize: UInt32(bytesPerFrame))
        }
      }
      unsafe bytes.pointee = UInt32(read * bytesPerFrame)
    case .packets:
      if read == 0, start < (try onFile(media.packetCount)) {
        throw .badArgument("the buffer has no room for a packet")
      }
      if let descriptions = unsafe descriptions {
        for (index, extent) in extents.prefix(read).enumerated() {
          unsafe descriptions[index] = AudioStreamPacketDescription(
            mStartOffset: Int64(extent.offset),
            mVariableFramesInPacket: UInt32(clamping: extent.frames),
            mDataByteSize: UInt32(clamping: extent.bytes))
        }
      }
      unsafe bytes.pointee = UInt32(extents.prefix(read).last.map { $0.offset + $0.bytes } ?? 0)
    }
    unsafe packets.pointee = UInt32(read)
  }
}

/// See AudioFileWritePackets in AudioFile.h.
@c @implementation
public func AudioFileWritePackets(
  _ inAudioFile: AudioFileID, _ inUseCache: Bool, _ inNumBytes: UInt32,
  _ inPacketDescriptions: UnsafePointer<AudioStreamPacketDescription>?,
  _ inStartingPacket: Int64, _ ioNumPackets: UnsafeMutablePointer<UInt32>,
  _ inBuffer: UnsafeRawPointer?
) -> OSStatus {
  unsafe answer("AudioFileWritePackets", needs: ioNumPackets) { () throws(AudioFileFailure) in
    let wanted = unsafe Int(takeCount(ioNumPackets))
    let media = try unsafe OpenFile.find(inAudioFile).media
    guard inStartingPacket >= 0 else { throw .negativePosition(inStartingPacket) }
    guard wanted > 0 else { return }
    guard let inBuffer = unsafe inBuffer else { throw .badArgument("the buffer is NULL") }
    let extents = try unsafe extents(
      media.format, inPacketDescriptions, packets: wanted, bytes: Int(inNumBytes))
    let bytes = extents.map { $0.offset + $0.bytes }.max() ?? 0
    do throws(SoundFileError) {
      try unsafe media.writePackets(
        at: inStartingPacket, from: .init(start: inBuffer, count: bytes), extents: extents)
      unsafe ioNumPackets.pointee = UInt32(wanted)
    } catch {
      // On a full disk some of the packets were written.
      if case .noRoom = error.kind, let there = try? media.packetCount {
        let written = min(max(0, there - inStartingPacket), Int64(wanted))
        unsafe ioNumPackets.pointee = UInt32(written)
      }
      throw .file(error)
    }
  }
}

/// Returns the extents of packets in a buffer. `bytes` limits packets of different sizes only: that of
/// packets of one size follows from their number, and some programs give another one.
private func extents(
  _ format: StreamFormat, _ descriptions: UnsafePointer<AudioStreamPacketDescription>?,
  packets: Int, bytes: Int
) throws(AudioFileFailure) -> [PacketExtent] {
  let fixedBytes =
    switch format {
    case .pcm(let format): format.bytesPerFrame
    case .packets(let format): format.bytesPerPacket
    }
  if fixedBytes > 0 {
    // All frames go into one extent.
    if case .pcm = format { return [PacketExtent(offset: 0, bytes: packets * fixedBytes)] }
    return (0..<packets).map { PacketExtent(offset: $0 * fixedBytes, bytes: fixedBytes) }
  }
  guard let descriptions = unsafe descriptions else {
    throw .badArgument("packets of different sizes need descriptions")
  }
  var extents: [PacketExtent] = []
  extents.reserveCapacity(packets)
  for index in 0..<packets {
    let description = unsafe descriptions[index]
    let offset = description.mStartOffset
    let size = Int64(description.mDataByteSize)
    guard offset >= 0, offset <= bytes, size <= Int64(bytes) - offset else {
      throw .badArgument("packet \(index) does not lie in the \(bytes) bytes of the buffer")
    }
    extents.append(
      PacketExtent(
        offset: Int(offset), bytes: Int(size), frames: Int(description.mVariableFramesInPacket)))
  }
  return extents
}
