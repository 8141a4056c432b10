import CFFmpeg
import Codecs
import Glibc

/// The packets of a file's first stream of sound, one after another, as libavformat takes them out.
///
/// One thread at a time; every call may block on the store.
@safe
final class Demuxer {
  private let stream: StoreStream
  private var context: UnsafeMutablePointer<AVFormatContext>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  private var sound: UnsafeMutablePointer<AVStream>?

  /// A packet. What it points to holds until the next one is read.
  @unsafe struct Packet {
    /// Where it begins, as far as libavformat knows; -1 if it does not.
    var offset: Int64
    var bytes: UnsafeRawBufferPointer
    /// Frames from the start of the stream; nil if it has no time.
    var firstFrame: Int64?
    /// 0 if it is not known.
    var frames: Int64
    /// Frames of its sound, or of what follows it, that are to be left out at the start.
    var skippedFrames: Int
    /// Frames of its sound that are to be left out at the end.
    var discardedFrames: Int
  }

  /// Opens a file. `name` and `options` are libavformat's for its kind.
  init(
    _ store: any ByteStore, name: String, options: [String: String] = [:]
  ) throws(SoundFileError) {
    LibavLog.quieten()
    stream = try StoreStream(store, isWriting: false)
    guard let format = unsafe av_find_input_format(name) else {
      throw SoundFileError(.unsupportedContainer(name), path: store.name)
    }
    unsafe context = avformat_alloc_context()
    unsafe packet = av_packet_alloc()
    guard let opening = unsafe context, unsafe packet != nil else {
      throw SoundFileError(.system(ENOMEM), path: store.name)
    }
    unsafe opening.pointee.pb = stream.context
    unsafe opening.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    // Nothing but this store is ever opened.
    unsafe opening.pointee.protocol_whitelist = av_strdup("")
    // Frees the context if it fails.
    var settings: OpaquePointer?
    defer { unsafe av_dict_free(&settings) }
    for (key, value) in options { unsafe av_dict_set(&settings, key, value, 0) }
    let code = unsafe avformat_open_input(&context, nil, format, &settings)
    guard code >= 0, let context = unsafe context else { throw failure(code) }
    let known = unsafe avformat_find_stream_info(context, nil)
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
    unsafe av_packet_free(&packet)
    unsafe avformat_close_input(&context)
  }

  /// The next packet; nil at the end, or where the file is too damaged to go on.
  func next() throws(SoundFileError) -> Packet? {
    guard let context = unsafe context, let packet = unsafe packet, let sound = unsafe sound else {
      return nil
    }
    while true {
      unsafe av_packet_unref(packet)
      guard unsafe av_read_frame(context, packet) >= 0 else {
        if let failure = stream.failure { throw failure }
        return nil
      }
      if unsafe packet.pointee.stream_index == sound.pointee.index { break }
    }
    // What is missing at the end of a file that was cut is not there.
    if unsafe packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0,
      unsafe packet.pointee.pos + Int64(packet.pointee.size) >= (try stream.store.byteCount())
    {
      return nil
    }
    let time = unsafe packet.pointee.pts
    var skipped = 0
    var discarded = 0
    var sideBytes = 0
    if let side = unsafe av_packet_get_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, &sideBytes),
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

  // MARK: What libavformat says of the stream

  private var parameters: AVCodecParameters {
    guard let sound = unsafe sound else { return unsafe AVCodecParameters() }
    return unsafe sound.pointee.codecpar.pointee
  }

  /// The codec; nil if it is none of ours.
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
  var codecName: String { unsafe String(cString: avcodec_get_name(parameters.codec_id)) }
  var sampleRate: Double { unsafe Double(parameters.sample_rate) }
  var channels: Int { unsafe Int(parameters.ch_layout.nb_channels) }
  /// Frames of every packet; 0 if that varies or is not known.
  var frameSize: Int { unsafe Int(parameters.frame_size) }
  /// Bytes of a packet of a codec whose packets are all alike.
  var blockBytes: Int { unsafe Int(parameters.block_align) }
  /// Bits per second; 0 if it is not known.
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
  /// Frames that the file's head promises; nil if it does not.
  var promisedFrames: Int64? {
    guard let sound = unsafe sound, unsafe sound.pointee.duration != cue_av_no_time else {
      return nil
    }
    return frames(unsafe sound.pointee.duration)
  }
  /// What each channel is for; nil if the file does not say.
  var channelRoles: [ChannelRole]? {
    guard let sound = unsafe sound else { return nil }
    return unsafe ChannelRole.roles(of: &sound.pointee.codecpar.pointee.ch_layout)
  }

  /// The first picture that is in the file, byte for byte; nil if there is none.
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

  /// libavformat's names of what the file says of itself, of the file's own and of the stream's.
  var metadata: [String: String] {
    var found: [String: String] = [:]
    func add(_ dictionary: OpaquePointer?) {
      var entry: UnsafeMutablePointer<AVDictionaryEntry>?
      while let next = unsafe av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX) {
        unsafe entry = next
        let key = unsafe String(cString: next.pointee.key).lowercased()
        found[key] = unsafe String(cString: next.pointee.value)
      }
    }
    unsafe add(sound?.pointee.metadata)
    unsafe add(context?.pointee.metadata)
    return found
  }

  /// Where the packets lie, if libavformat took that from the file's own table.
  func table() -> [(offset: Int64, bytes: Int, frames: Int64)] {
    guard let sound = unsafe sound else { return [] }
    let count = unsafe avformat_index_get_entries_count(sound)
    var table: [(offset: Int64, bytes: Int, frames: Int64)] = []
    var next = promisedFrames ?? 0
    for i in (0..<count).reversed() {
      guard let entry = unsafe avformat_index_get_entry(sound, i) else { continue }
      let start = unsafe frames(entry.pointee.timestamp)
      let (length, isWild) = next.subtractingReportingOverflow(start)
      unsafe table.append((entry.pointee.pos, Int(entry.pointee.size), isWild ? 0 : max(0, length)))
      next = start
    }
    return table.reversed()
  }

  /// Frames of a time, which the stream counts in units of its own.
  private func frames(_ time: Int64) -> Int64 {
    guard let sound = unsafe sound, sampleRate > 0 else { return 0 }
    let rate = unsafe AVRational(num: 1, den: parameters.sample_rate)
    return unsafe av_rescale_q(time, sound.pointee.time_base, rate)
  }

  private func failure(_ code: Int32) -> SoundFileError {
    stream.failure ?? LibavLog.error(code, reading: stream.store.name)
  }
}

/// What libavformat says, and how loud.
enum LibavLog {
  /// Has libavformat write nothing to the terminal, unless the program chose what it writes. Any thread.
  static func quieten() { _ = quietened }

  private static let quietened: Void = {
    if av_log_get_level() == AV_LOG_INFO { av_log_set_level(AV_LOG_QUIET) }
  }()

  /// What a code means for a file that is read.
  static func error(_ code: Int32, reading name: String) -> SoundFileError {
    SoundFileError(
      code == cue_av_error_end_of_file ? .truncated : .damaged(words(code)), path: name)
  }

  /// libavformat's words for a code.
  static func words(_ code: Int32) -> String {
    var text = [CChar](repeating: 0, count: 128)
    unsafe av_strerror(code, &text, text.count)
    let words = String(
      decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return words.prefix(1).lowercased() + words.dropFirst()
  }
}
