import AVFoundation
import CProbe
import Foundation
import Hardware
import Server
import Synchronization
import TestSupport
import Testing

/// What renders of an engine cost, and what a running engine hears of its server's period and of a full processor.
@Suite(.tags(.server)) struct EngineCycleTests {
  init() throws { try findPlugins() }

  /// A source node that counts its frames: each sample is the number of the frames before it, modulo 65,536. Its function
  /// has no object, which programs that are not optimised would retain.
  private final class Counter: @unchecked Sendable {
    private let frames: UnsafeMutablePointer<Atomic<Int>>

    init() {
      frames = .allocate(capacity: 1)
      frames.initialize(to: Atomic(0))
    }

    deinit { frames.deallocate() }

    var count: Int { frames.pointee.load(ordering: .acquiring) }

    func node() -> AVAudioSourceNode {
      AVAudioSourceNode { [frames] _, _, count, list in
        let first = frames.pointee.load(ordering: .relaxed)
        for buffer in UnsafeMutableAudioBufferListPointer(list) {
          let samples = buffer.mData!.assumingMemoryBound(to: Float.self)
          for i in 0..<Int(count) { samples[i] = Float((first + i) % 65536) }
        }
        frames.pointee.store(first + Int(count), ordering: .releasing)
        return noErr
      }
    }
  }

  /// A thread for each processor that does nothing but run.
  private final class Load: Sendable {
    private let isOver = Atomic<Bool>(false)

    init() {
      for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
        Thread { while !self.isOver.load(ordering: .relaxed) {} }.start()
      }
    }
    func end() { isOver.store(true, ordering: .relaxed) }
  }

  /// Attaches one node of each kind that has sound: a player with an equaliser and a varispeed, and a source with a
  /// reverb, in a mixer with a tap.
  private func furnish(_ engine: AVAudioEngine, _ counter: Counter) -> AVAudioPlayerNode {
    let (player, source) = (AVAudioPlayerNode(), counter.node())
    let chains: [[AVAudioNode]] = [
      [player, AVAudioUnitEQ(numberOfBands: 2), AVAudioUnitVarispeed()],
      [source, AVAudioUnitReverb()],
    ]
    for chain in chains {
      chain.forEach(engine.attach)
      for (from, to) in zip(chain, chain.dropFirst() + [engine.mainMixerNode]) {
        engine.connect(from, to: to, format: .standard())
      }
    }
    source.volume = 1e-6
    engine.mainMixerNode.installTap(onBus: 0, bufferSize: 512, format: nil) { _, _ in }
    return player
  }

  private func costNothing(_ counts: cue_probe_counts) {
    expectTrue(counts.allocations == 0 && counts.frees == 0 && counts.locks == 0, "\(counts)")
    // Without optimisation, as here, each call of a function of the app retains it.
    expectEqual(counts.retains, counts.releases, "\(counts)")
  }

  @Test(.enabled(if: cue_probe_works()))
  func aManualRenderCostsNoMemoryAndNoLock() throws {
    let engine = AVAudioEngine()
    try engine.enableManualRenderingMode(
      .realtime, format: .standard(), maximumFrameCount: 1024)
    let counter = Counter()
    let player = furnish(engine, counter)
    try engine.start()
    let sound = AVAudioPCMBuffer(noise(48_000))
    player.scheduleBuffer(sound)
    player.scheduleBuffer(sound, at: nil, options: .loops)
    player.play()
    let buffer = AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 1024)!
    buffer.frameLength = 1024
    let render = engine.manualRenderingBlock
    let list = buffer.mutableAudioBufferList
    var status = noErr
    var isLoud = false
    // The first calls of generic functions make their types.
    expectEqual(render(1024, list, &status), .success)
    for round in 0..<100 {
      let frames = AVAudioFrameCount([1024, 64, 481][round % 3])
      for channel in UnsafeMutableAudioBufferListPointer(list).indices {
        UnsafeMutableAudioBufferListPointer(list)[channel].mDataByteSize = 4 * frames
      }
      cue_probe_enter()
      let result = render(frames, list, &status)
      let counts = cue_probe_leave()
      try require(result == .success && status == noErr)
      costNothing(counts)
      isLoud = isLoud || buffer.floatChannelData![0][Int(frames) - 1] != 0
    }
    expectTrue(isLoud)
    withExtendedLifetime(counter) {}
  }

  @Test func aCycleCostsNoMemoryNoLockAndNoSystemCall() throws {
    let daemon = try JackDaemon(period: 256)
    cue_probe_watch_cycles(true)
    defer { cue_probe_watch_cycles(false) }
    let engine = AVAudioEngine(jackServerName: daemon.name, jackClientName: "engine")
    let counter = Counter()
    let player = furnish(engine, counter)
    try engine.start()
    cue_probe_watch_cycles(false)
    let sound = AVAudioPCMBuffer(noise(4800))
    player.play()
    // The first calls of generic functions make their types.
    expectTrue(waits { counter.count > 2560 })
    _ = cue_probe_take_cycles()
    let ends = Told<Int>()
    for round in 0..<20 {
      player.scheduleBuffer(sound) { ends.add(round) }
      player.volume = Float(round % 5) / 4
      engine.mainMixerNode.outputVolume = Float(round % 3) / 2
      expectTrue(waits { ends.all.count == round + 1 })
    }
    let seen = cue_probe_take_cycles()
    engine.stop()
    expectTrue(seen.cycles > 100 && counter.count > 25_600)
    if cue_probe_works() { costNothing(seen.counts) }
    try require(seen.has_watched_calls)
    expectEqual(seen.counts.calls, 0)
    expectTrue(UInt64(seen.counts.wakes) <= 2 * seen.cycles, "\(seen)")
  }

  /// No frame is lost, and nobody is told of a change. While its period changes, jackd gives others the latest frames of
  /// a client once more: they do not count here, and a server by hand shows that the engine gives each frame once.
  @Test func aChangeOfThePeriodIsNotHeard() throws {
    let sound = ramp(1, 96_000).map { $0 / 131_072 }
    let told = Told<Bool>()
    func play(_ engine: AVAudioEngine, whilePlaying body: () throws -> Void) throws {
      let player = AVAudioPlayerNode()
      engine.attach(player)
      engine.connect(player, to: engine.mainMixerNode, format: .standard(48000, 1))
      let token = NotificationCenter.default.addObserver(
        forName: .AVAudioEngineConfigurationChange, object: engine, queue: nil
      ) { _ in told.add(true) }
      defer { NotificationCenter.default.removeObserver(token) }
      try engine.start()
      player.scheduleBuffer(AVAudioPCMBuffer([sound]))
      player.play()
      try body()
      engine.stop()
    }
    let daemon = try JackDaemon(period: 256, playbackPorts: 0)
    let card = try CaptureClient(on: daemon, capacity: 480_000, isSoundCard: true)
    card.arm()
    try play(AVAudioEngine(jackServerName: daemon.name, jackClientName: "engine")) {
      for frames in [512, 64, 2048, 256] {
        let before = card.capturedFrames
        expectTrue(waits { card.capturedFrames > before + 8_000 })
        try card.setPeriod(frames)
      }
      expectTrue(waits { card.samples(channel: 0).last { $0 != 0 } == sound.last })
    }
    var latest: Float = 0
    let heard = card.samples(channel: 0).filter { sample in
      defer { latest = max(latest, sample) }
      return sample > latest
    }
    expectTrue(heard == sound)

    let server = HandDrivenServer()
    var given: [Float] = []
    try play(
      AVAudioEngine(device: HardwareDevice(server, named: "by-hand", clientName: "engine"))
    ) {
      for frames in [1024, 512, 64, 2048, 256] {
        server.changePeriod(to: frames)
        for _ in 0..<(24_576 / frames) { server.cycle(frames: frames) }
      }
      given = server.clients.flatMap(\.samples).first ?? []
    }
    expectTrue(given.filter { $0 != 0 } == sound)
    expectTrue(told.all.isEmpty)
  }

  /// While both processors are busy, a tap hears each frame that was rendered, once. Ten minutes of it run in
  /// `make proof`.
  @Test func aTapHearsEveryFrameOfABusyMachine() throws {
    let daemon = try JackDaemon(period: 256)
    let engine = AVAudioEngine(jackServerName: daemon.name, jackClientName: "engine")
    let counter = Counter()
    let source = counter.node()
    engine.attach(source)
    engine.connect(source, to: engine.mainMixerNode, format: .standard(48000, 1))
    let heard = Mutex((frames: 0, isGapless: true))
    engine.mainMixerNode.installTap(onBus: 0, bufferSize: 4800, format: nil) { buffer, _ in
      let samples = UnsafeBufferPointer(
        start: buffer.floatChannelData![0], count: Int(buffer.frameLength))
      heard.withLock { heard in
        for (i, sample) in samples.enumerated()
        where sample != Float((heard.frames + i) % 65536) { heard.isGapless = false }
        heard.frames += samples.count
      }
    }
    let load = Load()
    defer { load.end() }
    let seconds = proof == nil ? 5 : 600
    try engine.start()
    expectTrue(waits(seconds: 60 + 3 * Double(seconds)) { counter.count >= 48_000 * seconds })
    engine.pause()
    let rendered = counter.count
    // What is rendered last fills no buffer of the tap.
    expectTrue(waits { heard.withLock { $0.frames } >= rendered - 4799 })
    expectTrue(heard.withLock { $0.isGapless && $0.frames <= rendered })
  }
}
