import ArgumentParser
import AudioQueue
import Dispatch
import PluginHost
import RealTime
import Server
import Sessions
import System

/// `cuejack play` on a server: a player for each file, and a client for the plugins if there are any.
struct LiveSession {
  let command: Play
  let tracks: [PlayTrack]
  let players: [FilePlayer]
  let pluginClient: PluginClient?
  /// True if all players share one client.
  let isShared: Bool
  let signals: StopSignals
  /// Signalled when a file ends or a signal arrives.
  let awake: DispatchSemaphore

  /// The most files that have a client each. jackd tells every client of every port of all others, so that
  /// opening hundreds takes minutes.
  static let mostClients = 16

  /// Opens the clients and converts the first frames of every file.
  init(
    _ command: Play, _ tracks: [PlayTrack], _ signals: StopSignals, _ awake: DispatchSemaphore
  ) throws {
    self.command = command
    self.tracks = tracks
    self.signals = signals
    self.awake = awake
    // Panning mono needs two channels.
    let isPanned = tracks.contains { $0.settings.pan != 0 }
    let channels = max(tracks.map(\.source.format.channels).max() ?? 1, isPanned ? 2 : 1)
    let pluginClient =
      command.usesGraph
      ? try Self.makePluginClient(command, channels, tracks.map(\.source.path), signals) : nil
    let isShared =
      pluginClient == nil && tracks.count > Self.mostClients && !command.client.nameFromFile
    var players: [FilePlayer] = []
    do {
      let found =
        pluginClient == nil ? try command.client.findConnections(.input, signals) : nil
      defer { found?.close() }
      for (i, track) in tracks.enumerated() {
        if let signal = signals.received { throw ExitCode(128 + signal) }
        let inputs = try pluginClient?.graphInputs(for: track.source, pan: track.settings.pan)
        let player = try command.makePlayer(
          i, track, connections: inputs.map { .graphInputs($0) } ?? found?.connections ?? .none
        ) { awake.signal() }
        players.append(player)
        let isPrimed = try command.telling(track.source) { () throws(QueueError) in
          let shared =
            pluginClient?.device ?? (isShared && i > 0 ? players[0].queue.runningDevice : nil)
          if let shared { try player.queue.setDeviceUID(shared.uid) }
          return try player.prime()
        }
        guard isPrimed else { throw ExitCode.failure }
        if pluginClient == nil, !isShared {
          command.client.show(player.queue, player.queue.statistics.portNames, track.source.path)
        }
        // Peaks and clips cost little; the closing line has them.
        player.queue.isMetering = true
      }
      // jackd tells the client that found the ports of every name, and waits for it while it closes.
      found?.close()
    } catch {
      for player in players { player.close() }
      pluginClient?.close()
      throw error
    }
    self.players = players
    self.pluginClient = pluginClient
    self.isShared = isShared
  }

  /// Opens the client of the plugins, which is named after the files.
  private static func makePluginClient(
    _ command: Play, _ channels: Int, _ files: [String], _ signals: StopSignals
  ) throws -> PluginClient {
    let options = command.client
    return try PluginClient(
      ChosenPlugins(command.chosenPlugins, threads: command.threads), channels: channels,
      on: options.jackServer(for: files),
      named: options.clientName(for: files[0], usual: Play.clientName),
      title: files.map { printable(fileName($0)) }.joined(separator: ", "),
      delay: command.output.delay,
      PluginClient.Connections { client in
        if options.noConnect { return [] }
        return options.connect.isEmpty
          ? nil : try options.connectedPorts(on: client, .input, signals)
      }, command.controllers)
  }

  /// Names a client that all files share, and its ports, for patchbays. For hundreds of files that takes as long as
  /// half of their opening, so the players have been told their start before.
  private func nameSharedClient() {
    guard isShared else { return }
    let ports = players.flatMap { player in
      ClientAppearance.channels(
        player.queue.statistics.portNames, of: printable(fileName(player.file.path)))
    }
    players[0].queue.runningDevice?.show(
      ClientAppearance(prettyName: "\(players.count) files", ports: ports))
  }

  func close() {
    for player in players { player.close() }
    pluginClient?.close()
  }

  /// Plays all files and prints the results. Throws the exit code if it is not 0.
  func run() throws {
    if let signal = signals.received { throw ExitCode(128 + signal) }
    let monitor = PlayMonitor(
      players,
      measuresLoudness: command.report.measuresLoudness(
        channels: players.reduce(0) { $0 + $1.file.format.channels }))
    defer { monitor.end() }
    let senders = try PlaySenders(
      command.output.sendTo, soundingPorts, isStopped: { signals.received != nil })
    defer { senders.end() }
    let start = try startPlayers()
    let transport = command.transport ? followedTransport : nil
    for player in players { announce(player, start) }
    pluginClient?.announce()
    if Screen.shared.isJSON { Screen.shared.emit(startedEvent(start)) }
    nameSharedClient()
    let wasHeard = isConnected
    if !wasHeard {
      Screen.shared.remark(
        "the JACK server “\(players[0].queue.statistics.serverName)” has no port that plays sound: nobody hears the "
          + "files; --no-connect is for that")
    }
    let levels = PlayLevels(tracks, command.replayGain.scope)
    let keys = PlayKeys(players, levels, start, transport)
    let remote = remote(keys, monitor)
    awaitEnds(keys, monitor, remote)
    remote?.end()
    let isCut = !keys.isAskedToQuit && !awaitTail()
    let isOver = keys.isAskedToQuit || players.allSatisfy(\.isOver) && !keys.isPaused
    let stop = isOver && !isCut ? nil : signals.received
    Screen.shared.draw([])
    if isCut, stop == nil { Screen.shared.complain("the tail of the plugins was cut off") }
    let isHeard = wasHeard || isConnected
    try finish(
      keys, monitor, isCut: isCut || pluginClient?.chain.hasLostPlugins == true, isHeard: isHeard,
      stoppedBy: stop)
  }

