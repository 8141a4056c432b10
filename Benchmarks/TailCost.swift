import CBench
import CJack
import Foundation
import PluginHost
import TestSupport

/// The longest cycles of many files, each through a plugin, in a program on a server in asynchronous mode while
/// every core is busy.
struct TailCost: Row {
  var program: String
  /// 0 for the client that only writes numbers.
  var tracks: Int
  var tail: Tail?
  /// The reason why there are no numbers; nil if there are.
  var missing: String?

  /// Time from the begin of a cycle until all sound of the program was there, in microseconds.
  struct Tail: Codable {
    var seconds: Int
    var cycles: Int
    var median: Double
    var of999In1000: Double
    var longest: Double
    var xruns: Int
  }

  /// Period of the server in frames, at 48 kHz.
  static let period = 64
  private static let rate = 48000

  static func all(_ effort: Effort, found: (TailCost) -> Void) throws {
    try withTemporaryFolder { folder in
      let files = try (0..<effort.tailTracks).map { number in
        let file = folder.appendingPathComponent("\(number).wav")
        let samples = (0..<2 * rate).map { Int16(($0 &* (number + 17)) & 255) }
        try waveFile(samples, channels: 1, rate: rate).write(to: file)
        return file.path
      }
      let environment = try environment(folder)
      let session = folder.appendingPathComponent("tracks").path
      try makeSession(session, files, environment)
      var chains: [String] = []
      for (number, file) in files.enumerated() {
        chains += ["-a:\(number + 1)", "-i:audioloop,\(file)", "-elv2:\(ChainCost.uri),0"]
      }
      let programs: [(program: String, path: String, arguments: [String])] = [
        (
          "cuejack session run", try builtProduct(named: "cuejack").path,
          ["session", "run", session, "--name", "tracks", "--play", "--no-connect"]
        ),
        (
          // On exit, ecasound may signal its whole process group.
          "ecasound", "setsid",
          ["ecasound", "-q", "-B:rt", "-b:\(period)", "-f:f32_le,1,\(rate)"]
            + ["-G:jack,tracks,notransport"] + chains + ["-a:all", "-o:jack"]
        ),
      ]
      // What the machine and jackd do by themselves.
      let seconds = min(effort.tailSeconds, 10)
      progress("tails: a C client alone for \(seconds) s")
      do {
        let jack = try server()
        defer { jack.stop() }
        let emitter = try Emitter(on: jack, name: "tracks")
        try withExtendedLifetime(emitter) {
          let tail = try measure(on: jack, seconds)
          found(TailCost(program: "a C client alone", tracks: 0, tail: tail))
        }
      }
      for (program, path, arguments) in programs
      where program != "ecasound" || isThere("ecasound", telling: true) {
        // On a busy machine ecasound sometimes connects nothing or stays silent: it is started again.
        var row = TailCost(program: program, tracks: files.count)
        for attempt in 1...3 where row.tail == nil {
          progress("tails: \(program), \(files.count) tracks for \(effort.tailSeconds) s")
          let jack = try server()
          defer { jack.stop() }
          let output = folder.appendingPathComponent("output")
          let child = try Child(
            path, arguments,
            environment: environment.merging(["JACK_DEFAULT_SERVER": jack.name]) { $1 },
            output: output)
          defer { child.end() }
          do {
            row.tail = try measure(on: jack, effort.tailSeconds)
            row.missing = nil
          } catch {
            row.missing = "\(error), attempt \(attempt) of 3"
            let failure = "\(program): \(error): \(text(of: output).suffix(1000))"
            guard program == "ecasound" else { throw SupportError(failure) }
            progress("tails: attempt \(attempt) of 3: \(failure)")
          }
        }
        found(row)
      }
    }
  }

  private static func server() throws -> JackDaemon {
    try JackDaemon(rate: rate, period: period, synchronous: false, isRealtime: true)
  }

  private static func environment(_ folder: URL) throws -> [String: String] {
    var environment = ProcessInfo.processInfo.environment
    environment["JACK_NO_START_SERVER"] = "1"
    environment["NSM_URL"] = ""
    environment["XDG_CACHE_HOME"] = folder.path
    environment["LV2_PATH"] = try HostedRow.bundles(
      of: PluginRow("amps", [ChainPlugin(uri: ChainCost.uri)], channels: 1, in: World()),
      in: folder)
    return environment
  }

  /// Makes a session with a track for each file, all with a plugin and into one bus.
  private static func makeSession(
    _ session: String, _ files: [String], _ environment: [String: String]
  ) throws {
    let plugins = files.indices.flatMap { track in
      [
        "tracks[\(track)].chain+={id: \"amp\(track)\", uri: \"\(ChainCost.uri)\"}",
        "tracks[\(track)].loop=true", "tracks[\(track)].bus=sum",
      ]
    }
    for arguments in [
      ["session", "new", session] + files,
      ["session", "set", session, "buses+={name: \"sum\", channels: 1}"] + plugins,
    ] {
      let made = try TestSupport.run(
        builtProduct(named: "cuejack").path, arguments, environment: environment)
      guard made.status == 0 else { throw SupportError(made.errors) }
    }
  }

  private static func measure(on jack: JackDaemon, _ seconds: Int) throws -> Tail {
    var status = JackStatus(rawValue: 0)
    guard let lateness = cue_lateness_open(jack.name, "lateness", &status) else {
      throw SupportError("no client can be opened: JACK status \(status.rawValue)")
    }
    defer { cue_lateness_close(lateness) }
    let client = cue_lateness_client(lateness)
    guard
      waits(for: {
        guard let port = outputPort(client) else { return false }
        _ = jack_connect(client, port, "lateness:in_1")
        return cue_lateness_level(lateness) > 0
      })
    else { throw SupportError("it is not heard") }
    var lasted = 0
    try withBusyCores(true) {
      cue_lateness_start(lateness)
      // On a busy machine a program may be late in each cycle of a second: one that counts is waited for.
      while lasted < seconds || cue_lateness_cycles(lateness) == 0 && lasted < seconds + 30 {
        sleep(1)
        lasted += 1
      }
      cue_lateness_stop(lateness)
    }
    func longest(_ share: Double) -> Double { Double(cue_lateness_of(lateness, share)) }
    return Tail(
      seconds: lasted, cycles: Int(cue_lateness_cycles(lateness)), median: longest(0.5),
      of999In1000: longest(0.999), longest: longest(1),
      xruns: Int(cue_lateness_xruns(lateness)))
  }

  /// Returns the first output port of the program.
  private static func outputPort(_ client: OpaquePointer?) -> String? {
    guard
      let names = jack_get_ports(
        client, "^tracks:", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsOutput.rawValue))
    else { return nil }
    defer { jack_free(names) }
    return names[0].map { String(cString: $0) }
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "\(effort.tailTracks) files, each through an eg-amp, in one program, cycles of \(period) frames"
        + " (\(period * 1_000_000 / rate) µs), jackd in asynchronous mode, every core busy",
      "",
      "program               seconds   cycles    median   999 of 1,000    longest   xruns",
    ]
  }

  func lines(after rows: [TailCost]) -> [String] {
    guard let tail else { return [left(program, 22) + (missing ?? "")] }
    return [
      left(program, 22) + right("\(tail.seconds)", 7) + right("\(tail.cycles)", 9)
        + right("\(number(tail.median, 0)) µs", 10)
        + right("\(number(tail.of999In1000, 0)) µs", 15)
        + right("\(number(tail.longest, 0)) µs", 11) + right("\(tail.xruns)", 8)
    ]
  }
}
