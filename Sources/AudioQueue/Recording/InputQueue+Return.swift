import Logging
import RealTime
import Server
import Synchronization
import System
package import Timeline

// Behaviour of a recording queue while its server is gone and after it returns. The run continues
// by itself, and the time in between is a hole in the recording.

extension InputQueue {
  package func deviceLost() {
    control.withLock {
      guard let device = state.read({ $0.disposal == .none ? $0.device : nil }) else { return }
      let times = LastTimes(frame: currentFrame, device)
      let converter = claimConverter()
      state.change { state in
        readEvents(&state)
        if state.isRunning {
          state.lastedFrames = core.ranFrames
          if state.phase == .started {
            let reading = unsafe memory.recorder.pointee.clock.read()
            state.part.lostAt = device.hostTime(ofFrame: reading.frame + reading.ranFrames)
          }
        }
        // The next server counts frames differently: a start at a frame becomes a start at its host
        // time.
        state.start = state.start.withoutFrame(of: device)
        let last = unsafe memory.recorder.pointee.leaveDeviceTime { $0.withoutFrame(of: device) }
        if let last { take(last, &state) }
      }
      // The app receives the sound recorded so far: the server may never return.
      if let converter { convertBeforeHole(with: converter) }
      state.change { state in
        state.isConverting = false
        state.leaveServer(at: times)
        // An app that waits for the end of the run must not wait for another server.
        if state.part.ending == .whenFull { endRunSoon(&state) }
      }
    }
    context.wake()
  }

  package func deviceWillReturn(from oldRate: Double, to newRate: Double) {
    control.withLock {
      guard state.read({ $0.disposal == .none && $0.device != nil }) else { return }
      let new: RecordConverter?
      do throws(QueueError) {
        new = try makeConverter(newRate)
      } catch {
        log.error("the server is back at \(newRate) Hz, from which the queue cannot be converted")
        state.change { $0.giveUpServer() }
        context.wake()
        return
      }
      claimConverter()
      state.change { state in
        readEvents(&state)
        _ = unsafe memory.recorder.pointee.forgetSpaces()
        unsafe memory.recorder.pointee.scalePosition(by: newRate / oldRate)
        // No buffer was available for these frames, and they have the old rate.
        if !state.part.stagingBuffers.isEmpty { ranOut(&state) }
        state.part.stagingBuffers = []
        state.waiting = state.inRing + state.waiting
        state.inRing = []
        state.converter = new
        memory.followsEveryWake.store(true, ordering: .relaxed)
        if let new { pushStagingBuffers(of: new) }
        pump(&state)
        state.isConverting = false
      }
      if let new { startConverting(with: new) }
    }
  }

  package func deviceWillResume(
    at start: StartPoint, or hostTime: StartPoint, skipping skip: Int
  ) {
    state.change { $0.part.resumption = start }
  }

  package func deviceReturned() {
    control.withLock {
      let (device, lostAt) = state.read { state in
        guard state.disposal == .none, case .gone(let interruptsRun) = state.presence else {
          return (Device?.none, UInt64?.none)
        }
        return (state.device, interruptsRun ? state.part.lostAt : nil)
      }
      guard let device else { return }
      if let lostAt {
        let frame = device.earliestStart ?? device.now
        let agreed = state.read { $0.part.resumption }
        let resumedAt = agreed?.hostTime ?? device.hostTime(ofFrame: agreed?.frame ?? frame)
        let gone = Double(resumedAt) - Double(lostAt)
        let hole = Int64(held: (max(0, gone) / 1e9 * device.client.sampleRate).rounded())
        try? core.holding {
          unsafe memory.recorder.pointee.skip(hole)
          unsafe memory.recorder.pointee.resume(at: agreed ?? StartPoint(.frame(frame)))
        }
      }
      state.change { state in
        state.part.lostAt = nil
        state.part.resumption = nil
        state.returnToServer()
        pump(&state)
      }
    }
    context.wake()
  }
}
