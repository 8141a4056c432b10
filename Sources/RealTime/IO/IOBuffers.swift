/// State and samples of an `IOCycle` that only the process thread uses.
@safe
package struct IOBuffers: BitwiseCopyable {
  /// Interleaved frames that came in and that no function has read, and frames that functions wrote
  /// and that have not been played.
  let input: UnsafeMutablePointer<Float>
  let output: UnsafeMutablePointer<Float>
  /// Output of the second and later functions.
  let scratch: UnsafeMutablePointer<Float>
  var inputFrames = 0
  var outputFrames = 0
  /// Lengths of the calls and of the blocks that the frames above are arranged for; 0 if no function
  /// has run.
  var callFrames = 0
  var blockFrames = 0
  /// Gain of the latest frame.
  var gain: Float = 1

  /// Creates buffers in memory that the caller owns: `IOCycle.mostStoredFrames` frames each, and
  /// `IOCycle.mostCallFrames` for `scratch`.
  package init(
    input: UnsafeMutablePointer<Float>, output: UnsafeMutablePointer<Float>,
    scratch: UnsafeMutablePointer<Float>
  ) {
    unsafe self.input = input
    unsafe self.output = output
    unsafe self.scratch = scratch
  }
}
