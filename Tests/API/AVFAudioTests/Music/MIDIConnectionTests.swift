import AVFoundation
import CProbe
import Hardware
import Server
import TestSupport
import Testing

/// MIDI from node to node, through plugins of Debian that write it.
@Suite(.tags(.server, .program), .serialized) struct MIDIConnectionTests {
  /// A folder that goes with the suite.
  private final class Folder {
    let url: URL
    init() throws { url = try makeTemporaryFolder() }
    deinit { try? FileManager.default.removeItem(at: url) }
  }
  private let kept: Folder
  private var folder: URL { kept.url }

  init() throws {
    try findPlugins()
    kept = try Folder()
  }

  /// A sequence of MIDI notes, each with another one seven semitones higher.
  private func chords(twice: Bool = false, _ frames: Int) throws -> [[Float]] {
    let offline = try OfflineEngine()
    let synth = try Scale.synthesiser(TinySoundFont.sine.write(to: folder))
    offline.engine.attach(synth)
    offline.engine.connect(synth, to: offline.engine.mainMixerNode, format: .standard())
    let sequencer = AVAudioSequencer(audioEngine: offline.engine)
    let track = sequencer.createAndAppendTrack()
    for (i, key) in Scale.keys.enumerated() {
      for above in twice ? [0, 7, 7, 14] : [0, 7] as [UInt32] {
        track.addEvent(
          AVMIDINoteEvent(
            channel: 0, key: UInt32(key) + above, velocity: UInt32(Scale.velocity),
            duration: Scale.beat(Scale.length)), at: Scale.beat(i * Scale.step))
      }
    }
    try sequencer.start()
    return try offline.render(frames)
  }

  /// Attaches a plugin that adds a fifth to each note.
  private func fifths(_ engine: AVAudioEngine) async throws -> AVAudioUnit {
    let unit = try await AVAudioUnit.instantiate(with: try plugin(named: "Example Fifths"))
    engine.attach(unit)
    return unit
  }

  /// A sequencer that plays the scale to a node.
  private func sequencer(_ engine: AVAudioEngine, to unit: AVAudioUnit) throws -> AVAudioSequencer {
    let sequencer = AVAudioSequencer(audioEngine: engine)
    let track = sequencer.createAndAppendTrack()
    Scale.add(to: track)
    track.destinationAudioUnit = unit
    try sequencer.start()
    return sequencer
  }

  /// Two instruments hear the processor, each as if a sequence played both notes to it, to the sample. The instruments need
  /// not be connected before.
  @Test func aProcessorPlaysInstrumentsOnTheFrame() async throws {
    let expected = try chords(Scale.frames)
    let offline = try OfflineEngine()
    let (engine, heard) = (offline.engine, Told<(Int64, [UInt8])>())
    let processor = try await fifths(engine)
    let font = try TinySoundFont.sine.write(to: folder)
    let synths = try (0..<2).map { _ in try Scale.synthesiser(font) }
    synths.forEach(engine.attach)
    engine.connectMIDI(processor, to: synths, format: nil) { time, cable, count, bytes in
      expectEqual(cable, 0)
      heard.add((time, Array(UnsafeBufferPointer(start: bytes, count: count))))
      return noErr
    }
    engine.connect(synths[0], to: engine.mainMixerNode, format: nil)
    expectEqual(processor.outputFormat(forBus: 0).sampleRate, 48_000)
    let sequencer = try sequencer(engine, to: processor)
    try expectTrue(
      offline.render(Scale.step * 2) == expected.map { Array($0[..<(Scale.step * 2)]) })
    expectEqual(heard.all.prefix(4).map(\.0), [0, 0, 8000, 8000])
    expectEqual(heard.all.prefix(2).map(\.1), [[0x90, 60, 100], [0x90, 67, 100]])
    // The other one hears the rest.
    engine.disconnectMIDI(processor, from: synths[0])
    engine.connect(synths[1], to: engine.mainMixerNode, format: nil)
    let rest = try offline.render(Scale.frames - Scale.step * 2)
    let wrong = zip(rest[0].dropFirst(4800), expected[0].dropFirst(Scale.step * 2 + 4800))
      .count { abs($0 - $1) > 1e-4 }
    expectEqual(wrong, 0)
    engine.disconnectMIDIInput(synths[1])
    let count = heard.all.count
    sequencer.stop()
    sequencer.currentPositionInBeats = 0
    try sequencer.start()
    _ = try offline.render(4800)
    expectTrue(try offline.render(4800)[0].allSatisfy { abs($0) < 1e-4 })
    expectEqual(heard.all.count, count)
  }

  @Test func processorsFormChains() async throws {
    let expected = try chords(twice: true, Scale.frames)
    let offline = try OfflineEngine()
    let engine = offline.engine
    let (first, second) = (try await fifths(engine), try await fifths(engine))
    let synth = try Scale.synthesiser(TinySoundFont.sine.write(to: folder))
    engine.attach(synth)
    engine.connect(synth, to: engine.mainMixerNode, format: nil)
    let heard = Told<(Int64, UInt8, UInt32)>()
    engine.connectMIDI(first, to: second, format: nil)
    engine.connectMIDI(second, to: [synth], format: nil) { time, cable, list in
      let packet = list.pointee.packet
      expectTrue(list.pointee.numPackets == 1 && packet.wordCount == 1)
      heard.add((time, cable, packet.words.0))
      return noErr
    }
    // The same connection again takes the place of the first.
    engine.connectMIDI(first, to: second, format: nil)
    expectEqual(first.outputFormat(forBus: 0).sampleRate, 48_000)
    let sequencer = try sequencer(engine, to: first)
    let sound = try offline.render(Scale.frames)
    let wrong = zip(sound[0], expected[0]).count { abs($0 - $1) > 1e-5 }
    expectEqual(wrong, 0)
    // The end of the first connection ended the notes of its destination, which passes these messages on.
    let notes = heard.all.map(\.2).filter { $0 >> 20 != 0x20B }
    expectEqual(notes.prefix(4), [0x2090_3C64, 0x2090_4364, 0x2090_4364, 0x2090_4A64])
    expectEqual(notes.count, 8 * 8)
    expectTrue(heard.all.count == notes.count + 32 && heard.all.allSatisfy { $0.1 == 0 })
    withExtendedLifetime(sequencer) {}
    // Without its source, an instrument goes on.
    engine.detach(second)
    expectTrue(try offline.render(4800)[0].suffix(100).allSatisfy { abs($0) < 1e-4 })
    synth.startNote(69, withVelocity: 100, onChannel: 0)
    expectTrue(try offline.render(4800)[0].contains { abs($0) > 0.01 })
    engine.connectMIDI(first, to: synth, format: .standard(44_100))
    expectEqual(first.outputFormat(forBus: 0).sampleRate, 44_100)
    // Without a format of its own, a source has that of its destination, and follows its changes.
    for rate in [32_000, 48_000.0] {
      let other = Scale.instrument()
      engine.attach(other)
      engine.connect(other, to: engine.mainMixerNode, format: .standard(rate))
      engine.connectMIDI(first, to: other, format: nil)
      expectEqual(first.outputFormat(forBus: 0).sampleRate, rate)
      engine.connect(other, to: engine.mainMixerNode, format: .standard(44_100))
      expectEqual(first.outputFormat(forBus: 0).sampleRate, 44_100)
      engine.detach(other)
    }
    engine.disconnectMIDI(first, from: [synth])
    engine.connectMIDI(first, to: synth, format: nil, block: nil)
    engine.disconnectMIDIOutput(first)
  }

  /// In a device's cycles, which cost no memory and no lock. Nothing is converted.
  @Test func aProcessorPlaysInCycles() async throws {
    let daemon = try JackDaemon(period: 256, playbackPorts: 0)
    let server = JackServer(named: daemon.name)
    let card = try CaptureClient(on: daemon, capacity: 96_000 * 60, isSoundCard: true)
    cue_probe_watch_cycles(true)
    defer { cue_probe_watch_cycles(false) }
    let engine = AVAudioEngine(
      device: HardwareDevice(server, named: daemon.name, clientName: "engine"))
    let font = try TinySoundFont.sine.write(to: folder)
    let synth = try Scale.synthesiser(font)
    let processor = try await fifths(engine)
    engine.attach(synth)
    engine.connect(synth, to: engine.mainMixerNode, format: nil)
    // The rate of the server: nothing is converted.
    expectEqual(synth.outputFormat(forBus: 0).sampleRate, 48_000)
    engine.connectMIDI(processor, to: synth, format: nil)
    try engine.start()
    func begin(_ samples: some Collection<Float>) -> Int? {
      samples.enumerated().first { abs($0.element) > 1e-6 }?.offset
    }
    let expected = try chords(Scale.step)[0]
    card.arm()
    cue_probe_watch_cycles(false)
    // The first calls of generic functions make their types.
    try require(card.wait(untilFrames: 4096))
    _ = cue_probe_take_cycles()
    let sequencer = try sequencer(engine, to: processor)
    try require(card.wait(untilFrames: card.capturedFrames + 2 * Scale.step))
    let seen = cue_probe_take_cycles()
    engine.stop()
    withExtendedLifetime(sequencer) {}
    let sound = card.samples(channel: 0)
    let start = try require(begin(sound)) - require(begin(expected))
    expectEqual((0..<Scale.step).count { abs(sound[start + $0] - expected[$0]) > 1e-5 }, 0)
    expectTrue(seen.counts.allocations == 0 && seen.counts.frees == 0, "\(seen)")
    expectTrue(seen.counts.locks == 0 && seen.cycles > 10, "\(seen)")
  }

  @Test func whatCannotBeConnectedEndsTheProgram() async throws {
    func text(_ result: ExitTest.Result?) -> String {
      String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }
    let source = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try findPlugins()
      let (engine, eq) = (AVAudioEngine(), AVAudioUnitEQ(numberOfBands: 1))
      engine.attach(eq)
      engine.connectMIDI(eq, to: eq, format: nil)
    }
    expectTrue(text(source).contains("is no LV2 plugin that writes MIDI"))
    let circle = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let engine = AVAudioEngine()
      let unit = try await AVAudioUnit.instantiate(with: try plugin(named: "Example Fifths"))
      engine.attach(unit)
      engine.connectMIDI(unit, to: unit, format: nil)
    }
    expectTrue(text(circle).contains("comes before"))
    let deaf = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let engine = AVAudioEngine()
      let unit = try await AVAudioUnit.instantiate(with: try plugin(named: "Example Fifths"))
      engine.attach(unit)
      engine.connectMIDI(unit, to: engine.mainMixerNode, format: nil)
    }
    expectTrue(text(deaf).contains("hears no MIDI"))
  }
}
