package import CRealTime

/// The kernel of converters and of the generic output: the input is the output. `context` is not used.
///
/// A single channel goes to the first two, and other channels to those of the same number.
@_noLocks package func runPass(
  _ context: UnsafeMutableRawPointer, _ call: UnsafePointer<cue_unit_call>
) -> Int32 {
  let setup = unsafe call.pointee.setup.assumingMemoryBound(to: UnitSetup.self)
  let frames = unsafe Int(call.pointee.frames)
  var isSilent = false
  let status = unsafe setup.pointee.pull(
    0, frames: frames, at: call.pointee.time, isSilent: &isSilent)
  if status != 0 { return status }
  if isSilent { unsafe call.pointee.flags.pointee |= UInt32(cue_render_is_silent) }
  let input = unsafe setup.pointee.inputs
  let output = unsafe setup.pointee.outputs
  for channel in unsafe 0..<output.pointee.channels {
    let source = unsafe input.pointee.channels == 1 && channel == 1 ? 0 : channel
    let plane = unsafe output.pointee.planes[channel]
    if unsafe source < input.pointee.channels {
      unsafe UnsafeMutableRawPointer(plane).copyMemory(
        from: input.pointee.planes[source], byteCount: 4 &* frames)
    } else {
      unsafe plane.initialize(repeating: 0, count: frames)
    }
  }
  return 0
}
