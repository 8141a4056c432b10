import ArgumentParser
import Codecs
import Foundation

@main
struct Bench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cuejack-bench",
    abstract: "Measure Cuejack side by side with what does the same work.",
    discussion: """
      Comparisons, each alternated in one run, medians told. The cost of a cycle is that of \
      the engine, driven by hand, against a plain copy of the same bytes. The cost of a player is \
      the time to the first sound, the processor time and the memory of cuejack play, \
      sndfile-jackplay, mpv and ecasound, with the same file on the same server, one of the \
      program's own. The cost of rendering is that of a file converted by a queue \
      that renders offline, by cuejack convert, by sox and by ffmpeg, and of one that goes through an LV2 plugin in \
      cuejack play --render, lv2file and ecasound. The cost of codecs is that of a file encoded, and \
      decoded, by our codecs and by ffmpeg. Latency is that of a buffer on a dry queue, against a C client \
      with a flag. Starvation is silence of a queue that is converted and of one that is not, with idle \
      and with busy cores. The cost of a graph is that of nodes and edges, driven by hand, against plain loops. \
      Chains are rows of LV2 plugins in our host, ecasound and jalv, against a plain loop in C; \
      a mix of equalisers is audio units, and chains of ecasound. \
      Queues are 1, 100 and 1,000 on one client: their cycles, processor time and memory. \
      Files are those of one cuejack play, up to 200. Recordings have 32 channels, by cuejack record, \
      jack_capture and jack_rec. Threads are those of a graph with chains side by side. Engines are players and a \
      mixer in an AVAudioEngine and as audio units, driven by hand. Tails are the \
      longest cycles of 64 tracks with a plugin each, while both cores are busy. Synths are 64 voices of a SoundFont, in \
      cuejack fx and in fluidsynth. Rates are conversions of the sample rate by cuejack convert, zita-resampler, sox and ffmpeg, \
      with the quality that comes out. Idle are processes that have nothing to do: how often they wake.
      """)

  @Option(help: "Also write the results to this file, as JSON.")
  var json: String?

  @Option(
    help: ArgumentHelp(
      "Also write plots of all figures that grow with a number to this folder, as SVG.",
      valueName: "folder"))
  var plots: String?

  @Flag(help: "Measure so little that the numbers mean nothing: a test that everything runs.")
  var quick = false

  enum Part: String, ExpressibleByArgument, CaseIterable {
    case cycles, players, renders, codecs, latency, starvation, graph, chains, mixes, queues
    case files, recordings, threads, engines, tails, synths, rates, idle
  }
  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Measure only these parts.", valueName: "part"))
  var only: [Part] = []

  @Flag(
    help: "Measure in ten seconds what shows most of a change: cycles, renders, graphs and engines."
  )
  var brief = false

  @Option(
    help: ArgumentHelp(
      "Measure by turns with this older build of the bench, and tell which figures differ beyond their noise.",
      valueName: "program"))
  var before: String?

  @Option(
    help: ArgumentHelp(
      "Measure the longest cycle for this long instead of 5 s.", valueName: "seconds"))
  var tailSeconds: Int?

  // Arguments of a measured rendering process.
  @Option(help: .hidden) var render: String?
  @Option(help: .hidden) var renderTo = ""
  @Option(help: .hidden) var renderRate = 48000
  @Option(help: .hidden) var renderEncoding = "f32"

  @Option(help: .hidden) var encode: String?
  @Option(help: .hidden) var decode: String?
  @Option(help: .hidden) var codeTo = ""
  @Option(help: .hidden) var codec = ""

  // Arguments of a measured process that plays queues.
  @Option(help: .hidden) var playing: Int?
  @Option(help: .hidden) var playingSeconds = 1

  @Option(help: .hidden) var idle: String?

  @Option(help: .hidden) var host: String?
  @Option(help: .hidden) var hostPlugins = ""
  @Option(help: .hidden) var hostChannels = 1
  @Flag(help: .hidden) var hostMixes = false
  @Option(help: .hidden) var hostServer = ""

  func run() throws {
    if let before {
      let measured = only.isEmpty ? BuildComparison.parts : only
      let arguments =
        [quick ? "--quick" : "--brief", "--only"] + measured.map(\.rawValue)
      return show(try BuildComparison(with: before, arguments).lines)
    }
    var effort = quick ? Effort.quick : brief ? .brief : .full
    if let tailSeconds { effort.tailSeconds = tailSeconds }
    if let render {
      let job = RenderJob(
        rate: renderRate, encoding: RenderJob.Encoding(rawValue: renderEncoding) ?? .f32)
      return try job.run(render, to: renderTo)
    }
    if let encode, let codec = Codec(rawValue: codec) {
      return try CodingJob.encode(encode, to: codeTo, codec)
    }
    if let decode { return try CodingJob.decode(decode, to: codeTo) }
    if let playing {
      let found = try PlayingQueues(playing, seconds: playingSeconds)
      return print(String(decoding: try JSONEncoder().encode(found), as: UTF8.self))
    }
    if let idle, let state = IdleCost.State(rawValue: idle) { return try IdleCost.keep(state) }
    if let host, let host = PluginHost(rawValue: host) {
      return try HostJob.run(
        host, hostPlugins, channels: hostChannels, isMix: hostMixes, server: hostServer)
    }
    var report = Report(versions: try Versions())
    show(report.head)
    report.cycles = try measure(.cycles, effort, CycleCost.all)
    report.players = try measure(.players, effort, PlayerCost.all)
    report.renders = try measure(.renders, effort, RenderCost.all)
    report.codecs = try measure(.codecs, effort, CodecCost.all)
    report.latencies = try measure(.latency, effort, Latency.all)
    report.starvations = try measure(.starvation, effort, Starvation.all)
    report.graphs = try measure(.graph, effort, GraphCost.all)
    report.chains = try measure(.chains, effort, ChainCost.all)
    report.mixes = try measure(.mixes, effort, MixCost.all)
    report.queues = try measure(.queues, effort, QueueCost.all)
    report.files = try measure(.files, effort, FilesCost.all)
    report.recordings = try measure(.recordings, effort, RecordingCost.all)
    report.threads = try measure(.threads, effort, ThreadCost.all)
    report.engines = try measure(.engines, effort, EngineCost.all)
    report.tails = try measure(.tails, effort, TailCost.all)
    report.synths = try measure(.synths, effort, SynthCost.all)
    report.rates = try measure(.rates, effort, RateCost.all)
    report.idle = try measure(.idle, effort, IdleCost.all)
    if let json { try report.json().write(to: URL(fileURLWithPath: json)) }
  }

  /// Measures a part, if it is wanted, and prints each row once it is measured.
  private func measure<R: Row>(
    _ part: Part, _ effort: Effort, _ all: (Effort, (R) -> Void) throws -> Void
  ) throws -> [R] {
    let wanted = only.isEmpty && brief ? BuildComparison.parts : only
    guard wanted.isEmpty || wanted.contains(part) else { return [] }
    var rows: [R] = []
    let begin = Date()
    show(R.head(effort))
    try all(effort) { row in
      show(row.lines(after: rows))
      rows.append(row)
    }
    show(R.tail(rows) + slopes(R.plots(rows)))
    progress("\(part): \(number(Date().timeIntervalSince(begin), 0)) s")
    if let plots {
      let folder = URL(fileURLWithPath: plots, isDirectory: true)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for plot in R.plots(rows) {
        try Data(plot.picture.file(.svg)).write(
          to: folder.appendingPathComponent("\(plot.name).svg"))
      }
    }
    return rows
  }
}

