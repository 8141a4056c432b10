/// State of JACK's transport at the beginning of a cycle.
package struct TransportState: Sendable, Equatable {
  package let isRolling: Bool
  /// Transport frame: frames since the beginning of the piece.
  package let frame: Int64
  /// Host time in nanoseconds at which that frame begins, on the clock that times the client's cycles.
  package let hostTime: UInt64

  package init(isRolling: Bool, frame: Int64, hostTime: UInt64) {
    self.isRolling = isRolling
    self.frame = frame
    self.hostTime = hostTime
  }
}

/// Tempo and meter that a timebase master gives the transport.
package struct TransportTempo: Sendable, Equatable {
  /// Beats per minute.
  package let bpm: Double
  package let beatsPerBar: Double
  /// Note value of a beat: 4 for a quarter note.
  package let beatUnit: Int

  package init(bpm: Double, beatsPerBar: Double, beatUnit: Int) {
    self.bpm = bpm
    self.beatsPerBar = beatsPerBar
    self.beatUnit = beatUnit
  }
}
