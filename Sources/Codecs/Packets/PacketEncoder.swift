import CFFmpeg

/// An encoder of floats to packets, based on libavcodec. Not real time; one thread at a time.
///
/// Channels are in the order of WAVE files. For codecs with integer input, a float is multiplied by
/// 2^(bits - 1), rounded to the nearest and clipped. Floats made from integers of that many bits
/// therefore go in unchanged.
@safe
package final class PacketEncoder {
  package struct Options: Hashable, Sendable {
    /// Bits per second; the encoder uses the nearest rate that the codec offers.
    package var bitRate: Int?
    /// Effort for sound quality or compression, from 0 to 127.
    package var quality: Int?
    /// The same quality at any bit rate, from 0 to 127, instead of a bit rate; only AAC has it. Nil: a bit rate.
    package var constantQuality: Int?
    /// The channel layout as a channel mask of WAVE files; nil for the usual one of the codec.
    package var channelMask: UInt32?

    package init(bitRate: Int? = nil, quality: Int? = nil) {
      self.bitRate = bitRate
      self.quality = quality
    }
  }

  /// The format of the packets.
  package private(set) var format: PacketFormat
  /// Target bits per second; 0 if the codec has no choice.
  package private(set) var bitRate = 0
  /// Frames that a decoder outputs before the first input frame.
  package private(set) var primingFrames = 0
  /// Frames that a decoder outputs after the last input frame. Known after `finish()`.
  package private(set) var remainderFrames = 0
  /// Upper limit of a packet's size in bytes. Codecs with packets of constant size deliver several
  /// at a time.
  package private(set) var maximumPacketBytes = 0

  private let options: Options
  private var codec: CodecContext
  /// The latest extradata from libavcodec.
  private var extradata: [UInt8] = []
  /// The converter of samples to the encoder's frame.
  private var samples: FrameSamples?
  /// Frames that the encoder takes at a time.
  private var frameFrames = 0
  /// Frames filled in the encoder's frame.
  private var filled = 0
  /// Input frames so far.
  private var validFrames = 0
  /// Frames sent to the encoder, including padding.
  private var sentFrames = 0
  /// Frames that the packets decode to.
  private var decodedFrames = 0
  private var hasPackets = false
  /// For Vorbis only.
  private var durations: VorbisDurations?
  private var isFinished = false
  private var packets: [EncodedPacket] = []
  private var firstPacket = 0

  /// Creates an encoder.
  ///
  /// - Parameter format: The packets' format, with the rate and channels of the input. Packet
  ///   sizes, and bits of lossless codecs, may be 0 for defaults.
  package init(_ format: PacketFormat, _ options: Options = Options()) throws(CodecError) {
    self.options = options
    self.format = format
    (codec, self.format, bitRate) = try Self.opened(format, options)
    try begin()
  }

  /// The channel layout of the packets as a channel mask of WAVE files; nil if it has none.
  package var channelMask: UInt32? { unsafe codec.context.pointee.ch_layout.waveMask }

  /// The decoder's cookie in Apple's form. It may change until `finish()`.
  package var cookie: [UInt8] {
    MagicCookie.appleCookie(format.codec, extradata: extradata, bitRate: bitRate)
  }

  /// Encodes all of the given frames.
  package func encode(_ planes: Planes.Pointers, frames: Int) throws(CodecError) {
    guard !isFinished else { throw CodecError(.failed("the encoder has finished")) }
    var done = 0
    while done < frames {
      let count = min(frames - done, frameFrames - filled)
      try prepareFrame()
      if let data = unsafe codec.frame.pointee.extended_data {
        unsafe samples?.store(planes, at: done, frames: count, to: data, at: filled)
      }
      filled += count
      done += count
      validFrames += count
      if filled == frameFrames { try send() }
    }
  }

  /// Encodes the remaining input. The last packet is padded with silence if necessary.
  package func finish() throws(CodecError) {
    guard !isFinished else { return }
    isFinished = true
    if filled > 0 {
      if !endsShort { pad() }
      try send()
    }
    let isDelaying = unsafe codec.codec.pointee.capabilities & AV_CODEC_CAP_DELAY != 0
    // The encoder's delay must be flushed completely.
    while !isDelaying, validFrames > 0, !endsShort, sentFrames < primingFrames + validFrames {
      try prepareFrame()
      pad()
      try send()
    }
    if isDelaying, validFrames > 0 {
      _ = unsafe ffmpeg.avcodec_send_frame(codec.context, nil)
      try receive()
    }
    // If the packet before had room for the delay, libopus ends with a packet of only padding.
    // Alone on an Ogg page, it would lie behind the end.
    if format.codec == .opus, let last = packets.last,
      decodedFrames - last.frames >= primingFrames + validFrames
    {
      packets.removeLast()
      decodedFrames -= last.frames
    }
    remainderFrames = max(0, decodedFrames - primingFrames - validFrames)
  }

  /// Removes and returns the next packet; nil if none is ready.
  package func takePacket() -> EncodedPacket? {
    guard firstPacket < packets.count else { return nil }
    defer {
      firstPacket += 1
      if firstPacket == packets.count {
        packets.removeAll(keepingCapacity: true)
        firstPacket = 0
      }
    }
    return packets[firstPacket]
  }

  /// Discards the stream and its packets, and starts a new one.
  package func reset() throws(CodecError) {
    (codec, _, _) = try Self.opened(format, options)
    try begin()
  }
}

