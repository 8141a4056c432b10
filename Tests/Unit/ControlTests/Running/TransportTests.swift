import Foundation
import Server
import SessionSupport
import TestSupport
import Testing
import Timeline

@testable import Control
@testable import Sessions

/// Sessions on jackd that start with its transport, MIDI and OSC, compared by their samples.
@Suite(.tags(.server), .serialized) struct TransportTests {
  /// A session with mono tracks on jackd, each captured.
  private final class Stage {
    let jack: JackDaemon
    let conductor: Conductor
    let capture: CaptureClient
    let running: RunningSession
    let engine: SessionEngine
    let lines = Messages()

    init(
      _ document: SessionDocument, in folder: URL, tempo: Double? = nil, seconds: Int = 12
    ) throws {
      jack = try JackDaemon(rate: 48000, period: 256)
      conductor = try Conductor(on: jack, tempo: tempo)
      capture = try CaptureClient(
        on: jack, channels: document.tracks.count, capacity: seconds * 48000)
      let lines = lines
      var options = RunningSession.Options(JackServer(named: jack.name)) { lines.add($0) }
      options.connectsToCard = false
      running = RunningSession(options)
      try running.open(try SessionStore(creating: folder.path + "/s", document))
      engine = try require(running.engine)
      for (index, track) in document.tracks.enumerated() {
        try capture.connect("session:\(track.name)_1", toInput: index + 1)
      }
      capture.arm()
    }

    deinit { running.end() }

    /// Frame time of the transport's frame 0, while it rolls.
    func zero() throws -> Int {
      var zero: Int?
      try wait(for: "the transport") {
        zero = conductor.begin
        return zero != nil
      }
      return zero!
    }

    /// Captures some more frames, and returns what a track was heard to play at frame times.
    func heard(_ track: Int, at frame: Int, count: Int) throws -> [Float] {
      try require(capture.wait(untilFrames: 1))
      let first = Int(Int32(bitPattern: UInt32(truncatingIfNeeded: frame) &- capture.firstFrame))
      guard capture.wait(untilFrames: first + count) else { throw SupportError("no frames") }
      capture.disarm()
      return Array(capture.samples(channel: track)[first..<first + count])
    }
  }

  @Test(arguments: [SessionTransport.Mode.follow, .lead])
  func theFirstFrameIsHeardWhenTheTransportRolls(mode: SessionTransport.Mode) throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 96000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 96000, seed: 2)
      var document = session([("a", [a]), ("b", [b])])
      document.transport.mode = mode
      document.tracks[1].start = .frame(1000)
      let stage = try Stage(document, in: folder)
      if mode == .lead { try stage.running.start() } else { stage.conductor.start() }
      let zero = try stage.zero()
      try expectEqual(stage.heard(1, at: zero + 1000, count: 20000), Array(b.samples[0][..<20000]))
      try expectEqual(stage.heard(0, at: zero, count: 20000), Array(a.samples[0][..<20000]))
    }
  }

  @Test func aTransportThatMovesTakesTheSessionAlong() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000 * 8, seed: 1)
      var document = session([("a", [a])])
      document.transport.mode = .follow
      let stage = try Stage(document, in: folder, seconds: 20)
      stage.conductor.start()
      _ = try stage.zero()
      stage.conductor.locate(100_003)
      try wait(for: "the position") {
        stage.engine.isPlaying && stage.engine.position(ofGroup: 0) >= 100_003
      }
      let zero = try stage.zero()
      // From the first frame of the new position on.
      let heard = try stage.heard(0, at: zero + 100_003, count: 10000)
      expectEqual(heard, Array(a.samples[0][100_003..<110_003]))
      stage.conductor.stop()
      try wait(for: "the pause") { stage.engine.isPaused }
      let position = try require(stage.engine.device.transport?.position)
      expectEqual(stage.engine.position(ofGroup: 0), position)
      // It goes on with the frame at which the transport stands.
      stage.capture.arm()
      stage.conductor.start()
      let again = try stage.zero()
      let next = try stage.heard(0, at: again + Int(position), count: 10000)
      expectEqual(next, Array(a.samples[0][Int(position)..<Int(position) + 10000]))
    }
  }

  @Test func groupsStartWithTheTransportAndAtItsBeats() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 48000, seed: 2)
      var document = session([("a", [a]), ("b", [b]), ("c", [a])])
      // The tempo is the conductor's: a beat of 100 beats per minute has 28,800 frames.
      document.transport.bpm = 60
      document.groups = [
        SessionGroup(name: "rolls", tracks: ["a"], trigger: .rolls),
        SessionGroup(name: "beat", tracks: ["b"], trigger: .beat(2.5)),
      ]
      let stage = try Stage(document, in: folder, tempo: 100)
      stage.conductor.start()
      let zero = try stage.zero()
      let heard = try (0..<3).map { try stage.heard($0, at: zero, count: 110_000) }
      expectEqual(Array(heard[0][..<48000]), a.samples[0])
      expectTrue(heard[1][..<72000].allSatisfy { $0 == 0 })
      expectEqual(Array(heard[1][72000..<110_000]), Array(b.samples[0][..<38000]))
      expectTrue(heard[2].allSatisfy { $0 == 0 })
    }
  }

  @Test func aNoteAndAnOSCMessageStartTheirGroupsOnOneFrame() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 30000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 30000, seed: 2)
      var document = session([("a", [a]), ("b", [b]), ("c", [a]), ("d", [b])])
      document.groups = [
        SessionGroup(
          name: "note", tracks: ["a", "b"], trigger: .note(try require(SessionMIDINumber("60@2")))),
        SessionGroup(name: "osc", tracks: ["c", "d"], trigger: .osc("/go")),
      ]
      let stage = try Stage(document, in: folder)
      let keys = try Keys(on: stage.jack)
      try stage.capture.connect("keys:out", to: "session:midi_in")
      let soon = stage.capture.cycleFrame &+ 9600
      try keys.play([
        Keys.Message(soon, [0x90, 60, 100]), Keys.Message(soon &+ 10, [0x91, 61, 100]),
        Keys.Message(soon &+ 4800, [0x91, 60, 100]),
      ])
      try wait(for: "the note") { stage.engine.motion(ofGroup: 1) == .playing }
      expectEqual(stage.engine.motion(ofGroup: 0), .stopped)
      expectEqual(stage.engine.motion(ofGroup: 2), .stopped)
      let client = try RemoteClient(of: OSCAddress(port: try require(stage.running.port)))
      try client.send(OSCMessage("/go"))
      try wait(for: "the message") { stage.engine.motion(ofGroup: 2) == .playing }
      // The later group first: that ends the capture.
      for (group, tracks) in [(2, [2, 3]), (1, [0, 1])] {
        let anchor = Int(stage.engine.runs.withLock { $0[group].anchor })
        if group == 1 {
          expectTrue(Int32(bitPattern: UInt32(truncatingIfNeeded: anchor) &- soon) > 4800)
        }
        try expectEqual(
          stage.heard(tracks[0], at: anchor, count: 20000), Array(a.samples[0][..<20000]))
        try expectEqual(
          stage.heard(tracks[1], at: anchor, count: 20000), Array(b.samples[0][..<20000]))
      }
    }
  }

  @Test func controllersMoveValuesAndParameters() throws {
    try withTemporaryFolder { folder in
      let amp = "http://lv2plug.in/plugins/eg-amp"
      try validate(amp)
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000 * 20, seed: 1)
      var document = session([("a", [a]), ("b", [a])])
      document.tracks[1].chain = [SessionPlugin(id: "amp", uri: amp)]
      document.controllers = try [
        ("cc7@2", "tracks[a].volume"), ("nrpn300", "tracks[b].volume"), ("cc20", "tracks[a].mute"),
        ("cc1", "tracks[b].chain[amp].parameters.gain"),
      ].map { SessionMapping(try require(SessionController($0)), to: $1) }
      for (index, low) in [(0, -60.0), (1, -12), (3, -20)] {
        document.controllers[index].low = low
        document.controllers[index].high = 0
      }
      let stage = try Stage(document, in: folder)
      let keys = try Keys(on: stage.jack)
      try stage.capture.connect("keys:out", to: "session:midi_in")
      try stage.running.start()
      try wait(for: "sound") { stage.engine.isSounding }
      let soon = stage.capture.cycleFrame &+ 4800
      try keys.play(
        [
          [0xB1, 7, 0], [0xB0, 7, 127], [0xB0, 99, 2], [0xB0, 98, 44], [0xB0, 6, 0],
          [0xB0, 20, 127],
          [0xB0, 1, 0],
        ].enumerated().map { Keys.Message(soon &+ UInt32($0), $1) })
      try wait(for: "the values") {
        let tracks = stage.engine.document.tracks
        return tracks[0].volume == -60 && tracks[0].mute && tracks[1].volume == -12
      }
      // Edits like all others: the journal has them.
      let path = "\(folder.path)/s"
      try expectEqual(SessionStore.read(path).document.tracks[1].volume, -12)
      // The plugin hears its controller in the cycle: 20 dB less, behind a fader at -12 dB.
      let frame = Int(stage.capture.cycleFrame &+ 9600)
      let (origin, anchor) = stage.engine.runs.withLock { ($0[0].origin, $0[0].anchor) }
      let position =
        Int(origin) + Int(Int32(bitPattern: UInt32(frame) &- UInt32(truncatingIfNeeded: anchor)))
      let heard = try stage.heard(1, at: frame, count: 500)
      let gain = Float(pow(10, -32.0 / 20))
      expectTrue(
        (0..<500).allSatisfy { abs(heard[$0] - a.samples[0][position + $0] * gain) < 1e-5 })
    }
  }

  @Test func aPauseOnAServerIsToTheFrame() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000 * 8, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 48000 * 8, seed: 2)
      let stage = try Stage(session([("a", [a]), ("b", [b])]), in: folder, seconds: 30)
      try stage.running.start()
      for _ in 0..<3 {
        try wait(for: "sound") { stage.engine.isSounding }
        usleep(50_000)
        let (origin, anchor) = stage.engine.runs.withLock { ($0[0].origin, $0[0].anchor) }
        try stage.running.pause()
        let position = Int(stage.engine.position(ofGroup: 0))
        // What was heard up to the fade is what comes before that position.
        let fade = Int(anchor) + position - Int(origin)
        try expectEqual(
          stage.heard(0, at: fade - 500, count: 500), Array(a.samples[0][position - 500..<position])
        )
        // The fade begins with the first frame at full gain.
        let next = try stage.heard(0, at: fade, count: 400)
        let faded = Array(a.samples[0][position..<position + 400])
        expectTrue(next[0] == faded[0] && next[399] != faded[399])
        stage.capture.arm()
        try stage.running.pause()
        let start = Int(stage.engine.runs.withLock { $0[0].anchor })
        for (track, file) in [a, b].enumerated() {
          try expectEqual(
            stage.heard(track, at: start, count: 3000),
            Array(file.samples[0][position..<position + 3000]))
        }
        stage.capture.arm()
      }
    }
  }

  @Test func aRecordingStartsOnTheFrameOfTheTracks() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000, seed: 1)
      var document = session([("a", [a])])
      document.transport.mode = .lead
      document.recordings = [
        SessionRecording(name: "take", ports: ["emitter:out_1", "emitter:out_2"], file: "t.wav")
      ]
      document.recordings[0].armed = true
      document.recordings[0].format = "f32"
      let jackFolder = folder
      let stage = try Stage(document, in: jackFolder)
      let emitter = try Emitter(on: stage.jack)
      defer { withExtendedLifetime(emitter) {} }
      try stage.running.start()
      let zero = try stage.zero()
      try expectEqual(stage.heard(0, at: zero, count: 20000), Array(a.samples[0][..<20000]))
      // On the session's thread, which may be ending the recording already: the transport has stopped.
      try stage.running.perform { session throws(SessionRunError) in try session.stop() }
      let reader = try SoundReader(path: "\(folder.path)/s/t.wav")
      try require(
        reader.frames > 20000 && reader.format.channels == 2,
        "\(reader.frames) frames, \(stage.lines.lines)")
      var samples = [Float](repeating: 0, count: 40000)
      _ = try samples.withUnsafeMutableBytes {
        try reader.read(startingAt: 0, frames: 20000, into: $0)
      }
      expectEqual(
        samples,
        (0..<40000).map {
          Emitter.sample(
            at: UInt32(truncatingIfNeeded: zero + $0 / 2), channel: $0 % 2)
        })
    }
  }

  @Test func aLeadingSessionGoesOnWithANewServer() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000 * 20, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 48000 * 20, seed: 2)
      var document = session([("a", [a]), ("b", [b])])
      document.transport.mode = .lead
      // libjack cannot close another client of a server that was killed once there is a new one.
      let jack = try JackDaemon(rate: 48000, period: 256)
      var options = RunningSession.Options(JackServer(named: jack.name)) { _ in }
      options.connectsToCard = false
      let running = RunningSession(options)
      defer { running.end() }
      try running.open(try SessionStore(creating: folder.path + "/s", document))
      let engine = try require(running.engine)
      try running.start()
      try wait(for: "sound") { engine.position(ofGroup: 0) > 9600 }
      jack.kill()
      try wait(for: "the loss") { engine.device.isLost }
      try jack.start()
      let conductor = try Conductor(on: jack, tempo: nil)
      var zero: Int?
      try wait(for: "the transport") {
        zero = conductor.begin
        return zero != nil && engine.isPlaying
      }
      let capture = try CaptureClient(on: jack, capacity: 48000)
      for (index, port) in ["a_1", "b_1"].enumerated() {
        try capture.connect("session:\(port)", toInput: index + 1)
      }
      capture.arm()
      try require(capture.wait(untilFrames: 24000))
      capture.disarm()
      let position = Int(capture.firstFrame) - (try require(conductor.begin)) + 12000
      // It goes on where it was, no earlier than it had come.
      expectTrue(position - 12000 > 9600)
      for (track, file) in [a, b].enumerated() {
        expectEqual(
          Array(capture.samples(channel: track)[12000..<24000]),
          Array(file.samples[0][position..<position + 12000]))
      }
    }
  }

  /// The dummy driver and those of sound cards name their ports by aliases.
  @Test func aServerWithADriverOfItsOwnIsNotDrivenByTheNetwork() throws {
    let jack = try JackDaemon(rate: 48000, period: 256)
    let client = try JackServer(named: jack.name).openClient(named: "asks")
    defer { client.close() }
    expectTrue(!client.isDrivenByNetwork && client.transportMoment == nil)
    client.startTransport()
    var moments: [TransportMoment] = []
    try wait(for: "a second of the transport: \(moments.suffix(2))") {
      if let moment = client.transportMoment { moments.append(moment) }
      return moments.last?.frame ?? 0 > 48000
    }
    let (first, last) = (moments[0], moments[moments.count - 1])
    let frames = Double(last.microseconds - first.microseconds) * 0.048
    // Cycles may be late on a busy machine.
    expectTrue(abs(frames - Double(last.frame - first.frame)) < 24_000, "\(frames)")
  }
}
