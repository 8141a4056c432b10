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
