/// An audio edge: from one plane to an input, with a delay, a gain and perhaps a fader.
@safe
package struct GraphEdge: BitwiseCopyable {
  let source: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  let delay: UnsafeMutablePointer<DelayLine>?
  /// The fader that the sound passes; nil for none.
  let fader: UnsafePointer<GraphFader>?
  /// Frames that sound takes from the sources to the end of the edge.
  let arrival: Int
  /// Gain before and after the order's fade.
  var from: Float
  var to: Float
  /// Frames from the beginning of the order to this edge's fade.
  let start: Int

  /// - Parameter source: Pointer to the address of the samples, which may change with each block.
  package init(
    source: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    delay: UnsafeMutablePointer<DelayLine>?, fader: UnsafePointer<GraphFader>?, arrival: Int,
    from: Float, to: Float, start: Int
  ) {
    unsafe self.source = source
    unsafe self.delay = delay
    unsafe self.fader = fader
    self.arrival = arrival
    self.from = from
    self.to = to
    self.start = start
  }

  /// True if the input reads the source directly: no delay, no fader, and a gain of 1.
  var isPlain: Bool { unsafe delay == nil && fader == nil && from == 1 && to == 1 }
}
