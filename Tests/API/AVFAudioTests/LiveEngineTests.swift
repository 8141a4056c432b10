import AVFoundation
import Hardware
import Server
import Synchronization
import TestSupport
import Testing

/// AVAudioEngine in a JACK client of its own.
@Suite(.tags(.server)) struct LiveEngineTests {
  init() throws { try findPlugins() }

  private func engine(on daemon: JackDaemon) -> AVAudioEngine {
    AVAudioEngine(
      device: HardwareDevice(
        JackServer(named: daemon.name), named: daemon.name, clientName: "engine"))
  }

  /// The sound without the silence before and after it.
  private func trimmed(_ samples: [Float]) -> ArraySlice<Float> {
    guard let first = samples.firstIndex(where: { $0 != 0 }),
      let last = samples.lastIndex(where: { $0 != 0 })
    else { return [] }
    return samples[first...last]
  }

  @Test func aPlayerIsHeardBitForBit() throws {
    let daemon = try JackDaemon(period: 256, playbackPorts: 0)
    let card = try CaptureClient(on: daemon, capacity: 96_000, isSoundCard: true)
    let engine = engine(on: daemon)
    expectEqual(engine.mainMixerNode.outputFormat(forBus: 0), .standard())
    expectEqual(engine.outputNode.outputFormat(forBus: 0), .standard())
    let player = AVAudioPlayerNode()
    engine.attach(player)
    engine.connect(player, to: engine.mainMixerNode, format: nil)
    expectNil(player.lastRenderTime)
    try engine.start()
    expectTrue(engine.isRunning)
    card.arm()
    let sound = noise(20_000).map { $0.map { $0 == 0 ? 0.25 : $0 } }
    engine.connect(player, to: engine.mainMixerNode, format: .standard())
    let ends = Told<Int>()
    player.scheduleBuffer(
      AVAudioPCMBuffer(sound), completionCallbackType: .dataPlayedBack
    ) { _ in ends.add(0) }
    player.play()
    expectTrue(waits { player.lastRenderTime?.isHostTimeValid == true })
    let time = try require(player.lastRenderTime)
    expectTrue(time.sampleRate == 48000 && time.isSampleTimeValid)
    expectTrue(waits { ends.all == [0] })
    // It goes on after a pause.
    engine.pause()
    expectTrue(!engine.isRunning && player.isPlaying)
    try engine.start()
    player.scheduleBuffer(AVAudioPCMBuffer([[1], [1]])) { ends.add(1) }
    expectTrue(waits { ends.all == [0, 1] })
    engine.stop()
    expectTrue(!player.isPlaying)
    for channel in 0..<2 {
      let heard = trimmed(card.samples(channel: channel))
      expectEqual(Array(heard.prefix(20_000)), sound[channel])
      expectEqual(heard.last, 1)
    }
  }

  @Test func editsOfARunningEngineDoNotClick() throws {
    let daemon = try JackDaemon(period: 256, playbackPorts: 0)
    let card = try CaptureClient(on: daemon, capacity: 480_000, isSoundCard: true)
    let engine = engine(on: daemon)
    let mixer = AVAudioMixerNode()
    let sources = (0..<2).map { _ in
      AVAudioSourceNode { _, _, frames, list in
        for buffer in UnsafeMutableAudioBufferListPointer(list) {
          let samples = buffer.mData!.assumingMemoryBound(to: Float.self)
          for i in 0..<Int(frames) { samples[i] = 0.25 }
        }
        return noErr
      }
    }
    for node in sources + [mixer] as [AVAudioNode] { engine.attach(node) }
    _ = engine.mainMixerNode
    try engine.start()
    card.arm()
    for round in 0..<5 {
      engine.connect(sources[0], to: engine.mainMixerNode, format: .standard())
      engine.connect(sources[1], to: mixer, format: .standard())
      engine.connect(mixer, to: engine.mainMixerNode, format: .standard())
      mixer.outputVolume = Float(round % 2)
      sources[0].volume = 1 - Float(round % 2)
      engine.disconnectNodeOutput(mixer)
      engine.detach(sources[0])
      engine.attach(sources[0])
      engine.disconnectNodeInput(engine.mainMixerNode)
    }
    engine.stop()
    let heard = card.samples(channel: 0)
    let steps = zip(heard, heard.dropFirst()).map { abs($0 - $1) }
    expectTrue(heard.contains { $0 > 0.2 } && steps.allSatisfy { $0 < 0.5 / 200 })
  }

  @Test func aChangeOfTheRateStopsTheEngineAndTellsIt() throws {
    let server = HandDrivenServer()
    var engine: AVAudioEngine? = AVAudioEngine(
      device: HardwareDevice(server, named: "by-hand", clientName: "engine"))
    let player = AVAudioPlayerNode()
    let told = Told<Bool>()
    do {
      let engine = try require(engine)
      engine.attach(player)
      engine.connect(player, to: engine.mainMixerNode, format: .standard(48000, 1))
      try engine.start()
      player.scheduleBuffer(AVAudioPCMBuffer([ramp(1, 4000)]))
      player.play()
      server.cycle(frames: 1024)
      let token = NotificationCenter.default.addObserver(
        forName: .AVAudioEngineConfigurationChange, object: engine, queue: nil
      ) { notification in
        told.add((notification.object as? AVAudioEngine)?.isRunning == false)
      }
      defer { NotificationCenter.default.removeObserver(token) }
      server.changeRate(to: 44100)
      expectTrue(waits { told.all == [true] })
      expectTrue(!player.isPlaying)
      expectEqual(player.outputFormat(forBus: 0), .standard(48000, 1))
      try engine.start()
      expectEqual(engine.mainMixerNode.outputFormat(forBus: 0), .standard(44100))
      expectTrue(engine.isRunning)
    }
    // It is released while it runs.
    engine = nil
    expectNil(player.engine)
    expectTrue(waits { server.clients.allSatisfy { $0.outputs.allSatisfy { $0.isRemoved } } })
  }

  /// With a tap alone, and then heard through the main mixer.
  @Test func whatComesInIsHeardByTapsAndGoesThrough() throws {
    let server = HandDrivenServer()
    // The inputs of a later start have other numbers.
    server.hears = { frame, input in Float(Int(frame) * (2 - input % 2)) / 65_536 }
    let engine = AVAudioEngine(
      device: HardwareDevice(server, named: "by-hand", clientName: "engine"))
    let input = engine.inputNode
    expectEqual(input.inputFormat(forBus: 0), .standard())
    expectTrue(input.outputFormat(forBus: 0) == .standard() && input.numberOfInputs == 0)
    let heard = Told<[[Float]]>()
    input.installTap(onBus: 0, bufferSize: 1024, format: nil) { buffer, time in
      expectTrue(time.isSampleTimeValid)
      heard.add(buffer.channels)
    }
    try engine.start()
    for _ in 0..<4 { server.cycle(frames: 1024) }
    expectTrue(waits { heard.all.count == 4 })
    func isRising(_ samples: [Float], _ step: Float) -> Bool {
      zip(samples, samples.dropFirst()).allSatisfy { abs($1 - $0 - step) < 1e-6 }
    }
    expectTrue(isRising(heard.all.flatMap { $0[0] }, 1 / 65_536))
    expectTrue(isRising(heard.all.flatMap { $0[1] }, 2 / 65_536))
    expectTrue(server.clients[0].outputs.isEmpty)
    engine.stop()
    engine.connect(input, to: engine.mainMixerNode, format: nil)
    try engine.start()
    for _ in 0..<4 { server.cycle(frames: 1024) }
    expectTrue(waits { heard.all.count == 8 })
    let played = try require(server.clients[0].samples.first)
    expectTrue(played.count >= 4096 && isRising(Array(played.suffix(2048)), 1 / 65_536))
    engine.stop()
    engine.connect(input, to: engine.mainMixerNode, format: .standard(44100))
    try expectEqual(failure { try engine.start() }.code, -10868)
  }

  /// A sink alone, then beside what is heard: each frame once, with its time.
  @Test func aSinkGetsEachFrameOfTheInput() throws {
    let server = HandDrivenServer()
    server.hears = { frame, _ in Float(frame) / 65_536 }
    let engine = AVAudioEngine(
      device: HardwareDevice(server, named: "by-hand", clientName: "engine"))
    let found = Mutex<(next: Double, samples: [Float], isGapless: Bool)>((-1, [], true))
    let sink = AVAudioSinkNode { time, frames, list in
      let buffer = list.pointee.mBuffers
      let samples = UnsafeBufferPointer(
        start: buffer.mData!.assumingMemoryBound(to: Float.self), count: Int(frames))
      found.withLock { found in
        let now = time.pointee.mSampleTime
        if found.next >= 0, found.next != now { found.isGapless = false }
        found.next = now + Double(frames)
        found.samples += samples
        if list.pointee.mNumberBuffers != 2 || buffer.mDataByteSize != 4 * frames {
          found.isGapless = false
        }
      }
      return noErr
    }
    engine.attach(sink)
    engine.connect(engine.inputNode, to: sink, format: nil)
    expectTrue(sink.numberOfOutputs == 0 && sink.numberOfInputs == 1)
    try engine.start()
    for _ in 0..<4 { server.cycle(frames: 1024) }
    expectEqual(found.withLock { $0.samples.count }, 4096)
    engine.stop()
    let point = AVAudioConnectionPoint(node: sink, bus: 0)
    let other = AVAudioConnectionPoint(node: engine.mainMixerNode, bus: 0)
    engine.connect(engine.inputNode, to: [point, other], fromBus: 0, format: nil)
    found.withLock { $0.next = -1 }
    try engine.start()
    for _ in 0..<4 { server.cycle(frames: 1024) }
    let samples = found.withLock { $0.samples }
    expectTrue(found.withLock { $0.isGapless } && samples.count == 8192)
    for half in [samples[..<4096], samples[4096...]] {
      expectTrue(zip(half, half.dropFirst()).allSatisfy { abs($1 - $0 - 1 / 65_536) < 1e-6 })
    }
    engine.disconnectNodeInput(sink)
    server.cycle(frames: 1024)
    expectEqual(found.withLock { $0.samples.count }, 8192)
    engine.stop()
  }

  /// Names of JACK, the unit of both nodes, and another server by it.
  @Test func theClientHasItsNameAndItsPorts() throws {
    let (daemon, other) = (try JackDaemon(period: 256), try JackDaemon(rate: 44100, period: 256))
    let engine = AVAudioEngine(jackServerName: daemon.name, jackClientName: "one")
    engine.jackClientName = "named"
    for name in ["", "a:b"] {
      engine.jackClientName = name
      expectEqual(engine.jackClientName, "named")
    }
    expectTrue(engine.jackServerName == daemon.name && engine.jackTime == nil)
    expectTrue(engine.outputNode.jackPortNames.isEmpty)
    _ = engine.mainMixerNode
    try engine.start()
    engine.jackClientName = "late"
    expectEqual(engine.jackClientName, "named")
    expectEqual(engine.outputNode.jackPortNames, ["named:out_1", "named:out_2"])
    expectTrue(engine.inputNode.jackPortNames.isEmpty)
    expectTrue(waits { engine.jackTime?.isHostTimeValid == true })
    engine.stop()
    let unit = try require(engine.outputNode.audioUnit)
    expectEqual(engine.inputNode.audioUnit, unit)
    var device = AudioDeviceID(0)
    var size = UInt32(MemoryLayout<AudioDeviceID>.size)
    let current = kAudioOutputUnitProperty_CurrentDevice
    expectEqual(
      AudioUnitGetProperty(unit, current, kAudioUnitScope_Global, 0, &device, &size), noErr)
    expectTrue(device != 0)
    // The device that has the server already keeps the engine's own client.
    expectEqual(
      AudioUnitSetProperty(unit, current, kAudioUnitScope_Global, 0, &device, size), noErr)
    expectEqual(engine.jackClientName, "named")
    device = try require(Self.devices.first { Self.rate($0) == 44100 })
    expectEqual(
      AudioUnitSetProperty(unit, current, kAudioUnitScope_Global, 0, &device, size), noErr)
    expectEqual(engine.outputNode.outputFormat(forBus: 0).sampleRate, 44100)
    try engine.start()
    expectTrue(engine.jackServerName == other.name && engine.isRunning)
    engine.stop()
    expectTrue(!engine.inputNode.isVoiceProcessingEnabled)
    try engine.inputNode.setVoiceProcessingEnabled(false)
    try expectEqual(failure { try engine.inputNode.setVoiceProcessingEnabled(true) }.code, -10879)
  }

  /// `cuejack graph` shows the nodes of an engine in the place of its client's.
  @Test func theNodesOfAnEngineAreShown() throws {
    let daemon = try JackDaemon(period: 256)
    let engine = AVAudioEngine(jackServerName: daemon.name, jackClientName: "shown")
    let player = AVAudioPlayerNode()
    let equalizer = AVAudioUnitEQ(numberOfBands: 1)
    engine.attach(player)
    engine.attach(equalizer)
    engine.connect(player, to: equalizer, format: .standard(48000, 1))
    engine.connect(equalizer, to: engine.mainMixerNode, format: .standard(48000, 1))
    engine.connect(engine.inputNode, to: engine.mainMixerNode, format: nil)
    engine.inputNode.volume = 0.5
    try engine.start()
    let shown = try run(
      builtProduct(named: "cuejack").path, ["graph", "--server", daemon.name, "shown"])
    expectEqual(shown.status, 0, "\(shown)")
    let lines = shown.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    for line in [
      "AVAudioPlayerNode: node, 1 out", "\(equalizer.name): node, 1 in, 1 out",
      "AVAudioInputNode: node, 2 in, 2 out", "AVAudioMixerNode: node, 3 in, 2 out",
      "AVAudioOutputNode: node, 2 in, 2 out",
    ] {
      expectTrue(lines.contains { $0.hasSuffix(line) }, "\(line) in\n\(shown.output)")
    }
    let number = lines.compactMap { $0.wholeMatch(of: /(\d+) AVAudioOutputNode:.*/)?.output.1 }
    for wire in [
      "out_1 ← AVAudioOutputNode (\(number.first ?? "")) 1", "out_1 → system:playback_1",
    ] {
      expectTrue(lines.contains(wire), "\(wire) in\n\(shown.output)")
    }
    expectTrue(lines.contains { $0.hasPrefix("1.1 ← AVAudioInputNode") && $0.hasSuffix("× 0.5") })
    engine.stop()
  }

  private static var devices: [AudioDeviceID] {
    var address = AudioObjectPropertyAddress(
      mSelector: kAudioHardwarePropertyDevices, mScope: kAudioObjectPropertyScopeGlobal,
      mElement: kAudioObjectPropertyElementMain)
    var ids = [AudioDeviceID](repeating: 0, count: 64)
    var size = UInt32(4 * ids.count)
    AudioObjectGetPropertyData(
      AudioObjectID(kAudioObjectSystemObject), &address, 0, nil, &size, &ids)
    return Array(ids.prefix(Int(size) / 4))
  }

  private static func rate(_ device: AudioDeviceID) -> Double {
    var address = AudioObjectPropertyAddress(
      mSelector: kAudioDevicePropertyNominalSampleRate, mScope: kAudioObjectPropertyScopeGlobal,
      mElement: kAudioObjectPropertyElementMain)
    var rate = 0.0
    var size = UInt32(8)
    AudioObjectGetPropertyData(device, &address, 0, nil, &size, &rate)
    return rate
  }

  @Test func anEngineThatRecordsPlaysWhatIsConnectedLater() throws {
    let server = HandDrivenServer()
    server.hears = { frame, _ in Float(frame) / 65_536 }
    let engine = AVAudioEngine(
      device: HardwareDevice(server, named: "by-hand", clientName: "engine"))
    let heard = Told<Int>()
    engine.inputNode.installTap(onBus: 0, bufferSize: 1024, format: nil) { buffer, _ in
      heard.add(Int(buffer.frameLength))
    }
    try engine.start()
    server.cycle(frames: 1024)
    expectTrue(waits { heard.all == [1024] })
    let player = AVAudioPlayerNode()
    engine.attach(player)
    engine.connect(player, to: engine.mainMixerNode, format: .standard())
    // The connection fades in.
    server.cycle(frames: 1024)
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(1, 1000), ramp(1, 1000)]))
    player.play()
    for _ in 0..<4 { server.cycle(frames: 1024) }
    expectTrue(waits { heard.all.count == 6 })
    let played = try require(server.clients[0].samples.first)
    expectEqual(played.filter { $0 != 0 }, ramp(1, 1000))
    engine.stop()
  }

  /// It is told of both, and goes on in the handler.
  @Test func aServerThatGoesAndComesBackIsTold() throws {
    let daemon = try JackDaemon(period: 256)
    let engine = engine(on: daemon)
    let player = AVAudioPlayerNode()
    engine.attach(player)
    engine.connect(player, to: engine.mainMixerNode, format: nil)
    let told = Told<Bool>()
    let token = NotificationCenter.default.addObserver(
      forName: .AVAudioEngineConfigurationChange, object: engine, queue: nil
    ) { _ in
      try? engine.start()
      told.add(engine.isRunning)
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try engine.start()
    daemon.kill()
    expectTrue(waits { told.all == [false] })
    try daemon.start()
    expectTrue(waits { told.all == [false, true] }, "\(told.all)")
    player.scheduleBuffer(AVAudioPCMBuffer([[1], [1]])) { told.add(true) }
    player.play()
    expectTrue(waits { told.all.count == 3 })
    engine.stop()
  }

  /// The first connection to the output starts the device anew.
  @Test func aStopDuringTheFirstConnectionHolds() throws {
    let daemon = try JackDaemon(period: 256)
    for delay in [0, 5, 20, 60, 100] as [UInt32] {
      let engine = engine(on: daemon)
      engine.inputNode.installTap(onBus: 0, bufferSize: 1024, format: nil) { _, _ in }
      try engine.start()
      let player = AVAudioPlayerNode()
      engine.attach(player)
      let group = DispatchGroup()
      DispatchQueue.global().async(group: group) {
        engine.connect(player, to: engine.mainMixerNode, format: nil)
      }
      usleep(1000 * delay)
      engine.stop()
      group.wait()
      expectTrue(!engine.isRunning, "\(delay)")
    }
  }

  /// An input that is connected to nothing has no connection that could keep its former rate.
  @Test func theInputHasTheRateOfTheServerUnlessItIsConnected() throws {
    let server = HandDrivenServer()
    let engine = AVAudioEngine(
      device: HardwareDevice(server, named: "by-hand", clientName: "engine"))
    let input = engine.inputNode
    input.installTap(onBus: 0, bufferSize: 1024, format: nil) { _, _ in }
    try engine.start()
    let told = Told<Bool>()
    let token = NotificationCenter.default.addObserver(
      forName: .AVAudioEngineConfigurationChange, object: engine, queue: nil
    ) { _ in told.add(true) }
    defer { NotificationCenter.default.removeObserver(token) }
    server.changeRate(to: 44100)
    expectTrue(waits { told.all == [true] })
    try engine.start()
    expectEqual(input.outputFormat(forBus: 0), .standard(44100))
    engine.stop()
  }

  @Test func withoutAServerThereIsNoFormat() throws {
    let engine = AVAudioEngine(
      device: HardwareDevice(
        JackServer(named: "cuejack-none"), named: "cuejack-none", clientName: "engine"))
    expectEqual(engine.mainMixerNode.outputFormat(forBus: 0).channelCount, 0)
    expectEqual(engine.outputNode.outputFormat(forBus: 0).sampleRate, 0)
    let error = try failure { try engine.start() }
    expectTrue(error.domain == "com.apple.coreaudio.avfaudio" && error.code == -10875)
    expectTrue(error.localizedDescription.contains("cuejack-none"))
    expectTrue(!engine.isRunning)
  }
}
