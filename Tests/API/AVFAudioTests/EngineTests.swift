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
    #expect(try offline.render(5000) == sound)
    #expect(engine.manualRenderingSampleTime == 5000)
    #expect(engine.attachedNodes.count == 6)
  }

  /// The first connection goes, and another player gets the next bus.
  @Test func aConnectionReplacesThatOfTheSameOutput() throws {
    let offline = try OfflineEngine()
    let engine = offline.engine
    let first = offline.player()
    engine.connect(first, to: engine.mainMixerNode, format: .standard())
    #expect(engine.mainMixerNode.nextAvailableInputBus == 1)
    let second = offline.player()
    #expect(engine.outputConnectionPoints(for: second, outputBus: 0).map(\.bus) == [1])
    #expect(engine.inputConnectionPoint(for: engine.mainMixerNode, inputBus: 0)?.node === first)
    for player in [first, second] {
      player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 1000), ramp(0, 1000)]))
      player.play()
    }
    #expect(try offline.render(1000)[0] == ramp(0, 1000).map { 2 * $0 })
    engine.disconnectNodeOutput(first)
    #expect(engine.inputConnectionPoint(for: engine.mainMixerNode, inputBus: 0) == nil)
    engine.connect(second, to: engine.mainMixerNode, fromBus: 0, toBus: 7, format: nil)
    #expect(engine.mainMixerNode.numberOfInputs == 8)
    #expect(engine.mainMixerNode.nextAvailableInputBus == 0)
    engine.disconnectNodeInput(engine.mainMixerNode, bus: 7)
    #expect(engine.outputConnectionPoints(for: second, outputBus: 0).isEmpty)
    let ends = Told<Int>()
    second.scheduleBuffer(AVAudioPCMBuffer([[0], [0]])) { ends.add(0) }
    engine.detach(second)
    #expect(waits { ends.all == [0] })
    #expect(second.engine == nil && !engine.attachedNodes.contains(second))
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
    #expect(try offline.render(1000)[0] == ramp(0, 1000).map { $0 / 2 })
    #expect(waits { heard.all.flatMap(\.self).count == 1000 })
    #expect(heard.all.flatMap(\.self) == ramp(0, 1000))
    // Another mixer takes it as softly.
    let mixer = AVAudioMixerNode()
    engine.attach(mixer)
    engine.connect(mixer, to: engine.mainMixerNode, format: nil)
    engine.connect(player, to: mixer, format: nil)
    #expect(try offline.render(512)[0] == ramp(1000, 512).map { $0 / 2 })
    player.volume = 1
    player.pan = -1
    _ = try offline.render(512)
    let found = try offline.render(512)
    #expect(found[0] == ramp(2024, 512) && found[1] == silence(512))
    mixer.outputVolume = 0.25
    _ = try offline.render(512)
    #expect(try offline.render(512)[0] == ramp(3048, 512).map { $0 / 4 })
    #expect(mixer.outputVolume == 0.25 && player.pan == -1)
    player.volume = .nan
    #expect(player.volume == 0)
  }

  /// One player at two mixers: settings for one of them, and a tap that hears each frame once.
  @Test func anOutputFeedsSeveralInputs() throws {
    let offline = try OfflineEngine()
    let (engine, player) = (offline.engine, AVAudioPlayerNode())
    let mixers = (0..<2).map { _ in AVAudioMixerNode() }
    for node in mixers + [player] { engine.attach(node) }
    for mixer in mixers { engine.connect(mixer, to: engine.mainMixerNode, format: .standard()) }
    #expect(player.destination(forMixer: mixers[0], bus: 0) == nil)
    engine.connect(
      player, to: mixers.map { AVAudioConnectionPoint(node: $0, bus: 0) }, fromBus: 0,
      format: .standard())
    #expect(engine.outputConnectionPoints(for: player, outputBus: 0).count == 2)
    let heard = Told<[Float]>()
    player.installTap(onBus: 0, bufferSize: 64, format: nil) { buffer, _ in
      heard.add(buffer.channels[0])
    }
    let second = try #require(player.destination(forMixer: mixers[1], bus: 0))
    #expect(player.destination(forMixer: mixers[1], bus: 0) === second)
    #expect(second.connectionPoint.node === mixers[1])
    second.volume = 0.5
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 6400), ramp(0, 6400)]))
    player.play()
    #expect(try offline.render(1024)[0] == ramp(0, 1024).map { 1.5 * $0 })
    #expect(player.volume == 1)
    // Those of the node replace them.
    player.volume = 0.25
    #expect(second.volume == 0.25)
    _ = try offline.render(512)
    #expect(try offline.render(1024)[0] == ramp(1536, 1024).map { 0.5 * $0 })
    #expect(waits { heard.all.flatMap(\.self).count == 2560 })
    #expect(heard.all.flatMap(\.self) == ramp(0, 2560))
    player.removeTap(onBus: 0)
    _ = try offline.render(512)
    #expect(heard.all.flatMap(\.self).count == 2560)
    // They are lost with the connection.
    engine.disconnectNodeInput(mixers[1])
    engine.connect(
      player, to: mixers.map { AVAudioConnectionPoint(node: $0, bus: 0) }, fromBus: 0, format: nil)
    #expect(player.destination(forMixer: mixers[1], bus: 0) !== second)
  }

  @Test func mixersConvertRatesAndChannels() throws {
    let mono = try OfflineEngine(.standard(48000, 1))
    let player = mono.player(.standard())
    player.scheduleBuffer(
      AVAudioPCMBuffer([Array(repeating: 1, count: 512), Array(repeating: -0.5, count: 512)]))
    player.play()
    #expect(try mono.render(512)[0] == Array(repeating: 0.25, count: 512))
    // A sine of another rate.
    let offline = try OfflineEngine()
    let slow = offline.player(.standard(44100, 1))
    slow.scheduleBuffer(
      AVAudioPCMBuffer(tones(44100, [997], rate: 44100), .standard(44100, 1)))
    slow.play()
    let found = try offline.render(40_000)
    #expect(found[0] == found[1])
    // The converter's delay is found by the best phase.
    let part = found[0][10_000..<30_000].map(Double.init)
    let step = 2 * Double.pi * 997 / 48000
    var (sine, cosine) = (0.0, 0.0)
    for (i, value) in part.enumerated() {
      sine += value * sin(step * Double(i))
      cosine += value * cos(step * Double(i))
    }
    let (a, b) = (2 * sine / Double(part.count), 2 * cosine / Double(part.count))
    let best = part.indices.map { Float(a * sin(step * Double($0)) + b * cos(step * Double($0))) }
    #expect(abs(a * a + b * b - 0.25) < 1e-3)
    #expect(ratio(part.map { Float($0) }, to: best) > 60)
  }

  @Test func mainMixerAndOutputHaveTheFormatOfManualRendering() throws {
    let engine = AVAudioEngine()
    let mixer = engine.mainMixerNode
    let shorts = AVAudioFormat.shorts(32000)
    try engine.enableManualRenderingMode(.offline, format: shorts, maximumFrameCount: 100)
    #expect(engine.isInManualRenderingMode && engine.manualRenderingMode == .offline)
    #expect(engine.manualRenderingFormat == shorts)
    #expect(engine.manualRenderingMaximumFrameCount == 100)
    #expect(mixer.outputFormat(forBus: 0) == .standard(32000))
    #expect(engine.outputNode.inputFormat(forBus: 0) == .standard(32000))
    #expect(engine.outputNode.outputFormat(forBus: 0) == shorts)
    #expect(engine.outputNode.numberOfOutputs == 0 && engine.outputNode.numberOfInputs == 1)
    #expect(engine.outputNode.presentationLatency == 0 && mixer.outputPresentationLatency == 0)
    let player = AVAudioPlayerNode()
    engine.attach(player)
    engine.connect(player, to: mixer, format: nil)
    player.scheduleBuffer(AVAudioPCMBuffer([[0.5, -0.25], [0, 1]], .standard(44100)))
    player.play()
    try engine.start()
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: shorts, frameCapacity: 100))
    #expect(try engine.renderOffline(100, to: buffer) == .success)
    engine.disableManualRenderingMode()
    #expect(!engine.isInManualRenderingMode && !engine.isRunning)
    #expect(engine.manualRenderingFormat.sampleRate == 0)
    #expect(engine.manualRenderingMaximumFrameCount == 0)
  }

  @Test func modesHaveTheirErrors() throws {
    let offline = try OfflineEngine()
    let engine = offline.engine
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 512))
    func code(_ body: () throws -> Void) throws -> Int {
      let error = try failure(body)
      #expect(error.domain == "com.apple.coreaudio.avfaudio")
      return error.code
    }
    #expect(try code { try engine.renderOffline(1, to: buffer) } == -80802)
    try engine.start()
    #expect(
      try code {
        try engine.enableManualRenderingMode(.offline, format: .standard(), maximumFrameCount: 1)
      } == -80801)
    #expect(try code { try engine.renderOffline(513, to: buffer) } == -50)
    let large = try #require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 1000))
    #expect(try code { try engine.renderOffline(513, to: large) } == -10874)
    #expect(try code { try engine.renderOffline(.max, to: large) } == -50)
    let other = try #require(AVAudioPCMBuffer(pcmFormat: .standard(44100), frameCapacity: 512))
    #expect(try code { try engine.renderOffline(1, to: other) } == -50)
    #expect(try engine.renderOffline(0, to: buffer) == .success)
    engine.stop()
    try engine.enableManualRenderingMode(.realtime, format: .standard(), maximumFrameCount: 1)
    try engine.start()
    #expect(try code { try engine.renderOffline(1, to: buffer) } == -80800)
    engine.stop()
    for (format, frames) in [
      (AVAudioFormat.standard(), 0), (.standard(), .max),
    ] as [(AVAudioFormat, AVAudioFrameCount)] {
      #expect(
        try code {
          try engine.enableManualRenderingMode(
            .offline, format: format, maximumFrameCount: frames)
        } == -50)
    }
  }

  @Test func theBlockRendersInTheProgramsCycles() throws {
    let offline = try OfflineEngine(mode: .realtime)
    let (engine, player) = (offline.engine, offline.player())
    let sound = noise(3000)
    player.scheduleBuffer(AVAudioPCMBuffer(sound))
    let block = engine.manualRenderingBlock
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 512))
    var status: OSStatus = 0
    #expect(block(512, buffer.mutableAudioBufferList, &status) == .error && status == -80802)
    try engine.start()
    player.play()
    var found: [Float] = []
    for _ in 0..<10 {
      #expect(block(300, buffer.mutableAudioBufferList, &status) == .success && status == 0)
      found += (0..<300).map { buffer.floatChannelData![0][$0] }
      for i in 0..<2 {
        UnsafeMutableAudioBufferListPointer(buffer.mutableAudioBufferList)[i].mDataByteSize = 2048
      }
    }
    #expect(found == sound[0])
    #expect(block(513, buffer.mutableAudioBufferList, &status) == .error && status == -10874)
  }

  @Test func theInputIsAFunctionOfTheProgram() throws {
    let offline = try OfflineEngine()
    let engine = offline.engine
    let sound = AVAudioPCMBuffer([ramp(0, 512)])
    let isDry = Mutex(false)
    #expect(
      engine.inputNode.setManualRenderingInputPCMFormat(.standard(48000, 1)) { frames in
        isDry.withLock { $0 } ? nil : sound.audioBufferList
      })
    #expect(engine.inputNode.inputFormat(forBus: 0) == .standard(48000, 1))
    engine.connect(engine.inputNode, to: engine.mainMixerNode, format: .standard())
    #expect(try offline.render(512) == [ramp(0, 512), ramp(0, 512)])
    isDry.withLock { $0 = true }
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 512))
    #expect(try engine.renderOffline(512, to: buffer) == .insufficientDataFromInputNode)
    #expect(buffer.channels[0] == silence(512))
    #expect(
      !engine.inputNode.setManualRenderingInputPCMFormat(.standard()) { _ in nil }, "it runs")
  }

  @Test func stopAndResetBeginTheTimeAnew() throws {
    let offline = try OfflineEngine()
    let (engine, player) = (offline.engine, offline.player())
    #expect(player.lastRenderTime == nil)
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 3000), ramp(0, 3000)]))
    player.play()
    #expect(try offline.render(512)[0] == ramp(0, 512))
    #expect(player.lastRenderTime?.sampleTime == 0 && player.lastRenderTime?.sampleRate == 48000)
    engine.pause()
    #expect(!engine.isRunning && player.lastRenderTime == nil && player.isPlaying)
    #expect(try offline.render(512)[0] == ramp(512, 512))
    engine.stop()
    #expect(!player.isPlaying)
    player.play()
    #expect(try offline.render(512)[0] == ramp(1024, 512))
    #expect(player.lastRenderTime.flatMap { player.playerTime(forNodeTime: $0) }?.sampleTime == 0)
    engine.reset()
    #expect(engine.manualRenderingSampleTime == 0)
    player.play()
    #expect(try offline.render(512)[0] == silence(512))
  }

  @Test func whatCannotBeEndsTheProgram() async {
    func text(_ result: ExitTest.Result?) -> String {
      String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }
    let play = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      AVAudioPlayerNode().play()
    }
    #expect(text(play).contains("must be attached to an engine first"))
    let connect = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let engine = AVAudioEngine()
      engine.connect(AVAudioPlayerNode(), to: engine.mainMixerNode, format: nil)
    }
    #expect(text(connect).contains("must be attached to the engine first"))
    let tap = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let engine = AVAudioEngine()
      for _ in 0..<2 {
        engine.mainMixerNode.installTap(onBus: 0, bufferSize: 512, format: nil) { _, _ in }
      }
    }
    #expect(text(tap).contains("has a tap"))
    let circle = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (engine, mixer) = (AVAudioEngine(), AVAudioMixerNode())
      engine.attach(mixer)
      engine.connect(mixer, to: engine.mainMixerNode, format: nil)
      engine.connect(engine.mainMixerNode, to: mixer, format: nil)
    }
    #expect(text(circle).contains("comes before"))
    let channels = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (engine, player) = (AVAudioEngine(), AVAudioPlayerNode())
      engine.attach(player)
      player.scheduleBuffer(AVAudioPCMBuffer([[0]]))
    }
    #expect(text(channels).contains("a buffer of 1 channels does not fit an output of 2"))
  }
}
