import Analysis
import Codecs
import Files
import RealTime
import Sessions
import System
import Timeline

/// The report of `cuejack info` on one file. The property names are the JSON keys, so they must not
/// change.
struct FileReport: Encodable {
  let path: String
  /// Name of the container.
  let container: String
  /// Description of the sample format or codec.
  let format: String
  /// The formats in which the sound can be decoded.
  let formats: [String]
  /// Name of the encoding that is decoded to `format`; absent for other sound.
  let coding: String?
  /// Significant bits of a sample; absent for lossy codecs.
  let bitsPerSample: Int?
  /// Significant bits of a sample before encoding; absent if the file does not give them.
  let sourceBits: Int?
  /// "signed integer", "unsigned integer" or "float"; absent for packets of a codec.
  let sampleType: String?
  /// "big" or "little"; absent for packets of a codec.
  let byteOrder: String?
  let channels: Int
  /// Roles of the channels; absent if the file does not give them.
  let layout: [String]?
  /// The Core Audio layout tag; absent if the file has none.
  let layoutTag: UInt32?
  /// Frames per second.
  let sampleRate: Double
  /// Valid frames; absent if the file does not give them.
  let frames: Int64?
  /// Duration in seconds.
  let duration: Double?
  /// "exact", "estimated" or "unknown": what `frames` and `duration` are.
  let length: String
  /// Size of the file in bytes.
  let size: Int64
  /// True if the file is truncated or damaged.
  let truncated: Bool
  /// Bits per second.
  let bitRate: Double
  /// Bytes of sound, without header and tags.
  let soundBytes: Int64
  /// Offset of the sound in bytes; 0 if a library decodes it to `format`, which does not report it.
  let dataOffset: Int64
  /// Number of packets; absent if they would have to be decoded. A packet of linear PCM is a frame.
  let packets: Int64?
  /// Absent if it varies.
  let framesPerPacket: Int?
  /// Absent if it varies.
  let bytesPerPacket: Int?
  /// Bytes of the largest packet.
  let largestPacket: Int
  /// Priming and remainder frames; absent if the file does not give them.
  let primingFrames: Int?
  let remainderFrames: Int?
  /// Bytes of the magic cookie.
  let cookieSize: Int
  /// True if the file can be played while it is being downloaded.
  let optimized: Bool
  /// Ids of the file's chunks in order; absent if the container has none.
  let chunks: [String]?
  /// Bytes of the ID3 tag; absent if there is none.
  let id3TagSize: Int?
  let tags: [String: String]
  /// The figures of ReplayGain or R128 tags; absent if there are none.
  let replayGain: ReplayGainReport?
  let markers: [Marker]
  let regions: [Region]
  /// Absent unless they were asked for.
  let loudness: Loudness?
  let checksum: Checksum?

  /// Loudness by EBU R 128, and peaks; null for silence, or what is too short.
  struct Loudness: Encodable {
    /// LUFS.
    let integrated: Double?
    /// LU.
    let range: Double?
    /// Decibels of full scale.
    let truePeak: Double?
    let samplePeak: Double?
    /// Samples at full scale.
    let clips: UInt64

    init(_ figures: SoundFigures) {
      integrated = figures.integrated.map(hundredths)
      range = figures.range.map(hundredths)
      truePeak = decibels(figures.truePeak).map(hundredths)
      samplePeak = decibels(figures.samplePeak).map(hundredths)
      clips = figures.clippedSamples
    }

    private enum CodingKeys: CodingKey {
      case integrated, range, truePeak, samplePeak, clips
    }

    /// Keeps null values, which an optional property would leave out.
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(integrated, forKey: .integrated)
      try container.encode(range, forKey: .range)
      try container.encode(truePeak, forKey: .truePeak)
      try container.encode(samplePeak, forKey: .samplePeak)
      try container.encode(clips, forKey: .clips)
    }

