import AudioQueue
import Glibc
import PluginHost
import RealTime
import Server
import Sessions
import System
import Timeline

/// The actions of the keys of `cuejack play`: pause, move, gain, mute, solo and loop. Main thread.
final class PlayKeys {
  private let players: [FilePlayer]
  private let latency: Int64
  /// The transport that the players follow; nil if they follow none.
  private let transport: PlayTransport?
  private let levels: PlayLevels
  /// True if the latest run that the transport began has something to play.
  private var hasBegun = false
  /// Start of the present run, and the position on which it began, in seconds from the common start.
  private(set) var start: LiveSession.Start
  private var origin = 0.0
  /// Position of the pause; nil while playing.
  private var pausedAt: Double?
  /// Gain of all files in decibels, and whether they are silent.
  private(set) var gain = 0.0
  private(set) var isMuted = false
  /// Gain of each file in decibels, beside that of its options.
  private var gains: [Double]
  private var selected = 0
  private(set) var muted: Set<Int> = []
  private(set) var solo: Set<Int> = []
  private(set) var isLooping: Bool
  /// True if q was pressed.
  private(set) var isAskedToQuit = false
  /// Frames that each player played in runs that a key ended.
  private var played: [Int64]
  /// The players whose last run a key ended.
  private var halted: Set<Int> = []
  /// For each player, where the run before the present one began.
  private var earlierBegins: [Int64?]
  /// True if a key began another run, so that the players' begins say nothing about the first one.
  private(set) var hasMoved = false

  private static let keyGains = -60.0...24.0
  static let help = [
    "space  pause, go on               left, right  5 seconds; with shift, 60",
    "up, down  gain by 1 dB            n, p  next and previous file",
    "m, s  mute the file, or only it   l  loop       q  quit",
  ]

  init(
    _ players: [FilePlayer], _ levels: PlayLevels, _ start: LiveSession.Start,
    _ transport: PlayTransport? = nil
  ) {
    self.players = players
    self.levels = levels
    self.start = start
    self.transport = transport
    // The players wait for the transport.
    pausedAt = transport == nil ? nil : 0
    latency = start.latency
    played = players.map { _ in 0 }
    earlierBegins = players.map { _ in nil }
    gains = players.map { _ in 0 }
    isLooping = players.allSatisfy { $0.clip.frames == nil }
  }

  /// True while playing is paused by a key.
  var isPaused: Bool { pausedAt != nil }

  /// True if nothing is left to play.
  var isOver: Bool {
    isAskedToQuit || (transport == nil || hasBegun) && !isPaused && players.allSatisfy(\.isOver)
  }

  var clock: PlayClock {
    PlayClock(players: players, pausedAt: pausedAt, origin: origin, begin: start.queueFrame)
  }

  /// Seconds from the common start.
  private var position: Double { clock.position }

  /// Carries out a key. Blocks while sound is prepared.
  func press(_ key: KeyReader.Key) {
    switch key {
    case .left: move(to: position - 5)
    case .right: move(to: position + 5)
    case .shiftLeft: move(to: position - 60)
    case .shiftRight: move(to: position + 60)
    case .up: setGain(min(gain + 1, Self.keyGains.upperBound))
    case .down: setGain(max(gain - 1, Self.keyGains.lowerBound))
    case .character(let character): press(character)
    }
  }

  private func press(_ character: Character) {
    switch character {
    case " ":
      telling { try toggle() }
    case "n": next(1)
    case "p": next(-1)
    case "m": toggle(\.muted)
    case "s": toggle(\.solo)
    case "l": setLooping(!isLooping)
    case "q": quit()
    case "?": for line in Self.help { Screen.shared.say(line) }
    default: break
    }
  }

  /// Runs `body`, and prints its error.
  private func telling(_ body: () throws -> Void) {
    do { try body() } catch { Screen.shared.complain("\(error)") }
  }

  func quit() { isAskedToQuit = true }

  func setLooping(_ loops: Bool) {
    isLooping = loops
    for player in players { player.setLooping(loops) }
  }

  // MARK: Gains

  /// Sets the gain of all files in decibels.
  func setGain(_ decibels: Double) {
    gain = decibels
    applyGains()
  }

  func setMuted(_ isMuted: Bool) {
    self.isMuted = isMuted
    applyGains()
  }

