import FileSupport
import Foundation
import FoundationXML
import TestSupport
import Testing

@testable import Pictures
@testable import Sessions

@Suite struct SessionPictureTests {
  /// Ramps of ten seconds for all files but “missing”.
  private struct Ramps: SessionWaveforms {
    func waveform(of file: String) -> SessionWaveform? {
      if file.contains("missing") { return nil }
      return SessionWaveform(
        seconds: 10, peaks: (0..<100).map { -Float($0) / 100...Float($0) / 100 })
    }
  }

  private func mix() throws -> SessionDocument {
    let path = repository.appendingPathComponent("sessions/mix/session.json")
    return try SessionStore.parse(Array(Data(contentsOf: path)), path: path.path)
  }

  /// Returns the marks of a picture with the distance by which they are moved down.
  private func marks(of picture: Picture) -> [(mark: Picture.Mark, down: Double)] {
    picture.marks.flatMap { mark -> [(mark: Picture.Mark, down: Double)] in
      if case .moved(let marks, let down) = mark { return marks.map { ($0, down) } }
      return [(mark, 0)]
    }
  }

  private func texts(of picture: Picture) -> [String] {
    marks(of: picture).compactMap {
      if case .text(let text, _, _, _, _, _) = $0.mark { return text }
      return nil
    }
  }

  @Test func theGraphHasTheSignalFlow() throws {
    let graph = SessionGraph(try mix())
    func index(_ name: String) throws -> Int {
      try require(graph.nodes.firstIndex { $0.name == name })
    }
    for (from, to) in [
      ("drums", "band"), ("chords", "tone"), ("tone", "band"), ("band", "main"),
      ("main", "limiter"), ("limiter", "system:playback_2"),
    ] {
      let edge = SessionGraph.Edge(from: try index(from), to: try index(to))
      expectTrue(graph.edges.contains(edge), "\(from) -> \(to)")
      expectTrue(graph.nodes[edge.from].column < graph.nodes[edge.to].column)
    }
    expectTrue(graph.edges.count == 8 && graph.nodes.count == 9)
    let dot = graph.dot
    expectTrue(dot.hasPrefix("digraph session {\n") && dot.hasSuffix("}\n"))
    expectTrue(dot.contains("n5 -> n6;") && dot.contains("[label=\"band\\n-1 dB\", shape=hexagon"))
  }

  @Test func aSessionWithCyclesIsDrawnToo() throws {
    var document = SessionDocument()
    for (name, next) in [("a", "b"), ("b", "c"), ("c", "a")] {
      var bus = SessionBus(name: name)
      bus.bus = next
      document.buses.append(bus)
    }
    let graph = SessionGraph(document)
    expectTrue(graph.edges.count == 3 && texts(of: graph.picture) == ["a", "b", "c"])
  }

  @Test func namesAreWrittenSafely() throws {
    var document = SessionDocument()
    let name = "<script>&\"'"
    document.tracks = [SessionTrack(name: name, files: ["a\"b\\.wav"])]
    let graph = SessionGraph(document)
    expectTrue(graph.dot.contains("[label=\"<script>&\\\"'\\na\\\"b\\\\.wav\""))
    // cairo refuses some characters, and a zero ends a text in C.
    document.tracks[0].name = name + "\u{0}\u{FFFF}\u{1B}b"
    for format in PictureFormat.allCases {
      expectTrue(try SessionGraph(document).picture.file(format).count > 500)
    }
    let svg = try SessionGraph(document).picture.file(.svg)
    expectTrue(XMLParser(data: Data(svg)).parse())
    var plain = document
    plain.tracks[0].name = name + "???b"
    let files = try [document, plain].map { try SessionGraph($0).picture.file(.png) }
    expectEqual(files[0], files[1])
  }