// MARK: Opening

extension PacketEncoder {
  /// Returns an open encoder, its output format and its bits per second.
  private static func opened(_ wanted: PacketFormat, _ options: Options) throws(CodecError)
    -> (CodecContext, PacketFormat, Int)
  {
    var format = wanted
    let kind = format.codec
    guard let encoder = unsafe kind.encoder(bytesPerPacket: format.bytesPerPacket) else {
      throw CodecError(.noEncoder(kind))
    }
    guard kind.encodes(channels: format.channels) else {
      throw CodecError(
        .badFormat("\(kind.name) is not encoded with \(format.channels) channels"))
    }
    let rates = kind.encodedSampleRates
    guard format.sampleRate.isFinite, (1...655_350).contains(format.sampleRate),
      rates.isEmpty || rates.contains(format.sampleRate)
    else {
      let offered = rates.map { "\(Int($0))" }.joined(separator: ", ")
      throw CodecError(
        .badFormat(
          "\(kind.name) is encoded at \(offered.isEmpty ? "1 to 655350" : offered) Hz, not at"
            + " \(format.sampleRate)"))
    }
    guard !kind.isLossless || (0...24).contains(format.bitsPerSample) else {
      throw CodecError(
        .badFormat("\(kind.name) is encoded with up to 24 bits, not \(format.bitsPerSample)"))
    }
    let codec = try unsafe CodecContext(encoder)
    let context = unsafe codec.context
    unsafe context.pointee.sample_rate = CInt(format.sampleRate.rounded())
    unsafe context.pointee.time_base = AVRational(num: 1, den: context.pointee.sample_rate)
    unsafe context.pointee.strict_std_compliance = FF_COMPLIANCE_NORMAL
    try setLayout(codec, format, options.channelMask)
    setSamples(codec, &format)
    let rate = try setBitRate(codec, format, options)
    var privateOptions: [(String, String)] = []
    switch kind {
    case .flac:
      if format.framesPerPacket > 0 {
        unsafe context.pointee.frame_size = CInt(clamping: format.framesPerPacket)
      }
    case .alac: break
    case .msIMA:
      if format.bytesPerPacket > 0 {
        privateOptions.append(("block_size", "\(format.bytesPerPacket)"))
      }
    case .opus:
      let milliseconds = Double(format.framesPerPacket) / 48
      if milliseconds > 0 { privateOptions.append(("frame_duration", "\(milliseconds)")) }
    default: break
    }
    if let quality = options.quality.map({ Double(min(max($0, 0), 127)) / 127 }) {
      switch kind {
      case .aac: privateOptions.append(("aac_coder", quality < 0.3 ? "fast" : "twoloop"))
      case .alac: unsafe context.pointee.compression_level = CInt((2 * quality).rounded())
      case .flac: unsafe context.pointee.compression_level = CInt((8 * quality).rounded())
      case .opus: unsafe context.pointee.compression_level = CInt((10 * quality).rounded())
      // LAME's scale is inverted: 0 is the best.
      case .mp3: unsafe context.pointee.compression_level = CInt((9 * (1 - quality)).rounded())
      default: break
      }
    }
    let result = codec.open(privateOptions)
    guard result >= 0 else {
      throw CodecError(
        .badFormat(
          "\(kind.name), \(format.channels) channels, \(Int(format.sampleRate)) Hz, \(rate) bits per"
            + " second: " + CodecContext.words(result)))
    }
    let frameSize = unsafe Int(context.pointee.frame_size)
    switch kind {
    case .ulaw, .alaw: format.framesPerPacket = 1
    case .vorbis: format.framesPerPacket = 0
    default: format.framesPerPacket = frameSize
    }
    switch kind {
    case .ima4, .ulaw, .alaw: format.bytesPerPacket = kind.bytesPerPacket(channels: format.channels)
    case .msIMA, .gsm: format.bytesPerPacket = unsafe Int(context.pointee.block_align)
    default: format.bytesPerPacket = 0
    }
    return (codec, format, rate)
  }

