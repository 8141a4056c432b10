import Analysis
import Codecs
import Files
import Glibc
import RealTime
import Sessions
import System
import Timeline

/// The conversion of one file by `cuejack convert`.
struct Conversion {
  private let reader: SoundReader
  private let kind: SoundFormat
  private let target: StreamFormat
  /// The part to convert, in frames of the input file.
  private var part: Range<Int64>
  /// True if the packets are copied unchanged.
  private let copies: Bool
  private let quality: ConversionQuality
  private let bitRate: Int?
  /// True if the number of channels was given.
  private let choosesChannels: Bool
  private let changes: SoundChanges
  /// How the channels go into the sound, and their roles there; nil roles if they have none.
  private let remix: ChannelMix?
  private let roles: [ChannelRole]?
  private let output: String
  /// Samples that the new file could not hold.
  private(set) var faults = SampleFaults()
  /// The change of the level; nil if there is none.
  private var level: LevelChange?

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
    changes = options.changes
    choosesChannels = coding.channels != nil || changes.remix != nil
    let name = OutputTarget.formatName(output, options.to)
    kind = try SoundFormat(
      path: name, coding, pcm: Self.usualPCM(for: reader, in: name),
      losslessBits: reader.file.sourceBits > 16 ? 24 : 16)
    target = kind.stream(
      sampleRate: coding.rate ?? kind.usableRate(for: reader.format.sampleRate),
      channels: coding.channels ?? changes.remix?.channels
        ?? kind.usableChannels(for: reader.format.channels))
    let oldRoles = reader.file.decodedChannelRoles
    if let matrix = changes.remix {
      remix = try matrix.mix(of: reader.format.channels, oldRoles, path: reader.path)
      roles = matrix.roles(from: oldRoles)
    } else {
      (remix, roles) = (nil, reader.format.channels == target.channels ? oldRoles : nil)
    }
    part = PlaySettings(start: options.start ?? .zero, end: options.end).part(of: reader)
    if part.isEmpty, reader.frames > 0 {
      throw SoundFileError(
        .notSupported("nothing is left between --start and --end"), path: reader.path)
    }
    let changesNothing =
      coding.rate == nil && coding.channels == nil && coding.bits == nil && coding.bitrate == nil
      && options.start == nil && options.end == nil && changes.isEmpty
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
    let isMeasured = changes.changesLevel || changes.silence != nil
    func measuring(_ part: Double) -> Bool { progress(part / 2) }
    func writing(_ part: Double) -> Bool { progress(isMeasured ? 0.5 + part / 2 : part) }
    if let silence = changes.silence, try !trim(silence, measuring) { return nil }
    var shaper = changes.changesSamples ? try shaper : nil
    if var measured = shaper, changes.changesLevel {
      guard let level = try level(&measured, measuring) else { return nil }
      (self.level, shaper) = (level, measured)
    }
    let channels = channelPlan
    var encoding = PacketEncoder.Options(bitRate: bitRate, quality: quality.encoder)
    encoding.channelMask = channels?.channelMask
    let plan = try SoundWriter.Plan(
      store.name, container: kind.container, format: target, from: shaper == nil ? nil : floats,
      encoding: encoding, countsClips: mayClip)
    let writer = try SoundWriter(store, plan)
    var metadata = MetadataCopy(of: reader.file, to: writer.file)
    (metadata.part, metadata.ratio) = (part, ratio)
    metadata.keepsLoudness = remix == nil && shaper == nil
    try metadata.run()
    if let roles = channels?.stored { try writer.file.setChannelRoles(roles) }
    tellOfChannels(channels)
    let meter = level == nil ? nil : try meter
    let total = totalFrames
    func write(_ samples: [Float]) throws(SoundFileError) {
      var samples = samples
      try unsafe samples.withUnsafeMutableBufferPointer { samples in
        Result { () throws(SoundFileError) in
          try unsafe writer.write(UnsafeRawBufferPointer(samples))
          unsafe meter?.add(samples)
        }
      }.get()
    }
    let pass = try unsafe pass(source, as: writer.input, mix, frames: total, writing) {
      bytes throws(SoundFileError) in
      guard shaper != nil else { return try unsafe writer.write(UnsafeRawBufferPointer(bytes)) }
      try write(shaper?.add(unsafe Array(bytes.assumingMemoryBound(to: Float.self))) ?? [])
    }
    guard let pass else { return nil }
    if let rest = shaper?.finish() { try write(rest) }
    if pass.frames < total {
      // Some programs count the last packet in full although it is shorter.
      Screen.shared.remark("\(reader.path): the sound ends early, after \(pass.frames) frames")
    }
    if pass.frames == 0 || Double(source.missing.frames) * ratio >= Double(pass.frames), total > 0 {
      throw SoundFileError(.damaged("nothing in it can be decoded"), path: reader.path)
    }
    try writer.close()
    faults = pass.faults + writer.faults
    level?.after = meter?.figures
    level?.least = shaper?.limiter?.least ?? 1
    return pass.frames
  }

  /// Frames of the new file per frame of the old one.
  private var ratio: Double { target.sampleRate / reader.format.sampleRate }

  /// Frames of the new file.
  private var totalFrames: Int64 { Int64(held: (Double(part.count) * ratio).rounded()) }

  /// The format in which the sound is shaped and measured.
  private var floats: PCMFormat {
    PCMFormat(
      sampleRate: target.sampleRate, channels: target.channels, kind: .float, bitsPerSample: 32)
  }

  /// Reads frames from the part's beginning through a converter.
  ///
  /// - Parameter body: Called with the next frames in memory that it may change.
  /// - Returns: Frames read, and the samples that the format could not hold; nil if cancelled.
  private func pass(
    _ source: MediaReader, as format: PCMFormat, _ mix: ChannelMix?, frames total: Int64,
    _ progress: (Double) -> Bool,
    _ body: (UnsafeMutableRawBufferPointer) throws(SoundFileError) -> Void
  ) throws(SoundFileError) -> (frames: Int64, faults: SampleFaults)? {
    var options = StreamConverter.Options()
    options.quality = quality.resampler
    options.countsClips = mayClip
    options.mix = mix
    let converter = try reader.file.decoder(to: format, options)
    source.seek(to: part.lowerBound)
    var memory = [UInt8](repeating: 0, count: Self.framesAtOnce * format.bytesPerFrame)
    var done: Int64 = 0
    while done < total {
      guard progress(Double(done) / Double(total)) else { return nil }
      let wanted = Int(min(Int64(Self.framesAtOnce), total - done))
      let result = unsafe memory.withUnsafeMutableBytes { memory in
        Result { () throws(SoundFileError) in
          let count = try unsafe read(wanted, of: source, through: converter, into: memory)
          try unsafe body(.init(rebasing: memory[..<(count * format.bytesPerFrame)]))
          return count
        }
      }
      let count = try result.get()
      done += Int64(count)
      if count < wanted { break }
    }
    return (done, converter.faults)
  }

  // MARK: Changes

  /// Reduces the part to the sound between silent ends.
  ///
  /// - Returns: False if cancelled.
  private mutating func trim(
    _ silence: SilenceTrim, _ progress: (Double) -> Bool
  ) throws(SoundFileError) -> Bool {
    let own = PCMFormat(
      sampleRate: reader.format.sampleRate, channels: reader.format.channels, kind: .float,
      bitsPerSample: 32)
    var extent = SoundExtent(above: silence.level, channels: own.channels)
    let read = try unsafe pass(
      MediaReader(reader.file), as: own, nil, frames: Int64(part.count), progress
    ) { bytes in
      unsafe extent.add(Array(bytes.assumingMemoryBound(to: Float.self)))
    }
    guard read != nil else { return false }
    if let range = extent.range(keeping: silence.kept.frames(at: own.sampleRate)) {
      part = part.lowerBound + range.lowerBound..<part.lowerBound + range.upperBound
    } else {
      Screen.shared.remark(
        "\(reader.path): all of it is silent at the level of --silence: nothing is trimmed")
    }
    return true
  }

  /// The fades of the part.
  private var shaper: SoundShaper {
    get throws(SoundFileError) {
      func frames(_ time: TimeValue?) -> Int64 {
        let seconds = time?.seconds(at: reader.format.sampleRate) ?? 0
        return Int64(held: (seconds * target.sampleRate).rounded())
      }
      let (fadeIn, fadeOut) = (frames(changes.fadeIn), frames(changes.fadeOut))
      guard fadeIn + fadeOut <= totalFrames else {
        let words = [fadeIn + fadeOut, totalFrames].map {
          exactClock(Double($0) / target.sampleRate)
        }
        throw SoundFileError(
          .notSupported("the fades take \(words[0]), but the sound has \(words[1])"),
          path: reader.path)
      }
      return SoundShaper(
        channels: target.channels, frames: totalFrames, fadeIn: fadeIn, fadeOut: fadeOut)
    }
  }

  private var meter: LoudnessMeter {
    get throws(SoundFileError) {
      let order = channelPlan?.order
      let meter = LoudnessMeter(
        channels: target.channels, sampleRate: target.sampleRate,
        roles: roles.flatMap { roles in order?.map { roles[$0] } })
      guard let meter else {
        throw SoundFileError(
          .notSupported(
            "loudness cannot be measured at \(hertz(target.sampleRate)) with \(target.channels) channels"
          ), path: reader.path)
      }
      return meter
    }
  }

  /// Measures the sound through a shaper. Returns nil if cancelled.
  private func figures(
    _ shaper: SoundShaper, _ progress: (Double) -> Bool
  ) throws(SoundFileError) -> SoundFigures? {
    var shaper = shaper
    let meter = try meter
    func add(_ samples: [Float]) {
      var samples = samples
      unsafe samples.withUnsafeMutableBufferPointer { unsafe meter.add($0) }
    }
    let read = try unsafe pass(
      MediaReader(reader.file), as: floats, mix, frames: totalFrames, progress
    ) { bytes in
      unsafe add(shaper.add(Array(bytes.assumingMemoryBound(to: Float.self))))
    }
    add(shaper.finish())
    return read == nil ? nil : meter.figures
  }

  /// Measures the sound, and sets the shaper's gain and limiter. Returns nil if cancelled.
  private func level(
    _ shaper: inout SoundShaper, _ progress: (Double) -> Bool
  ) throws(SoundFileError) -> LevelChange? {
    guard let before = try figures(shaper, progress) else { return nil }
    if let peak = changes.peak {
      if before.samplePeak > 0 {
        shaper.gain = Float(min(pow(10, peak / 20), target.greatestSample) / before.samplePeak)
      } else {
        Screen.shared.remark("\(reader.path): it is silent: --peak changes nothing")
      }
    } else if let wanted = changes.loudness {
      guard let loudness = before.integrated else {
        Screen.shared.remark(
          "\(reader.path): it is silent or shorter than 0.4 s: --loudness changes nothing")
        return LevelChange(before: before, gain: 1)
      }
      shaper.gain = factor(decibels: wanted - loudness)
      let ceiling = pow(10, (changes.ceiling ?? -1) / 20)
      if before.truePeak * Double(shaper.gain) > ceiling {
        guard try limit(&shaper, to: ceiling, wanted, progress) else { return nil }
      }
    }
    return LevelChange(before: before, gain: shaper.gain)
  }

  /// Sets a limiter, and the gain with which the limited sound has the wanted loudness. Returns false if
  /// cancelled.
  private func limit(
    _ shaper: inout SoundShaper, to ceiling: Double, _ wanted: Double, _ progress: (Double) -> Bool
  ) throws(SoundFileError) -> Bool {
    // A fiftieth of a decibel below.
    var inner = ceiling * 0.9977
    var (reached, change, slope) = (-Double.infinity, 0.0, 1.0)
    for round in 0..<8 {
      shaper.limiter = TruePeakLimiter(
        channels: target.channels, sampleRate: target.sampleRate, ceiling: inner)
      guard let figures = try figures(shaper, progress) else { return false }
      let loudness = figures.integrated ?? -.infinity
      // The more the limiter takes, the less loudness the gain adds.
      if change > 0.01 { slope = max(0.1, min(1, (loudness - reached) / change)) }
      reached = loudness
      let rest = wanted - reached
      if figures.truePeak <= ceiling, abs(rest) < (round < 7 ? 0.05 : 0.5) { return true }
      if figures.truePeak > ceiling { inner *= ceiling / figures.truePeak * 0.9995 }
      change = abs(rest) < 0.05 ? 0 : min(rest / slope, 12)
      shaper.gain *= factor(decibels: change)
    }
    throw SoundFileError(
      .notSupported(
        "with true peaks of \(decimal(changes.ceiling ?? -1)) dBTP at most it gets no louder than "
          + "\(decimal(reached)) LUFS"), path: reader.path)
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
    if changes.changesSamples || remix != nil { return true }
    if reader.format.sampleRate != target.sampleRate { return true }
    switch reader.file.format {
    case .pcm(let format): return format.kind == .float
    case .packets(let format): return !format.codec.isLossless
    }
  }

  /// How the channels of the sound go into the file; nil if it has another number of them.
  private var channelPlan: ChannelPlan? {
    guard remix != nil || reader.format.channels == target.channels else { return nil }
    return ChannelPlan(roles, to: target, in: kind.container)
  }

  /// The mix to the file's channels. Without options, mono goes to all channels, all channels are averaged to
  /// mono, and otherwise the first ones are taken.
  private var mix: ChannelMix? {
    if let plan = channelPlan { return remix?.ordered(plan.order) ?? .map(plan.order) }
    let (input, output) = (reader.format.channels, target.channels)
    return input == 1
      ? .map(Array(repeating: 0, count: output)) : .fitting(input, in: output)
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
      notFinite: faults.notFinite > 0 ? faults.notFinite : nil,
      gain: level.flatMap { decibels(Double($0.gain)).map(hundredths) },
      limited: level.flatMap { decibels(Double($0.least)).map { hundredths(-$0) } },
      before: level.map { LevelReport($0.before) },
      after: level?.after.map { LevelReport($0) })
  }

  /// Returns a one-line summary.
  func summary(_ frames: Int64) -> String {
    let seconds = exactClock(Double(frames) / target.sampleRate)
    let way = copies ? ", packets copied" : ""
    return
      "\(PipeStore.name(of: output)): \(kind.container): \(target.summary), \(frames) frames (\(seconds))\(way)"
      + (level?.words ?? "") + faults.words
  }
}

extension StreamFormat {
  /// The greatest sample that the format holds without clipping, 1 being full scale.
  fileprivate var greatestSample: Double {
    let bits =
      switch self {
      case .pcm(let format): format.kind == .float ? 0 : format.bitsPerSample
      case .packets(let format): format.codec.isLossless ? format.bitsPerSample : 0
      }
    return bits > 0 ? 1 - Double(sign: .plus, exponent: 1 - bits, significand: 1) : 1
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
