import Codecs
import Files
import RealTime
import Sessions
import Timeline

/// The conversion of one file by `cuejack convert`.
struct Conversion {
  private let reader: SoundReader
  private let kind: SoundFormat
  private let target: StreamFormat
  /// The part to convert, in frames of the input file.
  private let part: Range<Int64>
  /// True if the packets are copied unchanged.
  private let copies: Bool
  private let quality: ConversionQuality
  private let bitRate: Int?
  /// True if the number of channels was given.
  private let choosesChannels: Bool
  private let output: String
  /// Samples that the new file could not hold.
  private(set) var faults = SampleFaults()

  /// Reads the sound to convert.
  private let source: MediaReader

  private static var framesAtOnce: Int { 65536 }

  init(_ reader: SoundReader, to output: String, _ options: Convert) throws(SoundFileError) {
    let coding = options.coding
    self.reader = reader
    source = MediaReader(reader.file)
    self.output = output
    quality = options.quality
    bitRate = coding.bitrate?.bitsPerSecond
    choosesChannels = coding.channels != nil
    let name = OutputTarget.formatName(output, options.to)
    kind = try SoundFormat(
      path: name, coding, pcm: Self.usualPCM(for: reader, in: name),
      losslessBits: reader.file.sourceBits > 16 ? 24 : 16)
    target = kind.stream(
      sampleRate: coding.rate ?? kind.usableRate(for: reader.format.sampleRate),
      channels: coding.channels ?? kind.usableChannels(for: reader.format.channels))
    part = PlaySettings(start: options.start ?? .zero, end: options.end).part(of: reader)
    if part.isEmpty, reader.frames > 0 {
      throw SoundFileError(
        .notSupported("nothing is left between --start and --end"), path: reader.path)
    }
    let changesNothing =
      coding.rate == nil && coding.channels == nil && coding.bits == nil && coding.bitrate == nil
      && options.start == nil && options.end == nil
    if case .packets(let source) = reader.file.format, case .packets(let wanted) = target {
      copies =
        changesNothing && source.codec == wanted.codec
        && MediaFiles.canWrite(reader.file.format, in: kind.container)
        && reader.file.hasPlainPackets
    } else {
      copies = false
    }
  }

  /// Returns the linear PCM format that keeps a file's sound: the file's own, or integers of 16 or
  /// 24 bits for packets.
  private static func usualPCM(for reader: SoundReader, in path: String) -> SoundCoding {
    switch reader.file.format {
    case .pcm(let format):
      if format.kind == .float { return .pcm(.float, bits: format.bitsPerSample) }
      return .integers(bits: format.bitsPerSample, in: Container(forPath: path) ?? .wave)
    case .packets: return .pcm(.signedInteger, bits: reader.file.sourceBits > 16 ? 24 : 16)
    }
  }

  /// The format of the new file, and its container.
  var streamFormat: StreamFormat { copies ? reader.file.format : target }
  var container: Container { kind.container }

  /// Writes the file.
  ///
  /// - Parameter progress: Called repeatedly with the fraction done, from 0 to 1. Returns false to
  ///   cancel.
  /// - Returns: Frames of the new file; nil if cancelled.
  mutating func run(
    into store: any ByteStore, progress: (Double) -> Bool
  ) throws(SoundFileError) -> Int64? {
    copies
      ? try copy(into: store, progress: progress) : try convert(into: store, progress: progress)
  }

  private mutating func convert(
    into store: any ByteStore, progress: (Double) -> Bool
  ) throws(SoundFileError) -> Int64? {
    let channels = channelPlan
    var encoding = PacketEncoder.Options(bitRate: bitRate, quality: quality.encoder)
    encoding.channelMask = channels?.channelMask
    let plan = try SoundWriter.Plan(
      store.name, container: kind.container, format: target, encoding: encoding,
      countsClips: mayClip)
    let writer = try SoundWriter(store, plan)
    let ratio = target.sampleRate / reader.format.sampleRate
    var metadata = MetadataCopy(of: reader.file, to: writer.file)
    (metadata.part, metadata.ratio) = (part, ratio)
    try metadata.run()
    if let roles = channels?.stored { try writer.file.setChannelRoles(roles) }
    tellOfChannels(channels)
    var options = StreamConverter.Options()
    options.quality = quality.resampler
    options.countsClips = mayClip
    options.mix = channels.map { .map($0.order) } ?? mix
    let converter = try reader.file.decoder(to: writer.input, options)
    source.seek(to: part.lowerBound)
    let total = Int64(held: (Double(part.count) * ratio).rounded())
    var memory = [UInt8](repeating: 0, count: Self.framesAtOnce * writer.input.bytesPerFrame)
    var written: Int64 = 0
    while written < total {
      guard progress(Double(written) / Double(total)) else { return nil }
      let wanted = Int(min(Int64(Self.framesAtOnce), total - written))
      let result = unsafe memory.withUnsafeMutableBytes { memory in
        Result { () throws(SoundFileError) in
          let count = try unsafe read(wanted, of: source, through: converter, into: memory)
          try unsafe writer.write(
            .init(rebasing: memory[..<(count * writer.input.bytesPerFrame)]))
          return count
        }
      }
      let count = try result.get()
      written += Int64(count)
      if count < wanted {
        // Some programs count the last packet in full although it is shorter.
        Screen.shared.remark("\(reader.path): the sound ends early, after \(written) frames")
        break
      }
    }
    if written == 0 || Double(source.missing.frames) * ratio >= Double(written), total > 0 {
      throw SoundFileError(.damaged("nothing in it can be decoded"), path: reader.path)
    }
    try writer.close()
    faults = converter.faults + writer.faults
    return written
  }