/// Returns lines with what each unit of a plot's x adds to its curves, from the first point to the last.
private func slopes(_ plots: [Plot]) -> [String] {
  plots.flatMap { plot in
    ["", "\(plot.title): what each adds, in \(plot.y)"]
      + plot.curves.compactMap { curve in
        curve.slope.map { "  \(left(curve.name, 40))\(Plot.text($0))" }
      }
  }
}

/// How much is measured.
struct Effort {
  /// Alternations of a cycle measurement.
  var rounds: Int
  /// Frames of each queue between two clock readings.
  var framesPerRound: Int
  /// Runs of each player.
  var runs: Int
  /// Seconds of sound per run.
  var seconds: Int
  /// Seconds of sound to render.
  var renderedSeconds: Int
  /// Runs of each codec, and seconds of sound per run.
  var codings: Int
  var codedSeconds: Int

  /// Buffers enqueued on a dry queue, and the periods measured.
  var buffers: Int
  var latencyPeriods: [Int]
  /// Periods in which queues may run dry, and seconds of each measurement.
  var starvationPeriods: [Int]
  var starvationSeconds: Int
  /// Numbers of queues on one client, and seconds of sound to play.
  var queues: [Int]
  var queueSeconds: Int
  /// Numbers of plugins in a chain, runs of each chain, and cycles per run.
  var chainCounts: [Int]
  var chainRuns: Int
  var chainCycles: Int
  var mixRuns: Int
  /// Number of mixes measured: the last ones of the list, which need the fewest packages.
  var mixes: Int
  /// Seconds of silence to play before the measurement with silence.
  var silentSeconds: Double
  /// Numbers of nodes in a chain, and of sources of a mixer.
  var graphCounts: [Int]
  /// Numbers of files that play together, and runs of each.
  var files: [Int]
  var fileRuns: Int
  /// Numbers of chains side by side, and of plugins in each.
  var threadedChains: [(chains: Int, length: Int)]
  /// Numbers of players of an engine, and whether each has an equaliser.
  var enginePlayers: [(players: Int, haveEqualisers: Bool)]
  /// Seconds in which the longest cycle is looked for, and the number of tracks with a plugin each.
  var tailSeconds: Int
  var tailTracks: Int
  /// Seconds in which idle processes are watched.
  var idleSeconds: Int

