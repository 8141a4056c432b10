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

  /// The texts of an SVG file, which must be well-formed.
  private final class SVGReader: NSObject, XMLParserDelegate {
    var texts: [String] = []
    var elements: [String: Int] = [:]
    private var text: String?
    static func read(_ svg: String) throws -> SVGReader {
      let reader = SVGReader()
      let parser = XMLParser(data: Data(svg.utf8))
      parser.delegate = reader
      #expect(parser.parse(), "\(parser.parserError as Any)")
      return reader
    }
    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
      qualifiedName: String?, attributes: [String: String]
    ) {
      elements[name, default: 0] += 1
      text = name == "text" ? "" : nil
    }
    func parser(_ parser: XMLParser, foundCharacters string: String) { text? += string }
    func parser(
      _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
      qualifiedName: String?
    ) {
      if name == "text", let text { texts.append(text) }
      text = nil
    }
  }

  @Test func theGraphHasTheSignalFlow() throws {
    let graph = SessionGraph(try mix())
    func index(_ name: String) throws -> Int {
      try #require(graph.nodes.firstIndex { $0.name == name })
    }
    for (from, to) in [
      ("drums", "band"), ("chords", "tone"), ("tone", "band"), ("band", "main"),
      ("main", "limiter"), ("limiter", "system:playback_2"),
    ] {
      let edge = SessionGraph.Edge(from: try index(from), to: try index(to))
      #expect(graph.edges.contains(edge), "\(from) -> \(to)")
      #expect(graph.nodes[edge.from].column < graph.nodes[edge.to].column)
    }
    #expect(graph.edges.count == 8 && graph.nodes.count == 9)
    let dot = graph.dot
    #expect(dot.hasPrefix("digraph session {\n") && dot.hasSuffix("}\n"))
    #expect(dot.contains("n5 -> n6;") && dot.contains("[label=\"band\\n-1 dB\", shape=hexagon"))
  }

  @Test func aSessionWithCyclesIsDrawnToo() throws {
    var document = SessionDocument()
    for (name, next) in [("a", "b"), ("b", "c"), ("c", "a")] {
      var bus = SessionBus(name: name)
      bus.bus = next
      document.buses.append(bus)
    }
    let graph = SessionGraph(document)
    #expect(graph.edges.count == 3)
    _ = try SVGReader.read(graph.picture.svg)
  }

  @Test func namesAreWrittenSafely() throws {
    var document = SessionDocument()
    let name = "<script>&\"'"
    document.tracks = [SessionTrack(name: name, files: ["a\"b\\.wav"])]
    let graph = SessionGraph(document)
    #expect(try SVGReader.read(graph.picture.svg).texts.first == name)
    #expect(graph.dot.contains("[label=\"<script>&\\\"'\\na\\\"b\\\\.wav\""))
    // A name may have what XML does not allow at all.
    document.tracks[0].name = "a\u{FFFF}b"
    #expect(try SVGReader.read(SessionGraph(document).picture.svg).texts.first == "a?b")
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
    #expect(timeline.seconds == 6.5)
    let clips = timeline.lanes.map(\.clips)
    #expect(clips[0].map(\.start) == [2, 5] && clips[0].map(\.length) == [3, 1.5])
    #expect(clips[0].map(\.from) == [4, 0] && clips[0].map(\.to) == [10, 3])
    #expect(clips[1].map(\.start) == [3, 4, 5, 6] && clips[1].map(\.length) == [1, 1, 1, 0.5])
    #expect(clips[1].map(\.isRepeated) == [false, true, true, true])
    #expect(timeline.lanes[0].missing == ["missing.wav"] && timeline.lanes[1].isSilent)
    let svg = try SVGReader.read(timeline.picture.svg)
    #expect(svg.texts.contains("loop") && svg.texts.contains("silent"))
    #expect(svg.texts.contains("6 s") && svg.texts.contains("2"))
    #expect(svg.texts.contains { $0.hasPrefix("cannot read mi") })
    _ = SessionTimeline(SessionDocument(), waveforms: Ramps()).picture.svg
  }

  @Test func thePNGShowsWhatTheSVGDescribes() throws {
    let picture = SessionGraph(try mix()).picture
      .above(SessionTimeline(try mix(), waveforms: Ramps()).picture)
    let pixels = try PNGPixels(try #require(picture.png))
    #expect(Double(pixels.width) == picture.width && Double(pixels.height) == picture.height)
    func color(_ x: Double, _ y: Double) -> UInt32 { pixels.color(Int(x), Int(y)) }
    #expect(color(1, 1) == 0xFFFFFF)
    // The middle of each large polygon that no other covers.
    var checked = 0
    for mark in picture.marks {
      guard case .polygon(let points, let fill) = mark, points.count == 4 else { continue }
      #expect(color(points[0].x + 4, points[2].y - 4) == UInt32(fill.css.dropFirst(), radix: 16))
      checked += 1
    }
    #expect(checked == 12)
    // The ramp's end is high, its beginning is low.
    let lane = try #require(
      picture.marks.compactMap { mark -> [PicturePoint]? in
        if case .polygon(let points, _) = mark, points.count > 100 { return points }
        return nil
      }.first)
    let (left, right) = (lane[0].x, lane[lane.count / 2 - 1].x)
    #expect(color(right - 20, lane[0].y - 15) == 0x3F78B0)
    #expect(color(left + 20, lane[0].y - 15) == 0xE3EEF9)
    // There is ink where the names are.
    let names = (30..<90).contains { x in color(Double(x), 32) != 0xD6E8FA }
    #expect(names)
  }

  @Test func aPictureTooLargeForPNGIsRefused() {
    #expect(Picture(width: 10, height: 16001).png == nil)
    #expect(Picture(width: 10, height: 10).png?.count ?? 0 > 50)
  }

  @Test func everyCharacterOfASCIIHasAGlyph() {
    for value in 0x21..<0x7F as Range<UInt32> {
      let glyph = StrokeFont.glyph(Unicode.Scalar(value)!)
      #expect(!glyph.strokes.isEmpty, "\(value)")
      for point in glyph.strokes.joined() {
        #expect((0...6).contains(point.x) && (0...8).contains(point.y), "\(value)")
      }
    }
    #expect(StrokeFont.glyph("é").strokes == StrokeFont.glyph("e").strokes)
    #expect(StrokeFont.width(of: "音", size: 10) > 0)
    #expect(StrokeFont.fitted("A long name of a track", size: 13, width: 60).hasSuffix("..."))
  }
}