  /// One line about sound that could not be decoded; nil if all could.
  var fault: String? {
    source.missing.words(sampleRate: reader.file.format.sampleRate).map {
      "\(reader.path): converted, \($0)"
    }
  }

  private func read(
    _ count: Int, of source: MediaReader, through converter: StreamConverter,
    into memory: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    guard case .pcm(let format) = converter.output, let start = memory.baseAddress,
      let samples = unsafe SampleBuffers(format, at: [start])
    else { return 0 }
    var sink = StreamConverter.Sink.frames(samples, room: count)
    do throws(MediaError) {
      try source.read(&sink, through: converter)
    } catch {
      throw error.naming(reader.path)
    }
    return sink.count
  }

  /// Reports a reduced number of channels, unless it was given by an option.
  private func tellOfChannels(_ plan: ChannelPlan?) {
    if let remark = plan?.remark {
      Screen.shared.remark("\(PipeStore.name(of: output)): \(remark)")
    }
    let (old, new) = (reader.format.channels, target.channels)
    guard new < old, !choosesChannels else { return }
    let words = new == 1 ? "all are mixed into one" : "the first \(new) are taken"
    Screen.shared.remark(
      "\(PipeStore.name(of: output)): \(target.coding) has no room for \(old) channels: \(words)"
    )
  }

  /// True if samples may exceed full scale: integers that are not changed do not.
  private var mayClip: Bool {
    if reader.format.sampleRate != target.sampleRate { return true }
    switch reader.file.format {
    case .pcm(let format): return format.kind == .float
    case .packets(let format): return !format.codec.isLossless
    }
  }

  /// How the channels go into the file; nil if it has another number of them.
  private var channelPlan: ChannelPlan? {
    guard reader.format.channels == target.channels else { return nil }
    return ChannelPlan(reader.file.decodedChannelRoles, to: target, in: kind.container)
  }

  /// Copies mono to all channels, and averages all channels to mono. Otherwise returns nil: the
  /// first channels are mapped.
  private var mix: ChannelMix? {
    let (input, output) = (reader.format.channels, target.channels)
    if input == 1 { return .map(Array(repeating: 0, count: output)) }
    if output == 1 { return .mix(Array(repeating: [1 / Float(input)], count: input)) }
    return nil
  }

  /// Copies the packets unchanged.
  private func copy(
    into store: any ByteStore, progress: (Double) -> Bool
  ) throws(SoundFileError) -> Int64? {
    let old = reader.file
    let new = try MediaFiles.create(store, container: kind.container, format: old.format)
    if !old.cookie.isEmpty { try new.setCookie(old.cookie) }
    // If the command is killed, the file has at least the right priming.
    if let table = try old.packetTable { try new.setPacketTable(table) }
    var metadata = MetadataCopy(of: old, to: new)
    try metadata.run()
    if let roles = old.channelRoles { try new.setChannelRoles(roles) }
    var next: Int64 = 0
    var memory = [UInt8](repeating: 0, count: max(1 << 16, try old.maximumPacketBytes))
    var extents: [PacketExtent] = []
    let total = try old.packetCount
    while next < total {
      guard progress(Double(next) / Double(total)) else { return nil }
      let first = next
      let result = unsafe memory.withUnsafeMutableBytes { memory in
        Result { () throws(SoundFileError) in
          let count = try unsafe old.readPackets(
            from: first, count: 256, into: memory, extents: &extents)
          try unsafe new.writePackets(at: first, from: .init(memory), extents: extents)
          return count
        }
      }
      let count = try result.get()
      guard count > 0 else {
        throw SoundFileError(.damaged("it ended early, after \(next) packets"), path: reader.path)
      }
      next += Int64(count)
    }
    try new.close()
    return reader.frames
  }

  /// Returns the event of the new file.
  func event(_ frames: Int64) -> ConvertedEvent {
    ConvertedEvent(
      file: reader.path, output: output, frames: frames,
      duration: Double(frames) / target.sampleRate, container: "\(kind.container)",
      format: target.summary, missingFrames: source.missing.frames,
      clips: faults.clipped > 0 ? faults.clipped : nil,
      notFinite: faults.notFinite > 0 ? faults.notFinite : nil)
  }

  /// Returns a one-line summary.
  func summary(_ frames: Int64) -> String {
    let seconds = exactClock(Double(frames) / target.sampleRate)
    let way = copies ? ", packets copied" : ""
    return
      "\(PipeStore.name(of: output)): \(kind.container): \(target.summary), \(frames) frames (\(seconds))\(way)"
      + faults.words
  }
}

extension SampleFaults {
  /// The counts, to follow a summary; empty if there are none.
  var words: String {
    var words = clipped > 0 ? "; clipped samples: \(clipped)" : ""
    if notFinite > 0 { words += "; NaN or infinite samples, now silent: \(notFinite)" }
    return words
  }
}
