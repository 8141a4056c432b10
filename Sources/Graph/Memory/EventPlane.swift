import CRealTime
import System

/// A buffer for an event sequence.
@safe
final class EventPlane: @unchecked Sendable {
  /// Size for nodes that do not report one.
  static let usualBytes = 32768
  let bytes: Int
  let sequence: UnsafeMutableRawPointer
  private let pages: [ArenaPage]

  init(_ types: cue_event_types, bytes: Int = EventPlane.usualBytes) {
    self.bytes = bytes
    var pages: [ArenaPage] = []
    unsafe sequence = UnsafeMutableRawPointer(
      Arena.large.allocate((bytes + 7) / 8, of: UInt64.self, keptBy: &pages))
    self.pages = pages
    unsafe cue_rt_clear_events(sequence, types.sequence)
  }
}