  /// The gain of a file in decibels, that of its options included, without ReplayGain.
  func gain(ofFile index: Int) -> Double {
    let volume = players[index].clip.volume / levels.initialFactor(ofPlayer: index)
    return gains[index] + (decibels(Double(volume)) ?? CommandControl.gains.lowerBound)
  }

  func setGain(_ decibels: Double, ofFile index: Int) throws {
    guard players[index].clip.volume > 0 else {
      throw Refusal("the option --gain has silenced the file")
    }
    gains[index] += decibels - gain(ofFile: index)
    applyGains()
  }

  func setMuted(_ isMuted: Bool, file index: Int) { set(\.muted, isMuted, index) }
  func setSolo(_ isSolo: Bool, file index: Int) { set(\.solo, isSolo, index) }

  private func set(
    _ set: ReferenceWritableKeyPath<PlayKeys, Set<Int>>, _ isMember: Bool, _ index: Int
  ) {
    if isMember {
      self[keyPath: set].insert(index)
    } else {
      self[keyPath: set].remove(index)
    }
    applyGains()
  }

  private func toggle(_ set: ReferenceWritableKeyPath<PlayKeys, Set<Int>>) {
    self.set(set, !self[keyPath: set].contains(selected), selected)
  }

  private func applyGains() {
    for (index, player) in players.enumerated() {
      let gain = factor(decibels: gain + gains[index]) * levels.factor(ofPlayer: index)
      player.queue.setOutputGain(isHeard(index) ? gain : 0)
    }
  }

  /// The tags that give the files their gain.
  var replayGain: String { levels.choice.rawValue }

  /// Takes the gain of other tags. Files that follow each other go on from their position.
  func setReplayGain(_ text: String) throws {
    guard let choice = ReplayGainOptions.Choice(rawValue: text) else {
      throw Refusal("“\(text)” is not off, track or album")
    }
    let position = position
    if try levels.choose(choice), !isPaused {
      if transport == nil {
        try run(at: position, keeping: keptStart)
      } else {
        // The transport starts them again.
        halt()
        pausedAt = position
      }
    }
    applyGains()
  }

  private func isHeard(_ index: Int) -> Bool {
    !isMuted && !muted.contains(index) && (solo.isEmpty || solo.contains(index))
  }

  /// Moves to the next or previous file of a sequence. Of files that play together, it selects another
  /// one for m and s.
  private func next(_ direction: Int) {
    if players.allSatisfy({ $0.row == nil }) {
      selected = (selected + direction + players.count) % players.count
    } else {
      telling { try step(direction) }
    }
  }

  /// Moves to the next or previous file of a sequence.
  func step(_ direction: Int) throws {
    let index = players[selected].row == nil ? players.firstIndex { $0.row != nil } : selected
    guard let index, let row = players[index].row else {
      throw Refusal("the files play together, and none follows another")
    }
    let player = players[index]
    let rate = player.file.format.sampleRate * player.clip.rate
    let delay = player.delay
    let length = Double(row.frames) / rate
    let passed = max(0, position - delay)
    // The present repetition of a loop.
    let round =
      player.clip.frames == nil && length > 0 ? (passed / length).rounded(.down) * length : 0
    let starts = row.starts.map { round + Double($0) / rate }
    if direction > 0 {
      guard let next = starts.first(where: { $0 > passed + 0.001 }) else {
        throw Refusal("this is the last file")
      }
      try locate(to: delay + next)
    } else {
      // Shortly after a file's beginning, the file before is meant.
      let now = starts.lastIndex { $0 <= passed } ?? 0
      let isEarly = passed - starts[now] < 2
      try locate(to: delay + starts[isEarly ? max(0, now - 1) : now])
    }
  }

  // MARK: Motion

  /// The state in one word.
  var motion: String {
    if isPaused { return position > 0 ? "paused" : "stopped" }
    return isWaiting ? "waiting" : "playing"
  }

  /// True if the files wait for the start of the present run.
  private var isWaiting: Bool { !isPaused && !players.indices.contains(where: hasBegunRun) }

  private func hasBegunRun(ofPlayer index: Int) -> Bool {
    players[index].queue.statistics.beganAt != earlierBegins[index]
  }

  /// The start that the files wait for, as `--at` takes it; empty if they wait for none.
  var awaitedStart: String { isWaiting ? start.chosen.option : "" }

  /// The start that the files wait for, if there is time for another run until then; nil if not.
  private var keptStart: ChosenStart? {
    guard isWaiting, let device = players[0].queue.runningDevice else { return nil }
    start.chosen.follow(device)
    return start.chosen.frame(after: device.now + latency + lead, on: device) == nil
      ? nil : start.chosen
  }

