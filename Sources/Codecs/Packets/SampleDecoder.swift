package import CFFmpeg
package import RealTime

/// A decoder of packets to linear PCM, based on libavcodec, for codecs whose samples may need all bits of
/// 32-bit integers. Not real time; one thread at a time.
@safe
package final class SampleDecoder {
  /// Format of the samples: interleaved, in the CPU's byte order.
  package let format: PCMFormat
  /// The decoded frames.
  package private(set) var samples: [UInt8] = []

  private let codec: CodecContext
  private let isPlanar: Bool

  /// Creates a decoder of a stream; nil if libavcodec has none, or it does not output linear PCM.
  package init?(_ stream: UnsafePointer<AVCodecParameters>) {
    let parameters = unsafe stream.pointee
    let layout = unsafe AVSampleFormat(parameters.format)
    guard let decoder = unsafe ffmpeg.avcodec_find_decoder(parameters.codec_id),
      let codec = try? unsafe CodecContext(decoder),
      let kind = FrameSamples.kind(of: layout)
    else { return nil }
    self.codec = codec
    isPlanar = ffmpeg.av_sample_fmt_is_planar(layout) == 1
    let bytes = Int(ffmpeg.av_get_bytes_per_sample(layout))
    let told = unsafe Int(
      parameters.bits_per_raw_sample > 0
        ? parameters.bits_per_raw_sample : parameters.bits_per_coded_sample)
    let bits = kind != .float && (8..<8 * bytes).contains(told) ? told : 8 * bytes
    format = unsafe PCMFormat(
      sampleRate: Double(parameters.sample_rate), channels: Int(parameters.ch_layout.nb_channels),
      kind: kind, bitsPerSample: bits, bytesPerSample: bytes, isBigEndian: 1.littleEndian != 1,
      isHighAligned: bits < 8 * bytes)
    guard format.layout != nil,
      unsafe ffmpeg.avcodec_parameters_to_context(codec.context, stream) >= 0
    else { return nil }
    // Decoders pass over wrong checksums otherwise.
    unsafe codec.context.pointee.err_recognition |= AV_EF_CRCCHECK | AV_EF_EXPLODE
    // Damaged packets may ask for more.
    unsafe codec.context.pointee.max_samples = 1 << 20
    guard codec.open() >= 0 else { return nil }
  }

  /// Forgets the decoded frames.
  package func clear() { samples.removeAll(keepingCapacity: true) }

  /// Replaces `samples` by the frames of a packet. What precedes a fault in the packet remains.
  ///
  /// - Returns: False if the packet is damaged.
  package func decode(_ packet: UnsafeRawBufferPointer) -> Bool {
    clear()
    guard let bytes = packet.baseAddress,
      unsafe ffmpeg.av_new_packet(codec.packet, CInt(clamping: packet.count)) == 0
    else { return false }
    defer { unsafe ffmpeg.av_packet_unref(codec.packet) }
    unsafe UnsafeMutableRawPointer(codec.packet.pointee.data)
      .copyMemory(from: bytes, byteCount: packet.count)
    var isWhole = unsafe ffmpeg.avcodec_send_packet(codec.context, codec.packet) >= 0
    while true {
      let result = unsafe ffmpeg.avcodec_receive_frame(codec.context, codec.frame)
      if result == cue_av_error_again { return isWhole }
      if result < 0 {
        unsafe ffmpeg.avcodec_flush_buffers(codec.context)
        return false
      }
      if unsafe !add(codec.frame.pointee) { isWhole = false }
      unsafe ffmpeg.av_frame_unref(codec.frame)
    }
  }

  /// Appends a frame of libavcodec's to `samples`; returns false if it is in another format.
  private func add(_ frame: AVFrame) -> Bool {
    let layout = unsafe AVSampleFormat(frame.format)
    let count = unsafe Int(frame.nb_samples)
    guard FrameSamples.kind(of: layout) == format.kind,
      Int(ffmpeg.av_get_bytes_per_sample(layout)) == format.bytesPerSample,
      (ffmpeg.av_sample_fmt_is_planar(layout) == 1) == isPlanar,
      unsafe Int(frame.ch_layout.nb_channels) == format.channels,
      let data = unsafe frame.extended_data
    else { return false }
    let start = samples.count
    samples.append(contentsOf: repeatElement(0, count: count * format.bytesPerFrame))
    unsafe samples.withUnsafeMutableBytes { samples in
      guard let target = unsafe samples.baseAddress?.advanced(by: start) else { return }
      guard isPlanar else {
        if let source = unsafe data[0] {
          unsafe target.copyMemory(from: source, byteCount: count * format.bytesPerFrame)
        }
        return
      }
      for channel in 0..<format.channels {
        guard let plane = unsafe data[channel] else { continue }
        switch format.bytesPerSample {
        case 1: unsafe interleave(plane, UInt8.self, count, target, channel)
        case 2: unsafe interleave(plane, UInt16.self, count, target, channel)
        case 4: unsafe interleave(plane, UInt32.self, count, target, channel)
        default: unsafe interleave(plane, UInt64.self, count, target, channel)
        }
      }
    }
    return true
  }

  private func interleave<Sample: BitwiseCopyable>(
    _ plane: UnsafePointer<UInt8>, _: Sample.Type, _ count: Int, _ target: UnsafeMutableRawPointer,
    _ channel: Int
  ) {
    let source = unsafe UnsafeRawPointer(plane)
    let size = MemoryLayout<Sample>.size
    for i in 0..<count {
      let sample = unsafe source.loadUnaligned(fromByteOffset: i * size, as: Sample.self)
      unsafe target.storeBytes(
        of: sample, toByteOffset: (i * format.channels + channel) * size, as: Sample.self)
    }
  }
}
