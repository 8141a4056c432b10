import Sessions

/// The position of the files of `cuejack play`, which any thread can read: that of the pause, or that of the player that is
/// farthest. A server that was away holds up all players.
struct PlayClock: Sendable {
  let players: [FilePlayer]
  let pausedAt: Double?
  let origin: Double
  let begin: Int64

  /// Seconds from the common start.
  var position: Double {
    if let pausedAt { return pausedAt }
    return players.map { $0.position(startingAt: begin) + $0.delay }.reduce(origin, max)
  }
}
