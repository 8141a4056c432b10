import Analysis
import AudioQueue
import Sessions
import System

/// Levels, loudness and losses of the players of `cuejack play`, for the display, the closing lines and
/// the events. Main thread.
final class PlayMonitor {
  private let players: [FilePlayer]
  private var holds: [PeakHold]
  /// Greatest peaks since the last event.
  private var peaks: [[Float]]
  private let meters: PlayMeters?
  /// Host time of the next position event in nanoseconds.
  private var nextPosition: UInt64 = 0
  /// The counts of each player that the latest events reported.
  private var told: [(losses: [UInt64], clips: UInt64)]

  /// Creates the monitor of primed players that do not play yet. `end` must be called.
  init(_ players: [FilePlayer], measuresLoudness: Bool) {
    self.players = players
    holds = players.map { _ in PeakHold() }
    peaks = players.map { _ in [] }
    told = players.map { _ in ([0, 0, 0, 0], 0) }
    meters = measuresLoudness ? PlayMeters(players) : nil
  }

  /// Takes the latest peaks, and emits events. Call it several times per second.
  ///
  /// - Parameter position: Returns the position of a player in seconds.
  func update(position: (FilePlayer) -> Double) {
    let now = HostTime.now
    takePeaks(now)
    guard Screen.shared.isJSON else { return }
    emitLosses()
    guard now >= nextPosition else { return }
    nextPosition = now + 1_000_000_000
    Screen.shared.emit(
      PositionEvent(
        files: players.enumerated().map { index, player in
          PositionEvent.File(
            file: player.file.path, seconds: (position(player) * 1000).rounded() / 1000,
            peaks: peaks[index].levels, clips: holds[index].clipCount,
            loudness: meters?.latest(ofPlayer: index).map(LoudnessReport.init))
        }))
    peaks = players.map { _ in [] }
  }

  private func takePeaks(_ now: UInt64) {
    for (index, player) in players.enumerated() {
      let new = player.queue.takePeaks()
      holds[index].note(new, clips: player.queue.clippedSamples, at: now)
      peaks[index] =
        peaks[index].count == new.count ? zip(peaks[index], new).map { max($0, $1) } : new
    }
  }

  private func emitLosses() {
    guard Screen.shared.isJSON else { return }
    for index in players.indices { emitLosses(index) }
  }

  private func emitLosses(_ index: Int) {
    let (path, statistics) = (players[index].file.path, players[index].queue.statistics)
    let losses = [
      statistics.xruns, statistics.starvations, statistics.starvedFrames, statistics.unheardFrames,
    ]
    if losses != told[index].losses {
      told[index].losses = losses
      Screen.shared.emit(
        XrunEvent(
          file: path, xruns: losses[0], ranDry: losses[1], silentFrames: Int64(losses[2]),
          unheardFrames: Int64(losses[3])))
    }
    let clips = holds[index].clipCount
    if clips != told[index].clips {
      told[index].clips = clips
      Screen.shared.emit(
        ClipEvent(
          file: path, clips: clips,
          peak: decibels(Double(holds[index].greatest)).map(hundredths)))
    }
  }

  /// Takes the last peaks, and ends the measuring of loudness. Later calls do nothing.
  func end() {
    takePeaks(HostTime.now)
    emitLosses()
    meters?.end()
  }

  // MARK: What is told

  /// The latest peak of each channel of a player in decibels.
  func peaks(ofPlayer index: Int, channels: Int) -> [Float] { holds[index].peaks(channels) }

  /// Levels of a player for the display.
  func levels(ofPlayer index: Int) -> Levels { holds[index].levels }

  /// Loudness and clips of a player for the display, from the longest form to the shortest.
  func details(ofPlayer index: Int) -> [String] {
    guard let figures = meters?.latest(ofPlayer: index) else { return [] }
    let clips = holds[index].clipCount
    return figures.displays.map { clips > 0 ? "\($0)  clips: \(clips)" : $0 }
  }

  /// The closing figures of a player.
  func words(ofPlayer index: Int) -> String {
    let hold = holds[index]
    var words = "; peak \(SoundFigures.word(Double(hold.greatest))) dB, clips: \(hold.clipCount)"
    if let figures = meters?.figures(ofPlayer: index) { words += ", \(figures.words)" }
    let missed = meters?.missedFrames(ofPlayer: index) ?? 0
    return missed > 0 ? "\(words) (\(missed) frames not measured)" : words
  }

  /// The closing figures of a player for an event.
  func report(ofPlayer index: Int, _ result: OutputQueue.Statistics, latency: Int64)
    -> FinishedEvent.File
  {
    let played = result.lastedFrames - Int64(result.starvedFrames + result.unheardFrames)
    let missed = meters?.missedFrames(ofPlayer: index) ?? 0
    return FinishedEvent.File(
      file: players[index].file.path, frames: result.beganAt == nil ? nil : played,
      frame: result.beganAt.map { $0 + latency }, xruns: result.xruns, ranDry: result.starvations,
      silentFrames: Int64(result.starvedFrames), unheardFrames: Int64(result.unheardFrames),
      restarts: result.restarts, peak: decibels(Double(holds[index].greatest)).map(hundredths),
      clips: holds[index].clipCount,
      loudness: meters?.figures(ofPlayer: index).map(LoudnessReport.init),
      unmeasuredFrames: missed > 0 ? missed : nil)
  }
}
