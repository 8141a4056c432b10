import Codecs

/// Packets in a buffer, and what is left out of the frames that they decode to.
struct Packets {
  let extents: [PacketExtent]
  let trimmedAtStart: Int
  let trimmedAtEnd: Int

  /// Frames of the packets, as far as that is known before they are decoded.
  var expectedFrames: Int { extents.reduce(0) { $0 + $1.frames } }
}

/// Decodes the packets of an app's buffers, one buffer after another. One thread at a time.
///
/// A packet that cannot be decoded is silence, as long as it would have been.
@safe
final class PacketSource {
  private let format: PacketFormat
  private let decoded: PlaneQueue
  private var decoder: PacketDecoder?
  /// What the decoder was made with, or could not be made with; nil if that was not tried yet.
  private var cookie: [UInt8]?
  /// Why it could not be made.
  private var refusal: CodecError?
  /// What brings its frames to the format's rate, if they have another one, and room for some of them.
  private var resampling: (resampler: Resampler, input: Planes)?
  /// The packet of the present buffer that comes next.
  private var next = 0
  /// Frames of the present buffer that are yet to be left out.
  private var skipped = 0
  /// The decoder was told that nothing follows.
  private var isDrained = false
  private var failure: ConverterFailure?

  init(_ format: PacketFormat) {
    self.format = format
    decoded = PlaneQueue(channels: format.channels)
  }

  /// The most frames of silence that take a packet's place, whatever the app says of it.
  private static var mostSilence: Int { 1 << 16 }

  /// A decoder for packets of a queue of this format.
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

  /// Forgets everything: what comes next follows nothing.
  func reset() {
    decoder?.reset()
    resampling?.resampler.reset()
    decoded.removeAll()
    isDrained = false
  }

  /// The next frames are those of another buffer.
  func begin(_ packets: Packets) {
    next = 0
    skipped = packets.trimmedAtStart
    isDrained = false
  }

  /// Gives the next frames of the present buffer, which lies in `memory`.
  ///
  /// - Parameter cookie: What the decoder is made with, if that has not been done.
  /// - Returns: How many; 0 if that was all of it.
  func take(
    _ packets: Packets, in memory: UnsafeRawBufferPointer, cookie: [UInt8],
    into planes: Planes.Pointers, room: Int
  ) -> Int {
    let extents = packets.extents
    while true {
      // The latest frames may be among those that are left out.
      let kept = next < extents.count ? packets.trimmedAtEnd : 0
      if decoded.count > kept {
        return unsafe decoded.take(into: planes, room: min(room, decoded.count - kept))
      }
      guard next < extents.count else { return 0 }
      let extent = extents[next]
      unsafe decode(
        UnsafeRawBufferPointer(rebasing: memory[extent.offset..<(extent.offset + extent.bytes)]),
        frames: extent.frames, cookie)
      next += 1
      let leftOut = min(skipped, decoded.count)
      decoded.drop(leftOut)
      skipped -= leftOut
      if next == extents.count { decoded.cut(min(packets.trimmedAtEnd, decoded.count)) }
    }
  }

  /// Gives what the decoder holds back. When that is all, the next packet follows nothing.
  ///
  /// - Returns: How many frames; 0 if there are no more.
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

  /// The latest failure that nobody has asked for yet.
  func takeFailure() -> ConverterFailure? {
    defer { failure = nil }
    return failure
  }

  // MARK: Decoding

  /// Decodes a packet of `frames` frames, as far as that is known.
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

  /// Takes over what the decoder has given.
  private func takeDecoded() {
    guard let decoder, decoder.available > 0 else { return }
    let frames = decoder.available
    // Some streams say only in their packets that they have twice the rate.
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

  /// Takes over frames of another rate; nil for what the resampler holds back.
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
