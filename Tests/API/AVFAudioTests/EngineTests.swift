import AVFoundation
import Synchronization
import TestSupport
import Testing

/// AVAudioEngine in manual rendering: connections, mixers and modes.
@Suite struct EngineTests {
  @Test func unityIsBitForBitThroughAnyNumberOfMixers() throws {
    let offline = try OfflineEngine()
    let (engine, player) = (offline.engine, AVAudioPlayerNode())
    let mixers = (0..<3).map { _ in AVAudioMixerNode() }
    engine.attach(player)
    for mixer in mixers { engine.attach(mixer) }
    engine.connect(player, to: mixers[0], format: .standard())
    engine.connect(mixers[0], to: mixers[1], format: nil)
    engine.connect(mixers[1], to: mixers[2], format: nil)
    engine.connect(mixers[2], to: engine.mainMixerNode, format: nil)
    let sound = noise(5000)
    player.scheduleBuffer(AVAudioPCMBuffer(sound))
    player.play()
    try expectEqual(offline.render(5000), sound)
    expectEqual(engine.manualRenderingSampleTime, 5000)
    expectEqual(engine.attachedNodes.count, 6)
  }

  /// The first connection goes, and another player gets the next bus.
  @Test func aConnectionReplacesThatOfTheSameOutput() throws {
    let offline = try OfflineEngine()
    let engine = offline.engine
    let first = offline.player()
    engine.connect(first, to: engine.mainMixerNode, format: .standard())
    expectEqual(engine.mainMixerNode.nextAvailableInputBus, 1)
    let second = offline.player()
    expectEqual(engine.outputConnectionPoints(for: second, outputBus: 0).map(\.bus), [1])
    expectTrue(engine.inputConnectionPoint(for: engine.mainMixerNode, inputBus: 0)?.node === first)
    for player in [first, second] {
      player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 1000), ramp(0, 1000)]))
      player.play()
    }
    try expectEqual(offline.render(1000)[0], ramp(0, 1000).map { 2 * $0 })
    engine.disconnectNodeOutput(first)
    expectNil(engine.inputConnectionPoint(for: engine.mainMixerNode, inputBus: 0))
    engine.connect(second, to: engine.mainMixerNode, fromBus: 0, toBus: 7, format: nil)
    expectEqual(engine.mainMixerNode.numberOfInputs, 8)
    expectEqual(engine.mainMixerNode.nextAvailableInputBus, 0)
    engine.disconnectNodeInput(engine.mainMixerNode, bus: 7)
    expectTrue(engine.outputConnectionPoints(for: second, outputBus: 0).isEmpty)
    let ends = Told<Int>()
    second.scheduleBuffer(AVAudioPCMBuffer([[0], [0]])) { ends.add(0) }
    engine.detach(second)
    expectTrue(waits { ends.all == [0] })
    expectTrue(second.engine == nil && !engine.attachedNodes.contains(second))
  }

  @Test func volumeAndPanAreThoseOfTheMixersBus() throws {
    let offline = try OfflineEngine()
    let (engine, player) = (offline.engine, offline.player())
    let heard = Told<[Float]>()
    player.installTap(onBus: 0, bufferSize: 100, format: nil) { buffer, _ in
      heard.add(buffer.channels[0])
    }
    player.volume = 0.5
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 4000), ramp(0, 4000)]))
    player.play()
    try expectEqual(offline.render(1000)[0], ramp(0, 1000).map { $0 / 2 })
    expectTrue(waits { heard.all.flatMap(\.self).count == 1000 })
    expectEqual(heard.all.flatMap(\.self), ramp(0, 1000))
    // Another mixer takes it as softly.
    let mixer = AVAudioMixerNode()
    engine.attach(mixer)
    engine.connect(mixer, to: engine.mainMixerNode, format: nil)
    engine.connect(player, to: mixer, format: nil)
    try expectEqual(offline.render(512)[0], ramp(1000, 512).map { $0 / 2 })
    player.volume = 1
    player.pan = -1
    _ = try offline.render(512)
    let found = try offline.render(512)
    expectTrue(found[0] == ramp(2024, 512) && found[1] == silence(512))
    mixer.outputVolume = 0.25
    _ = try offline.render(512)
    try expectEqual(offline.render(512)[0], ramp(3048, 512).map { $0 / 4 })
    expectTrue(mixer.outputVolume == 0.25 && player.pan == -1)
    player.volume = .nan
    expectEqual(player.volume, 0)
  }

  /// One player at two mixers: settings for one of them, and a tap that hears each frame once.
  @Test func anOutputFeedsSeveralInputs() throws {
    let offline = try OfflineEngine()
    let (engine, player) = (offline.engine, AVAudioPlayerNode())
    let mixers = (0..<2).map { _ in AVAudioMixerNode() }
    for node in mixers + [player] { engine.attach(node) }
    for mixer in mixers { engine.connect(mixer, to: engine.mainMixerNode, format: .standard()) }
    expectNil(player.destination(forMixer: mixers[0], bus: 0))
    engine.connect(
      player, to: mixers.map { AVAudioConnectionPoint(node: $0, bus: 0) }, fromBus: 0,
      format: .standard())
    expectEqual(engine.outputConnectionPoints(for: player, outputBus: 0).count, 2)
    let heard = Told<[Float]>()
    player.installTap(onBus: 0, bufferSize: 64, format: nil) { buffer, _ in
      heard.add(buffer.channels[0])
    }
    let second = try require(player.destination(forMixer: mixers[1], bus: 0))
    expectTrue(player.destination(forMixer: mixers[1], bus: 0) === second)
    expectTrue(second.connectionPoint.node === mixers[1])
    second.volume = 0.5
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 6400), ramp(0, 6400)]))
    player.play()
    try expectEqual(offline.render(1024)[0], ramp(0, 1024).map { 1.5 * $0 })
    expectEqual(player.volume, 1)
    // Those of the node replace them.
    player.volume = 0.25
    expectEqual(second.volume, 0.25)
    _ = try offline.render(512)
    try expectEqual(offline.render(1024)[0], ramp(1536, 1024).map { 0.5 * $0 })
    expectTrue(waits { heard.all.flatMap(\.self).count == 2560 })
    expectEqual(heard.all.flatMap(\.self), ramp(0, 2560))
    player.removeTap(onBus: 0)
    _ = try offline.render(512)
    expectEqual(heard.all.flatMap(\.self).count, 2560)
    // They are lost with the connection.
    engine.disconnectNodeInput(mixers[1])
    engine.connect(
      player, to: mixers.map { AVAudioConnectionPoint(node: $0, bus: 0) }, fromBus: 0, format: nil)
    expectTrue(player.destination(forMixer: mixers[1], bus: 0) !== second)
  }

  /// The source of an effect keeps its other connections when the effect goes.
  @Test func aDetachedEffectLeavesTheDryWay() throws {
    let offline = try OfflineEngine(.standard(48000, 1))
    let engine = offline.engine
    let player = offline.player(.standard(48000, 1))
    let effect = AVAudioUnitEQ(numberOfBands: 1)
    engine.attach(effect)
    engine.connect(
      player,
      to: [
        AVAudioConnectionPoint(node: effect, bus: 0),
        AVAudioConnectionPoint(node: engine.mainMixerNode, bus: 1),
      ], fromBus: 0, format: .standard(48000, 1))
    engine.connect(
      effect, to: engine.mainMixerNode, fromBus: 0, toBus: 0, format: .standard(48000, 1))
    engine.detach(effect)
    expectEqual(engine.outputConnectionPoints(for: player, outputBus: 0).count, 2)
    player.scheduleBuffer(AVAudioPCMBuffer([Array(repeating: 0.25, count: 512)]))
    player.play()
    try expectEqual(offline.render(512)[0], Array(repeating: 0.5, count: 512))
  }

  /// An effect of an engine at 8,000 Hz in one at 192,000 Hz.
  @Test func anEffectTakesAnyRateAfterAnyOther() throws {
    try findPlugins()
    let effect = AVAudioUnitEQ(numberOfBands: 1)
    for rate in [8000, 192_000, 8000] as [Double] {
      let offline = try OfflineEngine(.standard(rate, 1))
      offline.engine.attach(effect)
      offline.engine.connect(
        effect, to: offline.engine.mainMixerNode, format: .standard(rate, 1))
      let player = AVAudioPlayerNode()
      offline.engine.attach(player)
      offline.engine.connect(player, to: effect, format: .standard(rate, 1))
      _ = try offline.render(64)
      offline.engine.detach(effect)
    }
  }

  /// A node that is attached while its former engine is released on another thread.
  @Test func aNodeGoesFromAReleasedEngineToAnother() throws {
    final class Box: @unchecked Sendable {
      var engine: OfflineEngine?
      init(_ engine: OfflineEngine) { self.engine = engine }
    }
    for _ in 0..<50 {
      let player = AVAudioPlayerNode()
      let first = Box(try OfflineEngine())
      first.engine?.engine.attach(player)
      DispatchQueue.global().async { first.engine = nil }
      while player.engine != nil { usleep(1) }
      let second = try OfflineEngine()
      second.engine.attach(player)
      usleep(1000)
      expectTrue(player.engine === second.engine)
    }
  }

  @Test func mixersConvertRatesAndChannels() throws {
    let mono = try OfflineEngine(.standard(48000, 1))
    let player = mono.player(.standard())
    player.scheduleBuffer(
      AVAudioPCMBuffer([Array(repeating: 1, count: 512), Array(repeating: -0.5, count: 512)]))
    player.play()
    try expectEqual(mono.render(512)[0], Array(repeating: 0.25, count: 512))
    // A sine of another rate.
    let offline = try OfflineEngine()
    let slow = offline.player(.standard(44100, 1))
    slow.scheduleBuffer(
      AVAudioPCMBuffer(tones(66150, [997], rate: 44100), .standard(44100, 1)))
    slow.play()
    let found = try offline.render(60_000)
    expectEqual(found[0], found[1])
    // The converter's delay is found by the best phase, over whole periods.
    let part = found[0][10_000..<58_000].map(Double.init)
    let step = 2 * Double.pi * 997 / 48000
    var (sine, cosine) = (0.0, 0.0)
    for (i, value) in part.enumerated() {
      sine += value * sin(step * Double(i))
      cosine += value * cos(step * Double(i))
    }
    let (a, b) = (2 * sine / Double(part.count), 2 * cosine / Double(part.count))
    let best = part.indices.map { Float(a * sin(step * Double($0)) + b * cos(step * Double($0))) }
    expectTrue(abs(a * a + b * b - 0.25) < 1e-5)
    let decibels = ratio(part.map { Float($0) }, to: best)
    expectTrue(decibels > 100, "\(decibels)")
  }

  @Test func mainMixerAndOutputHaveTheFormatOfManualRendering() throws {
    let engine = AVAudioEngine()
    let mixer = engine.mainMixerNode
    let shorts = AVAudioFormat.shorts(32000)
    try engine.enableManualRenderingMode(.offline, format: shorts, maximumFrameCount: 100)
    expectTrue(engine.isInManualRenderingMode && engine.manualRenderingMode == .offline)
    expectEqual(engine.manualRenderingFormat, shorts)
    expectEqual(engine.manualRenderingMaximumFrameCount, 100)
    expectEqual(mixer.outputFormat(forBus: 0), .standard(32000))
    expectEqual(engine.outputNode.inputFormat(forBus: 0), .standard(32000))
    expectEqual(engine.outputNode.outputFormat(forBus: 0), shorts)
    expectTrue(engine.outputNode.numberOfOutputs == 0 && engine.outputNode.numberOfInputs == 1)
    expectTrue(engine.outputNode.presentationLatency == 0 && mixer.outputPresentationLatency == 0)
    let player = AVAudioPlayerNode()
    engine.attach(player)
    engine.connect(player, to: mixer, format: nil)
    player.scheduleBuffer(AVAudioPCMBuffer([[0.5, -0.25], [0, 1]], .standard(44100)))
    player.play()
    try engine.start()
    let buffer = try require(AVAudioPCMBuffer(pcmFormat: shorts, frameCapacity: 100))
    try expectEqual(engine.renderOffline(100, to: buffer), .success)
    engine.disableManualRenderingMode()
    expectTrue(!engine.isInManualRenderingMode && !engine.isRunning)
    expectEqual(engine.manualRenderingFormat.sampleRate, 0)
    expectEqual(engine.manualRenderingMaximumFrameCount, 0)
  }

  @Test func modesHaveTheirErrors() throws {
    let offline = try OfflineEngine()
    let engine = offline.engine
    let buffer = try require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 512))
    func code(_ body: () throws -> Void) throws -> Int {
      let error = try failure(body)
      expectEqual(error.domain, "com.apple.coreaudio.avfaudio")
      return error.code
    }
    try expectEqual(code { try engine.renderOffline(1, to: buffer) }, -80802)
    try engine.start()
    try expectEqual(
      code {
        try engine.enableManualRenderingMode(.offline, format: .standard(), maximumFrameCount: 1)
      }, -80801)
    try expectEqual(code { try engine.renderOffline(513, to: buffer) }, -50)
    let large = try require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 1000))
    try expectEqual(code { try engine.renderOffline(513, to: large) }, -10874)
    try expectEqual(code { try engine.renderOffline(.max, to: large) }, -50)
    let other = try require(AVAudioPCMBuffer(pcmFormat: .standard(44100), frameCapacity: 512))
    try expectEqual(code { try engine.renderOffline(1, to: other) }, -50)
    try expectEqual(engine.renderOffline(0, to: buffer), .success)
    engine.stop()
    try engine.enableManualRenderingMode(.realtime, format: .standard(), maximumFrameCount: 1)
    try engine.start()
    try expectEqual(code { try engine.renderOffline(1, to: buffer) }, -80800)
    engine.stop()
    for (format, frames) in [
      (AVAudioFormat.standard(), 0), (.standard(), .max),
    ] as [(AVAudioFormat, AVAudioFrameCount)] {
      try expectEqual(
        code {
          try engine.enableManualRenderingMode(
            .offline, format: format, maximumFrameCount: frames)
        }, -50)
    }
  }

  @Test func theBlockRendersInTheProgramsCycles() throws {
    let offline = try OfflineEngine(mode: .realtime)
    let (engine, player) = (offline.engine, offline.player())
    let sound = noise(3000)
    player.scheduleBuffer(AVAudioPCMBuffer(sound))
    let block = engine.manualRenderingBlock
    let buffer = try require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 512))
    var status: OSStatus = 0
    expectTrue(block(512, buffer.mutableAudioBufferList, &status) == .error && status == -80802)
    try engine.start()
    player.play()
    var found: [Float] = []
    for _ in 0..<10 {
      expectTrue(block(300, buffer.mutableAudioBufferList, &status) == .success && status == 0)
      found += (0..<300).map { buffer.floatChannelData![0][$0] }
      for i in 0..<2 {
        UnsafeMutableAudioBufferListPointer(buffer.mutableAudioBufferList)[i].mDataByteSize = 2048
      }
    }
    expectEqual(found, sound[0])
    expectTrue(block(513, buffer.mutableAudioBufferList, &status) == .error && status == -10874)
  }

  @Test func theInputIsAFunctionOfTheProgram() throws {
    let offline = try OfflineEngine()
    let engine = offline.engine
    let sound = AVAudioPCMBuffer([ramp(0, 512)])
    let isDry = Mutex(false)
    expectTrue(
      engine.inputNode.setManualRenderingInputPCMFormat(.standard(48000, 1)) { frames in
        isDry.withLock { $0 } ? nil : sound.audioBufferList
      })
    expectEqual(engine.inputNode.inputFormat(forBus: 0), .standard(48000, 1))
    engine.connect(engine.inputNode, to: engine.mainMixerNode, format: .standard())
    try expectEqual(offline.render(512), [ramp(0, 512), ramp(0, 512)])
    isDry.withLock { $0 = true }
    let buffer = try require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 512))
    try expectEqual(engine.renderOffline(512, to: buffer), .insufficientDataFromInputNode)
    expectEqual(buffer.channels[0], silence(512))
    expectTrue(
      !engine.inputNode.setManualRenderingInputPCMFormat(.standard()) { _ in nil }, "it runs")
  }

  @Test func stopAndResetBeginTheTimeAnew() throws {
    let offline = try OfflineEngine()
    let (engine, player) = (offline.engine, offline.player())
    expectNil(player.lastRenderTime)
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 3000), ramp(0, 3000)]))
    player.play()
    try expectEqual(offline.render(512)[0], ramp(0, 512))
    expectTrue(player.lastRenderTime?.sampleTime == 0 && player.lastRenderTime?.sampleRate == 48000)
    engine.pause()
    expectTrue(!engine.isRunning && player.lastRenderTime == nil && player.isPlaying)
    try expectEqual(offline.render(512)[0], ramp(512, 512))
    engine.stop()
    expectTrue(!player.isPlaying)
    player.play()
    try expectEqual(offline.render(512)[0], ramp(1024, 512))
    expectEqual(player.lastRenderTime.flatMap { player.playerTime(forNodeTime: $0) }?.sampleTime, 0)
    engine.reset()
    expectEqual(engine.manualRenderingSampleTime, 0)
    player.play()
    try expectEqual(offline.render(512)[0], silence(512))
  }

  @Test func whatCannotBeEndsTheProgram() async {
    func text(_ result: ExitTest.Result?) -> String {
      String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }
    let play = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      AVAudioPlayerNode().play()
    }
    expectTrue(text(play).contains("must be attached to an engine first"))
    let connect = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let engine = AVAudioEngine()
      engine.connect(AVAudioPlayerNode(), to: engine.mainMixerNode, format: nil)
    }
    expectTrue(text(connect).contains("must be attached to the engine first"))
    let tap = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let engine = AVAudioEngine()
      for _ in 0..<2 {
        engine.mainMixerNode.installTap(onBus: 0, bufferSize: 512, format: nil) { _, _ in }
      }
    }
    expectTrue(text(tap).contains("has a tap"))
    let circle = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (engine, mixer) = (AVAudioEngine(), AVAudioMixerNode())
      engine.attach(mixer)
      engine.connect(mixer, to: engine.mainMixerNode, format: nil)
      engine.connect(engine.mainMixerNode, to: mixer, format: nil)
    }
    expectTrue(text(circle).contains("comes before"))
    let channels = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (engine, player) = (AVAudioEngine(), AVAudioPlayerNode())
      engine.attach(player)
      player.scheduleBuffer(AVAudioPCMBuffer([[0]]))
    }
    expectTrue(text(channels).contains("a buffer of 1 channels does not fit an output of 2"))
  }

  // MARK: Lifetimes

  @Test func anEngineGoesThoughHandlersOfItsSoundsHoldIt() throws {
    weak var gone: AVAudioEngine?
    try {
      let offline = try OfflineEngine()
      let (engine, player) = (offline.engine, offline.player())
      gone = engine
      for _ in 0..<2 {
        player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 100), ramp(0, 100)])) {
          _ = engine.isRunning
        }
      }
      player.play()
      _ = try offline.render(400)
      player.stop()
    }()
    expectTrue(waits { gone == nil })
  }

  @Test func nodesThatOutliveAnEngineAreConnectedToNothing() throws {
    let mixers = (0..<2).map { _ in AVAudioMixerNode() }
    func play(through mixers: [AVAudioMixerNode]) throws {
      let offline = try OfflineEngine()
      let (engine, player) = (offline.engine, AVAudioPlayerNode())
      for node in [player] + mixers as [AVAudioNode] { engine.attach(node) }
      engine.connect(player, to: mixers[0], format: .standard())
      engine.connect(mixers[0], to: mixers[1], format: nil)
      engine.connect(mixers[1], to: engine.mainMixerNode, format: nil)
      let sound = noise(1000)
      player.scheduleBuffer(AVAudioPCMBuffer(sound))
      player.play()
      try expectEqual(offline.render(1000), sound)
    }
    try play(through: mixers)
    try play(through: mixers.reversed())
  }

  /// An edit waits for no tap's function, which may ask the engine.
  @Test(.timeLimit(.minutes(2))) func aTapMayAskTheEngineDuringAnEdit() throws {
    let offline = try OfflineEngine()
    let (engine, player) = (offline.engine, offline.player())
    let calls = Told<Int>()
    player.installTap(onBus: 0, bufferSize: 64, format: nil) { _, _ in
      _ = player.lastRenderTime
      player.volume = 1
      _ = engine.mainMixerNode.outputFormat(forBus: 0)
      calls.add(0)
    }
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 100), ramp(0, 100)]), at: nil, options: .loops)
    player.play()
    for _ in 0..<300 {
      _ = try offline.render(512)
      engine.connect(player, to: engine.mainMixerNode, format: .standard())
    }
    expectTrue(waits { calls.all.count > 100 })
  }

  // MARK: Files

  /// Longer than what is read ahead for short renders, and in a player whose channels change.
  @Test func aLongRenderHasTheWholeFile() throws {
    try withTemporaryFolder { folder in
      let url = folder.appendingPathComponent("sound.wav")
      let sound = noise(150_000, channels: 1)
      let file = try AVAudioFile(forWriting: url, settings: AVAudioFormat.shorts(48000, 1).settings)
      try file.write(from: AVAudioPCMBuffer(sound))
      file.close()
      let offline = try OfflineEngine(.standard(48000, 1), maximum: 200_000)
      let (engine, player) = (offline.engine, AVAudioPlayerNode())
      engine.attach(player)
      // The player has two channels still.
      try player.scheduleFile(AVAudioFile(forReading: url), at: nil)
      engine.connect(player, to: engine.mainMixerNode, format: .standard(48000, 1))
      player.play()
      _ = try offline.render(200_000)
      player.stop()
      try player.scheduleFile(AVAudioFile(forReading: url), at: nil)
      player.play()
      try expectEqual(offline.render(200_000)[0], sound[0] + silence(50_000))
    }
  }
}
