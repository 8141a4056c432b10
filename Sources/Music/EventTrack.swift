/// A track of a sequence by its number, which no other track of the sequence gets.
package struct EventTrack: Sendable {
  package let sequence: EventSequence
  /// 0 for the tempo track.
  package let id: Int

  package init(_ sequence: EventSequence, id: Int) {
    self.sequence = sequence
    self.id = id
  }

  package var isTempoTrack: Bool { id == 0 }
}
