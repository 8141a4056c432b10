import CFFmpeg

/// A libavcodec codec context with a packet and a frame for its data. One thread at a time.
@safe
final class CodecContext {
  let codec: UnsafePointer<AVCodec>
  let context: UnsafeMutablePointer<AVCodecContext>
  let packet: UnsafeMutablePointer<AVPacket>
  let frame: UnsafeMutablePointer<AVFrame>

  /// Creates a context that is not open yet.
  init(_ codec: UnsafePointer<AVCodec>) throws(CodecError) {
    unsafe self.codec = codec
    let made = unsafe (
      ffmpeg.avcodec_alloc_context3(codec), ffmpeg.av_packet_alloc(), ffmpeg.av_frame_alloc()
    )
    guard let context = unsafe made.0, let packet = unsafe made.1, let frame = unsafe made.2 else {
      var (context, packet, frame) = unsafe made
      unsafe ffmpeg.avcodec_free_context(&context)
      unsafe ffmpeg.av_packet_free(&packet)
      unsafe ffmpeg.av_frame_free(&frame)
      throw CodecError(.failed("no memory for a codec"))
    }
    unsafe self.context = context
    unsafe self.packet = packet
    unsafe self.frame = frame
    unsafe context.pointee.thread_count = 1
    // Errors are thrown, so logging is silenced. Only this context is affected, because the app may
    // use libavcodec too. (Only the log level's low eight bits count.)
    unsafe context.pointee.log_level_offset = 128
  }

  deinit {
    var (context, packet, frame) = unsafe (
      Optional(context), Optional(packet), Optional(frame)
    )
    unsafe ffmpeg.avcodec_free_context(&context)
    unsafe ffmpeg.av_packet_free(&packet)
    unsafe ffmpeg.av_frame_free(&frame)
  }

  /// Opens the codec.
  ///
  /// - Parameter options: The codec's private options.
  /// - Returns: 0, or libavcodec's error code.
  func open(_ options: [(String, String)] = []) -> CInt {
    var dictionary: OpaquePointer?
    for (key, value) in options { _ = unsafe ffmpeg.av_dict_set(&dictionary, key, value, 0) }
    let result = unsafe ffmpeg.avcodec_open2(context, codec, &dictionary)
    unsafe ffmpeg.av_dict_free(&dictionary)
    return result
  }

  var extradata: [UInt8] {
    get {
      guard let bytes = unsafe context.pointee.extradata else { return [] }
      return unsafe [UInt8](
        UnsafeBufferPointer(start: bytes, count: max(0, Int(context.pointee.extradata_size))))
    }
    set {
      unsafe ffmpeg.av_freep(&context.pointee.extradata)
      unsafe context.pointee.extradata_size = 0
      guard !newValue.isEmpty,
        let memory = ffmpeg.av_mallocz(newValue.count + Int(AV_INPUT_BUFFER_PADDING_SIZE))
      else { return }
      unsafe newValue.withUnsafeBytes {
        unsafe memory.copyMemory(from: $0.baseAddress!, byteCount: $0.count)
      }
      unsafe context.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
      unsafe context.pointee.extradata_size = CInt(newValue.count)
    }
  }

  /// Returns libavcodec's message for an error code.
  static func words(_ code: CInt) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
      _ = unsafe ffmpeg.av_strerror(code, text.baseAddress!, text.count)
      return unsafe String(cString: text.baseAddress!)
    }
  }
}
