import AVFoundation
import AudioToolbox
import TestSupport
import Testing

/// Sequencers, and MusicSequence in engines, on an instrument of mda-lv2 in manual rendering.
@Suite(.tags(.program)) struct SequencerTests {
  private static let format = AVAudioFormat.standard()

  /// An engine with an instrument that is connected to the mixer.
  private func instrument(in engine: AVAudioEngine) throws -> AVAudioUnitMIDIInstrument {
    let instrument = AVAudioUnitMIDIInstrument(
      audioComponentDescription: try plugin(named: "MDA Piano"))
    engine.attach(instrument)
    engine.connect(instrument, to: engine.mainMixerNode, format: Self.format)
    return instrument
  }

  /// A scale: a note of 0.4 beats every half beat.
  private func scale(_ track: AVMusicTrack) {
    for i in 0..<8 {
      track.addEvent(
        AVMIDINoteEvent(channel: 0, key: UInt32(60 + i), velocity: 90, duration: 0.4),
        at: Double(i) / 2)
    }
  }

  private func sequencer(_ engine: AVAudioEngine) -> AVAudioSequencer {
    let sequencer = AVAudioSequencer(audioEngine: engine)
    sequencer.tempoTrack.addEvent(AVExtendedTempoEvent(tempo: 150), at: 0)
    scale(sequencer.createAndAppendTrack())
    return sequencer
  }

  private func sound(
    frames: Int = 100_000, _ start: (AVAudioEngine) throws -> Any
  ) throws -> [[Float]] {
    let offline = try OfflineEngine(Self.format, maximum: 512)
    _ = try instrument(in: offline.engine)
    let playing = try start(offline.engine)
    defer { withExtendedLifetime(playing) {} }
    return try offline.render(frames)
  }

  @Test func aFileASequenceAndASequencerSoundTheSame() throws {
    let first = try sound { engine in
      let sequencer = sequencer(engine)
      try sequencer.start()
      return sequencer
    }
    expectTrue(first[0].contains { abs($0) > 0.01 })
    // The same as a MIDI file.
    let bytes = sequencer(AVAudioEngine()).data(withSMPTEResolution: 480, error: nil)
    let second = try sound { engine in
      let sequencer = AVAudioSequencer(audioEngine: engine)
      try sequencer.load(from: bytes)
      try sequencer.start()
      return sequencer
    }
    expectTrue(first == second)
    // The same by the C functions.
    let third = try sound { engine in
      let player = try scaleOfC(engine)
      return player
    }
    expectTrue(first == third)
  }

  private func scaleOfC(_ engine: AVAudioEngine) throws -> MusicPlayer {
    var sequence: MusicSequence?
    expectEqual(NewMusicSequence(&sequence), noErr)
    var track: MusicTrack?
    expectEqual(MusicSequenceGetTempoTrack(sequence!, &track), noErr)
    expectEqual(MusicTrackNewExtendedTempoEvent(track!, 0, 150), noErr)
    expectEqual(MusicSequenceNewTrack(sequence!, &track), noErr)
    for i in 0..<8 {
      var note = MIDINoteMessage(
        channel: 0, note: UInt8(60 + i), velocity: 90, releaseVelocity: 0, duration: 0.4)
      expectEqual(MusicTrackNewMIDINoteEvent(track!, Double(i) / 2, &note), noErr)
    }
    engine.musicSequence = sequence
    expectTrue(engine.musicSequence == sequence)
    var player: MusicPlayer?
    expectEqual(NewMusicPlayer(&player), noErr)
    expectEqual(MusicPlayerSetSequence(player!, sequence), noErr)
    expectEqual(MusicPlayerStart(player!), noErr)
    return player!
  }

  @Test func notesBeginOnTheirFrames() throws {
    let samples = try sound(frames: 60_000) { engine in
      let sequencer = AVAudioSequencer(audioEngine: engine)
      let track = sequencer.createAndAppendTrack()
      track.addEvent(AVMIDINoteEvent(channel: 0, key: 72, velocity: 127, duration: 1), at: 1.7)
      try sequencer.start()
      return sequencer
    }
    // 1.7 beats at 120 a minute. The piano's first sample is 0.
    let first = samples[0].firstIndex { $0 != 0 } ?? 0
    expectTrue((40_800...40_802).contains(first), "\(first)")
  }

  @Test func positionsAndTempos() throws {
    let offline = try OfflineEngine(Self.format)
    _ = try instrument(in: offline.engine)
    let sequencer = AVAudioSequencer(audioEngine: offline.engine)
    sequencer.tempoTrack.addEvent(AVExtendedTempoEvent(tempo: 60), at: 2)
    expectEqual(sequencer.seconds(forBeats: 4), 3)
    expectEqual(sequencer.beats(forSeconds: 3), 4)
    sequencer.currentPositionInBeats = 1
    expectEqual(sequencer.currentPositionInSeconds, 0.5)
    sequencer.rate = 2
    sequencer.prepareToPlay()
    expectTrue(!sequencer.isPlaying)
    try sequencer.start()
    #expect(throws: (any Error).self) { try sequencer.start() }
    expectTrue(sequencer.isPlaying && sequencer.rate == 2)
    _ = try offline.render(48_000)
    // Half a second of beats at 120, and one and a half at 60.
    expectEqual(sequencer.currentPositionInBeats, 3.5)
    sequencer.stop()
    sequencer.currentPositionInSeconds = 0.25
    expectEqual(sequencer.currentPositionInBeats, 0.5)
    var error: NSError?
    expectEqual(sequencer.hostTime(forBeats: 0, error: &error), 0)
    expectEqual(error?.code, -10852)
    expectEqual(sequencer.beats(forHostTime: 5, error: nil), 0)
    #expect(throws: (any Error).self) { try AVAudioSequencer().start() }
  }

  @Test func tracksAreEdited() throws {
    let sequencer = AVAudioSequencer()
    let (track, other) = (sequencer.createAndAppendTrack(), sequencer.createAndAppendTrack())
    scale(track)
    expectTrue(sequencer.tracks == [track, other])
    expectEqual(track.lengthInBeats, 3.9)
    expectEqual(track.lengthInSeconds, 1.95)
    func beats(_ track: AVMusicTrack) -> [Double] {
      var beats: [Double] = []
      track.enumerateEvents(in: AVMakeBeatRange(0, AVMusicTimeStampEndOfTrack)) { _, beat, _ in
        beats.append(beat.pointee)
      }
      return beats
    }
    other.copyEvents(in: AVBeatRange(start: 0, length: 1), from: track, insertAt: 4)
    other.copyAndMergeEvents(in: AVBeatRange(start: 1, length: 0.5), from: track, mergeAt: 0)
    expectEqual(beats(other), [0, 4, 4.5])
    other.moveEvents(in: AVBeatRange(start: 4, length: 1), by: -1)
    other.cutEvents(in: AVBeatRange(start: 0, length: 1))
    expectEqual(beats(other), [2, 2.5])
    other.clearEvents(in: AVBeatRange(start: 2, length: 0.1))
    expectEqual(beats(other), [2.5])
    // The function moves, changes and removes events.
    track.enumerateEvents(in: AVBeatRange(start: 0, length: 2)) { event, beat, removes in
      guard let note = event as? AVMIDINoteEvent else { return }
      if note.key == 60 { removes.pointee = ObjCBool(true) }
      if note.key == 61 { beat.pointee = 10 }
      if note.key == 62 { note.velocity = 5 }
    }
    expectEqual(beats(track), [1, 1.5, 2, 2.5, 3, 3.5, 10])
    track.enumerateEvents(in: AVBeatRange(start: 1, length: 0.1)) { event, _, _ in
      expectEqual((event as? AVMIDINoteEvent)?.velocity, 5)
    }
    sequencer.reverseEvents()
    expectTrue(sequencer.removeTrack(other) && !sequencer.removeTrack(other))
    expectEqual(sequencer.tracks.count, 1)
    expectEqual(sequencer.tempoTrack.timeResolution, 480)
    // What cannot be leaves the track as it is.
    track.addEvent(AVExtendedTempoEvent(tempo: 100), at: 0)
    track.addEvent(AVMIDINoteEvent(channel: 0, key: 1, velocity: 1, duration: -1), at: 0)
    expectEqual(beats(track).count, 7)
  }

  @Test func eventsKeepTheirValues() throws {
    let sequencer = AVAudioSequencer()
    let track = sequencer.createAndAppendTrack()
    let events: [AVMusicEvent] = [
      AVMIDIControlChangeEvent(channel: 3, messageType: .volume, value: 77),
      AVMIDIPolyPressureEvent(channel: 1, key: 2, pressure: 3),
      AVMIDIProgramChangeEvent(channel: 15, programNumber: 9),
      AVMIDIChannelPressureEvent(channel: 2, pressure: 8),
      AVMIDIPitchBendEvent(channel: 2, value: 16_000),
      AVMIDISysexEvent(data: Data([0xF0, 1, 0xF7])),
      AVMIDIMetaEvent(type: .lyric, data: Data("la".utf8)),
      AVMusicUserEvent(data: Data([1, 2, 3])),
      AVParameterEvent(parameterID: 5, scope: 0, element: 1, value: 0.5),
      AVExtendedNoteOnEvent(midiNote: 60.4, velocity: 90, groupID: 2, duration: 1),
    ]
    for (i, event) in events.enumerated() { track.addEvent(event, at: Double(i)) }
    var found: [AVMusicEvent] = []
    track.enumerateEvents(in: AVBeatRange(start: 0, length: 100)) { event, _, _ in
      found.append(event)
    }
    try require(found.count == events.count)
    let control = try require(found[0] as? AVMIDIControlChangeEvent)
    expectTrue(control.messageType == .volume && control.value == 77 && control.channel == 3)
    let poly = try require(found[1] as? AVMIDIPolyPressureEvent)
    expectTrue(poly.key == 2 && poly.pressure == 3)
    expectEqual((found[2] as? AVMIDIProgramChangeEvent)?.programNumber, 9)
    expectEqual((found[3] as? AVMIDIChannelPressureEvent)?.pressure, 8)
    expectEqual((found[4] as? AVMIDIPitchBendEvent)?.value, 16_000)
    expectEqual((found[5] as? AVMIDISysexEvent)?.sizeInBytes, 3)
    expectTrue((found[6] as? AVMIDIMetaEvent)?.type == .lyric)
    expectEqual((found[7] as? AVMusicUserEvent)?.sizeInBytes, 3)
    let parameter = try require(found[8] as? AVParameterEvent)
    expectTrue(parameter.parameterID == 5 && parameter.element == 1 && parameter.value == 0.5)
    expectTrue(parameter.scope == 0)
    let note = try require(found[9] as? AVExtendedNoteOnEvent)
    expectTrue(note.midiNote == 60.4 && note.groupID == 2 && note.velocity == 90)
    expectTrue(note.duration == 1 && note.instrumentID == AVExtendedNoteOnEvent.defaultInstrument)
    let other = AVExtendedNoteOnEvent(
      midiNote: 1, velocity: 2, instrumentID: 3, groupID: 4, duration: 5)
    expectEqual(other.instrumentID, 3)
    sequencer.tempoTrack.addEvent(AVExtendedTempoEvent(tempo: 99), at: 0)
    sequencer.tempoTrack.enumerateEvents(in: AVBeatRange()) { _, _, _ in }
    sequencer.tempoTrack.enumerateEvents(in: AVBeatRange(start: 0, length: 1)) { event, _, _ in
      expectEqual((event as? AVExtendedTempoEvent)?.tempo, 99)
    }
  }

  @Test func tracksHaveTheirUnitsLoopsAndMutes() throws {
    let offline = try OfflineEngine(Self.format)
    let first = try instrument(in: offline.engine)
    let second = try instrument(in: offline.engine)
    let sequencer = AVAudioSequencer(audioEngine: offline.engine)
    let track = sequencer.createAndAppendTrack()
    track.addEvent(AVMIDINoteEvent(channel: 0, key: 60, velocity: 90, duration: 0.1), at: 0)
    track.destinationAudioUnit = second
    expectTrue(track.destinationAudioUnit === second)
    track.loopRange = AVBeatRange(start: 0, length: 1)
    track.numberOfLoops = 2
    track.numberOfLoops = -7
    track.isLoopingEnabled = true
    expectTrue(track.isLoopingEnabled && track.numberOfLoops == 2 && track.loopRange.length == 1)
    track.offsetTime = 0.5
    expectEqual(track.offsetTime, 0.5)
    track.usesAutomatedParameters = true
    expectTrue(track.usesAutomatedParameters)
    // The first instrument is not heard.
    first.volume = 0
    try sequencer.start()
    let samples = try offline.render(24_000 * 4)
    func level(_ range: Range<Int>) -> Float { samples[0][range].map(abs).max() ?? 0 }
    expectTrue(level(0..<12_000) == 0)
    expectTrue(level(12_000..<13_000) > 0.001 && level(36_000..<37_000) > 0.001)
    track.isMuted = true
    expectTrue(track.isMuted)
    track.isMuted = false
    track.isSoloed = true
    expectTrue(track.isSoloed)
    track.lengthInBeats = 3
    expectEqual(track.lengthInSeconds, 1.5)
    track.lengthInSeconds = 2
    expectEqual(track.lengthInBeats, 4)
    track.numberOfLoops = AVMusicTrackLoopCount.forever.rawValue
    expectEqual(track.numberOfLoops, -1)
  }

  @Test func userEventsAreTold() async throws {
    let offline = try OfflineEngine(Self.format)
    _ = try instrument(in: offline.engine)
    let sequencer = AVAudioSequencer(audioEngine: offline.engine)
    let track = sequencer.createAndAppendTrack()
    track.addEvent(AVMusicUserEvent(data: Data([7])), at: 0.5)
    let told = Told<(Data, Double, Bool)>()
    sequencer.setUserCallback { heard, data, beat in told.add((data, beat, heard === track)) }
    try sequencer.start()
    _ = try offline.render(48_000)
    let deadline = Date().addingTimeInterval(30)
    while told.all.isEmpty, Date() < deadline { try await Task.sleep(for: .milliseconds(1)) }
    expectEqual(told.all.map(\.0), [Data([7])])
    expectTrue(told.all.first?.1 == 0.5 && told.all.first?.2 == true)
    sequencer.setUserCallback(nil)
  }

  @Test func filesAreWrittenAndDamagedOnesRefused() throws {
    try withTemporaryFolder { folder in
      let url = folder.appendingPathComponent("song.mid")
      let sequencer = AVAudioSequencer()
      scale(sequencer.createAndAppendTrack())
      sequencer.tempoTrack.addEvent(
        AVMIDIMetaEvent(type: .trackName, data: Data("Song".utf8)), at: 0)
      try sequencer.write(to: url, smpteResolution: 96, replaceExisting: false)
      #expect(throws: (any Error).self) {
        try sequencer.write(to: url, smpteResolution: 96, replaceExisting: false)
      }
      try sequencer.write(to: url, smpteResolution: 96, replaceExisting: true)
      let other = AVAudioSequencer()
      try other.load(from: url, options: .smf_ChannelsToTracks)
      expectEqual(other.tracks.count, 1)
      expectEqual(other.tempoTrack.timeResolution, 96)
      expectEqual(other.userInfo["title"] as? String, "Song")
      let whole = try Data(contentsOf: url)
      #expect(throws: (any Error).self) { try other.load(from: whole.dropLast(3)) }
      #expect(throws: (any Error).self) { try other.load(from: Data("RIFF".utf8)) }
      #expect(throws: (any Error).self) {
        try other.load(from: folder.appendingPathComponent("none.mid"))
      }
    }
  }
}