  static let full = Effort(
    rounds: 101, framesPerRound: 32768, runs: 5, seconds: 2, renderedSeconds: 120,
    codings: 5, codedSeconds: 6, buffers: 16, latencyPeriods: [64, 256, 1024],
    starvationPeriods: [64, 1024], starvationSeconds: 2,
    queues: [1, 10, 100, 1000, 2000], queueSeconds: 3, chainCounts: [1, 8, 128], chainRuns: 5,
    chainCycles: 100, mixRuns: 3, mixes: 3, silentSeconds: 1,
    graphCounts: [1, 8, 32, 128, 512, 1024], files: [1, 16, 17, 400], fileRuns: 3,
    threadedChains: [(2, 4), (8, 4), (32, 4)],
    enginePlayers: [(1, false), (8, false), (200, false), (8, true)],
    tailSeconds: 5, tailTracks: 64, idleSeconds: 5)
  static let brief: Effort = {
    var effort = full
    (effort.rounds, effort.framesPerRound, effort.runs) = (41, 8192, 3)
    (effort.renderedSeconds, effort.graphCounts) = (20, [8, 128])
    effort.enginePlayers = [(8, false), (8, true)]
    return effort
  }()
  static let quick = Effort(
    rounds: 3, framesPerRound: 1024, runs: 1, seconds: 2, renderedSeconds: 1,
    codings: 1, codedSeconds: 1, buffers: 3, latencyPeriods: [4096],
    starvationPeriods: [4096], starvationSeconds: 1, queues: [1, 5, 10],
    queueSeconds: 1, chainCounts: [1, 2], chainRuns: 1, chainCycles: 16, mixRuns: 1, mixes: 1,
    silentSeconds: 0, graphCounts: [1, 8], files: [1, 17], fileRuns: 1, threadedChains: [(2, 2)],
    enginePlayers: [(1, false), (2, false), (2, true)],
    tailSeconds: 1, tailTracks: 2, idleSeconds: 1)
}

/// Returns the median.
func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
