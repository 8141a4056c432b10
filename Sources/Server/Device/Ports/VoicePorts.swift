import Logging
import RealTime
import System

/// Attaches voices, recorders and MIDI ports to a device, and detaches them: adds their ports, and removes them.
/// Control threads.
struct VoicePorts: Sendable {
  let attachments: Attachments
  private var cycles: ClientCycles { attachments.cycles }
  private var connections: Connections { attachments.connections }

  /// Attaches a voice or a recorder: see `Device.attach(_:owner:destinations:)`.
  func attach(
    _ memory: some CycleMemory, owner: any VoiceOwner, destinations: [ClientPort]?
  ) throws(ServerError) -> [String] {
    if let destinations, destinations.count != memory.channels {
      throw .wrongInputCount(count: destinations.count, channels: memory.channels)
    }
    let seen = cycles.losses.count
    let direction = memory.direction
    let number: Int = try attachments.admit { state in
      if destinations == nil && !memory.isMIDI { state.attached[direction, default: 0] += 1 }
      return state.attached[direction, default: 0]
    }
    let client = cycles.client
    let prefix = (number == 1 ? "" : "\(number)_") + (direction == .input ? "in_" : "out_")
    let portNames = destinations == nil ? memory.portNames(prefix) : []
    var ports: [ClientPort] = []
    do throws(ServerError) {
      for name in portNames {
        ports.append(try client.addPort(named: name, direction, isMIDI: memory.isMIDI))
      }
    } catch {
      attachments.leave(ports, portNames)
      throw error
    }
    for channel in 0..<memory.channels {
      unsafe memory.ports[channel] = (destinations ?? ports)[memory.port(ofChannel: channel)].handle
    }
    let attachment = Attachment(
      memory: memory, owner: OwnerReference(owner), ports: ports, portNames: portNames,
      prefix: prefix)
    let isAttached = attachments.withLock { state in
      // A voice attached by then learns of a loss, and gets ports again afterwards.
      guard cycles.losses.count == seen else { return false }
      OutputGain.apply(to: memory, ofServer: client.serverName)
      attachments.change(&state) { $0.entries.append(attachment) }
      return true
    }
    if !isAttached {
      attachments.leave(ports, portNames)
      throw .lost(server: client.serverName)
    }
    return portNames
  }

  /// Detaches a voice or a recorder and removes its ports.
  ///
  /// - Returns: False if a cycle that does not end may still use it.
  func detach(_ memory: some CycleMemory) -> Bool {
    guard attachments.withLock({ $0.index(of: memory) != nil }) else { return true }
    memory.hold()
    // A port that no voice writes keeps the sound of its last cycle. JACK plays that again in every
    // cycle until the port is removed, so let one cycle write silence.
    if memory.direction == .output, !cycles.losses.isLost { cycles.awaitCycles(1) }
    defer { memory.release() }
    let (attachment, isSettled) = attachments.withLock { state -> (Attachment?, Bool) in
      guard let i = state.index(of: memory) else { return (nil, true) }
      let attachment = state.entries[i]
      return (attachment, attachments.change(&state) { $0.entries.remove(at: i) })
    }
    if let attachment { attachments.leave(attachment.ports, attachment.portNames) }
    return isSettled
  }

  /// Adds a second port to a mono voice: see `Device.addSecondPort(to:)`.
  func addSecondPort(to voice: VoiceMemory) throws(ServerError) -> String {
    let seen = cycles.losses.count
    let client = cycles.client
    let attachment = attachments.withLock { state in
      state.index(of: voice).map { state.entries[$0] }
    }
    guard let attachment, attachment.ports.count == 1, let first = attachment.portNames.first else {
      throw .lost(server: client.serverName)
    }
    let second = "\(attachment.prefix)2"
    let port = try client.addPort(named: second, .output)
    let isGiven = attachments.withLock { state in
      // A port of a client that was lost meanwhile does not belong to the next client.
      guard cycles.losses.count == seen, let i = state.index(of: voice),
        state.entries[i].ports.count == 1
      else { return false }
      voice.openSecondPort(port)
      state.entries[i].ports.append(port)
      state.entries[i].portNames.append(second)
      state.entries[i].spreadVoice = voice
      return true
    }
    guard isGiven else {
      client.removePort(port)
      throw .lost(server: client.serverName)
    }
    cycles.awaitCycles(1)
    let destinations = client.connections(of: first)
    var moved: [String] = []
    for i in stride(from: 1, to: destinations.count, by: 2) {
      do throws(ServerError) {
        try connections.connect(second, .output, to: destinations[i])
        moved.append(destinations[i])
      } catch {
        log.warning("\(error): it stays with the first port")
      }
    }
    unsafe voice.voice.pointee.secondPort.use(fromConnections: destinations.count - moved.count)
    for destination in moved { connections.disconnect(first, from: destination) }
    return second
  }

  // MARK: Another client

  /// Adds the ports of each voice and recorder again, under their names, on a client that has replaced
  /// a lost one. Event thread; no cycle runs them.
  ///
  /// - Throws: If the server refuses ports of all of them, and there is no graph. Otherwise those whose
  ///   ports it refuses are detached, and the others play on.
  func restorePorts(on client: any ServerClient) throws(ServerError) {
    let entries = attachments.withLock { $0.entries }
    var failed: [Attachment] = []
    var failure: ServerError?
    for attachment in entries {
      do throws(ServerError) {
        try restorePorts(of: attachment, on: client)
      } catch {
        failed.append(attachment)
        failure = error
      }
    }
    guard let failure else { return }
    let hasGraph = attachments.withLock { $0.graph.graph != nil }
    if failed.count == entries.count, !hasGraph { throw failure }
    log.error("\(failure): \(failed.count) of \(entries.count) queues do not return")
    giveUp(failed)
  }

  private func restorePorts(of attachment: Attachment, on client: any ServerClient)
    throws(ServerError)
  {
    let memory = attachment.memory
    var ports: [ClientPort] = []
    do throws(ServerError) {
      for name in attachment.portNames {
        ports.append(
          try client.addPort(named: name, memory.direction, isMIDI: memory.isMIDI))
      }
    } catch {
      for port in ports { client.removePort(port) }
      throw error
    }
    let isAttached = attachments.withLock { state in
      guard let i = state.index(of: memory) else { return false }
      for channel in 0..<min(ports.count, memory.channels) {
        unsafe memory.ports[channel] = ports[memory.port(ofChannel: channel)].handle
      }
      attachment.spreadVoice?.openSecondPort(ports[1])
      state.entries[i].ports = ports
      return true
    }
    if !isAttached { for port in ports { client.removePort(port) } }
  }

  private func giveUp(_ failed: [Attachment]) {
    attachments.withLock { state in
      let before = state.entries.count
      state.entries.removeAll { entry in failed.contains { $0.memory === entry.memory } }
      state.users -= before - state.entries.count
    }
    connections.forget(failed.flatMap(\.portNames))
    for attachment in failed { attachment.owner?.object?.deviceCannotReturn() }
  }
}
