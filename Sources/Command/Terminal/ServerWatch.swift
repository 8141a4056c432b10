import Dispatch
import Server
import Synchronization

/// A monitor that reports when a server stops running cycles, why, and when it resumes.
struct ServerWatch {
  /// The activity that resumes, such as "playing".
  let work: String
  private var loss: Loss?

  init(_ work: String) { self.work = work }

  /// Signals `awake` when the loss of a device changes. Replaces `Device.afterEvents`.
  static func wake(_ awake: DispatchSemaphore, onLossOf device: Device?) {
    let latest = Mutex<Loss?>(nil)
    device?.afterEvents { [weak device] in
      let loss = device?.loss
      let isNew = latest.withLock { latest in
        defer { latest = loss }
        return latest != loss
      }
      if isNew { awake.signal() }
    }
  }

  mutating func note(_ loss: Loss?, server: String) {
    // A stalled server may turn out to be gone.
    guard loss != self.loss else { return }
    let before = self.loss
    self.loss = loss
    // A server that is back.
    let back = ServerEvent(event: .back, server: server)
    switch (before, loss) {
    case (_, .serverGone):
      Screen.shared.remark(
        "\(ServerError.lost(server: server)): waiting until it is back", as: nil)
      Screen.shared.emit(ServerEvent(event: .lost, server: server, reason: "gone"))
    case (_, .stalled):
      Screen.shared.remark(
        "the JACK server “\(server)” runs no cycles: waiting until it does", as: nil)
      Screen.shared.emit(ServerEvent(event: .lost, server: server, reason: "stalled"))
    case (.rateChange, nil):
      Screen.shared.remark(
        "the JACK server “\(server)” has another sample rate: \(work) goes on", as: nil)
      Screen.shared.emit(back)
    case (_, nil):
      Screen.shared.remark("the JACK server “\(server)” is back: \(work) goes on", as: nil)
      Screen.shared.emit(back)
    case (_, .rateChange):
      Screen.shared.emit(ServerEvent(event: .lost, server: server, reason: "rate"))
    }
  }
}
