import CRealTime
import RealTime

/// Owns a delay line for events.
@safe
final class EventDelayMemory: @unchecked Sendable {
  let delay: UnsafeMutablePointer<EventDelay>
  private let pending: EventPlane
  private let due: EventPlane

  /// - Parameter bytes: Size of the longest event sequence.
  init(_ types: cue_event_types, bytes: Int) {
    pending = EventPlane(types, bytes: bytes)
    due = EventPlane(types, bytes: bytes)
    unsafe delay = .allocate(capacity: 1)
    unsafe delay.initialize(
      to: EventDelay(
        pending: pending.sequence, due: due.sequence, bytes: UInt32(bytes), types))
  }

  deinit { unsafe delay.deallocate() }
}
