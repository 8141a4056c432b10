import Logging
import RealTime
import Server
import Synchronization
import System
package import Timeline

// Behaviour of a playback queue while its server is gone and after it returns.

extension OutputQueue {
  package func deviceLost() {
    control.withLock {
      // A queue that gave its device back meanwhile needs no handling.
      guard let device = state.read({ $0.device }) else { return }
      let times = LastTimes(frame: currentFrame, device)
      state.change { state in
        readEvents(&state)
        // The next server counts frames differently: a start at a frame becomes a start at its host
        // time.
        unsafe memory.voice.pointee.leaveDeviceTime { $0.withoutFrame(of: device) }
        state.start = state.start.withoutFrame(of: device)
        state.part.starts = state.part.starts.map { $0.withoutFrame(of: device) }
        if state.isRunning { state.lastedFrames = core.ranFrames }
        state.leaveServer(at: times)
        if state.disposal == .draining {
          startThread(named: "cuejack-dispose") { self.finishDisposal() }
        }
      }
    }
    context.wake()
  }

  package func deviceWillReturn(from oldRate: Double, to newRate: Double) {
    control.withLock {
      guard state.read({ $0.device }) != nil else { return }
      state.change { $0.part.changesConverter = true }
      guard waitForConverter() else {
        // The converter must not be touched. Its present result is dropped when it returns.
        state.change { state in
          state.part.generation += 1
          _ = unsafe memory.voice.pointee.takeEntriesBack()
          state.giveUpServer()
        }
        context.wake()
        log.error(
          "the server is back at \(newRate) Hz, for which the queue could not be made ready")
        return
      }
      let plan = self.plan(newRate)
      let converter = state.change { state -> Converter? in
        state.part.changesConverter = false
        if let period = state.device?.periodFrames { state.part.setPeriod(period) }
        readEvents(&state)
        let played = unsafe memory.voice.pointee.takeEntriesBack()
        forgetRing(&state)
        unsafe memory.voice.pointee.scalePosition(by: newRate / oldRate)
        unsafe memory.voice.pointee.setSampleRate(newRate)
        let converter = Converter(plan, played: played, takingOver: &state)
        if let converter { state.converter = converter }
        memory.followsEveryWake.store(true, ordering: .relaxed)
        return converter
      }
      guard let converter else {
        log.error("the server is back at \(newRate) Hz, to which the queue cannot be converted")
        state.change { $0.giveUpServer() }
        context.wake()
        return
      }
      startConverting(with: converter)
    }
  }

  package func deviceWillResume(
    at start: StartPoint, or hostTime: StartPoint, skipping skip: Int
  ) {
    control.withLock {
      state.change { state in
        guard state.device != nil, case .gone = state.presence else { return }
        unsafe memory.voice.pointee.resume(at: start, or: hostTime, skipping: skip)
        state.part.starts = state.part.starts.map { $0.notBefore(hostTime) }
      }
    }
  }

  package func deviceReturned() {
    control.withLock {
      state.change { state in
        guard state.device != nil, case .gone = state.presence else { return }
        state.returnToServer()
        readEvents(&state)
        pump(&state)
      }
    }
    context.wake()
  }
}
