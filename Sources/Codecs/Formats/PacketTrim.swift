/// Frames of a packet that are decoded but not heard: at its start and at its end.
package struct PacketTrim: Hashable, Sendable {
  package var start = 0
  package var end = 0
  package init(start: Int = 0, end: Int = 0) {
    self.start = start
    self.end = end
  }
}
