import CFFmpeg
import Codecs
import Synchronization

/// The opening of a file of packets, with the reader that its container needs.
struct PacketFileOpening {
  struct Opened {
    var source: PacketSource
    var scanner: PacketScanner?
  }

  let store: any ByteStore
  let container: Container

  init(_ store: any ByteStore, _ container: Container) {
    self.store = store
    self.container = container
  }

  func open() throws(SoundFileError) -> Opened {
    var opened = try openContainer()
    if opened.scanner == nil { try opened.source.measureLastPacket(store) }
    return opened
  }

  private func openContainer() throws(SoundFileError) -> Opened {
    switch container.structure {
    case .caf: return Opened(source: try CAFFile.open(store))
    case .mpeg4: return try openMPEG4()
    case .ogg: return try openOgg()
    case .chunks: return try openChunked()
    case .frames, .stream: return try openStream()
    case .foreign:
      throw SoundFileError(.unsupportedContainer(container.description), path: store.name)
    }
  }

  /// Returns libavformat's demuxer name for the container.
  private func name() throws(SoundFileError) -> String {
    guard container == .ac3 else { return container.demuxer }
    // AC-3 and Enhanced AC-3 differ in the header's version field.
    let head = try store.bytes(at: 0, count: 6)
    return head.map { $0[5] >> 3 > 10 } == true ? "eac3" : "ac3"
  }

  func describe(_ demuxer: Demuxer) throws(SoundFileError) -> PacketSource {
    guard let codec = demuxer.codec else {
      throw SoundFileError(.unsupportedEncoding(demuxer.codecName), path: store.name)
    }
    if let error = SoundFileError.tooMany(channels: demuxer.channels, path: store.name) {
      throw error
    }
    let rate = demuxer.sampleRate
    guard rate >= 1, rate <= 10_000_000, (1...64).contains(demuxer.channels) else {
      throw SoundFileError(
        .damaged("\(demuxer.channels) channels at \(rate) Hz"), path: store.name)
    }
    var format = PacketFormat(codec: codec, sampleRate: rate, channels: demuxer.channels)
    switch codec {
    case .ulaw, .alaw:
      format.bytesPerPacket = format.channels
      format.framesPerPacket = 1
    case .ima4:
      format.bytesPerPacket = 34 * format.channels
      format.framesPerPacket = 64
    case .msIMA:
      let channels = format.channels
      let block = demuxer.blockBytes
      guard block > 4 * channels, block <= 1 << 20 else {
        throw SoundFileError(.damaged("packets of \(block) bytes"), path: store.name)
      }
      format.bytesPerPacket = block
      format.framesPerPacket = (block - 4 * channels) * 2 / channels + 1
    case .gsm:
      let isPlain = demuxer.blockBytes == 33
      format.bytesPerPacket = isPlain ? 33 : 65
      format.framesPerPacket = isPlain ? 160 : 320
    case .aac: format.framesPerPacket = demuxer.frameSize == 960 ? 960 : 1024
    case .aacHE, .aacHEv2: format.framesPerPacket = 2048
    case .alac:
      format.framesPerPacket = demuxer.frameSize > 0 ? demuxer.frameSize : 4096
      format.bitsPerSample = demuxer.bitsPerSample
    case .flac:
      if let stream = FLACStreamInfo(block: demuxer.extradata)?.format {
        format.framesPerPacket = stream.framesPerPacket
        format.bitsPerSample = stream.bitsPerSample
      }
    case .opus, .vorbis: break
    case .mp1, .mp2, .mp3, .ac3, .eac3, .amrNarrow, .amrWide:
      format.framesPerPacket = codec.framesPerPacket(sampleRate: rate, channels: format.channels)
    }
    return PacketSource(
      container: container, format: format,
      cookie: MagicCookie.appleCookie(
        codec, extradata: demuxer.extradata, bitRate: demuxer.bitRate),
      channelRoles: demuxer.channelRoles, tags: InfoKeys.tags(demuxer.metadata),
      otherTags: InfoKeys.others(demuxer.metadata), claimedBitRate: demuxer.bitRate)
  }

  // MARK: Opening each container family

