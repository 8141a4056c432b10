import ArgumentParser
import Codecs
import Files
import Foundation
import RealTime

/// `cuejack info`: what is in sound files.
struct Info: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Show what is in sound files.")

  @Flag(help: "Print an array of JSON objects, one for each file that can be read.")
  var json = false

  @Argument(help: "Sound files.")
  var files: [String]

  func run() throws {
    var reports: [FileReport] = []
    var failed = false
    for path in files {
      do throws(SoundFileError) {
        let file = try MediaFile.open(path: path)
        if let warning = file.warning { printError(warning) }
        let report = try FileReport(file)
        if json { reports.append(report) } else { print(report.words) }
      } catch {
        printError(error.description)
        failed = true
      }
    }
    if json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      print(String(decoding: try encoder.encode(reports), as: UTF8.self))
    }
    if failed { throw ExitCode.failure }
  }

  private func printError(_ message: String) {
    FileHandle.standardError.write(Data("cuejack: \(message)\n".utf8))
  }
}

/// What `cuejack info` says of one file. The names of the fields are the keys of the JSON: they stay.
struct FileReport: Encodable {
  let path: String
  /// The container's name.
  let container: String
  /// The coding in words.
  let format: String
  /// Significant bits of a sample; absent for lossy codecs.
  let bitsPerSample: Int?
  /// "signed integer", "unsigned integer" or "float"; absent for packets of a codec.
  let sampleType: String?
  /// "big" or "little"; absent for packets of a codec.
  let byteOrder: String?
  let channels: Int
  /// What each channel is for; absent if the file does not say.
  let layout: [String]?
  /// Frames per second.
  let sampleRate: Double
  /// Frames of sound.
  let frames: Int64
  /// Seconds.
  let duration: Double
  /// Bytes in the file.
  let size: Int64
  /// True if the file has fewer frames than its head says.
  let truncated: Bool
  /// Bits per second.
  let bitRate: Double
  /// Bytes of the sound, without head and tags.
  let soundBytes: Int64
  /// A packet of linear PCM is a frame.
  let packets: Int64
  /// Absent if that varies.
  let framesPerPacket: Int?
  /// Absent if that varies.
  let bytesPerPacket: Int?
  /// Bytes.
  let largestPacket: Int
  /// Frames that packets decode to before the sound and after it; absent if the file does not say.
  let primingFrames: Int?
  let remainderFrames: Int?
  /// Bytes that a decoder needs besides the packets.
  let cookieSize: Int
  /// True if nothing has to be moved for the file to be played while it is fetched.
  let optimized: Bool
  let tags: [String: String]
  let markers: [Marker]
  let regions: [Region]

  struct Marker: Encodable {
    /// Frames from the start of the sound.
    let frame: Double
    let name: String?
    init(_ marker: MediaMarker) {
      frame = marker.position
      name = marker.name
    }
  }

  struct Region: Encodable {
    let name: String?
    let markers: [Marker]
  }

  init(_ file: MediaFile) throws(SoundFileError) {
    let table = try file.packetTable
    path = file.path
    container = file.container.description
    switch file.format {
    case .pcm(let pcm):
      format = pcm.words
      bitsPerSample = pcm.bitsPerSample
      sampleType = pcm.sampleType
      byteOrder = pcm.isBigEndian ? "big" : "little"
      framesPerPacket = 1
      bytesPerPacket = pcm.bytesPerFrame
    case .packets(let packets):
      format = packets.words
      bitsPerSample = packets.bitsPerSample > 0 ? packets.bitsPerSample : nil
      sampleType = nil
      byteOrder = nil
      framesPerPacket = packets.framesPerPacket > 0 ? packets.framesPerPacket : nil
      bytesPerPacket = packets.bytesPerPacket > 0 ? packets.bytesPerPacket : nil
    }
    channels = file.format.channels
    layout = file.channelRoles?.map(\.description)
    sampleRate = file.format.sampleRate
    frames = try file.frameCount
    duration = Double(frames) / sampleRate
    size = try file.store.byteCount()
    truncated = file.warning != nil
    bitRate = try file.bitRate
    soundBytes = try file.byteCount
    packets = try file.packetCount
    largestPacket = try file.maximumPacketBytes
    primingFrames = table?.primingFrames
    remainderFrames = table?.remainderFrames
    cookieSize = file.cookie.count
    optimized = try file.isOptimized
    tags = try file.tags() ?? [:]
    markers = try file.pcm?.markers()?.markers.map(Marker.init) ?? []
    regions =
      try file.pcm?.regions()?.regions.map {
        Region(name: $0.name, markers: $0.markers.map(Marker.init))
      } ?? []
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
      ("duration", "\(exactClock(duration)) (\(frames) frames)"),
      ("bit rate", "\(Int64(bitRate.rounded())) bits per second"),
      ("size", "\(size) bytes"),
    ]
    if sampleType == nil { rows.append(("packets", packetWords)) }
    if let primingFrames, let remainderFrames {
      rows.append(
        ("padding", "\(primingFrames) frames before the sound, \(remainderFrames) after it"))
    }
    if cookieSize > 0 { rows.append(("cookie", "\(cookieSize) bytes")) }
    if !optimized { rows.append(("order", "not optimized: the sound is not what comes last")) }
    rows += tags.sorted { $0.key < $1.key }.map { ("tag", "\($0.key): \($0.value)") }
    rows += markers.map { ("marker", words(for: $0)) }
    for region in regions {
      let places = region.markers.map(words(for:)).joined(separator: ", ")
      rows.append(("region", region.name.map { "\($0): \(places)" } ?? places))
    }
    let lines = rows.map { name, value in
      "  \(name):\(String(repeating: " ", count: 10 - name.count))\(printable(value))"
    }
    return ([printable(path)] + lines).joined(separator: "\n")
  }

  private var packetWords: String {
    let frames = framesPerPacket.map { "\($0) frames each" } ?? "of various lengths"
    let bytes =
      bytesPerPacket.map { "\($0) bytes each" } ?? "\(largestPacket) bytes at the most"
    return "\(packets), \(frames), \(bytes)"
  }

  private func words(for marker: Marker) -> String {
    let frame =
      marker.frame == marker.frame.rounded() && abs(marker.frame) < 1e15
      ? "\(Int64(marker.frame))" : "\(marker.frame)"
    return marker.name.map { "\(frame) (\($0))" } ?? frame
  }
}
