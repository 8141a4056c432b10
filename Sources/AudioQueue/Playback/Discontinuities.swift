/// Counts of the events that interrupt a queue's time, by cause. A caller that keeps the previous
/// value can tell a new event from an old one.
package struct Discontinuities: Equatable, Sendable {
  /// The number of times that cycles failed to run during a run.
  package var interruptions: UInt64 = 0
  /// The number of times that the queue ran dry during a run.
  package var starvations: UInt64 = 0
  /// The number of times that the server went away and came back.
  package var restarts: UInt64 = 0
  /// The number of changes of the device's rate.
  package var rateChanges: UInt64 = 0
}
