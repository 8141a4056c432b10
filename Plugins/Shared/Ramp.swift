/// A value that moves linearly to its target, one step per frame.
///
/// It counts frames, independent of blocks: the result does not depend on the host's block length.
struct Ramp {
  /// The value at the last frame.
  private(set) var value: Double
  private(set) var target: Double
  private var step = 0.0
  private var framesLeft = 0

  init(_ value: Double) {
    self.value = value
    target = value
  }

  var isMoving: Bool { framesLeft > 0 }

  /// Moves to `target` over `frames` frames, starting with the next frame, or at once if `frames` is 0.
  mutating func aim(at target: Double, in frames: Int) {
    if frames == 0 {
      self = Ramp(target)
    } else if target != self.target {
      self.target = target
      step = (target - value) / Double(frames)
      framesLeft = frames
    }
  }

  /// Advances by one frame and returns the value.
  mutating func next() -> Double {
    if framesLeft > 0 {
      framesLeft -= 1
      value = framesLeft == 0 ? target : value + step
    }
    return value
  }
}
