/// Multiplies samples by a gain that goes from one value to another in a straight line and reaches the second
/// one with the last sample.
@_noLocks func scale(
  _ samples: UnsafeMutablePointer<Float>, _ frames: Int, from: Float, to: Float
) {
  if from == to {
    if to == 1 { return }
    for frame in 0..<frames { unsafe samples[frame] *= to }
    return
  }
  let step = (to - from) / Float(frames)
  for frame in 0..<frames { unsafe samples[frame] *= from + step * Float(frame &+ 1) }
}
