import Glibc
package import RealTime
import Server
import Synchronization

extension OutputQueue {
  /// The parameters in force at this moment, in the middle of a ramp too.
  package var parameters: ParameterChanges {
    state.read { state in
      let (taken, values) = unsafe memory.voice.pointee.parametersInForce
      return taken == state.changesSent ? values : state.parameters
    }
  }

  /// Changes parameters from the next cycle's first frame on. Values out of range are clamped, and what
  /// is NaN stays as it is.
  ///
  /// Waits for a cycle if very many changes are on their way.
  package func change(_ changes: ParameterChanges) throws(QueueError) {
    let changes = changes.clamped
    defer { try? openSecondPortIfNeeded() }
    while true {
      if state.read({ $0.device != nil }) {
        if try send(changes) { return }
        makeRoom()
      } else {
        // Nobody opens the device meanwhile, so no cycle takes them.
        let isTaken = try controlled { () throws(QueueError) in
          if state.read({ $0.device != nil }) { return false }
          _ = try send(changes)
          unsafe memory.voice.pointee.applyChanges()
          return true
        }
        if isTaken { return }
      }
    }
  }

  /// - Returns: False if there is no room.
  private func send(_ changes: ParameterChanges) throws(QueueError) -> Bool {
    try state.change { state throws(QueueError) in
      try state.checkUsable()
      let (taken, values) = unsafe memory.voice.pointee.parametersInForce
      if taken == state.changesSent { state.parameters = values }
      guard unsafe memory.voice.pointee.change(changes) else { return false }
      noteBalance(changes, &state)
      state.changesSent += 1
      state.parameters.follow(changes)
      return true
    }
  }

  /// Waits until the cycles have taken what they were sent, or takes it in their place.
  private func makeRoom() {
    let sent = state.read { $0.changesSent }
    for _ in 0..<1000 {
      if unsafe memory.voice.pointee.parametersInForce.taken >= sent { return }
      usleep(200)
    }
    // Two that hold the voice at one time would each let cycles in on the other.
    try? controlled { () throws(QueueError) in
      guard let device = state.read({ $0.device }) else { return }
      try holding(device) { unsafe memory.voice.pointee.applyChanges() }
    }
  }
}

extension ParameterChanges {
  /// The changes in the ranges that they have.
  var clamped: ParameterChanges {
    var changes = self
    changes.volume.clamp(0, 1)
    changes.rampSeconds.clamp(0, .greatestFiniteMagnitude)
    changes.pan.clamp(-1, 1)
    return changes
  }

  /// What is in force as soon as `changes` are known: a ramp has only begun.
  mutating func follow(_ changes: ParameterChanges) {
    if !changes.rampSeconds.isNaN { rampSeconds = changes.rampSeconds }
    if !changes.pan.isNaN { pan = changes.pan }
    if !changes.volume.isNaN && rampSeconds == 0 { volume = changes.volume }
  }
}

extension Float {
  /// NaN stays NaN.
  fileprivate mutating func clamp(_ least: Float, _ most: Float) {
    if self < least { self = least }
    if self > most { self = most }
  }
}
