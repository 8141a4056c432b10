import RealTime
import Server
import Synchronization

extension HardwareDevice {
  /// True while the client is open.
  package var isOpen: Bool { state.withLock { $0.device } != nil }
  /// True unless clients of this process are on another server, and the facts of this one are not known.
  package var canBeAsked: Bool {
    known.withLock { $0 != nil } || !(server is JackServer) || JackServer.canServe(serverName)
  }
  /// True unless the server has gone.
  package var isAlive: Bool { state.withLock { $0.device }.map { !$0.isLost } ?? true }

  /// The facts now: rate, period and xruns from the client, the others as of the latest event, without a request.
  /// Opens the client if necessary. After the server has gone, or while clients of this process are on another
  /// one, or while it does not answer, the latest facts.
  package var facts: HardwareFacts {
    get throws(ServerError) {
      let device: Device
      do throws(ServerError) {
        device = try open()
      } catch {
        switch error {
        case .otherServer, .noAnswer, .libraryWaits:
          if let known = known.withLock({ $0 }) { return known }
        default: break
        }
        throw error
      }
      guard var facts = known.withLock({ $0 }) else { return HardwareFacts(of: device) }
      if !device.isLost { facts.takeCounts(of: device) }
      return facts
    }
  }

  /// Compares the facts with the latest ones, and tells what has changed. Event thread.
  func look() {
    guard let device = state.withLock({ $0.device }) else { return }
    let isAlive = !device.isLost
    if wasAlive.exchange(isAlive, ordering: .relaxed) != isAlive { tell(.presence) }
    guard isAlive else { return }
    let new = HardwareFacts(of: device)
    // A client that is closed meanwhile knows no ports any more.
    guard state.withLock({ $0.device === device }) else { return }
    let old = known.withLock { known in
      defer { known = new }
      return known ?? new
    }
    if old == new { return }
    if old.sampleRate != new.sampleRate { tell(.sampleRate) }
    if old.cardInputs != new.cardInputs || old.outputs != new.outputs { tell(.channels) }
    if old.inputLatency != new.inputLatency || old.outputLatency != new.outputLatency {
      tell(.latency)
    }
    if old.xruns != new.xruns { tell(.overload) }
    tellBufferFrames()
    state.withLock { state in
      unsafe state.memory?.cycle.pointee.setLatencies(
        input: new.inputLatency, output: new.outputLatency, sampleRate: new.sampleRate)
    }
  }

  /// The name of the client, or the one that the next client asks for.
  package var clientName: String {
    state.withLock { $0.device?.client.name ?? $0.clientName }
  }

  /// Sets the name that the next client asks for.
  ///
  /// - Returns: False if the present client is needed, and keeps its name.
  package func setClientName(_ name: String) -> Bool {
    closeIfUnused()
    return state.withLock { state in
      if state.device == nil { state.clientName = name }
      return state.device == nil
    }
  }

  /// The names of the client's ports, with its own: those that record, and those that play.
  package var portNames: (inputs: [String], outputs: [String]) {
    state.withLock { state in
      guard let client = state.device?.client.name else { return ([], []) }
      return (
        state.ports.inputs.map { "\(client):\($0)" }, state.ports.outputs.map { "\(client):\($0)" }
      )
    }
  }
}
