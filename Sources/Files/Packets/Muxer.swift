import CFFmpeg
import Codecs
import Glibc
import Timeline

/// A muxer, based on libavformat, that writes packets to a file.
///
/// One thread at a time; every call may block on the store.
@safe
final class Muxer {
  private let stream: StoreStream
  private var context: UnsafeMutablePointer<AVFormatContext>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  private let sampleRate: Int32

  /// The parameters that libavformat needs before the first packet.
  struct Settings {
    var format: PacketFormat
    /// Setup data in libavcodec's form.
    var extradata: [UInt8]
    var channelRoles: [ChannelRole]?
    var primingFrames = 0
    /// Bits per second; 0 if unknown.
    var bitRate = 0
    /// By libavformat's keys.
    var metadata: [String: String] = [:]
    /// Options of the muxer, by libavformat's names.
    var options: [String: String] = [:]
  }

  /// Starts a file. `name` is that of a libavformat muxer.
  ///
  /// - Parameter firstKeptByte: Bytes written before this offset are dropped.
  init(
    _ store: any ByteStore, name: String, _ settings: Settings, firstKeptByte: Int64 = 0
  ) throws(SoundFileError) {
    LibavLog.quieten()
    sampleRate = Int32(clamping: Int(held: settings.format.sampleRate.rounded()))
    stream = try StoreStream(store, isWriting: true)
    stream.firstKeptByte = firstKeptByte
    unsafe packet = ffmpeg.av_packet_alloc()
    _ = unsafe ffmpeg.avformat_alloc_output_context2(&context, nil, name, nil)
    guard let context = unsafe context, unsafe packet != nil,
      let sound = unsafe ffmpeg.avformat_new_stream(context, nil)
    else { throw SoundFileError(.cannotWrite("libavformat has no \(name)"), path: store.name) }
    unsafe context.pointee.pb = stream.context
    unsafe context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    unsafe context.pointee.avoid_negative_ts = 0
    unsafe context.pointee.strict_std_compliance = -2
    unsafe describe(sound, settings)
    for (key, value) in settings.metadata {
      _ = unsafe ffmpeg.av_dict_set(&context.pointee.metadata, key, value, 0)
    }
    var options: OpaquePointer?
    defer { unsafe ffmpeg.av_dict_free(&options) }
    for (key, value) in settings.options { _ = unsafe ffmpeg.av_dict_set(&options, key, value, 0) }
    try check(unsafe ffmpeg.avformat_write_header(context, &options))
  }

  deinit {
    unsafe ffmpeg.av_packet_free(&packet)
    unsafe ffmpeg.avformat_free_context(context)
  }

  private func describe(_ sound: UnsafeMutablePointer<AVStream>, _ settings: Settings) {
    let format = settings.format
    unsafe sound.pointee.time_base = AVRational(num: 1, den: sampleRate)
    guard let parameters = unsafe sound.pointee.codecpar else { return }
    unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
    unsafe parameters.pointee.codec_id = format.codec.identifier(
      bytesPerPacket: format.bytesPerPacket)
    unsafe parameters.pointee.sample_rate = sampleRate
    unsafe ChannelRole.set(
      &parameters.pointee.ch_layout, to: settings.channelRoles, channels: format.channels)
    unsafe parameters.pointee.frame_size = Int32(clamping: format.framesPerPacket)
    unsafe parameters.pointee.block_align = Int32(clamping: format.bytesPerPacket)
    unsafe parameters.pointee.bit_rate = Int64(settings.bitRate)
    unsafe parameters.pointee.initial_padding = Int32(clamping: settings.primingFrames)
    unsafe parameters.pointee.bits_per_raw_sample = Int32(clamping: format.bitsPerSample)
    unsafe parameters.pointee.bits_per_coded_sample = ffmpeg.av_get_bits_per_sample(
      parameters.pointee.codec_id)
    let extradata = settings.extradata
    guard !extradata.isEmpty,
      let memory = ffmpeg.av_mallocz(extradata.count + Int(AV_INPUT_BUFFER_PADDING_SIZE))
    else { return }
    unsafe UnsafeMutableRawBufferPointer(start: memory, count: extradata.count)
      .copyBytes(from: extradata)
    unsafe parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
    unsafe parameters.pointee.extradata_size = Int32(clamping: extradata.count)
  }

  /// Writes a packet.
  ///
  /// - Parameter firstFrame: Frames from the start of the sound; negative for priming.
  func write(
    _ bytes: UnsafeRawBufferPointer, firstFrame: Int64, frames: Int64
  ) throws(SoundFileError) {
    guard let packet = unsafe packet, let context = unsafe context else { return }
    unsafe ffmpeg.av_packet_unref(packet)
    try check(unsafe ffmpeg.av_new_packet(packet, Int32(clamping: bytes.count)))
    unsafe UnsafeMutableRawBufferPointer(start: packet.pointee.data, count: bytes.count)
      .copyMemory(from: bytes)
    unsafe packet.pointee.pts = firstFrame
    unsafe packet.pointee.dts = firstFrame
    unsafe packet.pointee.duration = frames
    unsafe packet.pointee.flags = AV_PKT_FLAG_KEY
    if let sound = unsafe context.pointee.streams[0] {
      unsafe ffmpeg.av_packet_rescale_ts(
        packet, AVRational(num: 1, den: sampleRate), sound.pointee.time_base)
    }
    try check(unsafe ffmpeg.av_write_frame(context, packet))
  }

  /// Writes all buffered data to the store.
  func flush() throws(SoundFileError) {
    try check(unsafe ffmpeg.av_write_frame(context, nil))
    unsafe ffmpeg.avio_flush(stream.context)
    if let failure = stream.failure { throw failure }
  }

  /// Completes the file.
  func finish() throws(SoundFileError) {
    try check(unsafe ffmpeg.av_write_trailer(context))
    unsafe ffmpeg.avio_flush(stream.context)
    if let failure = stream.failure { throw failure }
  }

  /// Offset of the next byte written.
  var position: Int64 { unsafe ffmpeg.avio_seek(stream.context, 0, SEEK_CUR) }

  func seek(to position: Int64) { _ = unsafe ffmpeg.avio_seek(stream.context, position, SEEK_SET) }

  private func check(_ code: Int32) throws(SoundFileError) {
    if let failure = stream.failure { throw failure }
    guard code < 0 else { return }
    throw SoundFileError(.cannotWrite(LibavLog.words(code)), path: stream.store.name)
  }
}
