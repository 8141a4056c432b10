/// The state of a player that the desktop shows.
package struct MediaState: Equatable, Sendable {
  package enum Status: String, Sendable {
    case playing = "Playing"
    case paused = "Paused"
    case stopped = "Stopped"
  }

  package var status = Status.stopped
  /// The number of the file that plays, from 0.
  package var track = 0
  package var title = ""
  package var artist: String?
  package var album: String?
  /// Absolute path of the file; nil if it has none.
  package var path: String?
  /// Length of the file in seconds of its sound; nil if it is not known.
  package var length: Double?
  /// Seconds of playing at which the file begins.
  package var begin = 0.0
  /// The speed.
  package var rate = 1.0
  /// The gain in decibels.
  package var gain = 0.0
  package var isLooping = false
  /// Whether other files follow or precede the one that plays.
  package var isSequence = false

  package init() {}
}
