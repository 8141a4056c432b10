import Codecs

/// Encodes frames and puts the packets into the app's buffers. Use from one thread at a time.
@safe
final class PacketSink: RecordSink {
  private var encoder: PacketEncoder
  private var options: PacketEncoder.Options
  private let format: PacketFormat
  /// A packet that did not fit into the previous buffer.
  private var waiting: EncodedPacket?
  /// The number of frames encoded in this stream, and the frame of the run that follows them.
  private var encodedFrames: Int64 = 0
  private var nextFrame: Int64 = 0
  private var isFinished = false
  /// The number of frames in the packets received from the encoder.
  private var packetFrames: Int64 = 0
  /// Offset in frames between the next packet's position in the run and the packet frames so far.
  private var delay: Int64 = 0
  /// Pending changes of `delay`: the packet frame count at which each one applies, and the new
  /// value.
  private var delays: [(after: Int64, delay: Int64)] = []
  /// The packets in the current buffer if they vary in size, and the total size and length of its
  /// content.
  private var packets: [PacketExtent] = []
  private var bytes = 0
  private var frames = 0
  private var startFrame: Int64 = 0
  private let silence: Planes
  /// The latest encoding failure that was not taken yet.
  private var failure: ConverterFailure?

  init(_ encoder: PacketEncoder, _ options: PacketEncoder.Options) {
    self.encoder = encoder
    self.options = options
    format = encoder.format
    silence = Planes(channels: format.channels, capacity: 1024)
  }

  /// Replaces the encoder by another one for the same format. Call only between two streams.
  func use(_ encoder: PacketEncoder, _ options: PacketEncoder.Options) {
    self.encoder = encoder
    self.options = options
    encoding = Encoding(encoder, options, soundFrames: 0)
  }

  /// Properties of the encoder, and of the latest stream once that is over.
  private(set) lazy var encoding = Encoding(encoder, options, soundFrames: 0)

  func begin(at frame: Int64) -> Recorded? {
    defer { nextFrame = frame }
    guard encodedFrames > 0 else {
      delay = frame
      return nil
    }
    // Silence completes a packet that began before the hole. The next packet begins after the hole.
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

  /// Returns the latest failure and clears it.
  func takeFailure() -> ConverterFailure? {
    defer { failure = nil }
    return failure
  }

  // MARK: Packets

  private func takePacket() -> EncodedPacket? {
    defer { waiting = nil }
    return waiting ?? encoder.takePacket()
  }

  /// True if the next packet follows a hole.
  private var isAtHole: Bool {
    guard let next = delays.first else { return false }
    return bytes > 0 && packetFrames >= next.after
  }

  /// Returns true if the buffer has room for another packet of this size. A buffer takes only as
  /// many packets of varying size as fit at their maximum size. Otherwise the small packets of
  /// silence would take minutes to fill it.
  private func hasRoom(_ buffer: QueueBuffer, bytes: Int) -> Bool {
    if self.bytes + bytes > buffer.capacity { return false }
    if format.bytesPerPacket > 0 { return true }
    let fitting = max(1, buffer.capacity / encoder.maximumPacketBytes)
    return packets.count < min(fitting, buffer.packetCapacity > 0 ? buffer.packetCapacity : fitting)
  }

  /// Puts the available packets into the buffer, as far as they fit.
  private func fill(_ buffer: QueueBuffer) {
    while !isAtHole, let packet = takePacket() {
      if format.bytesPerPacket > 0 {
        // The encoder may return several packets of equal size as one.
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

  /// Finishes the stream, so that the encoder outputs every packet. A stream without frames has
  /// none.
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
