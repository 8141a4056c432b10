package import Codecs
import RealTime

/// A writer of sound to a file through a converter. Finally it stores which frames are valid. One
/// thread at a time; blocks.
@safe
package final class MediaWriter {
  package let file: any MediaFile
  /// The packet table to store; nil to derive it from the encoder's priming.
  package var table: PacketTable?
  /// Approximate number of bytes per write.
  package var bufferBytes: Int

  private var nextPacket: Int64
  private let memory = GrowingMemory()
  private var cookie: [UInt8] = []
  /// The converter of the last write.
  private var converter: StreamConverter?

  /// Creates a writer that appends to the file.
  package init(_ file: any MediaFile, bufferBytes: Int = 1 << 15) throws(MediaError) {
    self.file = file
    self.bufferBytes = bufferBytes
    nextPacket = try MediaError.file { () throws(SoundFileError) in try file.packetCount }
  }

  /// Frames written. For packets, the frames that went into the encoder.
  package var frameCount: Int64 {
    if case .pcm = file.format { return nextPacket }
    return Int64(converter?.encodedFrames ?? 0)
  }

  /// Writes all of the input that makes complete packets.
  ///
  /// - Parameter converter: Converts to the file's format. Pass the same one each time.
  package func write(
    _ source: inout StreamConverter.Source, through converter: StreamConverter
  ) throws(MediaError) {
    self.converter = converter
    try prepare(converter)
    while true {
      var sink: StreamConverter.Sink
      switch file.format {
      case .pcm(let format):
        memory.reserve(max(bufferBytes, format.bytesPerFrame))
        guard let base = unsafe memory.bytes.baseAddress,
          let samples = unsafe SampleBuffers(format, at: [base])
        else { return }
        sink = .frames(samples, room: unsafe memory.bytes.count / format.bytesPerFrame)
      case .packets:
        memory.reserve(max(bufferBytes, converter.encoder?.maximumPacketBytes ?? 0))
        sink = unsafe .packets(memory.bytes, room: .max)
      }
      do throws(StreamConverter.Failure) {
        try converter.convert(&source, into: &sink)
      } catch {
        guard case .packetTooLarge(let bytes) = error, unsafe bytes > memory.bytes.count else {
          throw .conversion(error)
        }
        memory.reserve(bytes)
        continue
      }
      if sink.count > 0 { try put(sink) }
      if !sink.isFull { return }
    }
  }

  /// Writes the frames that the converter still buffers, and the cookie and packet table of the
  /// complete stream. The file stays open.
  package func finish(through converter: StreamConverter) throws(MediaError) {
    var end = StreamConverter.Source.end
    try write(&end, through: converter)
    guard let encoder = converter.encoder else { return }
    try setCookie(encoder.cookie)
    let priming = converter.encodedPriming
    let table =
      table
      ?? PacketTable(
        validFrames: Int64(converter.encodedFrames), primingFrames: priming.leading,
        remainderFrames: priming.trailing)
    try MediaError.file { () throws(SoundFileError) in try file.setPacketTable(table) }
  }

  /// Sets the cookie and the priming before the first packet, because the file may never be
  /// finished.
  private func prepare(_ converter: StreamConverter) throws(MediaError) {
    guard nextPacket == 0, let encoder = converter.encoder else { return }
    try setCookie(encoder.cookie)
    let priming = table?.primingFrames ?? converter.encodedPriming.leading
    try MediaError.file { () throws(SoundFileError) in
      try file.setPacketTable(
        PacketTable(validFrames: 0, primingFrames: priming, remainderFrames: 0))
    }
  }

  private func setCookie(_ cookie: [UInt8]) throws(MediaError) {
    guard !cookie.isEmpty, cookie != self.cookie else { return }
    try MediaError.file { () throws(SoundFileError) in try file.setCookie(cookie) }
    self.cookie = cookie
  }

  private func put(_ sink: StreamConverter.Sink) throws(MediaError) {
    let bytes: Int
    switch file.format {
    case .pcm(let format): bytes = sink.count * format.bytesPerFrame
    case .packets: bytes = sink.bytes
    }
    do throws(SoundFileError) {
      try unsafe file.writePackets(
        at: nextPacket, from: UnsafeRawBufferPointer(rebasing: memory.bytes[..<bytes]),
        extents: sink.extents)
    } catch {
      throw .file(error)
    }
    nextPacket += Int64(sink.count)
  }
}
