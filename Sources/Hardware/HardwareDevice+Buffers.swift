import Glibc
import RealTime
package import Server
import Synchronization

extension HardwareDevice {
  /// True if the environment says that a new number of frames of a call is one for the server, too.
  package static var asksServerForPeriod: Bool {
    unsafe getenv("CUEJACK_SET_PERIOD").map { unsafe $0[0] == 49 } ?? false
  }

  /// Ends the effect of `setBufferFrames`: each call has the frames of the server's period again, in
  /// place of those that the app asked for.
  package func followPeriod() throws(ServerError) {
    let period = min(try facts.periodFrames, Self.bufferFrameRange.upperBound)
    state.withLock { state in
      guard state.wantedFrames != nil else { return }
      state.wantedFrames = nil
      guard let memory = state.memory else { return }
      state.pinnedFrames = period
      unsafe memory.cycle.pointee.setCallFrames(period)
    }
    tellBufferFrames()
  }
}
