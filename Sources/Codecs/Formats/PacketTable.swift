/// The counts of valid, priming and remainder frames of a stream's packets.
package struct PacketTable: Hashable, Sendable {
  /// Frames of the original sound.
  package var validFrames: Int64
  /// Frames before them, which only prime the decoder.
  package var primingFrames: Int
  /// Frames after them, which pad the last packet.
  package var remainderFrames: Int
  /// Frames of all packets.
  package var frames: Int64 { Int64(primingFrames) + validFrames + Int64(remainderFrames) }

  package init(validFrames: Int64, primingFrames: Int, remainderFrames: Int) {
    self.validFrames = validFrames
    self.primingFrames = primingFrames
    self.remainderFrames = remainderFrames
  }
}
