import Foundation
import Synchronization
import TestSupport
import Testing

/// `cuejack graph` with the graphs of running players.
@Suite(.tags(.server, .program), .serialized) struct GraphCommandTests {
  private static let amp = "http://lv2plug.in/plugins/eg-amp"
  private static let limiter = "urn:cuejack:plugins:limiter"

  /// Calls `body` with a folder for files, the folder of sockets, and an environment that players and
  /// the command share.
  private func withPlace(_ body: (URL, URL, [String: String]) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let runtime = folder.appendingPathComponent("run")
      mkdir(runtime.path, 0o700)
      let environment = try pluginEnvironment().merging([
        "XDG_RUNTIME_DIR": runtime.path, "TMPDIR": folder.path,
      ]) { $1 }
      try body(folder, runtime.appendingPathComponent("cuejack"), environment)
    }
  }

  /// Starts an endless player and waits until it runs.
  private func player(
    on server: JackDaemon, named name: String, in folder: URL, _ environment: [String: String]
  ) throws -> Playing {
    let file = try WaveFile("a.wav", in: folder, coding: .f32, frames: 48000)
    let playing = try Playing(
      [
        file.path, "--loop", "--server", server.name, "--name", name, "--connect",
        "system:playback_1,system:playback_2", "--plugin", "\(Self.amp):gain=-6", "--plugin",
        Self.limiter,
      ], in: folder, environment: environment)
    try playing.wait(for: "latency")
    return playing
  }

  private func headline(_ name: String, _ server: JackDaemon, _ playing: Playing) -> String {
    "“\(name)” on the JACK server “\(server.name)”: process \(playing.processIdentifier) (cuejack), "
      + "48000 Hz, periods of 1024 frames, 240 frames of latency\n"
  }

  private func sockets(_ folder: URL) -> [String] {
    // The folder of remote control stands beside them.
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
      .filter { $0 != "remote" }.sorted()
  }

  /// Runs `body` with a socket on which nothing answers.
  private func withSilentSocket(_ path: String, _ body: () throws -> Void) throws {
    try withListener(path) { _ in try body() }
  }

  /// Runs `body` with a listening socket.
  private func withListener(_ path: String, _ body: (Int32) throws -> Void) throws {
    let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer {
      close(file)
      unlink(path)
    }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(file, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    try require(isBound && listen(file, 4) == 0)
    try body(file)
  }

  @Test func aRunningGraphIsShown() throws {
    try withPlace { folder, sockets, environment in
      let server = try JackDaemon(period: 1024)
      let playing = try player(on: server, named: "deck", in: folder, environment)
      func graph(_ arguments: String...) throws -> CommandResult {
        try cuejack("graph", arguments, environment: environment)
      }
      let shown = try graph("--controls")
      expectTrue(shown.status == 0 && shown.errors == "", "\(shown)")
      expectEqual(
        shown.output,
        headline("deck", server, playing) + """
          7 a.wav: source, 2 out
          1 mix: mixer, 2 in, 2 out
              1 ← a.wav (7) 1
              2 ← a.wav (7) 2
          3 Simple Amplifier: plugin <\(Self.amp)>, 1 in, 1 out
              in ← mix (1) 1
              gain = -6.0 dB
          4 Simple Amplifier: plugin <\(Self.amp)>, 1 in, 1 out
              in ← mix (1) 2
              gain = -6.0 dB
          2 Simple Amplifier ×2: mixer, 2 in, 2 out
              1 ← Simple Amplifier (3) out
              2 ← Simple Amplifier (4) out
          5 Limiter: plugin <\(Self.limiter)>, 2 in, 2 out, takes 240 frames
              in_l ← Simple Amplifier ×2 (2) 1
              in_r ← Simple Amplifier ×2 (2) 2
              enabled = 1.0
              gain = 0.0 dB
              ceiling = -1.0 dB
              release = 100.0 ms
              attack = 5.0 ms
              reduction → 0.0 dB
              latency → 240.0 frames
          6 ports: JACK outputs, 2 in, 240 frames late
              out_1 ← Limiter (5) out_l
              out_2 ← Limiter (5) out_r
              out_1 → system:playback_1
              out_2 → system:playback_2

          """)
      let object = try JSONSerialization.jsonObject(
        with: Data(try graph("deck", "--json").output.utf8))
      let json = try require(object as? [String: Any])
      expectTrue(json["server"] as? String == server.name && json["client"] as? String == "deck")
      expectEqual(json["process"] as? Int32, playing.processIdentifier)
      expectTrue(json["sampleRate"] as? Int == 48000 && json["periodFrames"] as? Int == 1024)
      let nodes = try require(json["nodes"] as? [[String: Any]])
      expectEqual(nodes.compactMap { $0["number"] as? Int }, [7, 1, 3, 4, 2, 5, 6])
      expectEqual(
        nodes.last?["connections"] as? [String: [String]],
        ["out_1": ["system:playback_1"], "out_2": ["system:playback_2"]])
      let wires = try require(json["wires"] as? [[String: Any]])
      expectTrue(wires.count == 10 && wires.allSatisfy { $0["gain"] as? Double == 1 })

      let dot = try parsed(try graph("--dot", "--controls").output)
      expectTrue(dot.nodes.count == 9 && dot.edges.count == 12)
      expectEqual(
        dot.nodes["n5"]?["label"]?.hasPrefix(#"5 Limiter\n240 frames\nenabled = 1.0\n"#), true)
      expectEqual(dot.nodes["n5"]?["tooltip"], Self.limiter)
      expectTrue(dot.edges.contains { $0 == ("n6", "p1", "out_1") })

      // A hanging process is reported and does not delay the others.
      let silent = sockets.appendingPathComponent("1-silent").path
      try withSilentSocket(silent) {
        let result = try graph("deck")
        expectTrue(
          result.status == 0 && result.output.hasPrefix(headline("deck", server, playing)),
          "\(result)")
        expectEqual(
          result.errors,
          "cuejack: the process of \(silent) does not answer: no word in 2.0 seconds\n")
      }
      playing.send(signal: SIGINT)
      _ = try playing.result()
    }
  }

  /// Two players with the same name on two servers.
  @Test func oneOfSeveralIsChosen() throws {
    try withPlace { folder, sockets, environment in
      func graph(_ arguments: String...) throws -> CommandResult {
        try cuejack("graph", arguments, environment: environment)
      }
      let none = try graph()
      expectTrue(none.status == 1 && none.errors == "cuejack: no graph is running\n", "\(none)")

      let servers = [try JackDaemon(period: 1024), try JackDaemon(period: 1024)]
        .sorted { $0.name < $1.name }
      let players = try servers.map {
        try player(on: $0, named: "deck", in: folder, environment)
      }
      let lines = zip(servers, players).map { headline("deck", $0, $1) }
      try expectEqual(graph().output, lines.joined())
      let both = try graph("deck")
      expectTrue(both.status == 1 && both.output == "", "\(both)")
      expectTrue(
        both.errors.hasSuffix("cuejack: several graphs have that client: say which --server\n"))
      expectTrue(try graph("--dot").errors.hasSuffix("name the client of one\n"))
      let all = try JSONSerialization.jsonObject(with: Data(try graph("--json").output.utf8))
      expectEqual(((all as? [String: Any])?["graphs"] as? [Any])?.count, 2)
      let one = try graph("deck", "--server", servers[1].name)
      expectTrue(one.status == 0 && one.output.hasPrefix(lines[1] + "7 a.wav"), "\(one)")
      let other = try graph("drums")
      expectTrue(
        other.status == 1
          && other.errors.hasPrefix(
            "cuejack: no graph of the client “drums” is running, but “deck”"),
        "\(other)")

      // The command removes the socket that a killed player leaves.
      expectEqual(self.sockets(sockets).count, 2)
      players[0].send(signal: SIGKILL)
      _ = try players[0].result()
      expectEqual(self.sockets(sockets).count, 2)
      let left = try graph()
      expectTrue(left.status == 0 && left.output.hasPrefix(lines[1] + "7 a.wav"), "\(left)")
      expectEqual(self.sockets(sockets), ["\(players[1].processIdentifier)-deck"])
      players[1].send(signal: SIGINT)
      _ = try players[1].result()
      expectEqual(self.sockets(sockets), [])
      try expectEqual(graph().status, 1)
    }
  }

  /// The command ignores sockets that other users could have created.
  @Test func onlyWhatIsOursIsTrusted() throws {
    try withPlace { _, sockets, environment in
      func graph() throws -> String {
        let result = try cuejack("graph", [], environment: environment)
        expectTrue(result.status == 1 && result.output == "", "\(result)")
        return result.errors
      }
      let path = sockets.appendingPathComponent("1-deck").path
      mkdir(sockets.path, 0o700)
      // Only the superuser can change an owner.
      if geteuid() == 0 {
        try withSilentSocket(path) {
          try require(lchown(path, 65534, 65534) == 0)
          expectTrue(try graph().hasPrefix("cuejack: \(path) is not asked: it is another user's\n"))
        }
      }
      chmod(sockets.path, 0o755)
      try withSilentSocket(path) {
        let told = try graph()
        expectEqual(
          told,
          """
          cuejack: \(sockets.path) is not looked into: it is not a folder of yours that is closed to \
          others
          cuejack: no graph that could be asked is running

          """)
        // A runtime folder that others can access is not used, either.
        chmod(sockets.deletingLastPathComponent().path, 0o755)
        try expectEqual(graph(), "cuejack: no graph is running\n")
      }
    }
  }

  /// Runs `body` with a socket that sends `answer` to every client.
  private func withSocket(_ path: String, answering answer: String, _ body: () throws -> Void)
    throws
  {
    let isOver = Atomic<Bool>(false)
    let done = DispatchSemaphore(value: 0)
    try withListener(path) { file in
      Thread.detachNewThread {
        while !isOver.load(ordering: .acquiring) {
          var request = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
          guard poll(&request, 1, 50) > 0 else { continue }
          let asker = accept(file, nil, nil)
          let bytes = Array(answer.utf8)
          _ = send(asker, bytes, bytes.count, Int32(MSG_NOSIGNAL))
          close(asker)
        }
        done.signal()
      }
      defer {
        isOver.store(true, ordering: .releasing)
        done.wait()
      }
      try body()
    }
  }

  private static let report = """
    {"server":"s","client":"deck","process":1,"command":"x","sampleRate":48000,"periodFrames":64,\
    "isServerGone":false,"latencyFrames":0,"nodes":[{"number":1,"name":"a","kind":"mixer",\
    "inputs":["1"],"outputs":["1"],"eventInputs":[],"eventOutputs":[],"latencyFrames":0,\
    "arrivalFrames":0,"isBypassed":false,"isUnready":false,"connections":{},"controls":[],\
    "badSamples":0,"lostEvents":0},{"number":2,"name":"b","kind":"mixer","inputs":["1"],\
    "outputs":["1"],"eventInputs":[],"eventOutputs":[],"latencyFrames":0,"arrivalFrames":0,\
    "isBypassed":false,"isUnready":false,"connections":{},"controls":[],"badSamples":0,\
    "lostEvents":0}],"wires":[{"from":1,"output":1,"to":2,"input":1,"isEvent":false,"gain":1,\
    "delayFrames":0}]}
    """

  @Test(arguments: [
    ("\"number\":2", "\"number\":1"), ("\"input\":1", "\"input\":0"),
    ("\"input\":1", "\"input\":2"), ("\"output\":1", "\"output\":-9223372036854775808"),
    ("\"isEvent\":false", "\"isEvent\":true"), ("\"to\":2", "\"to\":3"),
    ("\"from\":1", "\"from\":7"), ("\"sampleRate\":48000", "\"sampleRate\":1e300"),
    ("\"sampleRate\":48000", "\"sampleRate\":\"nan\""), ("{", "["),
  ])
  func aReportThatCannotBeIsToldAndLeftOut(good: String, bad: String) throws {
    try withPlace { _, sockets, environment in
      mkdir(sockets.path, 0o700)
      let path = sockets.appendingPathComponent("1-deck").path
      let range = try require(Self.report.range(of: good))
      try withSocket(path, answering: Self.report) {
        let result = try cuejack("graph", [], environment: environment)
        expectTrue(result.status == 0 && result.output.contains("1 ← a (1) 1"), "\(result)")
      }
      try withSocket(path, answering: Self.report.replacingCharacters(in: range, with: bad)) {
        for arguments in [[], ["--dot"], ["--json"]] {
          let result = try cuejack("graph", arguments, environment: environment)
          expectTrue(result.status == 1 && result.output == "", "\(result)")
          expectEqual(
            result.errors,
            """
            cuejack: \(path) answers with something that is no graph to this version
            cuejack: no graph that could be asked is running

            """)
        }
      }
    }
  }

  /// The command stops reading an endless report.
  @Test func aReportWithoutEndIsTold() throws {
    try withPlace { _, sockets, environment in
      mkdir(sockets.path, 0o700)
      let path = sockets.appendingPathComponent("1-deck").path
      try withSocket(path, answering: String(repeating: " ", count: 17 << 20)) {
        let result = try cuejack("graph", [], environment: environment)
        expectEqual(result.status, 1, "\(result)")
        expectTrue(result.errors.contains("\(path) answers with more than 16 MB"), "\(result)")
      }
    }
  }

  // MARK: Graphviz

  /// Parses DOT strictly in the form that Cuejack writes: both ends of an edge must be nodes.
  private func parsed(_ text: String) throws -> (
    nodes: [String: [String: String]], edges: [(from: String, to: String, label: String)]
  ) {
    var lines = text.split(separator: "\n")[...]
    expectTrue(lines.popFirst() == "digraph {" && lines.popLast() == "}")
    var nodes: [String: [String: String]] = [:]
    var edges: [(from: String, to: String, label: String)] = []
    let quoted = #/"(?:[^"\\]|\\["\\n])*"/#
    for line in lines {
      if line == "  rankdir=LR;" || line == "  node [shape=box];" { continue }
      if let label = line.wholeMatch(of: #/  label=(".*");/#) {
        expectTrue(label.1.wholeMatch(of: quoted) != nil, "\(line)")
        continue
      }
      let statement = try require(
        line.wholeMatch(of: #/  ([np]\d+)(?: -> ([np]\d+))? \[(.*)\];/#), "\(line)")
      var attributes: [String: String] = [:]
      var rest = statement.3
      while !rest.isEmpty {
        let next = try require(
          rest.prefixMatch(of: #/(\w+)=("(?:[^"\\]|\\["\\n])*"|\w+)(, |$)/#), "\(line)")
        attributes[String(next.1)] = next.2.trimmingCharacters(in: ["\""])
        rest = rest[next.range.upperBound...]
      }
      if let to = statement.2 {
        edges.append((String(statement.1), String(to), attributes["label"] ?? ""))
      } else {
        nodes[String(statement.1)] = attributes
      }
    }
    for edge in edges { expectTrue(nodes[edge.from] != nil && nodes[edge.to] != nil, "\(edge)") }
    return (nodes, edges)
  }
}
