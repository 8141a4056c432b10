import Foundation
import TestSupport
import Testing

/// `cuejack osc` and `cuejack set` with running sessions: `managed-session` processes.
@Suite(.tags(.server, .program), .serialized) struct SessionCommandTests {
  /// A folder of sockets, and the sessions that publish theirs there.
  private final class Stage {
    let folder: URL
    let environment: [String: String]
    private var sessions: [(child: Child, output: URL)] = []

    init() throws {
      folder = try makeTemporaryFolder()
      environment = ["XDG_RUNTIME_DIR": "", "TMPDIR": folder.path, "NSM_URL": ""]
    }

    deinit {
      for session in sessions { session.child.end() }
      try? FileManager.default.removeItem(at: folder)
    }

    /// Starts a session and waits until it is published. Returns its output.
    func start(_ name: String) throws -> (child: Child, output: URL) {
      let output = folder.appendingPathComponent("output-\(sessions.count)")
      let child = try Child(
        builtProduct(named: "managed-session").path, ["--remote", name],
        environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
        output: output)
      sessions.append((child, output))
      try wait(for: "the session") { text(of: output).contains("remote ") }
      return (child, output)
    }

    func cuejack(_ arguments: String...) throws -> CommandResult {
      try run(builtProduct(named: "cuejack").path, arguments, environment: environment)
    }
  }

  @Test func theAddressesOfASessionAreListed() throws {
    let stage = try Stage()
    _ = try stage.start("deck")
    let list = try stage.cuejack("osc")
    expectEqual(list.status, 0, "\(list)")
    let lines = list.output.split(separator: "\n")
    expectEqual(lines.count, 9)
    expectEqual(lines[0], "/cuejack/start (action): starts the number")
    expectEqual(lines[4], "/cuejack/tracks/1/gain f (parameter -90.0 … 12.0 dB): volume")
    let json = try stage.cuejack("osc", "deck", "--json")
    let nodes = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]]
    expectTrue(nodes?.count == 9 && nodes?[2]["address"] as? String == "/cuejack/locate")
    expectTrue(nodes?[2]["types"] as? String == "d" && nodes?[2]["highest"] as? Double == 3600)
  }

  @Test func valuesAreReadAndSet() throws {
    let stage = try Stage()
    let session = try stage.start("deck")
    let result = try stage.cuejack(
      "set", "deck", "tracks/1/gain=-6.5", "/cuejack/tracks/1/mute=on", "title=a = b, c",
      "number=7",
      "locate=12.5", "start")
    expectTrue(result.status == 0 && result.output.isEmpty && result.errors.isEmpty, "\(result)")
    // The command ends when the session has done everything.
    expectEqual(
      text(of: session.output).split(separator: "\n").dropFirst(),
      [
        "set /cuejack/tracks/1/gain -6.5", "set /cuejack/tracks/1/mute true",
        "set /cuejack/title a = b, c", "set /cuejack/number 7", "perform /cuejack/locate 12.5",
        "perform /cuejack/start ",
      ])
    let values = try stage.cuejack("osc", "deck", "tracks/1/*")
    expectEqual(
      values.output,
      """
      /cuejack/tracks/1/gain -6.5
      /cuejack/tracks/1/mute true
      /cuejack/tracks/1/peak -6.0, -12.0

      """, "\(values)")
    // Ranges of faders and patterns are taken as over OSC, and a query performs nothing.
    let more = try stage.cuejack("set", "deck", "tracks/1/gain/-60..6=0.5", "tracks/*/mute=off")
    expectTrue(more.status == 0 && more.errors.isEmpty, "\(more)")
    expectTrue(
      text(of: session.output).hasSuffix(
        "set /cuejack/tracks/1/gain -27.0\nset /cuejack/tracks/1/mute false\n"))
    let all = try stage.cuejack("osc", "deck", "*")
    expectTrue(all.status == 0 && all.output.contains("/cuejack/number 7\n"), "\(all)")
    expectTrue(
      !all.output.contains("start") && !text(of: session.output).contains("perform /cuejack/stop"))
    try expectEqual(stage.cuejack("set", "deck", "stop").status, 0)
    expectEqual(session.child.wait(seconds: 60), 0)
    try expectEqual(stage.cuejack("osc").errors, "cuejack: no session or command is running\n")
  }

  @Test(arguments: [
    ("nothing=1", "/cuejack/nothing: there is no such address"),
    ("tracks/1/gain=loud", "/cuejack/tracks/1/gain: it takes a number, and “loud” was given"),
    ("tracks/1/gain=13", "/cuejack/tracks/1/gain: 13.0 is above 12.0: it takes -90.0 to 12.0 dB"),
    ("tracks/1/gain", "/cuejack/tracks/1/gain: give it a value, as in tracks/1/gain=VALUE"),
    ("locate", "/cuejack/locate: give it a value, as in locate=VALUE"),
    ("load=1", "/cuejack/load: it can only be read"),
    (
      "tracks/1/gain/-60..6=2",
      "/cuejack/tracks/1/gain/-60..6: 2.0 is above 1.0: it takes 0.0 to 1.0"
    ),
    (
      "tracks/1/gain/-99..6=1",
      "/cuejack/tracks/1/gain/-99..6: the range is not within -90.0 to 12.0"
    ),
    ("tracks/*/hum=1", "/cuejack/tracks/*/hum: no address matches"),
    ("start=1", "/cuejack/start: it takes 0 values, and 1 were given"),
    ("tracks/1/mute=2", "/cuejack/tracks/1/mute: it takes on or off, and “2” was given"),
  ])
  func aTargetThatDoesNotFitChangesNothing(target: String, message: String) throws {
    let stage = try Stage()
    let session = try stage.start("deck")
    let result = try stage.cuejack("set", "deck", "number=5", target)
    expectTrue(result.status == 1 && result.errors == "cuejack: \(message)\n", "\(result)")
    expectTrue(!text(of: session.output).contains("set "))
  }

  @Test func oneOfSeveralSessionsIsChosenByItsClient() throws {
    let stage = try Stage()
    let (first, second) = (try stage.start("deck"), try stage.start("mixer"))
    let list = try stage.cuejack("osc")
    expectEqual(list.status, 1)
    expectTrue(
      list.errors.contains(
        "“deck” on the JACK server “none”: session, process \(first.child.processIdentifier)"))
    expectTrue(
      list.errors.contains(
        "cuejack: several sessions or commands are running: name the client of one"))
    try expectEqual(stage.cuejack("set", "mixer", "number=3").status, 0)
    expectTrue(text(of: second.output).contains("set /cuejack/number 3"))
    expectTrue(!text(of: first.output).contains("set"))
    let wrong = try stage.cuejack("set", "nobody", "start")
    expectTrue(
      wrong.status == 1
        && wrong.errors.contains(
          "no running session or command has the client, the process or the path “nobody”"),
      "\(wrong)")
    let server = try stage.cuejack("osc", "deck", "--server", "another")
    expectTrue(
      server.status == 1 && server.errors == "cuejack: no session or command is running\n",
      "\(server)")
    // Graphs and sessions are apart.
    let graph = try stage.cuejack("graph")
    expectEqual(graph.errors, "cuejack: no graph is running\n", "\(graph)")
  }

  @Test func aKilledSessionIsNoLongerFound() throws {
    let stage = try Stage()
    let session = try stage.start("deck")
    session.child.send(signal: SIGKILL)
    _ = session.child.wait(seconds: 60)
    let result = try stage.cuejack("set", "deck", "start")
    expectTrue(
      result.status == 1 && result.errors == "cuejack: no session or command is running\n",
      "\(result)")
    let folder = stage.folder.appendingPathComponent("cuejack-\(getuid())/remote").path
    try expectEqual(FileManager.default.contentsOfDirectory(atPath: folder), [])
  }

  @Test func aStoppedSessionIsReported() throws {
    let stage = try Stage()
    let session = try stage.start("deck")
    stop(session.child.processIdentifier)
    defer { session.child.send(signal: SIGCONT) }
    let result = try stage.cuejack("set", "deck", "start")
    expectEqual(result.status, 1)
    expectTrue(
      result.errors.contains("does not answer")
        && result.errors.contains("no session or command is running"),
      "\(result)")
  }
}