    var words: String {
      func text(_ value: Double?) -> String { value.map(decimal) ?? "-inf" }
      return "\(text(integrated)) LUFS, range \(text(range)) LU, true peak \(text(truePeak)) dBTP, "
        + "sample peak \(text(samplePeak)) dB, clips: \(clips)"
    }
  }

  /// The sum of the decoded samples.
  struct Checksum: Encodable {
    let sha256: String
    /// FFmpeg's name of their form: s32le, f32le or f64le.
    let samples: String
  }
  /// Broadcast metadata (the chunk 'bext'); absent if there is none.
  let broadcast: BroadcastReport?

  struct Marker: Encodable {
    /// Frames from the start of the sound.
    let frame: Double
    let name: String?
    let id: Int32
    /// The four-character code of the type; absent for a generic marker.
    let type: String?
    /// Channel number, starting at 1; absent for all channels.
    let channel: UInt16?
    init(_ marker: MediaMarker) {
      frame = marker.position
      name = marker.name
      id = marker.id
      type = marker.type == 0 ? nil : ChunkID(marker.type).description
      channel = marker.channel == 0 ? nil : marker.channel
    }
  }

  struct Region: Encodable {
    let name: String?
    let id: UInt32
    let loops: Bool
    let markers: [Marker]
    init(_ region: MediaRegion) {
      name = region.name
      id = region.id
      loops = region.flags.contains(.loops)
      markers = region.markers.map(Marker.init)
    }
  }

  init(_ file: any MediaFile, _ measurement: Measurement) throws(SoundFileError) {
    loudness = measurement.figures.map(Loudness.init)
    checksum = measurement.checksum
    let table = try file.packetTable
    path = file.path
    container = file.containerName
    coding = file.coding
    switch file.format {
    case .pcm(let pcm):
      format = pcm.summary
      bitsPerSample = pcm.bitsPerSample
      sampleType = pcm.sampleType
      byteOrder = pcm.isBigEndian ? "big" : "little"
      framesPerPacket = 1
      bytesPerPacket = pcm.bytesPerFrame
    case .packets(let packets):
      format = packets.summary
      bitsPerSample = packets.bitsPerSample > 0 ? packets.bitsPerSample : nil
      sampleType = nil
      byteOrder = nil
      framesPerPacket = packets.framesPerPacket > 0 ? packets.framesPerPacket : nil
      bytesPerPacket = packets.bytesPerPacket > 0 ? packets.bytesPerPacket : nil
    }
    formats = [file.format.summary]
    sourceBits = file.sourceBits > 0 ? file.sourceBits : nil
    channels = file.format.channels
    layoutTag = try file.channelLayoutTag
    layout = file.decodedChannelRoles?.map(\.description)
    sampleRate = file.format.sampleRate
    // A measurement reads all of the sound, so that the file can count its frames exactly.
    if measurement.figures != nil || measurement.checksum != nil { _ = try file.frameCount }
    switch try file.length {
    case .exact(let count): (frames, length) = (count, "exact")
    case .estimated(let count): (frames, length) = (count, "estimated")
    case .unknown: (frames, length) = (nil, "unknown")
    }
    duration = frames.map { [sampleRate] in Double($0) / sampleRate }
    size = try file.fileBytes
    truncated = file.warning != nil
    bitRate = try file.bitRate
    soundBytes = try file.byteCount
    dataOffset = try file.dataOffset
    packets = length == "exact" ? try file.packetCount : nil
    largestPacket = try file.maximumPacketBytes
    primingFrames = table?.primingFrames
    remainderFrames = table?.remainderFrames
    cookieSize = file.cookie.count
    optimized = try file.isOptimized
    tags = try file.tags() ?? [:]
    replayGain = ReplayGainReport(try file.replayGain())
    chunks = file.chunked?.chunkIDs.map(\.description)
    id3TagSize = try file.id3Tag?.count
    markers = try file.chunked?.markers()?.markers.map(Marker.init) ?? []
    regions = try file.chunked?.regions()?.regions.map(Region.init) ?? []
    broadcast = try file.chunked?.broadcastInfo().map {
      BroadcastReport($0, file.format.sampleRate)
    }
  }

  /// The report as lines of text.
  var words: String {
    var channelWords = "\(channels)"
    if let layout { channelWords += " (\(layout.joined(separator: ", ")))" }
    var rows = [
      ("container", container),
      ("format", format),
      ("channels", channelWords),
      ("rate", hertz(sampleRate)),
      ("duration", durationWords),
      ("bit rate", "\(Int64(held: bitRate.rounded())) bits per second"),
      ("size", sizeWords),
    ]
    if let coding { rows.append(("coding", "\(coding), decoded")) }
    if let sourceBits, sourceBits != bitsPerSample { rows.append(("source", "\(sourceBits)-bit")) }
    if sampleType == nil { rows.append(("packets", packetWords)) }
    if let primingFrames, let remainderFrames {
      rows.append(
        ("padding", "\(primingFrames) frames before the sound, \(remainderFrames) after it"))
    }
    if cookieSize > 0 { rows.append(("cookie", "\(cookieSize) bytes")) }
    if !optimized { rows.append(("order", "not optimized: the sound is not what comes last")) }
    if let chunks { rows.append(("chunks", chunks.joined(separator: ", "))) }
    if let id3TagSize { rows.append(("ID3 tag", "\(id3TagSize) bytes")) }
    rows += tags.sorted { $0.key < $1.key }.map { ("tag", "\($0.key): \($0.value)") }
    if let replayGain { rows += replayGain.rows }
    rows += markers.map { ("marker", words(for: $0)) }
    rows += broadcast?.rows ?? []
    for region in regions {
      let positions = region.markers.map(words(for:)).joined(separator: ", ")
      rows.append(("region", region.name.map { "\($0): \(positions)" } ?? positions))
    }
    if let loudness { rows.append(("loudness", loudness.words)) }
    if let checksum { rows.append(("SHA-256", "\(checksum.sha256) (\(checksum.samples))")) }
    let lines = rows.map { name, value in
      "  \(name):\(String(repeating: " ", count: 10 - name.count))\(printable(value))"
    }
    return ([printable(path)] + lines).joined(separator: "\n")
  }

  private var durationWords: String {
    guard let duration, let frames else { return "not known" }
    return "\(length == "exact" ? "" : "about ")\(exactClock(duration)) (\(frames) frames)"
  }

  private var sizeWords: String {
    guard sampleType == nil || dataOffset > 0 else { return "\(size) bytes" }
    return "\(size) bytes, \(soundBytes) of sound from byte \(dataOffset) on"
  }

  private var packetWords: String {
    let frames = framesPerPacket.map { "\($0) frames each" } ?? "of various lengths"
    let bytes =
      bytesPerPacket.map { "\($0) bytes each" } ?? "\(largestPacket) bytes at the most"
    return "\(packets ?? 0), \(frames), \(bytes)"
  }

  private func words(for marker: Marker) -> String {
    let frame =
      marker.frame == marker.frame.rounded() && abs(marker.frame) < 1e15
      ? "\(Int64(marker.frame))" : "\(marker.frame)"
    return marker.name.map { "\(frame) (\($0))" } ?? frame
  }
}
