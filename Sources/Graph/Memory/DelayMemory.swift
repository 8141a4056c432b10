import RealTime

/// Owns a delay line.
@safe
final class DelayMemory: @unchecked Sendable {
  let line: UnsafeMutablePointer<DelayLine>
  private let plane: Plane

  init(frames: Int) {
    plane = Plane(frames: frames)
    unsafe line = .allocate(capacity: 1)
    unsafe line.initialize(to: DelayLine(plane.samples, frames: frames))
  }

  deinit { unsafe line.deallocate() }
}
