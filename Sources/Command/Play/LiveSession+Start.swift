import ArgumentParser
import AudioQueue
import Control
import Dispatch
import Glibc
import PluginHost
import RealTime
import Server
import Sessions
import System
import Timeline

/// Choosing the frame that all players start on, and announcing it.
extension LiveSession {
  /// The common start of all players.
  struct Start {
    var chosen: ChosenStart
    /// Latency of the plugins in frames.
    var latency: Int64
    /// True if the chosen time had already passed.
    var isPast = false
    var sampleRate: Double
    var frame: Int64 { chosen.frame }
    /// The frame at which the queues start: earlier by the latency.
    var queueFrame: Int64 { frame - latency }
    var queueTime: StartTime { chosen.time(before: latency, sampleRate: sampleRate) }
  }

  /// Chooses the start, and starts every player there unless it follows the transport.
  func startPlayers() throws -> Start {
    let first = players[0]
    command.client.at?.tellWait(of: first.file.path)
    var start = try command.telling(first.file) { () throws(QueueError) in try chooseStart() }
    try command.client.checkStart(on: first.queue)
    if command.transport { return start }
    try order(start)
    if command.client.at != nil { return start }
    // A player on its own begins with its frame unless it learnt of it late.
    if players.count == 1, first.queue.runningDevice?.isTooLate(for: start.queueFrame) != true {
      return start
    }
    // The machine may be too busy: a player is told late, or a server that does not wait leaves it out.
    for _ in 1...5 {
      if let actual = commonBegin(start) { return actual }
      for player in players {
        let isReady = try command.telling(player.file) { () throws(QueueError) in
          try player.rewind(to: 0, delay: player.clip.delay)
        }
        guard isReady else { throw ExitCode.failure }
      }
      start = try command.telling(first.file) { () throws(QueueError) in
        try chooseStart(isBusy: true)
      }
      try order(start)
    }
    return start
  }

  private func order(_ start: Start) throws {
    for player in players {
      try command.telling(player.file) { () throws(QueueError) in
        try player.queue.start(at: start.queueTime)
      }
    }
  }

  /// Waits until the players have begun.
  ///
  /// - Returns: The start on which they did; nil if they began on different frames.
  private func commonBegin(_ start: Start) -> Start? {
    guard let device = players[0].queue.runningDevice else { return start }
    let lead = Double(start.queueFrame - device.now) / start.sampleRate
    let deadline = DispatchTime.now() + max(0, lead) + 1
    var begins: [Int64] = []
    while begins.count < players.count, DispatchTime.now() < deadline, signals.received == nil {
      begins = players.compactMap(\.queue.statistics.beganAt)
      usleep(1000)
    }
    guard let begin = begins.first else { return start }
    // A host time is rounded to a frame.
    if begins.allSatisfy({ abs($0 - start.queueFrame) <= (start.chosen.isHostTime ? 1 : 0) }) {
      return start
    }
    guard begins.allSatisfy({ $0 == begin }) else { return nil }
    var actual = start
    actual.chosen = ChosenStart(frame: begin + start.latency, on: device)
    return actual
  }

