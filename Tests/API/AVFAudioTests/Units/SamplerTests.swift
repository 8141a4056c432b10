import AVFoundation
import AudioUnits
import CoreFoundation
import Foundation
import TestSupport
import Testing

/// Samplers, and the music devices of the C functions, with SoundFonts.
@Suite(.tags(.program), .serialized) struct SamplerTests {
  init() throws { try findPlugins() }

  private func sampler() throws -> (AVAudioUnitSampler, OfflineEngine) {
    let offline = try OfflineEngine()
    let sampler = AVAudioUnitSampler()
    offline.engine.attach(sampler)
    offline.engine.connect(sampler, to: offline.engine.mainMixerNode, format: .standard())
    return (sampler, offline)
  }

  /// Returns the sound of a note and ends it.
  private func note(
    _ key: UInt8, _ sampler: AVAudioUnitSampler, _ offline: OfflineEngine, velocity: UInt8 = 100,
    channel: UInt8 = 0
  ) throws -> [[Float]] {
    sampler.startNote(key, withVelocity: velocity, onChannel: channel)
    let sound = try offline.render(12_000)
    sampler.stopNote(key, onChannel: channel)
    _ = try offline.render(96_000)
    return sound
  }

  private func peak(_ samples: some Sequence<Float>) -> Float { samples.map(abs).max() ?? 0 }

  // MARK: Banks

  @Test func aSamplerPlaysAProgramOnAllChannels() throws {
    try withTemporaryFolder { folder in
      let (sampler, offline) = try sampler()
      expectTrue(peak(try note(60, sampler, offline)[0]) > 0.005)
      let font = URL(fileURLWithPath: try TinySoundFont.sine.write(to: folder))
      try sampler.loadInstrument(at: font)
      for channel in [0, 9, 15] as [UInt8] {
        let sound = try note(69, sampler, offline, channel: channel)[0]
        expectTrue(level(sound[2000...], at: 480) > level(sound[2000...], at: 440) + 20)
      }
      // A file that cannot be used leaves the sound as it is.
      let cut = folder.appendingPathComponent("cut.sf2")
      try TinySoundFont.sine.data.dropLast(40).write(to: cut)
      let drums = UInt8(kAUSampler_DefaultPercussionBankMSB)
      let melodic = UInt8(kAUSampler_DefaultMelodicBankMSB)
      for (body, name) in [
        ({ try sampler.loadInstrument(at: cut) }, "cut.sf2"),
        ({ try sampler.loadInstrument(at: URL(fileURLWithPath: "/nowhere.sf2")) }, "/nowhere.sf2"),
        ({ try sampler.loadInstrument(at: URL(string: "http://x/y.sf2")!) }, "http://x/y.sf2"),
        (
          {
            try sampler.loadSoundBankInstrument(
              at: font, program: 1, bankMSB: melodic, bankLSB: 0)
          }, "no program 1 in bank 0"
        ),
        (
          { try sampler.loadSoundBankInstrument(at: font, program: 0, bankMSB: drums, bankLSB: 0) },
          "bank 128"
        ),
      ] as [(() throws -> Void, String)] {
        let error = #expect(throws: NSError.self) { try body() }
        expectEqual(error?.code, Int(kAudioUnitErr_InvalidFile))
        expectTrue(error?.localizedDescription.contains(name) == true, "\(error as Any)")
      }
      let sound = try note(69, sampler, offline)[0]
      expectTrue(level(sound[2000...], at: 480) > level(sound[2000...], at: 440) + 20)
      let bank = URL(fileURLWithPath: generalMIDI)
      try sampler.loadSoundBankInstrument(at: bank, program: 0, bankMSB: drums, bankLSB: 0)
      try sampler.loadSoundBankInstrument(at: bank, program: 56, bankMSB: melodic, bankLSB: 0)
      expectTrue(peak(try note(69, sampler, offline)[0]) > 0.01)
    }
  }

  /// FluidSynth reads DLS files by libinstpatch, to which Debian links it.
  @Test func aDLSFileSoundsAsASoundFont() throws {
    try withTemporaryFolder { folder in
      let (sampler, offline) = try sampler()
      func sound(_ path: String) throws -> [Float] {
        try sampler.loadInstrument(at: URL(fileURLWithPath: path))
        _ = try offline.render(96_000)
        return try note(62, sampler, offline)[0]
      }
      let font = try sound(TinySoundFont.sine.write(to: folder))
      let file = folder.appendingPathComponent("tiny.dls")
      try TinySoundFont.sine.dls.write(to: file)
      let dls = try sound(file.path)
      expectTrue(peak(font) > 0.01)
      let difference = peak(zip(font, dls).map { $0 - $1 })
      expectTrue(difference < 1e-4, "\(difference)")
      // A file that is cut off names itself.
      try TinySoundFont.sine.dls.dropLast(40).write(to: file)
      let error = #expect(throws: NSError.self) { try sampler.loadInstrument(at: file) }
      expectTrue(error?.localizedDescription.contains("tiny.dls") == true, "\(error as Any)")
    }
  }

  @Test func gainPanAndTuning() throws {
    try withTemporaryFolder { folder in
      let (sampler, offline) = try sampler()
      try sampler.loadInstrument(
        at: URL(fileURLWithPath: TinySoundFont.sine.write(to: folder)))
      let usual = try note(69, sampler, offline)
      (sampler.overallGain, sampler.stereoPan, sampler.globalTuning) = (-6, -100, 1150)
      expectTrue(sampler.overallGain == -6 && sampler.stereoPan == -100)
      expectEqual(sampler.globalTuning, 1150)
      let other = try note(69, sampler, offline)
      let ratio = peak(other[0][6000...]) / peak(usual[0][6000...])
      expectTrue(abs(ratio - pow(10, -0.3)) < 0.02, "\(ratio)")
      expectTrue(peak(other[1][6000...]) < 1e-6)
      let pitch = 480 * pow(2, 1150.0 / 1200)
      expectTrue(level(other[0][2000...], at: pitch) > level(other[0][2000...], at: 480) + 20)
      // Settings stay with another sound.
      try sampler.loadInstrument(
        at: URL(fileURLWithPath: TinySoundFont.constant.write(to: folder, "other.sf2")))
      expectTrue(sampler.overallGain == -6 && sampler.globalTuning == 1150)
    }
  }

  // MARK: Sound files

  /// Writes a sine of half a second as a WAVE file with chunks.
  private func wave(
    _ name: String, _ frequency: Double, in folder: URL, amplitude: Double = 0.5,
    chunks: [UInt8] = []
  ) throws -> URL {
    func little(_ number: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    let samples = (0..<24_000).flatMap {
      little(Int(32_767 * amplitude * sin(2 * .pi * frequency * Double($0) / 48_000)), 2)
    }
    let body: [UInt8] =
      Array("WAVEfmt ".utf8) + little(16, 4) + little(1, 2) + little(1, 2) + little(48_000, 4)
      + little(96_000, 4) + little(2, 2) + little(16, 2) + chunks + Array("data".utf8)
      + little(samples.count, 4) + samples
    let url = folder.appendingPathComponent(name)
    try Data(Array("RIFF".utf8) + little(body.count, 4) + body).write(to: url)
    return url
  }

  private func sampling(key: UInt8, loop: (Int, Int)) -> [UInt8] {
    func little(_ number: Int) -> [UInt8] {
      (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    return Array("smpl".utf8) + little(60) + little(0) + little(0) + little(0) + little(Int(key))
      + little(0) + little(0) + little(0) + little(1) + little(0) + little(0) + little(0)
      + little(loop.0) + little(loop.1) + little(0) + little(0)
  }

  @Test func soundFilesBecomeAnInstrument() throws {
    try withTemporaryFolder { folder in
      let (sampler, offline) = try sampler()
      // Without a key: 60, over all keys.
      try sampler.loadAudioFiles(at: [wave("tone.wav", 480, in: folder)])
      for (key, pitch) in [(60, 480), (72, 960), (48, 240)] as [(UInt8, Double)] {
        let sound = try note(key, sampler, offline)[0]
        expectTrue(level(sound[2000...], at: pitch) > level(sound[2000...], at: pitch * 1.06) + 20)
      }
      // By name: C4 is 60, C5 72. The keys between belong to the nearest one.
      try sampler.loadAudioFiles(at: [
        wave("low C4.wav", 480, in: folder), wave("high C5.wav", 1440, in: folder),
      ])
      for (key, pitch) in [
        (60, 480), (65, 480 * pow(2, 5 / 12.0)), (66, 1440 * pow(2, -6 / 12.0)), (72, 1440),
      ] as [(UInt8, Double)] {
        let sound = try note(key, sampler, offline)[0]
        expectTrue(
          level(sound[2000...], at: pitch) > level(sound[2000...], at: pitch * 1.06) + 20, "\(key)")
      }
      // Layers by name.
      try sampler.loadAudioFiles(at: [
        wave("tone A3 v1.wav", 480, in: folder), wave("tone A3 v2.wav", 1440, in: folder),
      ])
      for (velocity, pitch) in [(20, 480), (63, 480), (64, 1440), (127, 1440)] as [(UInt8, Double)]
      {
        let sound = try note(57, sampler, offline, velocity: velocity)[0]
        expectTrue(
          level(sound[2000...], at: pitch) > level(sound[2000...], at: 1920 - pitch) + 20,
          "\(velocity)")
      }
      // Key and loop of the chunk 'smpl': it sounds on and on.
      try sampler.loadAudioFiles(at: [
        wave("C2 loop.wav", 480, in: folder, chunks: sampling(key: 69, loop: (0, 9999)))
      ])
      sampler.startNote(69, withVelocity: 100, onChannel: 0)
      let sound = try offline.render(96_000)[0]
      expectTrue(level(sound[80_000...], at: 480) > level(sound[80_000...], at: 440) + 20)
      sampler.stopNote(69, onChannel: 0)
      let text = folder.appendingPathComponent("text.wav")
      try Data("no sound".utf8).write(to: text)
      let error = #expect(throws: NSError.self) { try sampler.loadAudioFiles(at: [text]) }
      expectTrue(error?.localizedDescription.contains("text.wav") == true)
      #expect(throws: NSError.self) { try sampler.loadAudioFiles(at: []) }
    }
  }

  // MARK: C functions

  private func device(_ subtype: String) throws -> AudioUnit {
    var description = AudioComponentDescription("aumu", subtype)
    let component = try require(AudioComponentFindNext(nil, &description))
    var unit: AudioUnit?
    expectEqual(AudioComponentInstanceNew(component, &unit), noErr)
    return try require(unit)
  }

  private func set<Value>(_ unit: AudioUnit, _ id: AudioUnitPropertyID, _ value: Value) -> OSStatus
  {
    withUnsafePointer(to: value) {
      AudioUnitSetProperty(
        unit, id, kAudioUnitScope_Global, 0, $0, UInt32(MemoryLayout<Value>.size))
    }
  }

  private func get<Value: BitwiseCopyable>(
    _ unit: AudioUnit, _ id: AudioUnitPropertyID, _ value: inout Value, element: UInt32 = 0
  ) -> OSStatus {
    var size = UInt32(MemoryLayout<Value>.size)
    return AudioUnitGetProperty(unit, id, kAudioUnitScope_Global, element, &value, &size)
  }

  /// Renders planar stereo, and returns the first channel.
  private func render(_ unit: AudioUnit, _ frames: Int) throws -> [Float] {
    let list = AudioBufferList.allocate(maximumBuffers: 2)
    defer { free(list.unsafeMutablePointer) }
    var sound = [[Float]](repeating: [Float](repeating: 0, count: frames), count: 2)
    var time = AudioTimeStamp()
    time.mFlags = .sampleTimeValid
    var flags = AudioUnitRenderActionFlags()
    for start in stride(from: 0, to: frames, by: 512) {
      let count = min(512, frames - start)
      for channel in 0..<2 {
        list[channel] = AudioBuffer(
          mNumberChannels: 1, mDataByteSize: UInt32(4 * count), mData: nil)
      }
      time.mSampleTime = Double(start)
      try require(
        AudioUnitRender(unit, &flags, &time, 0, UInt32(count), list.unsafeMutablePointer) == noErr)
      for channel in 0..<2 {
        let samples = try require(list[channel].mData).assumingMemoryBound(to: Float.self)
        for i in 0..<count { sound[channel][start + i] = samples[i] }
      }
    }
    return sound[0]
  }

  @Test(arguments: ["dls ", "msyn", "samp"])
  func aMusicDeviceHasTheDefaultBankAndTakesOthers(subtype: String) throws {
    let unit = try device(subtype)
    defer { AudioComponentInstanceDispose(unit) }
    var count: UInt32 = 0
    expectEqual(get(unit, kMusicDeviceProperty_InstrumentCount, &count), noErr)
    expectTrue(count > 128)
    var number: UInt32 = 1
    expectEqual(get(unit, kMusicDeviceProperty_InstrumentNumber, &number), noErr)
    expectEqual(number, 0)
    var name = [UInt8](repeating: 0, count: 256)
    var size = UInt32(256)
    expectEqual(
      AudioUnitGetProperty(
        unit, kMusicDeviceProperty_InstrumentName, kAudioUnitScope_Global, 0, &name, &size), noErr)
    let text = String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
    expectTrue(text.contains("Piano"), "\(text)")
    expectEqual(AudioUnitInitialize(unit), noErr)
    expectEqual(MusicDeviceMIDIEvent(unit, 0x90, 60, 100, 100), noErr)
    expectTrue(peak(try render(unit, 12_000)) > 0.005)
    try withTemporaryFolder { folder in
      let path = try TinySoundFont.constant.write(to: folder)
      let url = CFURLCreateWithFileSystemPath(nil, path.cf, .cfurlposixPathStyle, false)!
      expectEqual(set(unit, kMusicDeviceProperty_SoundBankURL, url), noErr)
      expectEqual(get(unit, kMusicDeviceProperty_InstrumentCount, &count), noErr)
      expectEqual(count, 1)
      expectEqual(MusicDeviceMIDIEvent(unit, 0x90, 60, 127, 100), noErr)
      let sound = try render(unit, 2048)
      // The effects have a tiny offset of their own.
      expectEqual(sound.firstIndex { abs($0) > 1e-6 }, 101)
      // A parameter of a group is a controller of its channel.
      func setGroup(_ id: AudioUnitParameterID, _ value: Float, channel: UInt32 = 0) -> OSStatus {
        AudioUnitSetParameter(unit, id, kAudioUnitScope_Group, channel, value, 0)
      }
      func last() throws -> Float { try require(render(unit, 24_000).last).magnitude }
      let loud = try last()
      expectEqual(setGroup(kAUGroupParameterID_Volume, 0, channel: 1), noErr)
      expectTrue(try abs(last() - loud) < loud / 100)
      expectEqual(setGroup(kAUGroupParameterID_Volume, 0), noErr)
      expectTrue(try last() < loud / 100)
      expectEqual(setGroup(kAUGroupParameterID_Volume, 100), noErr)
      expectTrue(try abs(last() - loud) < loud / 100)
      expectEqual(setGroup(kAUGroupParameterID_PitchBend, 0), noErr)
      expectEqual(setGroup(500, 0), kAudioUnitErr_InvalidParameter)
      expectEqual(setGroup(kAUGroupParameterID_Volume, 0, channel: 16), -50)
      // Effects off and on.
      var isOn: UInt32 = 7
      expectEqual(get(unit, kMusicDeviceProperty_UsesInternalReverb, &isOn), noErr)
      expectEqual(isOn, 1)
      expectEqual(set(unit, kMusicDeviceProperty_UsesInternalReverb, 0 as UInt32), noErr)
      expectEqual(get(unit, kMusicDeviceProperty_UsesInternalReverb, &isOn), noErr)
      expectEqual(isOn, 0)
      // Bytes.
      let bytes = Array(TinySoundFont.sine.data)
      expectEqual(
        AudioUnitSetProperty(
          unit, kMusicDeviceProperty_SoundBankData, kAudioUnitScope_Global, 0, bytes,
          UInt32(bytes.count)), noErr)
      expectEqual(MusicDeviceMIDIEvent(unit, 0x90, 69, 127, 0), noErr)
      let sine = try render(unit, 12_000)
      // The unit has 44,100 Hz, and `level` counts with 48,000.
      let pitch = 480 * 48_000 / 44_100.0
      expectTrue(level(sine[2000...], at: pitch) > level(sine[2000...], at: 480) + 20)
      // A file reference.
      var reference = FSRef()
      expectEqual(FSPathMakeRef(Array(path.utf8) + [0], &reference, nil), noErr)
      expectEqual(set(unit, kMusicDeviceProperty_SoundBankFSRef, reference), noErr)
      // Files that cannot be used.
      let cut = folder.appendingPathComponent("cut.sf2").path
      try TinySoundFont.sine.data.dropLast(9).write(to: URL(fileURLWithPath: cut))
      for bad in [cut, "/nowhere.sf2"] {
        let url = CFURLCreateWithFileSystemPath(nil, bad.cf, .cfurlposixPathStyle, false)!
        expectEqual(set(unit, kMusicDeviceProperty_SoundBankURL, url), kAudioUnitErr_InvalidFile)
      }
      expectEqual(MusicDeviceMIDIEvent(unit, 0x90, 60, 127, 5), noErr)
      expectEqual(try render(unit, 512).firstIndex { abs($0) > 1e-6 }, 6)
    }
  }
}

extension String {
  var cf: CFString {
    CFStringCreateWithCString(nil, self, CFStringBuiltInEncodings.UTF8.rawValue)!
  }
}
