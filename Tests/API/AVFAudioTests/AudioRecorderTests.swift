import AVFoundation
import TestSupport
import Testing

/// AVAudioRecorder on a jackd. It records what a player plays.
@Suite(.tags(.server), .serialized, .timeLimit(.minutes(2))) struct AudioRecorderTests {
  /// Notes what a recorder tells.
  final class Delegate: NSObject, AVAudioRecorderDelegate, @unchecked Sendable {
    let ends = Told<Bool>()
    let errors = Told<String>()
    func audioRecorderDidFinishRecording(_ recorder: AVAudioRecorder, successfully flag: Bool) {
      dispatchPrecondition(condition: .onQueue(.main))
      ends.add(flag)
    }
    func audioRecorderEncodeErrorDidOccur(_ recorder: AVAudioRecorder, error: (any Error)?) {
      errors.add(error?.localizedDescription ?? "")
    }
  }

  /// A player of a sound on a server, and a folder for recordings.
  final class Stage {
    let room: AudioPlayerTests.Room
    let player: AVAudioPlayer
    let folder: URL
    private var recorders: [AVAudioRecorder] = []

    init(_ sound: [[Float]]) throws {
      room = try AudioPlayerTests.Room()
      player = try room.player(sound)
      folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("cuejack-\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      expectTrue(player.prepareToPlay())
    }

    deinit {
      player.stop()
      for recorder in recorders { recorder.stop() }
      try? FileManager.default.removeItem(at: folder)
    }

    func recorder(_ name: String, _ settings: [String: Any]) throws -> AVAudioRecorder {
      let recorder = try AVAudioRecorder(
        url: folder.appendingPathComponent(name), settings: settings)
      recorder.device = "jack:\(room.daemon.name)"
      recorders.append(recorder)
      return recorder
    }

    /// Connects the player to a recorder, which is prepared.
    func connect(_ recorder: AVAudioRecorder) throws {
      let known = Set(room.card.ports(matching: ":in_", .inputs))
      try require(recorder.prepareToRecord())
      let inputs = room.card.ports(matching: ":in_", .inputs).filter { !known.contains($0) }
      let outputs = room.card.ports(matching: "out_", .outputs)
      expectEqual(inputs.count, Int(recorder.format.channelCount))
      for (output, input) in zip(outputs, inputs) { try room.card.connect(output, to: input) }
    }
  }

  static func settings(
    _ id: AudioFormatID, _ rate: Double = 48000, _ channels: Int = 2
  ) -> [String: Any] {
    [AVFormatIDKey: Int(id), AVSampleRateKey: rate, AVNumberOfChannelsKey: channels]
  }

  private func samples(of url: URL) throws -> [[Float]] {
    let file = try AVAudioFile(forReading: url)
    let buffer = try require(
      AVAudioPCMBuffer(
        pcmFormat: file.processingFormat, frameCapacity: AVAudioFrameCount(max(1, file.length))))
    try file.read(into: buffer)
    return buffer.channels
  }

  @Test(arguments: [
    ("a.wav", kAudioFormatLinearPCM), ("a.caf", kAudioFormatLinearPCM),
    ("a.flac", kAudioFormatFLAC), ("a.m4a", kAudioFormatAppleLossless),
    ("a.m4a", kAudioFormatMPEG4AAC), ("a.opus", kAudioFormatOpus),
  ])
  func aPlayerIsRecordedFromItsFirstFrameOn(_ name: String, _ id: AudioFormatID) throws {
    let isExact = ![kAudioFormatMPEG4AAC, kAudioFormatOpus].contains(id)
    let sound =
      isExact
      ? noise(48_000).map { $0.map { $0 == 0 ? 0.25 : $0 } } : tones(48_000, [440, 660])
    let stage = try Stage(sound)
    var settings = Self.settings(id)
    settings[AVEncoderAudioQualityKey] = AVAudioQuality.high.rawValue
    let recorder = try stage.recorder(name, settings)
    expectEqual(recorder.format.sampleRate, 48000)
    expectEqual(recorder.settings[AVFormatIDKey] as? Int, Int(id))
    expectEqual(recorder.url.lastPathComponent, name)
    let delegate = Delegate()
    recorder.delegate = delegate
    try stage.connect(recorder)
    expectTrue(!recorder.isRecording && recorder.currentTime == 0)
    let time = recorder.deviceCurrentTime + 0.3
    expectTrue(recorder.record(atTime: time, forDuration: 0.75) && recorder.isRecording)
    expectTrue(stage.player.play(atTime: time))
    try require(waits { delegate.ends.all == [true] })
    expectTrue(!recorder.isRecording && recorder.currentTime == 0)
    let found = try samples(of: recorder.url)
    expectEqual(found.map(\.count), [36_000, 36_000])
    for side in 0..<2 {
      if isExact {
        expectEqual(found[side], Array(sound[side].prefix(36_000)))
      } else {
        let part = 2000..<34_000
        expectTrue(ratio(found[side][part], to: sound[side][part]) > 15)
      }
    }
    expectTrue(delegate.errors.all.isEmpty)
  }

  @Test func recordersGivenOneTimeStartOnOneFrame() throws {
    let stage = try Stage(noise(96_000).map { $0.map { $0 == 0 ? 0.25 : $0 } })
    let recorders = try ["a.wav", "b.caf"].map {
      try stage.recorder($0, Self.settings(kAudioFormatLinearPCM))
    }
    for recorder in recorders { try stage.connect(recorder) }
    expectTrue(stage.player.play())
    let time = recorders[0].deviceCurrentTime + 0.3
    for recorder in recorders { expectTrue(recorder.record(atTime: time)) }
    expectTrue(waits { recorders.allSatisfy { $0.currentTime > 0.5 } })
    for recorder in recorders { recorder.stop() }
    // Complete when `stop` returns.
    let found = try recorders.map { try samples(of: $0.url)[0] }
    let count = found.map(\.count).min()!
    expectTrue(count > 24_000 && found[0].prefix(count) == found[1].prefix(count))
    expectTrue(found[0][0] != 0)
    for time in [Double.nan, .infinity] { expectTrue(!recorders[0].record(atTime: time)) }
    for seconds in [Double.nan, 0, -1] {
      expectTrue(!recorders[0].record(forDuration: seconds))
    }
    expectTrue(recorders[0].record(atTime: 1e300, forDuration: .infinity))
    recorders[0].stop()
    try expectEqual(AVAudioFile(forReading: recorders[0].url).length, 0)
  }

  @Test func aPauseIsLeftOut() throws {
    let stage = try Stage([ramp(1, 480_000).map { $0 / 524_288 }])
    var settings = Self.settings(kAudioFormatLinearPCM, 48000, 1)
    settings[AVLinearPCMBitDepthKey] = 32
    settings[AVLinearPCMIsFloatKey] = true
    let recorder = try stage.recorder("a.wav", settings)
    let delegate = Delegate()
    recorder.delegate = delegate
    recorder.isMeteringEnabled = true
    try stage.connect(recorder)
    expectTrue(stage.player.play())
    expectTrue(waits { stage.player.currentTime > 0.1 })
    expectTrue(recorder.record())
    expectTrue(waits { recorder.currentTime > 0.4 })
    recorder.updateMeters()
    let level = recorder.peakPower(forChannel: 0)
    expectTrue(recorder.isMeteringEnabled && level > -40 && level < 0)
    expectTrue(abs(recorder.averagePower(forChannel: 0) - level) < 1)
    expectEqual(recorder.peakPower(forChannel: 1), -160)
    recorder.pause()
    expectTrue(!recorder.isRecording && !recorder.deleteRecording())
    let place = recorder.currentTime
    let heard = stage.player.currentTime
    expectTrue(waits { stage.player.currentTime > heard + 0.3 })
    expectTrue(recorder.currentTime == place)
    expectTrue(recorder.record(forDuration: 0.25))
    expectTrue(waits { delegate.ends.all == [true] })
    let steps = try samples(of: recorder.url)[0]
    let jumps = zip(steps, steps.dropFirst()).map { ($1 - $0) * 524_288 }.filter { $0 != 1 }
    expectTrue(jumps.count == 1 && jumps[0] > 12_000, "\(jumps)")
    expectEqual(steps.count, Int((place * 48000).rounded()) + 12_000)
    // Another one takes the place of the first.
    expectTrue(recorder.record())
    recorder.stop()
    expectTrue(waits { delegate.ends.all == [true, true] })
    try expectTrue(AVAudioFile(forReading: recorder.url).length < 24_000)
    expectTrue(recorder.deleteRecording() && !recorder.deleteRecording())
    expectTrue(!FileManager.default.fileExists(atPath: recorder.url.path))
    // A folder of the name stays.
    try FileManager.default.createDirectory(at: recorder.url, withIntermediateDirectories: true)
    expectTrue(!recorder.deleteRecording())
    expectTrue(FileManager.default.fileExists(atPath: recorder.url.path))
  }

  @Test func rateAndChannelsAreThoseOfTheFile() throws {
    let tone = tones(96_000, [440])
    let stage = try Stage(tone)
    let recorder = try stage.recorder("a.m4a", Self.settings(kAudioFormatMPEG4AAC, 12000, 1))
    let delegate = Delegate()
    recorder.delegate = delegate
    try stage.connect(recorder)
    let time = recorder.deviceCurrentTime + 0.3
    expectTrue(recorder.record(atTime: time, forDuration: 1) && stage.player.play(atTime: time))
    expectTrue(waits { delegate.ends.all == [true] })
    let found = try samples(of: recorder.url)
    expectEqual(found.map(\.count), [12_000])
    let wanted = tones(12_000, [440], rate: 12000)[0]
    expectTrue(ratio(found[0][2000..<10_000], to: wanted[2000..<10_000]) > 12)
  }

  @Test func whatCannotBeRecordedSaysWhy() throws {
    try withTemporaryFolder { folder in
      let url = folder.appendingPathComponent("a.wav")
      for (name, settings) in [
        ("a.wav", [:]), ("a.unknown", Self.settings(kAudioFormatLinearPCM)),
        ("a.wav", Self.settings(kAudioFormatAppleLossless)),
        ("a.m4a", Self.settings(kAudioFormatMPEG4AAC, .nan)),
        ("a.wav", Self.settings(kAudioFormatLinearPCM, 48000, 0)),
      ] as [(String, [String: Any])] {
        let url = folder.appendingPathComponent(name)
        let error = try failure { _ = try AVAudioRecorder(url: url, settings: settings) }
        expectTrue(
          error.domain == "com.apple.coreaudio.avfaudio"
            && error.localizedDescription.contains(url.path), "\(error)")
        expectTrue(!FileManager.default.fileExists(atPath: url.path))
      }
      expectTrue(!AVAudioRecorder().record())
      try AudioPlayerTests.write([[0.5]], to: url)
      let recorder = try AVAudioRecorder(url: url, format: .shorts())
      expectEqual(recorder.format, .shorts())
      recorder.device = "jack:cuejack-none"
      expectTrue(!recorder.prepareToRecord() && !recorder.record() && !recorder.isRecording)
      recorder.pause()
      recorder.stop()
      // The file stays.
      try expectEqual(AVAudioFile(forReading: url).length, 1)
    }
  }

  @Test func aFileThatCannotBeWrittenEndsTheRecording() throws {
    let stage = try Stage([[0.5]])
    let recorder = try AVAudioRecorder(
      url: URL(fileURLWithPath: "/dev/full"),
      settings: Self.settings(kAudioFormatLinearPCM).merging(
        [AVAudioFileTypeKey: kAudioFileWAVEType]) { $1 })
    recorder.device = "jack:\(stage.room.daemon.name)"
    let delegate = Delegate()
    recorder.delegate = delegate
    expectTrue(recorder.record(forDuration: 0.5))
    expectTrue(waits { delegate.ends.all == [false] })
    expectTrue(delegate.errors.all.count == 1)
    expectTrue(delegate.errors.all.first?.hasPrefix("/dev/full: ") == true)
  }

  /// There is no client but that of the recorder, because the server is killed.
  @Test func silenceIsRecordedWhileTheServerIsAway() throws {
    let daemon = try JackDaemon(period: 1024)
    try withTemporaryFolder { folder in
      let recorder = try AVAudioRecorder(
        url: folder.appendingPathComponent("a.wav"),
        settings: Self.settings(kAudioFormatLinearPCM))
      recorder.device = "jack:\(daemon.name)"
      expectTrue(recorder.record())
      expectTrue(waits { recorder.currentTime > 0.2 })
      daemon.kill()
      expectTrue(recorder.isRecording)
      usleep(500_000)
      try daemon.start()
      expectTrue(waits { recorder.currentTime > 0.7 })
      let back = recorder.currentTime
      expectTrue(waits { recorder.currentTime > back + 0.3 })
      let place = recorder.currentTime
      recorder.stop()
      let length = try AVAudioFile(forReading: recorder.url).length
      expectTrue(Double(length) > place * 48000 - 4800, "\(length) frames in \(place) s")
    }
  }
}
