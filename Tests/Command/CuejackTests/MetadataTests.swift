import Codecs
import FileSupport
import Files
import Foundation
import RealTime
import Testing

/// Metadata that `cuejack convert` keeps, as `cuejack info` shows it.
@Suite(.tags(.program)) struct MetadataTests {
  private let folder: TemporaryFolder
  private let cuejack: String
  init() throws {
    folder = try TemporaryFolder()
    cuejack = try buildFolder() + "/cuejack"
  }

  private struct Shown: Decodable, Equatable {
    struct Marker: Decodable, Equatable {
      let frame: Double
      let name: String?
    }
    struct Region: Decodable, Equatable {
      let name: String?
      let loops: Bool
      let markers: [Marker]
    }
    let format: String
    let layout: [String]?
    let markers: [Marker]
    let regions: [Region]
    let chunks: [String]?
    let id3TagSize: Int?
  }

  private func info(_ name: String) throws -> Shown {
    let output = try tool(cuejack, ["info", "--json", folder.file(name)]).output
    return try require(JSONDecoder().decode([Shown].self, from: output).first)
  }

  private func convert(_ name: String, _ arguments: String...) throws {
    let words = arguments.enumerated().map { $0 == 0 ? folder.file($1) : $1 }
    try tool(cuejack, ["convert", folder.file(name)] + words)
  }

  /// Creates a CAF file of two seconds with two markers and a region.
  private func makeMarked() throws -> String {
    let format = PCMFormat(
      sampleRate: 48000, channels: 2, kind: .signedInteger, bitsPerSample: 16)
    let file = try MediaFiles.create(
      path: folder.file("marked.caf"), container: .caf, format: .pcm(format), isReplacing: false)
    let chunked = try require(file.chunked)
    try chunked.setMarkers(
      MediaMarkers(markers: [
        MediaMarker(position: 1000, name: "one", id: 1),
        MediaMarker(position: 48_000, name: "two", id: 2),
      ]))
    try chunked.setRegions(
      MediaRegions(regions: [
        MediaRegion(
          id: 3, name: "chorus", flags: .loops,
          markers: [
            MediaMarker(position: 2400, id: 4), MediaMarker(position: 72_000, id: 5),
          ])
      ]))
    let sound = Coding.s16.samples(2 * 96_000)
    try sound.withUnsafeBytes { try file.writeBytes(at: 0, from: $0) }
    try file.close()
    return "marked.caf"
  }

  /// In CAF files of packets and of linear PCM.
  @Test func markersAndRegionsAreShownAndKept() throws {
    let marked = try makeMarked()
    let markers = [
      Shown.Marker(frame: 1000, name: "one"), Shown.Marker(frame: 48_000, name: "two"),
    ]
    let first = try info(marked)
    expectEqual(first.markers, markers)
    let region = try require(first.regions.first)
    expectTrue(region.name == "chorus" && region.loops)
    expectEqual(region.markers.map(\.frame), [2400, 72_000])
    try convert(marked, "alac.caf", "--format", "alac")
    // Packets are copied and decoded.
    try convert("alac.caf", "copy.caf", "--format", "alac")
    try convert("alac.caf", "back.caf", "--format", "s16")
    try convert(marked, "aac.caf", "--format", "aac")
    for name in ["alac.caf", "copy.caf", "back.caf", "aac.caf"] {
      let shown = try info(name)
      expectTrue(shown.markers == markers && shown.regions == first.regions, "\(name)")
      expectEqual(shown.chunks?.contains("mark"), true, "\(name)")
    }
    // At half the rate, positions are halved. In an excerpt, they count from its start.
    try convert(marked, "half.caf", "--rate", "24000", "--format", "alac")
    try expectEqual(info("half.caf").markers.map(\.frame), [500, 24_000])
    try convert(marked, "part.caf", "--start", "0.5", "--format", "alac")
    try expectEqual(info("part.caf").markers.map(\.frame), [24_000])
    try convert(marked, "a.wav")
    try expectEqual(info("a.wav").markers, markers)
  }

  /// Layouts are kept in every file type that can store them; `ffprobe` confirms it where it reads
  /// them.
  @Test func theChannelsKeepTheirPlaces() throws {
    try tool(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i"]
        + ["anullsrc=r=48000:cl=5.1(side):d=0.5", "-c:a", "pcm_s24le", folder.file("six.wav")])
    let roles = ["left", "right", "centre", "low frequencies", "left side", "right side"]
    try expectEqual(info("six.wav").layout, roles)
    var last = "six.wav"
    for name in ["a.caf", "a.aiff", "a.w64", "a.flac", "alac.caf", "a.rf64"] {
      try convert(
        last, name, "--format", name == "alac.caf" ? "alac" : name == "a.flac" ? "flac" : "s24")
      try expectEqual(info(name).layout, roles, "\(name) of \(last)")
      if name != "alac.caf" {
        let probe = try tool(
          "ffprobe",
          ["-v", "error", "-show_entries", "stream=channel_layout", "-of", "csv=p=0"]
            + [folder.file(name)])
        expectEqual(probe.text, "5.1(side)\n", "\(name)")
      }
      last = name
    }
    // A layout is kept only with the same number of channels.
    try convert("six.wav", "two.caf", "--channels", "2")
    try expectNil(info("two.caf").layout)
    // An AU file cannot store a layout.
    try convert("six.wav", "a.au")
    try expectNil(info("a.au").layout)
  }

  @Test func anID3TagIsShown() throws {
    try convert(makeMarked(), "a.mp3")
    let size = try require(try info("a.mp3").id3TagSize)
    let file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.file("a.mp3"))))
    expectTrue(Array(file[..<3]) == Array("ID3".utf8) && file[size] == 0xFF)
    try expectNil(info("marked.caf").id3TagSize)
  }
}
