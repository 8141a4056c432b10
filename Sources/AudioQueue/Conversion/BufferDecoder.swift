import Codecs

/// Decodes the packets of an app's buffers, one buffer after another. Use from one thread at a
/// time.
///
/// A packet that cannot be decoded is replaced by silence of the same length.
@safe
final class BufferDecoder {
  private let format: PacketFormat
  private let decoded: PlaneQueue
  private var decoder: PacketDecoder?
  /// The cookie that the decoder was created with, or could not be created with; nil before the
  /// first attempt.
  private var cookie: [UInt8]?
  /// The reason why the decoder could not be created.
  private var refusal: CodecError?
  /// The resampler from the decoder's rate to the format's rate, with its input planes. Nil if the
  /// rates are equal.
  private var resampling: (resampler: Resampler, input: Planes)?
  /// The index of the next packet in the current buffer.
  private var next = 0
  /// Frames that remain to be trimmed at the start of the current buffer.
  private var skipped = 0
  /// True once the decoder was told that no packet follows.
  private var isDrained = false
  private var failure: ConverterFailure?

  init(_ format: PacketFormat) {
    self.format = format
    decoded = PlaneQueue(channels: format.channels)
  }

  /// The maximum number of silent frames for one packet, whatever length the app declares.
  private static var mostSilence: Int { 1 << 16 }

  /// Returns a decoder for the packets of a queue with this format.
  static func makeDecoder(_ format: PacketFormat, cookie: [UInt8]) throws(CodecError)
    -> PacketDecoder
  {
    let decoder = try PacketDecoder(format, cookie: cookie)
    guard decoder.format.channels == format.channels else {
      throw CodecError(
        .badCookie("it is for \(decoder.format.channels) channels, not \(format.channels)"))
    }
    return decoder
  }

  /// Discards all state: the next packet continues nothing.
  func reset() {
    decoder?.reset()
    resampling?.resampler.reset()
    decoded.removeAll()
    isDrained = false
  }

  /// Begins another buffer.
  func begin(_ packets: Packets) {
    next = 0
    skipped = packets.trimmedAtStart
    isDrained = false
  }

  /// Outputs the next frames of the current buffer, whose data is `memory`.
  ///
  /// - Parameter cookie: The magic cookie for the decoder, which is created again if the cookie has
  ///   changed.
  /// - Returns: The number of frames; 0 at the end of the buffer.
  func take(
    _ packets: Packets, in memory: UnsafeRawBufferPointer, cookie: [UInt8],
    into planes: Planes.Pointers, room: Int
  ) -> Int {
    let extents = packets.extents
    while true {
      // The latest frames may belong to the trimmed end.
      let kept = next < extents.count ? packets.trimmedAtEnd : 0
      if decoded.count > kept {
        return unsafe decoded.take(into: planes, room: min(room, decoded.count - kept))
      }
      guard next < extents.count else { return 0 }
      let extent = extents[next]
      let before = decoded.count
      unsafe decode(
        UnsafeRawBufferPointer(rebasing: memory[extent.offset..<(extent.offset + extent.bytes)]),
        frames: extent.frames, cookie)
      // The last packet of a lossless stream may be short. The trimmed end counts from the end of a full
      // packet, as the remainder of a packet table does.
      let missing =
        format.codec.isLossless ? max(0, extent.frames - (decoded.count - before)) : 0
      next += 1
      let leftOut = min(skipped, decoded.count)
      decoded.drop(leftOut)
      skipped -= leftOut
      if next == extents.count {
        decoded.cut(min(max(0, packets.trimmedAtEnd - missing), decoded.count))
      }
    }
  }

  /// Outputs the frames that the decoder holds back. After the last of them the next packet
  /// continues nothing.
  ///
  /// - Returns: The number of frames; 0 if there are no more.
  func takeRest(into planes: Planes.Pointers, room: Int) -> Int {
    if !isDrained, let decoder {
      isDrained = true
      do throws(CodecError) {
        unsafe try decoder.decode(nil)
      } catch {
        failure = .decoding(error.reason)
      }
      takeDecoded()
      resample(nil, frames: 0)
    }
    let frames = unsafe decoded.take(into: planes, room: room)
    if frames == 0 { reset() }
    return frames
  }

  /// Returns the latest failure and clears it.
  func takeFailure() -> ConverterFailure? {
    defer { failure = nil }
    return failure
  }

  // MARK: Decoding

  /// Decodes one packet. `frames` is its expected length, or 0 if that is not known.
  private func decode(_ packet: UnsafeRawBufferPointer, frames: Int, _ cookie: [UInt8]) {
    let before = decoded.count
    do throws(CodecError) {
      let decoder = try decoder(cookie)
      try unsafe decoder.decode(packet)
      if frames > 0 && decoder.available == 0 {
        throw CodecError(.badPacket("there is no sound in it"))
      }
      takeDecoded()
    } catch {
      takeDecoded()
      failure = .decoding(error.reason)
      addSilence(min(frames, Self.mostSilence) - (decoded.count - before))
    }
  }

  private func decoder(_ cookie: [UInt8]) throws(CodecError) -> PacketDecoder {
    if self.cookie != cookie {
      self.cookie = cookie
      decoder = nil
      refusal = nil
      resampling = nil
      do throws(CodecError) {
        decoder = try Self.makeDecoder(format, cookie: cookie)
      } catch {
        refusal = error
      }
    }
    guard let decoder else { throw refusal ?? CodecError(.noDecoder(format.codec)) }
    return decoder
  }

  /// Moves the decoder's output to `decoded`.
  private func takeDecoded() {
    guard let decoder, decoder.available > 0 else { return }
    let frames = decoder.available
    // Some streams signal only inside their packets that their rate is twice as high.
    if decoder.format.sampleRate != format.sampleRate { return resample(from: decoder) }
    let taken = unsafe decoder.take(into: decoded.room(for: frames), room: frames)
    decoded.add(taken)
  }

  private func resample(from decoder: PacketDecoder) {
    if resampling == nil,
      let resampler = Resampler(
        from: decoder.format.sampleRate, to: format.sampleRate, channels: format.channels)
    {
      resampling = (resampler, Planes(channels: format.channels, capacity: 1024))
    }
    guard let input = resampling?.input else {
      failure = .decoding("frames at \(decoder.format.sampleRate) Hz cannot be played")
      return decoder.reset()
    }
    while case let frames = unsafe decoder.take(into: input.pointers(), room: input.capacity),
      frames > 0
    {
      resample(input, frames: frames)
    }
  }

  /// Resamples frames of another rate into `decoded`; nil outputs what the resampler holds back.
  private func resample(_ input: Planes?, frames: Int) {
    guard let (resampler, _) = resampling else { return }
    var at = 0
    while true {
      let room = 1024
      do throws(Resampler.Failure) {
        let (consumed, produced) = try unsafe resampler.process(
          input?.pointers(at: at), frames: frames - at, into: decoded.room(for: room), room: room)
        decoded.add(produced)
        at += consumed
        if produced == 0 && (consumed == 0 || at == frames) { return }
      } catch {
        failure = .decoding(error.reason)
        return
      }
    }
  }

  private func addSilence(_ frames: Int) {
    guard frames > 0 else { return }
    let planes = unsafe decoded.room(for: frames)
    for channel in 0..<format.channels {
      unsafe planes[channel].update(repeating: 0, count: frames)
    }
    decoded.add(frames)
  }
}
