import RealTime
import Timeline

/// A converter of sound streams: it decodes, maps or mixes channels, resamples, and stores or
/// encodes. Not real time; one thread at a time.
///
/// Linear PCM stays exact where the formats allow it. At equal rates, integers of up to 32 bits and
/// 64-bit floats are converted in double precision. A narrower integer is rounded to the nearest
/// (ties to even) and clipped at full scale. Everything else goes through 32-bit floats, which hold
/// integers of up to 24 bits.
///
/// At another rate, a stream of n frames becomes n times the ratio of the rates, rounded. Its first
/// frame is aligned with the first input frame.
@safe
package final class StreamConverter {
  /// The frames that the resampler takes to precede the stream.
  package enum Priming: Sendable {
    /// The stream's own first `leadingFrames` frames, which are not output.
    case leading
    /// Silence.
    case silence
    /// Silence; `trailingFrames` frames of it are output as latency.
    case latency
  }

  package struct Options: Hashable, Sendable {
    /// Nil to map the first channels in order.
    package var mix: ChannelMix?
    package var quality = Resampler.Quality(.best)
    package var priming = Priming.silence
    /// In input frames. For packets: decoded frames to trim at the start. For linear PCM: see
    /// `priming`.
    package var leadingFrames = 0
    /// The same for the end.
    package var trailingFrames = 0
    /// The decoder's magic cookie.
    package var cookie: [UInt8] = []
    package var encoding = PacketEncoder.Options()
    /// Dither for linear PCM output with integers; nil to round to the nearest.
    package var dither: Dither?
    /// True to count samples beyond the full scale of an output with integers: see `faults`.
    package var countsClips = false

    package init() {}
  }

  struct Part {
    /// Frames to skip before the part.
    let skipped: Int
    /// Frames of the part, and those that remain.
    let all: Int
    var left: Int
  }

  /// The reason why a conversion is impossible, or has failed.
  package enum Failure: Error, Hashable, Sendable {
    case unsupported(String)
    /// The rate, in Hz, cannot be converted to the output's rate.
    case inputRate(Double)
    case outputRate(Double)
    /// The mix does not fit the channels.
    case channels
    /// The next packet is larger than its buffer.
    case packetTooLarge(bytes: Int)
    case resampling(String)
    case codec(CodecError)
  }

  package let input: StreamFormat
  /// With an encoder, the encoder's own output format: it may be more complete than the requested
  /// one.
  package let output: StreamFormat
  package let options: Options

  /// Maximum number of frames processed at a time.
  static let most = 2048

  var mixer: ChannelMixer
  private var mix: ChannelMix
  /// Nil for linear PCM input, or while a required cookie is missing.
  let decoder: PacketDecoder?
  /// Nil for linear PCM output.
  package let encoder: PacketEncoder?
  var resampler: Resampler?
  /// The input's frames per second. Decoding a packet may correct it.
  var inputRate: Double
  /// Buffers for frames before the mixer, and for output frames.
  let planes: Planes
  let outward: Planes
  private var ditherer: Ditherer?
  /// The samples that the output holds; nil if they are not checked.
  private let unclipped: Range<Double>?
  private var counted = SampleFaults()
  /// Buffer for one channel in double precision; nil if it is not needed.
  private let wide: UnsafeMutableBufferPointer<Double>?
  /// Output frames not yet delivered.
  let pending: PlaneQueue
  /// An output packet that did not fit, and how many of its bytes are delivered.
  private var held: EncodedPacket?
  private var heldBytes = 0

  /// Counts since the stream began: packets and frames decoded, and frames before and after the
  /// mixer and resampler.
  var packetsIn = 0
  var decodedFrames = 0
  var framesIn = 0
  var framesOut = 0
  /// Frames given to the encoder since the stream began.
  package private(set) var encodedFrames = 0
  /// Packets delivered or held.
  private var packetsOut = 0
  /// Decoded frames, or output frames, still to drop.
  var skipped = 0
  private var hasBegun = false
  /// The part of the decoded frames that forms the stream; nil for all.
  var part: Part?
  /// Frames of the part that silence replaces because their packets are missing or could not be decoded,
  /// by position in the part. The caller removes those that it has taken notice of.
  package var missing: [Range<Int>] = []
  /// True if the input has ended and all delayed frames are pending.
  var hasEnded = false

  /// Creates a converter.
  ///
  /// - Parameters:
  ///   - input: Rate and channels must be known. A required cookie may be missing; then a later
  ///     converter with the cookie replaces this one.
  ///   - output: A rate of 0 means the input's rate. Packet sizes and lossless bits of 0 mean the
  ///     defaults.
  package init(from input: StreamFormat, to output: StreamFormat, _ options: Options = Options())
    throws(Failure)
  {
    var input = input
    (input, decoder) = try Self.decoder(input, options)
    let encoder = try Self.encoder(output, input, options)
    let output = encoder.map { .packets($0.format) } ?? output
    self.encoder = encoder
    guard (1...PCMFormat.maximumChannels).contains(input.channels), input.sampleRate >= 1 else {
      throw .unsupported("the rate or the channels of the input are not known")
    }
    let mix = options.mix ?? .first(of: input.channels, to: output.channels)
    guard mix.fits(input: input.channels, output: output.channels) else { throw .channels }
    self.input = input
    self.output = output
    self.options = options
    self.mix = mix
    inputRate = input.sampleRate
    mixer = ChannelMixer(mix, outputs: output.channels, most: Self.most)
    planes = Planes(channels: input.channels, capacity: Self.most)
    outward = Planes(channels: output.channels, capacity: Self.most)
    pending = PlaneQueue(channels: output.channels)
    unclipped = options.countsClips ? output.unclippedSamples : nil
    var isWide = false
    if case .pcm(let to) = output {
      ditherer = options.dither.flatMap { Ditherer($0, output: to) }
      if case .pcm(let from) = input, ditherer == nil {
        isWide = from.isWide && !(to.kind == .float && !to.isWide)
      }
    }
    unsafe wide = isWide ? .allocate(capacity: Self.most) : nil
    try makeResampler()
  }

  deinit { unsafe wide?.deallocate() }

  static func decoder(_ input: StreamFormat, _ options: Options) throws(Failure)
    -> (StreamFormat, PacketDecoder?)
  {
    switch input {
    case .pcm(let format):
      guard format.layout != nil else {
        throw .unsupported("the input's samples are of no known kind")
      }
      return (input, nil)
    case .packets(let format):
      guard format.codec.hasDecoder else { throw .codec(CodecError(.noDecoder(format.codec))) }
      if options.cookie.isEmpty && format.codec.needsCookie { return (input, nil) }
      do throws(CodecError) {
        let decoder = try PacketDecoder(format, cookie: options.cookie)
        return (.packets(decoder.format), decoder)
      } catch {
        throw .codec(error)
      }
    }
  }

  private static func encoder(_ output: StreamFormat, _ input: StreamFormat, _ options: Options)
    throws(Failure) -> PacketEncoder?
  {
    switch output {
    case .pcm(let format):
      guard format.layout != nil else {
        throw .unsupported("the output's samples are of no known kind")
      }
      return nil
    case .packets(var format):
      if format.sampleRate == 0 { format.sampleRate = input.sampleRate }
      if format.channels == 0 { format.channels = input.channels }
      if format.codec.isLossless && format.bitsPerSample == 0 {
        format.bitsPerSample = input.significantBits
      }
      do throws(CodecError) {
        return try PacketEncoder(format, options.encoding)
      } catch {
        throw .codec(error)
      }
    }
  }

  func makeResampler() throws(Failure) {
    resampler = nil
    guard inputRate != output.sampleRate else { return }
    // At extreme ratios soxr does not terminate.
    guard (1 / 1024...1024).contains(output.sampleRate / inputRate) else {
      throw .outputRate(output.sampleRate)
    }
    resampler = Resampler(
      from: inputRate, to: output.sampleRate, channels: output.channels, quality: options.quality)
    guard resampler != nil else { throw .outputRate(output.sampleRate) }
  }

  /// True if each input frame yields an output frame without delay: both formats are linear PCM at
  /// one rate.
  package var isImmediate: Bool {
    if case .pcm = input, case .pcm = output { return resampler == nil }
    return false
  }

  /// Changes the channel mix from the next frame on. Returns false if the numbers of channels do
  /// not match.
  package func setMix(_ mix: ChannelMix) -> Bool {
    guard mix.fits(input: input.channels, output: output.channels) else { return false }
    self.mix = mix
    mixer = ChannelMixer(mix, outputs: output.channels, most: Self.most)
    return true
  }

  /// Samples since the converter was made that were clipped, or were no finite numbers.
  package var faults: SampleFaults {
    var faults = counted
    faults.notFinite += resampler?.zeroedSamples ?? 0
    return faults
  }

  /// Counts the samples that the output cannot hold. Lossy encoders get none that is NaN or infinite.
  private func check(_ frames: Planes.Pointers, _ count: Int) {
    if let unclipped {
      unsafe counted.count(
        frames, channels: output.channels, frames: count,
        outside: Float(unclipped.lowerBound)..<Float(unclipped.upperBound))
    } else if encoder != nil {
      counted.notFinite += unsafe UnsafePointer(frames)
        .zeroNotFinite(channels: output.channels, frames: count)
    }
  }

  /// Discards the stream. The next input starts another one, which may begin in the middle of
  /// packets.
  ///
  /// A packet that has no bytes or cannot be decoded is no error: silence of its length replaces it, and
  /// `missing` lists it.
  ///
  /// - Parameters:
  ///   - skipped: Decoded frames before the start of the stream.
  ///   - frames: Maximum number of decoded frames in the stream.
  package func restart(skipping skipped: Int, frames: Int) throws(Failure) {
    try reset()
    decoder?.keepsRate = true
    part = Part(skipped: skipped, all: frames, left: frames)
  }

  /// Decodes packets before the stream to bring the decoder into the right state. Their output and
  /// their errors are discarded.
  package func prepare(with source: inout Source) {
    guard let decoder, case .packets(let packets) = source.content else { return }
    while !source.isEmpty {
      let bytes = unsafe packets.bytes(source.next, count: 1)
      let trim = packets.trim(source.next)
      source.take(1)
      if unsafe !bytes.isEmpty { try? unsafe decoder.decode(bytes, trim: trim) }
    }
    decoder.discardOutput()
  }

  /// Discards the stream. The next input starts another one.
  package func reset() throws(Failure) {
    part = nil
    missing = []
    decoder?.reset()
    decoder?.keepsRate = false
    resampler?.reset()
    do throws(CodecError) { try encoder?.reset() } catch { throw .codec(error) }
    pending.removeAll()
    held = nil
    (packetsIn, decodedFrames, framesIn, framesOut, packetsOut) = (0, 0, 0, 0, 0)
    encodedFrames = 0
    skipped = 0
    hasBegun = false
    hasEnded = false
  }

  /// Priming and remainder frames in the encoder's packets. The remainder is known after the end of
  /// the stream.
  package var encodedPriming: (leading: Int, trailing: Int) {
    guard let encoder else { return (0, 0) }
    guard hasEnded else { return (encoder.primingFrames, 0) }
    // The last packet may decode to fewer frames than the packet count implies.
    let perPacket = encoder.format.framesPerPacket
    let counted = perPacket * packetsOut - encoder.primingFrames - encodedFrames
    return (encoder.primingFrames, perPacket > 0 ? max(0, counted) : encoder.remainderFrames)
  }

  // MARK: Converting

  /// Converts until the input is consumed or the output is full.
  ///
  /// After the end of the stream, further input is ignored until `reset`.
  package func convert(_ source: inout Source, into sink: inout Sink) throws(Failure) {
    if isImmediate { return convertAtOnce(&source, into: &sink) }
    begin()
    while true {
      try give(&sink)
      if sink.isFull { return }
      if hasEnded { return source.removeAll() }
      if !source.isEmpty {
        try feed(&source, wanting: sink.room)
      } else if source.isLast {
        try end()
      } else {
        return
      }
    }
  }

  /// Returns the approximate number of input frames or packets needed for `count` output frames or
  /// packets.
  package func inputCount(forOutput count: Int) -> Int {
    let frames = Double(count) * Double(output.usualFramesPerPacket)
    let taken = frames * inputRate / output.sampleRate
    return Int(held: min(max(1, (taken / Double(input.usualFramesPerPacket)).rounded(.up)), 0x1p48))
  }

  /// Returns the maximum number of output frames or packets for `count` input frames or packets.
  package func outputCount(forInput count: Int) -> Int {
    if isImmediate { return count }
    let frames = Double(count) * Double(input.usualFramesPerPacket)
    let given = (frames * output.sampleRate / inputRate).rounded(.up)
    // Allows for delayed frames and the padding of the last packet.
    return Int(held: min(given / Double(output.usualFramesPerPacket), 0x1p48)) + 2
  }

  private func convertAtOnce(_ source: inout Source, into sink: inout Sink) {
    guard case .frames(let from) = source.content, case .frames(let to) = sink.content else {
      return
    }
    while !source.isEmpty && !sink.isFull {
      let frames = min(source.left, sink.room, Self.most)
      if let numbers = unsafe wide?.baseAddress, case .map(let map) = mix {
        for (channel, origin) in map.enumerated() {
          if let origin {
            unsafe from.read(
              channel: origin, from: source.next, frames: frames, into: numbers)
          } else {
            unsafe numbers.update(repeating: 0, count: frames)
          }
          if let unclipped {
            unsafe counted.count(numbers, frames: frames, outside: unclipped)
          }
          unsafe to.write(channel: channel, numbers, frames: frames, at: sink.count)
        }
      } else {
        unsafe from.read(from: source.next, frames: frames, into: planes.pointers())
        var mixed = unsafe mixer.apply(planes.pointers(), frames: frames)
        unsafe check(mixed, frames)
        if ditherer != nil {
          // Several output channels may share one input channel.
          unsafe outward.copy(mixed, frames: frames)
          unsafe mixed = outward.pointers()
          unsafe ditherer?.round(mixed, frames: frames)
        }
        unsafe to.write(mixed, frames: frames, at: sink.count)
      }
      source.take(frames)
      sink.add(frames)
    }
  }

  private func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    guard case .pcm = input else {
      skipped = part?.skipped ?? options.leadingFrames
      return
    }
    guard resampler != nil else { return }
    switch options.priming {
    case .leading: skipped = framesOfOutput(options.leadingFrames)
    case .silence: break
    case .latency:
      let frames = framesOfOutput(options.trailingFrames)
      let room = unsafe pending.room(for: frames)
      for channel in 0..<output.channels {
        unsafe room[channel].update(repeating: 0, count: frames)
      }
      pending.add(frames)
    }
  }

  func framesOfOutput(_ frames: Int) -> Int {
    Int(held: (Double(frames) * output.sampleRate / inputRate).rounded())
  }

  // MARK: Output

  /// Delivers pending output.
  private func give(_ sink: inout Sink) throws(Failure) {
    switch sink.content {
    case .frames(let buffers):
      if case .pcm = input {
        let dropped = min(skipped, pending.count)
        pending.drop(dropped)
        skipped -= dropped
      }
      while !sink.isFull {
        let frames = unsafe pending.take(
          into: outward.pointers(), room: min(sink.room, Self.most))
        if frames == 0 { return }
        unsafe check(outward.pointers(), frames)
        unsafe ditherer?.round(outward.pointers(), frames: frames)
        unsafe buffers.write(outward.pointers(), frames: frames, at: sink.count)
        sink.add(frames)
      }
    case .packets:
      while !sink.isFull, let packet = held ?? takePacket() {
        held = packet
        if let size = uniformBytes {
          let count = sink.add(packet.bytes[heldBytes...], of: size)
          heldBytes += count * size
          guard heldBytes == packet.bytes.count else {
            if sink.count == 0 { throw .packetTooLarge(bytes: size) }
            return
          }
        } else {
          let frames = encoder?.format.framesPerPacket == 0 ? packet.frames : 0
          guard sink.add(packet.bytes, frames: frames) else {
            if sink.count == 0 { throw .packetTooLarge(bytes: packet.bytes.count) }
            return
          }
        }
        held = nil
      }
    }
  }

  /// Bytes of each output packet; nil if they vary.
  private var uniformBytes: Int? {
    guard let bytes = encoder?.format.bytesPerPacket, bytes > 0 else { return nil }
    return bytes
  }

  private func takePacket() -> EncodedPacket? {
    guard let packet = encoder?.takePacket() else { return nil }
    heldBytes = 0
    packetsOut += uniformBytes.map { packet.bytes.count / $0 } ?? 1
    return packet
  }

  /// Encodes the pending frames.
  func encodePending() throws(Failure) {
    guard let encoder else { return }
    let dropped = decoder == nil ? min(skipped, pending.count) : 0
    pending.drop(dropped)
    skipped -= dropped
    while true {
      let frames = unsafe pending.take(into: outward.pointers(), room: Self.most)
      if frames == 0 { return }
      encodedFrames += frames
      unsafe check(outward.pointers(), frames)
      do throws(CodecError) {
        try unsafe encoder.encode(outward.pointers(), frames: frames)
      } catch {
        throw .codec(error)
      }
    }
  }
}

extension Codec {
  /// True if a decoder cannot be created without a cookie.
  fileprivate var needsCookie: Bool { self == .alac || self == .vorbis }
}
