package import Codecs
import RealTime
import Timeline

/// A reader of a file's sound through a converter, starting at any frame. It leaves out priming and
/// remainder frames. One thread at a time; blocks.
@safe
package final class MediaReader {
  package let file: any MediaFile
  /// The packet table to use instead of the file's; nil to use the file's.
  package var table: PacketTable? { didSet { isInstalled = false } }
  /// Minimum number of bytes per read from the file.
  package var bufferBytes: Int { didSet { isInstalled = false } }

  /// The frame where the current stream began, and the frames output since then.
  private var start: Int64 = 0
  private var given = 0
  /// The next packet to read from the file, and the unconverted part of the packets already read.
  private var nextPacket: Int64 = 0
  private var source = StreamConverter.Source.nothing
  private let memory = GrowingMemory()
  /// The converter of the current stream.
  private var converter: StreamConverter?
  /// True if the converter and the packet position match the stream's position.
  private var isInstalled = false
  /// The packets found so far that are missing or cannot be decoded.
  private var lost = MissingSound()
  /// The sound found so far that is missing or cannot be decoded.
  package var missing: MissingSound {
    var missing = lost.isEmpty ? file.missing : lost
    missing.isLeast = file.lacksUnknownFrames
    return missing
  }

  package init(_ file: any MediaFile, bufferBytes: Int = 1 << 15) {
    self.file = file
    self.bufferBytes = bufferBytes
  }

  /// Frames of sound, at the file's rate.
  package var frameCount: Int64 {
    get throws(MediaError) {
      if let table { return max(0, table.validFrames) }
      return try MediaError.file { () throws(SoundFileError) in try file.frameCount }
    }
  }

  /// The next frame to read, at the file's rate. It is rounded if the converter changes the rate.
  package var position: Int64 {
    guard let converter else { return start }
    let frames = Double(given) * file.format.sampleRate / converter.output.sampleRate
    return start + Int64(held: frames.rounded())
  }

  /// Moves the position to a frame, at the file's rate. The frame must not be negative.
  package func seek(to frame: Int64) {
    start = frame
    given = 0
    isInstalled = false
  }

  /// Reads until the output is full or the sound has ended. At the end the output has room left.
  ///
  /// - Parameter converter: Converts from the file's format. A new converter continues at the
  ///   position of the last one.
  package func read(
    _ sink: inout StreamConverter.Sink, through converter: StreamConverter
  ) throws(MediaError) {
    if !isInstalled || converter !== self.converter {
      start = position
      given = 0
      self.converter = converter
      try install(converter)
      isInstalled = true
    }
    let before = sink.count
    defer { given += sink.count - before }
    while true {
      do throws(StreamConverter.Failure) {
        try converter.convert(&source, into: &sink)
      } catch {
        throw .conversion(error)
      }
      for range in converter.missing {
        lost.add(range.count, at: start + Int64(range.lowerBound))
      }
      converter.missing = []
      if sink.isFull || source.isLast { return }
      source = try next()
    }
  }

  /// Prepares the converter and the packet position for the start of the stream.
  private func install(_ converter: StreamConverter) throws(MediaError) {
    source = .nothing
    let length = try frameCount
    let left = Int(clamping: max(0, length - start))
    guard case .packets(let format) = file.format else {
      nextPacket = start
      try MediaError.conversion { () throws(StreamConverter.Failure) in try converter.reset() }
      return
    }
    let priming = try MediaError.file { () throws(SoundFileError) in
      if let table { return table.primingFrames }
      return try file.packetTable?.primingFrames ?? 0
    }
    let frame = min(start, length, 1 << 60) + Int64(min(max(0, priming), 1 << 32))
    let (packet, offset) = try MediaError.file { () throws(SoundFileError) in
      try file.packet(atFrame: frame)
    }
    try MediaError.conversion { () throws(StreamConverter.Failure) in
      try converter.restart(skipping: offset, frames: left)
    }
    let setup = file.setupPackets(for: packet)
    try prepare(converter, with: setup)
    let first = max(setup.upperBound, packet - Int64(format.codec.packetsBefore))
    try prepare(converter, with: first..<packet)
    nextPacket = packet
  }

  private func prepare(
    _ converter: StreamConverter, with packets: Range<Int64>
  ) throws(MediaError) {
    nextPacket = packets.lowerBound
    while nextPacket < packets.upperBound {
      var before = try next(count: Int(packets.upperBound - nextPacket))
      if before.isEmpty { break }
      converter.prepare(with: &before)
    }
  }

  /// Reads the next packets from the file.
  private func next(count most: Int = .max) throws(MediaError) -> StreamConverter.Source {
    let wanted: Int
    switch file.format {
    case .pcm(let format):
      memory.reserve(max(bufferBytes, format.bytesPerFrame))
      let left = Int(clamping: try frameCount - nextPacket)
      wanted = unsafe min(memory.bytes.count / format.bytesPerFrame, left)
      guard wanted > 0 else { return .end }
    case .packets:
      let longest = try MediaError.file { () throws(SoundFileError) in try file.maximumPacketBytes }
      memory.reserve(max(bufferBytes, longest))
      wanted = min(most, 1 << 16)
    }
    var extents: [PacketExtent] = []
    let count: Int
    do throws(SoundFileError) {
      count = try unsafe file.readPackets(
        from: nextPacket, count: wanted, into: memory.bytes, extents: &extents)
    } catch {
      throw .file(error)
    }
    guard count > 0 else { return .end }
    nextPacket += Int64(count)
    switch file.format {
    case .pcm(let format):
      guard let base = unsafe memory.bytes.baseAddress,
        let samples = unsafe SampleBuffers(format, at: [base])
      else { return .end }
      return .frames(samples, count: count)
    case .packets(let format):
      if format.bytesPerPacket > 0 {
        let bytes = unsafe min(count * format.bytesPerPacket, memory.bytes.count)
        let packets = unsafe UnsafeRawBufferPointer(rebasing: memory.bytes[..<bytes])
        return unsafe .packets(packets, bytesPerPacket: format.bytesPerPacket)
      }
      return unsafe .packets(UnsafeRawBufferPointer(memory.bytes), extents)
    }
  }
}

extension Codec {
  /// Number of earlier packets that a decoder needs before its output matches continuous decoding.
  fileprivate var packetsBefore: Int {
    switch self {
    case .alac, .flac, .ulaw, .alaw, .msIMA: 0
    // Bit reservoir: a packet's unused bytes, up to 511, carry data of later packets.
    case .mp1, .mp2, .mp3: 24
    case .vorbis, .ac3, .eac3, .ima4: 2
    case .aac: 2
    case .aacHE, .aacHEv2: 4
    // The decoder converges after 80 ms.
    case .opus: 16
    case .gsm, .amrNarrow, .amrWide: 16
    }
  }
}
