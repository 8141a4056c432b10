/// Transport state of one cycle.
package struct TransportReading: Sendable, Equatable {
  /// Device frame of the cycle's first frame.
  package var frame: Int64
  /// Transport frame at that frame.
  package var position: Int64
  package var isRolling: Bool
  /// True while the transport waits for clients to get ready.
  package var isStarting: Bool
  /// Device frame of the first cycle that had this state: rolling, starting or neither.
  package var since: Int64
  /// Tempo and position in beats; nil if nobody gives the transport a tempo.
  package var beats: Beats?

  /// Tempo and position in beats.
  package struct Beats: Sendable, Equatable {
    package var perMinute: Double
    /// Beats since the beginning.
    package var position: Double
    /// Possible error of `position`: JACK counts in whole ticks.
    package var slack: Double
  }
}
