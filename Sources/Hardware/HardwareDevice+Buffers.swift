import Glibc
import RealTime
package import Server
import Synchronization

extension HardwareDevice {
  /// Frames of each call of a function: those that the app asked for, otherwise the server's period.
  /// The period is kept as long as functions exist: apps size their memory by it.
  package var bufferFrames: Int {
    get throws(ServerError) {
      if let frames = state.withLock({ $0.wantedFrames ?? $0.pinnedFrames }) { return frames }
      return min(try facts.periodFrames, IOCycle.mostCallFrames)
    }
  }

  /// Smallest and largest number of frames of a call.
  package static var bufferFrameRange: ClosedRange<Int> { 16...IOCycle.mostCallFrames }

  /// Sets the frames of each call, in this process only, or asks the server to change its period.
  ///
  /// - Returns: False if the server refuses it.
  package func setBufferFrames(_ frames: Int, askingServer: Bool) throws(ServerError) -> Bool {
    if askingServer, try !open().client.setPeriod(frames) { return false }
    state.withLock { state in
      state.wantedFrames = frames
      if let memory = state.memory { unsafe memory.cycle.pointee.setCallFrames(frames) }
    }
    tellBufferFrames()
    return true
  }

  /// Tells of the frames of a call, if they have changed.
  func tellBufferFrames() {
    let period = known.withLock { $0?.periodFrames }
    let hasChanged = state.withLock { state in
      let followed = period.map { min($0, IOCycle.mostCallFrames) }
      guard let frames = state.wantedFrames ?? state.pinnedFrames ?? followed else { return false }
      defer { state.toldFrames = frames }
      return frames != state.toldFrames
    }
    guard hasChanged else { return }
    tell(.bufferFrames)
    tell(.latency)
  }

  /// Frames that the output is behind because calls and cycles differ in length.
  package var addedLatency: Int {
    get throws(ServerError) {
      let (memory, wanted) = state.withLock { ($0.memory, $0.wantedFrames ?? $0.pinnedFrames) }
      if let memory, running.load(ordering: .relaxed) > 0 {
        return unsafe memory.cycle.pointee.delayFrames
      }
      let period = try facts.periodFrames
      return IOCycle.delay(call: wanted ?? min(period, IOCycle.mostCallFrames), period: period)
    }
  }

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
