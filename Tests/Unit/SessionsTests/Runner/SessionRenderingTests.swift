import FileSupport
import Foundation
import Server
import SessionSupport
import TestSupport
import Testing

@testable import Sessions

/// Rendered sessions, and the same on a server.
@Suite(.tags(.server), .serialized) struct SessionRenderingTests {
  /// Renders a session, and returns the samples of a file's channels.
  private func render(
    _ document: SessionDocument, in folder: URL, _ name: String = "out.wav",
    _ edit: (inout SessionRendering.Options) -> Void = { _ in }
  ) throws -> [SessionRendering.Result] {
    var options = SessionRendering.Options()
    options.sampleRate = 48000
    edit(&options)
    let rendering = try SessionRendering(
      document, in: try SessionFolder(opening: folder.path),
      to: folder.appendingPathComponent(name).path, options, onMessage: { _ in })
    return try require(try rendering.run(isStopped: { false }))
  }

  @Test func theSumOfAllTracksIsWritten() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 100_001, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 60000, seed: 2)
      var document = session([("a", [a]), ("b", [b])])
      document.tracks[1].start = .frame(3333)
      document.tracks[1].volume = -20
      let results = try render(document, in: folder)
      expectEqual(results.map(\.frames), [100_001])
      let heard = try samples(results[0].path)
      for channel in 0..<2 {
        var sum = a.samples[channel]
        for (index, sample) in b.samples[0].enumerated() { sum[3333 + index] += sample * 0.1 }
        expectEqual(heard[channel], sum)
      }
    }
  }

  @Test func stemsAreFilesOfTheirOwn() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 5000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 4000, seed: 2)
      let results = try render(session([("a", [a]), ("b", [b])]), in: folder, "all.wav") {
        $0.stems = true
      }
      expectEqual(
        results.map { ($0.path as NSString).lastPathComponent }, ["all-a.wav", "all-b.wav"])
      try expectEqual(samples(results[0].path), a.samples)
      try expectEqual(samples(results[1].path)[0].prefix(4000), b.samples[0][...])
    }
  }

  /// Four chains of plugins on two threads: the same bits as on one.
  @Test func threadsChangeNoBit() throws {
    try withTemporaryFolder { folder in
      let files = try (0..<4).map {
        try WaveFile("\($0).wav", in: folder, frames: 48_000 + $0, seed: UInt64($0 + 1))
      }
      var document = session(files.enumerated().map { ("\($0)", [$1]) })
      for name in ["Ambience", "Dynamics", "Leslie"] {
        let uri = "http://drobilla.net/plugins/mda/\(name)"
        try validate(uri)
        for track in 0..<4 {
          document.tracks[track].chain.append(SessionPlugin(id: "\(name)\(track)", uri: uri))
        }
      }
      let heard = try [1, 2].map { threads in
        let results = try render(document, in: folder, "\(threads)-threads.wav") {
          $0.threads = threads
        }
        return try samples(results[0].path)
      }
      expectTrue(heard[0].allSatisfy { $0.contains { $0 != 0 } })
      expectEqual(heard[0], heard[1])
    }
  }

  @Test func loopsNeedAnEnd() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 5000)
      var document = session([("a", [a])])
      document.tracks[0].loop = true
      #expect(throws: SessionRunError.self) { try render(document, in: folder) }
      let results = try render(document, in: folder) { $0.seconds = 0.25 }
      let heard = try samples(results[0].path)[0]
      expectEqual(heard, Array((a.samples[0] + a.samples[0] + a.samples[0])[..<12000]))
    }
  }

  @Test func anExistingFileStays() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 500)
      let before = try Data(contentsOf: URL(fileURLWithPath: a.path))
      #expect(throws: SessionRunError.self) {
        try render(session([("a", [a])]), in: folder, "a.wav")
      }
      try expectEqual(Data(contentsOf: URL(fileURLWithPath: a.path)), before)
    }
  }

  @Test func aRenderedSessionIsTheOneInFreewheel() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 60000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, rate: 44100, frames: 50000, seed: 2)
      var document = session([("a", [a]), ("b", [b]), ("c", [b, a])])
      document.tracks[0].fadeIn = 0.1
      document.tracks[2].rate = 1.3
      document.tracks[2].pitch = 200
      document.tracks[2].bus = "main"
      let uri = "http://lv2plug.in/plugins/eg-amp"
      try validate(uri)
      document.tracks[1].chain = [SessionPlugin(id: "amp", uri: uri)]
      document.tracks[1].volume = -7.3
      document.tracks[1].pan = 0.3
      document.buses = [SessionBus(name: "main")]
      document.tracks[0].bus = "main"
      document.tracks[1].bus = "main"
      func points(_ values: (Double, Double)...) -> [SessionPoint] {
        values.map { SessionPoint(.seconds($0.0), .number($0.1)) }
      }
      document.automation = [
        SessionCurve("tracks[c].gain", points((0.1, 0), (0.4, -20), (0.7, 3))),
        SessionCurve("buses[main].gain", points((0, 0), (0.31, -4)), .step),
        SessionCurve("tracks[a].pan", points((0, -1), (1.1, 1))),
        SessionCurve("tracks[b].chain[amp].parameters.gain", points((0.2, -4), (0.6, -30))),
      ]
      let rendered = try samples(render(document, in: folder)[0].path)

      let jack = try JackDaemon(rate: 48000, period: 1024)
      let capture = try CaptureClient(on: jack, capacity: 20 * 48000)
      let engine = try SessionEngine(
        document, in: try SessionFolder(opening: folder.path), on: JackServer(named: jack.name),
        SessionEngine.Options(clientName: "session", connectsToCard: false))
      defer { engine.close() }
      for channel in 1...2 {
        try capture.connect("session:main_\(channel)", toInput: channel)
      }
      capture.arm()
      try engine.start(Array(engine.groupNames.indices))
      try capture.setFreewheel(true)
      try wait(for: "the end") {
        engine.service()
        return !engine.isPlaying
      }
      try capture.setFreewheel(false)
      for channel in 0..<2 {
        let heard = capture.samples(channel: channel)
        // The fade begins with a gain of nothing.
        let first = try require(rendered[1 - channel].isEmpty ? nil : find(rendered, in: capture))
        expectEqual(
          Array(heard[first..<first + rendered[channel].count]), rendered[channel],
          "channel \(channel + 1)")
      }
    }
  }

  /// Returns the frame of a capture at which a rendered sound begins.
  private func find(_ rendered: [[Float]], in capture: CaptureClient) -> Int? {
    guard let first = rendered[0].firstIndex(where: { $0 != 0 }),
      let heard = capture.samples(channel: 0).firstIndex(where: { $0 != 0 }), heard >= first
    else { return nil }
    return heard - first
  }
}

/// Returns the samples of a rendered file, which are floats, channel by channel.
func samples(_ path: String) throws -> [[Float]] {
  let reader = try SoundReader(path: path)
  let channels = reader.format.channels
  var memory = [Float](repeating: 0, count: Int(reader.frames) * channels)
  let count = try memory.withUnsafeMutableBytes {
    try reader.read(startingAt: 0, frames: Int(reader.frames), into: $0)
  }
  expectEqual(count, Int(reader.frames))
  return (0..<channels).map { channel in
    stride(from: channel, to: memory.count, by: channels).map { memory[$0] }
  }
}
