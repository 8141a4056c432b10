import AVFoundation
import Hardware
import MIDI
import Server
import TestSupport
import Testing

/// One scale through one SoundFont, in all ways in which a program plays notes.
@Suite(.tags(.server, .program), .serialized) struct ScaleTests {
  init() throws { try findPlugins() }

  /// The first frame that sounds. FluidSynth's effects have an offset far below that.
  private func begin(_ samples: some Collection<Float>) -> Int? {
    samples.enumerated().first { abs($0.element) > 1e-6 }?.offset
  }

  @Test func fileSequenceAndSequencerAreTheSameToTheSample() throws {
    try withTemporaryFolder { folder in
      let sequencer = try Scale.offline(generalMIDI)
      expectTrue(sequencer[0].contains { abs($0) > 0.01 })
      expectTrue(try graph(generalMIDI) == sequencer)
      // The command's rendering of the file.
      let song = folder.appendingPathComponent("scale.mid")
      try Scale.file.write(to: song)
      let out = folder.appendingPathComponent("scale.wav")
      let result = try play(
        [song.path, "--soundfont", generalMIDI, "--render", out.path, "--format", "f32"],
        environment: pluginEnvironment())
      try require(result.status == 0 && result.errors == "", "\(result)")
      let file = try AVAudioFile(forReading: out)
      let buffer = try require(
        AVAudioPCMBuffer(
          pcmFormat: file.processingFormat, frameCapacity: AVAudioFrameCount(Scale.frames)))
      try file.read(into: buffer)
      expectTrue(buffer.channels == sequencer)
    }
  }

  /// Renders a sequence through a graph.
  private func graph(_ font: String) throws -> [[Float]] {
    var made: AUGraph?
    expectEqual(NewAUGraph(&made), noErr)
    let graph = try require(made)
    func add(_ type: String, _ subtype: String) -> AUNode {
      var (node, description) = (AUNode(), AudioComponentDescription(type, subtype))
      expectEqual(AUGraphAddNode(graph, &description, &node), noErr)
      return node
    }
    let (synth, output) = (add("aumu", "dls "), add("auou", "genr"))
    expectEqual(AUGraphConnectNodeInput(graph, synth, 0, output, 0), noErr)
    expectEqual(AUGraphOpen(graph), noErr)
    var unit: AudioUnit?
    expectEqual(AUGraphNodeInfo(graph, synth, nil, &unit), noErr)
    try Scale.setBank(font, of: try require(unit))
    try setFormat(of: try require(unit), kAudioUnitScope_Output)
    expectEqual(AUGraphNodeInfo(graph, output, nil, &unit), noErr)
    try setFormat(of: try require(unit), kAudioUnitScope_Input)
    try setFormat(of: try require(unit), kAudioUnitScope_Output)
    let sequence = try Scale.sequence()
    expectEqual(MusicSequenceSetAUGraph(sequence, graph), noErr)
    var player: MusicPlayer?
    expectEqual(NewMusicPlayer(&player), noErr)
    expectEqual(MusicPlayerSetSequence(try require(player), sequence), noErr)
    expectEqual(MusicPlayerStart(try require(player)), noErr)
    let sound = try render(try require(unit), Scale.frames)
    expectEqual(DisposeMusicPlayer(try require(player)), noErr)
    expectEqual(DisposeMusicSequence(sequence), noErr)
    expectEqual(DisposeAUGraph(graph), noErr)
    return sound
  }

  private func setFormat(of unit: AudioUnit, _ scope: AudioUnitScope) throws {
    var format = AVAudioFormat.standard().streamDescription.pointee
    expectEqual(
      AudioUnitSetProperty(
        unit, kAudioUnitProperty_StreamFormat, scope, 0, &format,
        UInt32(MemoryLayout.size(ofValue: format))), noErr)
  }

  private func render(_ unit: AudioUnit, _ frames: Int) throws -> [[Float]] {
    let list = AudioBufferList.allocate(maximumBuffers: 2)
    defer { free(list.unsafeMutablePointer) }
    var sound = [[Float]](repeating: [], count: 2)
    var time = AudioTimeStamp()
    time.mFlags = .sampleTimeValid
    var flags = AudioUnitRenderActionFlags()
    for start in stride(from: 0, to: frames, by: 480) {
      for channel in 0..<2 {
        list[channel] = AudioBuffer(mNumberChannels: 1, mDataByteSize: 4 * 480, mData: nil)
      }
      time.mSampleTime = Double(start)
      try require(
        AudioUnitRender(unit, &flags, &time, 0, 480, list.unsafeMutablePointer) == noErr)
      for channel in 0..<2 {
        let samples = try require(list[channel].mData).assumingMemoryBound(to: Float.self)
        sound[channel] += UnsafeBufferPointer(start: samples, count: 480)
      }
    }
    return sound
  }

  /// Checks that each note begins on its frame, and sounds as it does offline.
  ///
  /// - Parameter frames: The frames of the notes.
  private func check(_ sound: [[Float]], _ frames: [Int], against offline: [[Float]]) throws {
    expectEqual(begin(sound[0]), try require(frames.first) + require(begin(offline[0])))
    for (i, frame) in frames.enumerated() {
      let wrong = (0..<Scale.step).count { offset in
        (0..<2).contains { channel in
          abs(sound[channel][frame + offset] - offline[channel][i * Scale.step + offset]) > 1e-5
        }
      }
      expectEqual(wrong, 0, "note \(i)")
    }
  }

  /// A sequencer on a server, with and without freewheel: its instrument, and another program that hears the same notes
  /// from a MIDI port.
  @Test(arguments: [false, true]) func aSequencerPlaysOnItsFrames(freewheels: Bool) throws {
    try withTemporaryFolder { folder in
      let font = try TinySoundFont.sine.write(to: folder)
      let offline = try Scale.offline(font)
      let daemon = try JackDaemon(period: 256, playbackPorts: 0)
      let server = JackServer(named: daemon.name)
      let card = try CaptureClient(on: daemon, capacity: 96_000 * 60, isSoundCard: true)
      let keys = try Keys(on: daemon)
      let client = try MIDIClient(named: "setup", on: server)
      defer { client.dispose() }
      let destination = try require(MIDISetup.shared.destinations.first { $0.port == "keys:in" })
      let engine = AVAudioEngine(
        device: HardwareDevice(server, named: daemon.name, clientName: "engine"))
      let synth = try Scale.synthesiser(font)
      engine.attach(synth)
      engine.connect(synth, to: engine.mainMixerNode, format: .standard())
      let sequencer = AVAudioSequencer(audioEngine: engine)
      Scale.add(to: sequencer.createAndAppendTrack())
      let track = sequencer.createAndAppendTrack()
      Scale.add(to: track)
      track.destinationMIDIEndpoint = destination.reference
      expectEqual(track.destinationMIDIEndpoint, destination.reference)
      track.destinationMIDIEndpoint = 0x7FFF_FFFF
      expectEqual(track.destinationMIDIEndpoint, destination.reference)
      try engine.start()
      card.arm()
      if freewheels { try card.setFreewheel(true) }
      try sequencer.start()
      expectTrue(waits { keys.heard.count == 16 && sequencer.currentPositionInBeats > 3.5 })
      let end = card.capturedFrames + 1024
      try require(card.wait(untilFrames: end))
      if freewheels { try card.setFreewheel(false) }
      sequencer.stop()
      engine.stop()
      card.disarm()
      let heard = keys.heard
      expectEqual(heard.map(\.bytes), Scale.messages.map(\.bytes))
      let frames = heard.map { Int($0.frame &- card.firstFrame) }
      expectEqual(frames.map { $0 - frames[0] }, Scale.messages.map(\.frame))
      let sound = [card.samples(channel: 0), card.samples(channel: 1)]
      try check(sound, stride(from: 0, to: 16, by: 2).map { frames[$0] }, against: offline)
    }
  }

  /// Packets with time stamps go to a destination of the program, which gives them to an instrument that it renders, on the
  /// frames that the time stamps name: the same samples as those of a sequencer with notes on these frames.
  @Test func packetsAreTheSameToTheSample() throws {
    let daemon = try JackDaemon(period: 256)
    let client = try MIDIClient(named: "packets", on: JackServer(named: daemon.name))
    defer { client.dispose() }
    let told = Told<(time: MIDITimeStamp, word: UInt32)>()
    var (destination, port) = (MIDIEndpointRef(), MIDIPortRef())
    let created = MIDIDestinationCreateWithProtocol(
      client.reference, "In".cf, ._1_0, &destination
    ) { list, _ in
      for packet in list.unsafeSequence() {
        told.add((packet.pointee.timeStamp, packet.pointee.words.0))
      }
    }
    expectEqual(created, noErr)
    expectEqual(MIDIOutputPortCreate(client.reference, "Out".cf, &port), noErr)
    let start = client.device.client.hostTime + 500_000_000
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 1024, alignment: 8)
    defer { memory.deallocate() }
    let list = memory.assumingMemoryBound(to: MIDIPacketList.self)
    var packet = MIDIPacketListInit(list)
    for (frame, bytes) in Scale.messages {
      let time = start + UInt64(frame) * 1_000_000_000 / 48_000
      packet = MIDIPacketListAdd(list, 1024, packet, time, bytes.count, bytes)
    }
    expectEqual(MIDISend(port, destination, list), noErr)
    expectTrue(waits { told.all.count == 16 })
    let first = try require(told.all.first).time
    let frames = told.all.map { Int((Double($0.time - first) * 48_000 / 1e9).rounded()) }

    let (offline, synth) = try Scale.engine(generalMIDI)
    var sound: [[Float]] = [[], []]
    func render(upTo frame: Int) throws {
      for (channel, samples) in try offline.render(frame - sound[0].count).enumerated() {
        sound[channel] += samples
      }
    }
    for (frame, word) in zip(frames, told.all.map(\.word)) {
      try render(upTo: frame)
      var list = MIDIEventList()
      list.protocol = ._1_0
      list.numPackets = 1
      (list.packet.wordCount, list.packet.words.0) = (1, word)
      expectEqual(MusicDeviceMIDIEventList(synth.audioUnit, 0, &list), noErr)
    }
    try render(upTo: Scale.frames)
    expectTrue(sound[0].contains { abs($0) > 0.01 })
    expectTrue(try sound == Scale.offline(generalMIDI, on: frames))
  }

  /// Packets with time stamps go to the command's instrument, and to another program that notes their frames: on a busy
  /// machine these are not as far from each other as the times. The sound follows in FluidSynth's next block.
  @Test func packetsOfCoreMIDIPlayOnTheirFrames() throws {
    try withTemporaryFolder { folder in
      let font = try TinySoundFont.sine.write(to: folder)
      let offline = try Scale.offline(font)
      let daemon = try JackDaemon(period: 256)
      let server = JackServer(named: daemon.name)
      let client = try MIDIClient(named: "packets", on: server)
      defer { client.dispose() }
      let source = try MIDIVirtualSource(named: "Out", of: client)
      let keys = try Keys(on: daemon)
      try client.device.connect("Out", to: "keys:in")
      let capture = try CaptureClient(on: daemon, channels: 2, capacity: 96_000 * 60)
      let player = try Playing(
        "fx",
        [
          "--soundfont", font, "--connect-out", "capture", "--midi-in", "packets", "--server",
          daemon.name,
        ], in: folder, environment: pluginEnvironment())
      try player.wait(for: "cuejack-fx:midi_in <- packets:Out")
      capture.arm()
      let start = client.device.client.hostTime + 500_000_000
      try source.send(
        Scale.messages.map { message in
          MIDIToSend(message.bytes, at: start + UInt64(message.frame) * 1_000_000_000 / 48_000)
        })
      expectTrue(waits { keys.heard.count == 16 })
      try require(capture.wait(untilFrames: capture.capturedFrames + 4096))
      capture.disarm()
      player.send(signal: SIGTERM)
      expectEqual(try player.result().status, 0)
      let frames = keys.heard.map { Int($0.frame &- capture.firstFrame) }
      let sound = [capture.samples(channel: 0), capture.samples(channel: 1)]
      // The block that follows each note, in steps of 64 frames from the first one.
      let heard = stride(from: 0, to: 16, by: 2).map { i in
        frames[0] + (frames[i] - frames[0] + 63) / 64 * 64
      }
      expectEqual(begin(sound[0]), frames[0] + (try require(begin(offline[0]))))
      for (i, frame) in heard.enumerated() {
        // Until the note ends.
        let length = min(Scale.length, frames[2 * i + 1] - frame)
        let wrong = (0..<length).count { offset in
          abs(sound[0][frame + offset] - offline[0][i * Scale.step + offset]) > 1e-5
        }
        expectEqual(wrong, 0, "note \(i)")
      }
    }
  }
}
