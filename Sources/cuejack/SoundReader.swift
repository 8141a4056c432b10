import Codecs
import Files
import RealTime
import Synchronization

/// A sound file whose frames can be read from any place on: linear PCM as it stands in the file, packets
/// decoded to floats, without what codecs put before and after the sound.
///
/// Any thread; reads of one file wait for each other, and block on the disk: no call is real time.
final class SoundReader: Sendable {
  let path: String
  let file: MediaFile
  /// What is read.
  let format: PCMFormat
  /// Frames that can be read.
  let frames: Int64
  /// True if the file has fewer frames than its head says.
  var isTruncated: Bool { file.warning != nil }
  /// Significant bits of a sample: those of the file's own, 0 if a lossy codec made it.
  var significantBits: Int {
    switch file.format {
    case .pcm(let format): format.bitsPerSample
    case .packets(let format): format.bitsPerSample
    }
  }
  /// Seconds.
  var duration: Double { Double(frames) / format.sampleRate }
  /// Nil for linear PCM. Used by whoever holds the lock.
  private let packets: PacketReader?
  private let lock = Mutex(())

  /// Opens a file. Blocks.
  init(path: String) throws(SoundFileError) {
    let file = try MediaFile.open(path: path)
    self.path = path
    self.file = file
    switch file.format {
    case .pcm(let format):
      self.format = format
      frames = file.packetCount
      packets = nil
    case .packets:
      let reader = try PacketReader(file, path: path)
      format = reader.format
      frames = reader.frames
      packets = reader
    }
  }

  /// Reads up to `count` frames from `frame` on, as many as there are and as fit, and returns how
  /// many; 0 at the end. Blocks.
  func read(
    startingAt frame: Int64, frames count: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    guard frame >= 0, frame < frames, count > 0 else { return 0 }
    let bytesPerFrame = format.bytesPerFrame
    let wanted = min(count, buffer.count / bytesPerFrame, Int(frames - frame))
    let memory = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<(wanted * bytesPerFrame)])
    if let packets {
      return try lock.withLock { _ throws(SoundFileError) in
        try unsafe packets.read(startingAt: frame, frames: wanted, into: memory)
      }
    }
    return try unsafe file.readBytes(at: frame * Int64(bytesPerFrame), into: memory)
      / bytesPerFrame
  }
}

/// Decodes a file's packets, from any frame on. One thread at a time.
private final class PacketReader: @unchecked Sendable {
  let format: PCMFormat
  let frames: Int64
  private let file: MediaFile
  private let path: String
  private let stream: PacketFormat
  private let decoder: PacketDecoder
  private let planes: Planes
  private let layout: SampleLayout
  /// Frames that come before the sound.
  private let primingFrames: Int64
  /// Packets that are decoded before the one that is wanted, so that the decoder is in step.
  private let leadingPackets: Int64

  /// The frame of the sound that the decoder gives next; negative in front of the sound.
  private var position: Int64
  private var nextPacket: Int64 = 0
  private var isDrained = false
  private var memory: [UInt8]
  private var extents: [PacketExtent] = []
  private static var framesAtOnce: Int { 4096 }

  init(_ file: MediaFile, path: String) throws(SoundFileError) {
    guard case .packets(let stream) = file.format else {
      throw SoundFileError(.unsupportedEncoding("linear PCM"), path: path)
    }
    do throws(CodecError) {
      decoder = try PacketDecoder(stream, cookie: file.cookie)
    } catch {
      throw SoundFileError(.unsupportedEncoding(stream.codec.name), path: path)
    }
    self.file = file
    self.path = path
    self.stream = stream
    format = PCMFormat(
      sampleRate: stream.sampleRate, channels: stream.channels, kind: .float, bitsPerSample: 32)
    guard format.layout != nil else {
      let words = "\(stream.channels) channels at \(stream.sampleRate) Hz"
      throw SoundFileError(.unsupportedEncoding(words), path: path)
    }
    planes = Planes(channels: stream.channels, capacity: Self.framesAtOnce)
    layout = .float32(channels: stream.channels)
    let table = file.packetTable
    primingFrames = Int64(table?.primingFrames ?? 0)
    frames = file.frames
    position = -primingFrames
    leadingPackets = stream.codec.isLossless || stream.framesPerPacket == 1 ? 0 : 10
    memory = [UInt8](repeating: 0, count: max(1 << 16, file.maximumPacketBytes))
  }

  func read(
    startingAt frame: Int64, frames count: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    if frame != position { try seek(to: frame) }
    var done = 0
    while done < count {
      // What comes before the frame that is wanted is dropped.
      let skipped = max(0, frame + Int64(done) - position)
      let room = skipped > 0 ? Int(min(skipped, Int64(Self.framesAtOnce))) : count - done
      let taken = unsafe decoder.take(
        into: planes.pointers(), room: min(room, Self.framesAtOnce))
      position += Int64(taken)
      if taken == 0 {
        guard try decodeMore() else { break }
      } else if skipped == 0, let start = buffer.baseAddress {
        unsafe layout.store(
          from: planes.pointers(), at: 0, frames: taken,
          to: start + done * format.bytesPerFrame, planeFrames: 0)
        done += taken
      }
    }
    return done
  }

  /// Decodes the next packets.
  ///
  /// - Returns: False at the end.
  private func decodeMore() throws(SoundFileError) -> Bool {
    if isDrained { return false }
    extents.removeAll(keepingCapacity: true)
    let file = file
    let first = nextPacket
    var found = extents
    let result = unsafe memory.withUnsafeMutableBytes { memory in
      Result { () throws(SoundFileError) in
        try unsafe file.readPackets(from: first, count: 64, into: memory, extents: &found)
      }
    }
    let count = try result.get()
    extents = found
    nextPacket += Int64(count)
    isDrained = count == 0
    do throws(CodecError) {
      if isDrained {
        try unsafe decoder.decode(nil)
      } else {
        for extent in extents {
          let decoded = unsafe memory.withUnsafeBytes { memory in
            Result { () throws(CodecError) in
              try unsafe decoder.decode(
                .init(rebasing: memory[extent.offset..<extent.offset + extent.bytes]))
            }
          }
          try decoded.get()
        }
      }
    } catch {
      throw SoundFileError(.damaged("near packet \(first): \(error.reason)"), path: path)
    }
    return true
  }

  /// Has the decoder give `frame`, or one before it, next.
  private func seek(to frame: Int64) throws(SoundFileError) {
    decoder.reset()
    isDrained = false
    let perPacket = Int64(stream.framesPerPacket)
    nextPacket = perPacket > 0 ? max(0, (frame + primingFrames) / perPacket - leadingPackets) : 0
    position = nextPacket * perPacket - primingFrames
  }
}

extension MediaFile {
  /// Frames of sound: without those that codecs put before and after it.
  var frames: Int64 {
    switch format {
    case .pcm: return packetCount
    case .packets(let format):
      if let table = packetTable { return table.validFrames }
      if format.framesPerPacket > 0 { return packetCount * Int64(format.framesPerPacket) }
      return Int64((duration * format.sampleRate).rounded())
    }
  }
}
