/// An audio edge: from one plane to an input, with a delay and a gain.
@safe
package struct GraphEdge: BitwiseCopyable {
  let source: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  let delay: UnsafeMutablePointer<DelayLine>?
  /// Gain before and after the order's fade.
  let from: Float
  let to: Float
  /// Frames from the beginning of the order to this edge's fade.
  let start: Int

  /// - Parameter source: Pointer to the address of the samples, which may change with each block.
  package init(
    source: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    delay: UnsafeMutablePointer<DelayLine>?, from: Float, to: Float, start: Int
  ) {
    unsafe self.source = source
    unsafe self.delay = delay
    self.from = from
    self.to = to
    self.start = start
  }

  /// True if the input reads the source directly: no delay, and a gain of 1.
  var isPlain: Bool { unsafe delay == nil && from == 1 && to == 1 }
}