  private func openMPEG4() throws(SoundFileError) -> Opened {
    let fragments = try MPEG4Fragments(store)
    let shown = fragments.repaired
    let file = try MPEG4File(shown)
    // libavformat's own edit list handling drops packets that a decoder needs, and some sound.
    let demuxer = try Demuxer(shown, name: name(), options: ["ignore_editlist": "1"])
    var source = try describe(demuxer)
    let format = source.format
    source.channelRoles =
      CAFLayout.roles(file.layout, channels: format.channels) ?? source.channelRoles
    let spanned: Int64
    if file.isFragmented {
      let scanner = try PacketScanner(
        shown, demuxer, format, .told, .times(startIsDamaged: fragments.isStartDamaged),
        frames: PacketFrames.counter(format.codec, demuxer.extradata))
      while try scanner.step(&source.index) {}
      let times = min(scanner.spannedFrames, demuxer.promisedFrames ?? .max)
      let padding = scanner.spannedFrames - times
      spanned =
        scanner.goesBack
        ? source.frames - (padding <= format.framesPerPacket ? padding : 0) : times
      source.hasSpecialPackets = scanner.missingFrames > 0
      if file.isCut {
        let end = exactClock(Double(source.frames) / format.sampleRate)
        source.damage = "the file is cut short at \(end): it ends within a fragment"
      } else {
        source.damage =
          scanner.damage ?? (fragments.isDamaged ? "the file is damaged in its fragments" : nil)
      }
    } else {
      let count =
        format.framesPerPacket == 0
        ? PacketFrames.counter(format.codec, demuxer.extradata) : nil
      let total = try store.byteCount()
      let table = demuxer.table()
      for entry in table {
        // Entries beyond the end of a truncated file are dropped.
        guard entry.bytes > 0, entry.offset >= 0, entry.offset <= total - Int64(entry.bytes) else {
          source.damage =
            "the file is cut short: \(source.index.count) of \(table.count) packets are there"
          break
        }
        var frames: Int64 = 0
        if format.framesPerPacket == 0 {
          // A packet's own bytes are more reliable than its duration: the last packet's may be
          // shortened.
          let start =
            try count == nil
            ? nil
            : store.bytes(
              at: entry.offset, count: min(entry.bytes, PacketFrames.tellingBytes))
          frames = count.flatMap { count in start.map { Int64(count($0)) } } ?? entry.frames
        }
        source.index.append(
          [PacketIndex.Piece(offset: entry.offset, bytes: entry.bytes)], frames: frames)
      }
      let scale = Double(max(1, file.timescale))
      let frames = (Double(file.duration) * format.sampleRate / scale).rounded()
      spanned = frames < 1e15 ? Int64(frames) : 0
    }
    source.findCommonFrames()
    source.table = file.table(
      frames: source.frames, spanned: spanned, sampleRate: format.sampleRate,
      gapless: demuxer.metadata["itunsmpb"])
    return Opened(source: source)
  }

  private func openOgg() throws(SoundFileError) -> Opened {
    let demuxer = try Demuxer(store, name: name())
    var source = try describe(demuxer)
    let codec = source.format.codec
    var scanner = OggScanner(store, codec, sampleRate: source.format.sampleRate)
    guard try scanner.scan() else {
      throw SoundFileError(.unsupportedEncoding(demuxer.codecName), path: store.name)
    }
    source.index = scanner.index
    source.setups = scanner.setups
    source.hasSpecialPackets = scanner.missingFrames > 0 || !scanner.index.trims.isEmpty
    func time(_ frame: Int64) -> String {
      exactClock(Double(max(0, frame - scanner.primingFrames)) / source.format.sampleRate)
    }
    if let frame = scanner.changedFrame {
      source.hasSpecialPackets = true
      source.notice =
        "the sound changes its form at \(time(frame)): it is converted to the first form"
    }
    let frames = scanner.index.frames
    // Chained streams and gaps may break the constant packet length that the first header declares.
    let length = source.format.framesPerPacket
    if length > 0, source.index.isRegular(frames: length) {
      source.index.forgetFrames()
    } else {
      source.format.framesPerPacket = 0
      source.findCommonFrames()
    }
    source.table = PacketTable(
      priming: scanner.primingFrames,
      valid: frames - scanner.primingFrames - scanner.remainderFrames, of: source.frames)
    if let offset = scanner.otherSoundOffset {
      source.damage = "it is read up to byte \(offset): sound of another codec follows"
    } else if scanner.skippedBytes > 0 || scanner.missingFrames > 0 {
      source.damage =
        "the file is damaged at \(time(scanner.damagedFrame ?? frames)): "
        + "\(scanner.missingFrames) frames are missing, "
        + "and \(scanner.skippedBytes) bytes belong to nothing"
    } else if scanner.isCut {
      source.damage = "the file is cut short at \(time(frames)): it ends within a page"
    }
    return Opened(source: source)
  }

