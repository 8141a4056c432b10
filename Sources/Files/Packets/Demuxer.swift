import CFFmpeg
import Codecs

/// A demuxer, based on libavformat, that reads the packets of a file's first audio stream in order.
///
/// One thread at a time; every call may block on the store.
@safe
final class Demuxer {
  private let stream: StoreStream
  private var context: UnsafeMutablePointer<AVFormatContext>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  private var sound: UnsafeMutablePointer<AVStream>?

  /// True once the last packet was found to be truncated.
  private(set) var isCut = false

  /// A packet. Its bytes are valid until the next packet is read.
  @unsafe struct Packet {
    /// Offset in the file; -1 if libavformat does not know it.
    var offset: Int64
    var bytes: UnsafeRawBufferPointer
    /// Time in frames from the start of the stream; nil if the packet has none.
    var firstFrame: Int64?
    /// Frames; 0 if unknown.
    var frames: Int64
    /// Frames to skip at the start of the sound. They may extend into later packets.
    var skippedFrames: Int
    /// Frames to discard at the end of this packet's sound.
    var discardedFrames: Int
  }

  /// Opens a file. `name` is that of a libavformat demuxer, and `options` are its options.
  init(
    _ store: any ByteStore, name: String, options: [String: String] = [:]
  ) throws(SoundFileError) {
    LibavLog.quieten()
    stream = try StoreStream(store, isWriting: false)
    guard let format = unsafe ffmpeg.av_find_input_format(name) else {
      throw SoundFileError(.unsupportedContainer(name), path: store.name)
    }
    unsafe context = ffmpeg.avformat_alloc_context()
    unsafe packet = ffmpeg.av_packet_alloc()
    guard let opening = unsafe context, unsafe packet != nil else {
      throw SoundFileError(.system(ENOMEM), path: store.name)
    }
    unsafe opening.pointee.pb = stream.context
    unsafe opening.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    // An empty whitelist keeps libavformat from opening anything but this store.
    unsafe opening.pointee.protocol_whitelist = ffmpeg.av_strdup("")
    // avformat_open_input frees the context if it fails.
    var settings: OpaquePointer?
    defer { unsafe ffmpeg.av_dict_free(&settings) }
    for (key, value) in options { _ = unsafe ffmpeg.av_dict_set(&settings, key, value, 0) }
    let code = unsafe ffmpeg.avformat_open_input(&context, nil, format, &settings)
    guard code >= 0, let context = unsafe context else { throw failure(code) }
    let known = unsafe ffmpeg.avformat_find_stream_info(context, nil)
    guard known >= 0 else { throw failure(known) }
    for i in 0..<Int(unsafe context.pointee.nb_streams) {
      guard let candidate = unsafe context.pointee.streams[i] else { continue }
      if unsafe sound == nil,
        unsafe candidate.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO
      {
        unsafe sound = candidate
      } else {
        unsafe candidate.pointee.discard = AVDISCARD_ALL
      }
    }
    guard unsafe sound != nil else {
      throw SoundFileError(.damaged("it has no sound"), path: store.name)
    }
  }

  deinit {
    unsafe ffmpeg.av_packet_free(&packet)
    unsafe ffmpeg.avformat_close_input(&context)
  }

