import CJack
import Control
import Foundation
import Server
import Sessions
import TestSupport
import Testing

extension JackDaemon {
  /// Whether a client of that name is on the server.
  func hasClient(named name: String) -> Bool {
    var status = JackStatus(rawValue: 0)
    guard let client = cue_jack_client_open("cuejack-asker", self.name, &status) else {
      return false
    }
    defer { jack_client_close(client) }
    guard let text = jack_get_uuid_for_client_name(client, name) else { return false }
    jack_free(text)
    return true
  }
}

/// The session API of a jackd, with JACK's tool and with the test itself as the session manager.
@Suite(.tags(.server, .program)) struct JackSessionTests {
  /// Saves with JACK's tool and returns the lines that it prints. Its `quit` takes no folder, and crashes.
  private func save(_ folder: URL, _ jack: JackDaemon) throws -> [String] {
    let result = try run(
      "jack_session_notify", ["save", folder.path], environment: jack.environment)
    expectEqual(result.status, 0, "\(result)")
    return result.output.split(separator: "\n").map(String.init)
  }

  /// A client's answer to a session manager.
  struct Answer {
    let id: String
    let command: String
    let hasFailed: Bool
  }

  /// Notifies all clients as a session manager does, and returns their answers.
  static func notify(_ type: jack_session_event_type_t, _ folder: URL, _ jack: JackDaemon) throws
    -> [Answer]
  {
    var status = JackStatus(rawValue: 0)
    let manager = try require(cue_jack_client_open("manager", jack.name, &status))
    defer { jack_client_close(manager) }
    let commands = try require(jack_session_notify(manager, nil, type, folder.path + "/"))
    defer { cue_jack_session_commands_free(commands) }
    var answers: [Answer] = []
    while let id = commands[answers.count].uuid {
      let answer = commands[answers.count]
      answers.append(
        Answer(
          id: String(cString: id), command: String(cString: answer.command),
          hasFailed: answer.flags.rawValue & JackSessionSaveError.rawValue != 0))
    }
    return answers
  }

  private func program(_ arguments: [String], on jack: JackDaemon) throws -> ManagedProgram {
    let program = try ManagedProgram(["--jack-session", jack.name] + arguments)
    _ = try program.value(after: "client ")
    return program
  }

  @Test func aSavedSessionIsRestoredByThePrintedCommand() throws {
    let jack = try JackDaemon()
    try withTemporaryFolder { folder in
      let session = folder.appendingPathComponent("one")
      try FileManager.default.createDirectory(at: session, withIntermediateDirectories: true)
      let first = try program(["--number", "12"], on: jack)
      let name = try first.value(after: "client ").replacing(" supported", with: "")
      let output = try save(session, jack)
      try first.wait(for: "copy whole 12")
      expectNil(first.child.wait(seconds: 0))
      let copy = session.appendingPathComponent("\(name)/number.txt")
      expectEqual(text(of: copy), "12")
      let script = output.joined(separator: "\n")
      let command = try require(
        output.first { $0.contains("managed-session") }, "\(script)")
      let id = try require(command.firstMatch(of: /--session-id (\d+)/)).output.1
      first.child.end()

      // The shell replaces SESSION_DIR, which the tool exports before each command.
      let restored = try ManagedProgram(
        [
          "-c",
          "SESSION_DIR='\(session.path)/\(name)/' ; exec \(command.replacing(/&\s*$/, with: ""))",
        ],
        environment: jack.environment, executable: "/bin/sh")
      try restored.wait(for: "restored 12")
      try expectEqual(restored.value(after: "client "), "\(name) supported")
      // The identifier is the same when it is saved again.
      let again = try save(session, jack)
      expectTrue(again.contains { $0.contains("--session-id \(id)") }, "\(script)\n\(again)")
    }
  }

  @Test func aRestoredClientHasTheNameThatTheManagerReserved() throws {
    let jack = try JackDaemon()
    var status = JackStatus(rawValue: 0)
    let manager = try require(cue_jack_client_open("manager", jack.name, &status))
    defer { jack_client_close(manager) }
    expectEqual(jack_reserve_client_name(manager, "reserved", "8589934700"), 0)
    let program = try program(["--session-id", "8589934700"], on: jack)
    try expectEqual(program.value(after: "client "), "reserved supported")
    // A session without an identifier has a name of its own.
    let other = try self.program([], on: jack)
    try expectEqual(other.value(after: "client "), "number supported")
  }

  @Test func saveAndQuitEndsTheProgram() throws {
    let jack = try JackDaemon()
    try withTemporaryFolder { folder in
      let program = try program(["--number", "3"], on: jack)
      let answers = try Self.notify(JackSessionSaveAndQuit, folder, jack)
      try require(answers.count == 1)
      expectTrue(!answers[0].hasFailed)
      expectEqual(program.child.wait(seconds: 60), 0, "\(program.lines)")
      expectTrue(program.lines.contains("copy whole 3") && program.lines.contains("quit"))
    }
  }

  @Test(arguments: [
    ["--fail-save"], ["--impatient", "--slow", "1"],
    ["--more", String(repeating: "x", count: 200)],
  ])
  func aFailureIsRepliedToAndQuitsNothing(arguments: [String]) throws {
    let jack = try JackDaemon()
    try withTemporaryFolder { folder in
      let program = try program(arguments, on: jack)
      for type in [JackSessionSaveAndQuit, JackSessionSave] {
        let answers = try Self.notify(type, folder, jack)
        try require(answers.count == 1)
        expectTrue(answers[0].hasFailed)
      }
      try wait(for: "the errors") {
        program.lines.filter { $0.contains("is not saved for the JACK session manager") }.count == 2
      }
      expectNil(program.child.wait(seconds: 0))
      expectTrue(!program.lines.contains("quit"))
      program.child.send(signal: SIGTERM)
      expectEqual(program.child.wait(seconds: 60), 0)
    }
  }

  @Test func aTemplateHasNoContent() throws {
    let jack = try JackDaemon()
    try withTemporaryFolder { folder in
      let program = try program(["--number", "5"], on: jack)
      let answers = try Self.notify(JackSessionSaveTemplate, folder, jack)
      try require(answers.count == 1)
      expectTrue(!answers[0].hasFailed)
      expectTrue(answers[0].command.contains(" ${SESSION_DIR}number.txt "), "\(answers)")
      expectTrue(answers[0].command.contains("--session-id \(answers[0].id)"), "\(answers)")
      try program.wait(for: "copy template 5")
    }
  }

  @Test func theServerMayGo() throws {
    let jack = try JackDaemon()
    let program = try program([], on: jack)
    jack.kill()
    program.child.send(signal: SIGTERM)
    expectEqual(program.child.wait(seconds: 60), 0, "\(program.lines)")
  }

  /// The client of the session API and the session's own one leave a lost server together: libjack keeps them in
  /// one table.
  @Test func aRunningSessionIsSavedOnTheServerThatReturns() throws {
    let jack = try JackDaemon(rate: 48000, period: 256)
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 4800)
      let path = folder.appendingPathComponent("song").path
      var document = SessionDocument(name: "song")
      document.tracks = [SessionTrack(name: "a", files: [a.path])]
      document.tracks[0].volume = -3
      _ = try SessionStore(creating: path, document)
      let program = try ManagedProgram(
        ["session", "run", path, "--no-connect"],
        environment: jack.environment.merging(["XDG_RUNTIME_DIR": folder.path]) { $1 },
        executable: builtProduct(named: "cuejack").path)
      let line = try program.value(after: "song: server ")
      let port = try require(line.firstMatch(of: /UDP port (\d+)/)).output.1
      let client = try RemoteClient(of: OSCAddress(port: try require(UInt16(port))))
      // An edit that the journal has is told of once.
      try client.send(OSCMessage("/cuejack/tracks/1/gain", .float(-6)))
      jack.kill()
      try program.wait(
        for: "cuejack: the JACK server “\(jack.name)” went away: waiting until it is back")
      try jack.start()
      try program.wait(for: "cuejack: the JACK server “\(jack.name)” is back: the session goes on")
      try wait(for: "the client of the session API") { jack.hasClient(named: "song-session") }
      let saved = folder.appendingPathComponent("saved")
      try FileManager.default.createDirectory(at: saved, withIntermediateDirectories: true)
      let answers = try Self.notify(JackSessionSave, saved, jack)
      expectEqual(answers.map(\.hasFailed), [false], "\(answers)")
      let copy = try SessionStore.read("\(saved.path)/song-session/session").document
      expectEqual(copy.tracks[0].volume, -6)
      try client.send(OSCMessage("/cuejack/quit"))
      expectEqual(program.child.wait(seconds: 60), 0, "\(program.lines)")
      let again = try ManagedProgram(
        ["session", "run", path, "--no-connect", "--seconds", "0.1"],
        environment: jack.environment.merging(["XDG_RUNTIME_DIR": folder.path]) { $1 },
        executable: builtProduct(named: "cuejack").path)
      expectEqual(again.child.wait(seconds: 60), 0, "\(again.lines)")
      expectEqual(again.lines.count { $0.contains("restored 1 edit") }, 1, "\(again.lines)")
    }
  }

  /// A session without sound that can be saved.
  private final class EmptySession: JackManagedSession {
    var isDirty: Bool { false }
    func open(_ project: ManagedProject, _ report: ManagerReport) throws(ManagerError) {}
    func `switch`(to project: ManagedProject, _ report: ManagerReport) throws(ManagerError) {}
    func save(_ report: ManagerReport) throws(ManagerError) {}
    func quit() {}
    func saveCopy(in folder: String, isTemplate: Bool) throws(ManagerError) {}
    func restoreCommand(folder: String, clientID: String) -> [String] { [folder, clientID] }
  }

  /// The server may be gone again when the client is opened: the next attempt follows.
  @Test func aClientThatCannotBeOpenedIsTriedAgain() throws {
    let jack = try JackDaemon()
    let session = try JackSession(
      EmptySession(), named: "empty", on: JackServer(named: jack.name), isServerBack: { true })
    defer { session.end() }
    jack.kill()
    // Time for several attempts, which fail.
    usleep(1_500_000)
    try jack.start()
    try wait(for: "the client of the session API") { jack.hasClient(named: "empty") }
  }

  @Test func wordsAreQuotedForTheShell() throws {
    let words = [
      "/a b/c", "it's", "${SESSION_DIR}x \"$HOME\" `ls` \\", "", "plain-1.0", "$HOME", "é;&",
    ]
    let line = JackSession.commandLine(["printf", #"[%s]\n"#] + words, for: "/tmp/a dir/")
    let result = try run(
      "/bin/sh", ["-c", line], environment: ["SESSION_DIR": "/tmp/a dir/", "HOME": "/wrong"])
    expectEqual(
      result.output,
      """
      [/a b/c]
      [it's]
      [/tmp/a dir/x "$HOME" `ls` \\]
      []
      [plain-1.0]
      [$HOME]
      [é;&]

      """)
  }

  /// qjackctl replaces the folder and splits at each space, and a shell is not asked.
  @Test(arguments: ["/tmp/one/", "/tmp/a dir/", "/tmp/it's \"one\"/"])
  func wordsSurviveAManagerWithoutAShell(place: String) {
    let words = ["session", "run", "${SESSION_DIR}session", "--name", "it's a rig", "--port", "7"]
    let line = JackSession.commandLine(words, for: place)
    let pieces = line.replacing("${SESSION_DIR}", with: place).split(
      separator: " ", omittingEmptySubsequences: false)
    expectEqual(
      JackSession.joined(pieces.map { String($0) }),
      words.map { $0.replacing("${SESSION_DIR}", with: place) })
    expectEqual(line.contains("\""), (place != "/tmp/one/"), "\(line)")
  }
}
