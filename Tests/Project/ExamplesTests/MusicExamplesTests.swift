import Foundation
import TestSupport
import Testing

/// The examples that play notes through SoundFonts.
@Suite(.tags(.server, .program), .serialized) struct MusicExamplesTests {
  /// The first frames of notes. Before each is silence.
  private func onsets(_ samples: [Float], from: Float = 1e-6) -> [Int] {
    var found: [Int] = []
    var quiet = 4800
    for (frame, sample) in samples.enumerated() {
      if abs(sample) > from {
        if quiet > 240 { found.append(frame) }
        quiet = 0
      } else {
        quiet += 1
      }
    }
    return found
  }

  private func built(_ name: String) throws -> String {
    try ProgramBuilds.shared.get().build(SwiftProgram(example: name)).path
  }

  /// A note goes from a program's port to the sound card.
  @Test func theKeyboardPlaysWhatComesIn() throws {
    try withTemporaryFolder { folder in
      let font = try TinySoundFont.sine.write(to: folder)
      let jack = try JackDaemon(period: 256, playbackPorts: 0)
      let card = try CaptureClient(on: jack, capacity: 96_000 * 20, isSoundCard: true)
      let keys = try Keys(on: jack)
      let program = try TypedProgram(
        try built("Keyboard"), ["-f", font, "keys"], on: jack, in: folder)
      try wait(for: "the keyboard") { program.output.contains("ready\n") }
      expectTrue(program.output.contains("listening to keys out\n"), program.output)
      card.arm()
      try require(card.wait(untilFrames: 1))
      let first = card.firstFrame &+ 24_000
      try keys.play([
        Keys.Message(first, [0x90, 69, 100]), Keys.Message(first &+ 12_000, [0x80, 69, 0]),
      ])
      try require(card.wait(untilFrames: 60_000))
      card.disarm()
      program.type("")
      let result = try program.end()
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      let onsets = onsets(card.samples(channel: 0))
      // The thread of Core MIDI hands the note on some periods later. A busy machine may lose frames before it.
      expectTrue(onsets.count == 1 && (22_000..<36_000).contains(onsets[0]), "\(onsets)")
    }
  }

  @Test func theSequencerLoopsFourBars() throws {
    try withTemporaryFolder { folder in
      let font = try TinySoundFont.constant.write(to: folder)
      let jack = try JackDaemon(period: 256, playbackPorts: 0)
      let card = try CaptureClient(on: jack, capacity: 96_000 * 20, isSoundCard: true)
      card.arm()
      // A beat has 7,200 frames, and an eighth note 3,600.
      let result = try run(
        built("LoopSequencer"), ["400", "2", font],
        environment: ["JACK_DEFAULT_SERVER": jack.name, "LD_LIBRARY_PATH": ""])
      card.disarm()
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      let onsets = onsets(card.samples(channel: 0), from: 1e-3)
      let first = onsets.first ?? 0
      expectEqual(onsets.count, 64)
      for (i, onset) in onsets.enumerated() {
        // FluidSynth's block, and the slope of its envelope.
        let late = onset - first - i * 3600
        expectTrue((-32..<96).contains(late), "note \(i): \(late) frames")
      }
    }
  }

  @Test func theRendererWritesASong() throws {
    try withTemporaryFolder { folder in
      let font = try TinySoundFont.constant.write(to: folder)
      let song = folder.appendingPathComponent("song.mid")
      // A note from beat 1 to beat 2.
      let track: [UInt8] = [96, 0x90, 60, 100, 96, 0x80, 60, 0, 0, 0xFF, 0x2F, 0]
      try Data(
        Array("MThd".utf8) + [0, 0, 0, 6, 0, 0, 0, 1, 0, 96] + Array("MTrk".utf8)
          + [0, 0, 0, UInt8(track.count)] + track
      ).write(to: song)
      let out = folder.appendingPathComponent("song.wav").path
      let result = try run(
        built("SongRenderer"), [song.path, out, font], environment: ["LD_LIBRARY_PATH": ""])
      expectTrue(result.status == 0 && result.output == "192000 frames\n", "\(result)")
      let raw = folder.appendingPathComponent("raw").path
      let decoded = try run(
        "ffmpeg", ["-v", "error", "-i", out, "-f", "f32le", "-c:a", "pcm_f32le", "-ac", "1", raw])
      try require(decoded.status == 0, "\(decoded)")
      let samples = try Data(contentsOf: URL(fileURLWithPath: raw))
        .withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
      expectEqual(onsets(samples), [24_001])
      let failed = try run(
        built("SongRenderer"), ["/no.mid", out], environment: ["LD_LIBRARY_PATH": ""])
      expectTrue(failed.status == 1 && failed.errors.contains("/no.mid"), "\(failed)")
    }
  }
}
