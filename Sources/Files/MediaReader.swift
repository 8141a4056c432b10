package import Codecs
import RealTime

/// A sound file could not be converted.
package enum MediaError: Error, Hashable, Sendable {
  case file(SoundFileError)
  case conversion(StreamConverter.Failure)

  /// Runs a part of the work that is about a file.
  static func file<Value>(
    _ body: () throws(SoundFileError) -> Value
  ) throws(MediaError) -> Value {
    do throws(SoundFileError) { return try body() } catch { throw .file(error) }
  }

  /// Runs a part of the work that is about converting.
  static func conversion<Value>(
    _ body: () throws(StreamConverter.Failure) -> Value
  ) throws(MediaError) -> Value {
    do throws(StreamConverter.Failure) { return try body() } catch { throw .conversion(error) }
  }
}

/// Reads the sound of a file through a converter: from any frame on, without what the packets hold
/// before and behind the sound. One thread at a time; blocks.
@safe
package final class MediaReader {
  package let file: MediaFile
  /// Which of the decoded frames are sound, if others than the file says.
  package var table: PacketTable? { didSet { isPlaced = false } }
  /// Bytes that are read from the file at a time, at the least.
  package var bufferBytes: Int { didSet { isPlaced = false } }

  /// Where the stream that is being read began, and the frames that have come of it.
  private var start: Int64 = 0
  private var given = 0
  /// The file's packet that comes next, and how far the ones before it were converted.
  private var nextPacket: Int64 = 0
  private var source = StreamConverter.Source.nothing
  private let memory = GrowingMemory()
  /// What the stream goes through.
  private var converter: StreamConverter?
  /// The converter and the packets are where the stream is.
  private var isPlaced = false

  package init(_ file: MediaFile, bufferBytes: Int = 1 << 15) {
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

  /// The frame that is read next, at the file's rate. It is rounded if the converter has another rate.
  package var position: Int64 {
    guard let converter else { return start }
    let frames = Double(given) * file.format.sampleRate / converter.output.sampleRate
    return start + Int64(frames.rounded())
  }

  /// Has reading go on with a frame, at the file's rate, which is not negative.
  package func seek(to frame: Int64) {
    start = frame
    given = 0
    isPlaced = false
  }

  /// Reads until the output is full or the sound has ended: then there is room left.
  ///
  /// - Parameter converter: From the file's format. Another one than last time takes up where that
  ///   one stood.
  package func read(
    _ sink: inout StreamConverter.Sink, through converter: StreamConverter
  ) throws(MediaError) {
    if !isPlaced || converter !== self.converter {
      start = position
      given = 0
      self.converter = converter
      try place(converter)
      isPlaced = true
    }
    let before = sink.count
    defer { given += sink.count - before }
    while true {
      do throws(StreamConverter.Failure) {
        try converter.convert(&source, into: &sink)
      } catch {
        throw .conversion(error)
      }
      if sink.isFull || source.isLast { return }
      source = try next()
    }
  }

  /// Brings the converter to the start of the stream.
  private func place(_ converter: StreamConverter) throws(MediaError) {
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

  /// What comes next in the file.
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
  /// Packets that a decoder needs before the one from which on it decodes as if it had decoded all.
  fileprivate var packetsBefore: Int {
    switch self {
    case .alac, .flac, .ulaw, .alaw, .msIMA: 0
    // What a packet leaves unused belongs to later ones, up to 511 bytes of them.
    case .mp1, .mp2, .mp3: 24
    case .vorbis, .ac3, .eac3, .ima4: 2
    case .aac: 2
    case .aacHE, .aacHEv2: 4
    // 80 ms settle it.
    case .opus: 16
    case .gsm, .amrNarrow, .amrWide: 16
    }
  }
}
