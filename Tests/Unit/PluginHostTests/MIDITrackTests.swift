import Graph
import PluginHost
import TestSupport
import Testing

/// MIDI messages that a graph plays by itself.
@Suite(.tags(.program)) struct MIDITrackTests {
  private static let piano = PluginChoice(uri: "http://drobilla.net/plugins/mda/Piano")

  private func chain(playing track: MIDITrack?) throws -> PluginChain {
    try PluginChain(
      [Self.piano], in: installed, channels: 1, sampleRate: 48000, isOffline: true,
      hearsControllers: false, playing: track)
  }

  private func run(_ chain: PluginChain, _ frames: Int, _ begin: (Int64) throws -> Void) throws
    -> [Float]
  {
    let source = chain.graph.addSource(named: "nothing", channels: 1)
    try chain.graph.connect(source, to: chain.entrance)
    let graph = try OfflineGraph(chain.graph, source: source)
    try begin(graph.frame)
    return graph.run([], silence: frames)
  }

  /// The same samples as those of messages that are sent to the plugin with their frames.
  @Test func messagesComeOnTheirFrames() throws {
    let notes: [(frame: Int64, bytes: [UInt8])] = [
      (0, [0x90, 60, 100]), (1, [0x90, 64, 80]), (1023, [0x90, 67, 90]), (1024, [0x80, 60, 0]),
      (5000, [0xb0, 64, 127]), (7777, [0x80, 64, 0]), (7777, [0x80, 67, 0]),
      (12_345, [0x90, 72, 127]),
    ]
    var bytes: [UInt8] = []
    var messages: [MIDITrack.Message] = []
    for note in notes {
      messages.append(
        MIDITrack.Message(frame: note.frame, offset: bytes.count, count: note.bytes.count))
      bytes += note.bytes
    }
    let track = MIDITrack(named: "notes", messages, bytes: bytes)
    let played = try run(chain(playing: track), 20_000) { track.begin(at: $0) }
    let byHand = try chain(playing: nil)
    let sent = try run(byHand, 20_000) { first in
      for note in notes { try byHand.stages[0][0].send(midi: note.bytes, at: first + note.frame) }
    }
    expectEqual(played, sent)
    expectTrue(played.contains { abs($0) > 0.05 })
    expectEqual(track.lostMessages, 0)
  }

  /// A track without a beginning is silent, and one block takes only so many messages.
  @Test func whatFindsNoRoomIsCounted() throws {
    let messages = (0..<3000).map { _ in MIDITrack.Message(frame: 10, offset: 0, count: 3) }
    let track = MIDITrack(named: "flood", messages, bytes: [0x90, 60, 100])
    let silent = try run(chain(playing: track), 4096) { _ in }
    expectTrue(!silent.isEmpty && silent.allSatisfy { $0 == 0 } && track.lostMessages == 0)
    let flood = MIDITrack(named: "flood", messages, bytes: [0x90, 60, 100])
    _ = try run(chain(playing: flood), 4096) { flood.begin(at: $0) }
    expectTrue((1..<3000).contains(Int(flood.lostMessages)))
  }
}