  @Test func theTimelineHasEachClipAtItsTime() throws {
    var document = SessionDocument()
    document.sampleRate = 48000
    document.transport.bpm = 60
    var row = SessionTrack(name: "row", files: ["a.wav", "missing.wav", "b.wav"])
    row.trimStart = 4
    row.trimEnd = 13
    row.rate = 2
    row.start = .frame(96000)
    var loop = SessionTrack(name: "loop", files: ["c.wav"])
    loop.trimEnd = 1
    loop.loop = true
    loop.start = .beat(3)
    loop.mute = true
    document.tracks = [row, loop]
    let timeline = SessionTimeline(document, waveforms: Ramps())
    expectEqual(timeline.seconds, 6.5)
    let clips = timeline.lanes.map(\.clips)
    expectTrue(clips[0].map(\.start) == [2, 5] && clips[0].map(\.length) == [3, 1.5])
    expectTrue(clips[0].map(\.from) == [4, 0] && clips[0].map(\.to) == [10, 3])
    expectTrue(clips[1].map(\.start) == [3, 4, 5, 6] && clips[1].map(\.length) == [1, 1, 1, 0.5])
    expectEqual(clips[1].map(\.isRepeated), [false, true, true, true])
    expectTrue(timeline.lanes[0].missing == ["missing.wav"] && timeline.lanes[1].isSilent)
    let texts = texts(of: timeline.picture)
    expectTrue(texts.contains("loop") && texts.contains("silent"))
    expectTrue(texts.contains("6 s") && texts.contains("2"))
    expectTrue(texts.contains("cannot read missing.wav"))
    _ = try SessionTimeline(SessionDocument(), waveforms: Ramps()).picture.file(.svg)
  }

  @Test(arguments: ["png", "svg"]) func theFileShowsTheMarks(format: String) throws {
    let picture = SessionGraph(try mix()).picture
      .above(SessionTimeline(try mix(), waveforms: Ramps()).picture)
    let pixels = try PicturePixels(
      picture.file(require(PictureFormat(rawValue: format))), format)
    expectTrue(Double(pixels.width) == picture.width && Double(pixels.height) == picture.height)
    func color(_ x: Double, _ y: Double) -> UInt32 { pixels.color(Int(x), Int(y)) }
    expectEqual(color(1, 1), 0xFFFFFF)
    // The middle of each large polygon that no other covers.
    var checked = 0
    for (mark, down) in marks(of: picture) {
      guard case .polygon(let points, let fill) = mark, points.count == 4 else { continue }
      let (x, y) = (points[0].x + 4, points[2].y + down - 4)
      expectEqual(color(x, y), UInt32(fill.css.dropFirst(), radix: 16))
      checked += 1
    }
    expectEqual(checked, 12)
    // The ramp's end is high, its beginning is low.
    let (lane, down) = try require(
      marks(of: picture).compactMap { mark, down -> ([PicturePoint], Double)? in
        if case .polygon(let points, _) = mark, points.count > 100 { return (points, down) }
        return nil
      }.first)
    let (left, right, y) = (lane[0].x, lane[lane.count / 2 - 1].x, lane[0].y + down - 15)
    expectEqual(color(right - 20, y), 0x3F78B0)
    expectEqual(color(left + 20, y), 0xE3EEF9)
    // There is ink where the names are.
    let names = (30..<90).contains { x in color(Double(x), 32) != 0xD6E8FA }
    expectTrue(names)
  }

  @Test func aPictureTooLargeForPNGIsRefused() throws {
    let long = Picture(width: 10, height: 16001)
    #expect(throws: PictureError.self) { try long.file(.png) }
    expectTrue(try long.file(.svg).count > 100)
    try expectEqual(PicturePixels(Picture(width: 9.5, height: 7).file(.png)).width, 10)
  }

  /// Returns the pixels of a text, white outside.
  private func pixels(of text: String, upTo width: Double = .infinity) throws -> PicturePixels {
    var picture = Picture(width: 300, height: 40)
    picture.text(text, 10, 24, size: 16, .ink, upTo: width)
    return try PicturePixels(picture.file(.png))
  }

  @Test func lettersHaveTheirAccentsAndLongTextsAreCutOff() throws {
    for (plain, accented) in [("e", "é"), ("S", "Š"), ("o", "ő")] {
      let both = try [plain, accented].map { try pixels(of: $0) }
      // The letter is the same below its accent.
      for y in 20..<40 { for x in 0..<40 { expectEqual(both[0].color(x, y), both[1].color(x, y)) } }
      expectTrue(both[0].bytes != both[1].bytes, "\(plain) \(accented)")
    }
    let name = "A long name of a track"
    let (whole, part) = (try pixels(of: name), try pixels(of: name, upTo: 60))
    func end(_ pixels: PicturePixels) -> Int {
      (0..<300).last { x in (0..<40).contains { pixels.color(x, $0) != 0xFFFFFF } } ?? 0
    }
    expectTrue(end(whole) > 120 && (50...70).contains(end(part)), "\(end(whole)) \(end(part))")
    try expectEqual(pixels(of: name, upTo: 1000).bytes, whole.bytes)
  }
}
