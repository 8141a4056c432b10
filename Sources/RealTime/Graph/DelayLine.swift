/// Copies `count` samples between buffers that do not overlap.
@_noLocks func copy(
  _ source: UnsafeMutablePointer<Float>, to destination: UnsafeMutablePointer<Float>, _ count: Int
) {
  unsafe UnsafeMutableRawPointer(destination).copyMemory(
    from: source, byteCount: count &* MemoryLayout<Float>.size)
}

/// Delay line for samples.
@safe
package struct DelayLine: BitwiseCopyable {
  private let samples: UnsafeMutablePointer<Float>
  private let frames: Int
  private var next = 0

  /// Creates a delay of `frames` frames, at least one, in memory that the caller owns: `frames`
  /// samples.
  package init(_ samples: UnsafeMutablePointer<Float>, frames: Int) {
    unsafe self.samples = samples
    self.frames = frames
  }

  /// Takes `count` samples from `source` and writes those of `frames` frames earlier to
  /// `destination`.
  @_noLocks mutating func pass(
    _ source: UnsafeMutablePointer<Float>, to destination: UnsafeMutablePointer<Float>, _ count: Int
  ) {
    var done = 0
    while done < count {
      let part = min(count &- done, frames &- next)
      unsafe copy(samples + next, to: destination + done, part)
      unsafe copy(source + done, to: samples + next, part)
      done &+= part
      next &+= part
      if next == frames { next = 0 }
    }
  }
}