  /// The ports that play, and their clients.
  private var soundingPorts: [(device: Device, names: [String])] {
    if let pluginClient { return [(pluginClient.device, pluginClient.chain.portNames)] }
    return players.compactMap { player in
      player.queue.runningDevice.map { ($0, player.queue.statistics.portNames) }
    }
  }

  /// The exit code if no port of the server plays sound.
  private static let unheard: Int32 = 3

  /// True if a port of a file or of the plugins is connected, or none is to be.
  private var isConnected: Bool {
    if command.client.noConnect { return true }
    if let pluginClient {
      return pluginClient.chain.portNames.contains {
        !pluginClient.device.client.connections(of: $0).isEmpty
      }
    }
    return players.contains { player in
      let client = player.queue.runningDevice?.client
      return player.queue.statistics.portNames.contains {
        client?.connections(of: $0).isEmpty == false
      }
    }
  }

  /// Waits until every file has ended, a signal arrives, or a key ends playing. Shows the progress.
  private func awaitEnds(
    _ keys: PlayKeys, _ monitor: PlayMonitor, _ remote: CommandRemote?
  ) {
    let serverName = players[0].queue.statistics.serverName
    var watch = ServerWatch("playing")
    if !command.transport {
      for player in players { ServerWatch.wake(awake, onLossOf: player.queue.runningDevice) }
    }
    CommandWait(signals: signals, awake: awake).run {
      remote?.serve()
      guard !keys.isOver else { return nil }
      watch.note(
        players.filter { !$0.isOver }.compactMap(\.queue.loss).first, server: serverName)
      keys.followTransport()
      keys.followClock()
      keys.settleStart()
      let isIdle = keys.isPaused && !command.transport && remote?.isRead != true
      return isIdle ? CommandWait.longInterval : CommandWait.interval
    } press: {
      keys.press($0)
    } show: {
      monitor.update { keys.position(of: $0) }
      if Screen.shared.isTerminal { draw(keys, monitor) }
    }
  }

  private func draw(_ keys: PlayKeys, _ monitor: PlayMonitor) {
    let size = Screen.shared.size
    let state = keys.state
    var lines = players.indices.map { progress(ofPlayer: $0, keys, monitor) }
      .lines(
        columns: size.columns, rows: size.rows - (state == nil ? 0 : 1),
        isColored: Screen.shared.isColored)
    if let state {
      // The last column stays empty, because some terminals wrap there.
      lines.append(columns(of: state) < size.columns ? state : fitted(state, to: size.columns - 1))
    }
    Screen.shared.draw(lines)
  }

  /// Waits until the plugins have output their tail.
  ///
  /// - Returns: False if a signal or the loss of the server cut it off.
  private func awaitTail() -> Bool {
    guard let pluginClient else { return true }
    let device = pluginClient.device
    let rest = (command.tail ?? .zero).frames(at: device.client.sampleRate)
    // A file's end is reported during the cycle in which it lies, so two more periods are added.
    let end =
      device.now + Int64(pluginClient.chain.latencyFrames + pluginClient.chain.delayFrames) + rest
      + 2 * Int64(device.client.periodFrames)
    while signals.received == nil, !device.isLost, device.now < end {
      _ = awake.wait(timeout: .now() + .milliseconds(20))
    }
    return device.now >= end && !device.isLost
  }

  /// Stops the players, prints summaries, and throws the exit code if it is not 0.
  private func finish(
    _ keys: PlayKeys, _ monitor: PlayMonitor, isCut: Bool, isHeard: Bool, stoppedBy signal: CInt?
  ) throws {
    keys.settleStart()
    let start = keys.start
    // Silence all players first.
    for player in players where !player.isOver { try? player.queue.stop() }
    monitor.end()
    var results = players.map(\.queue.statistics)
    for index in results.indices where keys.hasMoved {
      results[index].lastedFrames = keys.frames(
        ofPlayer: index, lastRun: results[index].lastedFrames)
    }
    var failed = isCut
    for (index, (player, result)) in zip(players, results).enumerated() {
      if player.queue.isLost, !player.isOver {
        Screen.shared.complain("\(ServerError.lost(server: result.serverName))")
        failed = true
      }
      for fault in player.file.faults { Screen.shared.complain(fault) }
      if !player.faults.isEmpty { failed = true }
      // Playing succeeded only if everything was heard without a gap.
      if result.starvedFrames > 0 || result.unheardFrames > 0 { failed = true }
      Screen.shared.say(summary(player, result, start) + monitor.words(ofPlayer: index))
    }
    let begins = Set(results.compactMap(\.beganAt))
    // After a server restart, each player starts as soon as it can.
    if keys.hasMoved {
      // Each run that a key began had a start of its own.
    } else if begins.count > 1, results.allSatisfy({ $0.restarts == 0 }) {
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
    let code = signal.map { 128 + $0 } ?? (failed ? 1 : isHeard ? 0 : Self.unheard)
    Screen.shared.emit(
      FinishedEvent(
        exitCode: code,
        files: results.enumerated().map {
          monitor.report(ofPlayer: $0, $1, latency: start.latency)
        }))
    if code != 0 { throw ExitCode(code) }
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
