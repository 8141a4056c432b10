import CFFmpeg
package import Codecs
package import RealTime
import Timeline

/// The sound of a pipe while it arrives: linear PCM or packets, from the first on. One thread at a time.
package final class ArrivingSound {
  /// The way in which the sound is found in the bytes.
  private enum Way {
    /// All bytes are samples.
    case samples
    case parser(StreamParser)
    /// Ogg: libavformat takes the pages apart.
    case demuxer(Demuxer)
  }

  /// Consecutive packets, or bytes of linear PCM.
  package struct Piece {
    package var bytes: [UInt8]
    /// Nil for linear PCM, and for packets of one size.
    package var extents: [PacketExtent]?
    /// Frames at the end of the piece that are not part of the sound.
    package var remainder = 0
  }

  package let format: StreamFormat
  package let cookie: [UInt8]
  /// Decoded frames before the first one of the sound.
  package let primingFrames: Int
  /// Frames of the sound; nil if the stream does not give them.
  package let validFrames: Int64?

  private let arrival: PipeArrival
  private let way: Way
  private var position: Int64 = 0
  private var pieces: [Piece] = []

  private static let piece = 1 << 14

  /// Reads the head of the sound, and waits for it.
  ///
  /// - Parameter raw: The format of samples without a head; nil for a sound file.
  /// - Returns: Nil if the sound must be complete before it can be read.
  package init?(_ arrival: PipeArrival, raw: PCMFormat?) throws(SoundFileError) {
    self.arrival = arrival
    if let raw {
      (format, cookie, primingFrames, validFrames, way) = (.pcm(raw), [], 0, nil, .samples)
      return
    }
    while try arrival.wait(beyond: position) < 4 {
      let count = try arrival.wait(beyond: position)
      if count == position { return nil }
      position = count
    }
    position = 0
    if try arrival.store.bytes(at: 0, count: 4) == Array("OggS".utf8) {
      let demuxer = try Demuxer(ArrivingStore(arrival), name: "ogg")
      let opening = PacketFileOpening(arrival.store, .ogg)
      let source = try opening.describe(demuxer)
      (format, cookie, way) = (.packets(source.format), source.cookie, .demuxer(demuxer))
      guard let first = try unsafe demuxer.next() else { return nil }
      // Opus alone has frames before the sound.
      primingFrames = unsafe source.format.codec == .opus ? first.skippedFrames : 0
      validFrames = nil
      unsafe pieces.append(Self.piece(first, source.format))
      return
    }
    let parser = StreamParser(hint: nil)
    way = .parser(parser)
    var found: [Piece] = []
    while parser.details == nil {
      guard let bytes = try Self.bytes(of: arrival, &position),
        Self.parse(bytes, with: parser, &found)
      else { return nil }
    }
    guard let details = parser.details else { return nil }
    (format, cookie) = (details.format, details.cookie)
    primingFrames = details.packetTable?.primingFrames ?? 0
    validFrames = details.packetTable?.validFrames
    pieces = found
  }

  /// Returns the next packets, and waits for them; nil at the end.
  package func next() throws(SoundFileError) -> Piece? {
    while pieces.isEmpty {
      switch way {
      case .samples:
        guard let bytes = try Self.bytes(of: arrival, &position) else { return nil }
        pieces.append(Piece(bytes: bytes))
      case .parser(let parser):
        guard let bytes = try Self.bytes(of: arrival, &position),
          Self.parse(bytes, with: parser, &pieces)
        else { return nil }
      case .demuxer(let demuxer):
        guard case .packets(let format) = format, let packet = try unsafe demuxer.next() else {
          return nil
        }
        unsafe pieces.append(Self.piece(packet, format))
      }
    }
    return pieces.removeFirst()
  }

  /// Returns the next bytes, and waits for them; nil at the end.
  private static func bytes(
    of arrival: PipeArrival, _ position: inout Int64
  ) throws(SoundFileError) -> [UInt8]? {
    let end = try arrival.wait(beyond: position)
    guard end > position else { return nil }
    let count = Int(min(Int64(piece), end - position))
    let bytes = try arrival.store.bytes(at: position, count: count)
    position += Int64(count)
    return bytes
  }

  /// Returns false if the stream cannot be parsed.
  private static func parse(_ bytes: [UInt8], with parser: StreamParser, _ pieces: inout [Piece])
    -> Bool
  {
    unsafe bytes.withUnsafeBytes { bytes in
      do throws(StreamFailure) {
        try unsafe parser.parse(bytes, isDiscontinuous: false, ready: {}) { data, _, extents in
          unsafe pieces.append(Piece(bytes: Array(data), extents: extents))
        }
        return true
      } catch {
        return false
      }
    }
  }

  private static func piece(_ packet: Demuxer.Packet, _ format: PacketFormat) -> Piece {
    unsafe Piece(
      bytes: Array(packet.bytes),
      extents: [
        PacketExtent(
          offset: 0, bytes: packet.bytes.count,
          frames: format.framesPerPacket > 0 ? 0 : Int(clamping: packet.frames))
      ],
      remainder: packet.discardedFrames)
  }
}

/// The bytes that come through a pipe, as a store that is read in order.
private final class ArrivingStore: ReadOnlyStore {
  private let arrival: PipeArrival
  var name: String { arrival.store.name }
  var isStream: Bool { true }

  init(_ arrival: PipeArrival) { self.arrival = arrival }

  /// The length is unknown.
  func byteCount() -> Int64 { .max / 2 }

  /// Reads what has come. Waits only if that is nothing.
  func read(
    at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    let count = min(Int64(buffer.count), try arrival.wait(beyond: offset) - offset)
    guard count > 0 else { return 0 }
    return try unsafe arrival.store.read(at: offset, into: .init(rebasing: buffer[..<Int(count)]))
  }
}
