import Foundation
import TestSupport
import Testing

/// MIDI from another client of PipeWire.
@Suite(.tags(.pipeWire, .program), .serialized) struct PipeWireMIDITests {
  /// Sound of the file that comes before the note is silenced by the gate. The gate of LV2 1.18.4 opens for
  /// the whole cycle of the note, that of 1.18.10 at the note's frame.
  @Test(arguments: Sink.allCases) func aNoteOpensAGateInItsCycle(sink: Sink) throws {
    try withTemporaryFolder { folder in
      let stage = try Stage(sink)
      let file = try writeNumbers("numbers.wav", in: folder, frames: 96_000)
      let (note, recording) = try play(
        file, "http://lv2plug.in/plugins/eg-midigate", offset: 611, in: folder, on: stage)
      let numbers = recording.samples[0].map { Int($0 * 0x1p24) }
      let heard = try require(numbers.firstIndex { $0 != 0 })
      expectTrue([note - 611, note].contains(heard), "note \(note), heard \(heard)")
      // From there on all of the file is heard.
      expectEqual(Array(numbers[heard...].prefix { $0 != 0 }), Array(numbers[heard]...96_000))
    }
  }

  @Test(arguments: Sink.allCases) func anInstrumentPlaysANoteOnItsFrame(sink: Sink) throws {
    try withTemporaryFolder { folder in
      let stage = try Stage(sink)
      let file = folder.appendingPathComponent("silence.wav").path
      try writeWave([[Float](repeating: 0, count: 96_000)], to: file)
      for offset in [0, 611, 1023] {
        let (note, recording) = try play(
          file, "http://drobilla.net/plugins/mda/DX10", offset: offset, in: folder, on: stage)
        expectEqual(recording.samples[0].firstIndex { $0 != 0 }, note)
      }
    }
  }

  /// Plays a file through a plugin that gets a note, `offset` frames into a cycle.
  ///
  /// - Returns: What the sink heard, and the frame of the note in it.
  private func play(
    _ file: String, _ plugin: String, offset: Int, in folder: URL, on stage: Stage
  ) throws -> (note: Int, PeerRecording) {
    let key = try JackPeer.key(offset: offset, on: stage.daemon)
    let capture = try JackPeer.capture(on: stage.daemon)
    let player = try Playing(
      [file, "--plugin", plugin, "--midi-in", "keys:out"], in: folder,
      environment: stage.daemon.environment.merging(
        ["LV2_PATH": "/usr/lib/lv2", "XDG_CACHE_HOME": folder.path]) { $1 })
    try player.wait(for: "start frame")
    usleep(800_000)
    key.strike()
    expectSuccess(try player.result())
    let frame = try key.endOfKey()
    let recording = try capture.end()
    // The keys, the player and the capture run on the sink's clock. The monitor is a cycle late.
    let note = try require(recording.index(ofCounter: frame)) + stage.daemon.period
    return (note, recording)
  }
}
