import ArgumentParser
import AudioQueue
import Dispatch
import PluginHost
import RealTime
import Server
import Sessions

/// `cuejack play` on a server: a player for each file, and a client for the plugins if there are any.
struct LiveSession {
  let command: Play
  let players: [FilePlayer]
  let pluginClient: PluginClient?
  private let signals: StopSignals
  /// Signalled when a file ends or a signal arrives.
  private let awake: DispatchSemaphore

  /// Opens the clients and converts the first frames of every file.
  init(
    _ command: Play, _ files: [SoundReader], _ signals: StopSignals, _ awake: DispatchSemaphore
  ) throws {
    self.command = command
    self.signals = signals
    self.awake = awake
    // Panning mono needs two channels.
    let channels = max(files.map(\.format.channels).max() ?? 1, command.pan == 0 ? 1 : 2)
    let pluginClient =
      command.plugins.isEmpty
      ? nil
      : try PluginClient(
        command.chosenPlugins, channels: channels, command.client, command.controllers,
        files: files.map(\.path))
    var players: [FilePlayer] = []
    do {
      for (i, file) in files.enumerated() {
        if let signal = signals.received { throw ExitCode(128 + signal) }
        let inputs = try pluginClient?.graphInputs(for: file, pan: command.pan)
        let player = try command.makePlayer(i, file, inputs: inputs) { awake.signal() }
        players.append(player)
        let isPrimed = try command.telling(file) { () throws(QueueError) in
          if let pluginClient { try player.queue.setDeviceUID(pluginClient.device.uid) }
          return try player.prime()
        }
        guard isPrimed else { throw ExitCode.failure }
        player.queue.isMetering = Screen.shared.isTerminal
      }
    } catch {
      for player in players { player.close() }
      pluginClient?.close()
      throw error
    }
    self.players = players
    self.pluginClient = pluginClient
  }

  func close() {
    for player in players { player.close() }
    pluginClient?.close()
  }

  /// Plays all files and prints the results. Throws the exit code if it is not 0.
  func run() throws {
    if let signal = signals.received { throw ExitCode(128 + signal) }
    let start = try command.telling(players[0].file) { () throws(QueueError) in
      try chooseStart()
    }
    try command.client.checkStart(on: players[0].queue)
    for player in players {
      try command.telling(player.file) { () throws(QueueError) in
        try player.queue.start(at: start.queueTime)
      }
    }
    for player in players { announce(player, start) }
    if let pluginClient { announce(pluginClient) }
    awaitEnds(start)
    let isCut = !awaitTail()
    let stop = players.allSatisfy(\.isOver) && !isCut ? nil : signals.received
    Screen.shared.draw([])
    if isCut, stop == nil { Screen.shared.complain("the tail of the plugins was cut off") }
    try finish(
      start, isCut: isCut || pluginClient?.chain.hasLostPlugins == true, stoppedBy: stop)
  }

  /// Waits until every file has ended or a signal arrives, and shows the progress.
  private func awaitEnds(_ start: Start) {
    let serverName = players[0].queue.statistics.serverName
    var watch = ServerWatch("playing")
    while signals.received == nil, !players.allSatisfy(\.isOver) {
      watch.note(
        players.filter { !$0.isOver }.compactMap(\.queue.absence).first, server: serverName)
      if Screen.shared.isTerminal {
        let size = Screen.shared.size
        Screen.shared.draw(
          players.map { progress(of: $0, start) }.lines(columns: size.columns, rows: size.rows))
      }
      _ = awake.wait(timeout: .now() + .milliseconds(100))
    }
  }

  /// Waits until the plugins have output their tail.
  ///
  /// - Returns: False if a signal or the loss of the server cut it off.
  private func awaitTail() -> Bool {
    guard let pluginClient else { return true }
    let device = pluginClient.device
    let rest = Int64((command.tail * device.client.sampleRate).rounded())
    // A file's end is reported during the cycle in which it lies, so two more periods are added.
    let end =
      device.now + Int64(pluginClient.chain.latencyFrames) + rest + 2
      * Int64(device.client.periodFrames)
    while signals.received == nil, !device.isLost, device.now < end {
      _ = awake.wait(timeout: .now() + .milliseconds(20))
    }
    return device.now >= end && !device.isLost
  }

  /// Stops the players, prints summaries, and throws the exit code if it is not 0.
  private func finish(_ start: Start, isCut: Bool, stoppedBy signal: CInt?) throws {
    // Silence all players first.
    for player in players where !player.isOver { try? player.queue.stop() }
    let results = players.map(\.queue.statistics)
    var failed = isCut
    for (player, result) in zip(players, results) {
      if player.queue.isLost, !player.isOver {
        Screen.shared.complain("\(ServerError.lost(server: result.serverName))")
        failed = true
      }
      if player.hasFailed || player.file.isTruncated && player.playsToTheEnd {
        failed = true
      }
      // Playing succeeded only if everything was heard without a gap.
      if result.starvedFrames > 0 || result.unheardFrames > 0 { failed = true }
      Screen.shared.say(summary(player, result, start))
    }
    let begins = Set(results.compactMap(\.beganAt))
    // After a server restart, each player starts as soon as it can.
    if begins.count > 1, results.allSatisfy({ $0.restarts == 0 }) {
      Screen.shared.complain("the files did not start on one frame: the machine was too busy")
      failed = true
    } else if begins.count == 1, let begin = begins.first, !start.isPast,
      // A host time is rounded to a frame within its cycle.
      begin > start.queueFrame + (start.chosen.isHostTime ? Int64(start.sampleRate / 1000) : 0),
      results.allSatisfy({ $0.restarts == 0 })
    {
      Screen.shared.remark(
        "frame \(start.frame) was past; playing started on frame \(begin + start.latency)")
    }
    if let signal { throw ExitCode(128 + signal) }
    if failed { throw ExitCode.failure }
  }

  private func summary(
    _ player: FilePlayer, _ result: OutputQueue.Statistics, _ start: Start
  ) -> String {
    guard let begin = result.beganAt else { return "\(player.file.path): did not start" }
    let played = result.lastedFrames - Int64(result.starvedFrames + result.unheardFrames)
    let underruns = result.starvations + result.xruns
    let silence = result.starvedFrames > 0 ? ", \(result.starvedFrames) frames of silence" : ""
    let unheard = result.unheardFrames > 0 ? ", \(result.unheardFrames) frames not heard" : ""
    return
      "\(player.file.path): played \(played) frames from frame \(begin + start.latency); underruns: \(underruns)"
      + " (ran dry: \(result.starvations)\(silence), xruns: \(result.xruns)\(unheard))"
  }
}
