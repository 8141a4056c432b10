import Foundation
import TestSupport
import Testing

/// The example that plays what it records, and shows it.
@Suite(.tags(.server, .program)) struct ThruTests {
  /// A picture of a byte for each pixel, 255 where it is lit.
  private struct Picture {
    static let (width, height) = (640, 240)
    private let pixels: [UInt8]

    /// Waits for a PNG file and reads it.
    init(_ file: URL, in folder: URL) throws {
      let raw = folder.appendingPathComponent("\(UUID().uuidString).raw")
      try wait(for: file.path) {
        try run(
          "ffmpeg",
          ["-v", "error", "-y", "-i", file.path, "-f", "rawvideo", "-pix_fmt", "gray", raw.path]
        ).status == 0
      }
      pixels = Array(try Data(contentsOf: raw))
      try require(pixels.count == Self.width * Self.height)
    }

    /// The highest and the lowest lit line of a column; nil if it is dark.
    func lines(ofColumn column: Int) -> ClosedRange<Int>? {
      let lit = (0..<Self.height).filter { pixels[$0 * Self.width + column] == 255 }
      return lit.first.map { $0...lit.last! }
    }
  }

  /// Returns the first of the columns that reach highest, and the line that they reach.
  private func peak(_ columns: [ClosedRange<Int>?]) -> (column: Int, line: Int)? {
    guard let line = columns.compactMap({ $0?.lowerBound }).min(),
      let column = columns.firstIndex(where: { $0?.lowerBound == line })
    else { return nil }
    return (column, line)
  }

  @Test func theInputIsHeardInTheSameCycleAndShown() throws {
    let server = try JackDaemon(period: 1024, playbackPorts: 0, capturePorts: 0)
    let tone = try JackPeer.tone(hertz: 1000, amplitude: 0.5, offset: 0.1, on: server)
    let card = try CaptureClient(
      on: server, name: "card", channels: 4, capacity: 20 * server.rate, isSoundCard: true)
    // Beside what the program plays, the card records what the program hears.
    for channel in 1...2 { try card.connect("tone:out_\(channel)", toInput: 2 + channel) }
    try withTemporaryFolder { folder in
      try withExample("Thru", program: "thru") { program in
        let files = ["scope", "spectrum"].map { folder.appendingPathComponent("a \($0).png") }
        var pictures: [Picture] = []
        var output = ""
        let wrong = try unlessBusy(patience: 0.05) { () -> String? in
          card.arm()
          let thru = try TypedProgram(program, on: server, in: folder)
          try wait(for: "the program's ports") { card.connections(of: "card:in_1") != [] }
          // The transform takes 8192 frames.
          try card.wait(periods: 16, of: server)
          thru.type("scope \(files[0].path)", "spectrum \(files[1].path)", "spectrum", "mute")
          pictures = try files.map { try Picture($0, in: folder) }
          try card.wait(periods: 12, of: server)
          thru.type("mute")
          try card.wait(periods: 12, of: server)
          thru.type("filter")
          try card.wait(periods: 24, of: server)
          thru.type("sing")
          let result = try thru.end()
          card.disarm()
          expectTrue(
            result.status == 0 && result.errors == "thru: there is no command “sing”\n", "\(result)"
          )
          output = result.output
          return difference(ofSound: card.recording, period: server.period)
        }
        withExtendedLifetime(tone) {}
        expectNil(wrong, "\(wrong ?? "")")
        let (scope, spectrum) = (pictures[0], pictures[1])

        // The wave goes from -0.4 to 0.6, and repeats every 48 frames, each a column.
        let waves = (0..<Picture.width).map { scope.lines(ofColumn: $0) }
        let lines = waves.compactMap { $0 }
        expectEqual(lines.count, Picture.width)
        expectTrue((47...48).contains(lines.map(\.lowerBound).min() ?? 0))
        expectTrue((167...168).contains(lines.map(\.upperBound).max() ?? 0))
        let top = lines.map(\.lowerBound).min()!
        let crests = lines.indices.filter { lines[$0].lowerBound == top }
        let distances = zip(crests, crests.dropFirst()).map { $1 - $0 }.filter { $0 > 10 }
        expectTrue(distances.count >= 12 && distances.allSatisfy { (46...50).contains($0) })

        // The peak is at 1000 Hz and about -6 dB, of which the window may hide one.
        func column(_ width: Int) -> Int { Int(Double(width) * log2(1000 / 20) / log2(24000 / 20)) }
        let found = try require(peak((0..<Picture.width).map { spectrum.lines(ofColumn: $0) }))
        expectTrue(abs(found.column - column(Picture.width)) <= 1, "column \(found.column)")
        expectTrue((13...18).contains(found.line), "line \(found.line)")
        // On the terminal, in characters.
        let text = output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        expectTrue(text.count == 20 && text.allSatisfy { $0.count == 76 })
        let line = try require(text.firstIndex { $0.contains("#") })
        expectEqual(line, 1)
        let character = try require(text[line].firstIndex(of: "#"))
        expectTrue(
          abs(text[line].distance(from: text[line].startIndex, to: character) - column(76)) <= 1)
      }
    }
  }

  /// Says how a recording differs from the input, silence, the input again, and the input without DC,
  /// period by period; nil if it does not.
  private func difference(ofSound recording: [[Float]], period: Int) -> String? {
    var order: [String] = []
    var filtered: Int?
    for first in stride(from: 0, through: recording[0].count - period, by: period) {
      let blocks = recording.map { Array($0[first..<first + period]) }
      let kind: String
      if blocks[..<2].allSatisfy({ $0.allSatisfy { $0 == 0 } }) {
        kind = "silence"
      } else if blocks[0] == blocks[2], blocks[1] == blocks[3] {
        // Not a frame later than JACK's own connection.
        kind = "input"
      } else {
        kind = "other"
        filtered = filtered ?? first
      }
      if kind != order.last { order.append(kind) }
    }
    if order.last == "silence" { order.removeLast() }
    if order.first == "silence" { order.removeFirst() }
    guard order == ["input", "silence", "input", "other"], let filtered else { return "\(order)" }
    for channel in 0..<2 {
      var (input, output): (Float, Float) = (0, 0)
      let expected = recording[2 + channel][filtered...].map { sample in
        output = sample - input + 0.995 * output
        input = sample
        return output
      }
      // The program ends before the recording.
      let found = Array(recording[channel][filtered...])
      let count = (found.lastIndex { $0 != 0 } ?? 0) + 1
      guard count > 10 * period else { return "\(count) frames without DC" }
      let wrong = ExamplesTests.difference(
        Array(found[..<count]), Array(expected[..<count]), tolerance: 1e-6)
      if let wrong { return "without DC: \(wrong)" }
      // A hundred cycles of the sine have no sum.
      let mean = found[(count - 4800)..<count].reduce(0, +) / 4800
      guard abs(mean) < 1e-4 else { return "a DC of \(mean)" }
    }
    return nil
  }

  @Test func argumentsAreRefused() throws {
    try withExample("Thru", program: "thru") { program in
      let result = try run(program, ["loud"])
      expectTrue(result.status == 64 && result.errors == "usage: thru\n", "\(result)")
    }
  }
}