  /// Opens files that consist only of packets, which have to be searched for.
  private func openStream() throws(SoundFileError) -> Opened {
    if container == .flac { return try openFLAC() }
    if let opened = try openFrames() { return opened }
    let demuxer = try Demuxer(store, name: name())
    let source = try describe(demuxer)
    let scanner = try PacketScanner(
      store, demuxer, source.format, container == .amr ? .told : .searched)
    return Opened(source: source, scanner: scanner)
  }

  /// Opens a FLAC file without libavformat, which takes longer to load than such a file takes to read.
  private func openFLAC() throws(SoundFileError) -> Opened {
    let start = try ID3Tag.end(in: store)
    guard let head = try FLACHead(store, at: start) else {
      throw SoundFileError(.damaged("its head has no STREAMINFO"), path: store.name)
    }
    let tag = try store.bytes(at: 0, count: Int(start)) ?? []
    var source = PacketSource(
      container: container, format: head.info.format,
      cookie: MagicCookie.appleCookie(.flac, extradata: head.info.block),
      channelRoles: head.channelRoles,
      tags: ID3Frames.tags(tag).merging(InfoKeys.tags(head.metadata)) { $1 },
      otherTags: ID3Frames.others(tag).merging(InfoKeys.others(head.metadata)) { $1 })
    if head.info.frames > 0 { source.promisedFrames = head.info.frames }
    var scanner = FLACScanner(
      maximumFrameBytes: 0, format: source.format, cookie: source.cookie, canWait: true)
    scanner.streamInfo = head.info
    return Opened(
      source: source,
      scanner: try PacketScanner(
        store, nil, source.format, .told, .flac(scanner, from: head.soundOffset)))
  }

  /// Opens a file that consists of frames with headers that give their size; nil if it does not.
  private func openFrames() throws(SoundFileError) -> Opened? {
    let kind: FrameKind
    switch container {
    case .adts: kind = .adts
    case .mp3, .mp2, .mp1: kind = .mpeg
    case .ac3 where try name() == "ac3": kind = .ac3
    default: return nil
    }
    let start = try ID3Tag.end(in: store)
    var finder = FrameFinder(kind, store, in: start..<(try store.byteCount()))
    guard let first = try finder.next(from: start, after: nil, isInStep: false),
      first.offset - start < 1 << 16
    else { return nil }
    let bytes = try store.bytes(at: first.offset, count: first.head.bytes) ?? []
    let information = kind == .mpeg ? MPEGInformation(bytes, at: 0, first.head) : nil
    finder.begin(at: first.offset + (information == nil ? 0 : Int64(first.head.bytes)))
    var source: PacketSource
    if finder.isFree {
      // libavformat finds no frames, and reads only the tags.
      let metadata = (try? Demuxer(store, name: name()))?.metadata ?? [:]
      let (rate, channels) = (first.head.sampleRate, first.head.channels)
      source = PacketSource(
        container: container,
        format: PacketFormat(
          codec: .mp3, sampleRate: rate, channels: channels,
          framesPerPacket: Codec.mp3.framesPerPacket(sampleRate: rate, channels: channels)),
        tags: InfoKeys.tags(metadata), otherTags: InfoKeys.others(metadata),
        claimedBitRate: first.head.bitRate)
    } else {
      let demuxer = try Demuxer(store, name: name())
      source = try describe(demuxer)
      if kind == .adts { source.cookie = try ADTS.cookie(of: store, demuxer, source.format.codec) }
    }
    source.information = information
    source.promisedFrames = information?.promisedFrames(each: first.head.frames)
    let scanner = try PacketScanner(store, nil, source.format, .told, .frames(finder))
    return Opened(source: source, scanner: scanner)
  }

