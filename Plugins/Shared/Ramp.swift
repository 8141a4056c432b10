/// A value that goes to its target in a straight line, one step for each frame.
///
/// It counts frames and knows nothing of blocks: the sound is the same however a host divides it.
struct Ramp {
  /// The value of the last frame.
  private(set) var value: Double
  private(set) var target: Double
  private var step = 0.0
  private var framesLeft = 0

  init(_ value: Double) {
    self.value = value
    target = value
  }

  var isMoving: Bool { framesLeft > 0 }

  /// Goes to `target` in as many frames, from the next frame on; at once if there are none.
  mutating func aim(at target: Double, in frames: Int) {
    if frames == 0 {
      self = Ramp(target)
    } else if target != self.target {
      self.target = target
      step = (target - value) / Double(frames)
      framesLeft = frames
    }
  }

  /// The value of the next frame.
  mutating func next() -> Double {
    if framesLeft > 0 {
      framesLeft -= 1
      value = framesLeft == 0 ? target : value + step
    }
    return value
  }
}
