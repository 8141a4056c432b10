/// A packet's position in a buffer, and its frames.
package struct PacketExtent: Hashable, Sendable {
  /// Bytes from the start of the buffer.
  package var offset: Int
  package var bytes: Int
  /// Decoded frames, if they vary in the format; else 0.
  package var frames: Int
  /// Decoded frames to leave out, which `frames` does not count: joined streams have priming and
  /// remainder inside the file.
  package var trim = PacketTrim()

  package init(offset: Int, bytes: Int, frames: Int = 0, trim: PacketTrim = PacketTrim()) {
    self.offset = offset
    self.bytes = bytes
    self.frames = frames
    self.trim = trim
  }
}
