package import Codecs

/// A file of packets that is being written, from its first packet to its last.
///
/// One thread at a time; every call may block on the store. What is told of the file (`cookie`,
/// `packetTable` …) counts when the first packet comes, and again when the file is closed: encoders know
/// some of it at the end only.
///
/// A program that is killed leaves a file that opens, with everything up to the latest `checkpoint`, and
/// where the kind needs a table of packets, with all but the latest second even without one.
package final class PacketFileWriter {
  package let container: Container
  package let format: PacketFormat
  /// What a decoder needs, in any form that `MagicCookie` reads.
  package var cookie: [UInt8] = []
  /// Which of the frames are sound. Its priming counts at the first packet, the rest when the file is
  /// closed; valid frames that do not fit the packets are cut, and 0 of them stand for all but the others.
  /// Nil if all are.
  package var packetTable: PacketTable?
  /// By the keys of Core Audio's info dictionaries. Written before the first packet, and in MPEG-4 and CAF
  /// files again when the file is closed.
  package var tags: [String: String] = [:]
  /// What each channel is for; counts at the first packet.
  package var channelRoles: [ChannelRole]?
  /// Bits per second, where the file says so; 0 if it is not known.
  package var bitRate = 0
  /// Chunks that CAF files get besides their own. The bytes have to be there.
  var chunks: [Chunk] = []

  /// Packets written.
  package private(set) var packetCount: Int64 = 0
  /// Bytes of all packets.
  package private(set) var byteCount: Int64 = 0
  /// Bytes of the longest packet.
  package private(set) var maximumPacketBytes = 0
  /// Frames that all packets decode to.
  package private(set) var frameCount: Int64 = 0

  private let store: any ByteStore
  private var body: (any PacketFileBody)?
  private var frames: (([UInt8]) -> Int)?
  private var isClosed = false
  private var isOptimizing = false

  /// True if a kind of file can hold packets of a format, and we can write it.
  package static func canWrite(_ format: PacketFormat, in container: Container) -> Bool {
    guard format.sampleRate >= 1, format.sampleRate <= 1_000_000, (1...64).contains(format.channels)
    else { return false }
    let codec = format.codec
    switch container {
    case .caf: return codec != .vorbis
    case .m4a, .m4b: return [.aac, .aacHE, .aacHEv2, .alac, .ac3].contains(codec)
    case .mp4:
      return [.aac, .aacHE, .aacHEv2, .alac, .ac3, .eac3, .flac, .opus, .mp3].contains(codec)
    case .threeGP, .threeGP2:
      return [.aac, .aacHE, .aacHEv2, .amrNarrow, .amrWide].contains(codec)
    case .adts: return [.aac, .aacHE, .aacHEv2].contains(codec)
    case .mp3: return codec == .mp3 && format.channels <= 2
    case .mp2: return codec == .mp2
    case .ac3: return codec == .ac3 || codec == .eac3
    case .flac: return codec == .flac
    case .ogg: return codec == .opus || codec == .vorbis || codec == .flac
    case .amr: return (codec == .amrNarrow || codec == .amrWide) && format.channels == 1
    case .wave: return [.ulaw, .alaw, .msIMA, .gsm, .mp3].contains(codec)
    case .aifc: return [.ulaw, .alaw, .ima4].contains(codec)
    case .next: return codec == .ulaw || codec == .alaw
    case .aiff, .rf64, .wave64, .mp1: return false
    }
  }

  /// Begins a file in a store, which should be empty. Nothing is written before the first packet.
  package init(
    _ store: any ByteStore, container: Container, format: PacketFormat
  ) throws(SoundFileError) {
    guard Self.canWrite(format, in: container) else {
      throw SoundFileError(
        .unsupportedEncoding("\(format.codec.name) in \(container) files"), path: store.name)
    }
    self.store = store
    self.container = container
    self.format = format
  }

  /// Adds packets.
  ///
  /// - Parameter extents: Where each lies in `bytes`. Their frames count where the format lets them vary,
  ///   unless the packets themselves tell (Opus and Vorbis).
  package func append(
    _ bytes: UnsafeRawBufferPointer, _ extents: [PacketExtent]
  ) throws(SoundFileError) {
    guard !isClosed else { throw SoundFileError(.notForWriting, path: store.name) }
    let body = try begun()
    // What goes in together, and the frames that its first packet has.
    var run = 0..<0
    var told = 0
    for extent in extents {
      guard extent.bytes > 0, extent.offset >= 0, extent.offset <= bytes.count,
        extent.bytes <= bytes.count - extent.offset,
        format.bytesPerPacket == 0 || extent.bytes == format.bytesPerPacket
      else {
        throw SoundFileError(
          .cannotWrite("a packet of \(extent.bytes) bytes does not fit in"), path: store.name)
      }
      if !body.takesRuns || run.upperBound != extent.offset || run.count >= 1 << 14 {
        try unsafe put(bytes, run, frames: told, body)
        run = extent.offset..<extent.offset
        told = extent.frames
      }
      run = run.lowerBound..<extent.offset + extent.bytes
    }
    try unsafe put(bytes, run, frames: told, body)
  }

  /// Adds one packet, or several of one size.
  private func put(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, frames told: Int,
    _ body: any PacketFileBody
  ) throws(SoundFileError) {
    guard !range.isEmpty else { return }
    let run = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
    let packets = format.bytesPerPacket > 0 ? run.count / format.bytesPerPacket : 1
    let count: Int
    if format.framesPerPacket > 0 {
      count = packets * format.framesPerPacket
    } else if let frames {
      count = unsafe frames(Array(run))
    } else {
      count = told
      guard count > 0 else {
        throw SoundFileError(.cannotWrite("a packet has no frames"), path: store.name)
      }
    }
    try unsafe body.append(run, packets: packets, frames: count)
    packetCount += Int64(packets)
    byteCount += Int64(run.count)
    frameCount += Int64(count)
    maximumPacketBytes = max(maximumPacketBytes, run.count / packets)
  }

  /// Returns when everything up to here is safe: from now on neither a kill nor, as far as the system
  /// tells, a loss of power takes it away.
  package func checkpoint() throws(SoundFileError) {
    guard !isClosed else { return }
    try begun().checkpoint(facts())
    try store.synchronize()
  }

  /// Completes the file. Later calls do nothing, but `append` fails.
  package func close() throws(SoundFileError) {
    guard !isClosed else { return }
    isClosed = true
    defer { body = nil }
    try begun().finish(facts())
    if isOptimizing { try PacketFileOrder.optimize(store, container) }
    try store.synchronize()
  }

  /// Has nothing come after the packets that should stand before them, once the file is closed. A kill
  /// leaves the file in one order or the other.
  package func optimize() throws(SoundFileError) {
    guard !isOptimized else { return }
    try store.optimizable()
    isOptimizing = true
  }

  /// False if the file's table will come after its packets.
  package var isOptimized: Bool {
    if isOptimizing { return true }
    return !container.isMPEG4 && !(container == .caf && CAFBody.isListed(format))
  }

  /// What writes the file, from the first packet on.
  private func begun() throws(SoundFileError) -> any PacketFileBody {
    if let body { return body }
    let facts = try facts()
    frames = PacketFrames.counter(format.codec, facts.extradata)
    let new: any PacketFileBody =
      switch container {
      case .caf: try CAFBody(store, format, facts)
      case .m4a, .m4b, .mp4, .threeGP, .threeGP2: try MPEG4Body(store, container, format, facts)
      default: try StreamBody(store, container, format, facts)
      }
    body = new
    return new
  }

  private func facts() throws(SoundFileError) -> PacketFileFacts {
    let extradata: [UInt8]
    do throws(CodecError) {
      extradata = try MagicCookie.extradata(format.codec, cookie: cookie)
    } catch {
      throw SoundFileError(.cannotWrite(error.reason), path: store.name)
    }
    return PacketFileFacts(
      cookie: cookie, extradata: extradata, table: fittingTable, tags: tags,
      channelRoles: channelRoles, bitRate: bitRate, chunks: chunks)
  }

  /// Frames of sound in the packets that were written.
  package var validFrames: Int64 { fittingTable.validFrames }

  /// Which frames are sound, as far as packets are there.
  private var fittingTable: PacketTable {
    guard let packetTable else { return PacketTable(priming: 0, valid: nil, of: frameCount) }
    // The first packet has to be told of the priming.
    guard packetCount > 0 else { return packetTable }
    return PacketTable(
      priming: Int64(packetTable.primingFrames),
      // It may have been made before the frames were known.
      valid: packetTable.validFrames > 0 ? packetTable.validFrames : nil,
      remainder: Int64(packetTable.remainderFrames), of: frameCount)
  }
}

/// What is known of a file that is being written.
struct PacketFileFacts {
  var cookie: [UInt8]
  /// libavcodec's form of it.
  var extradata: [UInt8]
  var table: PacketTable
  var tags: [String: String]
  var channelRoles: [ChannelRole]?
  var bitRate: Int
  var chunks: [Chunk]
}

/// How a kind of file is written.
protocol PacketFileBody: AnyObject {
  /// True if several packets of one size may come at once: nothing is kept of single ones.
  var takesRuns: Bool { get }
  /// Adds a packet, or several of one size.
  func append(
    _ run: UnsafeRawBufferPointer, packets: Int, frames: Int
  ) throws(SoundFileError)
  /// Writes what makes the file whole as it is, so that only a loss of power could take it away.
  func checkpoint(_ facts: PacketFileFacts) throws(SoundFileError)
  /// Completes the file.
  func finish(_ facts: PacketFileFacts) throws(SoundFileError)
}
