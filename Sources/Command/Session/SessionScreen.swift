import Control
import Dispatch
import Server
import Sessions
import System

/// The display and the keys of `cuejack session run`. Without a terminal it only waits for the end.
struct SessionScreen {
  private let session: RunningSession
  private let signals: StopSignals
  private let awake: DispatchSemaphore
  private let seconds: Double?
  private let isOnce: Bool
  private let keys: KeyReader?
  private let desk: SessionKeys

  init(
    _ session: RunningSession, _ signals: StopSignals, _ awake: DispatchSemaphore,
    seconds: Double?, isOnce: Bool
  ) {
    self.session = session
    self.signals = signals
    self.awake = awake
    self.seconds = seconds
    self.isOnce = isOnce
    let desk = SessionKeys(session)
    self.desk = desk
    keys = KeyReader { key in
      desk.press(key)
      awake.signal()
    }
  }

  /// Shows the session until a key, a signal, a manager or the time ends it.
  func run() {
    let begin = DispatchTime.now()
    var watch = ServerWatch("the session")
    var service = ServiceManager()
    service?.ready()
    // The transport starts a session a little later.
    var hasPlayed = session.engine?.usesTransport == false
    while signals.received == nil, !session.isAskedToQuit {
      if let seconds, DispatchTime.now() >= begin + seconds { break }
      if let engine = session.engine {
        hasPlayed = hasPlayed || engine.isPlaying
        if isOnce, hasPlayed, engine.hasPlayedAll { break }
        watch.note(engine.device.loss, server: engine.device.client.serverName)
        if Screen.shared.isTerminal { Screen.shared.draw(lines(engine)) }
      }
      service?.lives()
      let isWatched = Screen.shared.isTerminal || isOnce
      var pause = isWatched ? CommandWait.interval : CommandWait.longInterval
      if let service { pause = min(pause, service.pause) }
      if let seconds {
        let elapsed = Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9
        pause = min(pause, max(0, seconds - elapsed))
      }
      _ = awake.wait(timeout: .now() + pause)
    }
    service?.stopping()
    Screen.shared.draw([])
    keys?.end()
  }

  /// Returns the display: a line for the session and one for each track.
  private func lines(_ engine: SessionEngine) -> [String] {
    let size = Screen.shared.size
    let document = engine.document
    let load = formatted("%.0f", Double(engine.device.client.load))
    var head =
      "\(engine.motionWord) \(clock(session.position))  load \(load) %  xruns \(engine.device.xruns)"
    if engine.isRecording { head += "  recording" }
    if session.hasEdits { head += "  not saved" }
    if !session.recalledScene.isEmpty { head += "  scene \(printable(session.recalledScene))" }
    var lines = [head]
    let peaks = session.trackPeaks
    // Tracks around the selected one, if not all of them fit.
    let room = max(1, size.rows - 2)
    let first = max(0, min(desk.selected - room / 2, document.tracks.count - room))
    for (index, track) in document.tracks.enumerated().dropFirst(first).prefix(room) {
      let levels = Levels(peaks: peaks.indices.contains(index) ? peaks[index] : [])
      let mark = index == desk.selected && keys != nil ? ">" : " "
      // A track that a curve moves is shown with the value of the present position.
      let path = SessionPath([.key("tracks"), .index(index)])
      let isMuted = engine.automated(path.appending(key: "mute")).map { $0 >= 0.5 } ?? track.mute
      let gain = engine.automated(path.appending(key: "gain")) ?? track.volume
      let switches = (isMuted ? "M" : "-") + (track.solo ? "S" : "-")
      let volume = formatted("%+6.1f dB", gain)
      let name = "\(mark) \(fitted(printable(track.name), to: 20)) \(switches) \(volume)"
      let line = "\(name) \(levels.meters())"
      // Colors have no columns, but count as such.
      let fits = columns(of: line) < size.columns && Screen.shared.isColored
      lines.append(fits ? "\(name) \(levels.meters(isColored: true))" : line)
    }
    // The last column stays empty, because some terminals wrap there.
    return lines.map { line in
      line.contains("\u{1B}") || columns(of: line) < size.columns
        ? line : fitted(line, to: size.columns - 1)
    }
  }
}

