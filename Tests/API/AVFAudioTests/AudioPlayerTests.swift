import AVFoundation
import TestSupport
import Testing

/// AVAudioPlayer on a jackd, whose sound card is a client of the test.
@Suite(.tags(.server), .serialized, .timeLimit(.minutes(2))) struct AudioPlayerTests {
  /// A server, and what is heard there.
  struct Room {
    // It is closed before the server ends: libjack cannot close a client while another one of the process has not
    // been notified that the server is gone.
    let card: CaptureClient
    let daemon: JackDaemon

    init(period: Int = 1024) throws {
      daemon = try JackDaemon(period: period, playbackPorts: 0, capturePorts: 0)
      card = try CaptureClient(on: daemon, name: "card", capacity: 20 * 48000, isSoundCard: true)
      card.arm()
    }

    /// Makes a player of a sound.
    func player(_ sound: [[Float]], rate: Double = 48000) throws -> AVAudioPlayer {
      let player = try withTemporaryFolder { folder in
        let url = folder.appendingPathComponent("a.wav")
        try AudioPlayerTests.write(sound, rate, to: url)
        return try AVAudioPlayer(contentsOf: url)
      }
      player.currentDevice = "jack:\(daemon.name)"
      return player
    }

    /// Returns the channels from the first frame to the last that is not silence in both of them.
    func heard() throws -> [[Float]] {
      try require(card.wait(untilFrames: card.capturedFrames + 4 * daemon.period))
      card.disarm()
      defer { card.arm() }
      let all = (0..<2).map { card.samples(channel: $0) }
      let sounding = all[0].indices.filter { all[0][$0] != 0 || all[1][$0] != 0 }
      guard let first = sounding.first, let last = sounding.last else { return [[], []] }
      return all.map { Array($0[first...last]) }
    }
  }

  /// Notes what a player tells.
  final class Delegate: NSObject, AVAudioPlayerDelegate, @unchecked Sendable {
    let ends = Told<Bool>()
    let errors = Told<String>()
    func audioPlayerDidFinishPlaying(_ player: AVAudioPlayer, successfully flag: Bool) {
      dispatchPrecondition(condition: .onQueue(.main))
      ends.add(flag)
    }
    func audioPlayerDecodeErrorDidOccur(_ player: AVAudioPlayer, error: (any Error)?) {
      errors.add(error?.localizedDescription ?? "")
    }
  }

  static func write(_ sound: [[Float]], _ rate: Double = 48000, to url: URL) throws {
    let file = try AVAudioFile(
      forWriting: url,
      settings: [
        AVFormatIDKey: kAudioFormatLinearPCM, AVSampleRateKey: rate,
        AVNumberOfChannelsKey: sound.count, AVLinearPCMBitDepthKey: 32, AVLinearPCMIsFloatKey: true,
      ])
    if sound[0].isEmpty { return }
    try file.write(from: AVAudioPCMBuffer(sound, file.processingFormat))
  }

  /// Noise without silent frames.
  private func sound(_ frames: Int, channels: Int = 2) -> [[Float]] {
    noise(frames, channels: channels).map { $0.map { $0 == 0 ? 0.25 : $0 } }
  }

  /// Plays to the end.
  private func play(_ player: AVAudioPlayer) throws {
    let delegate = Delegate()
    player.delegate = delegate
    try require(player.play() && player.isPlaying)
    try require(waits { delegate.ends.all == [true] })
    expectTrue(!player.isPlaying && player.currentTime == 0)
  }

  @Test func filesAndDataAreHeardBitForBit() throws {
    let room = try Room()
    try withTemporaryFolder { folder in
      for (name, id) in [
        ("a.wav", kAudioFormatLinearPCM), ("a.flac", kAudioFormatFLAC),
        ("a.m4a", kAudioFormatAppleLossless),
      ] {
        let url = folder.appendingPathComponent(name)
        let sound = sound(30_001)
        do {
          let file = try AVAudioFile(
            forWriting: url,
            settings: [AVFormatIDKey: id, AVSampleRateKey: 48000, AVNumberOfChannelsKey: 2])
          try file.write(from: AVAudioPCMBuffer(sound))
        }
        let data = try Data(contentsOf: url)
        for player in try [
          AVAudioPlayer(contentsOf: url),
          AVAudioPlayer(contentsOf: url, fileTypeHint: AVFileType.mp3.rawValue),
          AVAudioPlayer(data: data), AVAudioPlayer(data: data, fileTypeHint: nil),
        ] {
          expectEqual(player.duration, 30_001.0 / 48000)
          expectTrue(player.numberOfChannels == 2 && player.format.sampleRate == 48000)
          expectEqual(player.settings[AVFormatIDKey] as? UInt32, id)
          expectTrue(player.url == url || player.data == data)
          player.currentDevice = "jack:\(room.daemon.name)"
          expectEqual(player.currentDevice, "jack:\(room.daemon.name)")
          try play(player)
          try expectEqual(room.heard(), sound, name)
        }
      }
    }
  }

  @Test func playersGivenOneTimeStartOnOneFrame() throws {
    let room = try Room()
    let sound = sound(20_000, channels: 1)
    let players = try (0..<3).map { _ in try room.player(sound) }
    for (player, pan) in zip(players, [-1, 1, 0] as [Float]) {
      player.pan = pan
      player.volume = 0.25
      expectTrue(player.prepareToPlay())
    }
    // One client has the ports of all.
    let ports = room.card.ports(matching: "", .outputs).filter { !$0.hasPrefix("card:") }
    expectEqual(Set(ports.map { $0.split(separator: ":")[0] }).count, 1, "\(ports)")
    let time = players[0].deviceCurrentTime + 0.3
    for player in players { expectTrue(player.play(atTime: time) && player.isPlaying) }
    expectTrue(waits { players.allSatisfy { !$0.isPlaying } })
    let heard = try room.heard()
    // Each side has its own player and that in the middle.
    expectEqual(heard, [sound[0].map { $0 / 2 }, sound[0].map { $0 / 2 }])
    expectTrue(!players[0].play(atTime: .nan) && !players[0].play(atTime: .infinity))
    expectTrue(players[0].play(atTime: -1))
    expectTrue(waits { !players[0].isPlaying })
    try expectEqual(room.heard()[0], sound[0].map { $0 / 4 })
    // A moment that never comes.
    expectTrue(players[0].play(atTime: 1e300) && players[0].isPlaying)
    expectEqual(players[0].currentTime, 0)
    players[0].stop()
    expectTrue(!players[0].isPlaying)
  }

  @Test func loopsHaveNoGap() throws {
    let room = try Room()
    let sound = sound(1000)
    let player = try room.player(sound)
    // The number before `play` counts, not that of the preparation.
    player.numberOfLoops = -1
    expectTrue(player.prepareToPlay())
    player.numberOfLoops = 20
    try play(player)
    try expectEqual(room.heard(), sound.map { side in (0..<21).flatMap { _ in side } })
    // It goes on until it is told to end, also if that was read already.
    player.numberOfLoops = 0
    expectTrue(player.play())
    player.numberOfLoops = -1
    try require(room.card.wait(untilFrames: room.card.capturedFrames + 48000))
    expectTrue(player.isPlaying && player.currentTime < player.duration)
    let delegate = Delegate()
    player.delegate = delegate
    player.numberOfLoops = 0
    expectTrue(waits { delegate.ends.all == [true] })
    let heard = try room.heard()[0]
    expectTrue(heard.count > 40_000 && Array(heard.suffix(1000)) == sound[0])
    for start in stride(from: heard.count - 40_000, to: heard.count, by: 1000) {
      expectEqual(Array(heard[start..<start + 1000]), sound[0])
    }
  }

  #if RubberBand
    @Test func theRateChangesTheSpeed() throws {
      let room = try Room()
      let sound = tones(48_000, [440, 660])
      let player = try room.player(sound)
      player.rate = 2
      expectEqual(player.rate, 2)
      // Not without the switch.
      try play(player)
      try expectTrue(abs(room.heard()[0].count - 48_000) < 4)
      player.enableRate = true
      expectTrue(player.enableRate)
      for (rate, held) in [(2, 2), (0.5, 0.5), (7, 2), (0, 0.5), (Float.nan, 1)] as [(Float, Float)]
      {
        player.rate = rate
        expectEqual(player.rate, held)
        try play(player)
        let heard = try room.heard()
        expectTrue(
          abs(Float(heard[0].count) - 48_000 / held) < 2000, "\(heard[0].count) of \(rate)")
        if held == 1 { expectEqual(heard[0].suffix(40_000), sound[0].suffix(40_000)) }
      }
      // The place follows the speed.
      player.rate = 2
      expectTrue(player.play())
      expectTrue(waits { player.currentTime > 0.4 })
      player.pause()
      let (place, frames) = (player.currentTime, room.card.capturedFrames)
      player.stop()
      let silent = try room.heard()[0].count
      expectTrue(abs(Double(silent) * 2 / 48000 - place) < 0.2, "\(silent) \(place) \(frames)")
    }
  #endif

  @Test func itGoesOnWhereItWas() throws {
    let room = try Room()
    let sound = sound(24_000)
    let player = try room.player(sound)
    let delegate = Delegate()
    player.delegate = delegate
    expectTrue(player.play())
    expectTrue(waits { player.currentTime > 0.1 })
    player.pause()
    expectTrue(!player.isPlaying)
    let place = player.currentTime
    try require(room.card.wait(untilFrames: room.card.capturedFrames + 8192))
    expectTrue(player.currentTime == place && place < 0.5)
    expectTrue(player.play())
    expectTrue(waits { delegate.ends.all == [true] })
    let heard = try room.heard()
    for side in 0..<2 { expectEqual(heard[side].filter { $0 != 0 }, sound[side]) }
    // A stop keeps the place.
    expectTrue(player.play())
    expectTrue(waits { player.currentTime > 0.1 })
    player.stop()
    expectTrue(!player.isPlaying && player.currentTime > 0.1)
    let stopped = Int((player.currentTime * 48000).rounded(.down))
    _ = try room.heard()
    try play(player)
    try expectEqual(room.heard()[0], Array(sound[0][stopped...]))
    expectEqual(delegate.ends.all, [true])
  }

  @Test func thePlaceMayBeSet() throws {
    let room = try Room()
    let sound = sound(48_000)
    let player = try room.player(sound)
    player.currentTime = 0.25
    expectEqual(player.currentTime, 0.25)
    for (time, place) in [(-1, 0), (.nan, 0), (.infinity, 1), (0.5, 0.5)] as [(Double, Double)] {
      player.currentTime = time
      expectEqual(player.currentTime, place)
    }
    expectTrue(player.prepareToPlay())
    player.currentTime = 0.75
    try play(player)
    try expectEqual(room.heard()[1], Array(sound[1][36_000...]))
    // While it plays.
    let delegate = Delegate()
    player.delegate = delegate
    expectTrue(player.play())
    expectTrue(waits { player.currentTime > 0.1 })
    player.currentTime = 0.9
    expectTrue(player.isPlaying && player.currentTime >= 0.9)
    expectTrue(waits { delegate.ends.all == [true] })
    try expectEqual(Array(room.heard()[0].suffix(4800)), Array(sound[0].suffix(4800)))
    // The end ends it.
    expectTrue(player.play())
    player.currentTime = 2
    expectTrue(waits { delegate.ends.all == [true, true] })
    expectEqual(player.currentTime, 0)
  }

  @Test func volumesFadeAndLevelsAreMeasured() throws {
    let room = try Room()
    let player = try room.player(
      [[Float]](repeating: [Float](repeating: 0.5, count: 96_000), count: 2))
    expectTrue(player.volume == 1 && player.pan == 0)
    player.updateMeters()
    expectEqual(player.peakPower(forChannel: 0), -160)
    player.isMeteringEnabled = true
    for (value, held) in [(2, 1), (-1, 0), (.nan, 0), (0.5, 0.5)] as [(Float, Float)] {
      player.volume = value
      expectEqual(player.volume, held)
    }
    expectTrue(player.play())
    expectTrue(
      waits {
        player.updateMeters()
        return abs(player.peakPower(forChannel: 0) + 12.04) < 0.01
      })
    expectTrue(abs(player.averagePower(forChannel: 1) + 12.04) < 0.01)
    expectTrue(player.averagePower(forChannel: 2) == -160 && player.isMeteringEnabled)
    player.setVolume(0, fadeDuration: 0.5)
    expectTrue(waits { player.volume == 0 })
    player.stop()
    let heard = try room.heard()[0]
    let fade = heard.suffix(24_000)
    expectTrue(heard.first == 0.25 && abs((fade.first ?? 0) - 0.25) < 0.001)
    let steps = zip(fade, fade.dropFirst()).map { $0 - $1 }
    expectTrue(steps.allSatisfy { abs($0 - 0.25 / 24_000) < 1e-6 })
  }

  @Test func whatCannotBePlayedSaysWhy() throws {
    try withTemporaryFolder { folder in
      let url = folder.appendingPathComponent("none.wav")
      expectTrue(
        try failure { _ = try AVAudioPlayer(contentsOf: url) }.localizedDescription
          .contains(url.path))
      try Data("this is no sound".utf8).write(to: url)
      let error = try failure { _ = try AVAudioPlayer(contentsOf: url) }
      expectTrue(
        error.domain == "com.apple.coreaudio.avfaudio"
          && error.localizedDescription.hasPrefix(url.path))
      for data in [Data(), Data("this is no sound".utf8)] {
        expectTrue(
          try failure { _ = try AVAudioPlayer(data: data) }.localizedDescription
            .contains("the data"))
      }
      expectTrue(
        try failure { _ = try AVAudioPlayer(contentsOf: require(URL(string: "http://a.b/c"))) }
          .localizedDescription.contains("http://a.b/c"))
      let none = AVAudioPlayer()
      expectTrue(!none.play() && none.duration == 0 && none.currentTime == 0 && none.url == nil)
      try Self.write([[0.5]], to: url)
      let player = try AVAudioPlayer(contentsOf: url)
      player.currentDevice = "jack:cuejack-none"
      expectTrue(!player.prepareToPlay() && !player.play() && !player.isPlaying)
      player.pause()
      player.stop()
    }
  }

  /// There is no client but the one that the players share, because the server is killed.
  @Test func playersGoOnWhenTheServerIsBack() throws {
    let daemon = try JackDaemon(period: 1024)
    let delegates = [Delegate(), Delegate()]
    let players = try withTemporaryFolder { folder in
      let url = folder.appendingPathComponent("a.wav")
      try Self.write(sound(144_000), to: url)
      return try delegates.map { delegate in
        let player = try AVAudioPlayer(contentsOf: url)
        player.currentDevice = "jack:\(daemon.name)"
        player.delegate = delegate
        return player
      }
    }
    for player in players { expectTrue(player.play()) }
    expectTrue(waits { players.allSatisfy { $0.currentTime > 0 } })
    daemon.kill()
    expectTrue(players.allSatisfy { $0.isPlaying && $0.currentTime < 2.5 })
    try daemon.start()
    expectTrue(waits { delegates.allSatisfy { $0.ends.all == [true] } })
  }

  @Test func aFileThatCannotBeDecodedEndsEarly() throws {
    let room = try Room()
    try withTemporaryFolder { folder in
      let url = folder.appendingPathComponent("a.m4a")
      do {
        let file = try AVAudioFile(
          forWriting: url,
          settings: [
            AVFormatIDKey: kAudioFormatAppleLossless, AVSampleRateKey: 48000,
            AVNumberOfChannelsKey: 2,
          ])
        try file.write(from: AVAudioPCMBuffer(sound(480_000)))
      }
      let player = try AVAudioPlayer(contentsOf: url)
      player.currentDevice = "jack:\(room.daemon.name)"
      let delegate = Delegate()
      player.delegate = delegate
      try FileHandle(forWritingTo: url).truncate(atOffset: 600_000)
      expectTrue(player.play())
      try require(waits { delegate.ends.all.count == 1 })
      expectTrue(delegate.ends.all == [false] && delegate.errors.all.count == 1)
      expectTrue(delegate.errors.all.first?.hasPrefix(url.path) == true)
    }
  }

  @Test func aPlayerIsReleasedWhileItPlays() throws {
    let room = try Room()
    var player: AVAudioPlayer? = try room.player(sound(480_000))
    weak let released = player
    expectTrue(player?.play() == true)
    player = nil
    expectTrue(released == nil)
    expectTrue(
      waits { room.card.ports(matching: "", .outputs).allSatisfy { $0.hasPrefix("card:") } })
  }
}
