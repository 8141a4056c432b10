/// An event with its time and a number that no other event of the sequence has.
package struct TrackEvent: Sendable {
  package let id: UInt64
  package var beat: Double
  package var content: EventContent
}
