import AudioQueue
import CAudioToolbox
import Synchronization

/// The object behind an `AudioQueueTimelineRef`. Reports each discontinuity of a queue's time once.
/// May be used on any thread.
final class QueueTimeline: Sendable {
  private let told: Mutex<Discontinuities>

  init(of queue: any Queue) { told = Mutex(queue.discontinuities) }

  /// Returns true if the queue's time had a discontinuity since the last call or since the timeline
  /// was created.
  func takeDiscontinuity(of queue: any Queue) -> Bool {
    told.withLock { told in
      // Read under the lock: with two threads an older reading would report a discontinuity again.
      let present = queue.discontinuities
      defer { told = present }
      return told != present
    }
  }
}
