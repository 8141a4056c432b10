import AudioQueue
import Files
import Glibc
import Graph
import PluginHost
import RealTime
package import Server
import Synchronization
import System
import Timeline

/// A running session: one JACK client with a queue for each track, and the graph of chains, buses and
/// ports behind them. A render server's client takes JACK's place offline.
///
/// Any thread that is not real time. One operation runs at a time; it may wait for cycles and files.
package final class SessionEngine: Sendable {
  /// How a session comes up.
  package struct Options: Sendable {
    /// The name of the JACK client.
    package var clientName: String
    /// Whether ports without a connection in the document go to the sound card.
    package var connectsToCard: Bool
    /// The number of threads that run the chains of plugins.
    package var threads: Int
    /// Takes messages for people, on any thread.
    package var onMessage: @Sendable (String) -> Void
    /// Called when a recording has failed, or a track's file, on any thread.
    package var onFailure: @Sendable () -> Void = {}

    package init(
      clientName: String, connectsToCard: Bool = true, threads: Int = 1,
      onMessage: @escaping @Sendable (String) -> Void = { _ in }
    ) {
      self.clientName = clientName
      self.connectsToCard = connectsToCard
      self.threads = threads
      self.onMessage = onMessage
    }
  }

  /// What a group of tracks does.
  package enum Motion: String, Sendable {
    case stopped, playing, paused
  }

  /// A group of tracks that start together, and where it is.
  struct Run: Sendable {
    let group: SessionGroup?
    let tracks: [Int]
    var motion = Motion.stopped
    /// Position on the session's timeline at which the present or next run begins, in device frames.
    var origin: Int64 = 0
    /// The device frame at which `origin` sounds, while the group plays.
    var anchor: Int64 = 0
    /// Whether the group waits for its host or wall-clock time; its frame is not final yet then.
    var waitsForTime = false
    /// Whether the present run was ordered to start on a certain frame.
    var isScheduled = false
    /// The device frame at which the sources play `origin`, while the group plays.
    var sourceAnchor: Int64 = 0
    /// The course of a run that is over, whose sound may still ring in plugins; nil from the next operation on.
    var lastCourse: GraphCourse?

    /// Where the curves are: at the sources.
    var course: GraphCourse {
      lastCourse
        ?? GraphCourse(origin: origin, anchor: motion == .playing ? sourceAnchor : .max)
    }
  }

  package let folder: SessionFolder
  package let device: Device
  package let plan: SessionPlan
  package let session: SessionMixer
  /// The players of the tracks, in order; nil for a track without sound.
  package let players: [FilePlayer?]
  let options: Options
  private let current: Mutex<SessionDocument>
  let runs: RunBoard
  /// For each track, the position of the first frame of its present run, in device frames of the timeline.
  let beginnings = Mutex<[Int: Int64]>([:])
  /// Held during an operation.
  let control = Mutex<Void>(())
  let recorders = Mutex<[SessionRecorder]>([])
  /// Names of the recordings that have written at least one complete take.
  let takes = Mutex<Set<Name>>([])
  let recordingFailures = Mutex(RecordingFailures())
  /// Messages about sound that is missing, by the index of the track, in the order in which people got them.
  let soundFailures: Mutex<[[String]]>
  /// The session's part in starts of JACK's transport.
  let transportStart = Mutex(TransportStart())
  /// Set while the server is away, and until the tracks are heard again.
  let interruption = Mutex<Interruption?>(nil)
  private let isClosed = Atomic<Bool>(false)
  let seenRestarts = Atomic<UInt64>(0)
  /// Device frame at which the latest run ended whose tracks are over; 0 before the first.
  let latestEnd = Atomic<Int64>(0)

  /// Opens the client, the files and the plugins, and makes the connections. Nothing plays yet. Blocks.
  ///
  /// - Throws: `SessionRunError`. The client is closed then.
  package init(
    _ document: SessionDocument, in folder: SessionFolder, on server: any Server,
    _ options: Options
  ) throws(SessionRunError) {
    let device = try SessionRunError.server { () throws(ServerError) in
      try Device(server, clientName: options.clientName)
    }
    self.device = device
    self.folder = folder
    self.options = options
    do throws(SessionRunError) {
      let sounds = try Self.open(document, in: folder, options)
      let rate = device.client.sampleRate
      let silence = SoundFacts(sampleRate: rate, channels: 2, frames: 0)
      let plan = SessionPlan(
        document, facts: sounds.map { $0.row.map(SoundFacts.init) ?? silence }, sampleRate: rate,
        named: Set(
          document.connections.flatMap { connection in
            Self.namedPorts(of: connection, [device.client.name, options.clientName], document)
              .map(\.port)
          }))
      self.plan = plan
      let session = try SessionRunError.session { () throws(SessionError) in
        try SessionMixer(
          document, plan, in: folder, blockFrames: device.client.periodFrames,
          priority: device.client.realTimePriority, threads: options.threads)
      }
      self.session = session
      let players = try Self.makePlayers(
        sounds.map(\.row), plan, session, device, server, options)
      self.players = players
      let failures = zip(sounds, players).map { sound, player in
        player?.warnings ?? sound.row?.warnings ?? [sound.failure].compactMap { $0 }
      }
      soundFailures = Mutex(failures)
      if failures.contains(where: { !$0.isEmpty }) { options.onFailure() }
      runs = RunBoard(
        plan.groups.map { Run(group: $0.group, tracks: $0.tracks) }, session.graph)
      current = Mutex(document)
      try SessionRunError.host { () throws(HostError) in try session.graph.run(on: device) }
    } catch {
      device.close()
      throw error
    }
    do throws(SessionRunError) {
      showPorts()
      connect(document)
      try prime()
      try bindControllers(document)
      joinTransport(document)
      try awaitLatencies()
    } catch {
      close()
      throw error
    }
  }

  deinit { close() }

  /// Stops everything and closes the client. May be called more than once.
  package func close() {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    stopRecordings()
    for player in players { player?.close() }
    tellFailedSounds(isLast: true)
    session.graph.stop()
    device.close()
  }

  /// The document that runs, with all edits.
  package var document: SessionDocument { current.withLock { $0 } }

  package func replaceDocument(_ document: SessionDocument) { current.withLock { $0 = document } }

  // MARK: Coming up

  /// Opens the sounds of the tracks, and tells of files that are truncated, damaged or missing.
  ///
  /// - Returns: The sounds; for a track whose file is missing, the message instead.
  private static func open(
    _ document: SessionDocument, in folder: SessionFolder, _ options: Options
  ) throws(SessionRunError) -> [(row: SoundRow?, failure: String?)] {
    var sounds: [(row: SoundRow?, failure: String?)] = []
    for (index, track) in document.tracks.enumerated() {
      let paths = track.files.map(folder.location(of:))
      if let missing = paths.first(where: { unsafe access($0.systemName, F_OK) != 0 }) {
        let words =
          "tracks[\(index)].file: there is no \(missing): the track “\(track.name)” is silent"
        options.onMessage(words)
        sounds.append((nil, words))
        continue
      }
      let row = try SessionRunError.file { () throws(SoundFileError) in
        try SoundRow(paths: paths, soundFont: track.soundFont.map(folder.location(of:)))
      }
      for file in row.files {
        for words in [file.file.warning, file.file.notice] {
          if let words { options.onMessage(words) }
        }
      }
      sounds.append((row, nil))
    }
    return sounds
  }

  private static func makePlayers(
    _ sounds: [SoundRow?], _ plan: SessionPlan, _ session: SessionMixer, _ device: Device,
    _ server: any Server, _ options: Options
  ) throws(SessionRunError) -> [FilePlayer?] {
    var players: [FilePlayer?] = []
    for (index, sound) in sounds.enumerated() {
      let track = plan.tracks[index]
      guard let sound, track.clip.frames != 0 else {
        players.append(nil)
        continue
      }
      let inputs = try SessionRunError.host { () throws(HostError) in
        try session.graph.inputPorts(of: session.sources[index])
      }
      do throws(QueueError) {
        let player = try FilePlayer(
          sound, track.clip,
          options: OutputQueue.Options(
            clientName: options.clientName, connections: .graphInputs(inputs)),
          server: server, onFailure: { _ in }, onEnd: {})
        players.append(player)
        try player.queue.play(through: (device, inputs), else: server)
        player.queue.isMetering = true
      } catch {
        throw .queue(name: track.name, error)
      }
    }
    return players
  }

  /// Prepares all tracks for a run from the beginning.
  private func prime() throws(SessionRunError) {
    try rewind(Array(players.indices), to: 0)
  }

  /// Waits until all plugins have reported their latencies, for two seconds at most.
  private func awaitLatencies() throws(SessionRunError) {
    guard isLive else { return }
    try SessionRunError.server { () throws(ServerError) in
      try device.awaitHeard(device.connectionMark)
    }
    let deadline = HostTime.now + 2_000_000_000
    while !session.plugins.allSatisfy({ $0.hasRun }), !device.isLost, HostTime.now < deadline {
      usleep(1000)
    }
    awaitSettled(seconds: 1)
  }

  /// Whether a server runs the cycles by itself.
  package var isLive: Bool { unsafe device.client.handle != nil }

  /// Waits until the graph has taken all edits.
  func awaitSettled(seconds: Double) {
    guard isLive else { return }
    let deadline = HostTime.now + UInt64(held: seconds * 1e9)
    while !session.graph.isSettled, !device.isLost, HostTime.now < deadline { usleep(500) }
  }

  /// Calls `body` with the players of some tracks on several threads, and throws the first error.
  func forEachPlayer(
    of tracks: [Int],
    _ body: @escaping @Sendable (Int, FilePlayer) throws(QueueError) -> Void
  ) throws(SessionRunError) {
    let failure = Monitor<SessionRunError?>(nil)
    let present = tracks.compactMap { index in players[index].map { (index, $0) } }
    let names = plan.tracks.map(\.name)
    concurrently(present.count) { number in
      let (index, player) = present[number]
      do throws(QueueError) {
        try body(index, player)
      } catch {
        failure.change { $0 = $0 ?? .queue(name: names[index], error) }
      }
    }
    if let failure = failure.read({ $0 }) { throw failure }
  }
}

/// Calls `body` with the numbers below `count` on several threads, and waits for all.
func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  // As many as wait for the same cycle.
  let threads = min(count, 16)
  guard threads > 1 else {
    for number in 0..<count { body(number) }
    return
  }
  let work = Monitor((next: 0, threads: threads))
  for _ in 0..<threads {
    startThread(named: "cuejack-work") {
      while true {
        let number = work.change { work in
          defer { work.next += 1 }
          return work.next
        }
        if number >= count { break }
        body(number)
      }
      work.change { $0.threads -= 1 }
    }
  }
  work.wait { $0.threads == 0 ? () : nil }
}
