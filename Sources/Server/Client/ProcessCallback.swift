import CRealTime
import RealTime

/// JACK's process callback. `argument` is an `Engine`. Process thread.
///
/// In freewheel the app's callbacks cannot keep pace with the cycles, which have no deadline there.
/// The function then waits, for a second at most, until the app has enqueued
/// enough buffers for every queue that plays or records.
@_noLocks func processAfterRefills(_ frames: UInt32, _ argument: UnsafeMutableRawPointer?) -> CInt {
  guard let argument = unsafe argument else { return 0 }
  let engine = unsafe argument.assumingMemoryBound(to: Engine.self)
  var naps = 0
  while unsafe engine.pointee.lacksBuffers(for: frames, givingUp: naps == 5000) {
    cue_freewheel_nap()
    naps += 1
  }
  return unsafe process(frames, argument)
}
