import Foundation
import Sessions
import TestSupport
import Testing

/// `cuejack-session`, which is `cuejack session run`, under a manager that speaks NSM: `NSMServer`.
@Suite(.tags(.server, .program), .serialized) struct ManagedRunTests {
  /// Starts `cuejack-session` as a manager does.
  private func start(_ url: String, _ jack: JackDaemon, in folder: URL) throws -> ManagedProgram {
    let link = folder.appendingPathComponent("cuejack-session").path
    if !FileManager.default.fileExists(atPath: link) {
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: builtProduct(named: "cuejack").path)
    }
    var environment = jack.environment
    environment["NSM_URL"] = url
    environment["XDG_RUNTIME_DIR"] = folder.path
    return try ManagedProgram([], environment: environment, executable: link)
  }

  /// Runs `body` with a manager, the program that it has started, the JACK server and an empty folder.
  private func withManaged(
    isAccepted: Bool = true,
    _ body: (NSMServer, ManagedProgram, JackDaemon, URL) throws -> Void
  ) throws {
    let jack = try JackDaemon(rate: 48000, period: 1024)
    let server = try NSMServer()
    defer { server.end() }
    try withTemporaryFolder { folder in
      let program = try start(server.url, jack, in: folder)
      if isAccepted { try server.accept() }
      try body(server, program, jack, folder)
    }
  }

  /// Writes a session with a track and a plugin.
  private func make(_ path: String, _ folder: URL, tracks: Int = 1) throws {
    let a = try WaveFile("a.wav", in: folder, frames: 4800)
    var document = SessionDocument(name: "song")
    document.tracks = (1...tracks).map { SessionTrack(name: "t\($0)", files: [a.path]) }
    document.tracks[0].chain = [
      SessionPlugin(id: "amp", uri: "http://lv2plug.in/plugins/eg-amp")
    ]
    _ = try SessionStore(creating: path, document)
  }

  @Test func aManagerOpensSavesSwitchesAndEndsASession() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 48000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let capture = try CaptureClient(on: jack, capacity: 1)
      let server = try NSMServer()
      defer { server.end() }
      var document = SessionDocument(name: "song")
      document.tracks = [SessionTrack(name: "a", files: [a.path])]
      let path = folder.appendingPathComponent("song.nAAAA").path
      _ = try SessionStore(creating: path, document)

      let program = try start(server.url, jack, in: folder)
      let announcement = try server.accept()
      expectEqual(announcement[0], "Cuejack")
      expectEqual(announcement[1], ":switch:dirty:progress:message:")
      expectEqual(announcement[2], "cuejack-session")
      expectTrue(capture.ports(matching: "number").isEmpty)
      let opened = try server.open(path)
      expectEqual(opened.path, "/reply")
      expectEqual(capture.ports(matching: "number.nABCD:a_1").count, 1)
      // The document has no connections, and under a manager nothing else is connected.
      expectEqual(capture.connections(of: "number.nABCD:a_1"), [])
      try capture.connect("number.nABCD:a_1", toInput: 1)
      try wait(for: "the connection in what is saved") {
        try expectEqual(server.save().path, "/reply")
        return try SessionStore.read(path).document.connections.map(\.to) == ["capture:in_1"]
      }
      // A new project.
      let other = folder.appendingPathComponent("other.nBBBB").path
      try expectEqual(server.open(other, id: "other.nBBBB").path, "/reply")
      expectTrue(capture.ports(matching: "number").isEmpty)
      expectTrue(FileManager.default.fileExists(atPath: "\(other)/session.json"))
      program.child.send(signal: SIGTERM)
      expectTrue(program.child.wait(seconds: 30) != nil)
    }
  }

  @Test func everyMessageHasItsTypesAndItsPlace() throws {
    try withManaged(isAccepted: false) { server, program, jack, folder in
      let announcement = try server.next(all: true)
      expectTrue(announcement.path == "/nsm/server/announce" && announcement.types == "sssiii")
      expectEqual(
        announcement.arguments,
        [
          "Cuejack", ":switch:dirty:progress:message:", "cuejack-session", "1", "1",
          "\(program.child.processIdentifier)",
        ])
      expectTrue(!jack.hasClient(named: "song.nA"))
      server.send("/reply", "/nsm/server/announce", "welcome", "test manager", ":server-control:")
      // Before a project is open, nothing can be saved.
      server.send("/nsm/client/save")
      let refusal = try server.next(all: true)
      expectTrue(refusal.path == "/error" && refusal.arguments[..<2] == ["/nsm/client/save", "-6"])
      // A new project.
      server.send("/nsm/client/open", "\(folder.path)/song.nA", "A song", "song.nA")
      func untilReply() throws -> [NSMServer.Received] {
        var messages: [NSMServer.Received] = []
        repeat { messages.append(try server.next(all: true)) } while messages.last?.path != "/reply"
        return messages
      }
      var messages = try untilReply()
      expectEqual(
        messages.map(\.path), ["/nsm/client/message", "/nsm/client/progress", "/reply"])
      expectEqual(messages[0].arguments, ["0", "opening A song"])
      expectEqual(messages[1].arguments, ["1.0"])
      expectEqual(messages[2], .reply("/nsm/client/open", "A song is open"))
      try expectEqual(server.next(all: true).path, "/nsm/client/is_clean")
      expectTrue(jack.hasClient(named: "song.nA"))
      // An existing one, which is edited and saved.
      let other = "\(folder.path)/other.nB"
      try make(other, folder)
      server.send("/nsm/client/open", other, "Another", "other.nB")
      messages = try untilReply()
      expectEqual(messages.last, .reply("/nsm/client/open", "Another is open"))
      try expectEqual(server.next(all: true).path, "/nsm/client/is_clean")
      expectTrue(jack.hasClient(named: "other.nB") && !jack.hasClient(named: "song.nA"))
      let set = try run(
        builtProduct(named: "cuejack").path, ["set", "other.nB", "tracks/1/gain=-6"],
        environment: ["XDG_RUNTIME_DIR": folder.path])
      expectEqual(set.status, 0, "\(set)")
      try expectEqual(server.next(all: true).path, "/nsm/client/is_dirty")
      server.send("/nsm/client/save")
      try expectEqual(server.next(all: true).path, "/nsm/client/is_clean")
      try expectEqual(server.next(all: true), .reply("/nsm/client/save", "saved"))
      try expectEqual(SessionStore.read(other).document.tracks[0].volume, -6)
      // A project that cannot be opened.
      let bad = "\(folder.path)/bad.nC"
      try FileManager.default.createDirectory(atPath: bad, withIntermediateDirectories: true)
      try "{".write(toFile: "\(bad)/session.json", atomically: true, encoding: .utf8)
      let answer = try server.open(bad, id: "bad.nC")
      expectTrue(answer.path == "/error" && answer.arguments[..<2] == ["/nsm/client/open", "-9"])
      expectTrue(answer.arguments[2].contains("session.json:1:1"), "\(answer)")
      // After a switch that failed nothing is open.
      expectTrue(!jack.hasClient(named: "other.nB"))
      try expectEqual(server.save().arguments[..<2], ["/nsm/client/save", "-6"])
    }
  }

  @Test(arguments: ["announcing", "managed", "opening", "open", "saving", "switching", "gone"])
  func SIGTERMEndsTheProgramInEachState(state: String) throws {
    try withManaged(isAccepted: false) { server, program, jack, folder in
      let (song, other) = ("\(folder.path)/song", "\(folder.path)/other")
      try make(song, folder, tracks: 12)
      try make(other, folder, tracks: 12)
      if state == "announcing" {
        try expectEqual(server.next().path, "/nsm/server/announce")
      } else {
        try server.accept()
        if state != "managed", state != "opening" {
          try expectEqual(server.open(song, id: "song").path, "/reply")
        }
      }
      switch state {
      case "opening": server.send("/nsm/client/open", song, "A song", "song")
      case "saving": server.send("/nsm/client/save")
      case "switching": server.send("/nsm/client/open", other, "Another", "other")
      case "gone": server.end()
      default: break
      }
      // The first message of the work shows that it has begun.
      if state == "opening" || state == "switching" {
        while try server.next(all: true).path != "/nsm/client/message" {}
      }
      let begin = Date()
      program.child.send(signal: SIGTERM)
      expectEqual(program.child.wait(seconds: 60), 143, "\(program.lines)")
      // The announcement alone would wait for five seconds.
      if state == "announcing" { expectTrue(Date().timeIntervalSince(begin) < 4.5) }
      expectTrue(!jack.hasClient(named: "song") && !jack.hasClient(named: "other"))
      for path in [song, other] {
        try expectEqual(SessionStore.read(path).document.tracks.count, 12)
      }
    }
  }

  @Test func withoutAManagerThereIsNothingToRun() throws {
    try withTemporaryFolder { folder in
      let jack = try JackDaemon()
      let program = try start("osc.udp://127.0.0.1:1/", jack, in: folder)
      expectEqual(program.child.wait(seconds: 60), 1)
      expectTrue(
        program.lines.contains("cuejack: the session manager does not accept the session"),
        "\(program.lines)")
    }
  }

  @Test func aBadReplyIsNoReply() throws {
    try withManaged(isAccepted: false) { server, program, jack, folder in
      try expectEqual(server.next().path, "/nsm/server/announce")
      server.send("/reply", "/nsm/server/announce", "welcome")
      server.send("/reply", "/nsm/server/announce", 1, 2, 3)
      server.send("/reply", "/nsm/server/save", "a", "b", "c")
      server.send("/error", "/nsm/server/announce", "no number", "text")
      try server.send(bytes: Array("/reply\0\0,ssss".utf8))
      server.send("/reply", "/nsm/server/announce", "welcome", "test manager", "")
      try expectEqual(server.open("\(folder.path)/song", id: "song").path, "/reply")
    }
    try withManaged(isAccepted: false) { server, program, _, _ in
      let announcement = try server.next()
      expectEqual(announcement.path, "/nsm/server/announce")
      server.send("/error", "/nsm/server/announce", -2, "wrong version")
      expectEqual(program.child.wait(seconds: 60), 1)
      expectTrue(
        program.lines.contains { $0.contains("wrong version (error -2)") }, "\(program.lines)")
    }
  }

  /// The gate runs twelve rounds, `make proof` a hundred.
  @Test func roundsOfOpeningSavingAndSwitchingLeakNothing() throws {
    let rounds = ProcessInfo.processInfo.environment["CUEJACK_PROOF"] == nil ? 12 : 100
    try withManaged { server, program, jack, folder in
      let paths = (0..<2).map { "\(folder.path)/song.n\($0)" }
      for path in paths { try make(path, folder) }
      func round(_ number: Int) throws {
        let id = "song.n\(number)"
        try expectEqual(server.open(paths[number % 2], id: id).path, "/reply")
        try expectEqual(server.save().path, "/reply")
        expectTrue(jack.hasClient(named: id))
        expectTrue(!jack.hasClient(named: "song.n\(number - 1)"))
      }
      for number in 0..<4 { try round(number) }
      let threads = program.count(of: "task")
      let (files, memory) = (program.count(of: "fd"), program.memory)
      for number in 4..<4 + rounds { try round(number) }
      try wait(for: "the ends of the threads") { program.count(of: "task") <= threads }
      try wait(for: "the ends of what the last round closes") { program.count(of: "fd") <= files }
      expectTrue(
        program.memory < memory + 4096 + 40 * rounds,
        "\(memory) KiB have become \(program.memory) KiB")
      print("\(rounds) rounds: \(memory) KiB before, \(program.memory) KiB after")
      // A state per plugin is left, not one per round.
      for path in paths {
        let states = try FileManager.default.contentsOfDirectory(atPath: "\(path)/plugins")
        expectEqual(states.count, 1, "\(states)")
      }
    }
  }
}
