import CFFmpeg
import RealTime

/// Bytes that an encoder has made.
package struct EncodedPacket: Hashable, Sendable {
  package var bytes: [UInt8]
  /// Frames that a decoder makes of them.
  package var frames: Int
}

/// Encodes floats to packets, through libavcodec. Not real time; one thread at a time.
///
/// Channels have the order of WAVE files. Codecs that take integers get the float times 2 to the power
/// of the bits less one, rounded to the nearest and clipped: what came from integers of so many bits
/// goes in as it was.
@safe
package final class PacketEncoder {
  package struct Options: Hashable, Sendable {
    /// Bits per second; the nearest that the codec offers is taken.
    package var bitRate: Int?
    /// How much work to spend on the sound or the size: 0 to 127.
    package var quality: Int?

    package init(bitRate: Int? = nil, quality: Int? = nil) {
      self.bitRate = bitRate
      self.quality = quality
    }
  }

  /// The format of the packets.
  package private(set) var format: PacketFormat
  /// Bits per second that are aimed at; 0 if the codec has no choice.
  package private(set) var bitRate = 0
  /// Frames that a decoder gives before the first that was put in.
  package private(set) var primingFrames = 0
  /// Frames that a decoder gives after the last that was put in. After `finish()`.
  package private(set) var remainderFrames = 0
  /// No packet is longer. Of codecs whose packets are all alike, several come together.
  package private(set) var maximumPacketBytes = 0

  private let options: Options
  private var codec: CodecContext
  /// libavcodec's, as long as it has changed.
  private var extradata: [UInt8] = []
  /// How the encoder's frame is to be written.
  private var samples: FrameSamples?
  /// Frames that the encoder takes at a time.
  private var frameFrames = 0
  /// Frames that stand in the encoder's frame.
  private var filled = 0
  /// Frames that were put in.
  private var validFrames = 0
  /// Frames that were sent, with silence behind them.
  private var sentFrames = 0
  /// Frames that a decoder gives for the packets.
  private var decodedFrames = 0
  private var hasPackets = false
  /// Only of Vorbis.
  private var durations: VorbisDurations?
  private var isFinished = false
  private var packets: [EncodedPacket] = []
  private var firstPacket = 0

  /// An encoder.
  ///
  /// - Parameter format: What is wanted, and the rate and the channels of what will be put in. Sizes of
  ///   packets, and bits of lossless codecs, may be 0: the usual ones are taken.
  package init(_ format: PacketFormat, _ options: Options = Options()) throws(CodecError) {
    self.options = options
    self.format = format
    (codec, self.format, bitRate) = try Self.opened(format, options)
    try begin()
  }

  /// What the decoder will need, as Apple's programs expect it. It may change until `finish()`.
  package var cookie: [UInt8] {
    MagicCookie.appleCookie(format.codec, extradata: extradata, bitRate: bitRate)
  }

  /// Takes frames in, all of them.
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

  /// Has all that was put in become packets; the last is filled up with silence if it has to be.
  package func finish() throws(CodecError) {
    guard !isFinished else { return }
    isFinished = true
    if filled > 0 {
      if !endsShort { pad() }
      try send()
    }
    let isDelaying = unsafe codec.codec.pointee.capabilities & AV_CODEC_CAP_DELAY != 0
    // What stands behind the priming has to come out whole.
    while !isDelaying, validFrames > 0, !endsShort, sentFrames < primingFrames + validFrames {
      try prepareFrame()
      pad()
      try send()
    }
    if isDelaying, validFrames > 0 {
      unsafe avcodec_send_frame(codec.context, nil)
      try receive()
    }
    // libopus ends with a packet of nothing but filling where the one before had room for the delay. Alone
    // on a page of Ogg, it would lie behind the end.
    if format.codec == .opus, let last = packets.last,
      decodedFrames - last.frames >= primingFrames + validFrames
    {
      packets.removeLast()
      decodedFrames -= last.frames
    }
    remainderFrames = max(0, decodedFrames - primingFrames - validFrames)
  }

  /// The next packet; nil if there is none yet.
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

  /// Forgets the stream, and the packets that were not taken: a new stream begins.
  package func reset() throws(CodecError) {
    (codec, _, _) = try Self.opened(format, options)
    try begin()
  }
}

// MARK: Opening

extension PacketEncoder {
  /// An open encoder, the format that it gives and its bits per second.
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
    try setLayout(codec, format)
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
      // Its scale has the best at 0.
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

