import Codecs
import RealTime
import Timeline

/// A store that holds only a file's header but claims the complete file's length. A few zeros
/// follow the header, for readers that look at more bytes than a short header has.
final class HeadStore: ReadOnlyStore {
  let name = "the stream"
  private let bytes: [UInt8]
  private let knownCount: Int
  private let count: Int64

  init(_ bytes: [UInt8], apparentByteCount: Int64) {
    knownCount = bytes.count
    count = max(Int64(bytes.count), apparentByteCount)
    let zeros = min(64, count - Int64(bytes.count))
    self.bytes = bytes + [UInt8](repeating: 0, count: Int(zeros))
  }

  func byteCount() -> Int64 { count }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard offset >= 0, offset < knownCount else { return 0 }
    let part = bytes[Int(offset)...].prefix(buffer.count)
    unsafe buffer.copyBytes(from: part)
    return part.count
  }
}

extension StreamFailure {
  /// Creates the failure for an error that occurred while reading the header.
  fileprivate init(_ error: SoundFileError) {
    switch error.kind {
    case .unsupportedEncoding(let name): self = .unsupportedEncoding(name)
    case .unsupportedContainer, .notASoundFile: self = .unsupportedContainer
    case .damaged(let detail): self = .damaged(detail)
    default: self = .damaged(error.description)
    }
  }
}

extension StreamParser {
  /// The stream's properties, which the file readers find once its header is complete.
  struct Opening {
    var details: Details
    var framing: Framing

    /// Opens a stream with a header. `bytes` are its first bytes after a tag.
    init(
      _ tag: [UInt8], _ bytes: [UInt8], _ container: Container, dataOffset: Int, dataBytes: Int64?
    ) throws(StreamFailure) {
      // An unknown length is taken as very large.
      let (total, isTooLong) = Int64(dataOffset).addingReportingOverflow(dataBytes ?? 1 << 40)
      guard !isTooLong else { throw .damaged("its sound is too long") }
      let store = HeadStore(
        tag + bytes, apparentByteCount: tag.isEmpty ? total : total &+ Int64(tag.count))
      do throws(SoundFileError) {
        if container.holdsPCM, let file = try Self.sound(store) {
          self.init(file, dataOffset, dataBytes)
          return
        }
        let reader = try PacketFileReader(store, container: container)
        if container.isMPEG4, let fragments = StreamFragments(bytes, reader.format) {
          self.init(reader, dataOffset, fragments)
        } else if container == .flac {
          try self.init(flac: reader, bytes, dataOffset)
        } else {
          try self.init(reader, dataOffset, dataBytes)
        }
      } catch {
        throw StreamFailure(error)
      }
      guard case .listed(let list) = framing else { return }
      if list.count == 0, details.dataBytes != 0 { throw .notOptimized }
      // Each packet is collected in memory, so its size is limited.
      guard list.maximumBytes <= StreamStart.maximumBytes else {
        throw .damaged("a packet of \(list.maximumBytes) bytes")
      }
    }

    /// Returns nil if the stream is not linear PCM.
    private static func sound(_ store: HeadStore) throws(SoundFileError) -> SoundFile? {
      do throws(SoundFileError) {
        return try SoundFile(store)
      } catch {
        if case .unsupportedEncoding = error.kind { return nil }
        throw error
      }
    }

    private init(_ file: SoundFile, _ dataOffset: Int, _ dataBytes: Int64?) {
      let size = file.format.bytesPerFrame
      framing = .equal(bytes: size)
      details = Details(
        container: file.container, format: .pcm(file.format), channelRoles: file.channelRoles,
        dataOffset: Int64(dataOffset), packetBytesLimit: size)
      details.tags = (try? file.tags()) ?? [:]
      details.setEqualPackets(of: size, dataBytes)
      details.bitRate = Int(clamping: Int64(held: file.format.sampleRate * Double(8 * size)))
    }

    private init(
      _ reader: PacketFileReader, _ dataOffset: Int, _ dataBytes: Int64?
    ) throws(SoundFileError) {
      let format = reader.format
      details = Details(reader, dataOffset)
      if format.bytesPerPacket > 0, format.framesPerPacket > 0 {
        let size = format.bytesPerPacket
        framing = .equal(bytes: size)
        details.packetBytesLimit = size
        details.setEqualPackets(of: size, dataBytes)
        if dataBytes != nil { details.packetTable = try reader.packetTable }
        let seconds = Double(format.framesPerPacket) / format.sampleRate
        details.bitRate = Int(held: Double(8 * size) / seconds)
        return
      }
      if reader.container == .wave || reader.container == .rf64, format.codec.isMPEGAudio {
        // These packets are framed as in an MPEG audio file.
        framing = .frames(FrameScanner(.mpeg, proof: 2))
        // The WAVE header does not give the roles, but MPEG audio allows no others.
        details.channelRoles = format.channels == 1 ? [.mono] : [.left, .right]
        details.packetBytesLimit = FrameKind.mpeg.maximumPacketBytes
        details.dataBytes = dataBytes
        return
      }
      let list = reader.listedPackets
      framing = .listed(list)
      details.packetBytesLimit = list.maximumBytes
      details.maximumPacketBytes = list.maximumBytes
      details.packetCount = list.count
      details.dataBytes = list.byteCount
      details.packetTable = try reader.packetTable
      details.bitRate = try reader.bitRate
    }

