import Foundation
import Server
import SessionSupport
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// A session that is run again later.
@Suite(.tags(.server, .program), .serialized) struct NextDayTests {
  private func run(_ folder: URL, on jack: JackDaemon, _ options: String...) throws
    -> (program: ManagedProgram, client: RemoteClient)
  {
    let program = try ManagedProgram(
      ["session", "run", folder.path + "/s"] + options,
      environment: jack.environment.merging(["XDG_RUNTIME_DIR": folder.path]) { $1 },
      executable: builtProduct(named: "cuejack").path)
    let line = try program.value(after: "session: server ")
    let port = try require(line.firstMatch(of: /UDP port (\d+)/)).output.1
    return (
      program,
      try RemoteClient(of: OSCAddress(port: try require(UInt16(port))), patience: 60)
    )
  }

  private func record(_ name: String, in folder: URL, on jack: JackDaemon, _ options: String...)
    throws -> (samples: [Float], result: CommandResult)
  {
    let path = folder.path + "/" + name
    let result = try Playing(
      "record", [path, "--seconds", "0.3", "--server", jack.name] + options, in: folder
    ).result()
    expectTrue(result.isRecorded, "\(result)")
    let reader = try SoundReader(path: path)
    var samples = [Float](repeating: 0, count: Int(reader.frames) * reader.format.channels)
    let frames = Int(reader.frames)
    _ = try samples.withUnsafeMutableBytes {
      try reader.read(startingAt: 0, frames: frames, into: $0)
    }
    return (samples, result)
  }

  /// Somebody records the mix, and the next day a microphone.
  @Test func aTakeHoldsWhatItWasConnectedTo() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 48000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      var document = session([("a", [a])])
      document.tracks[0].loop = true
      _ = try SessionStore(creating: folder.path + "/s", document)
      for day in 1...2 {
        let (program, client) = try run(folder, on: jack)
        try client.send(OSCMessage("/cuejack/start"))
        try wait(for: "sound") {
          try client.values(of: "/cuejack/position").first?.arguments.first?.number ?? 0 > 0.2
        }
        if day == 2 {
          let microphone = try record("mic.wav", in: folder, on: jack)
          expectTrue(microphone.samples.allSatisfy { $0 == 0 })
          expectTrue(
            microphone.result.output.contains("  system:capture_1 -> cuejack-record:in_1\n"))
        }
        let mix = try record("mix-\(day).wav", in: folder, on: jack, "--connect", "session")
        expectTrue(mix.samples.contains { $0 != 0 })
        expectTrue(try SessionStore.read(folder.path + "/s").edits.isEmpty)
        program.child.send(signal: SIGKILL)
        _ = program.child.wait(seconds: 30)
        expectTrue(program.lines.allSatisfy { !$0.contains("restored") && !$0.contains("waiting") })
      }
    }
  }

  @Test func aRecordingWithoutItsPortsIsRefusedAloud() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 480_000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      var document = session([("a", [a])])
      document.recordings = [
        SessionRecording(name: "mix", ports: ["session:a_1", "{self}:a_2"], file: "mix.wav"),
        SessionRecording(name: "none", ports: ["nobody:out"], file: "none.wav"),
      ]
      _ = try SessionStore(creating: folder.path + "/s", document)
      // The session's own ports are found under another name of its client.
      let (program, client) = try run(folder, on: jack, "--name", "rig")
      try client.send(OSCMessage("/cuejack/recordings/1/armed", .bool(true)))
      try client.send(OSCMessage("/cuejack/start"))
      try wait(for: "a file") {
        FileManager.default.fileExists(atPath: folder.path + "/s/mix.wav")
      }
      try client.send(OSCMessage("/cuejack/stop"))
      try client.send(OSCMessage("/cuejack/armed", .bool(true)))
      let error = #expect(throws: RemoteError.self) {
        try client.send(OSCMessage("/cuejack/start"))
      }
      expectTrue("\(error.map { "\($0)" } ?? "")".contains("recordings[none] does not record"))
      // Somebody who quits knows of the failure: systemd is not to run the session again.
      try client.send(OSCMessage("/cuejack/quit"))
      expectEqual(program.child.wait(seconds: 60), 0)
      // To arm is no edit.
      expectTrue(try SessionStore.read(folder.path + "/s").edits.isEmpty)
    }
  }

  @Test func aCardThatAppearsIsNoEdit() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 4800)
      let jack = try JackDaemon(rate: 48000, period: 256, playbackPorts: 0)
      var options = RunningSession.Options(JackServer(named: jack.name)) { _ in }
      options.port = nil
      let desk = try CaptureClient(on: jack, name: "desk", capacity: 1)
      let running = RunningSession(options)
      defer { running.end() }
      try running.open(
        try SessionStore(creating: folder.path + "/s", session([("a", [a])])))
      let engine = try require(running.engine)
      let card = try CaptureClient(on: jack, name: "card", capacity: 1, isSoundCard: true)
      try wait(for: "the card") {
        Set(engine.presentConnections.defaults.map(\.to)) == ["card:in_1", "card:in_2"]
      }
      // A person's connection is one; the journal has all of them then.
      try desk.connect("session:a_1", toInput: 2)
      try wait(for: "the journal") {
        try SessionStore.read(folder.path + "/s").edits.count == 1
      }
      expectEqual(running.store?.document.connections.count, 3)
      withExtendedLifetime(card) {}
    }
  }

  @Test func unsavedEditsAreListedAndDropped() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 4800)
      let path = folder.path + "/s"
      func session(_ arguments: String...) throws -> CommandResult {
        try Playing("session", arguments, in: folder).result()
      }
      do {
        let store = try SessionStore(creating: path, SessionSupport.session([("a", [a])]))
        try expectEqual(session("journal", path).output, "")
        try store.apply(SessionEdit(assignment: "tracks[a].volume=-6", in: store.document))
        // It is open.
        try expectEqual(session("revert", path).status, 1)
      }
      try expectEqual(session("journal", path).output, "tracks[a].volume=-6\n")
      let list = Data(try session("journal", path, "--json").output.utf8)
      expectEqual((try JSONSerialization.jsonObject(with: list) as? [[String: Any]])?.count, 1)
      try expectEqual(session("revert", path).output, "\(path): dropped 1 edit\n")
      try expectEqual(session("journal", path).output, "")
      try expectEqual(SessionStore.read(path).document.tracks[0].volume, 0)
    }
  }
}