/// Runs the commands of the keys of `cuejack session run`. Any thread.
final class SessionKeys: Sendable {
  private let session: RunningSession
  private let selection = Selection()

  private final class Selection: Sendable {
    let track = Monitor(0)
  }

  init(_ session: RunningSession) { self.session = session }

  /// Index of the selected track.
  var selected: Int {
    let count = session.engine?.document.tracks.count ?? 0
    return max(0, min(selection.track.read { $0 }, count - 1))
  }

  private func select(_ track: Int) { selection.track.change { $0 = max(0, track) } }

  private static let help = [
    "space  start, stop            p  pause, go on",
    "left, right  5 seconds; with shift, 60      0  the beginning      n  next start of a track",
    "up, down  select a track      m, s  mute it, or only it      +, -  its gain",
    "r  arm or disarm recordings   1 to 9  recall a scene   w  save      q  quit",
  ]

  /// Seconds by which the arrows move.
  private static let step = 5.0
  private static let longStep = 60.0

  func press(_ key: KeyReader.Key) {
    switch key {
    case .up: select(selected - 1)
    case .down: select(selected + 1)
    case .left: move(by: -Self.step)
    case .right: move(by: Self.step)
    case .shiftLeft: move(by: -Self.longStep)
    case .shiftRight: move(by: Self.longStep)
    case .character(let character): press(character)
    }
  }

  private func press(_ key: Character) {
    let track = SessionPath([.key("tracks"), .index(selected)])
    switch key {
    case " ":
      run { session throws(SessionRunError) in
        // Groups that wait for a time do not keep the others from starting.
        if session.engine?.isSounding == true { try session.stop() } else { try session.start() }
      }
    case "p": run { session throws(SessionRunError) in try session.pause() }
    case "n": run { session throws(SessionRunError) in try session.next() }
    case "0": run { session throws(SessionRunError) in try session.locate(to: 0) }
    case "m": toggle(track.appending(key: "mute"))
    case "s": toggle(track.appending(key: "solo"))
    case "+", "=": turn(track.appending(key: "gain"), by: 1)
    case "-": turn(track.appending(key: "gain"), by: -1)
    case "r": toggleRecordings()
    case "1"..."9": recall(Int(String(key)) ?? 0)
    case "w":
      session.save { outcome in
        if case .failure(let error) = outcome { Screen.shared.remark("not saved: \(error)") }
      }
    case "q": session.askToQuit()
    case "?": for line in Self.help { Screen.shared.say(line) }
    default: break
    }
  }

  private func move(by seconds: Double) {
    run { session throws(SessionRunError) in
      try session.locate(to: max(0, session.position + seconds))
    }
  }

  private func toggle(_ path: SessionPath) {
    run { session throws(SessionRunError) in
      guard let value = try? session.engine?.document.value(at: path) else { return }
      try session.apply(.set(path, value == .flag(true) ? .flag(false) : .flag(true)))
    }
  }

  private func turn(_ path: SessionPath, by decibels: Double) {
    run { session throws(SessionRunError) in
      guard let value = try? session.engine?.document.value(at: path).double else { return }
      try session.apply(.set(path, JSONValue(max(-120, min(24, value + decibels)))))
    }
  }

  private func recall(_ number: Int) {
    run { session throws(SessionRunError) in
      let scenes = session.engine?.document.scenes ?? []
      guard scenes.count >= number else {
        throw .refused("there is no scene \(number): the session has \(scenes.count)")
      }
      try session.recallScene(scenes[number - 1].name)
    }
  }

  private func toggleRecordings() {
    run { session throws(SessionRunError) in
      let recordings = session.engine?.document.recordings ?? []
      try session.arm(!recordings.contains { $0.armed })
    }
  }

  private func run(
    _ body: @escaping @Sendable (RunningSession) throws(SessionRunError) -> Void
  ) {
    do throws(SessionRunError) {
      try session.perform(body)
    } catch {
      Screen.shared.remark("\(error)")
    }
  }
}
