import Glibc
package import RealTime
import Server
import Synchronization
import System

extension OutputQueue {
  /// The parameters currently in force, with the present value during a ramp.
  package var parameters: ParameterChanges {
    state.read { state in
      let (taken, values) = unsafe memory.voice.pointee.parametersInForce
      return taken == state.part.changesSent ? values : state.part.parameters
    }
  }

  /// Sets a gain beside the volume, which levels include. It takes the length of a cycle to change. Offline there
  /// is none.
  package func setOutputGain(_ gain: Float) {
    unsafe memory.voice.pointee.setOutputGain(gain)
  }

  /// Changes parameters from the first frame of the next cycle on. Values out of range are clamped;
  /// NaN leaves a value unchanged.
  ///
  /// Waits for a cycle if very many changes are pending.
  package func change(_ changes: ParameterChanges) throws(QueueError) {
    let changes = changes.clamped(toVolume: options.maximumVolume)
    defer { try? openSecondPortIfNeeded() }
    while true {
      if state.read({ $0.device != nil }) {
        if try send(changes) { return }
        makeRoom()
      } else {
        // The control lock keeps the device closed meanwhile, so no cycle takes the changes.
        let isTaken = try core.controlled(evenIfLost: true) { () throws(QueueError) in
          if state.read({ $0.device != nil }) { return false }
          _ = try send(changes)
          unsafe memory.voice.pointee.applyChanges()
          return true
        }
        if isTaken { return }
      }
    }
  }

  /// Sends changes to the process thread.
  ///
  /// - Returns: False if there is no room.
  private func send(_ changes: ParameterChanges) throws(QueueError) -> Bool {
    try state.change { state throws(QueueError) in
      try state.checkReturns()
      let (taken, values) = unsafe memory.voice.pointee.parametersInForce
      if taken == state.part.changesSent { state.part.parameters = values }
      guard memory.change(changes) else { return false }
      noteBalance(changes, &state)
      state.part.changesSent += 1
      state.part.parameters.follow(changes)
      return true
    }
  }

  /// Waits until the process thread has taken the pending changes, or applies them in its place.
  private func makeRoom() {
    let sent = state.read { $0.part.changesSent }
    for _ in 0..<1000 {
      if unsafe memory.voice.pointee.parametersInForce.taken >= sent { return }
      usleep(200)
    }
    // Under the control lock: two threads holding the voice would each release it under the other.
    try? core.controlled(evenIfLost: true) { () throws(QueueError) in
      guard let device = state.read({ $0.device }) else { return }
      try core.holding(device) { unsafe memory.voice.pointee.applyChanges() }
    }
  }
}

extension ParameterChanges {
  /// Returns the changes clamped to their valid ranges.
  func clamped(toVolume most: Float) -> ParameterChanges {
    var changes = self
    changes.volume.clamp(0, most)
    changes.rampSeconds.clamp(0, .greatestFiniteMagnitude)
    changes.pan.clamp(-1, 1)
    return changes
  }

  /// Updates the parameters to those in force as soon as `changes` are taken: a ramp has only
  /// begun.
  mutating func follow(_ changes: ParameterChanges) {
    if !changes.rampSeconds.isNaN { rampSeconds = changes.rampSeconds }
    if !changes.pan.isNaN { pan = changes.pan }
    if !changes.volume.isNaN && rampSeconds == 0 { volume = changes.volume }
  }
}

extension Float {
  /// Clamps the value; NaN stays NaN.
  fileprivate mutating func clamp(_ least: Float, _ most: Float) {
    if self < least { self = least }
    if self > most { self = most }
  }
}
