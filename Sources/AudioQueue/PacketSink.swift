import Codecs

/// Encodes frames and puts the packets into the buffers. One thread at a time.
@safe
final class PacketSink: RecordSink {
  private var encoder: PacketEncoder
  private var options: PacketEncoder.Options
  private let format: PacketFormat
  /// A packet that did not fit into the buffer before.
  private var waiting: EncodedPacket?
  /// Frames that were encoded in this stream, and the first frame after them.
  private var encodedFrames: Int64 = 0
  private var nextFrame: Int64 = 0
  private var isFinished = false
  /// Frames of the packets that have come.
  private var packetFrames: Int64 = 0
  /// How much later those that come next are than so many frames after the run's beginning.
  private var delay: Int64 = 0
  /// Changes of `delay` that the packets have not come to: after how many frames, and to what.
  private var delays: [(after: Int64, delay: Int64)] = []
  /// The packets in the buffer in hand if they vary in size, and what all are together.
  private var packets: [PacketExtent] = []
  private var bytes = 0
  private var frames = 0
  private var startFrame: Int64 = 0
  private let silence: Planes
  /// Why frames could not be encoded; nobody has asked for it yet.
  private var failure: ConverterFailure?

  init(_ encoder: PacketEncoder, _ options: PacketEncoder.Options) {
    self.encoder = encoder
    self.options = options
    format = encoder.format
    silence = Planes(channels: format.channels, capacity: 1024)
  }

  /// Encodes with another encoder from now on, for the same format. Between two streams.
  func use(_ encoder: PacketEncoder, _ options: PacketEncoder.Options) {
    self.encoder = encoder
    self.options = options
    encoding = Encoding(encoder, options, soundFrames: 0)
  }

  /// What is known of the encoder, and of the latest stream if that is over.
  private(set) lazy var encoding = Encoding(encoder, options, soundFrames: 0)

  func begin(at frame: Int64) -> Recorded? {
    defer { nextFrame = frame }
    guard encodedFrames > 0 else {
      delay = frame
      return nil
    }
    // A packet that has begun before the hole ends in silence; the next one begins behind it.
    let hole = frame - nextFrame
    let length = Int64(max(1, format.framesPerPacket))
    let missing = (length - encodedFrames % length) % length
    encodeSilence(Int(min(hole, missing)))
    if hole > missing { delays.append((encodedFrames, frame - encodedFrames)) }
    return nil
  }

  func isFull(_ buffer: QueueBuffer) -> Bool {
    fill(buffer)
    return waiting != nil || isAtHole || !hasRoom(buffer, bytes: max(1, format.bytesPerPacket))
  }

  func room(_ buffer: QueueBuffer) -> Int { 1024 }

  func put(_ planes: Planes.Pointers, frames: Int, into buffer: QueueBuffer) {
    unsafe encode(planes, frames: frames)
    nextFrame += Int64(frames)
  }

  func finish(into buffer: QueueBuffer) -> Bool {
    finish()
    fill(buffer)
    return waiting == nil && !isAtHole
  }

  func takeFilled() -> Recorded? {
    guard bytes > 0 else { return nil }
    defer {
      packets = []
      bytes = 0
      frames = 0
    }
    return Recorded(frames: frames, bytes: bytes, packets: packets, startFrame: startFrame)
  }

  func restart() -> Int {
    finish()
    var lost = 0
    while let packet = takePacket() { lost += packet.frames }
    do throws(CodecError) {
      try encoder.reset()
    } catch {
      failure = .encoding(error.reason)
    }
    encodedFrames = 0
    isFinished = false
    packetFrames = 0
    delay = 0
    delays = []
    return lost
  }

  /// The latest failure that nobody has asked for yet.
  func takeFailure() -> ConverterFailure? {
    defer { failure = nil }
    return failure
  }

  // MARK: Packets

  private func takePacket() -> EncodedPacket? {
    defer { waiting = nil }
    return waiting ?? encoder.takePacket()
  }

  /// The packet that comes next follows a hole.
  private var isAtHole: Bool {
    guard let next = delays.first else { return false }
    return bytes > 0 && packetFrames >= next.after
  }

  /// The buffer has room for another packet of so many bytes. Of packets that vary it takes no more than
  /// there is certain to be room for, so that those of silence do not keep it for minutes.
  private func hasRoom(_ buffer: QueueBuffer, bytes: Int) -> Bool {
    if self.bytes + bytes > buffer.capacity { return false }
    if format.bytesPerPacket > 0 { return true }
    let fitting = max(1, buffer.capacity / encoder.maximumPacketBytes)
    return packets.count < min(fitting, buffer.packetCapacity > 0 ? buffer.packetCapacity : fitting)
  }

  /// Puts the packets that are there into the buffer, as far as they fit.
  private func fill(_ buffer: QueueBuffer) {
    while !isAtHole, let packet = takePacket() {
      if format.bytesPerPacket > 0 {
        // Several of one size may come as one.
        let fitting = (buffer.capacity - bytes) / format.bytesPerPacket * format.bytesPerPacket
        let taken = min(fitting, packet.bytes.count)
        let frames = taken / format.bytesPerPacket * format.framesPerPacket
        if taken > 0 { add(packet.bytes[..<taken], frames: frames, to: buffer) }
        if taken == packet.bytes.count { continue }
        var rest = packet
        rest.bytes.removeFirst(taken)
        rest.frames -= frames
        waiting = rest
        return
      }
      if hasRoom(buffer, bytes: packet.bytes.count) {
        packets.append(
          PacketExtent(
            offset: bytes, bytes: packet.bytes.count,
            frames: format.framesPerPacket == 0 ? packet.frames : 0))
        add(packet.bytes[...], frames: packet.frames, to: buffer)
      } else if bytes > 0 {
        waiting = packet
        return
      } else {
        failure = .encoding("a packet of \(packet.bytes.count) bytes does not fit into a buffer")
        packetFrames += Int64(packet.frames)
      }
    }
  }

  private func add(_ data: ArraySlice<UInt8>, frames: Int, to buffer: QueueBuffer) {
    if let next = delays.first, packetFrames >= next.after {
      delay = next.delay
      delays.removeFirst()
    }
    if bytes == 0 { startFrame = packetFrames + delay }
    unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.data[bytes...]).copyBytes(from: data)
    bytes += data.count
    self.frames += frames
    packetFrames += Int64(frames)
  }

  // MARK: Encoding

  private func encode(_ planes: Planes.Pointers, frames: Int) {
    do throws(CodecError) {
      try unsafe encoder.encode(planes, frames: frames)
    } catch {
      failure = .encoding(error.reason)
    }
    encodedFrames += Int64(frames)
  }

  private func encodeSilence(_ frames: Int) {
    var left = frames
    while left > 0 {
      let count = min(left, silence.capacity)
      unsafe encode(silence.pointers(), frames: count)
      left -= count
    }
  }

  /// Has every packet come. A stream in which nothing was recorded has none.
  private func finish() {
    guard encodedFrames > 0, !isFinished else { return }
    isFinished = true
    do throws(CodecError) {
      try encoder.finish()
    } catch {
      failure = .encoding(error.reason)
    }
    encoding = Encoding(encoder, options, soundFrames: encodedFrames)
  }
}