  /// Frames that a start of all players takes.
  private var lead: Int64 { Int64(held: (0.06 + 0.02 * Double(players.count)) * start.sampleRate) }

  /// Starts the files at another host time if the wall clock that they wait for was set.
  func followClock() {
    guard isWaiting, let device = players[0].queue.runningDevice, !device.isLost else { return }
    start.chosen.follow(device)
    guard let chosen = start.chosen.reset(on: device) else { return }
    start.chosen = chosen
    Screen.shared.remark("the clock was set: \(chosen.words)")
    telling { try run(at: origin, keeping: keptStart) }
  }

  /// Pauses, or goes on.
  func toggle() throws {
    if let transport {
      transport.roll(!transport.isRolling)
    } else if isPaused {
      try play()
    } else {
      try pause()
    }
  }

  /// Goes on from the position of the pause, or no longer waits for the start.
  ///
  /// - Parameter frame: The device frame at which the position is heard; nil for as soon as possible.
  func play(at frame: Int64? = nil) throws {
    if let transport {
      if frame != nil { throw Refusal("JACK's transport starts the files") }
      return transport.roll(true)
    }
    if !isPaused, keptStart == nil {
      if frame != nil { throw Refusal("the files play already: stop or pause them first") }
      return
    }
    if let frame, let device = players[0].queue.runningDevice, frame - latency <= device.now {
      throw Refusal("the frame \(frame) has passed")
    }
    try run(at: position, frame: frame)
  }

  /// Pauses, and goes to the beginning.
  func stop() throws {
    if let transport {
      transport.roll(false)
      return transport.locate(to: 0)
    }
    try pause()
    pausedAt = 0
  }

  /// Refuses what would end the present run while no other one can begin.
  private func checkServer() throws {
    guard let device = players[0].queue.runningDevice, !device.isLost else {
      throw Refusal("the JACK server is gone")
    }
  }

  private func pause() throws {
    let position = position
    try checkServer()
    if isPaused { return }
    pausedAt = position
    halt()
  }

  /// Moves to a position, and goes on there unless playing is paused. Files that wait for their start begin there.
  func locate(to seconds: Double) throws {
    let seconds = max(0, seconds)
    if let transport {
      return transport.locate(to: Int64(held: (seconds * start.sampleRate).rounded()))
    }
    if pausedAt != nil { pausedAt = seconds } else { try run(at: seconds, keeping: keptStart) }
  }

  /// Moves by a time.
  func move(by seconds: Double) throws { try locate(to: position + seconds) }

  private func move(to seconds: Double) { telling { try locate(to: seconds) } }

  /// The speed and the pitch of all files; nil if they differ, if a file starts later than others, or if the
  /// transport says where the files are.
  var speed: (rate: Double, cents: Double)? {
    let clips = players.map(\.clip)
    let isCommon = clips.allSatisfy {
      $0.delay == 0 && $0.rate == clips[0].rate && $0.cents == clips[0].cents
    }
    return isCommon && transport == nil ? (clips[0].rate, clips[0].cents) : nil
  }

  /// Changes speed and pitch: the files go on from the sound that they have reached.
  func setSpeed(rate: Double? = nil, cents: Double? = nil) throws {
    guard let speed else { return }
    try checkServer()
    let (rate, cents) = (rate ?? speed.rate, cents ?? speed.cents)
    let position = position * speed.rate / rate
    let kept = keptStart
    halt()
    for player in players { try player.setSpeed(rate: rate, cents: cents) }
    if pausedAt == nil { try run(at: position, keeping: kept) } else { pausedAt = position }
  }

  /// Ends the present run of all players.
  private func halt() {
    for (index, player) in players.enumerated() where !halted.contains(index) {
      if !player.isOver { try? player.halt() }
      if hasBegunRun(ofPlayer: index) {
        played[index] += player.queue.statistics.lastedFrames
        hasMoved = true
      }
      halted.insert(index)
    }
  }

  /// Returns the frames that a player has played in all runs.
  ///
  /// - Parameter last: Frames of its last run.
  func frames(ofPlayer index: Int, lastRun last: Int64) -> Int64 {
    played[index] + (halted.contains(index) || !hasBegunRun(ofPlayer: index) ? 0 : last)
  }

