import CFFmpeg
import RealTime

/// A decoder of packets to floats, based on libavcodec. Not real time; one thread at a time.
///
/// The output is untrimmed: it includes priming and remainder, and each packet yields all of its
/// frames. The caller trims by the packet table. Channels are in the order of WAVE files. For
/// lossless codecs a float is the sample divided by 2^(`bitsPerSample` - 1), exact for up to 24
/// bits.
@safe
package final class PacketDecoder {
  /// The packets' format, as far as known. Decoding a packet may complete it. Rate and channels do
  /// not change once known: what comes in another form later is resampled and mapped.
  package private(set) var format: PacketFormat
  /// True if the rate is known before the first packet is decoded: a decoder may begin behind a
  /// change of the rate.
  package var keepsRate = false

  private let decoder: UnsafePointer<AVCodec>
  private let extradata: [UInt8]
  /// The extradata of the stream that is decoded now. In a joined file it may differ from `extradata`, the first stream's.
  private var current: [UInt8]
  private var codec: CodecContext
  /// Nil until the channels are known.
  private var output: PlaneQueue?
  private var hasDecoded = false
  /// Frames that all packets so far decoded to, at their own rate: more than are ready while some are being
  /// resampled.
  private(set) var decodedFrames: Int64 = 0
  private var isDrained = false
  /// Resamples frames of a part of the stream that has another rate; nil in other parts.
  private var adapter: (rate: Double, resampler: Resampler)?
  /// Frames of the current packet that are still to be left out.
  private var trim = PacketTrim()
  /// The bytes before a frame of MPEG Layer III, from the first frame of a free format on; nil until then.
  private var reservoir: BitReservoir?

  /// Creates a decoder.
  ///
  /// - Parameters:
  ///   - format: Unknown fields are 0.
  ///   - cookie: In any form that `MagicCookie` reads. Apple Lossless and Vorbis need one.
  package init(_ format: PacketFormat, cookie: [UInt8]) throws(CodecError) {
    guard let decoder = unsafe format.codec.decoder(bytesPerPacket: format.bytesPerPacket) else {
      throw CodecError(.noDecoder(format.codec))
    }
    guard (0...PCMFormat.maximumChannels).contains(format.channels) else {
      throw CodecError(.badFormat("\(format.channels) channels: there may be 64 at most"))
    }
    guard format.sampleRate.isFinite, (0...1_000_000).contains(format.sampleRate) else {
      throw CodecError(.badFormat("\(format.sampleRate) frames per second are out of range"))
    }
    guard (0...Self.mostBytes).contains(format.bytesPerPacket) else {
      throw CodecError(.badFormat("\(format.bytesPerPacket) bytes to a packet are out of range"))
    }
    let described = try MagicCookie.described(format, cookie)
    self.format = described.format
    if ![.msIMA, .ulaw, .alaw, .ima4, .gsm].contains(format.codec) {
      self.format.bytesPerPacket = 0
    }
    extradata = described.extradata
    current = extradata
    unsafe self.decoder = decoder
    do throws(CodecError) {
      codec = try unsafe Self.opened(decoder, self.format, extradata)
    } catch {
      guard case .badFormat = error.kind, !cookie.isEmpty else { throw error }
      throw CodecError(.badCookie(error.reason))
    }
    let context = unsafe codec.context
    let channels = unsafe Int(context.pointee.ch_layout.nb_channels)
    if self.format.channels == 0, (1...PCMFormat.maximumChannels).contains(channels) {
      self.format.channels = channels
    }
    if self.format.sampleRate == 0 {
      self.format.sampleRate = unsafe Double(max(0, context.pointee.sample_rate))
    }
  }

  private static func opened(
    _ decoder: UnsafePointer<AVCodec>, _ format: PacketFormat, _ extradata: [UInt8]
  ) throws(CodecError) -> CodecContext {
    let codec = try unsafe CodecContext(decoder)
    let context = unsafe codec.context
    codec.extradata = format.codec == .opus ? unsafe keepingOrder(extradata, decoder) : extradata
    unsafe context.pointee.flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL
    unsafe context.pointee.request_sample_fmt = AV_SAMPLE_FMT_FLT
    unsafe context.pointee.sample_rate = CInt(format.sampleRate.rounded())
    // More than any of these decoders outputs; damaged data may request it.
    unsafe context.pointee.max_samples = 1 << 20
    if format.channels > 0 {
      unsafe ffmpeg.av_channel_layout_default(&context.pointee.ch_layout, CInt(format.channels))
    }
    switch format.codec {
    case .msIMA: unsafe context.pointee.bits_per_coded_sample = 4
    case .ulaw, .alaw: unsafe context.pointee.bits_per_coded_sample = 8
    default: break
    }
    unsafe context.pointee.block_align = CInt(format.bytesPerPacket)
    let result = codec.open()
    guard result >= 0 else {
      throw CodecError(
        .badFormat(
          "\(format.codec.name), \(format.channels) channels, extradata of \(extradata.count) bytes: "
            + CodecContext.words(result)))
    }
    return codec
  }

  /// The channel layout according to the cookie, as a channel mask of WAVE files; nil if it gives none.
  package var channelMask: UInt32? { unsafe codec.context.pointee.ch_layout.waveMask }

  /// Returns an Opus header from which libavcodec's wrapper of libopus outputs the channels in the order of
  /// the header's mapping table. The wrapper rearranges up to eight channels from Vorbis's order to that
  /// of WAVE files, but only mapping family 1 has Vorbis's order (RFC 7845, RFC 8486).
  private static func keepingOrder(
    _ header: [UInt8], _ decoder: UnsafePointer<AVCodec>
  ) -> [UInt8] {
    let (channelsAt, familyAt, mappingAt) = (9, 18, 21)
    guard unsafe String(cString: decoder.pointee.name) == "libopus", header.count > mappingAt,
      header[familyAt] > 1
    else { return header }
    let channels = Int(header[channelsAt])
    guard let order = Codec.opus.codedOrder(channels: channels),
      header.count >= mappingAt + channels
    else { return header }
    var changed = header
    for (place, channel) in order.enumerated() {
      changed[mappingAt + place] = header[mappingAt + channel]
    }
    return changed
  }

  /// More bytes than any packet has.
  private static var mostBytes: Int { 1 << 26 }

  /// Decodes a packet, or several consecutive ones of equal size.
  ///
  /// - Parameter packet: Nil at the end of the stream: the decoder outputs its delayed frames, and
  ///   the next packet starts a new stream.
  /// - Parameter trim: Frames of the packet to leave out.
  package func decode(
    _ packet: UnsafeRawBufferPointer?, trim: PacketTrim = PacketTrim()
  ) throws(CodecError) {
    guard let packet = unsafe packet else { return try drain() }
    self.trim = trim
    guard packet.count > 0 else {
      throw CodecError(.badPacket("it is empty"))
    }
    guard packet.count <= Self.mostBytes else {
      throw CodecError(.badPacket("it has \(packet.count) bytes"))
    }
    if unsafe isSetup(packet) {
      endAdapter()
      current = unsafe Array(packet[(format.codec == .flac ? 8 : 0)...])
      return begin()
    }
    if isDrained { begin() }
    if format.codec == .mp3, reservoir == nil, packet.count > 2, unsafe packet[2] & 0xF0 == 0 {
      begin(isFreeFormat: true)
    }
    if let unit = unsafe reservoir?.unit(packet) {
      let result = unsafe unit.withUnsafeBytes { bytes in
        Result { () throws(CodecError) in try unsafe send(bytes) }
      }
      try result.get()
    } else {
      try unsafe send(packet)
    }
  }

  private func send(_ packet: UnsafeRawBufferPointer) throws(CodecError) {
    guard let bytes = packet.baseAddress,
      unsafe ffmpeg.av_new_packet(codec.packet, CInt(packet.count)) == 0
    else { throw CodecError(.failed("no memory for a packet of \(packet.count) bytes")) }
    defer { unsafe ffmpeg.av_packet_unref(codec.packet) }
    unsafe UnsafeMutableRawPointer(codec.packet.pointee.data)
      .copyMemory(from: bytes, byteCount: packet.count)
    let sent = unsafe ffmpeg.avcodec_send_packet(codec.context, codec.packet)
    let received = receive()
    if sent < 0 || received < 0 {
      // A damaged packet may have changed the decoder's idea of the channels.
      if [.aac, .aacHE, .aacHEv2].contains(format.codec) { begin() }
      throw CodecError(.badPacket(CodecContext.words(sent < 0 ? sent : received)))
    }
  }

  /// True for the head of a joined stream, which another stream's packets follow: the name and the STREAMINFO of FLAC,
  /// or the identification header of Opus.
  func isSetup(_ packet: UnsafeRawBufferPointer) -> Bool {
    switch format.codec {
    case .flac: unsafe packet.count == 42 && packet.starts(with: "fLaC".utf8)
    case .opus: unsafe packet.count >= 19 && packet.starts(with: "OpusHead".utf8)
    default: false
    }
  }

  private func drain() throws(CodecError) {
    guard !isDrained else { return }
    isDrained = true
    _ = unsafe ffmpeg.avcodec_send_packet(codec.context, nil)
    let result = receive()
    endAdapter()
    if result < 0 { throw CodecError(.badPacket(CodecContext.words(result))) }
  }

  /// Number of decoded frames that are ready.
  package var available: Int { output?.count ?? 0 }

  /// Copies decoded frames to planes and removes them.
  ///
  /// - Parameter planes: Space for `room` frames of each of the format's channels.
  /// - Returns: Number of frames.
  package func take(into planes: Planes.Pointers, room: Int) -> Int {
    unsafe output?.take(into: planes, room: room) ?? 0
  }

  /// Discards the decoded frames, with those that are being resampled. The next packet follows the last one.
  package func discardOutput() {
    adapter = nil
    output?.removeAll()
  }

  /// Discards the stream and the decoded frames. The next packet need not follow the last one.
  package func reset() {
    current = extradata
    begin()
    output?.removeAll()
  }

  /// Prepares for the first packet of a stream. Some decoders keep state when flushed, so a new one
  /// is opened.
  private func begin(isFreeFormat: Bool = false) {
    isDrained = false
    adapter = nil
    let units = unsafe isFreeFormat ? ffmpeg.avcodec_find_decoder_by_name("mp3adufloat") : nil
    reservoir = unsafe units == nil ? nil : BitReservoir()
    if let fresh = try? unsafe Self.opened(units ?? decoder, format, current) {
      codec = fresh
    } else {
      unsafe ffmpeg.avcodec_flush_buffers(codec.context)
    }
  }

  /// Receives all frames that are ready.
  ///
  /// - Returns: 0, or libavcodec's error code.
  private func receive() -> CInt {
    while true {
      let result = unsafe ffmpeg.avcodec_receive_frame(codec.context, codec.frame)
      if result == cue_av_error_again || result == cue_av_error_end_of_file { return 0 }
      guard result >= 0 else { return result }
      if !isLeadIn { unsafe add(codec.frame.pointee) }
      unsafe ffmpeg.av_frame_unref(codec.frame)
    }
  }

  /// True if the frame belongs to the first packet of a Vorbis stream, which yields no frames.
  /// Newer versions of libavcodec output such a frame, and mark all of it as skipped.
  private var isLeadIn: Bool {
    guard format.codec == .vorbis,
      let side = unsafe ffmpeg.av_frame_get_side_data(codec.frame, AV_FRAME_DATA_SKIP_SAMPLES),
      let data = unsafe side.pointee.data, unsafe side.pointee.size >= 4
    else { return false }
    let skipped = unsafe UnsafeRawPointer(data).loadUnaligned(as: UInt32.self)
    return unsafe UInt32(littleEndian: skipped) >= codec.frame.pointee.nb_samples
  }

  private func add(_ frame: AVFrame) {
    let frames = unsafe Int(frame.nb_samples)
    let channels = unsafe Int(frame.ch_layout.nb_channels)
    guard frames > 0, channels > 0, let data = unsafe frame.extended_data else { return }
    decodedFrames += Int64(frames)
    // Some decoders give the first frame of another rate the old one.
    let rate = unsafe Double(codec.context.pointee.sample_rate)
    if !hasDecoded {
      hasDecoded = true
      // Headers of these codecs tell all of it: what differs from the format is a damaged packet's.
      let isFixed = [.mp1, .mp2, .mp3, .ac3, .eac3].contains(format.codec)
      if rate > 0, !keepsRate, !isFixed || format.sampleRate == 0 { format.sampleRate = rate }
      if format.channels == 0 { format.channels = min(channels, PCMFormat.maximumChannels) }
      switch format.codec {
      case .aac, .aacHE, .aacHEv2, .mp1, .mp2, .mp3, .ac3, .eac3:
        if !keepsRate, !isFixed || format.framesPerPacket == 0 { format.framesPerPacket = frames }
      default: break
      }
    }
    let output = output ?? PlaneQueue(channels: format.channels)
    self.output = output
    let first = min(trim.start, frames)
    let left = frames - first - min(trim.end, frames - first)
    trim.start -= first
    // A rate that only lacks its fraction is the same.
    if rate > 0, abs(rate - format.sampleRate) >= 1 {
      let planes = Planes(channels: format.channels, capacity: frames)
      unsafe copy(data, frame, channels, to: planes.pointers())
      unsafe adapt(planes.pointers(at: first), frames: left, rate, to: output)
    } else {
      endAdapter()
      unsafe copy(data, frame, channels, to: output.room(for: frames))
      output.add(frames)
      output.skip(first, of: frames)
      output.cut(frames - first - left)
    }
  }

  /// Copies a frame's samples to the planes of `format`'s channels.
  private func copy(
    _ data: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, _ frame: AVFrame, _ channels: Int,
    to room: Planes.Pointers
  ) {
    let frames = unsafe Int(frame.nb_samples)
    let samples = unsafe FrameSamples(AVSampleFormat(frame.format), channels: channels)
    guard channels != format.channels else {
      unsafe samples?.copy(data, frames: frames, to: room)
      return
    }
    let scratch = Planes(channels: channels, capacity: frames)
    unsafe samples?.copy(data, frames: frames, to: scratch.pointers())
    for channel in 0..<format.channels {
      // Mono is copied to all channels. Otherwise missing channels are silent.
      if channels == 1 || channel < channels {
        let source = unsafe scratch.pointers()[channels == 1 ? 0 : channel]
        unsafe room[channel].update(from: source, count: frames)
      } else {
        unsafe room[channel].update(repeating: 0, count: frames)
      }
    }
  }

  /// Resamples frames of another rate to the format's rate.
  private func adapt(
    _ planes: Planes.Pointers, frames: Int, _ rate: Double, to output: PlaneQueue
  ) {
    if adapter?.rate != rate {
      endAdapter()
      adapter = Resampler(from: rate, to: format.sampleRate, channels: format.channels)
        .map { (rate, $0) }
    }
    unsafe resample(planes, frames: frames, to: output)
  }

  /// Outputs what the resampler still holds, at the end of a part with another rate.
  private func endAdapter() {
    if let output, adapter != nil { unsafe resample(nil, frames: 0, to: output) }
    adapter = nil
  }

  private func resample(_ planes: Planes.Pointers?, frames: Int, to output: PlaneQueue) {
    guard let resampler = adapter?.resampler else { return }
    let rest = unsafe planes.map { unsafe Planes.Advancing($0, channels: format.channels) }
    var left = frames
    while true {
      let room = 2048
      guard
        let (taken, given) = try? unsafe resampler.process(
          rest?.pointers, frames: left, into: output.room(for: room), room: room)
      else { return }
      output.add(given)
      rest?.advance(taken)
      left -= taken
      if given == 0, taken == 0 || left == 0 { return }
    }
  }
}
