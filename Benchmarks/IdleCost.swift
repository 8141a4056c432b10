import AVFAudio
import AudioQueue
import AudioToolbox
import Foundation
import Server
import TestSupport

/// How often a process that has nothing to do wakes.
struct IdleCost: Row {
  var state: String
  var seconds: Int
  var threads: Int
  /// Wakes of all threads in a second, but for those of JACK's process thread in the server's cycles.
  var wakes: Double
  /// Processor time of the other threads in a second, in microseconds.
  var processorMicroseconds: Double

  /// Cycles of a second, at 48 kHz, wake JACK's thread 47 times.
  private static let period = 1024

  /// What a process that is measured has set up.
  enum State: String, CaseIterable {
    case pausedQueue = "a queue, paused"
    case stoppedQueue = "a queue, stopped"
    case emptyGraph = "an AUGraph with an output alone"
    case pausedEngine = "an AVAudioEngine, paused"
    case stoppedEngine = "an AVAudioEngine, stopped"

    /// Sets it up and returns what ends it.
    func setUp() throws -> () throws -> Void {
      switch self {
      case .pausedQueue, .stoppedQueue:
        let queue = try OutputQueue(
          PlayingQueues.format, options: OutputQueue.Options(clientName: "bench"),
          server: JackServer(), callingBackOn: .ownThread,
          OutputQueue.Handlers(bufferDone: { _, _ in }, changed: { _, _ in }))
        let buffer = try queue.allocateBuffer(capacity: 4 * 480_000)
        try queue.enqueue(buffer.id, bytes: buffer.capacity)
        try queue.start()
        guard waits(for: { queue.isRunning }) else { throw SupportError("the queue does not run") }
        try self == .pausedQueue ? queue.pause() : queue.stop()
        return { try queue.dispose(afterPlaying: false) }
      case .emptyGraph:
        var graph: AUGraph?
        var node: AUNode = 0
        var output = AudioComponentDescription(
          componentType: kAudioUnitType_Output, componentSubType: kAudioUnitSubType_DefaultOutput,
          componentManufacturer: kAudioUnitManufacturer_Apple, componentFlags: 0,
          componentFlagsMask: 0)
        guard NewAUGraph(&graph) == noErr, let graph,
          AUGraphAddNode(graph, &output, &node) == noErr,
          AUGraphOpen(graph) == noErr, AUGraphInitialize(graph) == noErr,
          AUGraphStart(graph) == noErr
        else { throw SupportError("the graph does not start") }
        return { DisposeAUGraph(graph) }
      case .pausedEngine, .stoppedEngine:
        let engine = AVAudioEngine()
        let player = AVAudioPlayerNode()
        engine.attach(player)
        engine.connect(player, to: engine.mainMixerNode, format: nil)
        try engine.start()
        player.play()
        self == .pausedEngine ? engine.pause() : engine.stop()
        return { withExtendedLifetime(player) { engine.stop() } }
      }
    }
  }

  /// Sets a state up in this process and keeps it until SIGTERM.
  static func keep(_ state: State) throws {
    signal(SIGTERM) { _ in }
    let end = try state.setUp()
    show(["ready"])
    pause()
    try end()
  }

  static func all(_ effort: Effort, found: (IdleCost) -> Void) throws {
    let server = try JackDaemon(rate: 48000, period: period)
    defer { server.stop() }
    let environment = ProcessInfo.processInfo.environment.merging(
      ["JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1"]) { $1 }
    try withTemporaryFolder { folder in
      var idlers: [(state: String, child: Child)] = []
      defer { for idler in idlers { idler.child.end() } }
      /// Starts a process and waits for a word that it prints.
      func start(_ state: String, _ path: String, _ arguments: [String], until word: String) throws
      {
        progress("idle: \(state)")
        let output = folder.appendingPathComponent("words \(idlers.count)")
        let child = try Child(
          path, arguments, environment: environment, folder: folder, output: output)
        idlers.append((state, child))
        guard waits(for: { text(of: output).contains(word) || child.wait(seconds: 0) != nil }),
          child.wait(seconds: 0) == nil
        else { throw SupportError("\(state): \(text(of: output))") }
      }
      let bench = try builtProduct(named: "cuejack-bench").path
      for state in State.allCases {
        try start(state.rawValue, bench, ["--idle", state.rawValue], until: "ready")
      }
      let command = try builtProduct(named: "cuejack").path
      try PlayerCost.waveFile(seconds: 2).write(to: folder.appendingPathComponent("a.wav"))
      for arguments in [["session", "new", "still"], ["session", "add", "still", "a.wav"]] {
        let result = try TestSupport.run(command, arguments, folder: folder)
        guard result.status == 0 else { throw SupportError(result.errors) }
      }
      try start(
        "cuejack session run, standing still", command,
        ["session", "run", "still", "--no-connect"], until: "still")
      // What the starts have left to do is over, and waits of a second have begun.
      sleep(3)
      let before = idlers.map { ThreadActivity.all(of: $0.child.processIdentifier) }
      sleep(UInt32(effort.idleSeconds))
      for (idler, before) in zip(idlers, before) {
        found(
          IdleCost(
            idler.state, from: before, to: ThreadActivity.all(of: idler.child.processIdentifier),
            seconds: effort.idleSeconds))
      }
    }
  }

  private init(
    _ state: String, from before: [String: ThreadActivity], to after: [String: ThreadActivity],
    seconds: Int
  ) {
    // JACK's thread wakes most.
    let differences = after.map { thread, activity in activity - (before[thread] ?? activity) }
      .sorted { $0.wakes < $1.wakes }
    let cycles = Double(48000 * seconds / Self.period)
    let isInCycles = differences.last.map { $0.wakes > cycles / 2 } == true
    let others = differences.dropLast(isInCycles ? 1 : 0)
    self.state = state
    self.seconds = seconds
    threads = after.count
    wakes = others.map(\.wakes).reduce(0, +) / Double(seconds)
    processorMicroseconds = others.map(\.nanoseconds).reduce(0, +) / 1000 / Double(seconds)
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "A process that has nothing to do, for \(effort.idleSeconds) s: what its threads do beside JACK's own",
      "",
      left("", 38) + right("threads", 9) + right("wakes in a second", 20)
        + right("processor time", 18),
    ]
  }

  func lines(after rows: [IdleCost]) -> [String] {
    [
      left(state, 38) + right("\(threads)", 9) + right(number(wakes, 1), 20)
        + right("\(number(processorMicroseconds, 0)) µs", 18)
    ]
  }
}

/// What a thread has done since its start.
struct ThreadActivity {
  /// Times at which it waited for something.
  var wakes: Double
  var nanoseconds: Double

  static func - (a: ThreadActivity, b: ThreadActivity) -> ThreadActivity {
    ThreadActivity(wakes: a.wakes - b.wakes, nanoseconds: a.nanoseconds - b.nanoseconds)
  }

  /// Returns the threads of a process by their numbers.
  static func all(of process: pid_t) -> [String: ThreadActivity] {
    let folder = "/proc/\(process)/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return threads.reduce(into: [:]) { found, thread in
      func file(_ name: String) -> String {
        text(of: URL(fileURLWithPath: "\(folder)/\(thread)/\(name)"))
      }
      guard let time = file("schedstat").split(separator: " ").first.flatMap({ Double($0) }),
        let wakes = file("status").firstMatch(of: #/\nvoluntary_ctxt_switches:\s*(\d+)/#)
          .flatMap({ Double($0.output.1) })
      else { return }
      found[thread] = ThreadActivity(wakes: wakes, nanoseconds: time)
    }
  }
}
