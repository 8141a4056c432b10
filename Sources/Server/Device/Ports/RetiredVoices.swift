import RealTime

/// Removes voices that are held for good, many together: their ports go once cycles have left silence
/// there, and once no cycle knows of their connections.
///
/// The progress of each is its `Attachment.retirement`.
struct RetiredVoices: Sendable {
  let attachments: Attachments
  private var cycles: ClientCycles { attachments.cycles }

  /// Holds a voice for good. Control threads.
  ///
  /// - Returns: False if the voice must be detached instead, or if a cycle that does not end may still
  ///   use it: `VoicePorts.detach` tells which.
  func retire(_ memory: some CycleMemory) -> Bool {
    let isRetired = attachments.withLock { state in
      // A server that is driven by hand has no cycles unless the caller runs one.
      guard memory.direction == .output, unsafe cycles.client.handle != nil,
        state.users > state.retired + 1, let i = state.index(of: memory)
      else { return false }
      memory.hold()
      state.entries[i].owner = nil
      state.entries[i].retirement = .silencing(until: cycles.engine.cyclesBegun + 1)
      return true
    }
    return isRetired && cycles.engine.settle()
  }

  /// Advances the removal of some retired voices: isolates ports that are silent, and removes ports
  /// that are isolated. A few at a time, because other queues wait for the event thread. Event thread.
  ///
  /// - Returns: The seconds after which to call again; nil if no voice is waiting.
  func dismiss() -> Double? {
    var isWaiting = false
    let (silent, isolated) = attachments.withLock { state -> ([Attachment], [Attachment]) in
      if state.retired == 0 { return ([], []) }
      isWaiting = true
      if state.isOver { return ([], []) }
      var silent: [Attachment] = []
      var isolated: [Attachment] = []
      for entry in state.entries where silent.count + isolated.count < 16 {
        switch entry.retirement {
        case .silencing(let last) where cycles.engine.areOver(last): silent.append(entry)
        case .isolating(let last) where cycles.engine.areOver(last): isolated.append(entry)
        case .silencing, .isolating, nil: continue
        }
      }
      if !isolated.isEmpty {
        attachments.change(&state) { state in
          state.entries.removeAll { entry in isolated.contains { $0.memory === entry.memory } }
        }
      }
      return (silent, isolated)
    }
    if !isWaiting { return nil }
    for port in silent.flatMap(\.ports) { cycles.client.isolate(port) }
    let last = cycles.engine.cyclesBegun + Attachments.cyclesToIsolate
    attachments.withLock { state in
      for attachment in silent {
        guard let i = state.index(of: attachment.memory) else { continue }
        state.entries[i].retirement = .isolating(until: last)
      }
    }
    for attachment in isolated {
      attachments.leave(attachment.ports, attachment.portNames, areIsolated: true)
    }
    guard attachments.withLock({ $0.retired > 0 }) else { return nil }
    return silent.isEmpty && isolated.isEmpty ? 0.02 : 0.001
  }
}
