import Synchronization
import Timeline

/// The offset from a driver's frame counter to device time, shared by all clients of this process.
///
/// PipeWire's counter belongs to the driver that runs a client. Each sound card, each null sink and
/// the dummy driver has its own, and a client moves from one to another. The first client that
/// meets a new counter chooses the offset that continues device time, and the others adopt it. So
/// one device frame names the same moment in every client of the process.
@safe
package struct TimeBase: ~Copyable {
  private let offset = Atomic<UInt32>(0)
  package init() {}

  /// Returns the device frame of `counter`, using the shared offset.
  @_noLocks borrowing func frame(of counter: UInt32, near expected: Int64) -> Int64 {
    DeviceTime.widen(counter &+ offset.load(ordering: .acquiring), near: expected)
  }

  /// Returns the device frame of `counter` after the counter restarted. Device time would be at
  /// `expected`. Replaces the shared offset if it is more than `tolerance` frames from that.
  @_noLocks borrowing func rebase(
    _ counter: UInt32, to expected: Int64, tolerance: Int64
  ) -> Int64 {
    var present = offset.load(ordering: .acquiring)
    while true {
      let shared = DeviceTime.widen(counter &+ present, near: expected)
      if abs(shared &- expected) <= tolerance { return shared }
      let fresh = UInt32(truncatingIfNeeded: expected) &- counter
      let (exchanged, original) = offset.compareExchange(
        expected: present, desired: fresh, ordering: .acquiringAndReleasing)
      if exchanged { return expected }
      present = original
    }
  }
}