    private init(_ reader: PacketFileReader, _ dataOffset: Int, _ fragments: StreamFragments) {
      details = Details(reader, dataOffset)
      // Uncompressed samples of 32 bits, with room for headers.
      let frames = reader.format.framesPerPacket > 0 ? reader.format.framesPerPacket : 1 << 16
      details.packetBytesLimit = max(1 << 16, frames * reader.format.channels * 4 + 1024)
      framing = .fragments(fragments)
    }

    private init(
      flac reader: PacketFileReader, _ bytes: [UInt8], _ dataOffset: Int
    ) throws(SoundFileError) {
      details = Details(reader, dataOffset)
      let info = FLACStreamInfo(bytes)
      var scanner = FLACScanner(
        maximumFrameBytes: info?.maximumBytes ?? 0, format: reader.format, cookie: reader.cookie,
        canWait: false)
      scanner.streamInfo = info
      framing = .flac(scanner)
      details.packetBytesLimit = scanner.maximumPacketBytes
      let frames = info?.frames ?? 0
      let each = Int64(reader.format.framesPerPacket)
      guard frames > 0, each > 0 else { return }
      details.packetCount = (frames + each - 1) / each
      if frames % each != 0 {
        details.packetTable = PacketTable(
          priming: 0, valid: frames, of: (details.packetCount ?? 0) * each)
      }
    }

    /// Opens a stream of frames. `bytes` lie at `position` of the stream, and the first frame at
    /// `offset` in them.
    init(
      _ tag: [UInt8], _ bytes: [UInt8], at position: Int64, _ head: FrameHead, _ offset: Int,
      _ scanner: FrameScanner
    ) throws(StreamFailure) {
      var scanner = scanner
      scanner.loseStep()
      framing = .frames(scanner)
      // Bytes before the first frame would confuse a reader. Two frames and a header are always
      // available, so the result does not depend on how the stream was divided.
      let next = scanner.kind.head(bytes, at: offset + head.bytes)
      let end = offset + head.bytes + (next?.bytes ?? 0) + scanner.kind.headBytes
      let store = HeadStore(tag + bytes[offset..<min(end, bytes.count)], apparentByteCount: 0)
      let container: Container =
        switch head.codec {
        case .mp1: .mp1
        case .mp2: .mp2
        case .mp3: .mp3
        case .ac3: .ac3
        default: .adts
        }
      let about = MPEGInformation(bytes, at: offset, head)
      do throws(SoundFileError) {
        let reader = try PacketFileReader(store, container: container)
        details = Details(reader, Int(position) + offset + (about == nil ? 0 : head.bytes))
      } catch {
        throw StreamFailure(error)
      }
      details.packetBytesLimit = scanner.kind.maximumPacketBytes
      guard let about else {
        if head.bitRate > 0 { details.bitRate = head.bitRate }
        return
      }
      details.packetCount = about.packets
      details.dataBytes = about.bytes
      guard let packets = about.packets, packets > 0 else { return }
      let frames = packets * Int64(head.frames)
      details.packetTable = about.table(of: frames, each: head.frames)
      if let bytes = about.bytes {
        let bits = Double(8 * bytes) * head.sampleRate / Double(frames)
        details.bitRate = Int(held: min(bits.rounded(), Double(Int32.max)))
      }
    }
  }
}

extension StreamParser.Details {
  /// Creates the details from what a file reader finds in the header.
  fileprivate init(_ reader: PacketFileReader, _ dataOffset: Int) {
    self.init(
      container: reader.container, format: .packets(reader.format), cookie: reader.cookie,
      tags: reader.tags, channelRoles: reader.channelRoles, dataOffset: Int64(dataOffset),
      packetBytesLimit: 0)
  }

  fileprivate mutating func setEqualPackets(of size: Int, _ dataBytes: Int64?) {
    maximumPacketBytes = size
    packetCount = dataBytes.map { $0 / Int64(size) }
    self.dataBytes = dataBytes
  }
}
