import FileSupport
import Foundation
import SessionSupport
import TestSupport
import Testing

@testable import Graph
@testable import Sessions

/// The delays of tracks, buses and sends, to the frame.
@Suite(.serialized) struct OutputDelayTests {
  /// A track of 1 ms, on a bus of 2.5 ms, which is sent with 10 ms.
  private func document(_ file: WaveFile) -> SessionDocument {
    var document = session([("a", [file])])
    document.buses = [SessionBus(name: "main")]
    document.tracks[0].bus = "main"
    document.tracks[0].delay = 1
    document.buses[0].delay = 2.5
    document.sends = [SessionSend(name: "far", bus: "main", to: "127.0.0.1:9700")]
    document.sends[0].delay = 10
    return document
  }

  @Test func eachOutputIsLateByItsDelay() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 9000)
      let rig = try SessionRig(document(file), in: folder)
      expectEqual(rig.engine.portNames, ["main_1", "main_2"])
      try rig.engine.start(Array(rig.engine.groupNames.indices), at: 1536)
      rig.run(to: 12800)
      for (port, late) in [("main", 48 + 120), ("far", 48 + 480)] {
        for channel in 0..<2 {
          let name = "\(port)_\(channel + 1)"
          expectTrue(rig.samples(of: name, 0..<1536 + late).allSatisfy { $0 == 0 }, name)
          expectEqual(
            rig.samples(of: name, 1536 + late..<10536 + late), file.samples[channel], name)
        }
      }
      // A delay is no latency, which would delay what else is heard.
      expectEqual(rig.engine.session.latencyFrames, 0)
      expectEqual(rig.lines, [])
    }
  }

  /// The end of the sound is waited for, and rendered.
  @Test func theEndIsHeard() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 9000)
      var document = document(file)
      document.buses[0].delay = 500
      let late = 48 + 24000
      let rig = try SessionRig(document, in: folder)
      try rig.engine.start(Array(rig.engine.groupNames.indices), at: 1536)
      rig.run(to: 10752)
      try wait(for: "the end of the track") {
        rig.engine.service()
        return !rig.engine.isPlaying
      }
      expectTrue(!rig.engine.hasPlayedAll)
      rig.run(to: Int64(10752 + late + SessionRig.period))
      expectTrue(rig.engine.hasPlayedAll)

      var options = SessionRendering.Options()
      options.sampleRate = 48000
      let path = folder.appendingPathComponent("out.wav").path
      let rendering = try SessionRendering(
        document, in: try SessionFolder(opening: folder.path), to: path, options,
        onMessage: { _ in }
      )
      let results = try require(try rendering.run(isStopped: { false }))
      expectEqual(results.map(\.frames), [Int64(9000 + late)])
      let heard = try samples(path)
      for channel in 0..<2 {
        expectTrue(heard[channel].prefix(late).allSatisfy { $0 == 0 })
        expectEqual(Array(heard[channel].dropFirst(late)), file.samples[channel])
      }
    }
  }

  /// Old and new sound are crossfaded once the new delay line is full.
  @Test func aDelayMovesWhileTheSoundPlays() throws {
    try withTemporaryFolder { folder in
      // A slow sine has no steps: a click would be one.
      let sine = (0..<96000).map { Float(0.5 * sin(Double($0) * 2 * .pi / 4800)) }
      let path = folder.appendingPathComponent("sine.wav").path
      try writeWave([sine], to: path)
      var document = SessionDocument(name: "session")
      document.tracks = [SessionTrack(name: "a", files: [path])]
      let rig = try SessionRig(document, in: folder)
      try rig.engine.start(Array(rig.engine.groupNames.indices), at: 1536)
      rig.run(to: 8192)
      document.tracks[0].delay = 10
      try rig.engine.adopt(document)
      rig.run(to: 40960)
      let heard = rig.samples(of: "a_1", 1536..<40960)
      expectEqual(heard[..<6000], sine[..<6000])
      expectEqual(Array(heard[30000...]), Array(sine[30000 - 480..<39424 - 480]))
      let steps = zip(heard, heard.dropFirst()).map { abs($0 - $1) }
      expectTrue((steps.max() ?? 1) < 0.003, "\(steps.max() ?? 1)")
      // What else a send is, takes effect with the next run.
      document.sends = [SessionSend(name: "far", bus: "main", to: "127.0.0.1:9700")]
      #expect(throws: SessionRunError.self) { try rig.engine.adopt(document) }
    }
  }
}