  /// Sets the wanted channel layout, else the one that the encoder accepts for this many channels.
  private static func setLayout(
    _ codec: CodecContext, _ format: PacketFormat, _ mask: UInt32?
  ) throws(CodecError) {
    let context = unsafe codec.context
    let count = CInt(format.channels)
    if let mask, mask.nonzeroBitCount == format.channels {
      _ = unsafe ffmpeg.av_channel_layout_from_mask(&context.pointee.ch_layout, UInt64(mask))
      return
    }
    var offered: CInt = 0
    if let layouts = unsafe cue_av_channel_layouts(codec.codec, &offered) {
      for i in 0..<Int(offered) where unsafe layouts[i].nb_channels == count {
        _ = unsafe ffmpeg.av_channel_layout_copy(&context.pointee.ch_layout, layouts + i)
        return
      }
      throw CodecError(.badFormat("\(format.codec.name) is not encoded with \(count) channels"))
    }
    // The usual layouts, in the order of WAVE files.
    let names = ["mono", "stereo", "3.0", "4.0", "5.0", "5.1", "6.1", "7.1"]
    let quad = format.codec == .aac ? "4.0" : "quad"
    let name = count == 4 ? quad : Int(count) <= names.count ? names[Int(count) - 1] : ""
    let result = unsafe ffmpeg.av_channel_layout_from_string(&context.pointee.ch_layout, name)
    if result < 0 { unsafe ffmpeg.av_channel_layout_default(&context.pointee.ch_layout, count) }
  }

  /// Sets the encoder's sample format: floats, or integers that hold the source's bits.
  private static func setSamples(_ codec: CodecContext, _ format: inout PacketFormat) {
    let context = unsafe codec.context
    var count: CInt = 0
    let formats = unsafe cue_av_sample_formats(codec.codec, &count)
    let offered = unsafe Array(UnsafeBufferPointer(start: formats, count: Int(count)))
    let isWide = format.codec.isLossless && format.bitsPerSample > 16
    let order: [AVSampleFormat] =
      isWide
      ? [AV_SAMPLE_FMT_S32P, AV_SAMPLE_FMT_S32]
      : format.codec.isLossless
        ? [AV_SAMPLE_FMT_S16P, AV_SAMPLE_FMT_S16]
        : [AV_SAMPLE_FMT_FLTP, AV_SAMPLE_FMT_FLT, AV_SAMPLE_FMT_S16P, AV_SAMPLE_FMT_S16]
    unsafe context.pointee.sample_fmt = order.first(where: offered.contains) ?? AV_SAMPLE_FMT_S16
    if format.codec.isLossless {
      // Samples of 20 bits are encoded as 24.
      format.bitsPerSample = isWide ? 24 : 16
      unsafe context.pointee.bits_per_raw_sample = CInt(format.bitsPerSample)
    } else {
      format.bitsPerSample = 0
    }
  }

  private static func setBitRate(
    _ codec: CodecContext, _ format: PacketFormat, _ options: Options
  ) throws(CodecError) -> Int {
    let offered = format.codec.encodedBitRates(
      sampleRate: format.sampleRate, channels: format.channels)
    guard let lowest = offered.first, let highest = offered.last else { return 0 }
    if let asked = options.bitRate, asked <= 0 {
      throw CodecError(.badFormat("\(asked) bits per second"))
    }
    let asked =
      options.bitRate
      ?? format.codec.usualBitRate(sampleRate: format.sampleRate, channels: format.channels)
    if format.codec == .aac, let quality = options.constantQuality {
      // libavcodec's scale for AAC goes from 0.1 to 2.
      let factor = 0.1 + 1.9 * Double(min(max(quality, 0), 127)) / 127
      unsafe codec.context.pointee.flags |= AV_CODEC_FLAG_QSCALE
      unsafe codec.context.pointee.global_quality = CInt(factor * Double(FF_QP2LAMBDA))
      return 0
    }
    var rate = min(max(asked, lowest), highest)
    if ![.aac, .opus, .vorbis].contains(format.codec) {
      rate = offered.min { abs($0 - rate) < abs($1 - rate) } ?? rate
    }
    unsafe codec.context.pointee.bit_rate = Int64(rate)
    return rate
  }

