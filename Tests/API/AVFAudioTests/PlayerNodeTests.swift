import AVFoundation
import Synchronization
import TestSupport
import Testing

/// AVAudioPlayerNode and AVAudioSourceNode in manual rendering.
@Suite struct PlayerNodeTests {
  private func mono(_ maximum: AVAudioFrameCount = 512) throws -> (OfflineEngine, AVAudioPlayerNode)
  {
    let offline = try OfflineEngine(.standard(48000, 1), maximum: maximum)
    return (offline, offline.player(.standard(48000, 1)))
  }

  @Test func aLoopIsInterruptedAtItsEndOrAtOnce() throws {
    let (offline, player) = try mono()
    let ends = Told<Int>()
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 1000)]), at: nil, options: .loops) {
      ends.add(0)
    }
    player.play()
    try expectEqual(offline.render(1500)[0], ramp(0, 1000) + ramp(0, 500))
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(5000, 100)]), at: nil, options: .interruptsAtLoop)
    {
      ends.add(1)
    }
    try expectEqual(offline.render(1000)[0], ramp(500, 500) + ramp(5000, 100) + silence(400))
    expectTrue(waits { ends.all == [0, 1] })
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 1000)]), at: nil, options: .loops)
    _ = try offline.render(100)
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(7000, 100)]), at: nil, options: .interrupts)
    try expectEqual(offline.render(200)[0], ramp(7000, 100) + silence(100))
  }

  /// Each interrupt plays at its own moment, whatever was scheduled behind it, unless a later one is earlier.
  @Test func interruptsWaitForTheirMoments() throws {
    let (offline, player) = try mono()
    let ends = Told<Int>()
    func interrupt(_ number: Int, at frame: Int, _ sound: [Float]) {
      player.scheduleBuffer(
        AVAudioPCMBuffer([sound]), at: AVAudioTime(sampleTime: Int64(frame), atRate: 48000),
        options: .interrupts
      ) { ends.add(number) }
    }
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 1000)]), at: nil, options: .loops) {
      ends.add(0)
    }
    interrupt(1, at: 1300, ramp(5000, 100))
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(6000, 1000)])) { ends.add(2) }
    interrupt(3, at: 2000, ramp(8000, 10))
    player.play()
    try expectEqual(
      offline.render(2100)[0],
      ramp(0, 1000) + ramp(0, 300) + ramp(5000, 100) + ramp(6000, 600) + ramp(8000, 10)
        + silence(90))
    expectTrue(waits { ends.all == [0, 1, 2, 3] })
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 100)]), at: nil, options: .loops)
    interrupt(4, at: 2300, ramp(1, 10))
    interrupt(5, at: 2200, ramp(9000, 10))
    try expectEqual(offline.render(300)[0], ramp(0, 100) + ramp(9000, 10) + silence(190))
    expectTrue(waits { ends.all == [0, 1, 2, 3, 4, 5] })
    // A loop that is asked for its end too early goes on.
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 100)]), at: nil, options: .loops)
    player.scheduleBuffer(
      AVAudioPCMBuffer([ramp(700, 10)]), at: AVAudioTime(sampleTime: 2550, atRate: 48000),
      options: .interruptsAtLoop)
    try expectEqual(
      offline.render(300)[0], ramp(0, 100) + ramp(0, 100) + ramp(700, 10) + silence(90))
  }

  @Test func fiveThousandBuffersHaveFiveThousandHandlersInOrder() throws {
    let (offline, player) = try mono()
    let ends = Told<Int>()
    for i in 0..<5000 {
      player.scheduleBuffer(
        AVAudioPCMBuffer([ramp(64 * i, 64)]), completionCallbackType: .dataPlayedBack
      ) { type in
        expectEqual(type, .dataPlayedBack)
        ends.add(i)
      }
    }
    player.play()
    try expectEqual(offline.render(320_000)[0], ramp(0, 320_000))
    expectTrue(waits { ends.all.count == 5000 })
    expectEqual(ends.all, Array(0..<5000))
    // A stop half-way, the second of them in a handler.
    let others = Told<Int>()
    for i in 0..<5000 {
      player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 64)])) {
        if i == 2600 { player.stop() }
        others.add(i)
      }
    }
    _ = try offline.render(160_000)
    player.stop()
    expectTrue(waits { others.all.count == 5000 })
    expectEqual(others.all, Array(0..<5000))
    expectTrue(!player.isPlaying)
  }

  @Test func aPauseShiftsWhatFollows() throws {
    let (offline, player) = try mono(500)
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(1, 2000)]))
    player.scheduleBuffer(
      AVAudioPCMBuffer([ramp(9000, 100)]), at: AVAudioTime(sampleTime: 3000, atRate: 48000))
    player.play()
    try expectEqual(offline.render(1000)[0], ramp(1, 1000))
    let time = try require(player.lastRenderTime)
    expectEqual(player.playerTime(forNodeTime: time)?.sampleTime, 500)
    player.pause()
    expectTrue(!player.isPlaying)
    try expectEqual(offline.render(1000)[0], silence(1000))
    expectNil(player.playerTime(forNodeTime: try require(player.lastRenderTime)))
    player.play()
    try expectEqual(
      offline.render(2500)[0], ramp(1001, 1000) + silence(1000) + ramp(9000, 100) + silence(400))
    let node = try require(
      player.nodeTime(forPlayerTime: AVAudioTime(sampleTime: 3000, atRate: 48000)))
    expectEqual(node.sampleTime, 4000)
  }

  @Test func playersStartAtAFrame() throws {
    let (offline, player) = try mono()
    _ = try offline.render(100)
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(1, 300)]))
    player.play(at: AVAudioTime(sampleTime: 12_000 / 2, atRate: 24_000))
    expectTrue(player.isPlaying)
    _ = try offline.render(400)
    let time = try require(player.lastRenderTime)
    expectEqual(player.playerTime(forNodeTime: time)?.sampleTime, 100 - 12_000)
    try expectEqual(offline.render(11_800)[0], silence(11_500) + ramp(1, 300))
    // A host time counts as none here.
    player.stop()
    player.scheduleBuffer(
      AVAudioPCMBuffer([ramp(1, 100)]), at: AVAudioTime(hostTime: mach_absolute_time() * 2))
    player.play(at: AVAudioTime(hostTime: mach_absolute_time() * 2))
    try expectEqual(offline.render(100)[0], ramp(1, 100))
  }

  /// The rate of a buffer is that of the output; times count at theirs.
  @Test func buffersOfAnyFormatPlay() throws {
    let (offline, player) = try mono()
    let shorts = AVAudioPCMBuffer(
      pcmFormat: .shorts(8000, 1), frameCapacity: 100)!
    shorts.frameLength = 50
    for i in 0..<100 { shorts.int16ChannelData![0][i] = Int16(256 * i) }
    player.scheduleBuffer(shorts, at: AVAudioTime(sampleTime: 10, atRate: 24000))
    player.scheduleBuffer(AVAudioPCMBuffer([[]]))
    player.play()
    try expectEqual(
      offline.render(100)[0], silence(20) + (0..<50).map { Float($0) / 128 } + silence(30))
  }

  @Test func asynchronousFormsReturnAtTheEnd() async throws {
    let (offline, player) = try mono()
    let over = Told<Int>()
    let first = Task {
      await player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 64)]))
      over.add(0)
      await expectEqual(
        player.scheduleBuffer(
          AVAudioPCMBuffer([ramp(0, 64)]), completionCallbackType: .dataRendered), .dataRendered)
      over.add(1)
    }
    player.play()
    while over.all.count < 2 { _ = try offline.render(64) }
    await first.value
  }

  @Test func filesAndSegmentsKeepTheirOrder() throws {
    try withTemporaryFolder { folder in
      let url = folder.appendingPathComponent("sound.wav")
      let sound = noise(100_000, channels: 1)
      let file = try AVAudioFile(forWriting: url, settings: AVAudioFormat.shorts(48000, 1).settings)
      try file.write(from: AVAudioPCMBuffer(sound))
      file.close()
      let (offline, player) = try mono()
      let ends = Told<Int>()
      let reading = try AVAudioFile(forReading: url)
      player.scheduleFile(reading, at: nil) { ends.add(0) }
      player.scheduleBuffer(AVAudioPCMBuffer([ramp(1, 10)])) { ends.add(1) }
      player.scheduleSegment(reading, startingFrame: 500, frameCount: 100, at: nil) { ends.add(2) }
      player.scheduleSegment(
        reading, startingFrame: 99_950, frameCount: 100, at: nil,
        completionCallbackType: .dataRendered
      ) { _ in ends.add(3) }
      player.prepare(withFrameCount: 4096)
      player.play()
      let wanted = sound[0] + ramp(1, 10) + sound[0][500..<600] + sound[0][99_950...]
      try expectEqual(offline.render(wanted.count + 100)[0], wanted + silence(100))
      expectTrue(waits { ends.all == [0, 1, 2, 3] })
      expectEqual(reading.framePosition, 0)
      // The file of a rate of its own, in two channels.
      let other = offline.player(.standard(24000, 2))
      other.scheduleFile(reading, at: nil)
      other.play()
      let heard = try offline.render(104_000)[0]
      expectTrue(heard[99_000..<100_000].contains { $0 != 0 })
      expectTrue(heard[103_000...].allSatisfy { $0 == 0 })
    }
  }

  /// A thousand interrupts that wait take no time at each end of a short loop, and a long render has all of it.
  @Test func shortLoopsAndManyInterruptsArePlayedWhole() throws {
    let (offline, player) = try mono(1 << 20)
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(1, 8)]), at: nil, options: .loops)
    for i in 0..<1000 {
      player.scheduleBuffer(
        AVAudioPCMBuffer([ramp(100, 8)]),
        at: AVAudioTime(sampleTime: Int64(1_000_000 + i), atRate: 48000), options: .interrupts)
    }
    player.play()
    let heard = try offline.render(1 << 20)[0]
    expectTrue(heard[..<1_000_000].indices.allSatisfy { heard[$0] == Float($0 % 8 + 1) })
    expectTrue(heard[1_000_000..<1_001_000].allSatisfy { $0 == 100 })
    expectEqual(Array(heard[1_001_000..<1_001_008]), ramp(101, 7) + [0])
  }

  /// A player of a higher rate is read as far ahead as a long render takes.
  @Test func filesHaveNoHolesBehindAConverter() throws {
    try withTemporaryFolder { folder in
      let url = folder.appendingPathComponent("sound.wav")
      let ones = Array(repeating: Float(1), count: 400_000)
      let format = AVAudioFormat.standard(192_000, 1)
      try AVAudioFile(forWriting: url, settings: format.settings).write(
        from: AVAudioPCMBuffer([ones], format))
      let offline = try OfflineEngine(.standard(44100, 1), maximum: 65_536)
      let player = offline.player(format)
      try player.scheduleFile(AVAudioFile(forReading: url), at: nil)
      player.play()
      let heard = try offline.render(65_536)[0]
      expectTrue(heard[1000...].allSatisfy { abs($0 - 1) < 0.01 })
    }
  }

  /// What interrupts a file leaves it all of its sound before, however much of it was read.
  @Test func filesPlayUntilTheyAreInterrupted() throws {
    try withTemporaryFolder { folder in
      let url = folder.appendingPathComponent("sound.wav")
      let sound = noise(200_000, channels: 1)
      let format = AVAudioFormat.standard(48000, 1)
      try AVAudioFile(forWriting: url, settings: format.settings).write(
        from: AVAudioPCMBuffer(sound))
      let offline = try OfflineEngine(format)
      let player = AVAudioPlayerNode()
      offline.engine.attach(player)
      let ends = Told<Int>()
      let file = try AVAudioFile(forReading: url)
      // A player that is connected later reads for the channels that it gets.
      player.scheduleFile(file, at: nil) { ends.add(0) }
      offline.engine.connect(player, to: offline.engine.mainMixerNode, format: format)
      player.scheduleBuffer(
        AVAudioPCMBuffer([ramp(1, 10)]), at: AVAudioTime(sampleTime: 150_000, atRate: 48000),
        options: .interrupts
      ) { ends.add(1) }
      player.scheduleFile(file, at: nil) { ends.add(2) }
      player.scheduleBuffer(AVAudioPCMBuffer([ramp(500, 10)])) { ends.add(3) }
      player.scheduleSegment(file, startingFrame: 100, frameCount: 50, at: nil) { ends.add(4) }
      player.play()
      try expectEqual(
        offline.render(151_000)[0], sound[0][..<150_000] + ramp(1, 10) + sound[0][..<990])
      // The end of a loop is that of the file: what was behind it is over.
      player.scheduleBuffer(AVAudioPCMBuffer([ramp(7, 10)]), at: nil, options: .interruptsAtLoop) {
        ends.add(5)
      }
      try expectEqual(
        offline.render(199_100)[0], sound[0][990...] + ramp(7, 10) + silence(80))
      expectTrue(waits { ends.all == [0, 1, 2, 3, 4, 5] })
    }
  }

  // MARK: Source nodes

  @Test func aSourceNodeConvertsTheSoundOfItsFunction() throws {
    let offline = try OfflineEngine()
    let engine = offline.engine
    let isSilent = Mutex(false)
    let calls = Told<Int>()
    let source = AVAudioSourceNode(format: .shorts(48000, 1)) { silence, time, frames, list in
      calls.add(Int(time.pointee.mSampleTime))
      let buffers = UnsafeMutableAudioBufferListPointer(list)
      let samples = buffers[0].mData!.assumingMemoryBound(to: Int16.self)
      for i in 0..<Int(frames) { samples[i] = 16384 }
      if isSilent.withLock({ $0 }) { silence.pointee = true }
      return noErr
    }
    engine.attach(source)
    engine.connect(source, to: engine.mainMixerNode, format: .standard())
    expectTrue(source.numberOfInputs == 0 && source.numberOfOutputs == 1)
    let half = Array(repeating: Float(0.5), count: 600)
    try expectEqual(offline.render(600), [half, half])
    expectEqual(calls.all, [0, 512])
    source.volume = 0.5
    _ = try offline.render(512)
    try expectEqual(offline.render(600)[1], half.map { $0 / 2 })
    isSilent.withLock { $0 = true }
    try expectEqual(offline.render(100)[0], silence(100))
  }

  @Test func aSourceNodeMayReplaceTheMemory() throws {
    let offline = try OfflineEngine()
    let engine = offline.engine
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: 512)
    defer { memory.deallocate() }
    memory.initialize(repeating: 0.25, count: 512)
    let own = UInt(bitPattern: memory)
    let source = AVAudioSourceNode { _, _, _, list in
      for i in 0..<2 {
        UnsafeMutableAudioBufferListPointer(list)[i].mData = UnsafeMutableRawPointer(
          bitPattern: own)
      }
      return noErr
    }
    engine.attach(source)
    engine.connect(source, to: engine.mainMixerNode, format: .standard())
    try expectEqual(offline.render(512)[1], Array(repeating: 0.25, count: 512))
  }

  /// A tap on the mixer hears what the volume has left, with the times of the renders.
  @Test func aTapHearsTheMixerAfterItsVolume() throws {
    let (offline, player) = try mono()
    let mixer = offline.engine.mainMixerNode
    let heard = Told<[Float]>()
    let times = Told<Int>()
    mixer.outputVolume = 0.5
    mixer.installTap(onBus: 0, bufferSize: 1000, format: nil) { buffer, time in
      heard.add(buffer.channels[0])
      times.add(Int(time.sampleTime))
    }
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 200_000)]))
    player.play()
    _ = try offline.render(200_000)
    expectTrue(waits { heard.all.count == 200 })
    expectEqual(heard.all.flatMap(\.self), ramp(0, 200_000).map { $0 / 2 })
    expectEqual(times.all, Array(stride(from: 0, to: 200_000, by: 1000)))
  }

  /// Renders of single frames wait for a tap that is slow.
  @Test func aTapHearsManyShortRenders() throws {
    let (offline, player) = try mono(1)
    let heard = Told<[Float]>()
    player.installTap(onBus: 0, bufferSize: 1000, format: nil) { buffer, _ in
      if heard.all.isEmpty { Thread.sleep(forTimeInterval: 1) }
      heard.add(buffer.channels[0])
    }
    player.scheduleBuffer(AVAudioPCMBuffer([ramp(0, 50_000)]))
    player.play()
    _ = try offline.render(50_000)
    expectTrue(waits { heard.all.count == 50 })
    expectEqual(heard.all.flatMap(\.self), ramp(0, 50_000))
  }
}
