import Codecs
import Files
import RealTime

/// What `cuejack convert` does with one file.
struct Conversion {
  private let reader: SoundReader
  private let kind: SoundFormat
  private let target: StreamFormat
  /// The part that is converted, in frames of the file that is read.
  private let part: Range<Int64>
  /// The packets are copied as they are.
  private let copies: Bool
  private let quality: ConversionQuality
  private let bitRate: Int?
  private let output: String

  private static var framesAtOnce: Int { 8192 }

  init(_ reader: SoundReader, to output: String, _ options: Convert) throws(SoundFileError) {
    let coding = options.coding
    self.reader = reader
    self.output = output
    quality = options.quality
    bitRate = coding.bitrate?.bitsPerSecond
    kind = try SoundFormat(
      path: output, coding: coding.format, pcm: Self.usualPCM(for: reader, in: output))
    let rate = coding.rate ?? kind.usableRate(for: reader.format.sampleRate)
    target = kind.stream(
      sampleRate: rate, channels: coding.channels ?? reader.format.channels,
      bits: coding.bits ?? (reader.significantBits > 16 ? 24 : 16))
    func frame(_ seconds: Double) -> Int64 {
      min(reader.frames, Int64((seconds * reader.format.sampleRate).rounded()))
    }
    let first = frame(options.start)
    part = first..<max(first, options.end.map(frame) ?? reader.frames)
    if part.isEmpty, reader.frames > 0 {
      throw SoundFileError(
        .notSupported("nothing is left between --start and --end"), path: reader.path)
    }
    let changesNothing =
      coding.rate == nil && coding.channels == nil && coding.bits == nil && coding.bitrate == nil
      && options.start == 0 && options.end == nil
    if case .packets(let source) = reader.file.format, case .packets(let wanted) = target {
      copies =
        changesNothing && source.codec == wanted.codec
        && MediaFile.canWrite(reader.file.format, in: kind.container)
    } else {
      copies = false
    }
  }

  /// The linear PCM that holds all of a file's sound: the file's own, or 16 bits after a lossy codec.
  private static func usualPCM(for reader: SoundReader, in path: String) -> SoundCoding {
    switch reader.file.format {
    case .pcm(let format):
      if format.kind == .float { return .pcm(.float, bits: format.bitsPerSample) }
      if format.bitsPerSample > 8 { return .pcm(.signedInteger, bits: format.bitsPerSample) }
      // WAVE files have no sign in eight bits, all others have one.
      let isWave = [.wave, .rf64, .wave64].contains(Container(forPath: path))
      return .pcm(isWave ? .unsignedInteger : .signedInteger, bits: 8)
    case .packets: return .pcm(.signedInteger, bits: reader.significantBits > 16 ? 24 : 16)
    }
  }

  /// Writes the file.
  ///
  /// - Parameter progress: Called now and then with the part that is done, from 0 to 1: false to give
  ///   it up.
  /// - Returns: Frames of the new file; nil if it was given up.
  func run(
    into store: FileStore, progress: (Double) -> Bool
  ) throws(SoundFileError) -> Int64? {
    copies
      ? try copy(into: store, progress: progress) : try convert(into: store, progress: progress)
  }

  private func convert(
    into store: FileStore, progress: (Double) -> Bool
  ) throws(SoundFileError) -> Int64? {
    let writer = try SoundWriter(
      store, container: kind.container, format: target,
      options: PacketEncoder.Options(bitRate: bitRate, quality: quality.encoder))
    try writer.file.copyMetadata(
      of: reader.file, from: part, ratio: target.sampleRate / reader.format.sampleRate)
    var options = StreamConverter.Options()
    options.quality = quality.resampler
    options.mix = Self.mix(of: reader.format.channels, to: target.channels)
    let converter: StreamConverter
    do throws(StreamConverter.Failure) {
      converter = try StreamConverter(
        from: .pcm(reader.format), to: .pcm(writer.input), options)
    } catch {
      throw SoundFileError(
        .notSupported("the sound cannot be converted: \(error)"), path: reader.path)
    }
    let source = FrameMemory(reader.format, capacity: Self.framesAtOnce)
    let sink = FrameMemory(writer.input, capacity: Self.framesAtOnce)
    var next = part.lowerBound
    var written: Int64 = 0
    while next < part.upperBound {
      guard progress(Double(next - part.lowerBound) / Double(part.count)) else { return nil }
      let wanted = Int(min(Int64(Self.framesAtOnce), part.upperBound - next))
      let count = try unsafe reader.read(startingAt: next, frames: wanted, into: source.bytes)
      guard count > 0 else {
        throw SoundFileError(.damaged("it ended early, after \(next) frames"), path: reader.path)
      }
      next += Int64(count)
      written += try convert(
        source, count, isLast: next == part.upperBound, with: converter, by: sink, to: writer)
    }
    try writer.close()
    return written
  }

