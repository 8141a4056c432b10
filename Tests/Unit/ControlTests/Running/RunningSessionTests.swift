import Foundation
import Server
import SessionSupport
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// Sessions on jackd: edits, remote control, saving, and a server that returns.
@Suite(.tags(.server, .program), .serialized) struct RunningSessionTests {
  @Test func editsAreHeardKeptAndSaved() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 48000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let running = try openSession(session([("a", [a])]), in: folder, on: jack)
      defer { running.end() }
      expectTrue(!running.hasEdits)
      let client = try RemoteClient(of: OSCAddress(port: try require(running.port)))
      try client.send(OSCMessage("/cuejack/tracks/1/gain", .float(-6)))
      expectEqual(running.engine?.document.tracks[0].volume, -6)
      expectTrue(running.hasEdits)
      try expectEqual(SessionStore.read(folder.path + "/s").document.tracks[0].volume, -6)
      try client.send(OSCMessage("/cuejack/save"))
      expectTrue(!running.hasEdits)
      let path = "\(folder.path)/s/\(SessionStore.file)"
      let saved = try SessionStore.parse(
        Array(try Data(contentsOf: URL(fileURLWithPath: path))), path: path)
      expectEqual(saved.tracks[0].volume, -6)
      try client.send(OSCMessage("/cuejack/start"))
      try expectEqual(client.values(of: "/cuejack/running").first?.arguments.last, .bool(true))
      try client.send(OSCMessage("/cuejack/stop"))
      expectEqual(running.engine?.isPlaying, false)
    }
  }

  @Test func connectionsAreRemembered() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 4800)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let capture = try CaptureClient(on: jack, capacity: 1)
      var document = session([("a", [a])])
      document.connections = [
        SessionConnection(from: "session:a_1", to: "capture:in_1"),
        SessionConnection(from: "session:a_1", to: "later:in_1"),
      ]
      let running = try openSession(document, in: folder, on: jack)
      expectEqual(capture.connections(of: "capture:in_1"), ["session:a_1"])
      expectTrue(!running.hasEdits)
      try capture.connect("session:a_1", to: "capture:in_2")
      try capture.disconnect("session:a_1", from: "capture:in_1")
      let later = try CaptureClient(on: jack, name: "later", channels: 1, capacity: 1)
      try wait(for: "the connection to a port that appears") {
        later.connections(of: "later:in_1") == ["session:a_1"]
      }
      try wait(for: "the changes") {
        let known = running.engine?.device.knownConnections.map(\.other) ?? []
        return Set(known) == ["capture:in_2", "later:in_1"]
      }
      // The journal has them, so that a kill would not lose them.
      try wait(for: "the connections in the journal") {
        let document = try SessionStore.read(folder.path + "/s").document
        return Set(document.connections.map(\.to)) == ["capture:in_2", "later:in_1"]
      }
      expectTrue(running.hasEdits)
      try running.save()
      expectEqual(
        Set(running.store?.document.connections.map(\.to) ?? []), ["capture:in_2", "later:in_1"])
      running.end()
    }
  }

  @Test func aServerThatReturnsFindsAllTracksOnOneFrame() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000 * 60)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let running = try openSession(
        session([("a", [a]), ("b", [a]), ("c", [a])]), in: folder, on: jack)
      defer { running.end() }
      let engine = try require(running.engine)
      try running.start()
      try wait(for: "sound") { engine.position(ofGroup: 0) > 4800 }
      jack.kill()
      try wait(for: "the loss") { engine.device.isLost }
      let position = engine.position(ofGroup: 0)
      expectTrue(position > 4096)
      usleep(200_000)
      expectEqual(engine.position(ofGroup: 0), position)
      try jack.start()
      try wait(for: "the return") { !engine.device.isLost && engine.device.restarts == 1 }
      let capture = try CaptureClient(on: jack, channels: 3, capacity: 24000)
      for (input, port) in ["a_1", "b_1", "c_1"].enumerated() {
        try capture.connect("session:\(port)", toInput: input + 1)
      }
      try wait(for: "cycles") { engine.device.now > 0 }
      // All go on at a moment on which they agree: on a busy machine a second later, or more.
      var heard: [[Float]] = []
      try wait(for: "sound") {
        capture.arm()
        guard capture.wait(untilFrames: 24000) else { return false }
        heard = (0..<3).map { capture.samples(channel: $0) }
        return heard[0].contains { $0 != 0 }
      }
      expectEqual(heard[0], heard[1])
      expectEqual(heard[0], heard[2])
      expectTrue(engine.isPlaying)
    }
  }

  @Test func aLeadingSessionIsWhereTheTransportIs() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000 * 30)
      let jack = try JackDaemon(rate: 48000, period: 256)
      var document = session([("a", [a])])
      document.transport.mode = .lead
      document.transport.bpm = 90
      let running = try openSession(document, in: folder, on: jack)
      defer { running.end() }
      let engine = try require(running.engine)
      // JACK's clock runs behind its frames on a busy machine: both positions are those of one cycle.
      func isAtTheTransport() -> Bool {
        guard let state = engine.device.transport, engine.isPlaying else { return false }
        let run = engine.runs.withLock { $0[0] }
        return run.origin + state.frame - run.anchor == state.position
      }
      try running.start()
      try wait(for: "the transport") { isAtTheTransport() }
      expectEqual(engine.device.transport?.isRolling, true)
      try running.locate(to: 12)
      try wait(for: "the other position") {
        isAtTheTransport() && engine.position(ofGroup: 0) >= 12 * 48000
      }
      try running.pause()
      try wait(for: "the pause") { engine.isPaused }
      // The latest cycle may have begun before the pause.
      try wait(for: "the transport's position") {
        let state = engine.device.transport
        return state?.isRolling == false && state?.position == engine.position(ofGroup: 0)
      }
      try running.pause()
      try wait(for: "going on") { isAtTheTransport() && engine.device.transport?.isRolling == true }
      try running.stop()
      expectEqual(engine.position(ofGroup: 0), 0)
    }
  }

  /// Ten minutes of it run in `make proof`.
  @Test(.disabled(if: isSanitized, "a sanitized cycle takes too long"))
  func sixtyTracksStayOnOneFrameWhateverCyclesAreLate() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 48000 * 7)
      // Cycles must be able to come late.
      let jack = try JackDaemon(rate: 48000, period: 1024, synchronous: false)
      var document = session((1...60).map { ("t\($0)", [a]) })
      for index in document.tracks.indices { document.tracks[index].loop = true }
      document.groups = [SessionGroup(name: "all", tracks: document.tracks.map(\.name))]
      let running = try openSession(document, in: folder, on: jack)
      defer { running.end() }
      let engine = try require(running.engine)
      let capture = try CaptureClient(on: jack, channels: 60, capacity: 12000)
      for index in 1...60 { try capture.connect("session:t\(index)_1", toInput: index) }
      try running.start()
      try wait(for: "sound") { engine.position(ofGroup: 1) > 4800 }
      let origins = Set(engine.players.compactMap { $0?.queue.runOrigin })
      expectEqual(origins.count, 1)
      let process = try require(jack.processIdentifier)
      var compared = 0
      var late = 0
      let end = Date(timeIntervalSinceNow: proof == nil ? 6 : 600)
      while Date() < end {
        kill(process, SIGSTOP)
        usleep(UInt32.random(in: 30_000...120_000))
        kill(process, SIGCONT)
        late += 1
        usleep(proof == nil ? 200_000 : 2_000_000)
        let xruns = engine.device.xruns
        capture.arm()
        guard capture.wait(untilFrames: 12000, deadline: 10) else { continue }
        capture.disarm()
        // A cycle that the session did not finish has the ports of the one before.
        if capture.discontinuities > 0 || engine.device.xruns != xruns { continue }
        compared += 1
        let first = capture.samples(channel: 0)
        expectTrue(first.allSatisfy { $0 != 0 })
        for channel in 1..<60 where capture.samples(channel: channel) != first {
          Issue.record("track \(channel + 1) differs after \(late) interruptions")
          return
        }
      }
      expectTrue(engine.device.xruns > 0 && compared > 0, "\(compared) of \(late)")
      try wait(for: "one frame") {
        Set(engine.players.map { $0?.queue.runOrigin ?? 0 }).count == 1
      }
      print("\(late) interruptions, \(engine.device.xruns) xruns, \(compared) comparisons")
    }
  }

  /// Makes a session of 64 tracks, each with a plugin.
  private func large(_ sound: WaveFile) -> SessionDocument {
    var document = session((1...64).map { ("t\($0)", [sound]) })
    for index in document.tracks.indices {
      document.tracks[index].chain = [
        SessionPlugin(id: "amp\(index)", uri: "http://lv2plug.in/plugins/eg-amp")
      ]
    }
    return document
  }

  /// `make proof` runs the release build: from the start of the program until the session is up.
  @Test(.enabled(if: proof != nil, "the figure is that of a release build"))
  func sixtyFourTracksAndPluginsAreUpInASecond() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 48000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let path = folder.path + "/s"
      _ = try SessionStore(creating: path, large(a))
      let clock = ContinuousClock()
      let times = try (0..<10).map { _ in
        let begin = clock.now
        let program = try ManagedProgram(
          ["session", "run", path, "--no-connect"],
          environment: jack.environment.merging(["XDG_RUNTIME_DIR": folder.path]) { $1 },
          executable: (proof ?? "") + "/cuejack")
        _ = try program.value(after: "session: server ")
        let up = clock.now
        program.child.send(signal: SIGTERM)
        expectEqual(program.child.wait(seconds: 60), 143)
        // jackd closes 128 ports without waiting for anybody.
        expectTrue(!program.lines.contains { $0.contains("has not answered") }, "\(program.lines)")
        return up - begin
      }
      print("64 tracks with 64 plugins are up after \(times.sorted())")
      // Another program may have taken the processors from some of them.
      expectTrue(times.min()! < .seconds(1))
    }
  }

  /// jackd answers while a client with many ports leaves: see `JackClient.removeManyPorts()`.
  @Test func aServerThatALargeSessionLeavesAnswersAtOnce() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 4800)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let path = folder.path + "/s"
      _ = try SessionStore(creating: path, large(a))
      let program = try ManagedProgram(
        ["session", "run", path],
        environment: jack.environment.merging(["XDG_RUNTIME_DIR": folder.path]) { $1 },
        executable: builtProduct(named: "cuejack").path)
      _ = try program.value(after: "session: server ")
      program.child.send(signal: SIGTERM)
      expectEqual(program.child.wait(seconds: 60), 143)
      expectTrue(!program.lines.contains { $0.contains("has not answered") }, "\(program.lines)")
    }
  }

  @Test func sixtyFourTracksAndPluginsComeUpTogether() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 48000)
      try validate("http://lv2plug.in/plugins/eg-amp")
      let jack = try JackDaemon(rate: 48000, period: 256)
      let running = try openSession(large(a), in: folder, on: jack)
      defer { running.end() }
      try running.start()
      let engine = try require(running.engine)
      try wait(for: "the end") { !engine.isPlaying }
      let begins = engine.players.compactMap { $0?.queue.statistics.beganAt }
      expectTrue(begins.count == 64 && Set(begins).count == 1)
    }
  }
}
