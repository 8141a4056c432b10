import CRealTime
import Foundation
import Graph
import PluginHost
import TestSupport
import Testing

/// The transport positions that plugins receive.
@Suite(.serialized) struct TransportTests {
  /// The content of a position; nil for what it leaves out.
  private struct Position: Equatable {
    var at: Int
    var frame: Int64
    var speed: Float
    var bar: Int64?
    var barBeat: Float?
    var beatUnit: Int32?
    var beatsPerBar: Float?
    var beatsPerMinute: Float?

    init(at: Int, _ frame: Int64, _ speed: Float) {
      self.at = at
      self.frame = frame
      self.speed = speed
    }

    /// Reads a position from the body of an atom.
    init?(_ event: TimedEvent) {
      let time = "http://lv2plug.in/ns/ext/time#"
      func field<Number>(_ at: Int, as type: Number.Type) -> Number {
        event.bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: at, as: type) }
      }
      guard event.bytes.count > 8, field(4, as: UInt32.self) == urid(time + "Position") else {
        return nil
      }
      var (numbers, floats): ([UInt32: Int64], [UInt32: Float]) = ([:], [:])
      for offset in stride(from: 8, to: event.bytes.count, by: 24) {
        let key = field(offset, as: UInt32.self)
        switch field(offset + 12, as: UInt32.self) {
        case urid("http://lv2plug.in/ns/ext/atom#Long"):
          numbers[key] = field(offset + 16, as: Int64.self)
        case urid("http://lv2plug.in/ns/ext/atom#Int"):
          numbers[key] = Int64(field(offset + 16, as: Int32.self))
        case urid("http://lv2plug.in/ns/ext/atom#Float"):
          floats[key] = field(offset + 16, as: Float.self)
        default: return nil
        }
      }
      guard let frame = numbers[urid(time + "frame")], let speed = floats[urid(time + "speed")]
      else { return nil }
      self.init(at: event.frame, frame, speed)
      bar = numbers[urid(time + "bar")]
      barBeat = floats[urid(time + "barBeat")]
      beatUnit = numbers[urid(time + "beatUnit")].map { Int32($0) }
      beatsPerBar = floats[urid(time + "beatsPerBar")]
      beatsPerMinute = floats[urid(time + "beatsPerMinute")]
    }
  }

  private func standing(at frame: Int64) -> cue_transport {
    var transport = cue_transport()
    transport.frame = frame
    transport.frames_per_second = 48000
    return transport
  }

  /// A position is sent once, at the first frame of the block in which it changes, also where the run
  /// is split.
  @Test func changesAreToldOnce() throws {
    try withTemporaryFolder { folder in
      let echo = try Fixture.echo(in: folder)
      let run = HandRun(echo)
      run.transport = { frame in
        // The transport starts after 200 frames, jumps 1000 frames ahead after 500, and stops after
        // 700.
        var transport = standing(at: 0)
        if frame >= 200 { transport.frame = frame - 200 }
        if frame >= 500 { transport.frame += 1000 }
        if frame >= 700 { transport.frame = 1500 }
        transport.is_rolling = 200..<700 ~= frame
        return transport
      }
      for frame in [0, 210, 730] { try echo.set("x", to: 1, at: Int64(frame)) }
      let midi = [0, 200, 230, 500, 900].map { TimedEvent(frame: $0, bytes: [1, 2, 3]) }
      let out = run.run(frames: 1000, blocks: [100], midi: midi).events
      expectEqual(
        out.compactMap(Position.init),
        [
          Position(at: 0, 0, 0), Position(at: 200, 0, 1), Position(at: 500, 1300, 1),
          Position(at: 700, 1500, 0),
        ])
      expectEqual(out.filter { $0.bytes.count == 3 }, midi)
      // The position precedes other events at its frame.
      expectEqual(out.filter { $0.frame == 200 }.map(\.bytes.count), [56, 3])
      // A new instance has to receive the position again.
      try echo.prepare(sampleRate: 96000, maximumFrames: 2048)
      expectEqual(
        run.run(frames: 300, blocks: [100]).events.compactMap(Position.init),
        [
          Position(at: 0, 1500, 0)
        ])
    }
  }

  /// Ticks are integers, and their rounding error does not count as a change.
  @Test func beatsAreToldAndTheirChanges() throws {
    try withTemporaryFolder { folder in
      let echo = try Fixture.echo(in: folder)
      let run = HandRun(echo)
      run.transport = { frame in
        var transport = standing(at: frame)
        transport.is_rolling = true
        transport.has_beats = true
        transport.beat_unit = 8
        transport.beats_per_bar = 3
        transport.beat_slack = 2 / 1920.0
        // 90 beats per minute at first, and 180 from frame 96,000 (beat 3) on.
        transport.beats_per_minute = frame < 96000 ? 90 : 180
        let beats =
          min(Double(frame), 96000) * 90 / (60 * 48000) + max(0, Double(frame) - 96000) * 180
          / (60 * 48000)
        let ticks = (beats * 1920).rounded(.down)
        transport.bar = Int64(ticks / 1920 / 3)
        transport.bar_beat = ticks / 1920 - Double(transport.bar) * 3
        return transport
      }
      let told = run.run(frames: 960_000, blocks: [1000]).events.compactMap(Position.init)
      expectEqual(told.map(\.at), [0, 96000])
      var expected = Position(at: 0, 0, 1)
      (expected.bar, expected.barBeat) = (0, 0)
      (expected.beatUnit, expected.beatsPerBar, expected.beatsPerMinute) = (8, 3, 90)
      expectEqual(told.first, expected)
      (expected.at, expected.frame, expected.beatsPerMinute, expected.bar) = (96000, 96000, 180, 1)
      expectEqual(told.last, expected)
    }
  }

  /// A file's first frame is the transport's frame 0.
  @Test func offlineTheMusicRollsFromItsBegin() throws {
    let world = installed
    let chain = try PluginChain(
      [PluginChoice(uri: examples + "metro")], in: world, channels: 1, sampleRate: 48000,
      isOffline: true)
    expectTrue(chain.portNames == ["out_1"] && chain.midiInput == nil)
    let source = chain.graph.addSource(named: "files", channels: 1)
    try chain.graph.connect(source, to: chain.entrance)
    let offline = try OfflineGraph(chain.graph, source: source)
    let sound = offline.run([Float](repeating: 0, count: 100_000)[...])
    expectEqual(clicks(in: sound), [0, 24000, 48000, 72000, 96000])
  }

  /// Returns the start frames of a metronome's clicks, which fade in from silence from the second frame
  /// on.
  private func clicks(in sound: [Float]) -> [Int] {
    var found: [Int] = []
    var silent = 1000
    for (frame, sample) in sound.enumerated() {
      if sample == 0 {
        silent += 1
        continue
      }
      if silent >= 1000 { found.append(frame - 1) }
      silent = 0
    }
    return found
  }
}