  /// Converts frames and writes what comes out.
  private func convert(
    _ source: FrameMemory, _ count: Int, isLast: Bool, with converter: StreamConverter,
    by sink: FrameMemory, to writer: SoundWriter
  ) throws(SoundFileError) -> Int64 {
    var input = StreamConverter.Source.frames(source.buffers, count: count, isLast: isLast)
    var written: Int64 = 0
    while true {
      var output = StreamConverter.Sink.frames(sink.buffers, room: Self.framesAtOnce)
      do throws(StreamConverter.Failure) {
        try converter.convert(&input, into: &output)
      } catch {
        throw SoundFileError(
          .notSupported("the sound cannot be converted: \(error)"), path: reader.path)
      }
      try unsafe writer.write(
        .init(rebasing: sink.bytes[..<(output.count * writer.input.bytesPerFrame)]))
      written += Int64(output.count)
      if !output.isFull { return written }
    }
  }

  /// One channel goes to all, all go to one in equal parts; else the first ones are taken.
  private static func mix(of input: Int, to output: Int) -> ChannelMix? {
    if input == 1 { return .map(Array(repeating: 0, count: output)) }
    if output == 1 { return .mix(Array(repeating: [1 / Float(input)], count: input)) }
    return nil
  }

  /// Copies the packets as they are.
  private func copy(
    into store: FileStore, progress: (Double) -> Bool
  ) throws(SoundFileError) -> Int64? {
    let old = reader.file
    let new = try MediaFile.create(store, container: kind.container, format: old.format)
    if !old.cookie.isEmpty { try new.setCookie(old.cookie) }
    try new.copyMetadata(of: old)
    var next: Int64 = 0
    var memory = [UInt8](repeating: 0, count: max(1 << 16, old.packetSizeUpperBound))
    var extents: [PacketExtent] = []
    while next < old.packetCount {
      guard progress(Double(next) / Double(old.packetCount)) else { return nil }
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
    if let table = old.packetTable { try new.setPacketTable(table) }
    try new.close()
    return reader.frames
  }

  /// What was done, in one line.
  func summary(_ frames: Int64) -> String {
    let seconds = exactClock(Double(frames) / target.sampleRate)
    let way = copies ? ", packets copied" : ""
    return "\(output): \(kind.container): \(target.words), \(frames) frames (\(seconds))\(way)"
  }
}

/// Memory for frames of one format.
@safe
private final class FrameMemory {
  let bytes: UnsafeMutableRawBufferPointer
  let buffers: SampleBuffers

  init(_ format: PCMFormat, capacity: Int) {
    unsafe bytes = .allocate(byteCount: capacity * format.bytesPerFrame, alignment: 16)
    guard let start = unsafe bytes.baseAddress,
      let buffers = unsafe SampleBuffers(format, at: [start])
    else { preconditionFailure("only formats that can be read come here") }
    self.buffers = buffers
  }

  deinit { unsafe bytes.deallocate() }
}

extension MediaFile {
  /// Takes over what another file says of its sound, as far as this one's kind has it.
  ///
  /// - Parameters:
  ///   - part: The part of the other's frames that this file has; nil for all.
  ///   - ratio: How many frames of this file go with one of the other's.
  fileprivate func copyMetadata(
    of other: MediaFile, from part: Range<Int64>? = nil, ratio: Double = 1
  ) throws(SoundFileError) {
    func moved(_ marker: MediaMarker) -> MediaMarker? {
      var marker = marker
      if let part {
        guard marker.position >= Double(part.lowerBound), marker.position <= Double(part.upperBound)
        else { return nil }
        marker.position -= Double(part.lowerBound)
      }
      marker.position *= ratio
      return marker
    }
    if let tags = try other.tags(), !tags.isEmpty, try self.tags() != nil { try setTags(tags) }
    // Packets' files of ours have neither.
    guard let new = pcm, let old = other.pcm else { return }
    if var list = try old.markers(), !list.markers.isEmpty, try new.markers() != nil {
      list.markers = list.markers.compactMap(moved)
      try new.setMarkers(list)
    }
    if var list = try old.regions(), !list.regions.isEmpty, try new.regions() != nil {
      for index in list.regions.indices {
        list.regions[index].markers = list.regions[index].markers.compactMap(moved)
      }
      list.regions.removeAll { $0.markers.isEmpty }
      try new.setRegions(list)
    }
  }
}