  /// Chooses the layout in which the encoder takes so many channels.
  private static func setLayout(_ codec: CodecContext, _ format: PacketFormat) throws(CodecError) {
    let context = unsafe codec.context
    let count = CInt(format.channels)
    var offered: CInt = 0
    if let layouts = unsafe cue_av_channel_layouts(codec.codec, &offered) {
      for i in 0..<Int(offered) where unsafe layouts[i].nb_channels == count {
        unsafe av_channel_layout_copy(&context.pointee.ch_layout, layouts + i)
        return
      }
      throw CodecError(.badFormat("\(format.codec.name) is not encoded with \(count) channels"))
    }
    // The usual ones, in the order of WAVE files.
    let names = ["mono", "stereo", "3.0", "4.0", "5.0", "5.1", "6.1", "7.1"]
    let quad = format.codec == .aac ? "4.0" : "quad"
    let name = count == 4 ? quad : Int(count) <= names.count ? names[Int(count) - 1] : ""
    let result = unsafe av_channel_layout_from_string(&context.pointee.ch_layout, name)
    if result < 0 { unsafe av_channel_layout_default(&context.pointee.ch_layout, count) }
  }

  /// Chooses the form in which the encoder takes samples: floats, or integers that hold the source's.
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
      // Twenty bits go into twenty-four.
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
    var rate = min(max(asked, lowest), highest)
    if ![.aac, .opus, .vorbis].contains(format.codec) {
      rate = offered.min { abs($0 - rate) < abs($1 - rate) } ?? rate
    }
    unsafe codec.context.pointee.bit_rate = Int64(rate)
    return rate
  }

  /// Makes a new stream begin.
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
    guard unsafe av_channel_layout_copy(&frame.pointee.ch_layout, &context.pointee.ch_layout) == 0,
      unsafe av_frame_get_buffer(frame, 0) == 0
    else { throw CodecError(.failed("no memory for \(frameFrames) frames")) }
  }

  /// More than any packet of the format has.
  private var usualMaximumPacketBytes: Int {
    let channels = format.channels
    switch format.codec {
    case .aac, .aacHE, .aacHEv2: return 768 * channels
    case .alac, .flac:
      // Nothing saved, and the heads.
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

// MARK: Working

extension PacketEncoder {
  /// The last packet may have fewer frames than the others.
  private var endsShort: Bool {
    switch format.codec {
    case .alac, .flac, .ulaw, .alaw: true
    default: false
    }
  }

  /// Makes the frame writable: the encoder may still hold the last one.
  private func prepareFrame() throws(CodecError) {
    guard unsafe av_frame_make_writable(codec.frame) >= 0 else {
      throw CodecError(.failed("no memory for \(frameFrames) frames"))
    }
  }

  /// Fills the frame up with silence.
  private func pad() {
    unsafe av_samples_set_silence(
      codec.frame.pointee.extended_data, CInt(filled), CInt(frameFrames - filled),
      CInt(format.channels), codec.context.pointee.sample_fmt)
    filled = frameFrames
  }

  /// Sends the frame, as full as it is.
  private func send() throws(CodecError) {
    unsafe codec.frame.pointee.nb_samples = CInt(filled)
    unsafe codec.frame.pointee.pts = Int64(sentFrames)
    sentFrames += filled
    filled = 0
    let result = unsafe avcodec_send_frame(codec.context, codec.frame)
    guard result >= 0 else {
      throw CodecError(.failed("\(format.codec.name): " + CodecContext.words(result)))
    }
    try receive()
    unsafe codec.frame.pointee.nb_samples = CInt(frameFrames)
  }

  /// Takes all packets that are ready.
  private func receive() throws(CodecError) {
    while true {
      let result = unsafe avcodec_receive_packet(codec.context, codec.packet)
      if result == cue_av_error_again || result == cue_av_error_end_of_file { return }
      guard result >= 0 else {
        throw CodecError(.failed("\(format.codec.name): " + CodecContext.words(result)))
      }
      unsafe add(codec.packet)
      unsafe av_packet_unref(codec.packet)
    }
  }

  private func add(_ packet: UnsafeMutablePointer<AVPacket>) {
    // FLAC knows some of it only when all is done.
    var size = 0
    if let data = unsafe av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size) {
      extradata = unsafe [UInt8](UnsafeBufferPointer(start: data, count: size))
    }
    let count = unsafe Int(packet.pointee.size)
    guard count > 0, let data = unsafe packet.pointee.data else { return }
    let bytes = unsafe [UInt8](UnsafeBufferPointer(start: data, count: count))
    let frames: Int =
      switch format.codec {
      case .ulaw, .alaw: count / format.bytesPerPacket
      // The last one may be shorter.
      case .alac, .flac: min(frameFrames, validFrames - decodedFrames)
      // Of the first, a decoder only keeps the second half, for the next. (The packet's own duration
      // leaves out what was not put in.)
      case .vorbis: hasPackets ? durations?.frames(of: bytes) ?? 0 : 0
      default: frameFrames
      }
    decodedFrames += frames
    hasPackets = true
    if format.bytesPerPacket == 0 { maximumPacketBytes = max(maximumPacketBytes, count) }
    packets.append(EncodedPacket(bytes: bytes, frames: frames))
  }
}
