import AVFoundation
import Hardware
import Server
import TestSupport
import Testing

/// `AVMIDIPlayer`, in manual rendering and on a server.
@Suite(.tags(.server, .program), .serialized) struct MIDIPlayerTests {
  init() throws { try findPlugins() }

  @Test func aFileSoundsAsASequencerPlaysIt() throws {
    let offline = try OfflineEngine()
    let player = try AVMIDIPlayer(offline.engine, URL(fileURLWithPath: generalMIDI)) {
      try $0.load(from: Scale.file)
    }
    // The last note ends before the end of its step.
    let length = Double(Scale.step * 7 + Scale.length) / 48_000
    expectTrue(abs(player.duration - length) < 1e-6)
    expectTrue(!player.isPlaying && player.currentPosition == 0 && player.rate == 1)
    player.prepareToPlay()
    let ends = Told<Int>()
    player.play { ends.add(1) }
    expectTrue(player.isPlaying)
    player.play { ends.add(2) }
    let expected = try Scale.offline(generalMIDI).map { Array($0[..<48_000]) }
    expectTrue(try offline.render(48_000) == expected)
    expectEqual(player.currentPosition, 1)
    player.stop()
    player.stop()
    expectTrue(!player.isPlaying && player.currentPosition == 1)
    expectTrue(waits { ends.all == [1] })
    // It goes on, at twice the tempo, until the end.
    player.rate = 2
    player.play { ends.add(3) }
    _ = try offline.render(48_000)
    expectTrue(waits { ends.all == [1, 3] })
    expectTrue(!player.isPlaying && player.currentPosition == 0)
    player.currentPosition = 1e9
    expectEqual(player.currentPosition, player.duration)
    player.currentPosition = .nan
    expectEqual(player.currentPosition, 0)
  }

  @Test func aServerHearsIt() async throws {
    try await withTemporaryFolder { folder in
      let font = URL(fileURLWithPath: try TinySoundFont.sine.write(to: folder))
      let daemon = try JackDaemon(period: 256, playbackPorts: 0)
      let card = try CaptureClient(on: daemon, capacity: 96_000 * 30, isSoundCard: true)
      let engine = AVAudioEngine(
        device: HardwareDevice(
          JackServer(named: daemon.name), named: daemon.name, clientName: "player"))
      var player: AVMIDIPlayer? = try AVMIDIPlayer(engine, font) { try $0.load(from: Scale.file) }
      card.arm()
      await player?.play()
      expectTrue(player?.isPlaying == false)
      card.disarm()
      let sound = card.samples(channel: 0)
      let offline = try Scale.offline(font.path)[0]
      let begin =
        try require(sound.firstIndex { abs($0) > 1e-6 })
        - require(offline.firstIndex { abs($0) > 1e-6 })
      let wrong = (0..<Scale.step * 7).count { abs(sound[begin + $0] - offline[$0]) > 1e-5 }
      expectEqual(wrong, 0)
      player = nil
    }
  }

  @Test func whatCannotBePlayedSaysWhy() throws {
    try withTemporaryFolder { folder in
      let song = folder.appendingPathComponent("song.mid")
      try Scale.file.write(to: song)
      let player = try AVMIDIPlayer(contentsOf: song, soundBankURL: nil)
      expectTrue(player.duration > 1)
      expectTrue(try AVMIDIPlayer(data: Scale.file, soundBankURL: nil).duration > 1)
      let cut = folder.appendingPathComponent("cut.mid")
      try Scale.file.dropLast(4).write(to: cut)
      for (url, bank, text) in [
        (cut, nil, "cut.mid"), (song, folder.appendingPathComponent("none.sf2"), "none.sf2"),
        (folder.appendingPathComponent("no.mid"), nil, "no.mid"), (song, song, "song.mid"),
        (song, URL(string: "http://x/y.sf2"), "http://x/y.sf2"),
      ] {
        let error = #expect(throws: NSError.self) {
          _ = try AVMIDIPlayer(contentsOf: url, soundBankURL: bank)
        }
        expectTrue(error?.localizedDescription.contains(text) == true, "\(error as Any)")
      }
    }
  }
}
