/// A packet from an encoder.
package struct EncodedPacket: Hashable, Sendable {
  package var bytes: [UInt8]
  /// Frames that the packet decodes to.
  package var frames: Int
}