  /// Resets the state for a new stream.
  private func begin() throws(CodecError) {
    let context = unsafe codec.context
    let frameSize = unsafe Int(context.pointee.frame_size)
    frameFrames = frameSize > 0 ? frameSize : 4096
    primingFrames = unsafe max(0, Int(context.pointee.initial_padding))
    extradata = codec.extradata
    maximumPacketBytes = usualMaximumPacketBytes
    remainderFrames = 0
    (filled, validFrames, sentFrames, decodedFrames) = (0, 0, 0, 0)
    samples = unsafe FrameSamples(
      context.pointee.sample_fmt, channels: format.channels, bits: format.bitsPerSample)
    durations = format.codec == .vorbis ? VorbisDurations(extradata) : nil
    (hasPackets, isFinished) = (false, false)
    packets.removeAll()
    firstPacket = 0
    let frame = unsafe codec.frame
    unsafe frame.pointee.format = context.pointee.sample_fmt.rawValue
    unsafe frame.pointee.nb_samples = CInt(frameFrames)
    unsafe frame.pointee.sample_rate = context.pointee.sample_rate
    guard
      unsafe ffmpeg.av_channel_layout_copy(&frame.pointee.ch_layout, &context.pointee.ch_layout)
        == 0,
      unsafe ffmpeg.av_frame_get_buffer(frame, 0) == 0
    else { throw CodecError(.failed("no memory for \(frameFrames) frames")) }
  }

  /// Upper limit of a packet's size in this format.
  private var usualMaximumPacketBytes: Int {
    let channels = format.channels
    switch format.codec {
    case .aac, .aacHE, .aacHEv2: return 768 * channels
    case .alac, .flac:
      // Uncompressed samples plus headers.
      return frameFrames * channels * (format.bitsPerSample / 8) + 64 + 16 * channels
        + frameFrames * channels / 8
    case .opus: return 1276 * 3 * channels
    case .vorbis: return 65025
    case .mp1, .mp2, .mp3: return 1729
    case .ima4, .gsm: return format.bytesPerPacket
    case .msIMA: return format.bytesPerPacket
    case .ulaw, .alaw: return format.bytesPerPacket
    case .ac3, .eac3: return 4096
    case .amrNarrow, .amrWide: return 64
    }
  }
}

// MARK: Encoding

extension PacketEncoder {
  /// True if the last packet may have fewer frames than the others.
  private var endsShort: Bool {
    switch format.codec {
    case .alac, .flac, .ulaw, .alaw: true
    default: false
    }
  }

  /// Makes the frame writable: the encoder may still reference the last one.
  private func prepareFrame() throws(CodecError) {
    guard unsafe ffmpeg.av_frame_make_writable(codec.frame) >= 0 else {
      throw CodecError(.failed("no memory for \(frameFrames) frames"))
    }
  }

  /// Pads the frame with silence.
  private func pad() {
    _ = unsafe ffmpeg.av_samples_set_silence(
      codec.frame.pointee.extended_data, CInt(filled), CInt(frameFrames - filled),
      CInt(format.channels), codec.context.pointee.sample_fmt)
    filled = frameFrames
  }

  /// Sends the filled part of the frame to the encoder.
  private func send() throws(CodecError) {
    unsafe codec.frame.pointee.nb_samples = CInt(filled)
    unsafe codec.frame.pointee.pts = Int64(sentFrames)
    sentFrames += filled
    filled = 0
    let result = unsafe ffmpeg.avcodec_send_frame(codec.context, codec.frame)
    guard result >= 0 else {
      throw CodecError(.failed("\(format.codec.name): " + CodecContext.words(result)))
    }
    try receive()
    unsafe codec.frame.pointee.nb_samples = CInt(frameFrames)
  }

  /// Receives all packets that are ready.
  private func receive() throws(CodecError) {
    while true {
      let result = unsafe ffmpeg.avcodec_receive_packet(codec.context, codec.packet)
      if result == cue_av_error_again || result == cue_av_error_end_of_file { return }
      guard result >= 0 else {
        throw CodecError(.failed("\(format.codec.name): " + CodecContext.words(result)))
      }
      unsafe add(codec.packet)
      unsafe ffmpeg.av_packet_unref(codec.packet)
    }
  }

  private func add(_ packet: UnsafeMutablePointer<AVPacket>) {
    // FLAC completes its extradata only at the end.
    var size = 0
    if let data = unsafe ffmpeg.av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size) {
      extradata = unsafe [UInt8](UnsafeBufferPointer(start: data, count: size))
    }
    let count = unsafe Int(packet.pointee.size)
    guard count > 0, let data = unsafe packet.pointee.data else { return }
    let bytes = unsafe [UInt8](UnsafeBufferPointer(start: data, count: count))
    let frames: Int =
      switch format.codec {
      case .ulaw, .alaw: count / format.bytesPerPacket
      // The last packet may be shorter.
      case .alac, .flac: min(frameFrames, validFrames - decodedFrames)
      // The first packet only primes the decoder for the next. (The packet's own duration leaves
      // out padding.)
      case .vorbis: hasPackets ? durations?.frames(of: bytes) ?? 0 : 0
      default: frameFrames
      }
    decodedFrames += frames
    hasPackets = true
    if format.bytesPerPacket == 0 { maximumPacketBytes = max(maximumPacketBytes, count) }
    packets.append(EncodedPacket(bytes: bytes, frames: frames))
  }
}