  /// Reads the next packet; returns nil at the end, or where the file is too damaged to continue.
  func next() throws(SoundFileError) -> Packet? {
    guard let context = unsafe context, let packet = unsafe packet, let sound = unsafe sound else {
      return nil
    }
    while true {
      unsafe ffmpeg.av_packet_unref(packet)
      guard unsafe ffmpeg.av_read_frame(context, packet) >= 0 else {
        if let failure = stream.failure { throw failure }
        return nil
      }
      if unsafe packet.pointee.stream_index == sound.pointee.index { break }
    }
    // A corrupt packet that reaches the end of the file was truncated, so it does not count.
    if unsafe packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0,
      unsafe packet.pointee.pos + Int64(packet.pointee.size) >= (try stream.store.byteCount())
    {
      isCut = true
      return nil
    }
    let time = unsafe packet.pointee.pts
    var skipped = 0
    var discarded = 0
    var sideBytes = 0
    if let side = unsafe ffmpeg.av_packet_get_side_data(
      packet, AV_PKT_DATA_SKIP_SAMPLES, &sideBytes),
      sideBytes >= 8
    {
      let numbers = UnsafeRawPointer(side)
      skipped = Int(UInt32(littleEndian: unsafe numbers.loadUnaligned(as: UInt32.self)))
      discarded = Int(
        UInt32(littleEndian: unsafe numbers.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
    }
    return unsafe Packet(
      offset: packet.pointee.pos,
      bytes: UnsafeRawBufferPointer(
        start: packet.pointee.data, count: Int(max(0, packet.pointee.size))),
      firstFrame: time == cue_av_no_time ? nil : frames(time),
      frames: frames(packet.pointee.duration), skippedFrames: skipped, discardedFrames: discarded)
  }

  /// Continues with the packet at or before a frame; false if libavformat cannot seek.
  func seek(toFrame frame: Int64) -> Bool {
    guard let context = unsafe context, let sound = unsafe sound else { return false }
    let rate = unsafe AVRational(num: 1, den: parameters.sample_rate)
    let time = unsafe ffmpeg.av_rescale_q(frame, rate, sound.pointee.time_base)
    return unsafe ffmpeg.av_seek_frame(
      context, sound.pointee.index, time, AVSEEK_FLAG_BACKWARD) >= 0
  }

  /// Continues with the packet that begins at an offset in the file.
  func seek(toByte offset: Int64) -> Bool {
    // libavformat drops what it holds, but takes offsets within the head for the head's end.
    guard unsafe ffmpeg.av_seek_frame(context, -1, offset, AVSEEK_FLAG_BYTE) >= 0 else {
      return false
    }
    return unsafe ffmpeg.avio_seek(stream.context, offset, SEEK_SET) == offset
  }

  /// Returns a decoder of the packets to linear PCM; nil if libavcodec has none.
  func decoder() -> SampleDecoder? {
    unsafe sound.flatMap { unsafe SampleDecoder($0.pointee.codecpar) }
  }

  // MARK: Stream properties from libavformat

  private var parameters: AVCodecParameters {
    guard let sound = unsafe sound else { return unsafe AVCodecParameters() }
    return unsafe sound.pointee.codecpar.pointee
  }

  /// The codec; nil if Cuejack does not support it.
  var codec: Codec? {
    let parameters = unsafe parameters
    guard let codec = Codec(identifier: unsafe parameters.codec_id) else { return nil }
    guard codec == .aac else { return codec }
    return switch unsafe parameters.profile {
    case cue_av_profile_aac_he: .aacHE
    case cue_av_profile_aac_he_v2: .aacHEv2
    default: .aac
    }
  }

  /// libavcodec's name of the codec.
  var codecName: String { unsafe String(cString: ffmpeg.avcodec_get_name(parameters.codec_id)!) }
  var sampleRate: Double { unsafe Double(parameters.sample_rate) }
  var channels: Int { unsafe Int(parameters.ch_layout.nb_channels) }
  /// Frames of each packet; 0 if the number varies or is unknown.
  var frameSize: Int { unsafe Int(parameters.frame_size) }
  /// Bytes of a packet, for codecs with packets of constant size.
  var blockBytes: Int { unsafe Int(parameters.block_align) }
  /// Bits per second; 0 if unknown.
  var bitRate: Int {
    let own = unsafe Int(parameters.bit_rate)
    return own > 0 ? own : unsafe Int(context?.pointee.bit_rate ?? 0)
  }
  var bitsPerSample: Int {
    let parameters = unsafe parameters
    let raw = unsafe Int(parameters.bits_per_raw_sample)
    return raw > 0 ? raw : unsafe Int(parameters.bits_per_coded_sample)
  }
  var extradata: [UInt8] {
    let parameters = unsafe parameters
    guard let bytes = unsafe parameters.extradata, unsafe parameters.extradata_size > 0 else {
      return []
    }
    return unsafe Array(
      UnsafeBufferPointer(start: bytes, count: Int(parameters.extradata_size)))
  }
  /// Number of frames according to the file; nil if it gives none.
  var promisedFrames: Int64? {
    guard let sound = unsafe sound, unsafe sound.pointee.duration != cue_av_no_time else {
      return nil
    }
    return frames(unsafe sound.pointee.duration)
  }
  /// Roles of the channels; nil if the file does not give them.
  var channelRoles: [ChannelRole]? {
    guard let sound = unsafe sound else { return nil }
    return unsafe ChannelRole.roles(of: &sound.pointee.codecpar.pointee.ch_layout)
  }

  /// The first picture in the file, unchanged; nil if there is none.
  var picture: [UInt8]? {
    guard let context = unsafe context else { return nil }
    for i in 0..<Int(unsafe context.pointee.nb_streams) {
      guard let stream = unsafe context.pointee.streams[i],
        unsafe stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0,
        let data = unsafe stream.pointee.attached_pic.data
      else { continue }
      let count = unsafe Int(stream.pointee.attached_pic.size)
      return unsafe Array(UnsafeBufferPointer(start: data, count: count))
    }
    return nil
  }

  /// Metadata of the file and of the stream, by libavformat's keys in lower case. The file's values
  /// take precedence.
  var metadata: [String: String] {
    var found: [String: String] = [:]
    func add(_ dictionary: OpaquePointer?) {
      var entry: UnsafeMutablePointer<AVDictionaryEntry>?
      while let next = unsafe ffmpeg.av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX) {
        unsafe entry = next
        let key = unsafe String(cString: next.pointee.key).lowercased()
        // libavformat passes on the bytes of ID3v1 tags and of chunks as they are.
        let value = unsafe UnsafeRawBufferPointer(
          start: next.pointee.value, count: strlen(next.pointee.value))
        found[key] = unsafe FileText.decoded(value)
      }
    }
    unsafe add(sound?.pointee.metadata)
    unsafe add(context?.pointee.metadata)
    return found
  }

  /// Returns the positions, sizes and frames of the packets, if libavformat read a packet table.
  func table() -> [(offset: Int64, bytes: Int, frames: Int64)] {
    guard let sound = unsafe sound else { return [] }
    let count = unsafe ffmpeg.avformat_index_get_entries_count(sound)
    var table: [(offset: Int64, bytes: Int, frames: Int64)] = []
    var next = promisedFrames ?? 0
    for i in (0..<count).reversed() {
      guard let entry = unsafe ffmpeg.avformat_index_get_entry(sound, i) else { continue }
      let start = unsafe frames(entry.pointee.timestamp)
      let (length, isWild) = next.subtractingReportingOverflow(start)
      unsafe table.append((entry.pointee.pos, Int(entry.pointee.size), isWild ? 0 : max(0, length)))
      next = start
    }
    return table.reversed()
  }

  /// Converts a time from the stream's time base to frames.
  private func frames(_ time: Int64) -> Int64 {
    guard let sound = unsafe sound, sampleRate > 0 else { return 0 }
    let rate = unsafe AVRational(num: 1, den: parameters.sample_rate)
    return unsafe ffmpeg.av_rescale_q(time, sound.pointee.time_base, rate)
  }

  private func failure(_ code: Int32) -> SoundFileError {
    stream.failure ?? LibavLog.error(code, reading: stream.store.name)
  }
}