  /// Notes on which frame the players have begun, if they were started by a host time, and tells it once. If
  /// they were late, the frame of the host time stays the start.
  func settleStart() {
    guard !hasMoved, start.chosen.exactFrame == nil, let device = players[0].queue.runningDevice,
      let begin = players.lazy.compactMap(\.queue.statistics.beganAt).first
    else { return }
    let expected = device.frame(atHostTime: start.chosen.hostTime)
    // The cycle rounds the host time to a frame, by a clock that is smoothed.
    let isLate = Double(begin + latency - expected) > start.sampleRate / 1000
    start.chosen.settle(on: isLate ? expected : begin + latency)
    if !isLate {
      for player in players { Screen.shared.say("\(player.file.path): \(start.chosen.words)") }
    }
  }

  /// Is where the transport is.
  func followTransport() {
    guard let transport else { return }
    let rate = start.sampleRate
    let stands = pausedAt.map { Int64(held: ($0 * rate).rounded()) }
    var offset = stands == nil ? Int64(held: (origin * rate).rounded()) - start.frame : nil
    // Enough time to start all players. A machine that was too busy tries again, later.
    var lead = Int64(held: (0.06 + 0.02 * Double(players.count)) * rate)
    for _ in 0..<4 {
      switch transport.order(playingAt: offset, standingAt: stands ?? 0, lead: latency + lead) {
      case .play(let position, let frame, let answers):
        telling { try run(at: Double(position) / rate, frame: frame) }
        if transport.isTooLate(for: frame - latency) {
          offset = nil
          lead *= 2
          continue
        }
        if answers { transport.answer() }
      case .stand(let position):
        if stands == nil { halt() }
        pausedAt = Double(position) / rate
      case nil: break
      }
      return
    }
    // The transport must not wait for ever.
    transport.answer()
  }

  /// Plays all files from a position, starting on one frame.
  ///
  /// - Parameters:
  ///   - wanted: The device frame at which the position is heard; nil for as soon as possible.
  ///   - kept: The start that the files go on to wait for; nil for another one.
  private func run(at seconds: Double, frame wanted: Int64? = nil, keeping kept: ChosenStart? = nil)
    throws
  {
    try checkServer()
    halt()
    hasBegun = false
    if kept == nil { hasMoved = true }
    do throws(QueueError) {
      var isLate = false
      for player in players {
        let rate = player.file.format.sampleRate
        let local = seconds - player.delay
        let isReady =
          local < 0
          ? try player.rewind(to: 0, delay: Int64(held: (-local * rate).rounded()))
          : try player.rewind(to: Int64(held: (local * rate * player.clip.rate).rounded()))
        if !isReady { isLate = true }
      }
      applyGains()
      guard let device = players[0].queue.runningDevice else { throw .invalidated }
      let frame = wanted ?? device.now + latency + lead
      start = LiveSession.Start(
        chosen: kept ?? ChosenStart(frame: frame, on: device), latency: latency,
        sampleRate: start.sampleRate)
      origin = seconds
      pausedAt = nil
      for (index, player) in players.enumerated() where !player.isOver {
        earlierBegins[index] = player.queue.statistics.beganAt
        try player.queue.start(at: start.queueTime)
        halted.remove(index)
        hasBegun = true
      }
      if isLate { Screen.shared.remark("a file cannot be read at this position") }
    } catch {
      throw Refusal("cannot go on here: \(error)")
    }
  }

  // MARK: The display

  /// Returns a line about what the keys have changed; nil if they have changed nothing.
  var state: String? {
    var words: [String] = []
    if isPaused { words.append("paused") }
    if gain != 0 { words.append("gain \(gain > 0 ? "+" : "")\(plain(gain)) dB") }
    if isMuted { words.append("muted") }
    if isLooping { words.append("loop") }
    if !muted.isEmpty || !solo.isEmpty || selected > 0 {
      words.append("file \(selected + 1): \(printable(fileName(players[selected].file.path)))")
    }
    if muted.contains(selected), !isMuted { words.append("muted") }
    if solo.contains(selected) { words.append("solo") }
    return words.isEmpty ? nil : words.joined(separator: "  ")
  }

  /// Position of a player for the display, in seconds from its first frame.
  func position(of player: FilePlayer) -> Double {
    if let pausedAt { return pausedAt - player.delay }
    return player.position(startingAt: start.queueFrame)
  }

  /// Mark of a file that is not heard.
  func mark(ofFile index: Int) -> String { isHeard(index) ? "" : "(mute) " }
}