  /// Chooses the frame on which all players start.
  ///
  /// - Parameter isBusy: True if the machine was too busy for a start as soon as possible.
  private func chooseStart(isBusy: Bool = false) throws(QueueError) -> Start {
    let latency = Int64(pluginClient?.chain.latencyFrames ?? 0)
    // A player on its own is certain to be heard from a frame on. Of several, or behind plugins, the start frame is
    // chosen only after the server carries sound from every player.
    let isAlone =
      players.count == 1 && pluginClient == nil && command.client.at == nil && !isBusy
    let heard = try isAlone ? players[0].queue.firstHeardFrame : nil
    if heard == nil { for player in players { try player.queue.awaitHeard() } }
    let rate = try players[0].queue.deviceSampleRate()
    guard let device = players[0].queue.runningDevice else { throw .invalidated }
    let now = players.compactMap { $0.queue.deviceTime?.frame }.max() ?? device.now
    func start(_ frame: Int64, isPast: Bool = false) -> Start {
      Start(
        chosen: ChosenStart(frame: frame, on: device), latency: latency, isPast: isPast,
        sampleRate: rate)
    }
    if let heard { return start(heard) }
    // Players of one client learn of the start within some 20 µs each, and on a busy machine within a millisecond.
    let isOneClient = isShared || pluginClient != nil
    let clients = isOneClient ? min(players.count, Self.mostClients) : players.count
    let count = Double(clients) + 0.4 * Double(players.count - clients)
    // A cycle that is about to begin knows nothing of the start, and each player takes some time.
    let patience = Int64(held: (0.01 + 0.005 * count) * rate)
    let least = max(2 * Int64(device.periodFrames), patience)
    // Allows enough time to start all players, even on a busy machine.
    let soon = now + latency + Int64(held: (0.25 + 0.02 * count) * rate)
    guard let at = command.client.at else {
      return start(isBusy ? soon : now + latency + least)
    }
    let chosen = try at.start(on: players[0].queue)
    switch at {
    case .after:
      return start(
        players.count == 1 ? max(chosen.frame, now + latency) : max(chosen.frame, soon))
    case .frame, .hostTime, .wallTime:
      if chosen.frame > now + latency {
        return Start(chosen: chosen, latency: latency, sampleRate: rate)
      }
      // A single player starts at once, but several need a common time in the future.
      return start(players.count == 1 ? chosen.frame : soon, isPast: true)
    }
  }

  /// Starts remote control; nil if there is none.
  func remote(_ keys: PlayKeys, _ monitor: PlayMonitor) -> CommandRemote? {
    guard let device = pluginClient?.device ?? players[0].queue.runningDevice else { return nil }
    let chain = pluginClient.map { client in client.controls }
    let controls = PlayControls(keys, players, monitor, chain)
    let media = command.media.isWanted ? PlayMedia(keys, players) : nil
    return CommandRemote(
      command.remote,
      RemoteReport.Origin(
        .play, client: device.client.name, server: device.client.serverName,
        path: players[0].file.path), awake, layout: { controls.layout },
      media: media.map { media in { (media.state, media.position) } }
    ) { controls.all(on: device) }
  }

  /// JACK's transport, for the clients of the players.
  var followedTransport: PlayTransport? {
    let awake = awake
    return players[0].queue.runningDevice.map { PlayTransport($0) { awake.signal() } }
  }

  func announce(_ player: FilePlayer, _ start: Start) {
    let statistics = player.queue.statistics
    let when =
      command.transport
      ? "follows the transport"
      : start.isPast ? "that time is past: starts at once" : start.chosen.words
    Screen.shared.say(
      "\(player.file.path): server \(statistics.serverName), client \(statistics.clientName), "
        + when)
    for (port, connections) in zip(statistics.portNames, statistics.connections) {
      Screen.shared.say("  \(statistics.clientName):\(port) -> \(listed(connections))")
    }
  }

  func progress(ofPlayer index: Int, _ keys: PlayKeys, _ monitor: PlayMonitor) -> Progress {
    let player = players[index]
    let position = keys.position(of: player)
    return Progress(
      name: keys.mark(ofFile: index) + printable(player.name(at: position)),
      position: position,
      duration: player.duration,
      levels: monitor.levels(ofPlayer: index), details: monitor.details(ofPlayer: index))
  }

  func startedEvent(_ start: Start) -> StartedEvent {
    StartedEvent(
      command: "play", server: players[0].queue.statistics.serverName,
      frame: start.isPast ? nil : start.chosen.exactFrame,
      hostTime: start.isPast ? nil : start.chosen.hostTime,
      files: players.map { player in
        let statistics = player.queue.statistics
        return StartedEvent.File(
          file: player.file.path, client: statistics.clientName,
          ports: zip(statistics.portNames, statistics.connections).map {
            StartedEvent.Port(port: $0, connections: $1)
          },
          format: player.file.format.summary, channels: player.file.format.channels,
          sampleRate: player.file.format.sampleRate, duration: player.duration)
      })
  }
}
