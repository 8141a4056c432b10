import RealTime

/// The input of a conversion: decoding, and frames for the resampler and the encoder.
extension StreamConverter {
  /// Consumes some of the input.
  func feed(_ source: inout Source, wanting wanted: Int) throws(Failure) {
    switch source.content {
    case .nothing: return
    case .frames(let buffers):
      let frames = min(source.left, Self.most, inputCount(forOutput: wanted))
      unsafe buffers.read(from: source.next, frames: frames, into: planes.pointers())
      source.take(frames)
      try unsafe push(planes.pointers(), frames: frames)
    case .packets(let packets):
      guard let decoder else {
        throw .codec(CodecError(.badCookie("the input cannot be decoded without one")))
      }
      let count = packets.together(from: source.next, frames: input.usualFramesPerPacket)
      let taken = min(source.left, count)
      let bytes = unsafe packets.bytes(source.next, count: taken)
      let trim = packets.trim(source.next)
      // The packet counts as consumed even if it cannot be decoded, because the next one may be
      // valid.
      source.take(taken)
      packetsIn += taken
      let told =
        unsafe decoder.isSetup(bytes)
        ? 0
        : packets.frames(
          source.next - taken, count: taken, each: decoder.format.framesPerPacket)
      if unsafe bytes.isEmpty {
        return try missPacket(told, decoder, from: decodedFrames + decoder.available)
      }
      let before = decodedFrames + decoder.available
      let decodedBefore = decoder.decodedFrames
      do throws(CodecError) {
        try unsafe decoder.decode(bytes, trim: trim)
      } catch {
        guard part != nil else { throw .codec(error) }
        return try missPacket(told, decoder, from: before)
      }
      if part != nil, decoder.format.codec.isLossless, told > 0,
        decoder.decodedFrames == decodedBefore
      {
        // Damage may look like a packet without sound.
        return try missPacket(told, decoder, from: before)
      }
      try takeDecoded(decoder, keeping: keptFrames)
    }
    try encodePending()
  }

  /// Decoded frames to hold back, because they may have to be trimmed at the end of the stream.
  private var keptFrames: Int { part == nil ? options.trailingFrames : 0 }

  /// Inserts silence for missing or damaged packets. Only for a part of a file (after `restart`).
  ///
  /// - Parameters:
  ///   - lost: Frames of these packets.
  ///   - first: Frames decoded before them.
  private func replaceLost(
    _ lost: Int, _ decoder: PacketDecoder, from first: Int
  ) throws(Failure) {
    guard part != nil else { return }
    try takeDecoded(decoder, keeping: 0)
    if 0...0x10000 ~= lost { try addSilence(lost - (decodedFrames - first)) }
    try encodePending()
  }

  /// Replaces a packet of a part of a file that is missing or could not be decoded, and lists it as missing.
  /// The parameters are those of `replaceLost`.
  private func missPacket(
    _ lost: Int, _ decoder: PacketDecoder, from before: Int
  ) throws(Failure) {
    try replaceLost(lost, decoder, from: before)
    guard let part else { return }
    // Frames before and after the part are not missed.
    let first = max(0, before - part.skipped)
    let end = min(decodedFrames - part.skipped, part.all)
    if first < end { missing.append(first..<end) }
  }

  /// Inserts silence for frames that were not decoded.
  private func addSilence(_ frames: Int) throws(Failure) {
    var left = frames
    while left > 0 {
      let count = min(left, Self.most)
      planes.silence(from: 0, to: count)
      try pushDecoded(count)
      left -= count
    }
  }

  /// Processes the decoded frames, except the last `kept`.
  private func takeDecoded(_ decoder: PacketDecoder, keeping kept: Int) throws(Failure) {
    if decoder.format.sampleRate != inputRate, decoder.format.sampleRate >= 1 {
      // Happens with AAC whose cookie does not describe everything in the packets.
      inputRate = decoder.format.sampleRate
      try makeResampler()
    }
    while decoder.available > kept {
      let frames = unsafe decoder.take(
        into: planes.pointers(), room: min(decoder.available - kept, Self.most))
      try pushDecoded(frames)
    }
  }

  /// Processes decoded frames that belong to the stream.
  private func pushDecoded(_ frames: Int) throws(Failure) {
    decodedFrames += frames
    let first = min(skipped, frames)
    skipped -= first
    let count = min(frames - first, part?.left ?? .max)
    part?.left -= count
    if count > 0 { try unsafe push(planes.pointers(at: first), frames: count) }
  }

  /// Mixes and resamples frames with the input's channels and rate.
  private func push(_ frames: Planes.Pointers, frames count: Int) throws(Failure) {
    framesIn += count
    let mixed = unsafe mixer.apply(frames, frames: count)
    guard let resampler else {
      unsafe pending.append(mixed, frames: count)
      framesOut += count
      return
    }
    let rest = unsafe Planes.Advancing(mixed, channels: output.channels)
    var left = count
    while left > 0 {
      let (taken, given) = try unsafe resample(resampler, rest.pointers, left, room: Self.most)
      if taken == 0 && given == 0 { throw .resampling("the resampler takes nothing in") }
      rest.advance(taken)
      left -= taken
    }
  }

  /// Flushes the decoder, the resampler and the encoder.
  func end() throws(Failure) {
    hasEnded = true
    var failure: CodecError?
    if let decoder {
      do throws(CodecError) {
        try unsafe decoder.decode(nil)
      } catch {
        if part == nil { failure = error }
      }
      // The last packet may decode to fewer frames than it counts; these are already trimmed.
      let total = decodedFrames + decoder.available
      let short = max(0, packetsIn * decoder.format.framesPerPacket - total)
      try takeDecoded(decoder, keeping: max(0, keptFrames - short))
    }
    if let resampler { try drain(resampler) }
    try encodePending()
    do throws(CodecError) { try encoder?.finish() } catch { failure = error }
    if let failure { throw .codec(failure) }
  }

  private func drain(_ resampler: Resampler) throws(Failure) {
    // The resampler already rounds the length; this makes sure of it.
    let whole = framesOfOutput(framesIn)
    while framesOut < whole {
      let given = try unsafe resample(resampler, nil, 0, room: min(Self.most, whole - framesOut))
        .given
      if given == 0 { break }
    }
    while framesOut < whole {
      let frames = min(Self.most, whole - framesOut)
      outward.silence(from: 0, to: frames)
      unsafe pending.append(outward.pointers(), frames: frames)
      framesOut += frames
    }
  }

  private func resample(
    _ resampler: Resampler, _ input: Planes.Pointers?, _ frames: Int, room: Int
  ) throws(Failure) -> (taken: Int, given: Int) {
    do throws(Resampler.Failure) {
      let (taken, given) = try unsafe resampler.process(
        input, frames: frames, into: pending.room(for: room), room: room)
      pending.add(given)
      framesOut += given
      return (taken, given)
    } catch {
      throw .resampling(error.reason)
    }
  }
}

extension StreamFormat {
  /// Frames of a packet, or an estimate if they vary.
  var usualFramesPerPacket: Int {
    switch self {
    case .pcm: 1
    case .packets(let format): format.framesPerPacket > 0 ? format.framesPerPacket : 1024
    }
  }

  /// Bits that a lossless codec should preserve.
  var significantBits: Int {
    switch self {
    case .pcm(let format): format.kind == .float || format.bitsPerSample > 16 ? 24 : 16
    case .packets(let format): format.bitsPerSample > 16 ? 24 : 16
    }
  }
}
