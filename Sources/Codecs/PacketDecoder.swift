import CFFmpeg
import RealTime

/// Decodes packets to floats, through libavcodec. Not real time; one thread at a time.
///
/// The frames come out raw: what a codec puts in front of the sound and behind it is there too, and
/// each packet gives the frames that it stands for. Who knows the packet table trims. Channels have
/// the order of WAVE files. Of lossless codecs a float is the sample over 2 to the power of
/// `bitsPerSample - 1`, exactly for up to 24 bits.
@safe
package final class PacketDecoder {
  /// The packets' format, as far as it is known: it may be known better when a packet is decoded. The
  /// channels do not change any more once they are known.
  package private(set) var format: PacketFormat

  private let decoder: UnsafePointer<AVCodec>
  private let extradata: [UInt8]
  private var codec: CodecContext
  /// Nil until the channels are known.
  private var output: PlaneQueue?
  private var hasDecoded = false
  private var isDrained = false

  /// A decoder.
  ///
  /// - Parameters:
  ///   - format: What is not known is 0.
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
    codec.extradata = extradata
    unsafe context.pointee.flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL
    unsafe context.pointee.request_sample_fmt = AV_SAMPLE_FMT_FLT
    unsafe context.pointee.sample_rate = CInt(format.sampleRate.rounded())
    // What no decoder of these gives; rubbish may ask for it.
    unsafe context.pointee.max_samples = 1 << 20
    if format.channels > 0 {
      unsafe av_channel_layout_default(&context.pointee.ch_layout, CInt(format.channels))
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

  /// More than any packet has.
  private static var mostBytes: Int { 1 << 26 }

  /// Decodes a packet, or several that follow each other if all have the same number of bytes.
  ///
  /// - Parameter packet: Nil at the end of the stream: what the decoder holds back comes out, and the
  ///   next packet begins a new stream.
  package func decode(_ packet: UnsafeRawBufferPointer?) throws(CodecError) {
    guard let packet = unsafe packet else { return try drain() }
    guard let bytes = packet.baseAddress, packet.count > 0 else {
      throw CodecError(.badPacket("it is empty"))
    }
    guard packet.count <= Self.mostBytes else {
      throw CodecError(.badPacket("it has \(packet.count) bytes"))
    }
    if isDrained { begin() }
    guard unsafe av_new_packet(codec.packet, CInt(packet.count)) == 0 else {
      throw CodecError(.failed("no memory for a packet of \(packet.count) bytes"))
    }
    defer { unsafe av_packet_unref(codec.packet) }
    unsafe UnsafeMutableRawPointer(codec.packet.pointee.data)
      .copyMemory(from: bytes, byteCount: packet.count)
    let sent = unsafe avcodec_send_packet(codec.context, codec.packet)
    let received = receive()
    if sent < 0 || received < 0 {
      throw CodecError(.badPacket(CodecContext.words(sent < 0 ? sent : received)))
    }
  }

  private func drain() throws(CodecError) {
    guard !isDrained else { return }
    isDrained = true
    unsafe avcodec_send_packet(codec.context, nil)
    let result = receive()
    if result < 0 { throw CodecError(.badPacket(CodecContext.words(result))) }
  }

  /// Frames that wait to be taken.
  package var available: Int { output?.count ?? 0 }

  /// Gives frames out.
  ///
  /// - Parameter planes: Room for `room` frames of each of the format's channels.
  /// - Returns: How many.
  package func take(into planes: Planes.Pointers, room: Int) -> Int {
    unsafe output?.take(into: planes, room: room) ?? 0
  }

  /// Forgets the stream, and the frames that wait: the next packet is not the next one of the stream.
  package func reset() {
    begin()
    output?.removeAll()
  }

  /// Has the next packet be a first one. Some decoders remember what was before they are flushed.
  private func begin() {
    isDrained = false
    if let fresh = try? unsafe Self.opened(decoder, format, extradata) {
      codec = fresh
    } else {
      unsafe avcodec_flush_buffers(codec.context)
    }
  }

  /// Takes all frames that are ready.
  ///
  /// - Returns: 0, or libavcodec's code of what is wrong.
  private func receive() -> CInt {
    while true {
      let result = unsafe avcodec_receive_frame(codec.context, codec.frame)
      if result == cue_av_error_again || result == cue_av_error_end_of_file { return 0 }
      guard result >= 0 else { return result }
      if !isLeadIn { unsafe add(codec.frame.pointee) }
      unsafe av_frame_unref(codec.frame)
    }
  }

  /// Whether the frame is that of a Vorbis stream's first packet, which stands for no frames. Newer versions
  /// of libavcodec give it out, and mark all of it as to be skipped.
  private var isLeadIn: Bool {
    guard format.codec == .vorbis,
      let side = unsafe av_frame_get_side_data(codec.frame, AV_FRAME_DATA_SKIP_SAMPLES),
      let data = unsafe side.pointee.data, unsafe side.pointee.size >= 4
    else { return false }
    let skipped = unsafe UnsafeRawPointer(data).loadUnaligned(as: UInt32.self)
    return unsafe UInt32(littleEndian: skipped) >= codec.frame.pointee.nb_samples
  }

  private func add(_ frame: AVFrame) {
    let frames = unsafe Int(frame.nb_samples)
    let channels = unsafe Int(frame.ch_layout.nb_channels)
    guard frames > 0, channels > 0, let data = unsafe frame.extended_data else { return }
    if !hasDecoded {
      hasDecoded = true
      if unsafe frame.sample_rate > 0 { unsafe format.sampleRate = Double(frame.sample_rate) }
      if format.channels == 0 { format.channels = min(channels, PCMFormat.maximumChannels) }
      switch format.codec {
      case .aac, .aacHE, .aacHEv2, .mp1, .mp2, .mp3, .ac3, .eac3: format.framesPerPacket = frames
      default: break
      }
    }
    let output = output ?? PlaneQueue(channels: format.channels)
    self.output = output
    let room = unsafe output.room(for: frames)
    let samples = unsafe FrameSamples(AVSampleFormat(frame.format), channels: channels)
    if channels == format.channels {
      unsafe samples?.copy(data, frames: frames, to: room)
    } else {
      let scratch = Planes(channels: channels, capacity: frames)
      unsafe samples?.copy(data, frames: frames, to: scratch.pointers())
      for channel in 0..<format.channels {
        // One channel goes to all; of others there are as many as there are.
        if channels == 1 || channel < channels {
          let source = unsafe scratch.pointers()[channels == 1 ? 0 : channel]
          unsafe room[channel].update(from: source, count: frames)
        } else {
          unsafe room[channel].update(repeating: 0, count: frames)
        }
      }
    }
    output.add(frames)
  }
}
