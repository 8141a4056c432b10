import AVFoundation
import Hardware
import Server
import TestSupport
import Testing

/// Components, units of them, and plugins in an engine.
@Suite(.tags(.program)) struct UnitTests {
  @Test func theCFunctionsTakeTheUnit() throws {
    try findPlugins()
    var kept: AudioUnit?
    do {
      let eq = AVAudioUnitEQ(numberOfBands: 2)
      kept = eq.audioUnit
      expectEqual(
        AudioUnitSetParameter(
          eq.audioUnit, kAUNBandEQParam_GlobalGain, kAudioUnitScope_Global, 0, -3, 0), noErr)
      expectEqual(eq.globalGain, -3)
      var bands: UInt32 = 0
      var size = UInt32(MemoryLayout<UInt32>.size)
      expectEqual(
        AudioUnitGetProperty(
          eq.audioUnit, kAUNBandEQProperty_NumberOfBands, kAudioUnitScope_Global, 0, &bands, &size),
        noErr)
      expectEqual(bands, 2)
      let heard = try OfflineEngine().render([[0.5], [0.5]], through: eq, 10)
      expectTrue(abs(heard[0][0] - 0.5 * pow(10, -3 / 20)) < 1e-6)
    }
    var value: Float = 0
    expectTrue(
      AudioUnitGetParameter(
        try require(kept), kAUNBandEQParam_GlobalGain, kAudioUnitScope_Global, 0, &value) != noErr)
  }

  @Test func componentsAreFound() throws {
    try findPlugins()
    let manager = AVAudioUnitComponentManager.shared()
    expectTrue(manager === AVAudioUnitComponentManager.shared())
    let all = manager.components(matching: AudioComponentDescription())
    let effects = manager.components(
      matching: AudioComponentDescription("aufx", "\0\0\0\0", "\0\0\0\0"))
    expectTrue(effects.count > 15 && effects.count < all.count)
    expectTrue(effects.allSatisfy { $0.typeName == AVAudioUnitTypeEffect })
    let delay = try require(
      manager.components(matching: AudioComponentDescription("aufx", "dely")).first)
    expectTrue(
      delay.name == "AUDelay" && delay.manufacturerName == AVAudioUnitManufacturerNameApple)
    expectTrue(delay.version == 0x10000 && delay.versionString == "1.0.0")
    expectTrue(!delay.hasMIDIInput && !delay.hasMIDIOutput && delay.localizedTypeName == "Effect")
    var found = AudioComponentDescription()
    expectEqual(AudioComponentGetDescription(delay.audioComponent, &found), noErr)
    expectEqual(found.componentSubType, delay.audioComponentDescription.componentSubType)
    expectEqual(manager.components(matching: AudioComponentDescription("aufx", "dely")), [delay])
    let same = manager.components(
      matching: NSPredicate { object, _ in
        (object as? AVAudioUnitComponent)?.name == "AUDelay"
      })
    expectEqual(same, [delay])
    // A search ends where its function says.
    let two = manager.components { component, stop in
      stop.pointee = ObjCBool(component == all[1])
      return true
    }
    expectEqual(two, Array(all[..<2]))
    let piano = try require(
      manager.components { component, _ in component.name == "MDA Piano" }.first)
    expectTrue(piano.hasMIDIInput && piano.typeName == AVAudioUnitTypeMusicDevice)
  }

  /// A bundle comes, and goes: both are told, and searches find what is there. In a process of its own, whose LV2_PATH it sets.
  @Test func bundlesThatComeAndGoAreTold() async {
    await #expect(processExitsWith: .success) {
      try withTemporaryFolder { folder in
        let bundles = folder.appendingPathComponent("bundles")
        try FileManager.default.createDirectory(at: bundles, withIntermediateDirectories: true)
        setenv("LV2_PATH", "\(bundles.path):/usr/lib/lv2", 1)
        let manager = AVAudioUnitComponentManager.shared()
        @Sendable func found() -> [AVAudioUnitComponent] {
          manager.components { component, _ in component.name == "Come and Gone" }
        }
        try require(found().isEmpty)
        let told = Told<Int>()
        let token = NotificationCenter.default.addObserver(
          forName: AVAudioUnitComponentManager.registrationsChangedNotification, object: manager,
          queue: nil
        ) { _ in told.add(found().count) }
        defer { NotificationCenter.default.removeObserver(token) }
        let bundle = bundles.appendingPathComponent("amp.lv2")
        try FileManager.default.copyItem(atPath: "/usr/lib/lv2/eg-amp.lv2", toPath: bundle.path)
        for name in ["amp.ttl", "manifest.ttl"] {
          let file = bundle.appendingPathComponent(name)
          try String(contentsOf: file, encoding: .utf8)
            .replacingOccurrences(of: "plugins/eg-amp", with: "plugins/come-and-gone")
            .replacingOccurrences(of: "\"Simple Amplifier\"", with: "\"Come and Gone\"")
            .write(to: file, atomically: false, encoding: .utf8)
        }
        try require(waits { told.all == [1] })
        let component = try require(found().first)
        try require(component == found().first)
        try FileManager.default.removeItem(at: bundle)
        try require(waits { told.all == [1, 0] })
      }
    }
  }

  @Test func theClassFollowsTheType() async throws {
    try findPlugins()
    func type(_ description: AudioComponentDescription) async throws -> AVAudioUnit.Type {
      Swift.type(of: try await AVAudioUnit.instantiate(with: description))
    }
    expectTrue(try await type(AudioComponentDescription("aufx", "nbeq")) == AVAudioUnitEffect.self)
    expectTrue(
      try await type(AudioComponentDescription("aufc", "vari")) == AVAudioUnitTimeEffect.self)
    expectTrue(
      try await type(AudioComponentDescription("augn", "afpl")) == AVAudioUnitGenerator.self)
    expectTrue(try await type(AudioComponentDescription("aumx", "mcmx")) == AVAudioUnit.self)
    expectTrue(try await type(plugin(named: "MDA Piano")) == AVAudioUnitMIDIInstrument.self)
    let unit = try await AVAudioUnit.instantiate(with: AudioComponentDescription("aufx", "dely"))
    expectTrue(
      unit.name == "AUDelay" && unit.manufacturerName == "Apple" && unit.version == 0x10000)
    expectEqual(
      unit.audioComponentDescription.componentSubType,
      AudioComponentDescription("aufx", "dely").componentSubType)
    for (description, code, words) in [
      (
        AudioComponentDescription("aufx", "none", "nobo"), -3000,
        "no component 'aufx' 'none' 'nobo'"
      ),
      (AudioComponentDescription("auou", "def "), -50, "DefaultOutput is no node"),
      (AudioComponentDescription("auou", "vpio"), -50, "VoiceProcessingIO is no node"),
    ] {
      do {
        _ = try await AVAudioUnit.instantiate(with: description)
        throw SupportError("it was made")
      } catch let error as NSError {
        expectTrue(error.domain == NSOSStatusErrorDomain && error.code == code, "\(error)")
        expectTrue(error.localizedDescription.contains(words), "\(error.localizedDescription)")
      }
    }
    let told = Told<Bool>()
    AVAudioUnit.instantiate(with: AudioComponentDescription("aufx", "none")) { unit, error in
      told.add(unit == nil && error != nil)
    }
    expectTrue(waits { told.all == [true] })
  }

  @Test func anInstrumentPlaysNotes() throws {
    let instrument = AVAudioUnitMIDIInstrument(
      audioComponentDescription: try plugin(named: "MDA Piano"))
    expectEqual(instrument.numberOfInputs, 0)
    let offline = try OfflineEngine()
    // Before the node is attached, nothing hears it.
    instrument.startNote(60, withVelocity: 100, onChannel: 0)
    offline.engine.attach(instrument)
    offline.engine.connect(instrument, to: offline.engine.mainMixerNode, format: .standard())
    func loudness(_ frames: Int) throws -> Float {
      try offline.render(frames)[0].map(abs).max() ?? 0
    }
    expectTrue(try loudness(4800) < 0.001)
    // What is no message is ignored.
    instrument.startNote(200, withVelocity: 100, onChannel: 0)
    instrument.startNote(60, withVelocity: 100, onChannel: 16)
    instrument.sendMIDIEvent(0x3F, data1: 60, data2: 100)
    instrument.sendMIDISysExEvent(Data([0xF0, 1]))
    expectTrue(try loudness(4800) < 0.001)
    instrument.startNote(69, withVelocity: 100, onChannel: 0)
    let heard = try offline.render(24_000)[0]
    expectTrue(heard.map(abs).max() ?? 0 > 0.01)
    expectTrue(level(heard[8000...], at: 440) > level(heard[8000...], at: 415) + 20)
    instrument.stopNote(69, onChannel: 0)
    _ = try loudness(48_000)
    expectTrue(try loudness(4800) < 0.001)
    // The volume is that of the mixer's bus.
    instrument.sendMIDIEvent(0x90, data1: 69, data2: 100)
    instrument.volume = 0
    _ = try offline.render(512)
    expectEqual(try loudness(4800), 0)
    (instrument.volume, instrument.pan) = (1, -1)
    _ = try offline.render(512)
    let left = try offline.render(4800)
    expectTrue(left[0].contains { $0 != 0 } && left[1].allSatisfy { $0 == 0 })
    for _ in 0..<3 {
      instrument.sendController(7, withValue: 100, onChannel: 0)
      instrument.sendPitchBend(8192, onChannel: 0)
      instrument.sendPressure(3, onChannel: 0)
      instrument.sendPressure(forKey: 69, withValue: 3, onChannel: 0)
      instrument.sendProgramChange(1, onChannel: 0)
      instrument.sendProgramChange(1, bankMSB: 0, bankLSB: 0, onChannel: 0)
      instrument.sendMIDIEvent(0xC0, data1: 2)
      instrument.sendMIDISysExEvent(Data([0xF0, 1, 0xF7]))
      expectTrue(try loudness(512) < 2)
    }
  }

  @Test func aPluginOfDebianIsAnEffect() throws {
    let effect = AVAudioUnitEffect(audioComponentDescription: try plugin(named: "Simple Amplifier"))
    expectTrue(effect.manufacturerName != "" && effect.name == "Simple Amplifier")
    expectEqual(
      AudioUnitSetParameter(effect.audioUnit, 0, kAudioUnitScope_Global, 0, -20, 0), noErr)
    let sound = noise(4800)
    let heard = try OfflineEngine().render(sound, through: effect, 4800)
    for channel in 0..<2 {
      expectTrue(ratio(heard[channel].map { $0 * 10 }, to: sound[channel]) > 100)
    }
  }

  /// Processes of plugins that this one has started.
  private var hosts: [pid_t] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { pid_t($0) }.filter { process in
      let words = (try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)) ?? ""
      let facts = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
      let parent = facts.split(separator: ")").last?.split(separator: " ").dropFirst().first
      return words.contains("plugins\0host") && parent == "\(getpid())"
    }
  }

  @Test func aPluginInAProcessOfItsOwnMayCrash() async throws {
    let amplifier = try plugin(named: "Simple Amplifier")
    let folder = try builtProduct(named: "cuejack").deletingLastPathComponent().path
    setenv("PATH", "\(folder):\(String(cString: getenv("PATH")))", 1)
    let unit = try await AVAudioUnit.instantiate(with: amplifier, options: .loadOutOfProcess)
    let offline = try OfflineEngine()
    let before = hosts
    let player = offline.player(before: unit)
    let own = Set(hosts).subtracting(before)
    // One for each channel, and the one before that was made for another rate may be ending.
    expectTrue(own.count >= 2, "\(own.count)")
    // It comes later by the longest render.
    expectTrue(abs(unit.latency * 48_000 - 512) < 1e-6, "\(unit.latency)")
    let sound = noise(96_000)
    player.scheduleBuffer(AVAudioPCMBuffer(sound), completionHandler: nil)
    player.play()
    let first = try offline.render(5120)
    for channel in 0..<2 {
      expectEqual(Array(first[channel][512...]), Array(sound[channel][..<4608]))
    }
    expectEqual(
      AudioUnitSetParameter(unit.audioUnit, 0, kAudioUnitScope_Global, 0, -20, 0), noErr)
    var at = 4608
    expectTrue(
      try waits {
        let next = try offline.render(512)[0]
        defer { at += 512 }
        return ratio(next.map { $0 * 10 }, to: Array(sound[0][at..<at + 512])) > 100
      })
    for process in own { kill(process, SIGKILL) }
    expectTrue(
      try waits {
        let next = try offline.render(512)[0]
        defer { at += 512 }
        return next == Array(sound[0][at..<at + 512])
      })
    // Without the command, there is an error.
    await #expect(processExitsWith: .success) {
      let amplifier = try plugin(named: "Simple Amplifier")
      setenv("PATH", "/nowhere", 1)
      do {
        _ = try await AVAudioUnit.instantiate(with: amplifier, options: .loadOutOfProcess)
      } catch let error as NSError where error.localizedDescription.contains("“cuejack”") {
        exit(0)
      }
      exit(1)
    }
  }

  @Test func aGeneratorIsSilentWhileItIsBypassed() throws {
    let generator = AVAudioUnitGenerator(
      audioComponentDescription: AudioComponentDescription("augn", "sspl"))
    let offline = try OfflineEngine()
    offline.engine.attach(generator)
    offline.engine.connect(generator, to: offline.engine.mainMixerNode, format: .standard())
    (generator.volume, generator.pan) = (0.5, 0)
    let memory = AVAudioPCMBuffer([
      [Float](repeating: 0.5, count: 4096), [Float](repeating: 0.5, count: 4096),
    ])
    let slice = UnsafeMutablePointer<ScheduledAudioSlice>.allocate(capacity: 1)
    defer { slice.deallocate() }
    UnsafeMutableRawPointer(slice).initializeMemory(
      as: UInt8.self, repeating: 0, count: MemoryLayout<ScheduledAudioSlice>.size)
    slice.pointee.mNumberFrames = 4096
    slice.pointee.mBufferList = memory.mutableAudioBufferList
    expectEqual(
      AudioUnitSetProperty(
        generator.audioUnit, kAudioUnitProperty_ScheduleAudioSlice, kAudioUnitScope_Global, 0,
        slice,
        UInt32(MemoryLayout<ScheduledAudioSlice>.size)), noErr)
    var start = AudioTimeStamp()
    start.mSampleTime = -1
    start.mFlags = .sampleTimeValid
    expectEqual(
      AudioUnitSetProperty(
        generator.audioUnit, kAudioUnitProperty_ScheduleStartTimeStamp, kAudioUnitScope_Global, 0,
        &start, UInt32(MemoryLayout<AudioTimeStamp>.size)), noErr)
    expectEqual(
      try offline.render(512)[0][100...], ArraySlice([Float](repeating: 0.25, count: 412)))
    generator.bypass = true
    expectTrue(generator.bypass)
    _ = try offline.render(512)
    expectEqual(try offline.render(512)[0], silence(512))
    generator.bypass = false
    _ = try offline.render(512)
    expectEqual(try offline.render(512)[0], [Float](repeating: 0.25, count: 512))
  }

  @Test func settingsComeFromAFile() throws {
    try findPlugins()
    let folder = try makeTemporaryFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("echo.aupreset")
    let delay = AVAudioUnitDelay()
    delay.delayTime = 0.25
    delay.feedback = -20
    var info: Unmanaged<CFDictionary>?
    var size = UInt32(MemoryLayout<Unmanaged<CFDictionary>?>.size)
    expectEqual(
      AudioUnitGetProperty(
        delay.audioUnit, kAudioUnitProperty_ClassInfo, kAudioUnitScope_Global, 0, &info, &size),
      noErr)
    let dictionary = try require(info?.takeRetainedValue()) as NSDictionary
    try PropertyListSerialization.data(fromPropertyList: dictionary, format: .xml, options: 0)
      .write(to: file)
    let other = AVAudioUnitDelay()
    try other.loadPreset(at: file)
    expectTrue(other.delayTime == 0.25 && other.feedback == -20)
    // Another unit's settings, and what is none.
    let wrong = try failure { try AVAudioUnitDistortion().loadPreset(at: file) }
    expectTrue(
      wrong.localizedDescription.contains("AUDistortion")
        && wrong.localizedDescription.contains("echo.aupreset")
        && wrong.localizedDescription.contains("another component"), "\(wrong)")
    try Data("no list".utf8).write(to: file)
    expectTrue(
      try failure { try other.loadPreset(at: file) }.localizedDescription.contains("echo.aupreset"))
    try PropertyListSerialization.data(fromPropertyList: ["a"], format: .xml, options: 0)
      .write(to: file)
    expectTrue(
      try failure { try other.loadPreset(at: file) }.localizedDescription.contains("no dictionary"))
    expectTrue(other.delayTime == 0.25)
  }

  @Test(.tags(.server)) func unitsAreHeardFromTheSoundCard() throws {
    try findPlugins()
    let daemon = try JackDaemon(period: 256, playbackPorts: 0)
    let card = try CaptureClient(on: daemon, capacity: 480_000, isSoundCard: true)
    let engine = AVAudioEngine(
      device: HardwareDevice(
        JackServer(named: daemon.name), named: daemon.name, clientName: "engine"))
    let player = AVAudioPlayerNode()
    let eq = AVAudioUnitEQ(numberOfBands: 1)
    let varispeed = AVAudioUnitVarispeed()
    for node in [player, eq, varispeed] as [AVAudioNode] { engine.attach(node) }
    eq.globalGain = 6
    varispeed.rate = 2
    engine.connect(player, to: varispeed, format: .standard())
    engine.connect(varispeed, to: eq, format: .standard())
    engine.connect(eq, to: engine.mainMixerNode, format: .standard())
    try engine.start()
    card.arm()
    player.scheduleBuffer(
      AVAudioPCMBuffer(tones(96_000, [250, 250]).map { $0.map { $0 / 4 } }), at: nil,
      options: .loops)
    player.play()
    func heard() -> [Float] { card.samples(channel: 0) }
    /// Waits for so many more frames, and returns the number of all.
    func hear(_ frames: Int) -> Int {
      let count = heard().count + frames
      expectTrue(waits { heard().count >= count })
      return heard().count
    }
    expectTrue(waits { heard().contains { $0 != 0 } })
    let raised = hear(16_000)
    // Units leave and come while the engine plays, without a click.
    engine.detach(eq)
    _ = hear(4000)
    let third = AVAudioUnitDistortion()
    third.wetDryMix = 0
    engine.attach(third)
    engine.connect(varispeed, to: third, format: .standard())
    engine.connect(third, to: engine.mainMixerNode, format: .standard())
    let plain = hear(16_000)
    expectTrue(varispeed.lastRenderTime?.isSampleTimeValid == true)
    engine.stop()
    let sound = Array(heard()[..<plain])
    let first = try require(sound.firstIndex { $0 != 0 })
    expectTrue(
      roughness(sound[(first + 2000)...]) < 0.01, "\(roughness(sound[(first + 2000)...]))")
    for (range, gain) in [
      (raised - 9000..<raised - 1000, 1.9953), (plain - 9000..<plain - 1000, 1),
    ]
      as [(Range<Int>, Float)]
    {
      let tone = frequency(of: sound[range])
      expectTrue(abs(tone - 500) < 0.5, "\(tone)")
      let most = sound[range].max() ?? 0
      expectTrue(abs(most - 0.125 * gain) < 0.01, "\(most)")
    }
  }

  private func expect(_ words: String, in result: ExitTest.Result?) {
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    expectTrue(text.contains(words), "\(text)")
  }

  @Test func componentsThatCannotBeEndTheProgram() async {
    let none = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = AVAudioUnitEffect(audioComponentDescription: AudioComponentDescription("aufx", "none"))
    }
    expect("AVAudioUnitEffect: there is no component 'aufx' 'none' 'appl'", in: none)
    let wrong = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = AVAudioUnitTimeEffect(
        audioComponentDescription: AudioComponentDescription("aufx", "dely"))
    }
    expect("AVAudioUnitTimeEffect: 'aufx' 'dely' 'appl' has another type", in: wrong)
  }
}
