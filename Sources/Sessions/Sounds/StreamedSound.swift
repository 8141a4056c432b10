import Codecs
package import Files
package import RealTime
import Synchronization

/// The sound of a pipe that is read while it arrives. Any thread; reads wait for the pipe.
///
/// It ends where the pipe does. A read at an earlier frame decodes from the start again. Once more has come than
/// is kept, earlier frames are silence.
package final class StreamedSound: SoundSource {
  package let path: String
  package let format: PCMFormat
  /// An upper limit while the stream does not give its length.
  package let frames: Int64
  package let isOpenEnded = true
  private let arrival: PipeArrival
  private let raw: PCMFormat?

  @safe
  private struct Decoding: @unchecked Sendable {
    var sound: ArrivingSound
    /// Nil for linear PCM.
    var converter: StreamConverter?
    /// Decoded frames that were not read yet, from `start` on.
    var ready: [UInt8] = []
    var start = 0
    /// The frame at `start`.
    var next: Int64 = 0
    var hasEnded = false
  }
  private let decoding: Mutex<Decoding>

  /// Bytes of a pipe that are kept: 25 minutes of a CD, so that an endless pipe fills no disk.
  private static var keptBytes: Int64 { 1 << 28 }
  private static var unknownFrames: Int64 { 1 << 46 }

  /// Waits for the head of the sound.
  ///
  /// - Parameters:
  ///   - raw: The format of samples without a head; nil for a sound file.
  ///   - kept: Number of the latest bytes that stay readable; nil for a usual one.
  /// - Returns: Nil if the sound must be complete before it can be read.
  package init?(pipe path: String, raw: PCMFormat?, keeping kept: Int64? = nil)
    throws(SoundFileError)
  {
    arrival = try PipedFile.arrival(path)
    guard let sound = try ArrivingSound(arrival, raw: raw) else { return nil }
    arrival.keep(latest: kept ?? Self.keptBytes)
    self.path = PipedFile.name(of: path)
    self.raw = raw
    format = sound.format.decoded
    frames = sound.validFrames ?? Self.unknownFrames
    decoding = Mutex(try Self.decoding(sound, to: format, path: self.path))
  }

  private static func decoding(
    _ sound: ArrivingSound, to format: PCMFormat, path: String
  ) throws(SoundFileError) -> Decoding {
    guard sound.format != .pcm(format) else { return Decoding(sound: sound) }
    var options = StreamConverter.Options()
    options.cookie = sound.cookie
    do throws(StreamConverter.Failure) {
      let converter = try StreamConverter(from: sound.format, to: .pcm(format), options)
      // Bad packets become silence.
      try converter.restart(
        skipping: sound.primingFrames, frames: Int(sound.validFrames ?? unknownFrames))
      return Decoding(sound: sound, converter: converter)
    } catch {
      throw MediaError.conversion(error).naming(path)
    }
  }

  package func stop() { arrival.cancel() }

  package func read(
    startingAt frame: Int64, frames count: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    try decoding.withLock { decoding throws(SoundFileError) in
      if frame < decoding.next {
        if arrival.hasDropped {
          let lost = min(
            Int64(min(count, buffer.count / format.bytesPerFrame)), decoding.next - frame)
          let silence: UInt8 = format.kind == .unsignedInteger ? 0x80 : 0
          unsafe UnsafeMutableRawBufferPointer(
            rebasing: buffer[..<(Int(lost) * format.bytesPerFrame)]
          ).initializeMemory(as: UInt8.self, repeating: silence)
          return Int(lost)
        }
        guard let sound = try ArrivingSound(arrival, raw: raw) else { return 0 }
        decoding = try Self.decoding(sound, to: format, path: path)
      }
      let size = format.bytesPerFrame
      while true {
        let present = Int64((decoding.ready.count - decoding.start) / size)
        let skipped = min(present, frame - decoding.next)
        decoding.start += Int(skipped) * size
        decoding.next += skipped
        if present > skipped || decoding.hasEnded { break }
        try decode(&decoding)
      }
      let bytes = decoding.ready[decoding.start...].prefix(count * size).prefix(buffer.count)
      let read = bytes.count / size
      unsafe buffer.copyBytes(from: bytes.prefix(read * size))
      decoding.start += read * size
      decoding.next += Int64(read)
      return read
    }
  }

  /// Decodes the next packets.
  private func decode(_ decoding: inout Decoding) throws(SoundFileError) {
    decoding.ready.removeFirst(decoding.start)
    decoding.start = 0
    guard let piece = try decoding.sound.next() else {
      decoding.hasEnded = true
      var end = StreamConverter.Source.end
      return convert(&end, &decoding)
    }
    guard decoding.converter != nil else {
      decoding.ready += piece.bytes
      return
    }
    unsafe piece.bytes.withUnsafeBytes { bytes in
      guard case .packets(let format) = decoding.sound.format else { return }
      var source =
        unsafe piece.extents.map { unsafe StreamConverter.Source.packets(bytes, $0) }
        ?? .packets(bytes, bytesPerPacket: max(1, format.bytesPerPacket))
      convert(&source, &decoding)
    }
    decoding.ready.removeLast(
      min(decoding.ready.count, piece.remainder * format.bytesPerFrame))
  }

  private func convert(_ source: inout StreamConverter.Source, _ decoding: inout Decoding) {
    guard let converter = decoding.converter else { return }
    let room = 4096
    var memory = [UInt8](repeating: 0, count: room * format.bytesPerFrame)
    while true {
      let count = unsafe memory.withUnsafeMutableBytes { memory -> Int in
        guard let start = memory.baseAddress,
          let samples = unsafe SampleBuffers(format, at: [start])
        else { return 0 }
        var sink = StreamConverter.Sink.frames(samples, room: room)
        // Silence stands for a packet that cannot be decoded.
        try? converter.convert(&source, into: &sink)
        return sink.count
      }
      decoding.ready += memory[..<(count * format.bytesPerFrame)]
      if count < room, source.isEmpty { return }
    }
  }
}
