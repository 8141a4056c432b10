import Files
import Foundation
import MIDI
import Server
import TestSupport
import Testing

/// MIDI files of `cuejack record`.
@Suite(.tags(.server, .program), .serialized) struct MIDIRecordTests {
  /// Each message is on its frame, from the start of the recording: the distances are those of the host times at
  /// which they were sent.
  @Test(arguments: [48_000, 44_100])
  func messagesAreRecordedOnTheirFrames(rate: Int) throws {
    // Cycles of a server that no processor runs are late, and frames with them.
    expectNil(try unlessBusy(patience: 0.002) { try differingTicks(at: rate) })
  }

  /// Records messages. Returns their ticks if they are not those of the times at which they were sent.
  private func differingTicks(at rate: Int) throws -> String? {
    let jack = try JackDaemon(rate: rate, period: 256)
    defer { jack.stop() }
    let keys = try MIDIClient(named: "keys", on: JackServer(named: jack.name))
    defer { keys.dispose() }
    let source = try MIDIVirtualSource(named: "out", of: keys)
    return try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("notes.mid").path
      let recorder = try Playing(
        "record", [path, "--midi-in", "keys:out", "--server", jack.name], in: folder)
      try recorder.wait(for: "<- keys:out")
      let start = keys.device.client.hostTime + 500_000_000
      let step = 1_000_000_000 / 8
      let exclusive = [0xF0] + [UInt8](repeating: 1, count: 300) + [0xF7]
      let messages: [[UInt8]] = [
        [0x90, 60, 100], [0x80, 60, 0], exclusive, [0xF8], [0xC3, 5], [0xE0, 0, 64],
      ]
      for (i, message) in messages.enumerated() {
        try source.send([MIDIToSend(message, at: start + UInt64(i * step))])
      }
      // What is recorded is in the file within a second or two.
      expectTrue(waits { (try? StandardMIDIFile(path: path))?.tracks[0].events.count == 6 })
      recorder.send(signal: SIGTERM)
      let result = try recorder.result()
      expectTrue(result.status == 0 && result.errors.isEmpty, "\(result)")
      expectTrue(result.output.contains("notes.mid: recorded 5 messages in "), "\(result)")
      let file = try StandardMIDIFile(path: path)
      expectEqual(file.format, 0)
      expectEqual(file.division, .quarter(ticks: rate / 2))
      let events = file.tracks[0].events
      expectEqual(events[0].content, .meta(StandardMIDIFile.Meta.tempo, [0x07, 0xA1, 0x20]))
      expectEqual(
        events.dropFirst().map(\.content),
        [
          .channel(0x90, 60, 100), .channel(0x80, 60, 0), .system(exclusive),
          .channel(0xC3, 5, 0), .channel(0xE0, 0, 64),
        ])
      let ticks = events.dropFirst().map(\.tick)
      // Times of frames are JACK's, which measures how long its cycles take.
      expectTrue(file.tracks[0].end >= ticks[4])
      let areRight = zip(ticks, [0, 1, 2, 4, 5]).allSatisfy { tick, index in
        abs(tick - ticks[0] - index * rate / 8) <= rate / 200
      }
      return areRight ? nil : "\(ticks)"
    }
  }

  @Test func aLengthAndWrongUsage() throws {
    let jack = try JackDaemon(period: 256)
    defer { jack.stop() }
    try withTemporaryFolder { folder in
      func record(_ name: String, _ arguments: String...) throws -> CommandResult {
        let path = folder.appendingPathComponent(name).path
        return try Playing("record", [path] + arguments + ["--server", jack.name], in: folder)
          .result()
      }
      let result = try record("a.mid", "--seconds", "0.5")
      expectEqual(result.status, 0, "\(result)")
      let file = try StandardMIDIFile(path: folder.appendingPathComponent("a.mid").path)
      expectEqual(file.tracks[0].end, 24_000)
      let again = try record("a.mid", "--seconds", "0.5")
      expectTrue(again.status == 1 && again.errors.contains("a.mid"), "\(again)")
      try expectEqual(record("a.mid", "--seconds", "0.5", "--force").status, 0)
      let unknown = try record("b.mid", "--midi-in", "nobody:out")
      expectTrue(unknown.status == 1 && unknown.errors.contains("nobody:out"), "\(unknown)")
      let split = try record("b.mid", "--split", "1h")
      expectTrue(split.status == 64 && split.errors.contains("--split is not for MIDI files"))
      let sound = try record("b.wav", "--midi-in", "keys")
      expectTrue(sound.status == 64 && sound.errors.contains("--midi-in is for MIDI files"))
    }
  }
}