  /// Opens chunked files, in which one chunk holds the sound.
  private func openChunked() throws(SoundFileError) -> Opened {
    let demuxer = try Demuxer(store, name: name())
    var source = try describe(demuxer)
    guard case .head(let head) = try FileHead.find(in: store) else {
      throw SoundFileError(.truncated, path: store.name)
    }
    let present = try max(0, store.byteCount() - head.dataOffset)
    let bytes = min(head.dataBytes ?? present, present)
    let size = source.format.bytesPerPacket
    guard size > 0 else {
      let part = head.dataOffset..<head.dataOffset + bytes
      let scanner =
        source.format.codec.isMPEGAudio
        ? try PacketScanner(
          store, nil, source.format, .told, .frames(FrameFinder(.mpeg, store, in: part)))
        : try PacketScanner(store, demuxer, source.format, .searched)
      return Opened(source: source, scanner: scanner)
    }
    let count = bytes / Int64(size)
    source.index = PacketIndex(offset: head.dataOffset, bytes: size, count: count)
    let (frames, isTooMany) = count.multipliedReportingOverflow(
      by: Int64(source.format.framesPerPacket))
    guard !isTooMany else {
      throw SoundFileError(.damaged("it has too many packets"), path: store.name)
    }
    var promised = demuxer.promisedFrames ?? 0
    if container == .aiff || container == .aifc {
      // libavformat takes the file's number for one of packets. Others write that of frames, which
      // end within the last packet.
      promised /= Int64(source.format.framesPerPacket)
      if promised == count || promised <= frames - Int64(source.format.framesPerPacket) {
        promised = 0
      }
    }
    if promised > 0, promised < frames, source.format.framesPerPacket > 1 {
      source.table = PacketTable(priming: 0, valid: promised, of: frames)
    }
    return Opened(source: source)
  }
}

/// A converter of ADTS frame headers to cookies.
private enum ADTS {
  /// Returns the cookie that an MPEG-4 file would have for the stream.
  static func cookie(
    of store: any ByteStore, _ demuxer: Demuxer, _ codec: Codec
  ) throws(SoundFileError) -> [UInt8] {
    guard let first = try unsafe demuxer.next(), let config = unsafe configuration(first.bytes)
    else {
      throw SoundFileError(.damaged("its first frame tells no configuration"), path: store.name)
    }
    return MagicCookie.appleCookie(codec, extradata: config, bitRate: demuxer.bitRate)
  }

  private static func configuration(_ frame: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let kind = unsafe ffmpeg.av_bsf_get_by_name("aac_adtstoasc") else { return nil }
    var filter: UnsafeMutablePointer<AVBSFContext>?
    guard unsafe ffmpeg.av_bsf_alloc(kind, &filter) >= 0, let working = unsafe filter else {
      return nil
    }
    defer { unsafe ffmpeg.av_bsf_free(&filter) }
    unsafe working.pointee.par_in.pointee.codec_type = AVMEDIA_TYPE_AUDIO
    unsafe working.pointee.par_in.pointee.codec_id = AV_CODEC_ID_AAC
    var packet = ffmpeg.av_packet_alloc()
    defer { unsafe ffmpeg.av_packet_free(&packet) }
    guard unsafe ffmpeg.av_bsf_init(working) >= 0, let packet = unsafe packet,
      unsafe ffmpeg.av_new_packet(packet, Int32(clamping: frame.count)) >= 0,
      let source = frame.baseAddress
    else { return nil }
    unsafe packet.pointee.data.update(
      from: source.assumingMemoryBound(to: UInt8.self), count: frame.count)
    guard unsafe ffmpeg.av_bsf_send_packet(working, packet) >= 0,
      unsafe ffmpeg.av_bsf_receive_packet(working, packet) >= 0
    else { return nil }
    var count = 0
    guard
      let bytes = unsafe ffmpeg.av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &count),
      count > 0
    else { return nil }
    return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
  }
}
