/// A position of the transport, in frames and in bars and beats.
package struct TransportPosition: Hashable, Codable, Sendable {
  /// Frames since the start of the piece.
  package var frame: Int64
  /// 1 while the transport rolls, 0 while it is stopped.
  package var speed: Float
  package var beatsPerMinute: Float
  package var beatsPerBar: Float
  /// 4 for a quarter note.
  package var beatUnit: Int32
  /// Bars since the start, and beats since the start of this bar, with fractions.
  package var bar: Int64
  package var barBeat: Float

  package init(
    frame: Int64, speed: Float, beatsPerMinute: Float, beatsPerBar: Float = 4, beatUnit: Int32 = 4,
    bar: Int64 = 0, barBeat: Float = 0
  ) {
    self.frame = frame
    self.speed = speed
    self.beatsPerMinute = beatsPerMinute
    self.beatsPerBar = beatsPerBar
    self.beatUnit = beatUnit
    self.bar = bar
    self.barBeat = barBeat
  }
}
