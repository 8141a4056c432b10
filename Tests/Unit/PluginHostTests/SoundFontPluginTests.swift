import CProbe
import Foundation
import Graph
import TestSupport
import Testing

@testable import PluginHost

/// The plugin soundfont.lv2, run block by block.
@Suite(.tags(.program), .serialized) struct SoundFontPluginTests {
  private let world: World

  init() throws {
    let path = try require(pluginEnvironment()["LV2_PATH"])
    world = World(path: path)
  }

  /// Effects are off, so that silence is exact.
  private static let dry: [String: Float] = ["reverb": 0, "chorus": 0]

  private func plugin(
    _ path: String?, _ values: [String: Float] = dry, rate: Double = 48_000
  ) throws -> PluginInstance {
    let instance = try PluginInstance(
      SoundFontPlugin.uri, in: world,
      settings: PluginSettings(sampleRate: rate, maximumFrames: 4096),
      state: PluginState(text: SoundFontPlugin.state(path: path, controls: values), world: world))
    try SoundFontPlugin.check(instance, path: path)
    return instance
  }

  private func note(_ frame: Int, _ key: UInt8, _ velocity: UInt8 = 127) -> TimedEvent {
    TimedEvent(frame: frame, bytes: [velocity > 0 ? 0x90 : 0x80, key, velocity])
  }

  /// Frequency by the upward zero crossings of a range.
  private func frequency(_ samples: ArraySlice<Float>) -> Double {
    var crossings: [Double] = []
    for i in samples.indices.dropFirst() where samples[i - 1] < 0 && samples[i] >= 0 {
      crossings.append(Double(i) - Double(samples[i] / (samples[i] - samples[i - 1])))
    }
    guard let first = crossings.first, let last = crossings.last, crossings.count > 1 else {
      return 0
    }
    return 48_000 * Double(crossings.count - 1) / (last - first)
  }

  // MARK: Times

  @Test func theFirstNoteAfterSilenceBeginsOnItsFrame() throws {
    try withTemporaryFolder { folder in
      let path = try TinySoundFont.constant.write(to: folder)
      for frame in [0, 1, 63, 64, 65, 1000, 1023, 1024, 2047] {
        let run = HandRun(try plugin(path))
        let sound = run.run(frames: 4096, blocks: [256], midi: [note(frame, 60)]).sound[0]
        // FluidSynth's envelope is 0 in a note's first frame.
        expectEqual(sound.firstIndex { $0 != 0 }, frame + 1)
      }
      // The same after a note that has ended.
      let run = HandRun(try plugin(path))
      let events = [note(100, 60), note(5000, 60, 0), note(48_111, 60)]
      let sound = run.run(frames: 50_000, blocks: [300], midi: events).sound[0]
      expectEqual(sound[40_000...].firstIndex { $0 != 0 }, 48_112)
    }
  }

  /// FluidSynth renders blocks of 64 frames, in which all later notes begin.
  @Test func aNoteWithinSoundBeginsWithTheNextBlock() throws {
    try withTemporaryFolder { folder in
      let path = try TinySoundFont.constant.write(to: folder)
      for frame in [10_000, 10_001, 10_017, 10_063, 10_064] {
        let run = HandRun(try plugin(path))
        let sound = run.run(
          frames: 12_000, blocks: [500], midi: [note(37, 60), note(frame, 60)]
        ).sound[0]
        // The first note has reached its level by then.
        let change = try require((9000..<12_000).first { abs(sound[$0] - sound[8999]) > 1e-5 })
        let late = change - 1 - frame
        expectTrue((0...63).contains(late), "\(late) frames late")
        expectEqual((change - 1 - 37) % 64, 0)
      }
    }
  }

  @Test func theSoundIsTheSameHoweverItIsDivided() throws {
    var events: [TimedEvent] = []
    var state: UInt64 = 7
    func random(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    for i in 0..<300 {
      let frame = i * 300 + random(100)
      let channel = UInt8(random(16))
      switch i % 6 {
      case 0: events.append(TimedEvent(frame: frame, bytes: [0xC0 | channel, UInt8(random(128))]))
      case 1:
        events.append(
          TimedEvent(frame: frame, bytes: [0xE0 | channel, UInt8(random(128)), UInt8(random(128))]))
      case 2:
        events.append(
          TimedEvent(
            frame: frame, bytes: [0xB0 | channel, UInt8(1 + random(11)), UInt8(random(128))])
        )
      default:
        events.append(
          TimedEvent(
            frame: frame, bytes: [0x90 | channel, UInt8(30 + random(60)), UInt8(1 + random(127))]))
      }
    }
    let expected = HandRun(try plugin(generalMIDI, [:])).run(
      frames: 96_000, blocks: [1024], midi: events
    ).sound
    expectTrue(expected[0].contains { abs($0) > 0.01 })
    for blocks in [[64], [256], [1024, 1, 37], [4096]] {
      let found = HandRun(try plugin(generalMIDI, [:])).run(
        frames: 96_000, blocks: blocks, midi: events
      ).sound
      expectTrue(found == expected, "blocks of \(blocks)")
    }
  }

  // MARK: Sound

  @Test func thePitchFollowsKeysBendsAndTuning() throws {
    try withTemporaryFolder { folder in
      let path = try TinySoundFont.sine.write(to: folder)
      func pitch(_ values: [String: Float], _ events: [[UInt8]] = [], key: UInt8 = 69) throws
        -> Double
      {
        let run = HandRun(try plugin(path, Self.dry.merging(values) { $1 }))
        let midi = events.map { TimedEvent(frame: 0, bytes: $0) } + [note(0, key)]
        return frequency(run.run(frames: 24_000, midi: midi).sound[0][2000...])
      }
      /// Twelve values, of which that of the note A is the given one and all others are zero cents.
      func octave(_ value: [UInt8]) -> [UInt8] {
        let usual: [UInt8] = value.count == 2 ? [64, 0] : [64]
        return (0..<12).flatMap { $0 == 9 ? value : usual }
      }
      func cents(_ frequency: Double) -> Double { 1200 * log2(frequency / 480) }
      for (found, expected) in [
        (try pitch([:]), 0), (try pitch([:], key: 81), 1200), (try pitch([:], key: 62), -700),
        (try pitch(["tuning": 50]), 50), (try pitch(["coarse_tuning": -12, "tuning": 25]), -1175),
        // Two semitones up, and down with a range of twelve, of 12,700 / 128 cents each.
        (try pitch([:], [[0xE0, 0x7F, 0x7F]]), 198.4),
        (
          try pitch([:], [[0xB0, 101, 0], [0xB0, 100, 0], [0xB0, 6, 12], [0xE0, 0, 0]]), -1190.6
        ),
        // MIDI's tuning standard: a key to 70.5, and the note A of all octaves by 50 and -25 cents.
        (try pitch([:], [[0xF0, 0x7F, 0x7F, 8, 2, 0, 1, 69, 70, 0x40, 0, 0xF7]]), 150),
        (
          try pitch(
            [:], [[0xF0, 0x7E, 0x7F, 8, 8, 3, 127, 127] + octave([114]) + [0xF7]], key: 57),
          -1200 + 50
        ),
        (
          try pitch([:], [[0xF0, 0x7F, 0x7F, 8, 9, 3, 127, 127] + octave([48, 0]) + [0xF7]]), -25
        ),
        // A reset ends it.
        (
          try pitch(
            [:],
            [
              [0xF0, 0x7F, 0x7F, 8, 2, 0, 1, 69, 70, 0x40, 0, 0xF7],
              [0xF0, 0x7E, 0x7F, 9, 1, 0xF7],
            ]), 0
        ),
      ] as [(Double, Double)] {
        expectTrue(abs(cents(found) - expected) < 1, "\(cents(found)) cents, not \(expected)")
      }
    }
  }

  @Test func gainAndPanAreFactors() throws {
    try withTemporaryFolder { folder in
      let path = try TinySoundFont.constant.write(to: folder)
      func level(_ values: [String: Float]) throws -> [Float] {
        let run = HandRun(try plugin(path, Self.dry.merging(values) { $1 }))
        return run.run(frames: 8000, midi: [note(0, 60)]).sound.map { $0[7999] }
      }
      let usual = try level([:])
      expectTrue(usual[0] > 0.01 && usual[0] == usual[1])
      let louder = try level(["gain": -13.9794 + 6])
      expectTrue(abs(louder[0] / usual[0] - pow(10, 0.3)) < 1e-4)
      expectEqual(try level(["gain": -80]), [0, 0])
      let left = try level(["pan": -1])
      expectTrue(left[0] == usual[0] && left[1] == 0)
      let right = try level(["pan": 0.25])
      expectTrue(abs(right[0] - 0.75 * usual[0]) < 1e-6 && right[1] == usual[1])
      expectEqual(try level(["enabled": 0]), [0, 0])
    }
  }

  /// Notes, programs, banks, bends, controllers and exclusive messages, with 64 voices and effects.
  @Test(
    .disabled(if: isSanitized, "a sanitizer defines malloc itself"), arguments: [false, true])
  func aCycleNeitherAllocatesNorLocksNorCallsTheSystem(isDLS: Bool) throws {
    try require(cue_probe_works())
    let folder = try makeTemporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let dls = folder.appendingPathComponent("tiny.dls")
    try TinySoundFont.sine.dls.write(to: dls)
    let instance = try plugin(isDLS ? dls.path : generalMIDI, ["reverb": 1, "chorus": 1])
    let run = HandRun(instance)
    var events: [TimedEvent] = []
    for i in 0..<600 {
      let channel = UInt8(i % 16)
      let frame = i * 80 + i % 7
      events.append(
        TimedEvent(frame: frame, bytes: [0x90 | channel, UInt8(36 + i % 60), UInt8(40 + i % 80)]))
      let others: [[UInt8]] = [
        [0xC0 | channel, UInt8(i % 128)], [0xB0 | channel, 0, UInt8(i % 2 * 8)],
        [0xE0 | channel, UInt8(i % 128), UInt8(i % 128)], [0xB0 | channel, 1, UInt8(i % 128)],
        [0xB0 | channel, 91, UInt8(i % 128)], [0xD0 | channel, UInt8(i % 128)],
        [0xA0 | channel, 60, UInt8(i % 128)], [0xF0, 0x7E, 0x7F, 0x09, 0x01, 0xF7],
        // Tunings: a note, an octave, and the parameters that choose one.
        [0xF0, 0x7F, 0x7F, 0x08, 0x02, 0, 1, 60, 60, 0x40, 0, 0xF7],
        [0xF0, 0x7E, 0x7F, 0x08, 0x08, 3, 0x7F, 0x7F] + [UInt8](repeating: 70, count: 12) + [0xF7],
        [0xB0 | channel, 101, 0], [0xB0 | channel, 100, 3], [0xB0 | channel, 6, UInt8(i % 128)],
        [0xB0 | channel, 64, UInt8(i % 128)], [0xB0 | channel, 126, 1], [0xB0 | channel, 127, 0],
        [0xB0 | channel, 123, 0], [0xB0 | channel, 121, 0],
        [0xF0, 0x41, 0x10, 0x42, 0x12, 0x40, 0, 0x7F, 0, 0x41, 0xF7],
      ]
      // Resets end notes; the first half has none of them.
      let message = others[(i < 300 ? i % 7 : i) % others.count]
      events.append(TimedEvent(frame: frame + 3, bytes: message))
    }
    // FluidSynth guards the limits of its effects by a lock that no other thread takes.
    let controls = instance.description.ports.filter {
      $0.direction == .input && $0.kind == .control && $0.symbol != "polyphony"
    }
    let measured = Measured(run, instance, events)
    let isDone = DispatchSemaphore(value: 0)
    // System calls are counted on a thread for ever.
    Thread.detachNewThread {
      measured.canWatch = cue_probe_watch_calls()
      measured.measure { _ in }
      measured.measure { turn in
        let control = controls[turn % controls.count]
        let usual = control.usualValue(sampleRate: 48_000)
        let value = turn % 3 == 0 ? control.minimum : turn % 3 == 1 ? control.maximum : usual
        try? measured.instance.set(control.symbol, to: value ?? usual)
      }
      isDone.signal()
    }
    isDone.wait()
    expectTrue(measured.canWatch && measured.voices >= 64, "\(measured.voices) voices")
    let (played, moved) = (measured.costs[0], measured.costs[1])
    expectTrue(
      played.allocations == 0 && played.frees == 0 && played.locks == 0 && played.calls == 0
        && played.wakes == 0, "\(played)")
    expectTrue(
      moved.allocations == 0 && moved.frees == 0 && moved.calls == 0 && moved.wakes == 0,
      "\(moved)")
  }

  /// What cycles of a plugin cost.
  private final class Measured: @unchecked Sendable {
    let run: HandRun
    let instance: PluginInstance
    let events: [TimedEvent]
    var canWatch = false
    /// The sum of all cycles of each measurement, and the most voices.
    var costs: [cue_probe_counts] = []
    var voices: Float = 0

    init(_ run: HandRun, _ instance: PluginInstance, _ events: [TimedEvent]) {
      (self.run, self.instance, self.events) = (run, instance, events)
    }

    /// Plays the events; `before` is called before each cycle with its number.
    func measure(_ before: (Int) -> Void) {
      var sum = cue_probe_counts()
      var turn = 0
      run.run(frames: 50_000, blocks: [256], midi: events) { cycle in
        before(turn)
        turn += 1
        cue_probe_enter()
        cycle()
        let cost = cue_probe_leave()
        sum.allocations += cost.allocations
        sum.frees += cost.frees
        sum.locks += cost.locks
        sum.calls += cost.calls
        sum.wakes += cost.wakes
        voices = max(voices, (try? instance.value(of: "voices")) ?? 0)
      }
      costs.append(sum)
    }
  }

  // MARK: SoundFonts

  @Test func theStateHasThePath() throws {
    try withTemporaryFolder { folder in
      let path = try TinySoundFont.constant.write(to: folder, "a bank 100% “tiny”.sf2")
      let instance = try plugin(path)
      let text = try require(instance.capture().text)
      expectEqual(PluginFile.path(inState: text), path)
      let other = try PluginInstance(
        SoundFontPlugin.uri, in: world,
        settings: PluginSettings(sampleRate: 48_000, maximumFrames: 4096),
        state: PluginState(text: text, world: world))
      try SoundFontPlugin.check(other, path: nil)
      expectTrue(HandRun(other).run(frames: 100, midi: [note(0, 60)]).sound[0][50] > 0)
      // The default is not written: it may be another one elsewhere.
      expectEqual(PluginFile.path(inState: try require(plugin(nil).capture().text)), nil)
    }
  }

  @Test func aMessageLoadsAnotherSoundFontWhileThePluginRuns() throws {
    try withTemporaryFolder { folder in
      let path = try TinySoundFont.constant.write(to: folder)
      let other = try TinySoundFont.sine.write(to: folder, "other.sf2")
      let instance = try plugin(path)
      let run = HandRun(instance)
      run.run(frames: 4096, midi: [note(0, 60)])
      try instance.setParameter("\(SoundFontPlugin.uri)#file", to: .path(other))
      let end = Date() + 30
      var state: String? = path
      while state != other, Date() < end {
        run.run(frames: 1024)
        state = try instance.capture().text.flatMap { PluginFile.path(inState: $0) }
        usleep(1000)
      }
      expectEqual(state, other)
      run.run(frames: 8192)
      let sound = run.run(frames: 24_000, midi: [note(0, 69)]).sound[0]
      expectTrue(abs(frequency(sound[2000...]) - 480) < 0.5)
      try instance.requestParameter()
      // A file that cannot be loaded leaves the present one.
      try instance.setParameter("\(SoundFontPlugin.uri)#file", to: .path("/nowhere.sf2"))
      while try instance.value(of: "status") != 2, Date() < end {
        run.run(frames: 1024)
        usleep(1000)
      }
      expectEqual(try instance.value(of: "status"), 2)
      expectTrue(run.run(frames: 8192).sound[0].contains { $0 != 0 })
      // The answer comes through a thread that is not real time.
      let file = "\(SoundFontPlugin.uri)#file"
      while instance.parameterValues[file] == nil, Date() < end {
        run.run(frames: 1024)
        usleep(1000)
      }
      expectEqual(instance.parameterValues[file], .path(other))
    }
  }

  @Test func aProgramOfTheControlsIsThatOfAllChannels() throws {
    try withTemporaryFolder { folder in
      var font = TinySoundFont.constant
      (font.bank, font.program) = (3, 40)
      let path = try font.write(to: folder)
      func peak(_ values: [String: Float], channel: UInt8) throws -> (Float, Float) {
        let instance = try plugin(path, Self.dry.merging(values) { $1 })
        let events = [
          TimedEvent(frame: 0, bytes: [0xC0 | channel, 5]),
          TimedEvent(frame: 0, bytes: [0x90 | channel, 60, 127]),
        ]
        let sound = HandRun(instance).run(frames: 1000, midi: events).sound[0]
        return (sound[999], try instance.value(of: "status"))
      }
      for channel in [0, 9, 15] as [UInt8] {
        let (level, status) = try peak(["bank": 3, "program": 40], channel: channel)
        expectTrue(level > 0 && status == 1)
      }
      expectEqual(try peak(["bank": 3, "program": 41], channel: 0).1, 4)
    }
  }

  @Test func anotherPolyphonyKeepsProgramsAndControllers() throws {
    let instance = try plugin(generalMIDI)
    let run = HandRun(instance)
    func level() -> Float {
      let sound = run.run(frames: 9600, midi: [note(0, 60)]).sound[0]
      run.run(frames: 48_000, midi: [note(0, 60, 0)])
      return sound.map(abs).max() ?? 0
    }
    run.run(
      frames: 1024,
      midi: [
        TimedEvent(frame: 0, bytes: [0xC0, 19]), TimedEvent(frame: 0, bytes: [0xB0, 7, 127]),
      ])
    let before = level()
    try instance.set("polyphony", to: 1)
    let end = Date() + 30
    var most: Float = 9
    while most != 1, Date() < end {
      run.run(frames: 4096, midi: [note(0, 60), note(0, 64), note(0, 67)])
      most = try instance.value(of: "voices")
      usleep(1000)
    }
    expectEqual(most, 1)
    run.run(frames: 96_000, midi: [60, 64, 67].map { note(0, $0, 0) })
    let after = level()
    expectTrue(before > 0.01 && abs(after / before - 1) < 0.5, "\(before), \(after)")
  }

  @Test func whatIsNoSoundFontSaysSo() throws {
    try withTemporaryFolder { folder in
      let text = folder.appendingPathComponent("text.sf2")
      try Data("no SoundFont".utf8).write(to: text)
      for path in [text.path, "/nowhere.sf2", folder.path] {
        let error = #expect(throws: HostError.self) { try plugin(path) }
        expectTrue("\(try require(error))".contains(path), "\(error as Any)")
      }
      #expect(throws: HostError.self) { try plugin(nil, rate: 192_000) }
    }
  }

  /// Damaged files load, or are refused; no sample of them is out of range for long.
  @Test func damagedSoundFontsDoNoHarm() throws {
    try withTemporaryFolder { folder in
      let whole = Array(TinySoundFont.sine.data)
      var state: UInt64 = 99
      func random(_ count: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % count
      }
      var loaded = 0
      for i in 0..<150 {
        var bytes = whole
        if i % 3 == 0 {
          bytes.removeLast(random(bytes.count))
        } else {
          // The lists behind the samples have all that matters.
          let first = i % 3 == 1 ? whole.count - 500 : 0
          for _ in 0..<3 { bytes[first + random(500)] ^= UInt8(1 << random(8)) }
        }
        let path = folder.appendingPathComponent("\(i).sf2")
        try Data(bytes).write(to: path)
        guard let instance = try? plugin(path.path, [:]) else { continue }
        loaded += 1
        let run = HandRun(instance)
        run.run(frames: 4096, midi: [note(0, 60), note(10, 69), note(20, 100)])
      }
      expectTrue((10..<140).contains(loaded), "\(loaded)")
    }
  }
}
